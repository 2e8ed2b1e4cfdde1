//! Schedules: [`ScheduleBuilder`] to say when, and [`ScheduleHandle`] to steer one.
//!
//! When exactly a schedule fires is decided in the core.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::id::{ScheduleId, ScheduleKey};
use tidewheel_core::input::{Command, Rejection, Reply};
use tidewheel_core::policy::Retry;
use tidewheel_core::schedule::{Anchor, Counters, Misfire, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel_core::spec::Profile;
use tidewheel_core::time::Timestamp;

use crate::attempt::Attempt;
use crate::driver::books::Wish;
use crate::driver::engine::ScheduleRef;
use crate::driver::{Ask, ScheduleEntry, Shared, State, Until, plain_conclude};
use crate::options::{Said, option_methods};
use crate::output::TaskOutput;

/// A schedule about to be set; made by [`crate::Tidewheel::every`] and its siblings.
///
/// Unless something else is said, firings do not overlap (an instant that comes while the work
/// before still runs is skipped and counted), and of instants that were missed the newest fires.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tidewheel::{Clock, Overlap, Tidewheel};
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

    /// The first firing of a rate or delay comes only after this time, instead of now.
    ///
    /// Cron and rules of your own name their instants themselves: for these use
    /// [`window`](Self::window).
    pub fn starting_after(mut self, delay: Duration) -> Self {
        self.set_start(Anchor::After(delay));
        self
    }

    /// The first firing of a rate or delay comes at this instant, instead of now.
    pub fn starting_at(mut self, instant: Timestamp) -> Self {
        self.set_start(Anchor::At(instant));
        self
    }

    fn set_start(&mut self, anchor: Anchor) {
        match &mut self.spec.trigger {
            Trigger::FixedRate { start, .. }
            | Trigger::FixedDelay { start, .. }
            | Trigger::Once(start) => *start = anchor,
            Trigger::Calendar { .. } | Trigger::Custom => {}
        }
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
        let profile = self.said.apply(&Profile::default());
        let (shared, until, spec) = (self.shared, self.until, Box::new(self.spec));
        let mut code = Some((plain_conclude(code), self.ask));
        let mut made = None;
        let id = Cell::new(ScheduleId::default());
        let reply = shared.command_with(
            until,
            |state, now| {
                id.set(state.fresh_schedule_id(now));
                let priority = profile.priority;
                let profile = state.engine.scheduler_mut().profile(&profile)?;
                Ok(Command::AddSchedule { id: id.get(), spec, profile, priority })
            },
            |state, reply, _| {
                if let (Reply::Scheduled(key), Some((code, ask))) = (reply, code.take()) {
                    let id = id.get();
                    state.insert_schedule(*key, ScheduleEntry { id, code, ask });
                    made = Some(state.engine.schedule_ref(id, *key));
                }
            },
        );
        let reply = reply?;
        match made {
            Some(schedule) => Ok(ScheduleHandle { shared, until, schedule }),
            None => unreachable!("a schedule was answered with {reply:?}"),
        }
    }
}

impl fmt::Debug for ScheduleBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleBuilder").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// A schedule that was set. Clones steer the same one; dropping them lets it go on.
#[derive(Clone)]
pub struct ScheduleHandle {
    shared: Arc<Shared>,
    until: Until,
    schedule: ScheduleRef,
}

impl ScheduleHandle {
    /// The durable identity of the schedule.
    #[must_use]
    pub fn id(&self) -> ScheduleId {
        self.schedule.id
    }

    /// Ends the schedule: no instant fires any more, a firing under way finishes.
    ///
    /// Calling it again, or after the end, does nothing.
    pub fn cancel(&self) {
        // Refused only when the wheel has ended.
        self.shared.wish(Wish::CancelSchedule(self.schedule));
    }

    /// Gives the schedule other policies, and perhaps another trigger, whose instants count from now
    /// on. What was decided stays so, and firings that wait or run are not touched.
    ///
    /// # Errors
    ///
    /// When that makes no sense, would never fire, or the schedule or the wheel has ended.
    pub fn update(&self, spec: ScheduleSpec) -> Result<(), Rejection> {
        let spec = Box::new(spec);
        let make = |state: &mut State| {
            let schedule = self.find(state)?;
            if spec.trigger == Trigger::Custom && !state.has_rule(schedule) {
                let text = "a rule of your own is given when a schedule is set";
                return Err(Rejection::Invalid(Arc::from(text)));
            }
            Ok(Command::UpdateSchedule { schedule, spec })
        };
        self.shared.command_by(self.until, make).map(|_| ())
    }

    /// Trigger and policies as they are now; `None` when it, or the wheel, has ended.
    #[must_use]
    pub fn spec(&self) -> Option<ScheduleSpec> {
        let state = self.shared.lock();
        let key = state.engine.find_schedule(self.schedule)?;
        let spec = state.engine.scheduler().schedule_spec(key)?;
        Some((**spec).clone()).filter(|_| state.end.is_none())
    }

    /// Lets no instant fire until [`ScheduleHandle::resume`]. False if the schedule has ended.
    pub fn pause(&self) -> bool {
        self.command(Command::PauseSchedule)
    }

    /// Lets it fire again; what was missed follows its misfire policy. False if it has ended.
    pub fn resume(&self) -> bool {
        self.command(Command::ResumeSchedule)
    }

    /// What it has done and is doing, in numbers; `None` when it, or the wheel, has ended.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        let state = self.shared.lock();
        let key = state.engine.find_schedule(self.schedule)?;
        state.engine.scheduler().schedule_counters(key).filter(|_| state.end.is_none())
    }

    /// The next instant; `None` when there is none, or it is not known yet.
    #[must_use]
    pub fn next(&self) -> Option<Timestamp> {
        let state = self.shared.lock();
        let key = state.engine.find_schedule(self.schedule)?;
        state.engine.scheduler().schedule_next(key).filter(|_| state.end.is_none())
    }

    /// Whether nothing fires here any more: the schedule has ended and its last firing is over, or
    /// the wheel has ended. A stored schedule fires again in the next wheel unless it was cancelled.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.counters().is_none()
    }

    fn command(&self, command: impl FnOnce(ScheduleKey) -> Command) -> bool {
        self.shared.command_by(self.until, |state| self.find(state).map(command)).is_ok()
    }

    fn find(&self, state: &State) -> Result<ScheduleKey, Rejection> {
        state.engine.find_schedule(self.schedule).ok_or(Rejection::Gone("schedule"))
    }
}

impl fmt::Debug for ScheduleHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleHandle").field("id", &self.schedule.id).finish_non_exhaustive()
    }
}
