//! A store that keeps every row for ever and checks each one against all that came before.
//!
//! It is evidence, not a cache: the checkers read what happened from here and from the ledger,
//! never from the scheduler. Faults are asked for by the world, one commit ahead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidewheel::store::{AttemptRecord, Store, StoreError};
use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::id::{AttemptId, RunId, ScheduleId, TaskId};
use tidewheel_core::policy::Priority;
use tidewheel_core::row::{
    Change, Fate, FiringRow, NameRow, PriorityRow, RunChange, RunRow, ScheduleRow, Snapshot,
    StoredRun, SubmissionRow, TaskRow,
};
use tidewheel_core::schedule::{Origin, Overlap};
use tidewheel_core::spec::{Config, Definition, LimitSpec, OnceKey, QueueSpec, TaskSpec};
use tidewheel_core::task::TaskState;
use tidewheel_core::time::Timestamp;

use crate::fault::StoreFault;
use crate::workload::{BROUGHT_LIMIT, BROUGHT_QUEUE};

/// A run with everything that was ever stored about it.
#[derive(Debug, Clone)]
pub struct KeptRun {
    /// Its place among everything accepted.
    pub order: u64,
    /// As accepted.
    pub row: RunRow,
    /// The newest state of the run as a whole.
    pub change: Option<RunChange>,
    /// Priorities changed: of tasks, and of those that have none of their own.
    pub priorities: BTreeMap<Option<u32>, Priority>,
    /// Tasks added.
    pub added: BTreeMap<u32, Arc<TaskSpec>>,
    /// The newest row of each task.
    pub tasks: BTreeMap<u32, TaskRow>,
}

impl KeptRun {
    /// How many tasks it has.
    #[must_use]
    pub fn task_count(&self) -> u32 {
        self.row.spec.graph.len() + self.added.len() as u32
    }
}

/// A single submission with the newest row of its task.
#[derive(Debug, Clone)]
pub struct KeptSubmission {
    /// Its place among everything accepted.
    pub order: u64,
    /// As accepted.
    pub row: SubmissionRow,
    /// The newest row.
    pub task: Option<TaskRow>,
}

/// All rows.
#[derive(Debug, Default)]
pub struct Rows {
    paused: bool,
    pub(crate) tenure: Tenure,
    pub(crate) newest: Option<u64>,
    /// How much was accepted, in all shards of the folder.
    pub(crate) accepted: Arc<AtomicU64>,
    pub(crate) queues: Vec<(Arc<str>, QueueSpec, bool)>,
    pub(crate) limits: Vec<(Arc<str>, LimitSpec)>,
    /// Every run there ever was.
    pub runs: BTreeMap<RunId, KeptRun>,
    /// Every single submission there ever was.
    pub submissions: BTreeMap<RunId, KeptSubmission>,
    /// Every schedule there ever was, and whether it has ended.
    pub schedules: BTreeMap<ScheduleId, (ScheduleRow, bool)>,
    /// Every row about an instant, in the order stored.
    pub firings: Vec<FiringRow>,
    /// Transitions of tasks seen, for coverage.
    pub transitions: BTreeMap<(Option<TaskState>, TaskState), u64>,
    /// What no store should ever be asked to keep.
    pub violations: Vec<String>,
    pub(crate) names: Vec<NameRow>,
    /// Work that somebody has put here, unknown to whoever has the tenure until it is read again.
    pub(crate) unread: BTreeSet<RunId>,
    /// Whose names may have been forgotten: the clock showed a day later at least once.
    pub(crate) outlived: BTreeSet<RunId>,
    fault: Option<StoreFault>,
    fired: Option<StoreFault>,
    /// Somebody else is at it, for whom nothing goes wrong.
    passes_by: bool,
    recent: Vec<Change>,
    /// Change sets offered again after they had been stored.
    pub repeated: u64,
    /// Since when the newest trigger of a schedule counts, and what its old one had queued.
    pub(crate) changed: BTreeMap<ScheduleId, (Timestamp, Vec<Timestamp>)>,
    /// Firings of a trigger for instants before it was the schedule's.
    pub early: Vec<String>,
    /// Schedules of which more than one firing may be under way.
    pub(crate) loose: BTreeSet<ScheduleId>,
    /// Runs of firings that could not be made.
    pub unmade: BTreeSet<RunId>,
    /// The attempts of which there are records.
    pub(crate) recorded: BTreeSet<AttemptId>,
    /// Every attempt that succeeds leaves a record.
    expects_records: bool,
}

/// A handle on the rows; clones share them.
#[derive(Debug, Clone, Default)]
pub struct SimStore {
    rows: Arc<Mutex<Rows>>,
}

impl SimStore {
    /// The rows, to be looked at.
    pub fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the next commit go wrong.
    pub fn set_fault(&self, fault: Option<StoreFault>) {
        let mut rows = self.rows();
        rows.fault = fault;
        rows.recent.clear();
    }

    /// The fault that came about since the last look, if any.
    #[must_use]
    pub fn take_fired(&self) -> Option<StoreFault> {
        self.rows().fired.take()
    }

    /// Whether something goes wrong until [`SimStore::set_fault`] says otherwise.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.rows().fault.is_some_and(StoreFault::lasts)
    }

    /// Lets another process by, whatever goes wrong for the world's own.
    pub fn pass_by(&self, passes: bool) {
        self.rows().passes_by = passes;
    }

    /// From now on every attempt that succeeds leaves a record.
    pub fn expect_records(&self) {
        self.rows().expects_records = true;
    }

    /// The changes of the newest change set, once.
    #[must_use]
    pub fn take_changes(&self) -> Vec<Change> {
        std::mem::take(&mut self.rows().recent)
    }
}

impl Store for SimStore {
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        let mut rows = self.rows();
        match rows.fault.filter(|_| !rows.passes_by) {
            Some(StoreFault::Taken) => {
                let shard = String::from("world");
                return Err(StoreError::Held { shard, pid: None, since: None });
            }
            Some(StoreFault::Down) => return Err(silent()),
            _ => {}
        }
        rows.tenure = Tenure(rows.tenure.0 + 1);
        rows.newest = None;
        rows.recent.clear();
        rows.unread.clear();
        Ok((rows.tenure, rows.snapshot()))
    }

    fn commit<'c>(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'c>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError> {
        let mut rows = self.rows();
        let fault = rows.fault.filter(|_| !rows.passes_by);
        rows.fired = rows.fired.or(fault);
        if fault.is_some_and(|fault| !fault.lasts()) {
            rows.fault = None;
        }
        match fault {
            Some(StoreFault::Unavailable | StoreFault::Down) => return Err(silent()),
            Some(StoreFault::Busy) => return Err(StoreError::Busy),
            Some(StoreFault::LostUnknown | StoreFault::LostSilent) => return Err(unknown()),
            Some(StoreFault::DiesBefore | StoreFault::Stale | StoreFault::Taken) => {
                rows.tenure = Tenure(rows.tenure.0 + 1);
            }
            _ => {}
        }
        if tenure != rows.tenure {
            return Err(StoreError::StaleTenure { held: tenure, current: rows.tenure });
        }
        if rows.newest.is_none_or(|newest| changes.number() > newest) {
            for change in changes.changes() {
                rows.apply(change);
            }
            rows.keep_records(changes.changes(), records);
            rows.check_definitions(changes.changes());
            rows.newest = Some(changes.number());
            rows.recent = changes.changes().to_vec();
        } else {
            rows.repeated += 1;
        }
        match fault {
            Some(StoreFault::StoredUnknown | StoreFault::StoredSilent) => Err(unknown()),
            // The dead hear no answer; this one only makes the engine give up.
            Some(StoreFault::DiesAfter) => {
                Err(StoreError::StaleTenure { held: tenure, current: rows.tenure })
            }
            _ => Ok(changes.stored()),
        }
    }
}

fn silent() -> StoreError {
    StoreError::Unavailable { source: "nobody answers".into() }
}

fn unknown() -> StoreError {
    StoreError::Ambiguous { source: "the answer was lost".into() }
}

impl Rows {
    /// The newest row of a task, wherever it belongs.
    #[must_use]
    pub fn task(&self, id: TaskId) -> Option<&TaskRow> {
        match self.runs.get(&id.run) {
            Some(run) => run.tasks.get(&id.index),
            None => self.submissions.get(&id.run).and_then(|kept| kept.task.as_ref()),
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::RunAccepted(row) => {
                self.keep_name(row.spec.attachment.once.as_ref(), row.id, row.accepted_at);
                let kept = KeptRun {
                    order: self.next_place(),
                    row: row.clone(),
                    change: None,
                    priorities: BTreeMap::new(),
                    added: BTreeMap::new(),
                    tasks: BTreeMap::new(),
                };
                self.check_firing(row);
                if self.runs.insert(row.id, kept).is_some() {
                    self.violations.push(format!("run {} was accepted twice", row.id));
                }
            }
            Change::RunChanged(change) => self.change_run(change),
            Change::SubmissionAccepted(row) => {
                let once = row.attachment.as_ref().and_then(|attachment| attachment.once.as_ref());
                self.keep_name(once, row.id, row.accepted_at);
                let order = self.next_place();
                let kept = KeptSubmission { order, row: row.clone(), task: None };
                if self.submissions.insert(row.id, kept).is_some() {
                    self.violations.push(format!("submission {} was accepted twice", row.id));
                }
            }
            Change::TaskAdded { id, spec } => {
                if let Some(run) = self.runs.get_mut(&id.run) {
                    run.added.insert(id.index, spec.clone());
                }
            }
            Change::TaskChanged(row) => self.change_task(row),
            Change::PriorityChanged(row) => self.change_priority(row),
            Change::QueueStored { name, spec, paused } => {
                let row = (name.clone(), spec.clone(), *paused);
                match self.queues.iter_mut().find(|(known, ..)| known == name) {
                    Some(known) => *known = row,
                    None => self.queues.push(row),
                }
            }
            Change::LimitStored { name, spec } => {
                match self.limits.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => known.clone_from(spec),
                    None => self.limits.push((name.clone(), spec.clone())),
                }
            }
            Change::ScheduleStored(row) => {
                if row.spec.overlap == Overlap::Allow || row.state.asked_for > 0 {
                    self.loose.insert(row.id);
                }
                let before = self.schedules.insert(row.id, ((**row).clone(), false));
                if before.is_some_and(|(before, _)| before.spec.trigger != row.spec.trigger) {
                    let queued = row.state.queue.iter().map(|pending| pending.nominal).collect();
                    self.changed.insert(row.id, (row.state.seen_label, queued));
                }
            }
            Change::ScheduleEnded(id) => {
                if let Some((_, ended)) = self.schedules.get_mut(id) {
                    *ended = true;
                }
            }
            Change::SchedulerPaused(paused) => self.paused = *paused,
            Change::FiringStored(row) => self.store_firing(row),
        }
    }

    fn next_place(&self) -> u64 {
        self.accepted.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// What only runs bring along is stored with a run that brings it, and with no other.
    fn check_definitions(&mut self, changes: &[Change]) {
        let brings = |wanted: &Definition| {
            let mut runs = changes.iter().filter_map(|change| match change {
                Change::RunAccepted(row) => Some(row),
                _ => None,
            });
            runs.any(|row| row.spec.defines.contains(wanted))
        };
        for change in changes {
            let definition = match change {
                Change::QueueStored { name, spec, .. } if **name == *BROUGHT_QUEUE => {
                    Definition::Queue { name: name.clone(), spec: spec.clone() }
                }
                Change::LimitStored { name, spec } if **name == *BROUGHT_LIMIT => {
                    Definition::Limit { name: name.clone(), spec: spec.clone() }
                }
                _ => continue,
            };
            if !brings(&definition) {
                self.violations.push(format!("{definition:?} was stored without its run"));
            }
        }
    }

    /// What an attempt left is stored once, and with the row that says how it ended.
    fn keep_records(&mut self, changes: &[Change], records: &[Arc<AttemptRecord>]) {
        let rows = changes.iter().filter_map(|change| match change {
            Change::TaskChanged(row) => Some(row),
            _ => None,
        });
        let ended = |row: &&TaskRow| row.attempts > 0 && !row.state.holds_slot();
        let ended: Vec<&TaskRow> = rows.filter(ended).collect();
        for record in records {
            let id = AttemptId { task: record.task, number: record.attempt };
            if !self.recorded.insert(id) {
                self.violations.push(format!("what {id:?} left was stored twice"));
            }
            if !ended.iter().any(|row| (row.id, row.attempts) == (id.task, id.number)) {
                self.violations.push(format!("what {id:?} left was stored without its end"));
            }
        }
        let succeeded = |row: &&TaskRow| self.expects_records && row.state == TaskState::Succeeded;
        let succeeded: Vec<&TaskRow> = ended.into_iter().filter(succeeded).collect();
        for row in succeeded {
            let id = AttemptId { task: row.id, number: row.attempts };
            if !self.recorded.contains(&id) {
                self.violations.push(format!("the end of {id:?} was stored without what it left"));
            }
        }
    }

    /// The run of a firing was asked for, and is alone unless its schedule allows more.
    fn check_firing(&mut self, row: &RunRow) {
        let Some((schedule, _)) = row.firing else { return };
        let stored = self.schedules.get(&schedule).map(|(stored, _)| &stored.wanted);
        if stored.is_none_or(|wanted| wanted.iter().all(|wanted| wanted.run != row.id)) {
            self.violations.push(format!("run {} is of a firing that wants none", row.id));
        }
        let is_live = |run: &&KeptRun| {
            run.row.firing.is_some_and(|(other, _)| other == schedule)
                && run.change.is_none_or(|change| change.result.is_none())
        };
        if let Some(other) = self.runs.values().find(is_live)
            && !self.loose.contains(&schedule)
        {
            let text = format!("runs {} and {} of {schedule} overlap", other.row.id, row.id);
            self.violations.push(text);
        }
    }

    /// Takes note of the time.
    pub fn see(&mut self, now: Timestamp) {
        let kept = Config::default().once_kept;
        let is_outlived = |name: &&NameRow| now.since(name.accepted_at) >= kept;
        self.outlived.extend(self.names.iter().filter(is_outlived).map(|name| name.run));
    }

    /// A name stands for one run at a time: for a day after it was accepted, wherever the clock is set
    /// afterwards.
    fn keep_name(&mut self, once: Option<&OnceKey>, run: RunId, accepted_at: Timestamp) {
        let Some(once) = once else { return };
        // Whoever has the tenure cannot know of names that came beside it.
        let Self { names, unread, .. } = self;
        names.retain(|name| name.once.key != once.key || !unread.contains(&name.run));
        let kept = Config::default().once_kept;
        let is_known = |name: &NameRow| {
            name.once.key == once.key
                && accepted_at.since(name.accepted_at) < kept
                && !self.outlived.contains(&name.run)
        };
        if let Some(known) = self.names.iter().find(|name| is_known(name)) {
            let text = format!("{:?} stands for {} and for {run}", once.key, known.run);
            self.violations.push(text);
        }
        self.names.push(NameRow { once: once.clone(), run, accepted_at });
    }

    fn change_run(&mut self, change: &RunChange) {
        let Some(run) = self.runs.get_mut(&change.id) else {
            self.violations.push(format!("a change of the unknown run {}", change.id));
            return;
        };
        if let Some(before) = run.change.and_then(|before| before.result)
            && change.result != Some(before)
        {
            self.violations.push(format!("run {} had ended and changed", change.id));
        }
        if change.result.is_some() {
            let open = (0..run.task_count())
                .filter(|index| !run.tasks.get(index).is_some_and(|row| row.state.is_terminal()))
                .count();
            if open > 0 {
                let text = format!("run {} ended with {open} tasks that have not", change.id);
                self.violations.push(text);
            }
        }
        run.change = Some(*change);
    }

    fn change_priority(&mut self, row: &PriorityRow) {
        if let Some(kept) = self.submissions.get_mut(&row.run) {
            kept.row.priority = row.priority;
        } else if let Some(run) = self.runs.get_mut(&row.run) {
            let has_ended =
                |index: u32| run.tasks.get(&index).is_some_and(|row| row.state.is_terminal());
            if row.task.is_some_and(has_ended) {
                self.violations.push(format!("{row:?} of a task that has ended"));
            }
            run.priorities.insert(row.task, row.priority);
        } else {
            self.violations.push(format!("{row:?} of something unknown"));
        }
    }

    fn change_task(&mut self, row: &TaskRow) {
        let slot = match self.runs.get_mut(&row.id.run) {
            Some(run) => run.tasks.entry(row.id.index).or_insert_with(|| row.clone()),
            None => match self.submissions.get_mut(&row.id.run) {
                Some(kept) => kept.task.get_or_insert_with(|| row.clone()),
                None => {
                    self.violations.push(format!("a row of the unknown task {:?}", row.id));
                    return;
                }
            },
        };
        let before = (*slot != *row).then_some(slot.state);
        if let Some(state) = before.filter(|state| state.is_terminal()) {
            self.violations.push(format!("{:?} was {state} and became {}", row.id, row.state));
        }
        if row.attempts < slot.attempts {
            let text = format!(
                "{:?} went back from attempt {} to {}",
                row.id, slot.attempts, row.attempts
            );
            self.violations.push(text);
        }
        *slot = row.clone();
        *self.transitions.entry((before, row.state)).or_default() += 1;
    }

    fn store_firing(&mut self, row: &FiringRow) {
        let fired = matches!(row.fate, Fate::Fired(_));
        if let Some((since, queued)) = self.changed.get(&row.schedule)
            && fired
            && row.origin == Origin::Trigger
            && row.nominal < *since
            && !queued.contains(&row.nominal)
        {
            self.early.push(format!("{} of {} was before {since}", row.nominal, row.schedule));
        }
        let of_the_same = |other: &&FiringRow| {
            (other.schedule, other.nominal, other.origin.number())
                == (row.schedule, row.nominal, row.origin.number())
        };
        let before = self.firings.iter().rfind(of_the_same).and_then(|other| other.fate.run());
        let is_wrong = match row.fate {
            Fate::Fired(_) => before.is_some(),
            // What was not made was wanted, once.
            Fate::NotMade { run, .. } => before != Some(run) || !self.unmade.insert(run),
            Fate::Skipped(_) => false,
        };
        if is_wrong {
            let text = format!("schedule {} fired twice for {}", row.schedule, row.nominal);
            self.violations.push(text);
        }
        self.firings.push(row.clone());
    }

    fn snapshot(&self) -> Snapshot {
        let mut runs: Vec<&KeptRun> = self
            .runs
            .values()
            .filter(|run| run.change.is_none_or(|change| change.result.is_none()))
            .collect();
        runs.sort_by_key(|run| run.order);
        let mut submissions: Vec<&KeptSubmission> = self
            .submissions
            .values()
            .filter(|kept| kept.task.as_ref().is_none_or(|row| !row.state.is_terminal()))
            .collect();
        submissions.sort_by_key(|kept| kept.order);
        Snapshot {
            paused: self.paused,
            queues: self.queues.clone(),
            limits: self.limits.clone(),
            runs: runs.into_iter().map(stored).collect(),
            submissions: submissions
                .into_iter()
                .map(|kept| (kept.row.clone(), kept.task.clone()))
                .collect(),
            schedules: self
                .schedules
                .values()
                .filter(|(_, ended)| !ended)
                .map(|(row, _)| row.clone())
                .collect(),
            names: self.names.clone(),
        }
    }

    /// How many schedules have another trigger than they had.
    #[must_use]
    pub fn changes_of_triggers(&self) -> u64 {
        self.changed.len() as u64
    }

    /// The fate of each instant of a schedule that one row stands for.
    #[must_use]
    pub fn fates(&self, schedule: ScheduleId) -> Vec<(Timestamp, &FiringRow)> {
        let rows = self.firings.iter().filter(|row| row.schedule == schedule);
        rows.map(|row| (row.nominal, row)).collect()
    }
}

fn stored(run: &KeptRun) -> StoredRun {
    StoredRun {
        row: run.row.clone(),
        change: run.change,
        priorities: run
            .priorities
            .iter()
            .map(|(&task, &priority)| PriorityRow { run: run.row.id, task, priority })
            .collect(),
        added: run.added.iter().map(|(index, spec)| (*index, spec.clone())).collect(),
        tasks: run.tasks.values().cloned().collect(),
    }
}
