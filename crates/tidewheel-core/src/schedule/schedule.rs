//! A schedule: its life from start to end, and when it wants to be asked.
//!
//! ```text
//!                     ┌──── decided: fired, queued or skipped ───┐
//!                     ▼                                          │
//!   start ───────► Waiting ──── poll, clock_moved: due ──────► Due
//!   restore ─►      │  ▲ ▲
//!             pause │  │ └── ended (fixed delay), answer (custom) ── Idle
//!                   ▼  │ resume: what passed follows the misfire policy
//!                  Paused
//!
//!   any ── cancel, last instant, last firing, window closed ──► Ended (no way back)
//! ```
//!
//! Beside this runs the work: `outstanding` counts firings whose work has not ended, the queue
//! holds those that wait for it. An ended schedule still starts what it has queued, unless it was
//! cancelled.
//!
//! Every instant is a point on the schedule's own line of time, its *label*: the wall clock for
//! calendars; for intervals a clock that starts as the wall clock and then follows the monotonic
//! one, so that labels stay exact and unique when the wall clock jumps.
//!
//! What becomes of instants that are due is in [`super::backlog`]; starting work, retrying it and
//! its priority are not known here.

use std::time::Duration;

use crate::policy::Retry;
use crate::time::{Moment, Now, Timestamp};

use super::line::Skip;
use super::spec::ScheduleSpec;
use super::state::{Counters, ScheduleState};
use super::trigger::{Due, Trigger, micros};
use super::verdict::{EndReason, Origin, SkipReason, Verdict};

/// Differences between the clocks that are drift and not a jump, in microseconds.
const DRIFT_MAX: u64 = 1000;
/// Before all instants.
const BEGINNING: Timestamp = Timestamp::from_micros(i64::MIN);

/// A trigger bound to work, with its policies and where it stands.
///
/// Pure: it reads no clock and draws no chance. Call [`Schedule::poll`] when
/// [`Schedule::next_due`] says so (early calls change nothing), [`Schedule::ended`] when the work
/// of a firing ends, and store [`Schedule::state`] with what the verdicts ask for.
#[derive(Debug, Clone)]
pub struct Schedule {
    pub(super) id: u128,
    pub(super) seed: u64,
    pub(super) spec: ScheduleSpec,
    pub(super) state: ScheduleState,
    /// A moment and its label, for triggers that follow the monotonic clock.
    origin: (Moment, Timestamp),
    seen: Now,
    /// Whether the custom trigger was asked and has not answered.
    pub(super) asked: bool,
    /// Whether its last answer was one it had given before.
    pub(super) repeated: bool,
    /// Whether whoever calls it is about to leave: nothing is decided in this life any more.
    is_still: bool,
    /// How many firings there is room for where they wait.
    pub(super) room: u64,
}

impl Schedule {
    /// A new schedule. `spec` should have passed [`ScheduleSpec::check`]; one that has not may end
    /// at once, but does no harm.
    #[must_use]
    pub fn start(id: u128, seed: u64, spec: ScheduleSpec, now: Now) -> Self {
        let state =
            ScheduleState { seen_label: now.wall, seen_wall: now.wall, ..Default::default() };
        let mut schedule = Self::new(id, seed, spec, state, now);
        schedule.begin();
        // A time that has just passed is still meant.
        if matches!(schedule.spec.trigger, Trigger::Once(_) | Trigger::Custom) {
            schedule.state.cursor = BEGINNING;
            schedule.state.end = None;
            schedule.plan();
        }
        schedule
    }

    /// The schedule as it was stored, however long ago. What passed since follows the misfire
    /// policy at the next poll.
    ///
    /// Call [`Schedule::ended`] for each outstanding firing whose work is found to have ended or
    /// to be lost. If the trigger is another than before, call [`Schedule::update`] first of all.
    #[must_use]
    pub fn restore(
        id: u128,
        seed: u64,
        spec: ScheduleSpec,
        state: ScheduleState,
        now: Now,
    ) -> Self {
        let mut schedule = Self::new(id, seed, spec, state, now);
        schedule.bound_backoff();
        if schedule.state.seen_label >= schedule.state.cursor {
            schedule.replan();
        }
        schedule
    }

    /// What to store.
    #[must_use]
    pub fn state(&self) -> ScheduleState {
        self.state.clone()
    }

    /// The trigger and policies; exclusions are in order.
    #[must_use]
    pub fn spec(&self) -> &ScheduleSpec {
        &self.spec
    }

    /// When to call [`Schedule::poll`]. `None` while only a call of another kind changes anything.
    #[must_use]
    pub fn next_due(&self) -> Option<Due> {
        if self.rests() {
            return None;
        }
        let now = self.state.seen_label;
        let told = self.wants_answer() || self.wants_to_end();
        let queued = (!self.state.queue.is_empty() && self.may_start())
            .then(|| self.state.not_before.unwrap_or(now));
        let pending = self.state.pending.map(|pending| pending.due);
        let label = told.then_some(now).into_iter().chain(queued).chain(pending).min()?;
        Some(if self.spec.trigger.is_wall() {
            Due::Wall(label)
        } else {
            let (moment, origin) = self.origin;
            Due::Monotonic(moment.after(label.since(origin)))
        })
    }

    /// The instant that fires next unless something comes between, without jitter.
    #[must_use]
    pub fn next_nominal(&self) -> Option<Timestamp> {
        self.state.pending.map(|pending| pending.nominal)
    }

    /// The newest instant that is decided, or came before the schedule: none up to it will be planned.
    #[must_use]
    pub fn decided(&self) -> Timestamp {
        self.state.last_decided.map_or(self.state.cursor, |last| last.max(self.state.cursor))
    }

    /// Decides what is due.
    pub fn poll(&mut self, now: Now, out: &mut Vec<Verdict>) {
        self.observe(now);
        self.settle(SkipReason::Misfire, &mut Voice::new(out));
    }

    /// The wall clock jumped, or the rules of the time zone changed: plans anew.
    ///
    /// Intervals take no notice. A calendar set back goes on at once with the first instant that
    /// has not fired; one set forward treats what it passed by its misfire policy.
    pub fn clock_moved(&mut self, now: Now, out: &mut Vec<Verdict>) {
        self.observe(now);
        let mut voice = Voice::new(out);
        if !self.rests() && self.state.seen_label >= self.state.cursor {
            let before = self.next_nominal();
            self.replan();
            self.tell_move(before, &mut voice);
        }
        self.settle(SkipReason::Misfire, &mut voice);
    }

    /// The work of one firing ended. Late or repeated reports are ignored.
    pub fn ended(&mut self, now: Now, success: bool, out: &mut Vec<Verdict>) {
        self.observe(now);
        if self.state.outstanding == 0 {
            return;
        }
        self.state.outstanding -= 1;
        let was_displaced = self.state.cancelling;
        self.state.cancelling &= self.state.outstanding > 0;
        self.state.failed += u64::from(!success && !was_displaced);
        if success {
            self.state.backoff_level = 0;
            self.state.not_before = None;
        } else if let Some(backoff) = &self.spec.backoff
            && !was_displaced
        {
            let level = self.state.backoff_level;
            self.state.not_before = Some(self.label_up().after(self.wait(backoff, level)));
            self.state.backoff_level = level.saturating_add(1);
        }
        let mut voice = Voice::new(out);
        if !self.is_still {
            self.start_queued(&mut voice);
        }
        if self.state.pending.is_none() && self.state.end.is_none() {
            self.plan_delay(self.label_up());
        }
        self.settle(SkipReason::Misfire, &mut voice);
    }

    /// Lets nothing fire until [`Schedule::resume`]. Work that runs is not touched.
    pub fn pause(&mut self, now: Now) {
        self.observe(now);
        self.state.paused = true;
    }

    /// Goes on. Instants that passed meanwhile follow the misfire policy, without grace.
    ///
    /// To show what would happen, resume a clone.
    pub fn resume(&mut self, now: Now, out: &mut Vec<Verdict>) {
        self.observe(now);
        if self.state.paused {
            self.state.paused = false;
            if self.state.seen_label >= self.state.cursor {
                self.replan();
            }
            self.settle(SkipReason::Paused, &mut Voice::new(out));
        }
    }

    /// Decides nothing any more in this life, and leaves everything to the next: what is queued
    /// waits, and what passes follows the misfire policy after [`Schedule::restore`]. It is not
    /// part of [`Schedule::state`]; pausing and resuming still are.
    pub fn stand_still(&mut self) {
        self.is_still = true;
    }

    /// Ends the schedule, with what it has queued; work that runs is not touched. Tells nothing
    /// further. Returns whether it had anything left to do.
    pub fn cancel(&mut self) -> bool {
        let was_alive = !self.is_ended();
        if was_alive {
            self.state.queue.clear();
            self.state.end = None;
            self.end(EndReason::Cancelled);
            self.state.end_told = true;
        }
        was_alive
    }

    /// Says how many firings there is room for where they wait; what comes on top is skipped. Without a
    /// word there is no bound.
    pub fn set_room(&mut self, firings: u64) {
        self.room = firings;
    }

    /// Whether it is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.state.paused
    }

    /// Whether nothing will fire any more.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.state.end.is_some() && self.state.queue.is_empty()
    }

    /// Gives it other policies, and perhaps another trigger. Returns false if the schedule has ended.
    ///
    /// The instants of another trigger count from now on; those the old one named and that are not
    /// decided are dropped, so poll first. Queued ones stay, and so does all that was decided.
    pub fn update(&mut self, spec: ScheduleSpec, now: Now) -> bool {
        self.observe(now);
        if self.state.end.is_some() {
            return false;
        }
        let old = std::mem::replace(&mut self.spec, spec.in_order());
        if old.trigger == self.spec.trigger {
            self.fit(old.jitter == self.spec.jitter);
        } else {
            self.change_clock(old.trigger.is_wall(), now);
            self.begin();
        }
        if self.firings_left() == 0 {
            self.end(EndReason::MaxFirings);
        }
        true
    }

    /// What it has done and is doing, in numbers.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            fired: self.state.fired,
            asked_for: self.state.asked_for,
            failed: self.state.failed,
            skipped: self.state.skipped,
            last_due_lag: self.state.last_due_lag,
            backoff_level: self.state.backoff_level,
            outstanding: self.state.outstanding,
            queued: u32::try_from(self.state.queue.len()).unwrap_or(u32::MAX),
        }
    }

    fn new(id: u128, seed: u64, spec: ScheduleSpec, mut state: ScheduleState, now: Now) -> Self {
        let spec = spec.in_order();
        // Time asleep or down counts; a label never goes back, or it would be given out twice.
        state.seen_label = if spec.trigger.is_wall() {
            now.wall
        } else {
            state.seen_label.after(now.wall.since(state.seen_wall))
        };
        state.seen_wall = now.wall;
        let origin = (now.monotonic, state.seen_label);
        Self {
            id,
            seed,
            spec,
            state,
            origin,
            seen: now,
            asked: false,
            repeated: false,
            is_still: false,
            room: u64::MAX,
        }
    }

    /// Where the trigger's time begins. An interval must not wait until labels are over that fired
    /// before the wall clock was set back, so it begins after them.
    fn fresh_label(&self, wall: Timestamp) -> Timestamp {
        match self.state.fired_ranges.containing(wall.as_micros()) {
            Some((_, last)) if !self.spec.trigger.is_wall() => {
                Timestamp::from_micros(last.saturating_add(1))
            }
            _ => wall,
        }
    }

    /// After a change of the trigger: goes by another clock, if the new one does.
    fn change_clock(&mut self, was_wall: bool, now: Now) {
        if was_wall != self.spec.trigger.is_wall() {
            let label = self.fresh_label(now.wall);
            let shift = label.as_micros().saturating_sub(self.state.seen_label.as_micros());
            self.shift_backoff(shift);
            self.origin = (now.monotonic, label);
            self.state.seen_label = label;
        }
    }

    /// After a change of the policies: makes the pending instant one that they allow.
    fn fit(&mut self, keeps_jitter: bool) {
        match (&self.spec.trigger, self.state.pending) {
            // It is asked again, and answers by what was decided last.
            (Trigger::Custom, _) => {
                self.asked = false;
                self.state.pending = None;
                self.state.anchor = None;
            }
            (Trigger::FixedDelay { .. }, Some(pending)) => self.place(pending.nominal),
            (Trigger::FixedDelay { .. }, None) => {}
            (_, pending) => {
                self.state.pending = pending.filter(|_| keeps_jitter);
                self.replan();
            }
        }
    }

    /// Takes the trigger's instants from now on.
    fn begin(&mut self) {
        let label = self.state.seen_label;
        let just_before = Timestamp::from_micros(label.as_micros().saturating_sub(1));
        self.asked = false;
        self.state.pending = None;
        (self.state.anchor, self.state.cursor) = match &self.spec.trigger {
            Trigger::Once(start) | Trigger::FixedRate { start, .. } => {
                (Some(start.from(label)), just_before)
            }
            Trigger::FixedDelay { .. } | Trigger::Custom => (None, just_before),
            Trigger::Calendar { .. } => (None, label),
        };
        self.plan();
    }

    /// Plans the first instant after the cursor.
    fn plan(&mut self) {
        match self.spec.trigger {
            Trigger::Custom => {}
            Trigger::FixedDelay { start, .. } => {
                if self.state.outstanding == 0 && self.state.queue.is_empty() {
                    let label = self.state.seen_label;
                    self.place(start.from(label).max(label));
                }
            }
            _ => self.plan_after_cursor(),
        }
    }

    /// Plans the first instant after the cursor of a trigger that knows its instants. Nothing comes after the end of time.
    pub(super) fn plan_after_cursor(&mut self) {
        match self.state.cursor.as_micros().checked_add(1) {
            Some(from) => self.plan_from(from),
            None => self.end(EndReason::Exhausted),
        }
    }

    /// Plans the first instant at or after `from` of a trigger that knows its instants.
    fn plan_from(&mut self, from: i64) {
        let line = self.line();
        match line.first_free_from(from) {
            Some(instant) => self.state.pending = Some(self.with_jitter(instant)),
            None => {
                let closed = line.ceiling().checked_add(1);
                let goes_on = closed.and_then(|closed| line.series.first_from(closed)).is_some();
                self.end(if goes_on { EndReason::WindowClosed } else { EndReason::Exhausted });
            }
        }
    }

    /// For a fixed delay with nothing running: plans the instant that follows work ended at `end`.
    pub(super) fn plan_delay(&mut self, end: Timestamp) {
        if let Trigger::FixedDelay { delay, .. } = self.spec.trigger
            && self.state.outstanding == 0
            && self.state.queue.is_empty()
        {
            // Instants are whole microseconds, and a delay is never cut short.
            let instant = end.after(delay + Duration::from_nanos(999));
            self.place(self.state.not_before.map_or(instant, |until| instant.max(until)));
        }
    }

    /// Plans an instant at `instant`, or as soon after it as window and exclusions allow.
    fn place(&mut self, instant: Timestamp) {
        match self.line().first_open_from(instant.as_micros()) {
            Some(open) => {
                self.state.anchor = Some(Timestamp::from_micros(open));
                self.state.pending = Some(self.with_jitter(open));
            }
            None => self.end(EndReason::WindowClosed),
        }
    }

    /// Plans again; the pending instant keeps its jitter if it is still the next one.
    fn replan(&mut self) {
        if self.state.end.is_some() {
            return;
        }
        match self.spec.trigger {
            Trigger::Custom => {}
            Trigger::FixedDelay { .. } => {
                if self.state.pending.is_none() {
                    self.plan_delay(self.state.seen_label);
                }
            }
            _ => {
                let before = self.state.pending.take();
                self.plan_after_cursor();
                if before.map(|pending| pending.nominal) == self.next_nominal() {
                    self.state.pending = before;
                }
            }
        }
    }

    /// Decides, starts, asks and tells whatever is due now.
    pub(super) fn settle(&mut self, reason: SkipReason, voice: &mut Voice<'_>) {
        if self.is_still {
            return;
        }
        self.start_queued(voice);
        if self.state.paused {
            return;
        }
        if self.state.end.is_none() {
            self.follow_set_back(voice);
            self.decide_due(reason, voice);
        }
        if self.wants_answer() {
            self.asked = true;
            voice.say(Verdict::AskTrigger { last: self.state.last_decided });
        }
        if self.wants_to_end()
            && let Some(reason) = self.state.end
        {
            self.state.end_told = true;
            voice.say(Verdict::Ended(reason));
        }
    }

    /// If the clock is behind what was decided, it was set back: goes on from the new time.
    fn follow_set_back(&mut self, voice: &mut Voice<'_>) {
        let label = self.state.seen_label;
        if label >= self.state.cursor {
            return;
        }
        let before = self.next_nominal();
        self.state.cursor = label;
        if self.spec.trigger == Trigger::Custom {
            self.state.pending = None;
            self.state.anchor = None;
        } else {
            self.replan();
        }
        self.tell_move(before, voice);
    }

    fn tell_move(&self, from: Option<Timestamp>, voice: &mut Voice<'_>) {
        let to = self.next_nominal();
        if from != to {
            voice.say(Verdict::Rescheduled { from, to });
        }
    }

    pub(super) fn end(&mut self, reason: EndReason) {
        self.state.end.get_or_insert(reason);
        self.state.pending = None;
    }

    /// Whether nothing fires, be it only for now.
    fn rests(&self) -> bool {
        self.state.paused || self.is_still
    }

    fn wants_to_end(&self) -> bool {
        self.is_ended() && !self.state.end_told
    }

    /// Takes note of the time.
    pub(super) fn observe(&mut self, now: Now) {
        let (moment, label) = self.origin;
        if self.spec.trigger.is_wall() {
            let wall = now.wall.as_micros().saturating_sub(self.seen.wall.as_micros());
            let jump = wall.saturating_sub(micros(now.monotonic.since(self.seen.monotonic)));
            if jump.unsigned_abs() > DRIFT_MAX {
                self.shift_backoff(jump);
            }
            self.state.seen_label = now.wall;
        } else {
            self.state.seen_label = label.after(now.monotonic.since(moment));
        }
        self.state.seen_wall = now.wall;
        self.seen = now;
    }

    /// The present label, rounded up, so that what is counted from it is never early.
    fn label_up(&self) -> Timestamp {
        let is_between = !self.spec.trigger.is_wall()
            && !self.seen.monotonic.since(self.origin.0).subsec_nanos().is_multiple_of(1000);
        let label = self.state.seen_label.as_micros();
        Timestamp::from_micros(label.saturating_add(i64::from(is_between)))
    }

    /// How long it waits after as many failures.
    fn wait(&self, backoff: &Retry, level: u32) -> Duration {
        backoff.delay(self.seed, self.id, 0, level)
    }

    /// After a restore: a clock that was set back meanwhile makes no wait longer than it ever was.
    fn bound_backoff(&mut self) {
        if let (Some(until), Some(backoff)) = (self.state.not_before, &self.spec.backoff) {
            let wait = self.wait(backoff, self.state.backoff_level.saturating_sub(1));
            self.state.not_before = Some(until.min(self.state.seen_label.after(wait)));
        }
    }

    /// A wait is a length of time, so it moves with a clock that jumps.
    fn shift_backoff(&mut self, by: i64) {
        if let Some(not_before) = &mut self.state.not_before {
            *not_before = Timestamp::from_micros(not_before.as_micros().saturating_add(by));
        }
    }
}

/// The list of verdicts that one call adds to.
pub(super) struct Voice<'a> {
    out: &'a mut Vec<Verdict>,
    /// Where this call began; what is before may be another schedule's.
    begin: usize,
}

impl<'a> Voice<'a> {
    pub(super) fn new(out: &'a mut Vec<Verdict>) -> Self {
        let begin = out.len();
        Self { out, begin }
    }

    pub(super) fn say(&mut self, verdict: Verdict) {
        self.out.push(verdict);
    }

    /// Lets the last verdict of this call take in instants skipped for the same reason, if `joins`
    /// finds that none lies between; else tells of them apart.
    pub(super) fn skipped(&mut self, skip: Skip, joins: impl FnOnce(Timestamp) -> bool) {
        if let Some(Verdict::Skipped { count, last, reason, origin: Origin::Trigger, .. }) =
            self.out[self.begin..].last_mut()
            && *reason == skip.reason
            && joins(*last)
        {
            *count = count.saturating_add(skip.count);
            *last = skip.last;
            return;
        }
        let Skip { count, first, last, reason } = skip;
        self.say(Verdict::Skipped { count, first, last, reason, origin: Origin::Trigger });
    }
}
