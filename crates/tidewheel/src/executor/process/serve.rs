//! The spawner at work: one loop that starts children, signals their trees and reaps them.
//!
//! How a child is started is in `start.rs`, which process belongs to which attempt in `trees.rs`, and
//! how a program becomes the spawner in `spawner.rs`. It is single-threaded, and only its socket decides how long it lives: when
//! that closes, it ends every process below it and exits.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, setsid, wait};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGUSR1, SIGUSR2};

use super::start::Starter;
use super::trees::Trees;
use super::wire::{self, Descriptors, Frames, HELLO, Refusal, Report, Request, SpawnRequest};

/// A start is told this much later, so that what ends at once is told in one message.
const STARTED_DELAY: Duration = Duration::from_millis(5);

/// Serves the socket that is our standard input until it closes, and reports on our standard output.
pub(super) fn serve() -> io::Result<()> {
    let wake = prepare()?;
    // From here on all three are /dev/null, so that children can simply have ours.
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let reports = io::stdout().as_fd().try_clone_to_owned()?;
    let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    let mut spawner = Serving {
        socket,
        reports,
        buffer: vec![0; 16 << 10],
        frames: Frames::default(),
        descriptors: Descriptors::new(),
        outgoing: Report::Hello(HELLO.to_vec()).encode(),
        untold: Vec::new(),
        starter: Starter::new()?,
        trees: Trees::new(),
        held: Vec::new(),
    };
    let outcome = spawner.turns(&wake);
    spawner.trees.end_all();
    outcome
}

/// Makes this process one that adopts orphans and that stray signals do not end. Gives the pipe
/// that is readable when a child has ended.
fn prepare() -> io::Result<OwnedFd> {
    // What whoever started us, or started them, left open is not for children.
    close_fds::set_fds_cloexec(3, &[]);
    let (wake, waker) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    signal_hook::low_level::pipe::register(SIGCHLD, waker)?;
    // Handlers rather than "ignore": children would inherit that, but no handlers.
    let unused = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGHUP, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM] {
        signal_hook::flag::register(signal, Arc::clone(&unused))?;
    }
    // Away from the terminal, so that Ctrl-C and a hang-up concern neither us nor the children.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let _ = rustix::thread::set_name(c"tidewheel-spawn");
    Ok(wake)
}

struct Serving {
    socket: OwnedFd,
    reports: OwnedFd,
    buffer: Vec<u8>,
    frames: Frames,
    descriptors: Descriptors,
    outgoing: Vec<u8>,
    untold: Vec<Untold>,
    starter: Starter,
    trees: Trees,
    /// Kept open until the last process below is gone: locks of whoever started us.
    held: Vec<Vec<OwnedFd>>,
}

/// A start that was not told yet.
struct Untold {
    key: u64,
    pid: i32,
    due: Instant,
}

impl Serving {
    fn turns(&mut self, wake: &OwnedFd) -> io::Result<()> {
        loop {
            self.flush()?;
            let timeout = self.timeout();
            let mut watched = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::new(wake, PollFlags::IN),
                PollFd::new(&self.reports, PollFlags::OUT),
            ];
            let watched = match self.outgoing.is_empty() {
                true => &mut watched[..2],
                false => &mut watched[..],
            };
            // An interruption is most likely the death of a child.
            let was_interrupted = match poll(watched, timeout.as_ref()) {
                Ok(_) => false,
                Err(Errno::INTR) => true,
                Err(error) => return Err(error.into()),
            };
            let has_requests = !watched[0].revents().is_empty();
            let has_deaths = was_interrupted || !watched[1].revents().is_empty();
            let has_requests = has_requests && !was_interrupted;
            if has_deaths {
                self.reap(wake);
            }
            if has_requests && self.receive()? {
                return Ok(());
            }
            self.trees.on_time(Instant::now());
            self.tell();
        }
    }

    fn timeout(&self) -> Option<Timespec> {
        let told = self.untold.first().map(|untold| untold.due);
        let due = match (told, self.trees.due()) {
            (Some(one), Some(other)) => one.min(other),
            (one, other) => one.or(other)?,
        };
        let left = due.saturating_duration_since(Instant::now());
        Some(Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos() as _ })
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            match rustix::io::write(&self.reports, &self.outgoing) {
                Ok(sent) => drop(self.outgoing.drain(..sent)),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes in what the socket holds. True at its end.
    fn receive(&mut self) -> io::Result<bool> {
        let received = match wire::receive(&self.socket, &mut self.buffer, &mut self.descriptors) {
            Ok(0) => return Ok(true),
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(error) => return Err(error),
        };
        let mut frames = std::mem::take(&mut self.frames);
        frames.extend(&self.buffer[..received]);
        while let Some(frame) = frames.next()? {
            match Request::decode(frame)? {
                Request::Spawn(request) => self.spawn(&request),
                Request::Stop { key, grace_ms } => {
                    self.trees.stop(key, Duration::from_millis(grace_ms));
                }
                Request::Kill { key } => self.trees.kill(key),
                Request::Hold => self.held.extend(self.descriptors.pop_front()),
            }
        }
        self.frames = frames;
        Ok(false)
    }

    fn spawn(&mut self, request: &SpawnRequest<'_>) {
        let key = request.key;
        let wanted = request.has.iter().filter(|has| **has).count();
        let came = if wanted > 0 { self.descriptors.pop_front() } else { None }.unwrap_or_default();
        let started = match came.len() == wanted {
            true => self.starter.start(request, came),
            false => Err(Refusal::Descriptors),
        };
        match started {
            Ok((pid, control)) => {
                self.trees.insert(key, pid, request.cookie, control);
                self.untold.push(Untold { key, pid, due: Instant::now() + STARTED_DELAY });
            }
            Err(refusal) => {
                self.outgoing.extend(Report::Refused { key, refusal }.encode());
            }
        }
    }

    /// Takes note of every process that has ended, and tells of trees that are gone.
    fn reap(&mut self, wake: &OwnedFd) {
        let mut bytes = [0; 64];
        let _ = rustix::io::read(wake, &mut bytes[..]);
        let has_children = loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    let code = status.exit_status().unwrap_or(-1);
                    let signal = status.terminating_signal().unwrap_or(0);
                    self.trees.reaped(Pid::as_raw(Some(pid)), code, signal);
                }
                Ok(None) => break true,
                Err(Errno::INTR) => {}
                Err(_) => break false,
            }
        };
        self.trees.settle(has_children);
    }

    /// Queues what is to be told: starts before ends.
    fn tell(&mut self) {
        if !self.untold.is_empty() {
            let now = Instant::now();
            let gone = self.trees.gone();
            let outgoing = &mut self.outgoing;
            self.untold.retain(|untold| {
                let has_ended = gone.iter().any(|gone| gone.key == untold.key);
                if !has_ended && untold.due > now {
                    return true;
                }
                // The end says the pid too.
                if !has_ended {
                    let pid = untold.pid as u32;
                    outgoing.extend(Report::Started { key: untold.key, pid }.encode());
                }
                false
            });
        }
        for gone in self.trees.take_gone() {
            let key = gone.key;
            let report = match gone.refusal {
                Some(refusal) => Report::Refused { key, refusal },
                None => Report::Exited {
                    key,
                    pid: gone.pid as u32,
                    code: gone.code,
                    signal: gone.signal,
                },
            };
            self.outgoing.extend(report.encode());
        }
    }
}
