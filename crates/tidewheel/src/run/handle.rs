//! [`Run`]: the handle of a live run, to steer it and to wait for its report.
//!
//! Starting one is in `builder`.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::graph::Graph;
use tidewheel_core::id::{RunId, RunKey, TaskKey};
use tidewheel_core::input::{CancelMode, Command, Dependents, Outcome, Rejection, Reply};
use tidewheel_core::policy::Priority;
use tidewheel_core::report::{Counts, TaskReport, Whole};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;
use tidewheel_core::{Preview, Scheduler};

use super::addition::addition;
use super::cell::ExtraCode;
use super::{NewTask, RunCell, RunReport, Task};
use crate::driver::Until;
use crate::driver::engine::RunRef;
use crate::driver::wish::Wish;
use crate::error::RunError;
use crate::explain::{Explain, Explanation, UnknownTask};
use crate::output::TaskOutput;

/// A run that was started: pause, resume, cancel, add and remove tasks, wait for the report.
///
/// Clones steer the same run. Handles own nothing: dropping them, or a future that waits for the report,
/// lets the run go on to its end. (A run that is awaited without having been
/// [started](crate::RunBuilder::start) belongs to whoever awaits it.)
///
/// What a run is told is not forgotten while the store is in trouble: it holds at once, and is kept until it can
/// be stored. Only tasks are not added then.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Graph, Tidewheel};
///
/// let wheel = Tidewheel::builder().start();
/// let graph = Graph::from_edges([("build", "test")])?;
/// let run = wheel.run(graph, |_| async {}).paused().start()?;
/// run.add("publish", ["test"])?;
/// run.resume();
/// let report = run.await?;
/// assert!(report.is_success());
/// assert_eq!(report.succeeded().count(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Run {
    cell: Arc<RunCell>,
    until: Until,
}

impl Run {
    pub(crate) fn new(cell: Arc<RunCell>, until: Until) -> Self {
        Self { cell, until }
    }

    /// The same run, steered without waiting for the store, as by
    /// [`Tidewheel::without_waiting`](crate::Tidewheel::without_waiting).
    #[must_use]
    pub fn without_waiting(&self) -> Self {
        Self::new(Arc::clone(&self.cell), Until::Later)
    }

    /// Waits until everything that was decided so far is stored.
    ///
    /// # Errors
    ///
    /// As [`Tidewheel::stored`](crate::Tidewheel::stored).
    pub async fn stored(&self) -> Result<(), Rejection> {
        self.cell.shared.all_stored().await
    }

    /// The durable identity of the run.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.cell.work.id
    }

    /// Waits for the end of the run.
    ///
    /// # Errors
    ///
    /// When the run has no report because the wheel has ended before it.
    pub async fn report(&self) -> Result<RunReport, RunError> {
        let mut ended = self.cell.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(result) => result.clone().expect("it was waited for"),
            Err(_) => unreachable!("the run is kept by this handle"),
        }
    }

    /// Whether the run has ended.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.cell.ended.borrow().is_some()
    }

    /// Cancels a run that its owner has given up, unless it has ended, without waiting for anything.
    pub(crate) fn abandon(&self) {
        if !self.is_ended() {
            let wish = Wish::Cancel(self.cell.work, Cancel::now().into());
            let _ = self.cell.shared.wish(Until::Later, wish);
        }
    }

    /// Starts no more tasks until [`Run::resume`]; what runs goes on. False if it has ended.
    pub fn pause(&self) -> bool {
        self.steer(Wish::PauseRun)
    }

    /// Starts tasks again. False if the run has ended.
    pub fn resume(&self) -> bool {
        self.steer(Wish::ResumeRun)
    }

    /// Changes how many of its tasks may run at once; `None`: as many as the wheel allows. What runs
    /// goes on. It holds until this wheel ends: whoever takes the run over begins with what it was
    /// started with. False if the run has ended, or for zero.
    pub fn set_concurrency(&self, tasks_max: impl Into<Option<u32>>) -> bool {
        let slots = tasks_max.into();
        self.steer(|run| Wish::SetRunSlots(run, slots))
    }

    /// Changes the priority of the run: that of all its tasks which were given no other, those that are added later too.
    /// What waits has not waited anew, and what runs goes on; its next attempt waits with the new priority. It holds
    /// also for whoever takes the run over.
    ///
    /// # Errors
    ///
    /// When the run has ended.
    pub fn set_priority(&self, priority: impl Into<Priority>) -> Result<(), Rejection> {
        let priority = priority.into();
        self.wish(|run| Wish::SetPriority(run, None, priority)).map(drop)
    }

    /// Gives one task a priority of its own, which does not change with that of the run any more; with the end of a
    /// group, all that is in it.
    ///
    /// # Errors
    ///
    /// When the task, or the run, has ended or never was.
    pub fn set_task_priority(
        &self,
        name: &str,
        priority: impl Into<Priority>,
    ) -> Result<(), Rejection> {
        let index = self.cell.index_of(name).ok_or(Rejection::Gone("task"))?;
        let priority = priority.into();
        self.wish(|run| Wish::SetPriority(run, Some(index), priority)).map(drop)
    }

    /// What the order of all that waits would be if the run, or one of its tasks, had this priority: at most `max` tasks
    /// of it. Nothing is changed.
    ///
    /// The scheduler is played ahead, which takes its time, though none of the wheel's: on a runtime call it where
    /// blocking is allowed.
    ///
    /// # Errors
    ///
    /// When the priority could not be changed, or so much is waiting that nobody looks ahead.
    pub fn preview_priority(
        &self,
        task: Option<&str>,
        priority: impl Into<Priority>,
        max: usize,
    ) -> Result<Preview, Rejection> {
        let find = |name| self.cell.index_of(name).ok_or(Rejection::Gone("task"));
        let task = task.map(find).transpose()?;
        let (cell, priority) = (&self.cell, priority.into());
        cell.shared.preview(|state| state.engine.find_run(cell.work), task, priority, max)
    }

    /// Cancels the run: nothing more starts; what becomes of running tasks says `mode`.
    ///
    /// The report still comes, with every task in it. False if the run has ended.
    pub fn cancel(&self, mode: Cancel) -> bool {
        self.steer(|run| Wish::Cancel(run, mode.into()))
    }

    /// Cancels one task; tasks that need it are skipped. False if it has ended or never was.
    pub fn cancel_task(&self, name: &str, mode: Cancel) -> bool {
        let Some(index) = self.cell.index_of(name) else { return false };
        self.change(|run| Wish::CancelTask(run, index, mode.into()))
    }

    /// Adds a task that waits for others and runs the run's own code.
    ///
    /// # Errors
    ///
    /// When there is a task of this name already, one of `after` is not in the run, or the run has
    /// ended.
    pub fn add<S: AsRef<str>>(
        &self,
        name: &str,
        after: impl IntoIterator<Item = S>,
    ) -> Result<(), Rejection> {
        self.add_task(NewTask::new(name).after(after))
    }

    /// Adds a task with options of its own that runs the run's own code.
    ///
    /// # Errors
    ///
    /// As [`Run::add`], when the options make no sense, and when a task that it should go before
    /// waits for no other task any more ([`Rejection::TooLate`]) or is one that it waits for itself
    /// ([`Rejection::Circular`]).
    pub fn add_task(&self, task: NewTask) -> Result<(), Rejection> {
        self.add_all(vec![task], None, false)
    }

    /// Adds a task that runs code of its own.
    ///
    /// # Errors
    ///
    /// As [`Run::add_task`].
    pub fn add_with<F, R>(&self, task: NewTask, code: F) -> Result<(), Rejection>
    where
        F: Fn(Task) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        self.add_all(vec![task], Some(super::plan::boxed(code)), false)
    }

    /// Adds many tasks at once that run the run's own code: all of them, or none if one is refused.
    /// They may name each other, in any order. However many there are, they are stored as one.
    ///
    /// # Errors
    ///
    /// As [`Run::add_task`], for the first of them that is refused.
    pub fn add_tasks(&self, tasks: impl IntoIterator<Item = NewTask>) -> Result<(), Rejection> {
        self.add_all(tasks.into_iter().collect(), None, false)
    }

    /// As [`Run::add_tasks`], and passes over tasks whose name is in the run already: for what may be
    /// done twice.
    ///
    /// # Errors
    ///
    /// As [`Run::add_tasks`].
    pub fn add_missing(&self, tasks: impl IntoIterator<Item = NewTask>) -> Result<(), Rejection> {
        self.add_all(tasks.into_iter().collect(), None, true)
    }

    /// The outcome of a task of this run that has succeeded and found out what else there is to do:
    /// these tasks are added in the same step in which it succeeds, so that a crash leaves both or
    /// neither, and what waits for the task can be made to wait for them
    /// ([`NewTask::before`]). Tasks whose name is in the run already are passed over.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidewheel::{Graph, NewTask, Outcome, Tidewheel};
    ///
    /// let wheel = Tidewheel::builder().start();
    /// let graph = Graph::from_edges([("list", "sum")])?;
    /// let run = wheel.run(graph, |task| async move {
    ///     match task.name() {
    ///         "list" => {
    ///             let page = |n| NewTask::new(format!("page {n}")).after(["list"]).before(["sum"]);
    ///             task.run().expansion((1..=3).map(page)).unwrap()
    ///         }
    ///         _ => Outcome::Succeeded,
    ///     }
    /// });
    /// let report = run.await?;
    /// assert_eq!(report.succeeded().count(), 5);
    /// assert!(report.is_success());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When one of the tasks names one that is not there. What only the scheduler can find, such as a
    /// cycle, fails the attempt for good.
    pub fn expansion(
        &self,
        tasks: impl IntoIterator<Item = NewTask>,
    ) -> Result<Outcome, Rejection> {
        let tasks: Vec<NewTask> = tasks.into_iter().collect();
        Ok(Outcome::Expanded(Box::new(addition(&self.cell, &tasks, true)?)))
    }

    fn add_all(
        &self,
        tasks: Vec<NewTask>,
        code: Option<Arc<ExtraCode>>,
        passes_over_known: bool,
    ) -> Result<(), Rejection> {
        let cell = &self.cell;
        let reply = cell.shared.command_with(
            self.until,
            |state, _| {
                let addition = addition(cell, &tasks, passes_over_known)?;
                let run = state.engine.find_run(cell.work).ok_or(Rejection::Gone("run"))?;
                Ok(Command::AddTasks { run, addition })
            },
            |state, reply, _| {
                cell.catch_up(&state.engine);
                if let (Reply::Added { first, .. }, Some(code)) = (reply, code) {
                    cell.keep_code(first.index, code);
                }
            },
        );
        reply.map(|_| ())
    }

    /// Takes a task out of the run; tasks that need it are skipped.
    ///
    /// It ends as cancelled, for the reason *removed*. If it runs, its attempt finishes, and whatever
    /// comes of that counts for nothing. False if it has ended or never was.
    pub fn remove(&self, name: &str) -> bool {
        self.remove_with(name, Dependents::Skip, None)
    }

    /// Takes a task out of the run; tasks that need it go on as if it had succeeded.
    ///
    /// False if it has ended or never was.
    pub fn remove_and_release(&self, name: &str) -> bool {
        self.remove_with(name, Dependents::Release, None)
    }

    /// Takes a task out of the run, and says what becomes of those that need it and how long a
    /// running attempt has to stop by itself (`None`: it finishes).
    pub fn remove_with(&self, name: &str, dependents: Dependents, grace: Option<Duration>) -> bool {
        let Some(index) = self.cell.index_of(name) else { return false };
        self.change(|run| Wish::RemoveTask(run, index, dependents, grace))
    }

    /// Lets a run that was kept open end when all its tasks have. False if it has ended.
    pub fn close(&self) -> bool {
        self.steer(Wish::CloseRun)
    }

    /// Whether nothing is left of it but tasks marked `always`.
    #[must_use]
    pub fn is_cleaning_up(&self) -> bool {
        self.look(|scheduler, run| Some(scheduler.is_cleaning_up(run))).unwrap_or_default()
    }

    /// How many tasks are in each state, now or at the end.
    #[must_use]
    pub fn counts(&self) -> Counts {
        if let Some(counts) = self.cell.last_counts.get() {
            return *counts;
        }
        let counts = self.look(Scheduler::counts);
        // It may have ended since the first look.
        counts.or(self.cell.last_counts.get().copied()).unwrap_or_default()
    }

    /// The tasks it was started with and what they wait for; those added later are not in it.
    #[must_use]
    pub fn graph(&self) -> &Arc<Graph> {
        &self.cell.graph
    }

    /// The name of a task by its index, of one that was added too.
    #[must_use]
    pub fn task_name(&self, index: u32) -> Option<String> {
        match self.cell.added_name(index) {
            Some(name) => Some(name.to_string()),
            None if index < self.cell.graph.len() => Some(self.cell.graph.name(index).into_owned()),
            None => None,
        }
    }

    /// The state of a task by its index, while the run has not ended.
    #[must_use]
    pub fn task_state(&self, index: u32) -> Option<TaskState> {
        self.look(|scheduler, run| Some(scheduler.task(TaskKey { run, index })?.state))
    }

    /// Why a task is in its state, by its index, while the run has not ended.
    #[must_use]
    pub fn task_reason(&self, index: u32) -> Option<Reason> {
        self.look(|scheduler, run| Some(scheduler.task(TaskKey { run, index })?.reason))
    }

    /// A task by its name as it stands, while the run has not ended.
    #[must_use]
    pub fn facts(&self, name: &str) -> Option<TaskReport> {
        let index = self.cell.index_of(name)?;
        self.look(|scheduler, run| scheduler.task(TaskKey { run, index }))
    }

    /// How the run stands, or the innermost group that the task with this index is in, while the run
    /// has not ended: what tasks that follow it want to know.
    #[must_use]
    pub fn whole(&self, index: u32) -> Option<Whole> {
        self.look(|scheduler, run| scheduler.whole(TaskKey { run, index }))
    }

    /// When it was accepted, while it has not ended.
    #[must_use]
    pub fn accepted_at(&self) -> Option<Timestamp> {
        self.look(Scheduler::accepted_at)
    }

    /// A task of the run, to be explained: `wheel.explain(run.task("d"))`.
    #[must_use]
    pub fn task(&self, name: &str) -> RunTask {
        RunTask { run: self.clone(), name: name.to_owned() }
    }

    /// Whether the run could still be steered; it may have been so already.
    fn steer(&self, wish: impl FnOnce(RunRef) -> Wish) -> bool {
        self.wish(wish).is_ok()
    }

    /// Whether something changed.
    fn change(&self, wish: impl FnOnce(RunRef) -> Wish) -> bool {
        matches!(self.wish(wish), Ok(Reply::Done))
    }

    fn wish(&self, wish: impl FnOnce(RunRef) -> Wish) -> Result<Reply, Rejection> {
        self.cell.shared.wish(self.until, wish(self.cell.work))
    }

    fn look<T>(&self, look: impl FnOnce(&Scheduler, RunKey) -> Option<T>) -> Option<T> {
        let state = self.cell.shared.lock();
        look(state.engine.scheduler(), state.engine.find_run(self.cell.work)?)
    }
}

impl IntoFuture for Run {
    type Output = Result<RunReport, RunError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.report().await })
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("id", &self.cell.work.id)
            .field("name", &self.cell.name)
            .field("is_ended", &self.is_ended())
            .finish_non_exhaustive()
    }
}

/// A task of a live or ended run, by name; made by [`Run::task`].
#[derive(Debug, Clone)]
pub struct RunTask {
    run: Run,
    name: String,
}

impl Explain for RunTask {
    fn explain(&self, wheel: &crate::Tidewheel) -> Result<Explanation, UnknownTask> {
        let unknown = || UnknownTask { name: self.name.clone() };
        let cell = &self.run.cell;
        let index = cell.index_of(&self.name).ok_or_else(unknown)?;
        if let Some(explanation) = wheel.explain_task(&cell.shared, cell.work, index) {
            let cause =
                explanation.facts.reason.cause().map(|cause| match cell.added_name(cause) {
                    Some(name) => name,
                    None => Arc::from(&*cell.graph.name(cause)),
                });
            return Ok(Explanation { cause, ..explanation });
        }
        match &*cell.ended.borrow() {
            Some(Ok(report)) => report.task(&self.name).ok_or_else(unknown)?.explain(wheel),
            _ => Err(unknown()),
        }
    }
}

/// What becomes of running tasks when something is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// They finish.
    Drain,
    /// They are told to stop, and dropped after this time. Tasks marked `always` still run.
    After(Duration),
    /// As [`Cancel::After`], and tasks marked `always` are treated as all others.
    Everything(Duration),
}

impl Cancel {
    /// They are told to stop, and dropped after `grace`.
    #[must_use]
    pub const fn after(grace: Duration) -> Self {
        Self::After(grace)
    }

    /// All are told to stop, tasks marked `always` too, and dropped after `grace`.
    #[must_use]
    pub const fn everything(grace: Duration) -> Self {
        Self::Everything(grace)
    }

    /// They are dropped at once.
    #[must_use]
    pub const fn now() -> Self {
        Self::After(Duration::ZERO)
    }
}

impl From<Cancel> for CancelMode {
    fn from(cancel: Cancel) -> Self {
        match cancel {
            Cancel::Drain => Self::Drain,
            Cancel::After(grace) => Self::Stop { grace },
            Cancel::Everything(grace) => Self::End { grace },
        }
    }
}
