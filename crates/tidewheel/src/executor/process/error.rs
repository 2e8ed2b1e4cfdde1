//! [`ProcessError`]: why there is no end of a process to report.
//!
//! A process that ended badly is no error here; see `end.rs`.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use tidewheel_core::input::Outcome;

use super::limits::Limit;
use super::wire::Refusal;
use crate::error::{MayRetry, failure_of};

/// Why a command was not run, or why nothing can be said about its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProcessError {
    /// There is no such program.
    NotFound {
        /// What was asked for.
        program: PathBuf,
    },
    /// The program is there, but what its first line names to run it is not.
    InterpreterNotFound {
        /// What was asked for.
        program: PathBuf,
    },
    /// The program may not be executed.
    NotPermitted {
        /// What was asked for.
        program: PathBuf,
    },
    /// The program could not be started for another reason.
    NotStarted {
        /// What was asked for.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The arguments and the environment are more than the system takes.
    ArgumentListTooLong {
        /// What was asked for.
        program: PathBuf,
        /// How much was given along.
        bytes: usize,
    },
    /// The working folder cannot be entered.
    WorkingFolder {
        /// The folder asked for.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The command cannot be expressed to the system.
    InvalidCommand {
        /// What is wrong with it.
        why: &'static str,
    },
    /// What was to be the standard input could not be opened or made.
    Stdin {
        /// What the system said.
        source: io::Error,
    },
    /// A limit asked for cannot be enforced.
    LimitRefused {
        /// The limit.
        limit: Limit,
        /// Why it cannot be enforced.
        why: String,
    },
    /// More standard output than may be captured. It is never cut silently.
    CaptureTooLarge {
        /// How much may be captured.
        most: u64,
        /// How much there was.
        seen: u64,
    },
    /// The system has no descriptors or pipes left.
    Descriptors {
        /// What the system said.
        source: io::Error,
    },
    /// The spawner could not be started, or the program given does not serve as one.
    SpawnerNotStarted {
        /// The program.
        program: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The spawner ended while the process ran. The processes of the attempt were ended.
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
                let kinds = [OutOfMemory, TimedOut, UnexpectedEof, WouldBlock];
                is_for_want_of_descriptors(source) || kinds.contains(&source.kind())
            }
            _ => false,
        }
    }

    /// Whether the system had no descriptors, no memory or no number left for another process: what others give
    /// back when they end. Nothing was started, so trying again does nothing twice.
    #[must_use]
    pub fn is_for_want_of_room(&self) -> bool {
        match self {
            Self::Descriptors { .. } => true,
            Self::NotStarted { source, .. } | Self::SpawnerNotStarted { source, .. } => {
                let kinds = [io::ErrorKind::OutOfMemory, io::ErrorKind::WouldBlock];
                kinds.contains(&source.kind()) || is_for_want_of_descriptors(source)
            }
            _ => false,
        }
    }

    /// How the attempt came to its end, for code that says so itself. Unlike the error with
    /// `?` it can say that nobody knows: the attempt then counts as lost, not as failed.
    #[must_use]
    pub fn into_outcome(self) -> Outcome {
        match self {
            Self::SpawnerLost => Outcome::Lost,
            error => Outcome::Failed(Box::new(failure_of(&error))),
        }
    }

    /// What was to be the standard input is not there: that may be nobody's fault but that of the moment.
    pub(super) fn no_stdin(source: io::Error) -> Self {
        match is_for_want_of_descriptors(&source) {
            true => Self::Descriptors { source },
            false => Self::Stdin { source },
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

/// Whether this process, or the system, may open nothing more for now.
pub(super) fn is_for_want_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// With what the system said, because the place of the cause is taken.
impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { program } => write!(f, "program not found: {}", program.display()),
            Self::InterpreterNotFound { program } => {
                let program = program.display();
                write!(f, "the interpreter named in the first line of {program} was not found")
            }
            Self::NotPermitted { program } => {
                write!(f, "no permission to execute {}", program.display())
            }
            Self::NotStarted { program, source } => {
                write!(f, "cannot start {}: {source}", program.display())
            }
            Self::ArgumentListTooLong { program, bytes } => write!(
                f,
                "argument list too long for {}: arguments and environment have {bytes} bytes",
                program.display()
            ),
            Self::WorkingFolder { folder, source } => {
                write!(f, "cannot enter the working folder {}: {source}", folder.display())
            }
            Self::InvalidCommand { why } => write!(f, "invalid command: {why}"),
            Self::Stdin { source } => write!(f, "cannot provide standard input: {source}"),
            Self::LimitRefused { limit, why } => write!(f, "limit refused: {limit}: {why}"),
            Self::CaptureTooLarge { most, seen } => {
                write!(f, "captured output is larger than {most} bytes ({seen} bytes)")
            }
            Self::Descriptors { source } => write!(f, "out of descriptors: {source}"),
            Self::SpawnerNotStarted { program, source } => {
                write!(f, "cannot start the spawner {}: {source}", program.display())
            }
            Self::SpawnerLost => f.write_str("the spawner was lost while the process ran"),
        }
    }
}

/// As its own cause it says whether to try again, which the scheduler finds there: a task returns it
/// with `?`, in whatever error.
impl Error for ProcessError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        (!self.is_transient()).then_some(&MayRetry::No as _)
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
        let missing = || ProcessError::NotFound { program: "nothing".into() };
        let hidden = anyhow::Error::from(missing()).context("cannot build");
        let hidden = failure_of(&*crate::error::BoxError::from(hidden));
        assert!(hidden.permanent);
        assert_eq!(&*hidden.message, "cannot build: program not found: nothing");
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

    #[test]
    fn want_of_room_is_told_from_what_is_wrong() {
        let spawner = |source: io::Error| ProcessError::SpawnerNotStarted {
            program: "spawner".into(),
            source,
        };
        for errno in [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE] {
            assert!(spawner(errno.into()).is_for_want_of_room(), "{errno}");
            let program = "sh".into();
            let error = ProcessError::NotStarted { program, source: errno.into() };
            assert!(error.is_for_want_of_room(), "{errno}");
        }
        // It may have been killed, or be no spawner at all: that is not waited for.
        for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::NotFound] {
            assert!(!spawner(kind.into()).is_for_want_of_room(), "{kind}");
        }
        assert!(ProcessError::no_stdin(Errno::MFILE.into()).is_for_want_of_room());
        assert!(!ProcessError::no_stdin(Errno::NOENT.into()).is_for_want_of_room());
    }
}
