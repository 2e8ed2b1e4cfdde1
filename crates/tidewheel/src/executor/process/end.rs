//! [`ProcessEnd`]: how a process ended, and what it left in writing.
//!
//! Whether that counts as success is not decided here.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use super::limits::Limit;

/// How a process ended. When this exists, its whole tree is gone.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProcessEnd {
    /// The exit code or the signal.
    pub status: ProcessStatus,
    /// The number it had. Another process may have it now.
    pub pid: u32,
    /// When it was sent to the spawner.
    pub started: SystemTime,
    /// When its tree was gone.
    pub ended: SystemTime,
    /// What became of its standard output.
    pub stdout: Output,
    /// What became of its standard error.
    pub stderr: Output,
    /// The last lines of standard output and standard error, in the order in which they were written,
    /// masked, without the last line end: at most 20 lines and 8 KiB, those of standard error if not
    /// all fit.
    pub tail: String,
    /// The last line of standard error that is not empty, masked; empty if there is none.
    pub complaint: String,
    /// Its standard output, if that was to be captured: as it was, not masked.
    pub captured: Option<Vec<u8>>,
    /// Whether it was told to stop before it ended.
    pub was_stopped: bool,
    /// The limit it seems to have run into.
    pub limit: Option<Limit>,
}

impl ProcessEnd {
    /// The end of a process that wrote nothing and was not told to stop, now: for whoever runs
    /// commands in another way than [`Processes`](super::Processes).
    #[must_use]
    pub fn new(status: ProcessStatus) -> Self {
        let now = SystemTime::now();
        Self {
            status,
            pid: 0,
            started: now,
            ended: now,
            stdout: Output::default(),
            stderr: Output::default(),
            tail: String::new(),
            complaint: String::new(),
            captured: None,
            was_stopped: false,
            limit: status.limit(),
        }
    }
}

/// The exit code of a process, or the signal that ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessStatus {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled {
        /// The number of the signal.
        number: i32,
        /// Its name, such as `SIGKILL`.
        name: &'static str,
    },
}

impl ProcessStatus {
    /// Whether it exited with code zero.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Exited(0)
    }

    pub(super) fn new(code: i32, signal: i32) -> Self {
        if signal == 0 {
            Self::Exited(code)
        } else {
            Self::Signalled { number: signal, name: signal_name(signal) }
        }
    }

    /// Signals that the kernel sends when a limit is reached.
    pub(super) fn limit(&self) -> Option<Limit> {
        match self {
            Self::Signalled { name: "SIGXCPU", .. } => Some(Limit::CpuTime),
            Self::Signalled { name: "SIGXFSZ", .. } => Some(Limit::FileSize),
            _ => None,
        }
    }
}

impl fmt::Display for ProcessStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled { number, name } => write!(f, "signal {number} ({name})"),
        }
    }
}

fn signal_name(number: i32) -> &'static str {
    use signal_hook::consts as signal;

    let names = [
        (signal::SIGHUP, "SIGHUP"),
        (signal::SIGINT, "SIGINT"),
        (signal::SIGQUIT, "SIGQUIT"),
        (signal::SIGILL, "SIGILL"),
        (signal::SIGTRAP, "SIGTRAP"),
        (signal::SIGABRT, "SIGABRT"),
        (signal::SIGBUS, "SIGBUS"),
        (signal::SIGFPE, "SIGFPE"),
        (signal::SIGKILL, "SIGKILL"),
        (signal::SIGUSR1, "SIGUSR1"),
        (signal::SIGSEGV, "SIGSEGV"),
        (signal::SIGUSR2, "SIGUSR2"),
        (signal::SIGPIPE, "SIGPIPE"),
        (signal::SIGALRM, "SIGALRM"),
        (signal::SIGTERM, "SIGTERM"),
        (signal::SIGXCPU, "SIGXCPU"),
        (signal::SIGXFSZ, "SIGXFSZ"),
        (signal::SIGVTALRM, "SIGVTALRM"),
        (signal::SIGPROF, "SIGPROF"),
        (signal::SIGIO, "SIGIO"),
        (signal::SIGSYS, "SIGSYS"),
    ];
    let found = names.iter().find(|(known, _)| *known == number);
    found.map_or("unnamed signal", |(_, name)| name)
}

/// What became of one stream of output.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Output {
    /// The log file; `None` if nothing was written, or nothing is to be kept.
    pub path: Option<PathBuf>,
    /// How many bytes the process wrote.
    pub bytes_seen: u64,
    /// How many bytes are in the log file, without the line that says it was cut.
    pub bytes_kept: u64,
    /// Whether bytes were dropped because there were more than may be kept.
    pub is_cut: bool,
    /// Why the log file could not be written, if so. The process went on without.
    pub problem: Option<String>,
}
