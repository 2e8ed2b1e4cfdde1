//! Where to find what steps wrote, and how requests were answered.
//!
//! The lines themselves are read from the files, or asked for one file at a time.

use serde::{Deserialize, Serialize};

use super::StepState;
use super::document::documents;

/// What is kept of the output of a run's steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The files.
    pub logs: Vec<LogFile>,
    /// What requests were answered, which have no files.
    pub requests: Vec<RequestEnd>,
}

/// A file with what one attempt wrote to one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFile {
    /// The step.
    pub step: String,
    /// How it stands.
    pub state: StepState,
    /// The number of the attempt.
    pub attempt: u32,
    /// The stream.
    pub stream: LogStream,
    /// Where it is, on the machine that ran it.
    pub path: String,
    /// How long it is.
    pub bytes: u64,
}

/// One of the two streams of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogStream {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];
}

/// How a request was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestEnd {
    /// The step.
    pub step: String,
    /// How it stands.
    pub state: StepState,
    /// The number of the attempt.
    pub attempt: u32,
    /// The status of the answer.
    pub status: Option<i32>,
    /// What went wrong.
    pub error: Option<String>,
    /// The beginning of the answer, if it was not as wished.
    pub answer: Option<String>,
}

documents! { LogList: "logs" 1 }
