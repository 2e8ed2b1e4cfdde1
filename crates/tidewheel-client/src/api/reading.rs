//! Logs as people read them: numbered lines, what is found in them, and that there are more.
//!
//! Which logs there are, and their bytes, is in [`super::logs`]. Lines are counted from 1, as people do.

use serde::{Deserialize, Serialize};
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::LogStream;
use super::document::documents;
use super::times::instant_if_any;

/// Which lines of which log. It is named by a step, or as an answer before said it, by a task and an attempt, which is
/// quicker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinesWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The number of the step in the run, instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// This attempt instead of the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Only this stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<LogStream>,
    /// From this line on; less than 0: so many before the end.
    #[serde(default = "first_line")]
    #[schema(default = 1)]
    pub from: i64,
    /// At most so many.
    #[serde(default = "usual_count")]
    #[schema(minimum = 1, maximum = 1000, default = 400)]
    pub count: u32,
    /// At most so many bytes of each; of up to 8 lines a mebibyte.
    #[serde(default = "usual_bytes")]
    #[schema(minimum = 1, maximum = 1048576, default = 4096)]
    pub bytes: u32,
    /// Only the lines of these numbers instead: up to 400, with commas between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// Whether what is known is told at once, although lines may not all be counted yet: asking again counts on.
    #[serde(default, skip_serializing_if = "is_not")]
    pub now: bool,
}

fn is_not(said: &bool) -> bool {
    !said
}

fn first_line() -> i64 {
    1
}

fn usual_count() -> u32 {
    400
}

fn usual_bytes() -> u32 {
    4096
}

impl Default for LinesWish {
    fn default() -> Self {
        Self {
            version: None,
            step: None,
            task: None,
            attempt: None,
            stream: None,
            from: first_line(),
            count: usual_count(),
            bytes: usual_bytes(),
            only: None,
            now: false,
        }
    }
}

/// Some lines of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLines {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The number of the step in the run.
    pub task: u32,
    /// The number of the attempt; 0 if there is none yet.
    pub attempt: u32,
    /// How many attempts there were, if the step was asked for by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Whether nobody writes to it any more, if the step was asked for by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<bool>,
    /// Another one when lines that were told may have changed: the log was written anew, or its streams are in another order
    /// than could be known then.
    pub generation: String,
    /// How many lines there are, as far as they are counted.
    pub total: u64,
    /// How many bytes.
    pub size: u64,
    /// In how many of these the lines are counted, while that is not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// The number of the first line; 0 while nobody knows it.
    pub from: u64,
    /// The lines, one after the other; or those that were asked for by their numbers, without those that there are not.
    pub lines: Vec<LogLine>,
}

/// A line: when it was written, where that is known; to which stream; its letters; and whether there is more of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogLine(
    #[serde(with = "instant_if_any")]
    #[schema(value_type = Option<String>)]
    pub Option<Timestamp>,
    pub LogStream,
    pub Vec<LogSpan>,
    pub Option<LogCut>,
);

/// Letters of one style, and before them its words: `f0` to `f15` is their colour, `g0` to `g15` that of the ground, and `b`, `d`, `i`,
/// `u` and `s` mean bold, dim, italic, underlined and struck out. Nothing in the letters does anything but show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogSpan(pub String, pub String);

/// A line of which not all is shown: where it begins in the file of its stream, and how many bytes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogCut(pub u64, pub u64);

/// What is searched for in which log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchWish {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The number of the step in the run, instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// This attempt instead of the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Only this stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<LogStream>,
    /// The text; without one, whatever looks as if it told of an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether it is a regular expression.
    #[serde(default)]
    pub regex: bool,
    /// Whether it matters how large letters are; if nobody says, it does if one is a capital.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<bool>,
    /// From this line on.
    #[serde(default = "first_number")]
    #[schema(minimum = 1, default = 1)]
    pub from: u64,
    /// At most so many lines are told; the others are counted.
    #[serde(default = "usual_hits")]
    #[schema(maximum = 100000, default = 10000)]
    pub limit: u32,
}

fn first_number() -> u64 {
    1
}

fn usual_hits() -> u32 {
    10_000
}

impl Default for SearchWish {
    fn default() -> Self {
        Self {
            version: None,
            step: None,
            task: None,
            attempt: None,
            stream: None,
            text: None,
            regex: false,
            case: None,
            from: first_number(),
            limit: usual_hits(),
        }
    }
}

/// What a search has come to, piece by piece.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogFound {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Lines in which something was found, since the piece before.
    pub hits: Vec<u64>,
    /// Bytes that were searched.
    pub bytes: u64,
    /// Bytes that there are.
    pub size: u64,
    /// What it comes to, in the last piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<FoundSum>,
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FoundSum {
    /// Lines in which something was found.
    pub count: u64,
    /// Lines that there are.
    pub total: u64,
    /// The generation of the lines.
    pub generation: String,
    /// How many of them are in each of two hundred parts of the log.
    pub buckets: Vec<u64>,
}

/// Where to look first in the log of something that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogErrorLine {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The number of the step in the run.
    pub task: u32,
    /// The number of the attempt.
    pub attempt: u32,
    /// The line, if one was found.
    pub line: Option<u64>,
    /// Its stream.
    pub stream: Option<LogStream>,
    /// Whether it looks as if it told of an error; else it is only the first one of standard error.
    pub likely: bool,
}

/// There is more in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogGrown {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The run's identity.
    pub run_id: String,
    /// The step.
    pub step: String,
    /// Its number in the run.
    pub task: u32,
    /// The number of the attempt.
    pub attempt: u32,
    /// How long its standard output is.
    pub stdout: u64,
    /// How long its standard error is.
    pub stderr: u64,
    /// Whether nobody writes to it any more.
    pub over: bool,
}

documents! {
    LinesWish: "wish-lines" 1,
    LogLines: "log-lines" 1,
    SearchWish: "wish-search" 1,
    LogFound: "log-found" 1,
    LogErrorLine: "log-error" 1,
    LogGrown: "log-grown" 1,
}
