//! [`Tidewheel`]: the handle people hold.
//!
//! It only asks; the builders for tasks, runs and schedules are in their own files.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::calendar::{Cron, CronError, Zone, ZoneError};
use tidewheel_core::decision::Notice;
use tidewheel_core::graph::{Graph, GraphError};
use tidewheel_core::id::{RunId, TaskKey};
use tidewheel_core::input::{Command, Outcome, Rejection, ShutdownMode};
use tidewheel_core::policy::Priority;
use tidewheel_core::schedule::{Anchor, ScheduleSpec, Trigger};
use tidewheel_core::spec::{LimitSpec, QueueSpec};
use tidewheel_core::statistics::Overview;
use tidewheel_core::time::Timestamp;

use crate::attempt::Attempt;
use crate::builder::Builder;
use crate::driver::engine::RunRef;
use crate::driver::wish::Wish;
use crate::driver::{Ask, BoxFuture, HeldWork, Shared, Until};
use crate::error::BoxError;
use crate::explain::{Explain, Explanation, UnknownTask};
use crate::observe::{NoticeStream, Observer, observe};
use crate::output::TaskOutput;
use crate::run::{Plan, Run, RunBuilder, Task};
use crate::schedule::{ScheduleBuilder, ScheduleHandle};
use crate::submission::{Submission, TaskRequest, submit_fallible, submit_once};

/// A scheduler: submit tasks, run graphs, set schedules. Clones are handles of the same one.
///
/// When the last handle is dropped, the wheel drains: what was accepted runs to its end, paused or
/// not, schedules fire no more, and nothing new is accepted. Schedules in a store are there at the
/// next start; only cancelling ends them. [`Tidewheel::shutdown`] says it explicitly and waits.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Graph, Priority, Tidewheel};
///
/// let wheel = Tidewheel::builder().slots(16).start();
///
/// let answer = wheel.submit(Priority::HIGH, async { 42 }).await?;
/// assert_eq!(answer, 42);
///
/// let graph = Graph::from_edges([("build", "test"), ("build", "lint"), ("test", "publish")])?;
/// let report = wheel
///     .run(graph, |task| async move {
///         println!("{}", task.name());
///     })
///     .await?;
/// assert!(report.is_success());
/// # Ok(())
/// # }
/// ```
///
/// What changes something ([`Tidewheel::define_queue`], [`RunBuilder::start`], [`Run::pause`] and all
/// their kin) is answered once it is stored, and waits for that on the calling thread. On a thread of a
/// runtime, where a disk must not be waited for, ask [`without_waiting`](Self::without_waiting) and then
/// await [`stored`](Self::stored).
pub struct Tidewheel {
    pub(crate) shared: Arc<Shared>,
    until: Until,
}

impl Tidewheel {
    /// Settings for a new wheel.
    pub fn builder() -> Builder {
        Builder::new()
    }

    #[cfg(any(test, feature = "metrics"))]
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn from_shared(shared: Arc<Shared>) -> Self {
        Self::with(shared, Until::Stored)
    }

    fn with(shared: Arc<Shared>, until: Until) -> Self {
        shared.add_handle();
        Self { shared, until }
    }

    /// The same wheel, asked without waiting for the store: neither it, nor what it makes (builders,
    /// runs, schedules), ever blocks the calling thread. A refusal is told at once. Otherwise the answer
    /// is what was decided, and nothing follows from it before it is stored, which
    /// [`stored`](Self::stored) waits for. What is asked in a row may be stored as one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidewheel::{Graph, QueueSpec, Tidewheel};
    ///
    /// let wheel = Tidewheel::builder().start().without_waiting();
    /// wheel.define_queue("reports", QueueSpec::default())?;
    /// let graph = Graph::from_edges([("load", "print")])?;
    /// let run = wheel.run(graph, |_| async {}).queue("reports").start()?;
    /// wheel.stored().await?; // the queue and the run
    /// assert!(run.await?.is_success());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn without_waiting(&self) -> Self {
        Self::with(Arc::clone(&self.shared), Until::Later)
    }

    /// Waits until everything that was decided so far is stored.
    ///
    /// # Errors
    ///
    /// [`Rejection::Unavailable`] when the store cannot be written for now; what was decided may still be
    /// stored, and done, later. [`Rejection::ShuttingDown`] when the wheel has ended before.
    pub async fn stored(&self) -> Result<(), Rejection> {
        self.shared.all_stored().await
    }

    /// Takes in work that somebody else has put into the store of this wheel, such as runs that were
    /// moved there (`SqliteStore::move_to`): memory is restored from the store, under a new tenure, and
    /// what runs goes on. For the few milliseconds that takes nothing new is accepted
    /// ([`Rejection::Unavailable`]); what was accepted before, and what ends meanwhile, is not lost.
    ///
    /// # Errors
    ///
    /// [`Rejection::ShuttingDown`] when the wheel ends before.
    pub async fn take_in(&self) -> Result<(), Rejection> {
        self.shared.take_in().await
    }

    /// Submits one future. It is accepted or refused at once; await the [`Submission`] for its
    /// value. If it should run inside another task, do not let that task wait for it while all
    /// slots are taken by such tasks.
    pub fn submit<F>(&self, priority: impl Into<Priority>, future: F) -> Submission<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        submit_once(&self.shared, priority.into(), future)
    }

    /// Submits one future with [`Priority::NORMAL`].
    pub fn submit_normal<F>(&self, future: F) -> Submission<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.submit(Priority::NORMAL, future)
    }

    /// Submits one future whose error counts as a failure, in statistics and for whoever awaits.
    pub fn submit_fallible<F, T, E>(
        &self,
        priority: impl Into<Priority>,
        future: F,
    ) -> Submission<T>
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<BoxError> + 'static,
    {
        submit_fallible(&self.shared, priority.into(), future)
    }

    /// A task that can be tried again; options follow, then `submit`.
    pub fn task<F, R>(&self, code: F) -> TaskRequest<impl Fn(Attempt) -> R + Send + Sync + 'static>
    where
        F: Fn() -> R + Send + Sync + 'static,
    {
        TaskRequest::new(Arc::clone(&self.shared), move |_: Attempt| code())
    }

    /// A task that can be tried again and knows about its attempt.
    pub fn task_with<F, R>(&self, code: F) -> TaskRequest<F>
    where
        F: Fn(Attempt) -> R + Send + Sync + 'static,
    {
        TaskRequest::new(Arc::clone(&self.shared), code)
    }

    /// A run of a graph in which `code` is called for each task; options follow, then `.await` or
    /// [`RunBuilder::start`].
    pub fn run<F, R>(&self, graph: impl Into<Arc<Graph>>, code: F) -> RunBuilder<F>
    where
        F: Fn(Task) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        RunBuilder::new(Arc::clone(&self.shared), self.until, graph.into(), code)
    }

    /// A run of a plan, in which each task has its own code.
    ///
    /// # Errors
    ///
    /// When the plan is not a graph: a name is used twice, unknown, or part of a cycle.
    pub fn run_plan(
        &self,
        plan: Plan,
    ) -> Result<RunBuilder<impl Fn(Task) -> BoxFuture<Outcome> + Send + Sync + 'static>, GraphError>
    {
        let (graph, code, options) = plan.build()?;
        let call = move |task: Task| code.call(task);
        Ok(self.run(graph, call).configure_by_index(options))
    }

    /// The handle of a run that has not ended, whether it was started here or restored from the store
    /// ([`Builder::adopt`]).
    ///
    /// The report of a restored run has every task with its state; what tasks returned before the
    /// restart is not in it, and times count from there.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidewheel::{Graph, Tidewheel};
    ///
    /// let wheel = Tidewheel::builder().start();
    /// let run = wheel.run(Graph::from_edges([("a", "b")])?, |_| async {}).paused().start()?;
    /// let same = wheel.find_run(run.id()).expect("it has not ended");
    /// same.resume();
    /// assert!(run.await?.is_success());
    /// assert!(wheel.find_run(same.id()).is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn find_run(&self, id: RunId) -> Option<Run> {
        self.shared.lock().find_run(id).map(|cell| Run::new(cell, self.until))
    }

    /// A schedule at a fixed rate: now, and then exactly every `period`, which may be a third of a second:
    /// instants are rounded to whole microseconds one by one, so they do not drift.
    pub fn every(&self, period: Duration) -> ScheduleBuilder {
        self.schedule(ScheduleSpec::new(Trigger::every(period)))
    }

    /// A schedule with a fixed delay: now, and then each time `delay` after the end of the work.
    pub fn every_after(&self, delay: Duration) -> ScheduleBuilder {
        self.schedule(ScheduleSpec::new(Trigger::spaced(delay)))
    }

    /// One firing after `delay`.
    pub fn once_after(&self, delay: Duration) -> ScheduleBuilder {
        self.schedule(ScheduleSpec::new(Trigger::after(delay)))
    }

    /// One firing at `instant` of the wall clock.
    pub fn once_at(&self, instant: Timestamp) -> ScheduleBuilder {
        self.schedule(ScheduleSpec::new(Trigger::Once(Anchor::At(instant))))
    }

    /// A schedule by a cron expression, in a time zone such as `Europe/Zurich` or `UTC`.
    ///
    /// # Errors
    ///
    /// When the expression or the time zone cannot be understood.
    pub fn cron(&self, expression: &str, zone: &str) -> Result<ScheduleBuilder, CalendarError> {
        let cron = Cron::parse(expression)?;
        let zone = Zone::named(zone)?;
        Ok(self.schedule(ScheduleSpec::new(Trigger::calendar(cron, zone))))
    }

    /// A schedule by a rule of your own: given the instant before (none at first), it says the
    /// next, or none to end.
    pub fn trigger(
        &self,
        next: impl Fn(Option<Timestamp>) -> Option<Timestamp> + Send + Sync + 'static,
    ) -> ScheduleBuilder {
        let spec = ScheduleSpec::new(Trigger::Custom);
        let rule = Ask::Rule(Arc::new(next));
        ScheduleBuilder::new(Arc::clone(&self.shared), self.until, spec, Some(rule))
    }

    /// A schedule with everything that can be said about one.
    pub fn schedule(&self, spec: ScheduleSpec) -> ScheduleBuilder {
        ScheduleBuilder::new(Arc::clone(&self.shared), self.until, spec, None)
    }

    /// Every schedule that has not ended, whether it was set here or restored from the store.
    #[must_use]
    pub fn schedules(&self) -> Vec<ScheduleHandle> {
        let state = self.shared.lock();
        let schedules = state.engine.scheduler().schedules();
        let handle = |(key, id)| {
            let schedule = state.engine.schedule_ref(id, key);
            ScheduleHandle::new(Arc::clone(&self.shared), self.until, schedule)
        };
        schedules.map(handle).collect()
    }

    /// The schedule of this name that has not ended, whether it was set here or restored from the store.
    #[must_use]
    pub fn find_schedule(&self, name: &str) -> Option<ScheduleHandle> {
        let state = self.shared.lock();
        let scheduler = state.engine.scheduler();
        let key = scheduler.find_schedule_named(name)?;
        let id = scheduler.schedule_id(key)?;
        let schedule = state.engine.schedule_ref(id, key);
        Some(ScheduleHandle::new(Arc::clone(&self.shared), self.until, schedule))
    }

    /// Starts nothing more until [`Tidewheel::resume`]; what runs goes on.
    pub fn pause(&self) {
        self.steer(Wish::Pause);
    }

    /// Starts tasks again.
    pub fn resume(&self) {
        self.steer(Wish::Resume);
    }

    /// Starts nothing more of one queue until [`Tidewheel::resume_queue`].
    ///
    /// # Errors
    ///
    /// When there is no such queue, or the wheel has ended.
    pub fn pause_queue(&self, queue: &str) -> Result<(), Rejection> {
        self.ask(Command::PauseQueue(Arc::from(queue)))
    }

    /// Starts tasks of the queue again.
    ///
    /// # Errors
    ///
    /// When there is no such queue, or the wheel has ended.
    pub fn resume_queue(&self, queue: &str) -> Result<(), Rejection> {
        self.ask(Command::ResumeQueue(Arc::from(queue)))
    }

    /// Changes how many tasks may run at once; `None`: no bound. What runs goes on.
    ///
    /// # Errors
    ///
    /// When that would be none, or the wheel has ended.
    pub fn set_slots(&self, slots: impl Into<Option<u32>>) -> Result<(), Rejection> {
        self.ask(Command::SetSlots(slots.into()))
    }

    /// Makes a queue, or changes it.
    ///
    /// # Errors
    ///
    /// When the settings make no sense, or the wheel has ended.
    pub fn define_queue(&self, name: &str, spec: QueueSpec) -> Result<(), Rejection> {
        self.ask(Command::DefineQueue { name: Arc::from(name), spec })
    }

    /// Makes a limit, or changes it. Other processes are told of one that is to be shared on the calling thread, also
    /// [without waiting](Self::without_waiting): their answer decides. [`Self::announce_limit`] blocks no thread.
    ///
    /// # Errors
    ///
    /// When the settings make no sense, a limit that is to be shared has other units elsewhere or
    /// there is nobody to share it with, or the wheel has ended.
    pub fn define_limit(&self, name: &str, spec: LimitSpec) -> Result<(), Rejection> {
        let _announced = self.shared.announce_limit(name, &spec)?;
        self.ask(Command::DefineLimit { name: Arc::from(name), spec })
    }

    /// Makes a limit, or changes it, and waits until that is stored and other processes know of one that is to be
    /// shared. Unlike [`Self::define_limit`] it blocks no thread of the runtime.
    ///
    /// # Errors
    ///
    /// As [`Self::define_limit`].
    pub async fn announce_limit(&self, name: &str, spec: LimitSpec) -> Result<(), Rejection> {
        let name: Arc<str> = Arc::from(name);
        let (told, units) = (Arc::clone(&name), spec.clone());
        let tell = move |shared: &_| Shared::announce_limit(shared, &told, &units);
        let _announced = self.shared.announce(tell).await?;
        self.shared.command(Until::Later, Command::DefineLimit { name, spec })?;
        self.stored().await
    }

    /// Closes a circuit breaker by hand.
    ///
    /// # Errors
    ///
    /// When there is no such breaker, or the wheel has ended.
    pub fn reset_breaker(&self, name: &str) -> Result<(), Rejection> {
        self.ask(Command::ResetBreaker(Arc::from(name)))
    }

    /// Accepts nothing more and waits until nothing runs. Everybody who waits is told.
    ///
    /// Calling it again is harmless; where it says something else, the newest word counts. A task
    /// must not await it: the wheel waits for the task.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidewheel::{Shutdown, TaskError, Tidewheel};
    ///
    /// let wheel = Tidewheel::builder().start();
    /// wheel.shutdown(Shutdown::drain()).await;
    /// let refused = wheel.submit_normal(async {}).await;
    /// assert!(matches!(refused, Err(TaskError::Rejected(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn shutdown(&self, shutdown: Shutdown) {
        let mode = match shutdown.mode {
            // Nothing that waits would be there at the next start, so that it is told so now.
            ShutdownMode::Persist if !self.shared.keeps_rows() => ShutdownMode::Reject,
            mode => mode,
        };
        self.shared.shut_down(mode, shutdown.grace);
        let mut completed = self.shared.completed.subscribe();
        // The sender is kept by this handle.
        let _ = completed.wait_for(|completed| *completed).await;
    }

    /// Why a task is not running: `wheel.explain(report.task("d"))`, `wheel.explain(&submission)`,
    /// `wheel.explain(run.task("d"))`.
    ///
    /// For its expected start the scheduler is played ahead, half a million steps at the most. That takes its time,
    /// though none of the wheel's: on a runtime call it where blocking is allowed. Nothing is played for what runs, has ended
    /// or is held by a pause.
    ///
    /// # Errors
    ///
    /// When there is no such task, or it has ended and is forgotten.
    pub fn explain(&self, task: impl Explain) -> Result<Explanation, UnknownTask> {
        task.explain(self)
    }

    /// Explains a task of this wheel; keys of another one's name something else here.
    pub(crate) fn explain_task(
        &self,
        of: &Arc<Shared>,
        run: RunRef,
        index: u32,
    ) -> Option<Explanation> {
        if !Arc::ptr_eq(of, &self.shared) {
            return None;
        }
        let now = self.shared.clock.now();
        let state = self.shared.lock();
        let key = TaskKey { run: state.engine.find_run(run)?, index };
        let scheduler = state.engine.scheduler();
        let facts = scheduler.explain(key, now)?;
        let error = scheduler.task(key).and_then(|task| task.error);
        let waits = !facts.state.is_terminal() && !facts.state.holds_slot();
        let can_start = waits && scheduler.can_start_by_itself(key);
        let forecast = if can_start { scheduler.forecast(now) } else { None };
        // Looking ahead takes its time, and nobody else is to wait for that.
        drop(state);
        let expected_start = forecast.and_then(|forecast| forecast.start_of(key));
        Some(Explanation { facts, cause: None, error, expected_start })
    }

    /// Unfinished work in the store that this wheel leaves alone, because there is no code for its kind
    /// ([`crate::Builder::adopt_kind`]).
    #[must_use]
    pub fn held_work(&self) -> Vec<HeldWork> {
        self.shared.lock().engine.held().to_vec()
    }

    /// The runtime that its tasks run on.
    #[must_use]
    pub fn runtime(&self) -> &tokio::runtime::Handle {
        &self.shared.runtime
    }

    /// What the wall clock says that the wheel goes by.
    #[must_use]
    pub fn wall_clock(&self) -> Timestamp {
        self.shared.clock.now_exactly().wall
    }

    /// The figures of the wheel and of each queue.
    #[must_use]
    pub fn stats(&self) -> Overview {
        let now = self.shared.clock.now();
        self.shared.lock().engine.scheduler().overview(now)
    }

    /// Why the store cannot be written for now, or who else has the right to decide; `None` when all
    /// is well. Until it is over new work is refused ([`Rejection::Unavailable`]), what runs goes on
    /// unless it is somebody else's by now, and it is tried again without end. A store that has not answered for
    /// three seconds is told of too; what is asked meanwhile waits for it.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<str>> {
        let now = self.shared.clock.now();
        self.shared.lock().trouble(now)
    }

    /// Everything that happens from now on, in order, for whoever wants to show it.
    #[must_use]
    pub fn notices(&self) -> NoticeStream {
        self.shared.hub.subscribe(&self.shared)
    }

    /// Calls `callback` with everything that happens from now on, in order, on a thread of the
    /// runtime that is made for blocking.
    ///
    /// It never holds up the work: if it is slow it misses notices (which shows as a gap in their
    /// numbers), and if it panics it is not called again. It goes on until the wheel ends, or
    /// [`Observer::end`].
    pub fn observe(&self, callback: impl Fn(&Notice) + Send + 'static) -> Observer {
        let stream = self.notices();
        Observer::new(self.shared.runtime.spawn(observe(stream, callback)).abort_handle())
    }

    /// Checks every invariant of the scheduler, at great cost; for tests.
    ///
    /// # Panics
    ///
    /// When one is broken.
    #[doc(hidden)]
    pub fn check(&self) {
        self.shared.lock().engine.scheduler().check();
    }

    fn ask(&self, command: Command) -> Result<(), Rejection> {
        self.shared.command(self.until, command).map(|_| ())
    }

    fn steer(&self, wish: Wish) {
        // Refused only when the wheel has ended, and then there is nothing to steer.
        let _ = self.shared.wish(self.until, wish);
    }
}

impl Clone for Tidewheel {
    fn clone(&self) -> Self {
        Self::with(Arc::clone(&self.shared), self.until)
    }
}

impl Drop for Tidewheel {
    fn drop(&mut self) {
        self.shared.drop_handle();
    }
}

impl fmt::Debug for Tidewheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tidewheel").finish_non_exhaustive()
    }
}

/// How a wheel comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    mode: ShutdownMode,
    grace: Option<Duration>,
}

impl Shutdown {
    /// Everything accepted runs to its end. Schedules, and firings they have queued, stay in the
    /// store for the next start.
    #[must_use]
    pub const fn drain() -> Self {
        Self { mode: ShutdownMode::Drain, grace: None }
    }

    /// What waits is cancelled; what runs finishes.
    #[must_use]
    pub const fn reject() -> Self {
        Self { mode: ShutdownMode::Reject, grace: None }
    }

    /// What waits stays in the store for the next start; what runs finishes. On a wheel whose store keeps
    /// nothing this is [`Shutdown::reject`].
    #[must_use]
    pub const fn persist() -> Self {
        Self { mode: ShutdownMode::Persist, grace: None }
    }

    /// Limits the time. A drain that is not over after `grace` becomes a rejection, with no time
    /// left for what runs; with the other two what runs is told to stop at once, and dropped after
    /// `grace`.
    #[must_use]
    pub const fn after(mut self, grace: Duration) -> Self {
        self.grace = Some(grace);
        self
    }
}

/// A cron expression or time zone that cannot be understood.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CalendarError {
    /// The expression.
    #[error(transparent)]
    Cron(#[from] CronError),
    /// The time zone.
    #[error(transparent)]
    Zone(#[from] ZoneError),
}
