//! Filling free slots: which queue, which class, which task, and whether its limits are open.
//!
//! This is the only place where attempts are admitted: first starts, retries, firings alike. Who gives
//! way when there is no room is in `preempt`.

use std::cmp::Reverse;

use super::state::{Alarm, Scheduler};
use super::transition::alive;
use crate::decision::{Action, Decision, Fact, Start};
use crate::id::{RunKey, ScheduleKey, TaskId, TaskKey};
use crate::input::ShutdownMode;
use crate::limit::{LimitKind, Verdict};
use crate::party::NO_PARTY;
use crate::policy::Priority;
use crate::queue::Queue;
use crate::ready::{Choice, Entry};
use crate::run::Work;
use crate::task::{Reason, TaskState};
use crate::time::{Moment, Now};

impl Scheduler {
    /// Starts attempts while there is room and something may start.
    pub(super) fn fill_slots(&mut self, now: Now, decision: &mut Decision) {
        let may_start = self.may_start();
        if !self.fresh.is_empty() {
            let started = may_start && self.start_fresh(now, decision);
            if !started {
                self.enlist_fresh();
            }
        }
        if !may_start {
            return;
        }
        while self.has_free_slot() {
            if self.start_from_favourite(now, decision) {
                continue;
            }
            let Some(queue) = self.next_queue(now.monotonic) else { break };
            self.start_next(queue, now, decision);
        }
        if self.has_preemption {
            self.preempt(now, decision);
        }
    }

    /// Whether anything is started at all.
    pub(super) fn may_start(&self) -> bool {
        !self.paused && self.shutdown != Some(ShutdownMode::Persist)
    }

    /// Starts all tasks that became ready in this step, if nobody else waits and there is room for
    /// all of them: then the order does not matter.
    #[inline]
    fn start_fresh(&mut self, now: Now, decision: &mut Decision) -> bool {
        let count = self.fresh.len() as u32;
        if self.waiting != u64::from(count)
            || self.config.slots.is_some_and(|slots| self.active + count > slots)
            || !self.fresh.iter().all(|key| self.has_room_for(*key, count))
        {
            return false;
        }
        for place in 0..self.fresh.len() {
            let key = self.fresh[place];
            self.transit(key, TaskState::Running, Reason::Ordinary, now, decision);
            self.start_attempt(key, now, decision);
        }
        self.fresh.clear();
        true
    }

    /// Whether `count` tasks like this one could start without asking anybody.
    #[inline]
    fn has_room_for(&self, key: TaskKey, count: u32) -> bool {
        let work = self.work(key);
        let class = &self.classes[work.class(key.index) as usize];
        let queue = &self.queues[class.queue as usize];
        let run_has_room = match work {
            Work::Run(run) => {
                !run.stands_still() && run.slots_max - run.active.min(run.slots_max) >= count
            }
            Work::Single(_) => true,
        };
        run_has_room
            && class.needs.is_empty()
            && !queue.paused
            && queue.spec.rate.is_none()
            && queue.spec.slots.is_none_or(|slots| queue.active + count <= slots)
    }

    #[inline(always)]
    fn enlist_fresh(&mut self) {
        for place in 0..self.fresh.len() {
            self.enlist(self.fresh[place]);
        }
        self.fresh.clear();
    }

    #[inline]
    fn has_free_slot(&self) -> bool {
        self.config.slots.is_none_or(|slots| self.active < slots)
    }

    /// The queue with open classes that has had the least of its share.
    fn next_queue(&mut self, now: Moment) -> Option<u32> {
        let mut best: Option<(u64, u32)> = None;
        for index in 0..self.queues.len() {
            let queue = &self.queues[index];
            if queue.open.is_empty()
                || queue.paused
                || queue.spec.slots.is_some_and(|slots| queue.active >= slots)
            {
                continue;
            }
            if let Some(rate) = queue.spec.rate {
                let earliest = queue.bucket.earliest(rate, now);
                if earliest > now {
                    self.arm_queue(index as u32, earliest);
                    continue;
                }
            }
            let queue = &self.queues[index];
            let start_tag = queue.finish_tag.max(self.virtual_time);
            if best.is_none_or(|(tag, _)| start_tag < tag) {
                best = Some((start_tag, index as u32));
            }
        }
        best.map(|(_, queue)| queue)
    }

    fn arm_queue(&mut self, index: u32, at: Moment) {
        let queue = &mut self.queues[index as usize];
        if queue.timer.is_none() {
            queue.timer = Some(self.timers.insert(at, Alarm::Queue(index)));
        }
    }

    /// Starts a task of the ready set that the last one was taken from, if nothing else waits:
    /// then neither queues nor lanes have a say.
    #[inline]
    fn start_from_favourite(&mut self, now: Now, decision: &mut Decision) -> bool {
        let (run_key, set_index) = self.favourite;
        let Some(Work::Run(run)) = self.works.get_mut(run_key) else { return false };
        let run = &mut **run;
        let Some(set) = run.sets.get_mut(set_index as usize) else { return false };
        if u64::from(set.len()) != self.waiting || set.len() < 2 || !set.listed {
            return false;
        }
        let class = &mut self.classes[set.class as usize];
        let queue = &self.queues[class.queue as usize];
        if !class.needs.is_empty()
            || queue.paused
            || queue.spec.rate.is_some()
            || queue.spec.slots.is_some_and(|slots| queue.active >= slots)
            || run.paused
            || run.awaits_place
            || run.active >= run.slots_max
        {
            return false;
        }
        let index = set.pop(&run.tasks).expect("a set with tasks has a first");
        class.lanes.note_stale(set.priority, set.party);
        let key = TaskKey { run: RunKey(run_key), index };
        self.transit(key, TaskState::Running, Reason::Ordinary, now, decision);
        self.start_attempt(key, now, decision);
        true
    }

    /// Starts the task that goes first in a queue, or closes what stands before it and cannot start.
    fn start_next(&mut self, queue: u32, now: Now, decision: &mut Decision) {
        let Some((class, choice)) = self.best_of(queue, now.monotonic) else { return };
        let entry = self.classes[class as usize].lanes.peek(choice);
        let entry = entry.expect("a lane that was chosen is not empty");
        if !entry.is_single() && self.run(entry.run).is_none_or(|run| run.is_held()) {
            self.unlist(class, choice, entry);
            return;
        }
        let (class, set) = self.first_set(class, choice, entry);
        if !self.classes[class as usize].needs.is_empty()
            && self.is_blocked(class, entry.ready_at, now.monotonic)
        {
            return;
        }
        let index = if entry.is_single() {
            0
        } else {
            let Some(Work::Run(run)) = self.works.get_mut(entry.run) else { return };
            let set = &mut run.sets[set as usize];
            set.pop(&run.tasks).expect("a listed set is not empty")
        };
        let key = TaskKey { run: RunKey(entry.run), index };
        self.transit(key, TaskState::Running, Reason::Ordinary, now, decision);
        self.favourite = (entry.run, set);
        self.note_turn(class, choice);
        if set == entry.set {
            self.leave_lane(class, choice, entry);
        } else {
            self.leave_other_lane(class, choice, entry.party);
        }
        self.start_attempt(key, now, decision);
    }

    /// Where the run whose turn it is has ready tasks in several classes: the class and set of the
    /// task that goes first in the run's own order. Age decides between runs, never within one.
    #[inline]
    fn first_set(&mut self, class: u32, choice: Choice, entry: Entry) -> (u32, u32) {
        let Self { works, classes, .. } = self;
        let Some(Work::Run(run)) = works.get_mut(entry.run) else { return (class, entry.set) };
        if entry.is_single() || run.sets.len() == 1 {
            return (class, entry.set);
        }
        let queue = classes[class as usize].queue;
        let run = &mut **run;
        let mut best = ((u32::MAX, u64::MAX), class, entry.set);
        for (set, number) in run.sets.iter_mut().zip(0..) {
            let other = &classes[set.class as usize];
            let is_eligible =
                set.listed && set.priority == choice.priority && set.party == entry.party;
            if !is_eligible || !other.is_open || other.queue != queue {
                continue;
            }
            if let Some(first) = set.first(&run.tasks) {
                best = best.min((first, set.class, number));
            }
        }
        (best.1, best.2)
    }

    /// A task was taken from a set that need not stand first in its lane.
    fn leave_other_lane(&mut self, class: u32, choice: Choice, party: u32) {
        let Self { works, classes, queues, .. } = self;
        let taken = &mut classes[class as usize];
        taken.lanes.took_from_set(choice, party, |entry| alive(works, entry));
        if taken.lanes.is_empty() {
            taken.is_open = false;
            queues[taken.queue as usize].open.retain(|&other| other != class);
            self.drop_reservations(class);
        }
    }

    /// Takes the ready set of a run that may not start out of its lane.
    pub(super) fn unlist(&mut self, class: u32, choice: Choice, entry: Entry) {
        let Self { works, classes, .. } = self;
        if let Some(Work::Run(run)) = works.get_mut(entry.run) {
            run.sets[entry.set as usize].listed = false;
        }
        classes[class as usize].lanes.unlist_set(choice, entry.party, |entry| alive(works, entry));
        if classes[class as usize].lanes.is_empty() {
            self.drop_reservations(class);
        }
    }

    /// A task was taken: what stood for it in its lane goes, or moves to where it now belongs.
    #[inline(always)]
    fn leave_lane(&mut self, class: u32, choice: Choice, entry: Entry) {
        let goes_on = self.has_free_slot();
        let Self { works, classes, queues, .. } = self;
        let taken = &mut classes[class as usize];
        if entry.is_single() {
            taken.lanes.take_single(choice, entry.party, |entry| alive(works, entry));
        } else {
            // A run that is full now would only be met, and passed over, again.
            let full = match works.get_mut(entry.run) {
                Some(Work::Run(run)) if goes_on && run.is_held() => {
                    run.sets[entry.set as usize].listed = false;
                    true
                }
                _ => false,
            };
            if full {
                taken.lanes.unlist_set(choice, entry.party, |entry| alive(works, entry));
            } else {
                taken.lanes.took_from_set(choice, entry.party, |entry| alive(works, entry));
            }
        }
        if taken.lanes.is_empty() {
            taken.is_open = false;
            queues[taken.queue as usize].open.retain(|&other| other != class);
            self.drop_reservations(class);
        }
    }

    /// The open class of a queue whose first task goes before the others'.
    ///
    /// Aged work ties with critical work and, being older, goes first: but never twice running.
    pub(super) fn best_of(&mut self, queue: u32, now: Moment) -> Option<(u32, Choice)> {
        let best = self.oldest_of_the_most_urgent(queue, now)?;
        if !best.1.has_aged_to_the_top() {
            return Some(best);
        }
        let entry = &self.queues[queue as usize];
        let critical = entry.open.iter().filter_map(|&class| {
            self.classes[class as usize].lanes.choose_critical().map(|choice| (class, choice))
        });
        let critical = critical.min_by_key(|(_, choice)| choice.sequence);
        match critical {
            Some(critical) if entry.owes_critical => Some(critical),
            _ => Some(best),
        }
    }

    /// Remembers whether aged work went before critical work.
    #[inline]
    fn note_turn(&mut self, class: u32, choice: Choice) {
        let queue = self.classes[class as usize].queue as usize;
        if !choice.has_aged_to_the_top() {
            self.queues[queue].owes_critical &= choice.effective < Priority::CRITICAL.value();
            return;
        }
        let mut open = self.queues[queue].open.iter();
        let waits =
            open.any(|&class| self.classes[class as usize].lanes.choose_critical().is_some());
        self.queues[queue].owes_critical = waits;
    }

    fn oldest_of_the_most_urgent(&mut self, queue: u32, now: Moment) -> Option<(u32, Choice)> {
        let Self { works, queues, classes, ageing, .. } = self;
        for &class in &queues[queue as usize].open {
            classes[class as usize].lanes.tidy_stale(|entry| alive(works, entry));
        }
        if let [class] = queues[queue as usize].open[..] {
            let entry = &mut classes[class as usize];
            entry.lanes.refresh_bound(now, ageing);
            let choice = entry.lanes.choose(now, ageing);
            if choice.is_none() {
                entry.is_open = false;
                queues[queue as usize].open.clear();
            }
            return choice.map(|choice| (class, choice));
        }
        let mut best: Option<(u32, Choice, u64)> = None;
        let Queue { open, parties, .. } = &mut queues[queue as usize];
        open.retain(|&class| {
            let entry = &mut classes[class as usize];
            entry.lanes.refresh_bound(now, ageing);
            let Some(choice) = entry.lanes.choose(now, ageing) else {
                entry.is_open = false;
                return false;
            };
            // Among equals the party that has had the least, then the oldest.
            let tag = parties.as_ref().map_or(0, |parties| {
                entry.lanes.first_tag(choice).unwrap_or_else(|| parties.tag(NO_PARTY))
            });
            let better = best.is_none_or(|(_, best, least)| {
                (choice.effective, Reverse(tag), Reverse(choice.sequence))
                    > (best.effective, Reverse(least), Reverse(best.sequence))
            });
            if better {
                best = Some((class, choice, tag));
            }
            true
        });
        best.map(|(class, choice, _)| (class, choice))
    }

    /// Whether a limit of the class is closed; if so the class waits for it.
    pub(super) fn is_blocked(&mut self, class: u32, ready_at: Moment, now: Moment) -> bool {
        for place in 0..self.classes[class as usize].needs.len() {
            let (index, units) = self.classes[class as usize].needs[place];
            match self.limits[index as usize].verdict(class, units, now) {
                Verdict::Open => continue,
                Verdict::Closed => self.reserve_if_starved(index, class, ready_at, now),
                Verdict::ClosedUntil(moment) => self.arm_limit(index, moment),
            }
            let entry = &mut self.classes[class as usize];
            entry.blocked_by = Some(index);
            entry.is_open = false;
            let queue = entry.queue;
            self.limits[index as usize].waiting.push(class);
            self.queues[queue as usize].open.retain(|&other| other != class);
            return true;
        }
        false
    }

    /// A wide task that smaller ones keep overtaking gets the units that become free.
    fn reserve_if_starved(&mut self, index: u32, class: u32, ready_at: Moment, now: Moment) {
        let Some(timeout) = self.config.starvation_timeout else { return };
        let limit = &mut self.limits[index as usize];
        if matches!(limit.kind, LimitKind::Units { .. })
            && limit.reserved_for.is_none()
            && self.reserving.is_none_or(|holder| holder == class)
            && now.since(ready_at) >= timeout
        {
            limit.reserved_for = Some(class);
            self.reserving = Some(class);
        }
    }

    pub(super) fn arm_limit(&mut self, index: u32, at: Moment) {
        let limit = &mut self.limits[index as usize];
        if let Some(timer) = limit.timer {
            if self.timers.due(timer).is_some_and(|due| due <= at) {
                return;
            }
            self.timers.cancel(timer);
        }
        self.limits[index as usize].timer = Some(self.timers.insert(at, Alarm::Limit(index)));
    }

    fn start_attempt(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let work = self.work(key);
        let timeout = self.profiles[work.profile(key.index).0 as usize].spec.attempt_timeout;
        let id = TaskId { run: work.id(), index: key.index };
        let attempt = work.task(key.index).map_or(0, |task| task.attempts);
        let schedule = match work {
            Work::Single(single) => single.schedule.map(ScheduleKey),
            Work::Run(_) => None,
        };
        decision.act(Action::StartAttempt(Start { task: key, id, attempt, schedule, timeout }));
        self.notify(now, decision, || Fact::AttemptStarted(id, attempt));
    }
}
