//! [`ScheduleHandle`]: to look at a schedule and to steer it.
//!
//! How one is set is in `builder`.

use std::fmt;
use std::sync::Arc;

use tidewheel_core::id::{ScheduleId, ScheduleKey};
use tidewheel_core::input::{Command, Rejection};
use tidewheel_core::schedule::{Counters, Overlap, ScheduleSpec, Trigger};
use tidewheel_core::time::Timestamp;

use crate::driver::engine::ScheduleRef;
use crate::driver::wish::Wish;
use crate::driver::{Shared, State, Until};
use crate::schedule::firing::Backfill;

/// A schedule that was set. Clones steer the same one; dropping them lets it go on.
#[derive(Clone)]
pub struct ScheduleHandle {
    shared: Arc<Shared>,
    until: Until,
    schedule: ScheduleRef,
}

impl ScheduleHandle {
    pub(crate) fn new(shared: Arc<Shared>, until: Until, schedule: ScheduleRef) -> Self {
        Self { shared, until, schedule }
    }

    /// The durable identity of the schedule.
    #[must_use]
    pub fn id(&self) -> ScheduleId {
        self.schedule.id
    }

    /// Ends the schedule: no instant fires any more, a firing under way finishes.
    ///
    /// Calling it again, or after the end, does nothing.
    pub fn cancel(&self) {
        // Refused only when it, or the wheel, has ended.
        let _ = self.shared.wish(Until::Later, Wish::CancelSchedule(self.schedule));
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

    /// Fires once, now, outside the trigger: the ledger says that somebody asked. It meets the overlap
    /// policy, but neither a pause nor the wait after a failure.
    ///
    /// # Errors
    ///
    /// When the schedule or the wheel has ended.
    pub fn fire_now(&self) -> Result<(), Rejection> {
        self.fire(None)
    }

    /// As [`ScheduleHandle::fire_now`], by another overlap policy.
    ///
    /// # Errors
    ///
    /// As [`ScheduleHandle::fire_now`].
    pub fn fire_now_with(&self, overlap: Overlap) -> Result<(), Rejection> {
        self.fire(Some(overlap))
    }

    /// Fires instants of the past, oldest first. Gives how many it was asked for; what becomes of each
    /// is in the ledger.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tidewheel::clock::Clock;
    /// use tidewheel::schedule::{Backfill, Overlap, Span};
    /// use tidewheel::Tidewheel;
    ///
    /// let clock = Clock::virtual_at("2026-03-05T12:00:00Z".parse()?);
    /// let wheel = Tidewheel::builder().clock(clock).start();
    /// let daily = wheel.cron("30 2 * * *", "UTC")?.run(|| async { /* yesterday's figures */ })?;
    /// let march = Span::since("2026-03-01T00:00:00Z".parse()?);
    /// let all = Backfill::between(march).overlap(Overlap::QueueAll { max: 100 });
    /// assert_eq!(daily.backfill(all)?, 5);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When one of them is not decided yet, there are more than it says, firings were asked for that it
    /// does not know of, or the schedule or the wheel has ended. Then none is fired.
    pub fn backfill(&self, backfill: Backfill) -> Result<u32, Rejection> {
        let Backfill { mut instants, span, max, overlap, asked_for } = backfill;
        if let Some(span) = span {
            let most = max as usize + 1;
            let state = self.shared.lock();
            let key = self.find(&state)?;
            instants = state.engine.scheduler().schedule_instants(key, span, most);
        }
        if instants.len() > max as usize {
            return Err(Rejection::Invalid(format!("these are more than {max} instants").into()));
        }
        let count = u32::try_from(instants.len()).unwrap_or(u32::MAX);
        if count == 0 {
            return Ok(0);
        }
        let make = |state: &mut State| {
            let schedule = self.find(state)?;
            Ok(Command::Backfill { schedule, instants, overlap, asked_for })
        };
        self.shared.command_by(self.until, make).map(|_| count)
    }

    /// Tells an instant to a schedule that was set with
    /// [`told`](crate::schedule::ScheduleBuilder::told): it fires then, or at once if that has passed. False if it, or
    /// one after it, is decided or named already, or the schedule is none of that sort or has ended.
    pub fn tell(&self, instant: Timestamp) -> bool {
        self.shared.tell_instant(self.schedule, instant)
    }

    /// The newest instant that is decided: none up to it can be told any more. `None` when it, or the wheel, has
    /// ended.
    #[must_use]
    pub fn decided(&self) -> Option<Timestamp> {
        let state = self.shared.lock();
        let key = state.engine.find_schedule(self.schedule).filter(|_| state.end.is_none())?;
        state.engine.scheduler().schedule_decided(key)
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> Option<Arc<str>> {
        self.spec()?.name
    }

    /// Lets no instant fire until [`ScheduleHandle::resume`]. False if the schedule has ended.
    pub fn pause(&self) -> bool {
        self.shared.wish(self.until, Wish::PauseSchedule(self.schedule)).is_ok()
    }

    /// Lets it fire again; what was missed follows its misfire policy. False if it has ended.
    pub fn resume(&self) -> bool {
        self.shared.wish(self.until, Wish::ResumeSchedule(self.schedule)).is_ok()
    }

    /// What it has done and is doing, in numbers, also when it has ended (of the last thousand that
    /// have). `None` when the wheel has.
    #[must_use]
    pub fn counters(&self) -> Option<Counters> {
        let state = self.shared.lock();
        let live = state.engine.find_schedule(self.schedule);
        let live = live.and_then(|key| state.engine.scheduler().schedule_counters(key));
        let ended = || state.ended_schedules.find(self.schedule.id);
        live.filter(|_| state.end.is_none()).or_else(ended)
    }

    /// Why nothing of it fires by itself, if that is so.
    #[must_use]
    pub fn hold(&self) -> Option<ScheduleHold> {
        let state = self.shared.lock();
        let scheduler = state.engine.scheduler();
        let key = state.engine.find_schedule(self.schedule).filter(|_| state.end.is_none());
        let live = key.and_then(|key| Some((key, scheduler.schedule_spec(key)?)));
        let Some((key, spec)) = live else { return Some(ScheduleHold::Ended) };
        if scheduler.is_schedule_paused(key) {
            Some(ScheduleHold::Paused)
        } else if spec.trigger == Trigger::Custom && !state.has_rule(key) {
            Some(ScheduleHold::NoRule)
        } else {
            None
        }
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
        self.hold() == Some(ScheduleHold::Ended)
    }

    fn fire(&self, overlap: Option<Overlap>) -> Result<(), Rejection> {
        let make =
            |state: &mut State| Ok(Command::FireNow { schedule: self.find(state)?, overlap });
        self.shared.command_by(self.until, make).map(|_| ())
    }

    fn find(&self, state: &State) -> Result<ScheduleKey, Rejection> {
        state.engine.find_schedule(self.schedule).ok_or(Rejection::Gone("schedule"))
    }
}

/// Why nothing of a schedule fires by itself; made by [`ScheduleHandle::hold`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleHold {
    /// It, or the wheel, has ended.
    Ended,
    /// It was paused.
    Paused,
    /// It was restored from the store, where the rule that names its instants is not: what was named
    /// before fires, and nothing after it until the schedule is set again.
    NoRule,
}

impl fmt::Display for ScheduleHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ended => "it has ended",
            Self::Paused => "it is paused until it is resumed",
            Self::NoRule => {
                "its rule is code, which is not stored: it waits until a schedule of its name is set \
                 with `Tidewheel::trigger`"
            }
        })
    }
}

impl fmt::Debug for ScheduleHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScheduleHandle").field("id", &self.schedule.id).finish_non_exhaustive()
    }
}
