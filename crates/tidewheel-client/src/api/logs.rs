//! Where to find what steps wrote, and how requests were answered.
//!
//! The lines themselves are read from the files, or asked for one file at a time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::StepState;
use super::document::documents;

/// What is kept of the output of a run's steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
    /// The steps that were asked for, in the order of the flow.
    pub steps: Vec<StepLogs>,
    /// Whether nobody writes any more: the run has ended, or its process is gone.
    pub over: bool,
}

/// Which of it is a step's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StepLogs {
    /// The step.
    pub step: String,
    /// Its number in the run, by which its files are read.
    pub task: u32,
    /// How it stands.
    pub state: StepState,
    /// The attempt that was asked for, else the newest; 0 if there is none yet.
    pub attempt: u32,
    /// How much of which stream that attempt wrote before how much of the other, if it wrote to both; what is
    /// not told here came last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<LogTurn>,
    /// Why it has no log, if it has none and its process has not just written nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<String>,
    /// What people should know of it: that what it wrote could not be kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Some of what an attempt wrote to a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogWanted {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The number of the step in the run.
    pub task: u32,
    /// The number of the attempt.
    pub attempt: u32,
    /// The stream.
    pub stream: LogStream,
    /// From this byte on.
    pub from: u64,
}

/// A file with what one attempt wrote to one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

/// So much of a stream, before the other had its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogTurn {
    /// The stream.
    pub stream: LogStream,
    /// How much of it.
    pub bytes: u64,
}

/// One of the two streams of a process.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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

documents! {
    LogList: "logs" 1,
    LogWanted: "log-wanted" 1,
}
