//! The spawner at work: one loop that starts children, signals their trees and reaps them.
//!
//! Which process belongs to which attempt is in `trees.rs`; how a program becomes the spawner is
//! in `spawner.rs`. It is single-threaded, and only its socket decides how long it lives: when
//! that closes, it ends every process below it and exits.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, setsid, wait};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGUSR1, SIGUSR2};

use super::limited::Control;
use super::trees::Trees;
use super::wire::{self, Descriptors, Frames, HELLO, Refusal, Report, Request, SpawnRequest};

/// A start is told this much later, so that what ends at once is told in one message.
const STARTED_DELAY: Duration = Duration::from_millis(5);

/// Serves the socket that is our standard input until it closes.
pub(super) fn serve() -> io::Result<()> {
    let wake = prepare()?;
    // From here on all three are /dev/null, so that children can simply have ours.
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    let mut spawner = Serving {
        socket,
        buffer: vec![0; 16 << 10],
        frames: Frames::default(),
        descriptors: Descriptors::new(),
        outgoing: Report::Hello(HELLO.to_vec()).encode(),
        untold: Vec::new(),
        trees: Trees::new(),
        held: Vec::new(),
    };
    let outcome = spawner.turns(&wake);
    spawner.trees.end_all();
    outcome
}

/// Makes this process one that adopts orphans and that stray signals do not end. Gives the socket
/// that is readable when a child has ended.
fn prepare() -> io::Result<UnixStream> {
    // What whoever started us, or started them, left open is not for children.
    close_fds::set_fds_cloexec(3, &[]);
    let (wake, waker) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
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
    buffer: Vec<u8>,
    frames: Frames,
    descriptors: Descriptors,
    outgoing: Vec<u8>,
    untold: Vec<Untold>,
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
    fn turns(&mut self, wake: &UnixStream) -> io::Result<()> {
        loop {
            self.flush()?;
            let mut interest = PollFlags::IN;
            if !self.outgoing.is_empty() {
                interest |= PollFlags::OUT;
            }
            let timeout = self.timeout();
            let mut watched =
                [PollFd::new(&self.socket, interest), PollFd::new(wake, PollFlags::IN)];
            // An interruption is most likely the death of a child.
            let was_interrupted = match poll(&mut watched, timeout.as_ref()) {
                Ok(_) => false,
                Err(Errno::INTR) => true,
                Err(error) => return Err(error.into()),
            };
            let has_requests = !watched[0].revents().difference(PollFlags::OUT).is_empty();
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
            match wire::send(&self.socket, &self.outgoing, &[]) {
                Ok(sent) => drop(self.outgoing.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
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
        let started =
            if came.len() == wanted { start(request, came) } else { Err(Refusal::Descriptors) };
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
    fn reap(&mut self, wake: &UnixStream) {
        let mut bytes = [0; 64];
        let _ = rustix::net::recv(wake, &mut bytes[..], rustix::net::RecvFlags::DONTWAIT);
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

fn start(
    request: &SpawnRequest<'_>,
    came: Vec<OwnedFd>,
) -> Result<(i32, Option<Control>), Refusal> {
    let mut came = came.into_iter();
    let mut next = |has: bool| if has { came.next() } else { None };
    let input = next(request.has[0]);
    let output = next(request.has[1]).map_or_else(Stdio::inherit, Stdio::from);
    let error = next(request.has[2]).map_or_else(Stdio::inherit, Stdio::from);

    let mut control = None;
    let program = OsStr::from_bytes(request.program);
    let argv = request.argv.iter().map(|argument| OsStr::from_bytes(argument));
    let mut command = match &request.limits {
        None => {
            let mut command = Command::new(program);
            command.stdin(input.map_or_else(Stdio::inherit, Stdio::from));
            command.arg0(argv.clone().next().unwrap_or(program));
            command.args(argv.skip(1));
            command
        }
        Some(limits) => {
            let exe = OsStr::new("/proc/self/exe").to_owned();
            let (theirs, mut command) = Control::prepare(&exe, limits, input, program.into())
                .map_err(|_| Refusal::Descriptors)?;
            control = Some(theirs);
            command.args(argv);
            command
        }
    };
    command.stdout(output).stderr(error).process_group(0).env_clear();
    for (name, value) in &request.environment {
        command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
    }
    if let Some(cwd) = request.cwd {
        command.current_dir(OsStr::from_bytes(cwd));
    }
    match command.spawn() {
        Ok(child) => Ok((child.id() as i32, control)),
        Err(error) => Err(refusal_of(request, &error)),
    }
}

/// The system says only "not found"; whether it is the folder or the program is for us to see.
fn refusal_of(request: &SpawnRequest<'_>, error: &io::Error) -> Refusal {
    if let Some(cwd) = request.cwd {
        let folder = Path::new(OsStr::from_bytes(cwd));
        match folder.metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Refusal::Directory { errno: Errno::NOTDIR.raw_os_error() },
            Err(error) => return Refusal::Directory { errno: error.raw_os_error().unwrap_or(0) },
        }
    }
    Refusal::Program { errno: error.raw_os_error().unwrap_or(0) }
}
