//! One attempt as a process, from start to end: [`Processes::run`].
//!
//! What is asked of the spawner is done in `serve.rs`; what becomes of output is in `output.rs`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::io::{Errno, ioctl_fionread};
use rustix::pipe::{PipeFlags, pipe_with};
use tidewheel_core::id::AttemptId;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe::Receiver;

use super::client::{Processes, Shared};
use super::command::{ProcessCommand, Stdin, locate};
use super::connection::{Connection, Ending, News};
use super::end::{ProcessEnd, ProcessStatus};
use super::error::ProcessError;
use super::output::Sink;
use super::table;
use super::tail::LastTurns;
use super::turns::Turns;
use super::wire::{FRAME_MAX, Request, SpawnRequest};
use crate::store::log_file;

/// How many times a pipe is read in a row before others have their turn.
const READS_MAX: usize = 16;

const READ_SIZE: usize = 64 << 10;

/// How often, and how soon, it is tried again to open a log once its process has ended.
const LOG_TRIES_MAX: usize = 100;
const LOG_AGAIN: Duration = Duration::from_millis(50);

thread_local! {
    /// What is read is passed on before anything else is read, so one buffer serves all.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_SIZE]);
}

/// A request to stop: TERM to the whole tree, and KILL when the grace is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// How long the processes may take to end by themselves.
    pub grace: Duration,
}

impl Processes {
    /// Runs a command as the process of an attempt. Resolves when its whole tree is gone.
    ///
    /// When `stop` resolves, the tree is told to stop. If this future is dropped, the tree is
    /// ended by force, but nothing says when it is gone.
    ///
    /// # Errors
    ///
    /// If the command could not be started, if more was to be captured than may be, or if the
    /// spawner was lost. A process that ended badly is no error.
    pub async fn run<S: Future<Output = Stop>>(
        &self,
        attempt: AttemptId,
        command: &ProcessCommand,
        stop: S,
    ) -> Result<ProcessEnd, ProcessError> {
        let mut stop = pin!(stop);
        let first_only = |context: &mut Context<'_>, granted: Option<Duration>| match granted {
            None => stop.as_mut().poll(context),
            Some(_) => Poll::Pending,
        };
        self.run_until_stopped(attempt, command, first_only).await
    }

    /// Like [`Self::run`], for requests that may come again with less grace: `stop` is told how
    /// much was granted, and gives only what is less.
    pub(super) async fn run_until_stopped(
        &self,
        attempt: AttemptId,
        command: &ProcessCommand,
        mut stop: impl FnMut(&mut Context<'_>, Option<Duration>) -> Poll<Stop>,
    ) -> Result<ProcessEnd, ProcessError> {
        let mut running = Running::start(&self.shared, attempt, command).await?;
        let ending = std::future::poll_fn(|context| running.poll(context, &mut stop)).await;
        running.open_logs().await;
        running.finish(ending, command)
    }
}

/// An attempt that was sent to the spawner. Dropped before its end, it is ended by force.
struct Running {
    connection: Arc<Connection>,
    key: u64,
    program: PathBuf,
    started: SystemTime,
    pipes: [(Pipe, Sink); 2],
    /// In which order they were read.
    turns: Turns,
    last_turns: LastTurns,
    ending: Option<Ending>,
    /// The grace of the last request to stop.
    granted: Option<Duration>,
    /// What is given along, for people.
    bytes: usize,
}

impl Running {
    async fn start(
        shared: &Shared,
        attempt: AttemptId,
        command: &ProcessCommand,
    ) -> Result<Self, ProcessError> {
        let words = command.words()?;
        let cookie = table::cookie(&shared.settings.mark, attempt);
        let run = attempt.task.run.to_string();
        let (index, number) = (attempt.task.index.to_string(), attempt.number.to_string());
        let ours = [
            (table::COOKIE, &cookie),
            ("TIDEWHEEL_RUN_ID", &run),
            ("TIDEWHEEL_TASK_INDEX", &index),
            ("TIDEWHEEL_ATTEMPT", &number),
        ];
        // The last of a name wins. Ours come last: by them the processes are found.
        let inherited = shared.inheritance.of(command);
        let declared = command.variables.iter();
        let environment: BTreeMap<&[u8], &[u8]> = inherited
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .chain(declared.map(|(name, value)| (name.as_bytes(), value.as_bytes())))
            .chain(ours.map(|(name, value)| (name.as_bytes(), value.as_bytes())))
            .collect();
        let path = environment.get(&b"PATH"[..]);
        let program = locate(words[0], path.map(|path| OsStr::from_bytes(path)))?;

        let no_pipe = |source: io::Error| ProcessError::Descriptors { source };
        let stdin = open_stdin(&command.stdin).map_err(ProcessError::no_stdin)?;
        let (stdout, stdout_end) = Pipe::new().map_err(no_pipe)?;
        let (stderr, stderr_end) = Pipe::new().map_err(no_pipe)?;
        let has = [stdin.is_some(), true, true];
        let descriptors = stdin.into_iter().chain([stdout_end, stderr_end]).collect();

        let mut request = SpawnRequest {
            key: 0,
            cookie: cookie.as_bytes(),
            program: program.as_os_str().as_bytes(),
            argv: words.iter().map(|word| word.as_bytes()).collect(),
            environment: environment.into_iter().collect(),
            cwd: command.cwd.as_ref().map(|cwd| cwd.as_os_str().as_bytes()),
            has,
            limits: (!command.limits.is_empty()).then_some(command.limits),
        };
        // The spawner would take it for nonsense, and give up all that it runs.
        let bytes = request.frame_size();
        if bytes > FRAME_MAX {
            return Err(ProcessError::ArgumentListTooLong { program, bytes });
        }
        let connection = loop {
            let connection = shared.connection().await?;
            if let Some(key) = connection.enter(attempt) {
                request.key = key;
                break connection;
            }
        };
        let key = request.key;
        connection.send(&Request::Spawn(request), descriptors);

        let logs = shared.settings.logs.as_ref().filter(|_| command.is_logged);
        let log =
            |end: &str| logs.map(|logs| logs.join(log_file(attempt.task, attempt.number, end)));
        let most = command.output_max.unwrap_or(shared.settings.output_max);
        let secrets = command.secrets.as_ref();
        let out = Sink::new(log("out"), most, secrets).capture(command.capture_max);
        let error = Sink::new(log("err"), most, secrets);
        Ok(Self {
            connection,
            key,
            program,
            started: SystemTime::now(),
            pipes: [(stdout, out), (stderr, error)],
            turns: Turns::new(log("seq")),
            last_turns: LastTurns::default(),
            ending: None,
            granted: None,
            bytes,
        })
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        mut stop: impl FnMut(&mut Context<'_>, Option<Duration>) -> Poll<Stop>,
    ) -> Poll<Ending> {
        if self.ending.is_none() {
            match self.connection.news(self.key, context) {
                News::Nothing => {}
                // It did not end at once, so it is worth being woken by its output.
                News::Started => self.pipes.iter_mut().for_each(|(pipe, _)| pipe.watch()),
                News::Ended(ending) => self.ending = Some(ending),
            }
        }
        while self.ending.is_none()
            && let Poll::Ready(Stop { grace }) = stop(context, self.granted)
        {
            self.granted = Some(grace);
            let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
            self.connection.send(&Request::Stop { key: self.key, grace_ms }, Vec::new());
        }
        match self.ending.take() {
            None => {
                self.each(|pipe, sink| pipe.poll(context, sink));
                Poll::Pending
            }
            Some(ending) => {
                self.each(Pipe::drain);
                Poll::Ready(ending)
            }
        }
    }

    /// Does something with each stream, and notes what came of it.
    fn each(&mut self, mut take: impl FnMut(&mut Pipe, &mut Sink)) {
        for (stream, (pipe, sink)) in self.pipes.iter_mut().enumerate() {
            let (kept, told) = (sink.kept(), sink.last().told());
            take(pipe, sink);
            self.turns.note(stream, sink.kept() - kept);
            self.last_turns.note(stream, sink.last().told() - told);
        }
    }

    /// Gives logs that found no descriptor until now another chance: those of this process are free, and
    /// others end meanwhile.
    async fn open_logs(&mut self) {
        for _ in 0..LOG_TRIES_MAX {
            if self.pipes.iter_mut().all(|(_, sink)| sink.is_log_open()) {
                return;
            }
            tokio::time::sleep(LOG_AGAIN).await;
        }
    }

    fn finish(
        mut self,
        ending: Ending,
        command: &ProcessCommand,
    ) -> Result<ProcessEnd, ProcessError> {
        self.each(|_, sink| sink.finish());
        self.turns.finish();
        let (pid, status) = match ending {
            Ending::Exited { pid, code, signal } => (pid, ProcessStatus::new(code, signal)),
            Ending::Lost => return Err(ProcessError::SpawnerLost),
            Ending::Refused(refusal) => {
                let program = std::mem::take(&mut self.program);
                return Err(ProcessError::refused(
                    refusal,
                    program,
                    command.cwd.clone(),
                    self.bytes,
                ));
            }
        };
        let [(_, stdout), (_, stderr)] = &mut self.pipes;
        let captured = stdout
            .captured()
            .map_err(|(most, seen)| ProcessError::CaptureTooLarge { most, seen })?;
        Ok(ProcessEnd {
            status,
            pid,
            started: self.started,
            ended: SystemTime::now(),
            stdout: stdout.output(),
            stderr: stderr.output(),
            tail: self.last_turns.tail([stdout.last(), stderr.last()]),
            complaint: stderr.last().line(),
            captured,
            was_stopped: self.granted.is_some(),
            limit: status.limit(),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Does nothing if the end was taken.
        self.connection.abandon(self.key);
    }
}

/// The reading end of a pipe. Asking to be woken costs, so it is done only for what lasts.
enum Pipe {
    Unwatched(OwnedFd),
    Watched(Receiver),
    Closed,
}

impl Pipe {
    /// A pipe, and the end to write into.
    fn new() -> io::Result<(Self, OwnedFd)> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((Self::Unwatched(reading), writing))
    }

    fn watch(&mut self) {
        if let Self::Unwatched(_) = self
            && let Self::Unwatched(reading) = std::mem::replace(self, Self::Closed)
            // Only our end: the flag would surprise the program at the other.
            && fcntl_setfl(&reading, OFlags::NONBLOCK).is_ok()
            && let Ok(watched) = Receiver::from_owned_fd_unchecked(reading)
        {
            *self = Self::Watched(watched);
        }
    }

    /// Reads what there is, if being woken by it was asked for.
    fn poll(&mut self, context: &mut Context<'_>, sink: &mut Sink) {
        for _ in 0..READS_MAX {
            let Self::Watched(watched) = self else { return };
            let polled = BUFFER.with_borrow_mut(|buffer| {
                let mut buffer = ReadBuf::new(buffer);
                let polled = Pin::new(watched).poll_read(context, &mut buffer);
                sink.push(buffer.filled());
                polled.map_ok(|()| buffer.filled().len())
            });
            match polled {
                Poll::Pending => return,
                Poll::Ready(Ok(read)) if read > 0 => {}
                Poll::Ready(_) => *self = Self::Closed,
            }
        }
        context.waker().wake_by_ref();
    }

    /// Reads what is left, and no more: the tree is gone, so whoever still has the other end is
    /// none of it.
    fn drain(&mut self, sink: &mut Sink) {
        let reading = match &*self {
            Self::Unwatched(reading) => reading.as_fd(),
            Self::Watched(watched) => watched.as_fd(),
            Self::Closed => return,
        };
        let mut left = ioctl_fionread(reading).unwrap_or(0);
        BUFFER.with_borrow_mut(|buffer| {
            while left > 0 {
                match rustix::io::read(reading, &mut buffer[..]) {
                    Ok(0) => return,
                    Ok(read) => {
                        sink.push(&buffer[..read]);
                        left = left.saturating_sub(read as u64);
                    }
                    Err(Errno::INTR) => {}
                    Err(_) => return,
                }
            }
        });
        *self = Self::Closed;
    }
}

fn open_stdin(stdin: &Stdin) -> io::Result<Option<OwnedFd>> {
    match stdin {
        Stdin::Null => Ok(None),
        Stdin::File(path) => Ok(Some(open_file(path)?)),
        // A file in memory, so that nobody need feed a pipe.
        Stdin::Bytes(bytes) => {
            use std::io::{Seek, Write};

            let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
            file.write_all(bytes)?;
            file.rewind()?;
            Ok(Some(file.into()))
        }
    }
}

/// Opens a file or a device without waiting for anybody: opening a named pipe would wait for
/// whoever writes into it, on a thread that others need.
fn open_file(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    if !matches!(kind, FileType::RegularFile | FileType::CharacterDevice) {
        let text = format!("{} is neither a file nor a device that can be read", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}
