//! [`Means`]: what a flow needs from whoever runs it.
//!
//! What it does in the world, and how, is in `world`.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tidewheel::Attempt;
use tidewheel::id::TaskId;
use tidewheel::store::{Answer, AttemptRecord};

use super::world::World;

/// What a flow needs from whoever runs it.
pub struct Means {
    pub(crate) world: Arc<dyn World>,
    pub(super) told: Box<Told>,
    pub(super) variables: Vec<(String, OsString)>,
    pub(super) cache: Option<PathBuf>,
    pub(super) runs: Option<PathBuf>,
    pub(super) answers: Option<Arc<dyn Answers>>,
    pub(super) containers: Option<PathBuf>,
    pub(super) engine: Option<String>,
}

/// Hears what tasks do.
type Told = dyn Fn(TaskId, Progress<'_>) + Send + Sync;

/// What a task does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// There is something to do: its condition holds, and nothing that was kept is used instead.
    Began {
        /// The number of the attempt.
        attempt: u32,
    },
    /// It starts this command, as far as it may be shown.
    Command(&'a str),
    /// Its attempt ends, and this is stored with the outcome.
    Left(&'a AttemptRecord),
}

/// What people said to steps that wait for them.
pub trait Answers: Send + Sync {
    /// The answer to a step, if there is one.
    fn answer(&self, task: TaskId) -> Option<Answer>;
}

impl Means {
    /// Work is done there; nobody is told or asked.
    #[must_use]
    pub fn new(world: Arc<dyn World>) -> Self {
        let (told, variables) = (Box::new(|_, _: Progress<'_>| ()), Vec::new());
        let (cache, runs, answers, containers, engine) = (None, None, None, None, None);
        Self { world, told, variables, cache, runs, answers, containers, engine }
    }

    /// Hands over what is to be stored with the outcome of an attempt, and tells of it.
    pub(super) fn leave(&self, attempt: &Attempt, record: AttemptRecord) {
        (self.told)(attempt.id(), Progress::Left(&record));
        attempt.record(record);
    }

    /// Keeps why an attempt waits, for whoever asks, in the record of the attempt with this number.
    pub(crate) fn tell_why(&self, attempt: &Attempt, number: u32, why: String) {
        let (task, error) = (attempt.id(), Some(why));
        let record = AttemptRecord { task, attempt: number, error, ..AttemptRecord::default() };
        self.leave(attempt, record);
    }

    /// Who is told what tasks do.
    #[must_use]
    pub fn told(mut self, told: impl Fn(TaskId, Progress<'_>) + Send + Sync + 'static) -> Self {
        self.told = Box::new(told);
        self
    }

    /// A variable that the process of every step gets.
    #[must_use]
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// The folder for what steps with `cache:` left.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// The folder in which runs have folders of their own, for what their steps keep.
    #[must_use]
    pub fn runs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.runs = Some(folder.into());
        self
    }

    /// The folder that says which containers may be there, for
    /// [`remove_containers`](crate::remove_containers) after a crash.
    #[must_use]
    pub fn containers(mut self, folder: impl Into<PathBuf>) -> Self {
        self.containers = Some(folder.into());
        self
    }

    /// The container engine, by name or path, instead of the first that is there.
    #[must_use]
    pub fn engine(mut self, engine: Option<String>) -> Self {
        self.engine = engine;
        self
    }

    /// Who knows what people said.
    #[must_use]
    pub fn answers(mut self, answers: Arc<dyn Answers>) -> Self {
        self.answers = Some(answers);
        self
    }
}

impl fmt::Debug for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Means").field("cache", &self.cache).finish_non_exhaustive()
    }
}
