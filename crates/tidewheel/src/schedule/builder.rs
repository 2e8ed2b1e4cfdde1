//! [`ScheduleBuilder`]: to say when, and what.
//!
//! Steering a schedule that was set is in `handle`; when exactly one fires is decided in the core.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::id::ScheduleId;
use tidewheel_core::input::{Command, Fires, Rejection, Reply};
use tidewheel_core::policy::Retry;
use tidewheel_core::schedule::{Anchor, Misfire, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel_core::spec::Profile;
use tidewheel_core::time::Timestamp;

use crate::attempt::Attempt;
use crate::driver::{Ask, ScheduleCode, ScheduleEntry, Shared, Until, plain_conclude};
use crate::error::BoxError;
use crate::options::{Said, option_methods};
use crate::output::TaskOutput;
use crate::schedule::firing::{Firing, MadeRun, maker};
use crate::schedule::handle::ScheduleHandle;

/// A schedule about to be set; made by [`crate::Tidewheel::every`] and its siblings.
///
/// Unless something else is said, firings do not overlap (an instant that comes while the work
/// before still runs is skipped and counted), and of instants that were missed the newest fires.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tidewheel::clock::Clock;
/// use tidewheel::schedule::Overlap;
/// use tidewheel::Tidewheel;
///
/// let wheel = Tidewheel::builder().clock(Clock::virtual_at("2026-01-01T00:00:00Z".parse()?)).start();
/// let ticker = wheel
///     .every(Duration::from_millis(300))
///     .overlap(Overlap::Skip)
///     .run(|| async { /* refresh */ })?;
/// tokio::time::sleep(Duration::from_millis(1000)).await;
/// assert_eq!(ticker.counters().unwrap().fired, 4); // at 0, 300, 600 and 900 ms
/// ticker.cancel();
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is scheduled before `run`"]
pub struct ScheduleBuilder {
    shared: Arc<Shared>,
    until: Until,
    spec: ScheduleSpec,
    ask: Option<Ask>,
    said: Said,
}

impl ScheduleBuilder {
    pub(crate) fn new(
        shared: Arc<Shared>,
        until: Until,
        spec: ScheduleSpec,
        ask: Option<Ask>,
    ) -> Self {
        Self { shared, until, spec, ask, said: Said::default() }
    }

    option_methods!(said);

    /// The queue its firings wait in.
    pub fn queue(mut self, queue: &str) -> Self {
        self.said.set_queue(queue);
        self
    }

    /// What people call it, and [`crate::Tidewheel::find_schedule`] finds it by, also after a restart.
    ///
    /// A name is one schedule. Whoever sets it again has the same one, with the code given now: so a
    /// program sets its schedules at each start, and they go on where they were. If something else is
    /// said than before, it changes ([`ScheduleHandle::update`]); a trigger that is the same keeps its
    /// rhythm. What it was paused or counted for stays.
    pub fn name(mut self, name: &str) -> Self {
        self.spec.name = Some(Arc::from(name));
        self
    }

    /// The first firing of a rate or delay comes only after this time, instead of now. Cron and rules of
    /// your own name their instants themselves: of these none before it counts.
    pub fn starting_after(self, delay: Duration) -> Self {
        self.start(Anchor::After(delay))
    }

    /// The first firing of a rate or delay comes at this instant, instead of now. Cron and rules of your
    /// own name their instants themselves: of these none before it counts, as by
    /// [`window`](Self::window).
    pub fn starting_at(self, instant: Timestamp) -> Self {
        self.start(Anchor::At(instant))
    }

    fn start(mut self, anchor: Anchor) -> Self {
        match &mut self.spec.trigger {
            Trigger::FixedRate { start, .. }
            | Trigger::FixedDelay { start, .. }
            | Trigger::Once(start) => *start = anchor,
            Trigger::Calendar { .. } | Trigger::Custom => {
                let from = match anchor {
                    Anchor::At(instant) => instant,
                    Anchor::After(delay) => self.shared.clock.now().wall.after(delay),
                };
                let until = self.spec.window.map_or(Span::since(from).until, |span| span.until);
                self.spec.window = Some(Span::new(from, until));
            }
        }
        self
    }

    /// Its instants are told as they come ([`ScheduleHandle::tell`]), whatever trigger was said: for what happens
    /// outside, such as a message or a file. Nothing ends it but its window, its number of firings, or whoever
    /// cancels it.
    ///
    /// Each instant is decided once, by the policies of the schedule. They are told in their order: one that comes
    /// before another that is named already is too late. Those that were decided are stored; whoever tells them has
    /// to remember the others, and tells them again after a restart.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use tidewheel::Tidewheel;
    /// use tidewheel::clock::Clock;
    /// use tidewheel::schedule::{Overlap, ScheduleSpec, Trigger};
    ///
    /// let clock = Clock::virtual_at("2026-01-01T00:00:00Z".parse()?);
    /// let wheel = Tidewheel::builder().clock(clock).start();
    /// let mail = wheel.schedule(ScheduleSpec::new(Trigger::Custom)).told().overlap(Overlap::Allow);
    /// let mail = mail.run(|| async { /* read it */ })?;
    /// assert!(mail.tell("2026-01-01T00:00:00.000001Z".parse()?));
    /// tokio::time::sleep(Duration::from_secs(1)).await;
    /// assert_eq!(mail.counters().map(|counters| counters.fired), Some(1));
    /// // That one is decided.
    /// assert!(!mail.tell("2026-01-01T00:00:00.000001Z".parse()?));
    /// # Ok(())
    /// # }
    /// ```
    pub fn told(mut self) -> Self {
        self.spec.trigger = Trigger::Custom;
        self.ask = Some(Ask::Told(Arc::default()));
        self
    }

    /// What whoever runs the firings must know, even after a crash: code is not stored, this is.
    pub fn payload(mut self, payload: impl Into<Arc<[u8]>>) -> Self {
        self.spec.payload = Some(payload.into());
        self
    }

    /// Who understands the payload, in a short word: the next wheel gives the schedule to the code for
    /// it ([`crate::Builder::adopt_kind`]), and leaves it alone if it has none.
    pub fn kind(mut self, kind: &str) -> Self {
        self.spec.kind = Some(Arc::from(kind));
        self
    }

    /// What happens to an instant that comes while the firing before still runs.
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.spec.overlap = overlap;
        self
    }

    /// What happens to instants that were not served in time.
    pub fn misfire(mut self, misfire: Misfire) -> Self {
        self.spec.misfire = misfire;
        self
    }

    /// How late an instant may be and still count as served in time.
    pub fn misfire_grace(mut self, grace: Duration) -> Self {
        self.spec.misfire_grace = grace;
        self
    }

    /// Puts each firing off by a share of this, by chance.
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.spec.jitter = jitter;
        self
    }

    /// Only instants in here count.
    pub fn window(mut self, window: Span) -> Self {
        self.spec.window = Some(window);
        self
    }

    /// Instants in here do not fire.
    pub fn except(mut self, exclusion: Span) -> Self {
        self.spec.exclusions.push(exclusion);
        self
    }

    /// Ends after so many firings.
    pub fn times(mut self, firings: u64) -> Self {
        self.spec.max_firings = Some(firings);
        self
    }

    /// After a failure no instant fires until this policy's wait has passed; a success resets it.
    pub fn backoff(mut self, backoff: Retry) -> Self {
        self.spec.backoff = Some(backoff);
        self
    }

    /// Sets the schedule: `code` is called for each firing, and again for each retry of one.
    ///
    /// # Errors
    ///
    /// When the schedule makes no sense or would never fire, or the wheel is shutting down.
    pub fn run<F, R>(self, code: F) -> Result<ScheduleHandle, Rejection>
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        self.run_with(move |_| code())
    }

    /// Sets the schedule, with code that knows about its attempt.
    ///
    /// # Errors
    ///
    /// As [`ScheduleBuilder::run`].
    pub fn run_with<F, R>(self, code: F) -> Result<ScheduleHandle, Rejection>
    where
        F: Fn(Attempt) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        self.set(ScheduleCode::Task(plain_conclude(code)))
    }

    /// Sets a schedule whose firings are runs: `make` is called for each, and again after a restart if
    /// its run was not accepted before. What was said about tasks (priority, retries, limits) is said
    /// on the run instead.
    ///
    /// While its run is made and while it runs the firing counts as running, so overlap policies hold
    /// for it, but it has no slot: only its tasks have. It succeeds if the run does. If no run can be
    /// made, that is the end of the firing, and a failure; the ledger tells why.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use tidewheel::clock::Clock;
    /// use tidewheel::{Graph, GraphError, Tidewheel};
    ///
    /// let clock = Clock::virtual_at("2026-01-01T00:00:00Z".parse()?);
    /// let wheel = Tidewheel::builder().clock(clock).start();
    /// let nightly = wheel.cron("30 2 * * *", "UTC")?.name("nightly").make_run(|firing| async move {
    ///     let graph = Graph::from_edges([("extract", "load"), ("load", "report")])?;
    ///     let day = firing.nominal();
    ///     let run = firing.run(graph, move |task| async move {
    ///         println!("{} of {day}", task.name());
    ///     });
    ///     Ok::<_, GraphError>(run.name("nightly"))
    /// })?;
    /// tokio::time::sleep(Duration::from_secs(86_400)).await;
    /// assert_eq!(nightly.counters().map(|counters| counters.fired), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`ScheduleBuilder::run`].
    pub fn make_run<F, R, B, E>(self, make: F) -> Result<ScheduleHandle, Rejection>
    where
        F: Fn(Firing) -> R + Send + Sync + 'static,
        R: Future<Output = Result<B, E>> + Send + 'static,
        B: Into<MadeRun>,
        E: Into<BoxError>,
    {
        self.set(ScheduleCode::Run(maker(make)))
    }

    fn set(self, code: ScheduleCode) -> Result<ScheduleHandle, Rejection> {
        let profile = self.said.apply(&Profile::default());
        let (shared, until, spec) = (self.shared, self.until, Box::new(self.spec));
        let fires_tasks = matches!(code, ScheduleCode::Task(_));
        let mut code = Some((code, self.ask));
        let (mut made, mut replaced) = (None, None);
        let id = Cell::new(ScheduleId::default());
        let reply = shared.command_with(
            until,
            |state, now| {
                id.set(state.fresh_schedule_id(now));
                let fires = if fires_tasks {
                    let priority = profile.priority;
                    let profile = state.engine.scheduler_mut().profile(&profile)?;
                    Fires::Task { profile, priority }
                } else {
                    Fires::Run
                };
                Ok(Command::AddSchedule { id: id.get(), spec, fires })
            },
            |state, reply, _| {
                if let (Reply::Scheduled(key), Some((code, ask))) = (reply, code.take()) {
                    // One that was set before under this name keeps its identity.
                    let known = state.engine.scheduler().schedule_id(*key);
                    let id = known.unwrap_or_else(|| id.get());
                    replaced = state.insert_schedule(*key, ScheduleEntry { id, code, ask });
                    made = Some(state.engine.schedule_ref(id, *key));
                }
            },
        );
        let reply = reply?;
        drop(replaced);
        match made {
            Some(schedule) => Ok(ScheduleHandle::new(shared, until, schedule)),
            None => unreachable!("a schedule was answered with {reply:?}"),
        }
    }
}

impl fmt::Debug for ScheduleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleBuilder").field("spec", &self.spec).finish_non_exhaustive()
    }
}
