//! Why a task is not running: the facts behind every rule that holds it.
//!
//! Deciding never uses it. It is asked under the lock, so it looks at so many tasks at the most (`waiting`).

use std::time::Duration;

use super::state::Scheduler;
use super::waiting::{Ahead, Holders, Looks};
use crate::explain::{Explanation, Hold, Place};
use crate::id::TaskKey;
use crate::limit::{LimitKind, Verdict};
use crate::policy::Priority;
use crate::run::Work;
use crate::task::{Reason, Task, TaskState};
use crate::time::{Moment, Now};

/// How many names an explanation lists.
pub(super) const NAMES_MAX: usize = 5;

impl Scheduler {
    /// Why a task is not running, or that it is.
    #[must_use]
    pub fn explain(&self, key: TaskKey, now: Now) -> Option<Explanation> {
        self.explain_within(key, now, &mut Looks::new(), &mut Holders::default())
    }

    /// The same of many tasks. The more of them are ready, the less is looked at for each.
    #[must_use]
    pub fn explain_all(
        &self,
        keys: impl Iterator<Item = TaskKey>,
        now: Now,
    ) -> Vec<(TaskKey, Explanation)> {
        let (mut looks, mut holders) = (Looks::together(), Holders::default());
        let mut explain =
            |key| looks.share(|looks| self.explain_within(key, now, looks, &mut holders));
        keys.filter_map(|key| Some((key, explain(key)?))).collect()
    }

    fn explain_within(
        &self,
        key: TaskKey,
        now: Now,
        looks: &mut Looks,
        holders: &mut Holders,
    ) -> Option<Explanation> {
        let work = self.works.get(key.run.0)?;
        let task = work.task(key.index)?;
        let now = now.monotonic;
        let mut holds = Vec::new();
        match task.state {
            state if state.is_terminal() => holds.push(Hold::Ended),
            TaskState::Running | TaskState::Cancelling => holds.push(Hold::Running {
                attempt: task.attempts,
                elapsed: now.since(task.started_at),
            }),
            TaskState::Blocked => holds.push(self.unmet_dependencies(key)),
            TaskState::Delayed => holds.push(self.delay_hold(key, now)),
            _ => {
                let ahead = self.ahead_of(key, now, looks);
                return self.explain_ready(key, now, ahead, holders);
            }
        }
        Some(Explanation {
            task: self.task_id(key),
            name: self.task_name(key)?,
            state: task.state,
            reason: task.reason,
            holds,
            place: None,
        })
    }

    /// Why a task that has all it needs is not running, if so many go before it.
    pub(super) fn explain_ready(
        &self,
        key: TaskKey,
        now: Moment,
        ahead: Ahead,
        holders: &mut Holders,
    ) -> Option<Explanation> {
        let task = self.member(key)?;
        let holds = self.ready_holds(key, now, ahead, holders);
        Some(Explanation {
            task: self.task_id(key),
            name: self.task_name(key)?,
            state: task.state,
            reason: task.reason,
            holds,
            place: Some(self.place(key, task, ahead, now)),
        })
    }

    /// What a task that waits for others waits for.
    fn unmet_dependencies(&self, key: TaskKey) -> Hold {
        let Some(run) = self.run(key.run.0) else {
            return Hold::Dependencies { waiting_for: Vec::new(), count: 0 };
        };
        let mut unmet = run.dependencies(key.index);
        if let Some(levels) = &run.levels {
            unmet.retain(|from| levels.is_open_bond(*from, key.index));
            unmet.extend(levels.implied(key.index));
            unmet.sort_unstable();
            unmet.dedup();
        }
        unmet.retain(|&index| !run.tasks[index as usize].state.is_terminal());
        if unmet.is_empty()
            && let Some(hold) = self.place_hold(key)
        {
            return hold;
        }
        if unmet.is_empty()
            && let Some(levels) = &run.levels
            && let Some(end) = levels.all[levels.of(key.index) as usize].end
        {
            // Nothing of its own holds it: its group does.
            return self.unmet_dependencies(TaskKey { run: key.run, index: end });
        }
        let named = unmet.iter().take(NAMES_MAX);
        Hold::Dependencies {
            waiting_for: named
                .map(|&index| (run.name(index), run.tasks[index as usize].state))
                .collect(),
            count: unmet.len() as u32,
        }
    }

    /// Whether a task waits for a place of its group, and who has them.
    fn place_hold(&self, key: TaskKey) -> Option<Hold> {
        let run = self.run(key.run.0)?;
        let levels = run.levels.as_deref().filter(|levels| levels.lacks_place(key.index))?;
        let level = &levels.all[levels.of(key.index) as usize];
        let (end, places) = level.end.zip(level.places.as_ref()).filter(|_| level.is_open)?;
        let holders = places.taken.iter().take(NAMES_MAX).map(|&index| run.name(index)).collect();
        Some(Hold::PlacesTaken { group: run.name(end), max: places.max, holders })
    }

    fn delay_hold(&self, key: TaskKey, now: Moment) -> Hold {
        let work = self.work(key);
        let until = work.extra(key.index).and_then(|extra| extra.until).unwrap_or(now);
        let task = work.task(key.index);
        let (attempts, reason) = task.map_or((0, Reason::Ordinary), |t| (t.attempts, t.reason));
        let left = until.since(now);
        match reason {
            Reason::Postponed => Hold::Postponed { left },
            _ if attempts == 0 => Hold::StartDelay { left },
            _ => Hold::RetryDelay { left, attempt: attempts + 1 },
        }
    }

    fn ready_holds(
        &self,
        key: TaskKey,
        now: Moment,
        ahead: Ahead,
        holders: &mut Holders,
    ) -> Vec<Hold> {
        let mut holds = Vec::new();
        if self.shutdown.is_some() {
            holds.push(Hold::ShuttingDown);
        }
        if self.paused {
            holds.push(Hold::SchedulerPaused);
        }
        let work = self.work(key);
        let class_index = work.class(key.index);
        let class = &self.classes[class_index as usize];
        self.queue_holds(class.queue, now, &mut holds);
        if let Work::Run(run) = work {
            if run.paused {
                holds.push(Hold::RunPaused);
            }
            if let Some(group) = run.spec.options.group.as_ref().filter(|_| run.awaits_place) {
                let holders = run.place_holders.clone();
                holds.push(Hold::GroupTaken { group: group.name.clone(), holders });
            }
            if run.active >= run.slots_max {
                let slots = run.slots_max;
                holds.push(Hold::RunSlotsTaken { active: run.active, slots });
            }
        }
        if work.task(key.index).is_some_and(|task| task.held_by_key)
            && let Some(name) = work.extra(key.index).and_then(|extra| extra.key.clone())
        {
            holds.push(Hold::KeyTaken { key: name });
        }
        for &(limit, units) in &class.needs {
            holds.extend(self.limit_hold(limit, class_index, units, now, holders));
        }
        if let Some(slots) = self.config.slots.filter(|&slots| self.active >= slots) {
            holds.push(Hold::SchedulerFull { active: self.active, slots });
        }
        if ahead.count > 0 {
            holds.push(Hold::Order { ahead: ahead.count, is_least: ahead.is_least });
        }
        holds
    }

    fn queue_holds(&self, index: u32, now: Moment, holds: &mut Vec<Hold>) {
        let queue = &self.queues[index as usize];
        let name = &queue.name;
        if queue.paused {
            holds.push(Hold::QueuePaused { queue: name.clone() });
        }
        if let Some(slots) = queue.spec.slots.filter(|&slots| queue.active >= slots) {
            let active = queue.active;
            holds.push(Hold::QueueSlotsTaken { queue: name.clone(), active, slots });
        }
        if let Some(rate) = queue.spec.rate {
            let left = queue.bucket.earliest(rate, now).since(now);
            if !left.is_zero() {
                holds.push(Hold::QueueRate { queue: name.clone(), left });
            }
        }
    }

    fn limit_hold(
        &self,
        index: u32,
        class: u32,
        units: u32,
        now: Moment,
        holders: &mut Holders,
    ) -> Option<Hold> {
        let limit = &self.limits[index as usize];
        let name = limit.name.clone();
        let left = match limit.verdict(class, units, now) {
            Verdict::Open => return None,
            Verdict::Closed => None,
            Verdict::ClosedUntil(moment) => Some(moment.since(now)),
        };
        let most = |max: u32| limit.share.as_ref().map_or(max, |share| share.held);
        Some(match (&limit.kind, &limit.share) {
            (LimitKind::Units { used, max }, _)
                if used + u64::from(units) <= u64::from(most(*max)) =>
            {
                Hold::LimitReserved { limit: name }
            }
            (LimitKind::Units { max, .. }, Some(share)) => {
                let mut holders = holders.of(self, index);
                holders.extend(share.holders.iter().take(NAMES_MAX).cloned());
                Hold::SharedLimitTaken { limit: name, wanted: units, max: *max, holders }
            }
            (LimitKind::Units { used, max }, None) => Hold::LimitTaken {
                limit: name,
                wanted: units,
                used: *used,
                max: *max,
                holders: holders.of(self, index),
            },
            (LimitKind::Rate { .. }, _) => {
                Hold::LimitRate { limit: name, left: left.unwrap_or(Duration::ZERO) }
            }
            (LimitKind::Breaker(_), _) => Hold::BreakerOpen { limit: name, left },
        })
    }

    fn place(&self, key: TaskKey, task: &Task, ahead: Ahead, now: Moment) -> Place {
        let class = &self.classes[self.work(key).class(key.index) as usize];
        let queue = &self.queues[class.queue as usize];
        let waited = now.since(task.ready_at);
        let priority = Priority::new(i64::from(task.priority));
        Place {
            queue: queue.name.clone(),
            priority: task.priority,
            effective: self.ageing.effective(priority, waited),
            waited,
            unpassed_in: self.ageing.top_in(priority, waited),
            ahead: ahead.count,
            fair_by: self.fair_by(key),
        }
    }
}
