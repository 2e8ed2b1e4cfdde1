//! Time: timers that are due, schedules that fire, and a wall clock that may have jumped.
//!
//! What a schedule says about an instant is decided in [`crate::schedule`]; what comes of a firing is
//! in `firing`.

use std::sync::Arc;
use std::time::Duration;

use slotmap::DefaultKey;

use super::attempt::comes_back;
use super::state::{Alarm, ScheduleEntry, Scheduler};
use crate::decision::{Action, Decision, Fact};
use crate::id::{ProfileId, ScheduleId, ScheduleKey, TaskKey};
use crate::input::{CancelMode, Fires, Rejection, Reply, ShutdownMode};
use crate::row::{Change, Fate, FiringRow, ScheduleRow};
use crate::schedule::{Due, Pending, Schedule, ScheduleSpec, Verdict};
use crate::task::{Reason, TaskState};
use crate::time::{Moment, Now, Timestamp};

/// How far the two clocks may drift apart before calendars are looked at again.
const WALL_TOLERANCE_MICROS: u64 = 100_000;

impl Scheduler {
    /// When [`crate::Event::TimePassed`] is wanted at the latest.
    ///
    /// It counts on a wall clock that goes as the monotonic one does. A driver whose wall clock may
    /// be set should send the event every second or so, or when it is told of the change.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Moment> {
        self.timers.next_wakeup()
    }

    pub(super) fn time_passed(&mut self, now: Now, decision: &mut Decision) {
        while let Some((_, alarm)) = self.timers.expire(now.monotonic) {
            match alarm {
                Alarm::Delay(key) => self.delay_ended(key, now, decision),
                Alarm::TaskTimeout(key) => self.task_timed_out(key, now, decision),
                Alarm::RunTimeout(run) => self.run_timed_out(run, now, decision),
                Alarm::Limit(index) => {
                    self.limits[index as usize].timer = None;
                    self.wake_limit(index);
                }
                Alarm::Queue(index) => self.queues[index as usize].timer = None,
                Alarm::Schedule(key) => self.poll_schedule(key, now, decision),
                Alarm::DrainOver => {
                    self.drain_timer = None;
                    let grace = Some(Duration::ZERO);
                    let _ = self.shut_down(now, ShutdownMode::Reject, grace, decision);
                }
            }
        }
    }

    fn delay_ended(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        if let Some(extra) = self.works.get_mut(key.run.0).map(|work| work.extra_mut(key.index)) {
            extra.delay_timer = None;
        }
        let Some(task) = self.member(key) else { return };
        if task.state == TaskState::Delayed {
            let reason = task.reason;
            self.transition(key, TaskState::Ready, reason, now, decision);
        }
    }

    fn task_timed_out(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let Some(task) = self.member(key) else { return };
        let (state, reason) = (task.state, task.reason);
        self.work_mut(key).extra_mut(key.index).timeout_timer = None;
        match state {
            TaskState::Ready | TaskState::Delayed => {
                self.transition(key, TaskState::Failed, Reason::TaskTimeout, now, decision);
            }
            TaskState::Blocked if self.group_of_end(key).is_some() => {
                self.group_timed_out(key, now, decision);
            }
            TaskState::Cancelling if !comes_back(reason) => {}
            TaskState::Running | TaskState::Cancelling => {
                self.stop_attempt(key, Reason::TaskTimeout, Duration::ZERO, now, decision);
            }
            _ => {}
        }
    }

    fn run_timed_out(&mut self, run: DefaultKey, now: Now, decision: &mut Decision) {
        let Some(entry) = self.run_mut(run) else { return };
        entry.timeout_timer = None;
        if entry.result.is_some() {
            return;
        }
        entry.failed = true;
        let mode = CancelMode::Stop { grace: Duration::ZERO };
        self.cancel_work(run, Reason::RunTimeout, mode, now, decision);
    }

    /// Notices a wall clock that moved against the monotonic one.
    pub(super) fn notice_clock(&mut self, now: Now, decision: &mut Decision) {
        if self.schedules.is_empty() {
            return;
        }
        let monotonic = (now.monotonic.as_nanos() / 1000) as i64;
        let offset = now.wall.as_micros().saturating_sub(monotonic);
        match self.wall_offset.replace(offset) {
            Some(before) if offset.abs_diff(before) > WALL_TOLERANCE_MICROS => {
                let keys: Vec<DefaultKey> = self.schedules.keys().collect();
                for key in keys {
                    self.with_schedule(key, now, decision, |schedule, verdicts| {
                        schedule.clock_moved(now, verdicts);
                    });
                }
            }
            // Small steps must add up, not be forgotten one by one.
            Some(before) => self.wall_offset = Some(before),
            None => {}
        }
    }

    pub(super) fn add_schedule(
        &mut self,
        now: Now,
        id: ScheduleId,
        spec: ScheduleSpec,
        fires: Fires<ProfileId>,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        if self.shutdown.is_some() {
            return Err(Rejection::ShuttingDown);
        }
        let named = spec.name.as_ref().and_then(|name| self.schedule_names.get(name));
        if let Some(&known) = named {
            return self.define_again(now, known, spec, fires, decision);
        }
        self.check_schedule(&spec, None, now)?;
        let schedule = Schedule::start(id.0, self.config.seed, spec.clone(), now);
        let spec = Arc::new(spec);
        let (timer, running, wanted) = (None, Vec::new(), Vec::new());
        let entry = ScheduleEntry { schedule, id, spec, fires, timer, running, wanted };
        let key = self.insert_schedule(entry);
        self.notice_clock(now, decision);
        self.poll_schedule(key, now, decision);
        self.record_schedule(key, decision);
        Ok(Reply::Scheduled(ScheduleKey(key)))
    }

    /// Somebody sets a schedule whose name is known: it is that one, and changes if it says something
    /// else than before.
    fn define_again(
        &mut self,
        now: Now,
        key: DefaultKey,
        spec: ScheduleSpec,
        fires: Fires<ProfileId>,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        if *self.schedules[key].spec != spec {
            self.update_schedule(now, key, spec, decision)?;
        }
        // What was due before may have been the last.
        let Some(entry) = self.schedules.get_mut(key) else {
            return Err(Rejection::Gone("schedule"));
        };
        let before = std::mem::replace(&mut entry.fires, fires.clone());
        if before != fires {
            if let Fires::Task { profile, .. } = fires {
                self.profiles.take(profile);
            }
            if let Fires::Task { profile, .. } = before {
                self.profiles.leave(profile);
            }
            self.record_schedule(key, decision);
        }
        // Whoever sets it brings the rule along that names its instants.
        self.with_schedule(key, now, decision, |schedule, verdicts| {
            schedule.ask_again(now, verdicts);
        });
        Ok(Reply::Scheduled(ScheduleKey(key)))
    }

    /// Whether a schedule makes sense, and its name is free or that of `own`.
    fn check_schedule(
        &self,
        spec: &ScheduleSpec,
        own: Option<DefaultKey>,
        now: Now,
    ) -> Result<(), Rejection> {
        spec.check(now).map_err(|error| Rejection::Invalid(error.to_string().into()))?;
        let Some(name) = &spec.name else { return Ok(()) };
        match self.schedule_names.get(name) {
            Some(other) if Some(*other) != own => Err(Rejection::DuplicateSchedule(name.clone())),
            _ => Ok(()),
        }
    }

    pub(super) fn insert_schedule(&mut self, entry: ScheduleEntry) -> DefaultKey {
        if let Fires::Task { profile, .. } = entry.fires {
            self.profiles.take(profile);
        }
        // The name of one that only waits for its last firing is free.
        let (id, name) = (entry.id, entry.spec.name.clone().filter(|_| !entry.schedule.is_ended()));
        let key = self.schedules.insert(entry);
        self.schedule_keys.insert(id, key);
        self.schedule_names.extend(name.map(|name| (name, key)));
        key
    }

    pub(super) fn update_schedule(
        &mut self,
        now: Now,
        key: DefaultKey,
        spec: ScheduleSpec,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let Some(entry) = self.schedules.get(key) else { return Err(Rejection::Gone("schedule")) };
        self.check_schedule(&spec, Some(key), now)?;
        // A refusal leaves no trace, so it is found out on a copy.
        let mut trial = entry.schedule.clone();
        trial.poll(now, &mut Vec::new());
        if !trial.update(spec.clone(), now) {
            return Err(Rejection::Gone("schedule"));
        }
        if trial.is_ended() {
            return Err(Rejection::Invalid("it would never fire again".into()));
        }
        // What is due already is decided by the old rules.
        self.poll_schedule(key, now, decision);
        if let Some(entry) = self.schedules.get_mut(key) {
            let old = std::mem::replace(&mut entry.spec, Arc::new(spec.clone()));
            if let Some(name) = &old.name {
                self.schedule_names.remove(name);
            }
            self.schedule_names.extend(spec.name.clone().map(|name| (name, key)));
        }
        self.with_schedule(key, now, decision, |schedule, verdicts| {
            schedule.update(spec, now);
            schedule.poll(now, verdicts);
        });
        self.record_schedule(key, decision);
        Ok(Reply::Done)
    }

    pub(super) fn poll_schedule(&mut self, key: DefaultKey, now: Now, decision: &mut Decision) {
        self.with_schedule(key, now, decision, |schedule, verdicts| schedule.poll(now, verdicts));
    }

    /// Lets a schedule decide something, does what it says, and arms its next timer.
    pub(super) fn with_schedule(
        &mut self,
        key: DefaultKey,
        now: Now,
        decision: &mut Decision,
        decide: impl FnOnce(&mut Schedule, &mut Vec<Verdict>),
    ) {
        let room = self.room_for_firings(key);
        let Some(entry) = self.schedules.get_mut(key) else { return };
        let mut verdicts = Vec::new();
        entry.schedule.set_room(room);
        decide(&mut entry.schedule, &mut verdicts);
        let changed = !verdicts.is_empty();
        for verdict in verdicts {
            self.apply(key, verdict, now, decision);
        }
        if self.schedules.get(key).is_some_and(|entry| entry.schedule.is_ended()) {
            self.free_schedule_name(key);
            self.drop_schedule_if_idle(key, now, decision);
        }
        // One that has ended but whose work runs must be stored too, or it would fire again.
        if changed && self.schedules.contains_key(key) {
            self.record_schedule(key, decision);
        }
        self.arm_schedule(key, now);
    }

    /// How many firings the queue takes that they wait in. Runs are asked when they are made.
    fn room_for_firings(&self, key: DefaultKey) -> u64 {
        match self.schedules.get(key).map(|entry| &entry.fires) {
            Some(Fires::Task { profile, .. }) => {
                self.queues[self.profiles[profile.0 as usize].queue as usize].room()
            }
            _ => u64::MAX,
        }
    }

    fn arm_schedule(&mut self, key: DefaultKey, now: Now) {
        let Some(entry) = self.schedules.get_mut(key) else { return };
        let due = entry.schedule.next_due().map(|due| match due {
            Due::Monotonic(moment) => moment,
            Due::Wall(instant) => now.monotonic.after(instant.since(now.wall)),
        });
        let timer = entry.timer.take();
        if let Some(timer) = timer {
            self.timers.cancel(timer);
        }
        if let Some(due) = due {
            self.schedules[key].timer = Some(self.timers.insert(due, Alarm::Schedule(key)));
        }
    }

    fn apply(&mut self, key: DefaultKey, verdict: Verdict, now: Now, decision: &mut Decision) {
        match verdict {
            Verdict::Fire(firing) => self.fire(key, firing, now, decision),
            Verdict::Skipped { count, first, last, reason, origin } => {
                let schedule = self.schedules[key].id;
                let fate = Fate::Skipped(reason.as_str());
                let skipped = FiringRow { schedule, nominal: first, origin, last, count, fate };
                self.record_skip(skipped, reason.as_str(), now, decision);
            }
            Verdict::CancelRunning => self.cancel_firings(key, now, decision),
            Verdict::AskTrigger { last } => {
                decision.act(Action::AskTrigger { schedule: ScheduleKey(key), last });
            }
            // The row that follows says it; an ended schedule is dropped when its work has ended.
            Verdict::Rescheduled { .. } | Verdict::Ended(_) => {}
        }
    }

    fn record_skip(
        &mut self,
        skipped: FiringRow,
        reason: &'static str,
        now: Now,
        decision: &mut Decision,
    ) {
        let (schedule, first, count) = (skipped.schedule, skipped.nominal, skipped.count);
        self.notify(now, decision, || Fact::InstantsSkipped { schedule, first, count, reason });
        decision.change(|| Change::FiringStored(skipped));
    }

    pub(super) fn trigger_answered(
        &mut self,
        now: Now,
        key: DefaultKey,
        next: Option<Timestamp>,
        decision: &mut Decision,
    ) {
        self.with_schedule(key, now, decision, |schedule, verdicts| {
            schedule.answer(now, next, verdicts);
        });
        // The rule may be gone at the next start, the instant it named should not.
        self.record_schedule(key, decision);
    }

    pub(super) fn cancel_schedule(
        &mut self,
        now: Now,
        key: DefaultKey,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let Some(entry) = self.schedules.get_mut(key) else { return Ok(Reply::Unchanged) };
        let (schedule, queued) = (entry.id, entry.schedule.state().queue);
        if !entry.schedule.cancel() {
            return Ok(Reply::Unchanged);
        }
        self.free_schedule_name(key);
        for pending in queued {
            let Pending { nominal, origin, .. } = pending;
            let fate = Fate::Skipped("cancelled");
            let row = FiringRow { schedule, nominal, origin, last: nominal, count: 1, fate };
            self.record_skip(row, "cancelled", now, decision);
        }
        self.record_schedule(key, decision);
        self.drop_schedule_if_idle(key, now, decision);
        Ok(Reply::Done)
    }

    pub(super) fn pause_schedule(
        &mut self,
        now: Now,
        key: DefaultKey,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let Some(entry) = self.schedules.get_mut(key) else {
            return Err(Rejection::Gone("schedule"));
        };
        entry.schedule.pause(now);
        self.arm_schedule(key, now);
        self.record_schedule(key, decision);
        Ok(Reply::Done)
    }

    pub(super) fn resume_schedule(
        &mut self,
        now: Now,
        key: DefaultKey,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        if !self.schedules.contains_key(key) {
            return Err(Rejection::Gone("schedule"));
        }
        self.with_schedule(key, now, decision, |schedule, verdicts| {
            schedule.resume(now, verdicts);
        });
        if self.schedules.contains_key(key) {
            self.record_schedule(key, decision);
        }
        Ok(Reply::Done)
    }

    /// No schedule fires after a shutdown has begun, and none ends by it: what is stored is there
    /// at the next start.
    pub(super) fn leave_schedules(&mut self) {
        for entry in self.schedules.values_mut() {
            entry.schedule.stand_still();
            if let Some(timer) = entry.timer.take() {
                self.timers.cancel(timer);
            }
        }
    }

    fn drop_schedule_if_idle(&mut self, key: DefaultKey, now: Now, decision: &mut Decision) {
        let Some(entry) = self.schedules.get_mut(key) else { return };
        if let Some(timer) = entry.timer.take() {
            self.timers.cancel(timer);
        }
        let entry = &self.schedules[key];
        if entry.running.is_empty() && entry.wanted.is_empty() {
            let id = entry.id;
            self.notify(now, decision, || Fact::ScheduleEnded(id));
            self.end_schedule(key, decision);
        }
    }

    /// Gives a name back, unless another schedule has it by now.
    fn free_schedule_name(&mut self, key: DefaultKey) {
        let name = self.schedules.get(key).and_then(|entry| entry.spec.name.as_ref());
        if let Some(name) = name.filter(|name| self.schedule_names.get(*name) == Some(&key)) {
            self.schedule_names.remove(name);
        }
    }

    fn end_schedule(&mut self, key: DefaultKey, decision: &mut Decision) {
        self.free_schedule_name(key);
        let Some(entry) = self.schedules.remove(key) else { return };
        self.schedule_keys.remove(&entry.id);
        if let Fires::Task { profile, .. } = entry.fires {
            self.profiles.leave(profile);
        }
        if let Some(timer) = entry.timer {
            self.timers.cancel(timer);
        }
        decision.change(|| Change::ScheduleEnded(entry.id));
        let (schedule, id, counters) = (ScheduleKey(key), entry.id, entry.schedule.counters());
        decision.act(Action::ScheduleEnded { schedule, id, counters: Box::new(counters) });
    }

    pub(super) fn record_schedule(&self, key: DefaultKey, decision: &mut Decision) {
        let Some(entry) = self.schedules.get(key) else { return };
        decision.change(|| {
            Change::ScheduleStored(Box::new(ScheduleRow {
                id: entry.id,
                spec: entry.spec.clone(),
                fires: match entry.fires {
                    Fires::Task { profile, priority } => {
                        let profile = self.profiles[profile.0 as usize].spec.clone();
                        Fires::Task { profile, priority }
                    }
                    Fires::Run => Fires::Run,
                },
                state: entry.schedule.state(),
                wanted: entry.wanted.clone(),
            }))
        });
    }
}
