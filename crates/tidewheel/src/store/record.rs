//! What an executor knows of an ended attempt, to be kept beside the rows of the scheduler: handed over
//! by the attempt itself, and stored with its outcome.
//!
//! The scheduler never reads it back: whether an attempt succeeded is decided by its outcome alone.

use std::path::PathBuf;

use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;

/// An ended attempt as its executor saw it. What is not known is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptRecord {
    /// The task.
    pub task: TaskId,
    /// The number of the attempt; 0 in what an attempt [hands over](crate::Attempt::record) is its own.
    pub attempt: u32,
    /// When it began to run.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<RecordedOutcome>,
    /// The exit code of its process, or the status of its answer.
    pub code: Option<i32>,
    /// The signal that ended its process.
    pub signal: Option<i32>,
    /// Its error in words.
    pub error: Option<String>,
    /// The end of what it wrote, for people who look for the reason.
    pub tail: Option<String>,
    /// What people should know of it although it counts: a log that could not be written, an answer that may
    /// be anybody's. One line each.
    pub warnings: Vec<String>,
    /// What it wrote to standard output.
    pub stdout: Option<LogFile>,
    /// What it wrote to standard error.
    pub stderr: Option<LogFile>,
    /// The values it left for tasks after it.
    pub outputs: Vec<OutputRecord>,
}

/// How an attempt ended, as its executor or the row of its task says.
///
/// An executor knows more of a success than the scheduler needs to: whether anything was done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordedOutcome {
    /// It did its work.
    Succeeded,
    /// It succeeded without doing anything: what it would have left was in a cache.
    Cached,
    /// It succeeded without doing anything: what it would have left was given to its run.
    Reused,
    /// It failed.
    Failed,
    /// It found that there is nothing to do.
    Skipped,
    /// It was cancelled, and its task with it.
    Cancelled,
    /// Nobody can say whether it took effect.
    Unknown,
    /// It ended and its task did not, for this reason: another attempt follows.
    Again(Reason),
}

impl RecordedOutcome {
    /// All that come without a reason.
    #[cfg(feature = "sqlite")]
    pub(crate) const PLAIN: [Self; 7] = [
        Self::Succeeded,
        Self::Cached,
        Self::Reused,
        Self::Failed,
        Self::Skipped,
        Self::Cancelled,
        Self::Unknown,
    ];

    /// The outcome of the attempt with which a task came to a state; `None` if the state is not an
    /// end.
    #[must_use]
    pub fn of_state(state: TaskState) -> Option<Self> {
        match state {
            TaskState::Succeeded => Some(Self::Succeeded),
            TaskState::Failed => Some(Self::Failed),
            TaskState::Skipped => Some(Self::Skipped),
            TaskState::Cancelled => Some(Self::Cancelled),
            TaskState::Unknown => Some(Self::Unknown),
            _ => None,
        }
    }

    /// The word for it: what rows hold.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Succeeded => TaskState::Succeeded.word(),
            Self::Cached => "cached",
            Self::Reused => "reused",
            Self::Failed => TaskState::Failed.word(),
            Self::Skipped => TaskState::Skipped.word(),
            Self::Cancelled => TaskState::Cancelled.word(),
            Self::Unknown => TaskState::Unknown.word(),
            Self::Again(reason) => reason.word(),
        }
    }

    /// Whether it succeeded without doing anything.
    #[must_use]
    pub fn is_without_work(self) -> bool {
        matches!(self, Self::Cached | Self::Reused)
    }
}

/// Where what an attempt writes to one of its streams is kept, from the folder of logs. `end` is `out` or
/// `err`; `seq` is the file that says in which order both were written.
#[must_use]
pub fn log_file(task: TaskId, attempt: u32, end: &str) -> PathBuf {
    log_folder(task.run).join(format!("{}-{attempt}.{end}", task.index))
}

/// Where all that the attempts of a run write is kept, from the folder of logs.
#[must_use]
pub fn log_folder(run: RunId) -> PathBuf {
    PathBuf::from(run.to_string())
}

/// A file with what an attempt wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Where; relative paths start at the data folder.
    pub path: PathBuf,
    /// How many bytes were written to it.
    pub bytes: u64,
    /// Whether the attempt wrote more than was kept.
    pub cut: bool,
}

/// A value that an attempt left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputRecord {
    /// Its name.
    pub name: String,
    /// The value, or where it is.
    pub value: OutputValue,
}

/// The value of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputValue {
    /// The value itself.
    Bytes(Vec<u8>),
    /// A file with the value.
    File {
        /// Where; relative paths start at the data folder.
        path: PathBuf,
        /// How large it is.
        bytes: u64,
    },
}

impl OutputValue {
    /// The size of the value.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(value) => value.len() as u64,
            Self::File { bytes, .. } => *bytes,
        }
    }
}

/// What an executor needs to know of the part of a store whose attempts it runs.
#[cfg(unix)]
#[derive(Debug)]
pub struct SharedShard {
    /// The mark of the store, by which its processes are known.
    pub mark: String,
    /// The folder for logs.
    pub logs: PathBuf,
    /// The lock on the part: it lasts as long as this is open, unless its holder gives it back.
    pub lock: std::os::fd::OwnedFd,
}

/// When a task was tried, and how that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptTimes {
    /// The number of the attempt.
    pub attempt: u32,
    /// When it began to run.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How.
    pub outcome: Option<RecordedOutcome>,
}

/// What a store knows of a task's end beside its row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskResult {
    /// Its newest attempt that an executor left a record of.
    pub newest: Option<AttemptRecord>,
    /// The values it left.
    pub outputs: Vec<OutputRecord>,
}

/// What somebody said to a task that waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Yes or no.
    pub is_approved: bool,
    /// Who.
    pub by: String,
    /// What else was said.
    pub note: Option<String>,
}
