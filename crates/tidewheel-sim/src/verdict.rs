//! The end of a world: everything is healed, and then all that was accepted must come to an end.
//!
//! What must hold at every single start is in [`crate::ledger`].

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::input::{Command, Event, Input, ShutdownMode};
use tidewheel_core::policy::OnError;
use tidewheel_core::row::{Fate, RunResult, TaskRow};
use tidewheel_core::schedule::{Origin, Trigger};
use tidewheel_core::spec::Profile;
use tidewheel_core::task::{Reason, TaskState};

use crate::client::Asked;
use crate::grouping::{
    chain, condition_of, counts_as_failed, defaults, group_of, has_failed, is_judged, judged_in,
    opener_of,
};
use crate::ledger::{
    Promises, dependencies, goes_on_after_skip, is_declined, profile_in, word_between,
};
use crate::store::{KeptRun, Rows};
use crate::world::World;

/// Simulated time after the last fault in which everything must have come to an end.
const CALM: Duration = Duration::from_secs(1_800);
/// Turns in that time.
const TURNS_MAX: u32 = 20_000;

impl World {
    /// Ends all faults, lets everything go on, and waits until it is quiet.
    pub(crate) fn heal(&mut self) {
        self.faults = false;
        self.executor.healed = true;
        self.store.set_fault(None);
        self.flush();
        self.trace.add(format_args!("healed"));
        if self.shutting_down {
            self.crash("restart after a shutdown");
        }
        self.promises.resume_all();
        self.command(Command::Resume);
        for name in crate::workload::QUEUES {
            self.command(Command::ResumeQueue(name.into()));
        }
        let works: Vec<_> = match &self.engine {
            Some(engine) => engine.scheduler().works().collect(),
            None => Vec::new(),
        };
        for (run, id) in works {
            if self.store.rows().runs.contains_key(&id) {
                self.command(Command::ResumeRun(run));
                self.command(Command::CloseRun(run));
            }
        }
        self.calm_down();
        self.check_schedules();
        self.command_shut_down();
        self.calm_down();
        if !self.shut_down {
            self.violate("a shutdown completes", self.left_over());
        }
    }

    fn command_shut_down(&mut self) {
        let command = Command::ShutDown { mode: ShutdownMode::Drain, grace: None };
        self.turn(vec![Input::Command(command)], vec![Asked::ShutDown(ShutdownMode::Drain)]);
        self.turn(vec![Input::Event(Event::TimePassed)], Vec::new());
    }

    fn calm_down(&mut self) {
        let end = self.now.monotonic.after(CALM);
        self.executor.find_lost(self.now.monotonic);
        for _ in 0..TURNS_MAX {
            if !self.violations.is_empty() || self.now.monotonic >= end || self.is_quiet() {
                return;
            }
            self.let_time_pass();
        }
    }

    /// Whether no work but that of future firings is left.
    fn is_quiet(&self) -> bool {
        let rows = self.store.rows();
        let mut runs = rows.runs.values().filter(|run| run.row.firing.is_none());
        let runs = runs.all(|run| run.change.is_some_and(|change| change.result.is_some()));
        let singles = rows.submissions.values().filter(|kept| kept.row.firing.is_none());
        runs && singles.into_iter().all(|kept| ended(kept.task.as_ref()))
            && (!self.shutting_down || self.shut_down)
    }

    fn left_over(&self) -> String {
        let rows = self.store.rows();
        let runs = rows.runs.values().filter(|run| run.change.is_none_or(|c| c.result.is_none()));
        let singles = rows.submissions.values().filter(|kept| !ended(kept.task.as_ref()));
        let runs: Vec<String> = runs
            .map(|run| {
                let open: Vec<String> = (0..run.task_count())
                    .filter(|index| !ended(run.tasks.get(index)))
                    .map(|index| match run.tasks.get(&index) {
                        Some(row) => format!("{index} {} ({})", row.state, row.reason),
                        None => format!("{index} new"),
                    })
                    .collect();
                format!("run {:?}: {}", run.row.id.0, open.join(", "))
            })
            .collect();
        let singles: Vec<String> = singles
            .map(|kept| {
                format!("single {}: {:?}", kept.row.id, kept.task.as_ref().map(|t| t.state))
            })
            .collect();
        let mut text = format!("left over: {} {}", runs.join("; "), singles.join("; "));
        if let Some(engine) = &self.engine {
            for (run, id) in engine.scheduler().works().take(20) {
                for index in 0..rows.runs.get(&id).map_or(1, KeptRun::task_count) {
                    let key = tidewheel_core::TaskKey { run, index };
                    if let Some(explanation) = engine.scheduler().explain(key, self.now)
                        && !explanation.state.is_terminal()
                    {
                        text = format!("{text}\n  {explanation}");
                    }
                }
            }
        }
        text
    }

    /// Every live schedule must know its next instant, and that must not be long past.
    fn check_schedules(&mut self) {
        let Some(engine) = &self.engine else { return };
        let scheduler = engine.scheduler();
        let rows = self.store.rows();
        let mut late = Vec::new();
        // Its last instant may wait for a backoff; that it waits is nothing that must be stored.
        let has_queued = |key| scheduler.schedule_counters(key).is_some_and(|it| it.queued > 0);
        for (key, id) in scheduler.schedules() {
            let Some((row, _)) = rows.schedules.get(&id) else { continue };
            let waits_for_work = row.state.outstanding > 0;
            if row.state.paused || waits_for_work || row.spec.trigger == Trigger::Custom {
                continue;
            }
            let slack = Duration::from_secs(2) + row.spec.jitter;
            match scheduler.schedule_next(key) {
                Some(next) if next.after(slack) < self.now.wall && is_wall(&row.spec.trigger) => {
                    late.push(format!("{id} is late: {next}"));
                }
                None if row.state.end.is_none() && !has_queued(key) => {
                    late.push(format!("{id} has no next instant"));
                }
                _ => {}
            }
        }
        drop(rows);
        for text in late {
            self.violate("schedules are current", text);
        }
    }

    /// What must hold when all is over.
    pub(crate) fn judge(&mut self) -> Option<String> {
        let rows = self.store.rows();
        for ((from, to), count) in &rows.transitions {
            let from = from.map_or("new", TaskState::word);
            self.coverage.add(&format!("task: {from} -> {to}"), *count);
        }
        self.coverage.add("store: the same change set again", rows.repeated);
        self.coverage.add("schedule: another trigger", rows.changes_of_triggers());
        drop(rows);
        let mut broken = Vec::new();
        {
            let rows = self.store.rows();
            for id in &self.acknowledged {
                if !is_over(&rows, *id) {
                    broken.push(format!("{id} was accepted and has not ended"));
                }
            }
            for run in rows.runs.values() {
                judge_run(run, &self.promises, &mut broken);
                judge_expansions(run, &mut broken);
            }
            judge_wishes(&rows, &mut broken);
            judge_firings(&rows, &self.updated, self.wall_jumped, &mut broken);
        }
        if let Some(first) = broken.first() {
            let text = format!("{first}\n{}", self.left_over());
            self.violate("the end is right", text);
        }
        self.broken()
    }
}

fn is_wall(trigger: &Trigger) -> bool {
    matches!(trigger, Trigger::Calendar { .. })
}

fn ended(row: Option<&TaskRow>) -> bool {
    row.is_some_and(|row| row.state.is_terminal())
}

fn is_over(rows: &Rows, id: RunId) -> bool {
    match rows.runs.get(&id) {
        Some(run) => {
            run.change.is_some_and(|change| change.result.is_some())
                && (0..run.task_count()).all(|index| ended(run.tasks.get(&index)))
        }
        None => ended(rows.submissions.get(&id).and_then(|kept| kept.task.as_ref())),
    }
}

/// Every task's end must follow from its neighbours' and the words between them.
fn judge_run(run: &KeptRun, promises: &Promises, broken: &mut Vec<String>) {
    let id = run.row.id.0;
    let mut untolerated = false;
    for index in 0..run.task_count() {
        let Some(row) = run.tasks.get(&index) else { continue };
        let Some(profile) = profile_in(run, index) else { continue };
        let stopped = run.change.and_then(|change| change.stopped);
        let stops = stopped == Some(Reason::RunStopped(index));
        let counts = group_of(run, index).is_none() && has_failed(run, index);
        let own = matches!(profile.on_error, Some(OnError::Skip | OnError::Continue));
        // A part may have stopped the run before its step has failed.
        untolerated |= stops || counts && !own;
        if let Some(text) = judge_task(run, index, row, &profile, promises) {
            broken.push(format!("run {id} task {index} is {} ({}): {text}", row.state, row.reason));
        }
    }
    let Some(change) = run.change else { return };
    let expected = match change.stopped {
        Some(Reason::Requested | Reason::ShutDown | Reason::Replaced) => RunResult::Cancelled,
        Some(Reason::RunTimeout) => RunResult::Failed,
        _ if untolerated => RunResult::Failed,
        _ => RunResult::Succeeded,
    };
    // A failure may have been judged before a task that makes it stop the run was added.
    if change.result.is_some_and(|result| result != expected) {
        broken.push(format!("run {id} is {:?}, not {expected:?}", change.result));
    }
}

/// What an attempt added is there as a whole, and only if just that attempt was the one that succeeded.
fn judge_expansions(run: &KeptRun, broken: &mut Vec<String>) {
    let mut found: BTreeMap<(u32, u32), (usize, usize)> = BTreeMap::new();
    for task in run.added.values() {
        let mut words = task.name.split(' ');
        if words.next() != Some("late") {
            continue;
        }
        let mut number = || words.next().and_then(|word| word.parse::<u32>().ok()).unwrap_or(0);
        let (index, attempt, _, count) = (number(), number(), number(), number());
        found.entry((index, attempt)).or_insert((0, count as usize)).0 += 1;
    }
    for ((index, attempt), (added, count)) in found {
        let row = run.tasks.get(&index);
        let is_its =
            row.is_some_and(|row| row.state == TaskState::Succeeded && row.attempts == attempt);
        if added != count || !is_its {
            let id = run.row.id.0;
            broken.push(format!(
                "run {id} has {added} of {count} tasks of attempt {attempt} of task {index}: {row:?}"
            ));
        }
    }
}

fn judge_task(
    run: &KeptRun,
    index: u32,
    row: &TaskRow,
    profile: &Profile,
    promises: &Promises,
) -> Option<String> {
    let (on_error, on_skip) = defaults(run, index);
    // Whoever says that there is nothing to do must have looked, unless the scheduler did.
    let has_looked = row.reason == Reason::Condition;
    let is_decided = condition_of(run, index).is_some() || opener_of(run, index).is_some();
    if row.state == TaskState::Skipped && (row.attempts > 0) != has_looked && !is_decided {
        return Some(format!("skipped after {} attempts", row.attempts));
    }
    if has_looked && row.state != TaskState::Skipped || row.reason == Reason::Postponed {
        return Some("nothing ends so".into());
    }
    let around = chain(run, index);
    let needs = |at: &u32, cause: u32| dependencies(run, *at).contains(&cause);
    let is_needed = |cause: u32| {
        let openers = around.iter().filter_map(|end| opener_of(run, *end));
        around.iter().any(|at| needs(at, cause)) || openers.into_iter().any(|it| it == cause)
    };
    let is_own = |cause: u32| needs(&index, cause) && is_judged(run, cause, index);
    match row.reason {
        Reason::DependencyFailed(cause) => {
            let of = profile_in(run, cause)?;
            let word = word_between(&of, profile, on_error);
            if !has_failed(run, cause) {
                return Some(format!("task {cause} has not failed"));
            }
            if is_own(cause) && (word == OnError::Continue || profile.always) {
                return Some(format!("the word is {word}"));
            }
            (!is_needed(cause)).then(|| "it does not need it".into())
        }
        Reason::DependencySkipped(cause) => {
            // A removed task may be left to finish after its dependents heard of the removal.
            let id = TaskId { run: run.row.id, index: cause };
            let held_up = |row: &TaskRow| row.state != TaskState::Succeeded && !is_declined(row);
            if !run.tasks.get(&cause).is_some_and(held_up) && !promises.removed.contains(&id) {
                return Some(format!("task {cause} held up nobody"));
            }
            (!is_needed(cause)).then(|| "it does not need it".into())
        }
        Reason::DependencyDeclined(cause) => {
            let of = profile_in(run, cause)?;
            if !run.tasks.get(&cause).is_some_and(is_declined) {
                return Some(format!("task {cause} was not skipped by a condition"));
            }
            if is_own(cause) && (goes_on_after_skip(&of, profile, on_skip) || profile.always) {
                return Some(format!("the word about task {cause} is continue"));
            }
            // What always runs is held up by nothing but its group.
            let fails = |it: &u32| {
                !profile.always && is_own(*it) && fails_dependent(run, *it, profile, promises)
            };
            if let Some(index) = dependencies(run, index).iter().find(|it| fails(it)) {
                return Some(format!("task {index} counts for more"));
            }
            (!is_needed(cause) && !around.contains(&cause)).then(|| "it does not need it".into())
        }
        Reason::RunStopped(cause) => {
            (!has_failed(run, cause)).then(|| format!("task {cause} has not failed"))
        }
        Reason::GroupStopped(cause) => {
            let stopped = judged_in(run, cause);
            let is_inside = stopped.is_some_and(|end| around[1..].contains(&end));
            // Or the time of a group around it was over.
            let timed_out =
                run.tasks.get(&cause).is_some_and(|it| it.reason == Reason::TaskTimeout);
            let is_inside = is_inside || timed_out && around[1..].contains(&cause);
            (!has_failed(run, cause) || !is_inside).then(|| format!("not by task {cause}"))
        }
        Reason::PartFailed(cause) => {
            let is_inside = group_of(run, cause) == Some(index);
            let is_right = counts_as_failed(run, cause) && is_inside && row.attempts == 0;
            (!is_right).then(|| format!("not with task {cause}"))
        }
        _ => None,
    }
}

/// Whether a task ended so that a dependent is skipped as after a failure.
fn fails_dependent(run: &KeptRun, index: u32, dependent: &Profile, promises: &Promises) -> bool {
    let Some((row, profile)) = run.tasks.get(&index).zip(profile_in(run, index)) else {
        return false;
    };
    let (default, _) = defaults(run, index);
    match row.state {
        _ if row.released || promises.removed.contains(&row.id) => false,
        TaskState::Failed | TaskState::Unknown => {
            word_between(&profile, dependent, default) != OnError::Continue
        }
        TaskState::Skipped => !is_declined(row),
        TaskState::Cancelled => true,
        _ => false,
    }
}

/// Each firing has led to one thing: a task, a run, a run that is still wanted, or none that could be
/// made.
fn judge_wishes(rows: &Rows, broken: &mut Vec<String>) {
    let live = rows.schedules.values().filter(|(_, ended)| !ended);
    let wanted: BTreeSet<RunId> =
        live.flat_map(|(row, _)| row.wanted.iter().map(|wanted| wanted.run)).collect();
    for row in &rows.firings {
        let Fate::Fired(run) = row.fate else { continue };
        let found = [
            rows.runs.contains_key(&run),
            rows.submissions.contains_key(&run),
            rows.unmade.contains(&run),
            wanted.contains(&run),
        ];
        if found.iter().filter(|found| **found).count() != 1 {
            broken.push(format!("{} of {} led to {found:?}", row.nominal, row.schedule));
        }
    }
}

/// Each instant of a fixed rate has exactly one fate, and none is left out.
fn judge_firings(
    rows: &Rows,
    updated: &BTreeSet<ScheduleId>,
    wall_jumped: bool,
    broken: &mut Vec<String>,
) {
    if !wall_jumped {
        broken.extend(rows.early.iter().cloned());
    }
    for (id, (row, _)) in rows.schedules.iter().filter(|(id, _)| !updated.contains(id)) {
        let Trigger::FixedRate { period, .. } = row.spec.trigger else { continue };
        let mut fates = rows.fates(*id);
        fates.retain(|(_, row)| {
            row.origin == Origin::Trigger && !matches!(row.fate, Fate::NotMade { .. })
        });
        let Some(first) = fates.iter().map(|(nominal, _)| *nominal).min() else { continue };
        let last = fates.iter().map(|(_, row)| row.last).max().unwrap_or(first);
        // Each instant is the microsecond below, and periods are much longer than that.
        let nanos = last.since(first).as_nanos() + period.as_nanos() / 2;
        let expected = nanos / period.as_nanos() + 1;
        let fated: u128 = fates.iter().map(|(_, row)| u128::from(row.count)).sum();
        // What is queued when the wheel ends waits for the next one.
        let queue = row.state.queue.iter().filter(|queued| queued.origin == Origin::Trigger);
        let queued = queue.filter(|queued| queued.nominal < last).count();
        let found = fated + queued as u128;
        if found != expected && !wall_jumped {
            broken.push(format!("schedule {id} has {found} fates for {expected} instants"));
        }
    }
}
