//! The ledger: what was started, written by the executor, and every rule a start must keep.
//!
//! It reads stored rows and what callers were promised, never the scheduler's memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidewheel_core::decision::Start;
use tidewheel_core::id::{AttemptId, RunId, TaskId};
use tidewheel_core::policy::{OnError, OnSkip};
use tidewheel_core::row::TaskRow;
use tidewheel_core::spec::{DEFAULT_QUEUE, Definition, LimitSpec, Profile, QueueSpec};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Moment;

use crate::beside::is_of_guest;
use crate::coverage::Coverage;
use crate::executor::Executor;
use crate::extremes::VAST;
use crate::grouping::{
    at_once_of, chain, condition_of, defaults, group_of, holds, implied, is_judged, is_spared,
    opener_of, under_way,
};
use crate::store::{KeptRun, Rows};
use crate::workload::{UNIT_LIMITS, UNITS};

/// A rule that was broken.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The rule, by a short name.
    pub rule: &'static str,
    /// What happened.
    pub text: String,
}

/// What callers were told and may rely on.
#[derive(Debug, Default)]
pub struct Promises {
    /// The scheduler is paused.
    pub paused: bool,
    /// Runs that are paused.
    pub paused_runs: BTreeSet<RunId>,
    /// Queues that are paused.
    pub paused_queues: BTreeSet<Arc<str>>,
    /// Runs and single submissions that were cancelled.
    pub cancelled: BTreeSet<RunId>,
    /// Those of them of which nothing may start, clean-up neither.
    pub ended: BTreeSet<RunId>,
    /// Tasks that were cancelled or removed.
    pub cancelled_tasks: BTreeSet<TaskId>,
    /// Tasks that were removed; also when the answer never came.
    pub removed: BTreeSet<TaskId>,
    /// Removed tasks whose dependents go on; also when the answer never came.
    pub released: BTreeSet<TaskId>,
    /// The most attempts that may run.
    pub slots: Option<u32>,
    /// The most of a run, where that was changed.
    pub run_slots: BTreeMap<RunId, Option<u32>>,
    /// Settings of queues.
    pub queues: BTreeMap<Arc<str>, QueueSpec>,
    /// Nothing waiting is started any more.
    pub stopped: bool,
}

impl Promises {
    /// The most attempts of a run that may run.
    pub fn slots_of(&self, run: RunId, rows: &Rows) -> Option<u32> {
        match self.run_slots.get(&run) {
            Some(changed) => *changed,
            None => rows.runs.get(&run).and_then(|run| run.row.spec.options.slots),
        }
    }

    /// What was promised for the work of another scheduler holds here; how its queues stood does not.
    pub fn inherit(&mut self, other: Self) {
        self.paused_runs.extend(other.paused_runs);
        self.cancelled.extend(other.cancelled);
        self.ended.extend(other.ended);
        self.cancelled_tasks.extend(other.cancelled_tasks);
        self.removed.extend(other.removed);
        self.released.extend(other.released);
        for (name, spec) in other.queues.into_iter().filter(|(name, _)| **name != *DEFAULT_QUEUE) {
            self.queues.entry(name).or_insert(spec);
        }
    }

    /// Nothing is paused any more.
    pub fn resume_all(&mut self) {
        self.paused = false;
        self.paused_runs.clear();
        self.paused_queues.clear();
    }
}

/// Starts, by attempt.
#[derive(Debug, Default)]
pub struct Ledger {
    starts: BTreeMap<AttemptId, u32>,
    newest: BTreeMap<TaskId, u32>,
    /// Attempts that did nothing because it was not time yet.
    postponed: BTreeSet<AttemptId>,
    /// Until when tasks asked to wait, and which scheduler.
    waits: BTreeMap<TaskId, (Moment, u32)>,
}

/// How a task is treated, as stored.
#[derive(Debug, Clone)]
pub struct Treatment {
    /// Its profile.
    pub profile: Arc<Profile>,
    /// Its queue.
    pub queue: Arc<str>,
    /// Its key.
    pub key: Option<Arc<str>>,
}

/// Looks up how a task is treated.
#[must_use]
pub fn treatment(rows: &Rows, id: TaskId) -> Option<Treatment> {
    if let Some(run) = rows.runs.get(&id.run) {
        let profile = profile_in(run, id.index)?;
        let queue = profile.queue.clone().unwrap_or_else(|| run.row.spec.options.queue.clone());
        let key = match run.added.get(&id.index) {
            Some(added) => added.key.clone(),
            None => run.row.spec.keys.get(&id.index).cloned(),
        };
        return Some(Treatment { profile, queue, key });
    }
    let kept = rows.submissions.get(&id.run)?;
    let profile = kept.row.profile.clone();
    let queue = profile.queue.clone().unwrap_or_else(|| DEFAULT_QUEUE.into());
    Some(Treatment { profile, queue, key: kept.row.key.clone() })
}

/// The profile of a task of a run.
#[must_use]
pub fn profile_in(run: &KeptRun, index: u32) -> Option<Arc<Profile>> {
    if let Some(added) = run.added.get(&index) {
        return Some(added.profile.clone());
    }
    let spec = &run.row.spec;
    let place = spec.profile_of.get(index as usize).copied().unwrap_or(0);
    spec.profiles.get(usize::from(place)).cloned()
}

/// What a task of a run waits for.
#[must_use]
pub fn dependencies(run: &KeptRun, index: u32) -> Vec<u32> {
    let mut dependencies = match run.added.get(&index) {
        Some(added) => added.after.clone(),
        None => run.row.spec.graph.dependencies(index),
    };
    let put_before = run.added.iter().filter(|(_, added)| added.before.contains(&index));
    dependencies.extend(put_before.map(|(added, _)| *added));
    dependencies
}

/// Whether a task was skipped by a condition, its own or that of what it needs.
#[must_use]
pub fn is_declined(row: &TaskRow) -> bool {
    row.state == TaskState::Skipped
        && matches!(row.reason, Reason::Condition | Reason::DependencyDeclined(_))
}

/// Whether a dependent goes on after a task that was skipped by a condition, by the book.
#[must_use]
pub fn goes_on_after_skip(skipped: &Profile, dependent: &Profile, default: OnSkip) -> bool {
    let word = match (dependent.on_skip, skipped.on_skip) {
        (Some(word), _) | (None, Some(word)) => word,
        (None, None) => default,
    };
    word == OnSkip::Continue
}

/// The word between a failed task and one that waits for it, by the book.
#[must_use]
pub fn word_between(failed: &Profile, dependent: &Profile, default: OnError) -> OnError {
    if let Some(word) = dependent.on_dependency_error {
        return word;
    }
    if let Some(word) = dependent.on_error {
        return word;
    }
    failed.on_error.unwrap_or(default)
}

impl Ledger {
    /// How many attempts of a task were started.
    #[must_use]
    pub fn attempts_of(&self, task: TaskId) -> usize {
        let least = AttemptId { task, number: 0 };
        let most = AttemptId { task, number: u32::MAX };
        self.starts.range(least..=most).count()
    }

    /// An attempt reported to this scheduler that it is not time before `until`.
    pub fn postpone(&mut self, id: AttemptId, until: Moment, incarnation: u32) {
        self.postponed.insert(id);
        self.waits.insert(id.task, (until, incarnation));
    }

    /// What another scheduler has started counts as well.
    pub fn inherit(&mut self, other: Self) {
        self.starts.extend(other.starts);
        self.newest.extend(other.newest);
        self.postponed.extend(other.postponed);
    }

    /// How many attempts were started in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether nothing was started.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Enters a start and checks every rule it must keep. The executor has not seen it yet.
    pub fn start(
        &mut self,
        start: Start,
        (incarnation, now): (u32, Moment),
        promises: &Promises,
        rows: &Rows,
        executor: &Executor,
        (violations, coverage): (&mut Vec<Violation>, &mut Coverage),
    ) {
        let mut broken = |rule: &'static str, text: String| {
            violations.push(Violation { rule, text: format!("{:?}: {text}", start.id) });
        };
        let id = AttemptId { task: start.id, number: start.attempt };
        if self.starts.insert(id, incarnation).is_some() {
            broken("started twice", format!("attempt {} was started before", start.attempt));
        }
        if self.newest.insert(start.id, start.attempt).is_some_and(|old| old >= start.attempt) {
            broken("attempt numbers grow", format!("attempt {}", start.attempt));
        }
        if let Some(other) = executor.of_task(start.id).next() {
            broken("one attempt at a time", format!("attempt {} still runs", other.number));
        }
        match rows.task(start.id) {
            Some(row) if row.state.holds_slot() && row.attempts == start.attempt => {}
            other => broken("started as stored", format!("the row is {other:?}")),
        }
        let Some(treatment) = treatment(rows, start.id) else {
            broken("started as stored", "nothing is stored about it".into());
            return;
        };
        // An attempt that did nothing may be followed by another.
        let idle = self.postponed.iter().filter(|id| id.task == start.id).count();
        if treatment.profile.at_most_once && self.attempts_of(start.id) > 1 + idle {
            broken("at most once", format!("attempt {}", start.attempt));
        }
        if let Some((until, of)) = self.waits.remove(&start.id)
            && of == incarnation
            && now < until
        {
            broken("not before it is time", format!("{:?} too early", until.since(now)));
        }
        if let Some(row) = rows.task(start.id)
            && row.attempts.saturating_sub(row.uncounted)
                > treatment.profile.retry.retries.saturating_add(1)
        {
            broken("no more than the retries", format!("attempt {}", start.attempt));
        }
        if let Some(run) = rows.runs.get(&start.id.run) {
            check_dependencies(run, start.id, promises, &mut broken);
            if run.added.values().any(|added| added.before.contains(&start.id.index)) {
                coverage.hit("added: a dependent waited for what was put before it");
            }
        }
        // A run that was stopped, by whatever, goes on with its clean-up even if it was paused.
        let change = rows.runs.get(&start.id.run).and_then(|run| run.change);
        let is_stopped = change.is_some_and(|change| change.stopped.is_some());
        let run = rows.runs.get(&start.id.run);
        let is_spared = match run {
            Some(run) => is_spared(run, start.id.index),
            None => treatment.profile.always,
        };
        let standing = (is_stopped, is_spared);
        check_promises(start.id, &treatment, promises, standing, &mut broken);
        check_limits(start.id, &treatment, promises, rows, executor, &mut broken);
        let mut limits = treatment.profile.limits.iter();
        if limits.any(|(name, units)| **name == *VAST && *units > u32::MAX / 2) {
            coverage.hit("extreme: units");
        }
        check_key(start.id, &treatment, rows, executor, coverage, &mut broken);
    }
}

fn check_dependencies(
    run: &KeptRun,
    id: TaskId,
    promises: &Promises,
    broken: &mut impl FnMut(&'static str, String),
) {
    let has_ended = |index: &u32| run.tasks.get(index).is_some_and(|row| row.state.is_terminal());
    if let Some(index) = implied(run, id.index).iter().find(|index| !has_ended(index)) {
        broken("after its group", format!("task {index} has not ended"));
    }
    // What the end of a group needs, all of it waits for.
    for index in chain(run, id.index) {
        check_needs(run, TaskId { run: id.run, index }, promises, broken);
        let opener = group_of(run, index).and_then(|end| opener_of(run, end));
        if let Some(opener) = opener.filter(|opener| *opener != index) {
            let is_released = promises.released.contains(&TaskId { run: id.run, index: opener });
            let state = run.tasks.get(&opener).map(|row| row.state);
            if state != Some(TaskState::Succeeded) && !(is_released && has_ended(&opener)) {
                broken("after its opener", format!("task {opener} is {state:?}"));
            }
        }
        if condition_of(run, index).is_some_and(|condition| !holds(run, condition)) {
            broken("its condition holds", format!("that of task {index}"));
        }
        if let Some(at_once) = at_once_of(run, index) {
            let under_way = under_way(run, index);
            if under_way.len() > at_once as usize {
                broken("so many of a group at once", format!("of {index}: {under_way:?}"));
            }
        }
    }
}

fn check_needs(
    run: &KeptRun,
    id: TaskId,
    promises: &Promises,
    broken: &mut impl FnMut(&'static str, String),
) {
    let Some(own) = profile_in(run, id.index) else { return };
    let (on_error, on_skip) = defaults(run, id.index);
    for index in dependencies(run, id.index) {
        if !is_judged(run, index, id.index) {
            continue;
        }
        let row = run.tasks.get(&index);
        let Some(row) = row.filter(|row| row.state.is_terminal()) else {
            let state = row.map(|row| row.state);
            broken("after its dependencies", format!("task {index} is {state:?}"));
            continue;
        };
        let state = row.state;
        let released = promises.released.contains(&TaskId { run: id.run, index });
        if state == TaskState::Succeeded || own.always || released {
            continue;
        }
        let failed = matches!(state, TaskState::Failed | TaskState::Unknown);
        let Some(profile) = profile_in(run, index) else { continue };
        if is_declined(row) {
            if !goes_on_after_skip(&profile, &own, on_skip) {
                broken("not after a skip", format!("task {index} is {state}"));
            }
            continue;
        }
        let word = word_between(&profile, &own, on_error);
        if !failed || word != OnError::Continue {
            broken("not after a failure", format!("task {index} is {state}, the word {word}"));
        }
    }
}

fn check_promises(
    id: TaskId,
    treatment: &Treatment,
    promises: &Promises,
    (is_stopped, is_spared): (bool, bool),
    broken: &mut impl FnMut(&'static str, String),
) {
    if promises.paused {
        broken("nothing starts while paused", "the scheduler".into());
    }
    if promises.paused_runs.contains(&id.run) && !is_stopped {
        broken("nothing starts while its run is paused", String::new());
    }
    if promises.paused_queues.contains(&treatment.queue) {
        broken("nothing starts while its queue is paused", treatment.queue.to_string());
    }
    if promises.cancelled.contains(&id.run) && !is_spared {
        broken("nothing starts after a cancel", "the run".into());
    }
    if promises.ended.contains(&id.run) {
        broken("nothing starts after an end", "the run".into());
    }
    if promises.cancelled_tasks.contains(&id) {
        broken("nothing starts after a cancel", "the task".into());
    }
    if promises.stopped && !is_spared {
        broken("nothing starts after a shutdown", String::new());
    }
}

fn check_limits(
    id: TaskId,
    treatment: &Treatment,
    promises: &Promises,
    rows: &Rows,
    executor: &Executor,
    broken: &mut impl FnMut(&'static str, String),
) {
    let (mut all, mut in_queue, mut in_run) = (1, 1, 1);
    let mut units: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in &treatment.profile.limits {
        *units.entry(name).or_default() += u64::from(*count);
    }
    let others: Vec<(RunId, Treatment)> = executor
        .running
        .keys()
        .filter_map(|other| Some((other.task.run, self::treatment(rows, other.task)?)))
        .collect();
    for (run, other) in &others {
        all += 1;
        in_queue += u32::from(other.queue == treatment.queue);
        in_run += u32::from(*run == id.run);
        for (name, count) in &other.profile.limits {
            *units.entry(name).or_default() += u64::from(*count);
        }
    }
    if promises.slots.is_some_and(|slots| all > slots) {
        broken("slots of the scheduler", format!("{all} of {:?}", promises.slots));
    }
    // Whoever uses what runs brought along has brought the same, or found it there.
    let defines = rows.runs.get(&id.run).map_or(&[][..], |run| &run.row.spec.defines);
    let brought_queue = defines.iter().find_map(|it| match it {
        Definition::Queue { name, spec } if *name == treatment.queue => Some(spec),
        _ => None,
    });
    let queue = promises.queues.get(&treatment.queue).or(brought_queue);
    let queue_slots = queue.and_then(|queue| queue.slots);
    if queue_slots.is_some_and(|slots| in_queue > slots) {
        broken("slots of the queue", format!("{in_queue} of {queue_slots:?}"));
    }
    let run_slots = promises.slots_of(id.run, rows);
    if run_slots.is_some_and(|slots| in_run > slots) {
        broken("slots of the run", format!("{in_run} of {run_slots:?}"));
    }
    for (name, count) in &treatment.profile.limits {
        let used = units.get(&**name).copied().unwrap_or(0);
        let most = match &**name {
            VAST => u32::MAX,
            name if UNIT_LIMITS.contains(&name) => UNITS,
            name => match brought_units(defines, name) {
                Some(units) => units,
                None => continue,
            },
        };
        if used > u64::from(most) {
            broken("units of a limit", format!("{used} of `{name}`, {count} for this one"));
        }
    }
}

fn brought_units(defines: &[Definition], limit: &str) -> Option<u32> {
    defines.iter().find_map(|it| match it {
        Definition::Limit { name, spec: LimitSpec::Units(units) } if **name == *limit => {
            Some(*units)
        }
        _ => None,
    })
}

fn check_key(
    id: TaskId,
    treatment: &Treatment,
    rows: &Rows,
    executor: &Executor,
    coverage: &mut Coverage,
    broken: &mut impl FnMut(&'static str, String),
) {
    let Some(key) = &treatment.key else { return };
    let same =
        |other: &Treatment| other.key.as_ref() == Some(key) && other.queue == treatment.queue;
    for other in executor.running.keys() {
        if self::treatment(rows, other.task).is_some_and(|other| same(&other)) {
            broken("one of a key at a time", format!("{key}: {:?} runs", other.task));
        }
    }
    let Some(own) = rows.submissions.get(&id.run) else { return };
    for (run, kept) in &rows.submissions {
        let ended = kept.task.as_ref().is_some_and(|row| row.state.is_terminal());
        let other = TaskId { run: *run, index: 0 };
        let delayed =
            !kept.row.profile.start_delay.is_zero() || !own.row.profile.start_delay.is_zero();
        if kept.order >= own.order
            || ended
            || rows.unread.contains(run)
            || delayed
            || !self::treatment(rows, other).is_some_and(|other| same(&other))
        {
            continue;
        }
        // Whoever finds that it is not time yet lets the others of its key go first.
        if kept.task.as_ref().is_some_and(|row| row.reason == Reason::Postponed) {
            coverage.hit("key: given back by a postponed task");
        } else if is_of_guest(id.run) && own.task.as_ref().is_some_and(|row| row.attempts > 1) {
            // It had its key where it began, and keeps it when its work is taken in.
            coverage.hit("key: kept by work that was taken in");
        } else {
            broken("tasks of a key in order", format!("{key}: {run} came before"));
        }
    }
}
