//! [`ProcessError`]: why there is no end of a process to report.
//!
//! A process that ended badly is no error here; see `end.rs`.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use tidewheel_core::input::Outcome;

use super::limits::Limit;
use super::wire::Refusal;
use crate::error::{BoxError, Permanent, failure_of};

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
    /// The arguments and the environment are more than the system takes.
    #[error("argument list too long for {}: arguments and environment have {bytes} bytes", program.display())]
    ArgumentListTooLong {
        /// What was asked for.
        program: PathBuf,
        /// How much was given along.
        bytes: usize,
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
        use io::ErrorKind::{OutOfMemory, TimedOut, UnexpectedEof, WouldBlock};

        match self {
            Self::Descriptors { .. } | Self::SpawnerLost => true,
            Self::NotStarted { source, .. } => matches!(source.kind(), WouldBlock | OutOfMemory),
            // One was started before, so this one was killed, or had no room or time to start.
            Self::SpawnerNotStarted { source, .. } => {
                let is_out_of_descriptors =
                    matches!(Errno::from_io_error(source), Some(Errno::MFILE | Errno::NFILE));
                let kinds = [OutOfMemory, TimedOut, UnexpectedEof, WouldBlock];
                is_out_of_descriptors || kinds.contains(&source.kind())
            }
            _ => false,
        }
    }

    /// The error for a task to return: marked so that the scheduler does not try in vain.
    #[must_use]
    pub fn into_error(self) -> BoxError {
        if self.is_transient() { self.into() } else { Permanent::new(self).into() }
    }

    /// How the attempt came to its end, for code that says so itself. Unlike [`Self::into_error`]
    /// it can say that nobody knows: the attempt then counts as lost, not as failed.
    #[must_use]
    pub fn into_outcome(self) -> Outcome {
        match self {
            Self::SpawnerLost => Outcome::Lost,
            error => Outcome::Failed(Box::new(failure_of(error.into_error().as_ref()))),
        }
    }

    pub(super) fn refused(
        refusal: Refusal,
        program: PathBuf,
        folder: Option<PathBuf>,
        bytes: usize,
    ) -> Self {
        match refusal {
            Refusal::Limit { limit, why } => Self::LimitRefused { limit, why },
            Refusal::Descriptors => Self::Descriptors { source: io::Error::from(Errno::MFILE) },
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
                    io::ErrorKind::ArgumentListTooLong => {
                        Self::ArgumentListTooLong { program, bytes }
                    }
                    _ => Self::NotStarted { program, source },
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_says_what_is_known() {
        assert_eq!(ProcessError::SpawnerLost.into_outcome(), Outcome::Lost);
        let failure = |error: ProcessError| match error.into_outcome() {
            Outcome::Failed(failure) => *failure,
            other => panic!("{other:?}"),
        };
        let failed = failure(ProcessError::NotFound { program: "nothing".into() });
        assert!(failed.permanent);
        assert_eq!(&*failed.message, "program not found: nothing");
        let source = io::Error::from(Errno::MFILE);
        let failed = failure(ProcessError::Descriptors { source });
        assert!(!failed.permanent);
        assert!(failed.message.starts_with("out of descriptors: "), "{}", failed.message);
        let not_started = |source: io::Error| {
            failure(ProcessError::SpawnerNotStarted { program: "spawner".into(), source })
        };
        assert!(!not_started(Errno::MFILE.into()).permanent);
        assert!(!not_started(io::ErrorKind::UnexpectedEof.into()).permanent);
        assert!(not_started(io::ErrorKind::NotFound.into()).permanent);
    }
}
