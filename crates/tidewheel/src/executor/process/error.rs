//! [`ProcessError`]: why there is no end of a process to report.
//!
//! A process that ended badly is no error here; see `end.rs`.

use std::io;
use std::path::PathBuf;

use super::limits::Limit;
use super::wire::Refusal;
use crate::error::{BoxError, Permanent};

/// Why a command was not run, or why nothing can be said about its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// There is no such program.
    #[error("program not found: {}", program.display())]
    NotFound {
        /// What was asked for.
        program: PathBuf,
    },
    /// The program is there, but what its first line names to run it is not.
    #[error("the interpreter named in the first line of {} was not found", program.display())]
    InterpreterNotFound {
        /// What was asked for.
        program: PathBuf,
    },
    /// The program may not be executed.
    #[error("no permission to execute {}", program.display())]
    NotPermitted {
        /// What was asked for.
        program: PathBuf,
    },
    /// The program could not be started for another reason.
    #[error("cannot start {}", program.display())]
    NotStarted {
        /// What was asked for.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The working folder cannot be entered.
    #[error("cannot enter the working folder {}", folder.display())]
    WorkingFolder {
        /// The folder asked for.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The command cannot be expressed to the system.
    #[error("invalid command: {why}")]
    InvalidCommand {
        /// What is wrong with it.
        why: &'static str,
    },
    /// What was to be the standard input could not be opened or made.
    #[error("cannot provide standard input")]
    Stdin {
        /// What the system said.
        source: io::Error,
    },
    /// A limit asked for cannot be enforced.
    #[error("limit refused: {limit}: {why}")]
    LimitRefused {
        /// The limit.
        limit: Limit,
        /// Why it cannot be enforced.
        why: String,
    },
    /// More standard output than may be captured. It is never cut silently.
    #[error("captured output is larger than {most} bytes ({seen} bytes)")]
    CaptureTooLarge {
        /// How much may be captured.
        most: u64,
        /// How much there was.
        seen: u64,
    },
    /// The system has no descriptors or pipes left.
    #[error("out of descriptors")]
    Descriptors {
        /// What the system said.
        source: io::Error,
    },
    /// The spawner could not be started, or the program given does not serve as one.
    #[error("cannot start the spawner {}", program.display())]
    SpawnerNotStarted {
        /// The program.
        program: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The spawner ended while the process ran. The processes of the attempt were ended.
    #[error("the spawner was lost while the process ran")]
    SpawnerLost,
}

impl ProcessError {
    /// Whether trying the same again may go better, with nothing changed by anybody.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        use io::ErrorKind::{OutOfMemory, WouldBlock};

        match self {
            Self::Descriptors { .. } | Self::SpawnerLost => true,
            Self::NotStarted { source, .. } => matches!(source.kind(), WouldBlock | OutOfMemory),
            _ => false,
        }
    }

    /// The error for a task to return: marked so that the scheduler does not try in vain.
    #[must_use]
    pub fn into_error(self) -> BoxError {
        if self.is_transient() { self.into() } else { Permanent::new(self).into() }
    }

    pub(super) fn refused(refusal: Refusal, program: PathBuf, folder: Option<PathBuf>) -> Self {
        match refusal {
            Refusal::Limit { limit, why } => Self::LimitRefused { limit, why },
            Refusal::Descriptors => {
                Self::Descriptors { source: io::Error::from(rustix::io::Errno::MFILE) }
            }
            Refusal::Directory { errno } => Self::WorkingFolder {
                folder: folder.unwrap_or_default(),
                source: io::Error::from_raw_os_error(errno),
            },
            Refusal::Program { errno } => {
                let source = io::Error::from_raw_os_error(errno);
                match source.kind() {
                    io::ErrorKind::NotFound if program.is_absolute() && program.exists() => {
                        Self::InterpreterNotFound { program }
                    }
                    io::ErrorKind::NotFound => Self::NotFound { program },
                    io::ErrorKind::PermissionDenied => Self::NotPermitted { program },
                    _ => Self::NotStarted { program, source },
                }
            }
        }
    }
}
