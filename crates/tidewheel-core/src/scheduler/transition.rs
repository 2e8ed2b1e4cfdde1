//! The one function that changes a task's state, with everything counted by state.
//!
//! Slots, units and places in the order follow from the state and are changed nowhere else. What an
//! ended task means for others is drawn in `propagate`.

use slotmap::{DefaultKey, SlotMap};

use super::state::{Alarm, Scheduler};
use crate::decision::{Decision, Fact};
use crate::id::{RunKey, TaskId, TaskKey};
use crate::limit::LimitKind;
use crate::party::NO_PARTY;
use crate::policy::{BreakerState, Ending};
use crate::ready::{Alive, Entry};
use crate::row::{Change, TaskRow};
use crate::run::Work;
use crate::task::{Reason, TaskState};
use crate::time::{Moment, Now};

impl Scheduler {
    /// Moves a task to another state.
    ///
    /// A task that becomes running must have been taken from the order by the caller.
    #[inline(never)]
    pub(super) fn transition(
        &mut self,
        key: TaskKey,
        to: TaskState,
        reason: Reason,
        now: Now,
        decision: &mut Decision,
    ) {
        self.transit(key, to, reason, now, decision);
    }

    /// [`Self::transition`], to be used where `to` is known and the place is hot.
    #[inline(always)]
    pub(super) fn transit(
        &mut self,
        key: TaskKey,
        to: TaskState,
        reason: Reason,
        now: Now,
        decision: &mut Decision,
    ) {
        let is_alone = self.queues.len() == 1;
        let work = self.works.get_mut(key.run.0).expect("the key was checked on arrival");
        let class = work.class(key.index);
        let entry = &self.classes[class as usize];
        let queue = &mut self.queues[entry.queue as usize];
        let task = work.task_mut(key.index);
        let from = task.state;
        let before = task.reason;
        assert!(from.may_become(to), "a task cannot go from {from} to {to} ({reason})");
        task.state = to;
        task.reason = reason;
        if to.is_terminal() {
            task.ended_at = now.monotonic;
        }
        let takes = !from.holds_slot() && to.holds_slot();
        let releases = from.holds_slot() && !to.holds_slot();
        if from == TaskState::Ready {
            queue.waiting -= 1;
            self.waiting -= 1;
        }
        if takes {
            self.active += 1;
            task.attempts += 1;
            task.started_at = now.monotonic;
            queue.attempt_started(task, now.monotonic, self.ageing);
            if !is_alone {
                queue.charge(&mut self.virtual_time);
            }
        }
        if releases {
            self.active -= 1;
            let ran = now.monotonic.nanos_since(task.started_at);
            queue.attempt_ended(ran, reason.tells_of_work());
            if !is_alone {
                queue.correct_charge(ran, reason.tells_of_work());
            }
        }
        let is_indexed = queue.spec.preempt && (from.holds_slot() || to.holds_slot());
        let mut was_full = false;
        if let Work::Run(run) = work {
            run.counts.leave(from);
            run.counts.enter(to);
            run.unended -= u32::from(to.is_terminal());
            was_full = releases && run.active == run.slots_max;
            run.active = run.active + u32::from(takes) - u32::from(releases);
        }
        if is_indexed {
            self.note_preemptible(key, (from, before));
        }
        if (takes || releases) && !self.classes[class as usize].needs.is_empty() {
            self.count_units(key, class, to, now, decision);
        }
        if (takes || releases) && self.classes[class as usize].has_parties {
            self.charge_party(key, class, now.monotonic);
        }
        if from == TaskState::Ready && to != TaskState::Running {
            self.leave_order(key, class);
        }
        if from == TaskState::Delayed {
            self.leave_delay(key);
        }
        if was_full {
            self.list_sets(key.run.0);
        }
        match to {
            TaskState::Ready => self.enter_ready(key, class, now, decision),
            TaskState::Delayed => self.delayed += 1,
            _ => {}
        }
        if decision.is_recording() && (to != TaskState::Ready || from.holds_slot()) {
            self.record(key, now, decision);
        }
        if to.is_terminal() {
            if self.config.notices {
                self.notify_ended(key, to, reason, now, decision);
            }
            self.ended.push_back(key);
        }
    }

    #[inline(never)]
    pub(super) fn record(&self, key: TaskKey, now: Now, decision: &mut Decision) {
        decision.change(|| {
            let work = self.work(key);
            let task = work.task(key.index).expect("the key was checked on arrival");
            let extra = work.extra(key.index);
            let until = extra.and_then(|extra| extra.until);
            Change::TaskChanged(TaskRow {
                id: TaskId { run: work.id(), index: key.index },
                state: task.state,
                reason: task.reason,
                attempts: task.attempts,
                lost: extra.map_or(0, |extra| extra.lost),
                uncounted: extra.map_or(0, |extra| extra.uncounted),
                at: now.wall,
                until: until.map(|until| now.wall.after(until.since(now.monotonic))),
                expires: extra
                    .and_then(|extra| self.timers.due(extra.timeout_timer?))
                    .map(|due| now.wall.after(due.since(now.monotonic))),
                released: task.released,
                error: extra.and_then(|extra| extra.error.clone()),
            })
        });
    }

    #[inline(never)]
    fn notify_ended(
        &mut self,
        key: TaskKey,
        to: TaskState,
        reason: Reason,
        now: Now,
        decision: &mut Decision,
    ) {
        let id = self.task_id(key);
        self.notify(now, decision, || Fact::TaskEnded(id, to, reason));
    }

    /// The task can start as soon as there is room.
    #[inline(always)]
    fn enter_ready(&mut self, key: TaskKey, class: u32, now: Now, decision: &mut Decision) {
        self.ready_sequence += 1;
        self.waiting += 1;
        self.queues[self.classes[class as usize].queue as usize].waiting += 1;
        let work = self.works.get_mut(key.run.0).expect("the key was checked on arrival");
        let plain = self.profiles[work.profile(key.index).0 as usize].plain;
        let special = !plain || work.extra(key.index).is_some();
        let task = work.task_mut(key.index);
        task.ready_at = now.monotonic;
        task.ready_sequence = self.ready_sequence;
        if self.config.notices {
            let id = self.task_id(key);
            self.notify(now, decision, || Fact::TaskReady(id));
        }
        if special && self.is_held_specially(key, class, now) {
            return;
        }
        self.fresh.push(key);
    }

    /// Arms the task's timeout if it has one. Whether another task of its key is ahead.
    #[inline(never)]
    fn is_held_specially(&mut self, key: TaskKey, class: u32, now: Now) -> bool {
        self.arm_task_timeout(key, now);
        self.wait_for_key(key, class)
    }

    /// Begins the time for a task that has one. Whether it has begun just now.
    pub(super) fn arm_task_timeout(&mut self, key: TaskKey, now: Now) -> bool {
        let Some(timeout) = self.profile_spec(key).task_timeout else { return false };
        if self.work(key).extra(key.index).is_some_and(|extra| extra.timeout_timer.is_some()) {
            return false;
        }
        let timer = self.timers.insert(now.monotonic.after(timeout), Alarm::TaskTimeout(key));
        self.work_mut(key).extra_mut(key.index).timeout_timer = Some(timer);
        true
    }

    /// Puts a task behind the others of its key. Whether another one is ahead.
    fn wait_for_key(&mut self, key: TaskKey, class: u32) -> bool {
        let Some(name) = self.work(key).extra(key.index).and_then(|extra| extra.key.clone()) else {
            return false;
        };
        let queue = self.classes[class as usize].queue;
        let line = self.keys.entry((queue, name)).or_default();
        if !line.contains(&key) {
            line.push_back(key);
        }
        let held = line.front() != Some(&key);
        self.work_mut(key).task_mut(key.index).held_by_key = held;
        held
    }

    /// The task of a key ended: the next one's turn.
    pub(super) fn release_key(&mut self, key: TaskKey) {
        let work = self.work(key);
        let Some(name) = work.extra(key.index).and_then(|extra| extra.key.clone()) else { return };
        let queue = self.classes[work.class(key.index) as usize].queue;
        let Some(line) = self.keys.get_mut(&(queue, name.clone())) else { return };
        let was_first = line.front() == Some(&key);
        line.retain(|other| *other != key);
        let next = line.front().copied();
        if line.is_empty() {
            self.keys.remove(&(queue, name));
        }
        // One that has ended in this same step is not in the order; its own release goes on.
        let waits =
            |next: &TaskKey| self.member(*next).is_some_and(|task| task.state == TaskState::Ready);
        if let (true, Some(next)) = (was_first, next.filter(waits)) {
            self.work_mut(next).task_mut(next.index).held_by_key = false;
            self.fresh.push(next);
        }
    }

    /// Gives a ready task its place in the order.
    #[inline]
    pub(super) fn enlist(&mut self, key: TaskKey) {
        match self.works.get_mut(key.run.0).expect("the key was checked on arrival") {
            Work::Run(run) => {
                let profile = run.tasks[key.index as usize].profile.0 as usize;
                let set = run.profiles[profile].set;
                run.sets[set as usize].push(&mut run.tasks, key.index);
                if !run.sets[set as usize].listed && !run.is_held() {
                    self.list_set(key.run.0, set);
                }
            }
            Work::Single(single) => {
                let entry = Entry {
                    sequence: single.task.ready_sequence,
                    ready_at: single.task.ready_at,
                    run: key.run.0,
                    set: single.mark,
                    party: NO_PARTY,
                };
                let deadline = single.extra.as_ref().and_then(|extra| extra.deadline);
                let (priority, class) = (single.task.priority, single.class);
                if self.classes[class as usize].has_parties {
                    let party = self.profiles[single.task.profile.0 as usize].party;
                    self.enlist_fairly(class, priority, Entry { party, ..entry }, deadline);
                } else {
                    self.classes[class as usize].lanes.push(priority, entry, deadline);
                }
                self.open_class(class);
            }
        }
    }

    /// Puts a run's ready set into its lane.
    #[inline]
    pub(super) fn list_set(&mut self, run_key: DefaultKey, set: u32) {
        let Self { works, classes, .. } = self;
        let Some(Work::Run(run)) = works.get_mut(run_key) else { return };
        let run = &mut **run;
        let ready = &mut run.sets[set as usize];
        let Some((sequence, ready_at)) = ready.oldest(&run.tasks) else { return };
        ready.listed = true;
        let (class, priority, party) = (ready.class, ready.priority, ready.party);
        let entry = Entry { sequence, ready_at, run: run_key, set, party };
        if party == NO_PARTY {
            classes[class as usize].lanes.push(priority, entry, None);
        } else {
            self.enlist_fairly(class, priority, entry, None);
        }
        self.open_class(class);
    }

    /// Puts all ready sets of a run that may start again into their lanes.
    pub(super) fn list_sets(&mut self, run_key: DefaultKey) {
        let mut set = 0;
        while let Some(Work::Run(run)) = self.works.get(run_key) {
            let Some(ready) = run.sets.get(set as usize) else { return };
            if !ready.listed && ready.len() > 0 && !run.is_held() {
                self.list_set(run_key, set);
            }
            set += 1;
        }
    }

    #[inline]
    pub(super) fn open_class(&mut self, class: u32) {
        let entry = &mut self.classes[class as usize];
        if !entry.is_open && entry.blocked_by.is_none() {
            entry.is_open = true;
            self.queues[entry.queue as usize].open.push(class);
        }
    }

    /// A task leaves the ready state for another reason than being taken.
    #[inline(never)]
    fn leave_order(&mut self, key: TaskKey, class: u32) {
        if let Some(place) = self.fresh.iter().position(|fresh| *fresh == key) {
            self.fresh.remove(place);
            return;
        }
        let Self { works, classes, profiles, .. } = self;
        let work = works.get_mut(key.run.0).expect("the key was checked on arrival");
        let task = work.task_mut(key.index);
        if std::mem::take(&mut task.held_by_key) {
            return;
        }
        let (priority, sequence) = (task.priority, task.ready_sequence);
        let mut deadline = None;
        match work {
            Work::Run(run) => {
                let profile = run.tasks[key.index as usize].profile.0 as usize;
                run.sets[run.profiles[profile].set as usize].forget();
            }
            Work::Single(single) => {
                deadline = single.extra.as_ref().and_then(|extra| extra.deadline);
            }
        }
        let party = profiles[work.profile(key.index).0 as usize].party;
        let lanes = &mut classes[class as usize].lanes;
        lanes.forget(priority, party, (deadline, sequence), |entry| alive(works, entry));
        if lanes.is_empty() {
            self.drop_reservations(class);
        }
    }

    /// A class without ready work that may start needs no units kept for it.
    pub(super) fn drop_reservations(&mut self, class: u32) {
        if self.reserving != Some(class) {
            return;
        }
        self.reserving = None;
        for place in 0..self.classes[class as usize].needs.len() {
            let (index, _) = self.classes[class as usize].needs[place];
            if self.limits[index as usize].reserved_for == Some(class) {
                self.limits[index as usize].reserved_for = None;
                self.wake_limit(index);
            }
        }
    }

    fn leave_delay(&mut self, key: TaskKey) {
        self.delayed -= 1;
        let extra = self.work_mut(key).extra_mut(key.index);
        extra.until = None;
        if let Some(timer) = extra.delay_timer.take() {
            self.timers.cancel(timer);
        }
    }

    /// Takes or gives back what the class of an attempt needs.
    #[inline(never)]
    fn count_units(
        &mut self,
        key: TaskKey,
        class: u32,
        to: TaskState,
        now: Now,
        decision: &mut Decision,
    ) {
        if to.holds_slot() {
            self.take_units(key, class, now.monotonic);
        } else {
            self.release_units(key, class, to, now, decision);
        }
    }

    fn take_units(&mut self, key: TaskKey, class: u32, now: Moment) {
        let wanted = self.work(key).task(key.index).map_or(now, |task| task.ready_at);
        for place in 0..self.classes[class as usize].needs.len() {
            let (index, units) = self.classes[class as usize].needs[place];
            let limit = &mut self.limits[index as usize];
            let was_reserved = limit.reserved_for == Some(class);
            match &mut limit.kind {
                LimitKind::Units { used, .. } => *used += u64::from(units),
                LimitKind::Rate { rate, bucket } => {
                    let taken = bucket.take(*rate, wanted, now);
                    debug_assert!(taken.is_ok(), "the rate was looked at before");
                }
                LimitKind::Breaker(breaker) => {
                    let epoch = breaker.started(now).expect("the breaker was looked at before");
                    self.work_mut(key).extra_mut(key.index).probes.push((index, epoch));
                }
            }
            if was_reserved {
                self.limits[index as usize].reserved_for = None;
                self.reserving = None;
                self.wake_limit(index);
            }
        }
    }

    fn release_units(
        &mut self,
        key: TaskKey,
        class: u32,
        to: TaskState,
        now: Now,
        decision: &mut Decision,
    ) {
        let reason = self.member(key).map_or(Reason::Ordinary, |task| task.reason);
        let ending = match to {
            TaskState::Succeeded => Ending::Succeeded,
            TaskState::Failed => Ending::Failed,
            TaskState::Delayed if reason.tells_of_work() => Ending::Failed,
            // Nobody knows how a lost attempt ended; one without anything to do proves nothing.
            _ => Ending::Cancelled,
        };
        let probes = std::mem::take(&mut self.work_mut(key).extra_mut(key.index).probes);
        for (index, epoch) in probes {
            let limit = &mut self.limits[index as usize];
            if let LimitKind::Breaker(breaker) = &mut limit.kind
                && breaker.ended(epoch, now.monotonic, ending)
            {
                let open = !matches!(breaker.state(), BreakerState::Closed { .. });
                let limit = limit.name.clone();
                self.notify(now, decision, || Fact::BreakerChanged { limit, open });
            }
        }
        for place in 0..self.classes[class as usize].needs.len() {
            let (index, units) = self.classes[class as usize].needs[place];
            let limit = &mut self.limits[index as usize];
            if let LimitKind::Units { used, .. } = &mut limit.kind {
                *used -= u64::from(units);
                if let Some(share) = &mut limit.share {
                    share.give_back(units, *used);
                }
            }
            self.wake_limit(index);
        }
    }

    /// Lets the classes that wait for a limit try again.
    pub(super) fn wake_limit(&mut self, index: u32) {
        let mut waiting = std::mem::take(&mut self.limits[index as usize].waiting);
        for class in waiting.drain(..) {
            let entry = &mut self.classes[class as usize];
            if entry.blocked_by == Some(index) {
                entry.blocked_by = None;
                if !entry.lanes.is_empty() {
                    self.open_class(class);
                }
            }
        }
        self.limits[index as usize].waiting = waiting;
    }

    /// Every task of a run, for loops that change tasks as they go.
    pub(super) fn task_keys(&self, run: DefaultKey) -> impl Iterator<Item = TaskKey> + use<> {
        let count = match self.works.get(run) {
            Some(Work::Run(run)) => run.tasks.len() as u32,
            Some(Work::Single(_)) => 1,
            None => 0,
        };
        (0..count).map(move |index| TaskKey { run: RunKey(run), index })
    }
}

impl crate::run::Run {
    /// Whether nothing of the run may start now, whatever room there is elsewhere.
    pub(super) fn is_held(&self) -> bool {
        self.stands_still() || self.active >= self.slots_max
    }

    /// Whether it is paused, or waits for a place in its concurrency group.
    #[inline]
    pub(super) fn stands_still(&self) -> bool {
        self.paused || self.awaits_place
    }

    /// The error of the first task that failed.
    pub(super) fn first_error(&self) -> Option<std::sync::Arc<str>> {
        let has_failed = |index: u32| self.tasks[index as usize].state == TaskState::Failed;
        let failed = self.extras.iter().filter(|(index, _)| has_failed(**index));
        failed.filter_map(|(_, extra)| extra.error.clone()).next()
    }

    /// Whether it waits for its place in its concurrency group and nothing of it was ever started.
    pub(super) fn is_before_its_start(&self) -> bool {
        self.awaits_place && self.tasks.iter().all(|task| task.attempts == 0)
    }
}

/// Whether an entry of a lane still stands for ready work.
#[inline]
pub(super) fn alive(works: &mut SlotMap<DefaultKey, Work>, entry: &Entry) -> Alive {
    match works.get_mut(entry.run) {
        Some(Work::Single(single)) if single.stands_at(entry) => Alive::Yes,
        Some(Work::Run(run)) if !entry.is_single() => {
            let run = &mut **run;
            let set = &mut run.sets[entry.set as usize];
            match set.oldest(&run.tasks) {
                Some((sequence, _)) if sequence == entry.sequence => Alive::Yes,
                Some((sequence, ready_at)) => Alive::Moved(sequence, ready_at),
                None => {
                    set.listed = false;
                    Alive::No
                }
            }
        }
        _ => Alive::No,
    }
}
