//! What an executor knows of an ended attempt, to be kept beside the rows of the scheduler.
//!
//! The scheduler never reads it back: whether an attempt succeeded is decided by its outcome alone.

use std::path::PathBuf;

use tidewheel_core::id::TaskId;
use tidewheel_core::time::Timestamp;

/// An ended attempt as its executor saw it. What is not known is left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptRecord {
    /// The task.
    pub task: TaskId,
    /// The number of the attempt.
    pub attempt: u32,
    /// When it began to run.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How it ended, in one word.
    pub outcome: Option<String>,
    /// The exit code of its process, or the status of its answer.
    pub code: Option<i32>,
    /// The signal that ended its process.
    pub signal: Option<i32>,
    /// Its error in words.
    pub error: Option<String>,
    /// The end of what it wrote, for people who look for the reason.
    pub tail: Option<String>,
    /// What it wrote to standard output.
    pub stdout: Option<LogFile>,
    /// What it wrote to standard error.
    pub stderr: Option<LogFile>,
    /// The values it left for tasks after it.
    pub outputs: Vec<OutputRecord>,
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
