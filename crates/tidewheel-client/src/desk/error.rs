//! [`DeskError`]: why the desk did not do what it was asked.
//!
//! Its kind is in [`super::refused`], what to do about it in [`super::hints`].

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value as Json;
use tidewheel::store::StoreError;
use tidewheel::store::sqlite::FolderError;
use tidewheel::{BuildError, Rejection, RunId, TaskState};
use tidewheel_flow::{
    AgainError, Flow, OrderError, ParamError, PlanError, SecretError, StartError,
};

use crate::api::{FileChange, Refusal, RunState};
use crate::files::FlowFiles;
use crate::log::SearchError;
use crate::text::harmless;

/// Why the desk did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeskError {
    /// The data folder did not do what it was asked.
    #[error(transparent)]
    Folder(Box<FolderProblem>),
    /// There is no such run.
    #[error("there is no run `{word}` in {}", folder.display())]
    NoRun {
        /// The word for it.
        word: String,
        /// The data folder.
        folder: PathBuf,
    },
    /// A server cannot be reached.
    #[error("the server at {server} cannot be reached: {why}")]
    Unreachable {
        /// The server.
        server: String,
        /// Why.
        why: String,
    },
    /// A server refused it, or does not answer as it must.
    #[error("the server at {server} says no ({status}): {why}")]
    Server {
        /// The server.
        server: String,
        /// The status of its answer.
        status: u16,
        /// What it says.
        why: String,
        /// What can be done about it.
        hint: Option<String>,
    },
    /// Only whoever has the data folder can do it.
    #[error("this can only be done where the data folder is")]
    NotHere,
    /// There is no server to ask.
    #[error("no server has the data folder {}", folder.display())]
    NoServer {
        /// The data folder.
        folder: PathBuf,
    },
    /// Nobody has said that a list goes on there.
    #[error("`{cursor}` is no place in a list")]
    Cursor {
        /// What was said.
        cursor: String,
    },
    /// It cannot be searched for.
    #[error(transparent)]
    Search(SearchError),
    /// That is too much, or nothing.
    #[error("{what} must be from {least} to {most}")]
    OutOfRange {
        /// What.
        what: &'static str,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// These are not the numbers of lines.
    #[error("`only` takes up to {most} numbers of lines, from 1, with commas between")]
    LineNumbers {
        /// How many.
        most: usize,
    },
    /// It was removed while it was looked for.
    #[error("run {run} was removed meanwhile")]
    RunGone {
        /// The run.
        run: RunId,
    },
    /// More than one is meant.
    #[error("several runs begin with `{word}`")]
    SeveralRuns {
        /// The word for them.
        word: String,
        /// Some of them.
        runs: Vec<RunId>,
    },
    /// The run has no such step.
    #[error("the run has no step `{step}`")]
    NoStep {
        /// The word for it.
        step: String,
        /// The one that may be meant.
        near: Option<String>,
    },
    /// The flow has no such step.
    #[error("the flow has no step `{step}`")]
    NotInFlow {
        /// The word for it.
        step: String,
        /// What may be meant.
        near: Option<String>,
    },
    /// There is no such flow.
    #[error("there is no flow `{flow}`")]
    NoFlow {
        /// The word for it.
        flow: String,
        /// The one that may be meant.
        near: Option<String>,
    },
    /// Another version of the flow is in force.
    #[error("the flow `{flow}` is not at version {wanted} any more")]
    OtherVersion {
        /// The flow.
        flow: String,
        /// The version that was asked for.
        wanted: String,
    },
    /// There is no such schedule.
    #[error("there is no schedule `{schedule}`")]
    NoSchedule {
        /// The word for it.
        schedule: String,
        /// The one that may be meant.
        near: Option<String>,
    },
    /// It fires no more.
    #[error("schedule `{schedule}` has ended")]
    ScheduleEnded {
        /// The schedule.
        schedule: String,
    },
    /// Nobody would hear the wish.
    #[error("no server has schedule `{schedule}`")]
    NotServed {
        /// The schedule.
        schedule: String,
    },
    /// Whoever has it does not answer.
    #[error("the server has not followed it within {} s; it will when it can", patience.as_secs())]
    NotHeard {
        /// The schedule.
        schedule: String,
        /// How long it was waited for.
        patience: Duration,
    },
    /// It is not said which instants are meant.
    #[error("a backfill needs an instant from which on")]
    BackfillFromWhen,
    /// More firings would follow than anybody expects.
    #[error("these are more than {max} instants")]
    TooManyFirings {
        /// As many as may be.
        max: u32,
    },
    /// The folder with the flows cannot be read.
    #[error("the folder of flows {} cannot be read: {error}", path.display())]
    FlowsNotRead {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The step has no such attempt.
    #[error("step `{step}` has no attempt {attempt}")]
    NoAttempt {
        /// The step.
        step: String,
        /// The number.
        attempt: u32,
        /// The newest that there is; 0: none.
        newest: u32,
    },
    /// No step has left such an artifact.
    #[error("run {run} has no artifact `{name}`")]
    NoArtifact {
        /// The run.
        run: String,
        /// The word for it.
        name: String,
        /// The one that may be meant.
        near: Option<String>,
    },
    /// Several steps left an artifact of this name.
    #[error("several steps left `{name}`")]
    SeveralArtifacts {
        /// The name.
        name: String,
        /// The steps.
        steps: Vec<String>,
    },
    /// An artifact could not be copied.
    #[error("`{name}` cannot be copied: {error}")]
    NotCopied {
        /// The artifact.
        name: String,
        /// Why not.
        error: std::io::Error,
    },
    /// What a run was started with cannot be understood.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// Nobody here knows its kind.
    #[error("run {run} is of a kind that is not known here")]
    UnknownKind {
        /// The run.
        run: RunId,
    },
    /// It may still do something.
    #[error("run {run} has not ended")]
    NotEnded {
        /// The run.
        run: RunId,
        /// Whether nobody runs it.
        is_abandoned: bool,
    },
    /// It is being made again.
    #[error("run {run} is being retried by run {by}, which has not ended")]
    Retried {
        /// The run.
        run: String,
        /// The one that makes it again.
        by: RunId,
    },
    /// There is nothing to go on with.
    #[error("run {run} has ended: {state}")]
    Ended {
        /// The run.
        run: RunId,
        /// How.
        state: RunState,
    },
    /// Nobody would hear the wish.
    #[error("run {run} does not run: its process died")]
    Abandoned {
        /// The run.
        run: RunId,
    },
    /// Whoever runs it does not say.
    #[error("the process that runs run {run} does not answer within {} s", patience.as_secs())]
    Silent {
        /// The run.
        run: RunId,
        /// How long it was waited for.
        patience: Duration,
    },
    /// Whoever runs it refuses.
    #[error("run {run} stays as it is: {}", harmless(why))]
    NotChanged {
        /// The run.
        run: RunId,
        /// Why.
        why: String,
    },
    /// It cannot be made again as it was asked for.
    #[error("{}", harmless(&error.to_string()))]
    Again {
        /// The run.
        run: RunId,
        /// Why not.
        error: AgainError,
        /// The step that may be meant, in a sentence.
        near: Option<String>,
    },
    /// It would do something else by now than was shown.
    #[error("a retry of run {0} would not do any more what its preview has shown")]
    OtherPreview(RunId),
    /// All of it succeeded.
    #[error("run {run} succeeded: nothing of it is left to be run again")]
    NothingLeft {
        /// The run.
        run: RunId,
        /// Files of it that say something else now.
        changed_files: Vec<String>,
    },
    /// Its flow came from standard input.
    #[error("the flow of run {run} was read from standard input, and cannot be read again")]
    NoFiles {
        /// The run.
        run: RunId,
    },
    /// Nobody who may has sent this to a hook, or there is no such hook.
    #[error("nobody is known to deliver this")]
    NotSigned,
    /// What was delivered makes no run.
    #[error("nothing can be made of what was delivered to `{hook}`: {}", harmless(why))]
    NotDelivered {
        /// The hook.
        hook: String,
        /// Why not.
        why: String,
    },
    /// There is no room for the run of a delivery.
    #[error("nothing more is taken in for `{hook}` now: {}", harmless(why))]
    HookFull {
        /// The hook.
        hook: String,
        /// What is full.
        why: String,
    },
    /// Its files are not what they were.
    #[error("the flow has changed since the run was started")]
    Changed {
        /// The run.
        run: RunId,
        /// The files and how they differ.
        changes: Vec<FileChange>,
    },
    /// The files have errors.
    #[error("the flow cannot be run: {}", problems_of(.0.loaded.problems.errors()))]
    Problems(Box<FlowFiles>),
    /// The same of files that whoever asks has.
    #[error("the flow cannot be run: {}", problems_of(*errors))]
    Unrunnable {
        /// How many there are.
        errors: usize,
        /// Each with its place, warnings included.
        problems: Json,
    },
    /// The flow makes no graph with these params.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A param is not said as it must be.
    #[error("`{text}` is not of the form name=value")]
    ParamForm {
        /// What was said.
        text: String,
    },
    /// A param is not as it must be.
    #[error("{error}")]
    Param {
        /// How.
        error: ParamError,
        /// The params that there are.
        known: Vec<String>,
    },
    /// The step asks nobody.
    #[error("step `{step}` does not wait for approval")]
    AsksNobody {
        /// The step.
        step: String,
        /// Some that do.
        asking: Vec<String>,
    },
    /// The step needs no answer any more.
    #[error("step `{step}` has ended: {state}")]
    StepEnded {
        /// The step.
        step: String,
        /// How.
        state: TaskState,
    },
    /// The first answer counts.
    #[error("step `{step}` was answered before")]
    AnsweredBefore {
        /// The step.
        step: String,
    },
    /// The run was not started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The scheduler refused the run.
    #[error("not accepted: {0}")]
    // Its words are said already: as a source they would be said again.
    Rejected(Rejection),
    /// What a kind of work refuses for reasons of its own.
    #[error("{}", .0.message)]
    OfKind(Box<Refusal>),
    /// Without its secrets a run would only fail.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Nobody runs it any more, but what it had started has not ended.
    #[error("what the process that ran it has left behind did not end within {} s", patience.as_secs())]
    LeftBehind {
        /// How long it was waited for.
        patience: Duration,
    },
    /// What it brings along contradicts what is in force where it is to go on.
    #[error("run {0} cannot go on among the others here: {1}")]
    NotTakenOver(RunId, String),
    /// Somebody else has the shard.
    #[error(transparent)]
    Held(StoreError),
    /// Another server has the data folder.
    #[error("another server uses this data folder: {0}")]
    Served(StoreError),
    /// The wheel did not start.
    #[error(transparent)]
    NotStarted(Box<NotStarted>),
    /// The system refused what a session needs.
    #[error("a session cannot be set up")]
    System(#[source] std::io::Error),
}

impl From<Rejection> for DeskError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

/// A data folder did not do what it was asked.
#[derive(Debug)]
pub struct FolderProblem {
    /// Why.
    pub error: FolderError,
    /// The folder.
    pub path: PathBuf,
}

/// A wheel on a data folder did not start.
#[derive(Debug)]
pub struct NotStarted {
    /// Why.
    pub error: BuildError,
    /// The folder.
    pub path: PathBuf,
}

/// Errors that stand for the one they hold, and remember the folder.
macro_rules! stands_for_its_error {
    ($($outer:ty),*) => {
        $(impl fmt::Display for $outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.error.fmt(f)
            }
        }

        impl Error for $outer {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                self.error.source()
            }
        })*
    };
}

stands_for_its_error!(FolderProblem, NotStarted);

fn problems_of(errors: usize) -> String {
    crate::text::count(errors, "problem")
}

impl DeskError {
    /// An error of this folder.
    #[must_use]
    pub fn folder(error: FolderError, path: &Path) -> Self {
        Self::Folder(Box::new(FolderProblem { error, path: path.to_owned() }))
    }

    /// A param of this flow is not as it must be.
    #[must_use]
    pub fn param(flow: &Flow, error: ParamError) -> Self {
        Self::Param { error, known: flow.params.iter().map(|param| param.name.clone()).collect() }
    }

    /// What the scheduler said, if it refused it.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) | Self::Start(StartError::Rejected(rejection)) => {
                Some(rejection)
            }
            _ => None,
        }
    }
}
