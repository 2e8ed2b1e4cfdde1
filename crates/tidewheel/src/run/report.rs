//! [`RunReport`]: what a run came to, with the values its tasks returned.
//!
//! The figures are the core's; here they get names, values and text.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tidewheel_core::id::RunId;
use tidewheel_core::report::{self, Counts, TaskReport};
use tidewheel_core::row::RunResult;
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;

use crate::explain::{Explain, Explanation, UnknownTask};
use crate::output::Value;

/// What a run came to: every task with its state, and why. Cheap to clone.
///
/// Each task is in exactly one of the lists, so their lengths add up to [`RunReport::len`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Graph, Tidewheel};
///
/// let wheel = Tidewheel::builder().start();
/// let graph = Graph::from_edges([("a", "b"), ("b", "c")])?;
/// let report = wheel
///     .run(graph, |task| async move { if task.name() == "b" { Err("disk full") } else { Ok(()) } })
///     .await?;
/// assert_eq!(report.failed().next().unwrap().error().as_deref(), Some("disk full"));
/// assert_eq!(report.to_string(), "failed: 1 succeeded, 1 failed, 1 skipped");
/// assert_eq!(
///     wheel.explain(report.task("c"))?.to_string(),
///     "`c` is skipped (dependency-failed) because of `b`",
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RunReport {
    inner: Arc<Inner>,
}

struct Inner {
    report: report::RunReport,
    name: Arc<str>,
    values: HashMap<u32, Value>,
    /// Indices of added tasks by name, made when first asked for.
    added: OnceLock<HashMap<Arc<str>, u32>>,
    /// Made when first asked for.
    first_causes: OnceLock<Vec<u32>>,
}

impl RunReport {
    pub(crate) fn new(
        report: report::RunReport,
        name: Arc<str>,
        values: HashMap<u32, Value>,
    ) -> Self {
        let (added, first_causes) = (OnceLock::new(), OnceLock::new());
        Self { inner: Arc::new(Inner { report, name, values, added, first_causes }) }
    }

    /// The durable identity of the run.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.inner.report.id
    }

    /// The name the run was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// How the run ended.
    #[must_use]
    pub fn result(&self) -> RunResult {
        self.inner.report.result
    }

    /// Whether the run succeeded: every failure, if any, was tolerated.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.result() == RunResult::Succeeded
    }

    /// The report if the run succeeded, else an error that has it: for `?` where a failed task should
    /// not go unnoticed.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidewheel::{Graph, Tidewheel};
    ///
    /// let wheel = Tidewheel::builder().start();
    /// let graph = Graph::from_edges([("build", "test")])?;
    /// let report = wheel.run(graph, |_| async { Err::<(), _>("disk full") }).name("ci").await?;
    /// let error = report.into_result().unwrap_err();
    /// assert_eq!(error.to_string(), "run `ci` failed: 1 failed, 1 skipped; `build`: disk full");
    /// assert_eq!(error.report.failed().count(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the run failed or was cancelled.
    pub fn into_result(self) -> Result<Self, Unsuccessful> {
        if self.is_success() { Ok(self) } else { Err(Unsuccessful { report: self }) }
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.report.len() as usize
    }

    /// Whether there were no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many tasks are in each state.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.inner.report.counts
    }

    /// When the run was accepted.
    #[must_use]
    pub fn accepted_at(&self) -> Timestamp {
        self.inner.report.accepted_at
    }

    /// How long the run took.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.inner.report.ended_at.since(self.inner.report.started_at)
    }

    /// The task called `name`.
    #[must_use]
    pub fn task(&self, name: &str) -> Option<TaskLine<'_>> {
        let Inner { report, added, .. } = &*self.inner;
        let by_name = || report.added.iter().cloned().zip(report.graph.len()..).collect();
        let added = || added.get_or_init(by_name).get(name).copied();
        let index = report.graph.index_of(name).or_else(added)?;
        Some(TaskLine { report: self, index })
    }

    /// Every task, by index.
    pub fn tasks(&self) -> impl Iterator<Item = TaskLine<'_>> {
        (0..self.len() as u32).map(|index| TaskLine { report: self, index })
    }

    /// Tasks that ended well, the first to end first. Those recorded as done before are among
    /// them.
    pub fn succeeded(&self) -> impl Iterator<Item = TaskLine<'_>> {
        let mut lines: Vec<_> = self.in_state(TaskState::Succeeded).collect();
        lines.sort_by_key(|line| line.facts().ended_at);
        lines.into_iter()
    }

    /// Tasks whose last attempt failed.
    pub fn failed(&self) -> impl Iterator<Item = TaskLine<'_>> {
        self.in_state(TaskState::Failed)
    }

    /// Tasks that were not done, by rule or because there was nothing to do.
    pub fn skipped(&self) -> impl Iterator<Item = TaskLine<'_>> {
        self.in_state(TaskState::Skipped)
    }

    /// Tasks ended by request.
    pub fn cancelled(&self) -> impl Iterator<Item = TaskLine<'_>> {
        self.in_state(TaskState::Cancelled)
    }

    /// At-most-once tasks of which nobody can say whether they took effect.
    pub fn unknown(&self) -> impl Iterator<Item = TaskLine<'_>> {
        self.in_state(TaskState::Unknown)
    }

    /// The value the task called `name` returned, if it succeeded with a value of type `T`.
    #[must_use]
    pub fn value<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        let line = self.task(name).filter(|line| line.state() == TaskState::Succeeded)?;
        self.inner.values.get(&line.index).cloned()?.downcast().ok()
    }

    pub(crate) fn any_value(&self, index: u32) -> Option<Value> {
        self.inner.values.get(&index).cloned()
    }

    fn in_state(&self, state: TaskState) -> impl Iterator<Item = TaskLine<'_>> {
        self.tasks().filter(move |line| line.state() == state)
    }

    fn name_of(&self, index: u32) -> Arc<str> {
        let report = &self.inner.report;
        match index.checked_sub(report.graph.len()) {
            Some(place) => Arc::clone(&report.added[place as usize]),
            None => Arc::from(&*report.graph.name(index)),
        }
    }
}

/// One line: the result and how many tasks are in each state.
impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.result().word(), self.counts())
    }
}

/// A run that failed or was cancelled, as an error; made by [`RunReport::into_result`].
#[derive(Debug, Clone)]
pub struct Unsuccessful {
    /// What the run came to.
    pub report: RunReport,
}

impl fmt::Display for Unsuccessful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run `{}` {}", self.report.name(), self.report)?;
        let mut failed = self.report.failed();
        match failed.next() {
            Some(first) => write!(f, "; `{}`: {}", first.name(), first.error().unwrap_or_default()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Unsuccessful {}

impl fmt::Debug for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = f.debug_struct("RunReport");
        lines.field("result", &self.result());
        // A run may have a million tasks; those that did not succeed are what people look for.
        let unwell: Vec<String> = self
            .tasks()
            .filter(|line| line.state() != TaskState::Succeeded)
            .take(20)
            .map(|line| line.to_string())
            .collect();
        lines.field("counts", &self.to_string()).field("unwell", &unwell).finish()
    }
}

/// One task of a report.
#[derive(Clone, Copy)]
pub struct TaskLine<'a> {
    report: &'a RunReport,
    index: u32,
}

impl TaskLine<'_> {
    /// The name of the task.
    #[must_use]
    pub fn name(&self) -> String {
        self.report.name_of(self.index).to_string()
    }

    /// The index of the task in the graph.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// How it ended.
    #[must_use]
    pub fn state(&self) -> TaskState {
        self.facts().state
    }

    /// Why it ended so.
    #[must_use]
    pub fn reason(&self) -> Reason {
        self.facts().reason
    }

    /// The task whose failure is the reason, where there is one, however many were skipped in between; of what was
    /// skipped by a condition, the task that has it. The one it needs itself is in [`TaskLine::reason`].
    #[must_use]
    pub fn cause(&self) -> Option<String> {
        self.first_cause().map(|index| self.report.name_of(index).to_string())
    }

    fn first_cause(&self) -> Option<u32> {
        let nearest = self.reason().cause()?;
        let report = &self.report.inner.report;
        let first = self.report.inner.first_causes.get_or_init(|| first_causes(report));
        Some(first[nearest as usize])
    }

    /// How often it was tried.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.facts().attempts
    }

    /// The text of its last error, also of a task that succeeded in the end. A task that failed
    /// always has one.
    #[must_use]
    pub fn error(&self) -> Option<Arc<str>> {
        let text = self.facts().error.clone().filter(|text| !text.is_empty());
        match self.state() {
            TaskState::Failed => Some(text.unwrap_or_else(|| Arc::from(self.reason().word()))),
            _ => text,
        }
    }

    /// How long after the run was accepted its last attempt started.
    #[must_use]
    pub fn started_after(&self) -> Option<Duration> {
        self.facts().started_at.map(|at| at.since(self.report.inner.report.started_at))
    }

    /// How long after the run was accepted it ended.
    #[must_use]
    pub fn ended_after(&self) -> Option<Duration> {
        self.facts().ended_at.map(|at| at.since(self.report.inner.report.started_at))
    }

    /// How long its last attempt took.
    #[must_use]
    pub fn elapsed(&self) -> Option<Duration> {
        let facts = self.facts();
        Some(facts.ended_at?.since(facts.started_at?))
    }

    /// The error that still matters.
    fn lasting_error(&self) -> Option<Arc<str>> {
        self.error().filter(|_| self.state() != TaskState::Succeeded)
    }

    fn facts(&self) -> TaskReport {
        self.report.inner.report.task(self.index).expect("a line is of a task of its report")
    }
}

/// The state and the reason, with names and the error: "`c` skipped: `b` failed".
impl fmt::Display for TaskLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.name(), self.state())?;
        let nearest = self.reason().cause().map(|index| self.report.name_of(index));
        match (self.lasting_error(), nearest) {
            (Some(error), _) => write!(f, ": {error}"),
            (None, Some(cause)) => write!(f, ": {} `{cause}`", self.reason()),
            (None, None) if self.reason() != Reason::Ordinary => write!(f, ": {}", self.reason()),
            (None, None) => Ok(()),
        }
    }
}

/// For each task the one that its state comes from in the end: itself, or where it did not run the one that failed,
/// or was left out, first of those because of which it did not. All at once, since a chain may be long.
fn first_causes(report: &report::RunReport) -> Vec<u32> {
    const UNKNOWN: u32 = u32::MAX;
    let cause = |index: u32| {
        let task = report.task(index)?;
        task.reason.cause().filter(|_| task.state != TaskState::Failed)
    };
    let mut first = vec![UNKNOWN; report.len() as usize];
    let mut way = Vec::new();
    for index in 0..report.len() {
        let mut at = index;
        while first[at as usize] == UNKNOWN {
            first[at as usize] = at;
            way.push(at);
            at = cause(at).unwrap_or(at);
        }
        let found = first[at as usize];
        way.drain(..).for_each(|passed| first[passed as usize] = found);
    }
    first
}

impl fmt::Debug for TaskLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskLine({self})")
    }
}

impl Explain for TaskLine<'_> {
    fn explain(&self, _: &crate::Tidewheel) -> Result<Explanation, UnknownTask> {
        let facts = tidewheel_core::explain::Explanation {
            task: self.facts().id,
            name: self.report.name_of(self.index),
            state: self.state(),
            reason: self.reason(),
            holds: vec![tidewheel_core::explain::Hold::Ended],
            place: None,
        };
        let cause = self.first_cause().map(|index| self.report.name_of(index));
        Ok(Explanation { facts, cause, error: self.lasting_error(), expected_start: None })
    }
}
