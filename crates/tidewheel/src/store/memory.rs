//! [`Memory`]: a store that really keeps rows, for as long as the process lives.
//!
//! It is what the other stores are compared with; nothing here survives the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::row::{
    Change, Fate, FiringRow, NameRow, RunChange, RunRow, ScheduleRow, Snapshot, StoredRun,
    SubmissionRow, TaskRow,
};
use tidewheel_core::spec::{LimitSpec, OnceKey, QueueSpec, TaskSpec};
use tidewheel_core::time::Timestamp;

use super::{AttemptRecord, Store, StoreError};

/// Of so many runs it is kept what their attempts left. Identities rise with time.
const RECORDED_MAX: usize = 1_000;

/// Keeps rows in memory. Clones share them, so one clone can take over where another was stopped.
///
/// Rows of runs and submissions are dropped when these have ended.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::Tidewheel;
/// use tidewheel::store::Memory;
///
/// let store = Memory::new();
/// let wheel = Tidewheel::builder().store(store.clone()).start();
/// assert_eq!(wheel.submit_normal(async { 6 * 7 }).await?, 42);
/// assert_eq!(store.unfinished(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Memory {
    rows: Arc<Mutex<Rows>>,
    /// Lives as long as this clone, which has taken the tenure.
    holding: Option<Arc<()>>,
}

impl Clone for Memory {
    fn clone(&self) -> Self {
        Self { rows: Arc::clone(&self.rows), holding: None }
    }
}

#[derive(Debug, Default)]
struct Rows {
    paused: bool,
    tenure: Tenure,
    /// The clone that took the tenure last, if it still lives.
    holder: Weak<()>,
    /// The number of the newest change set of this tenure.
    newest: Option<u64>,
    /// In order of definition, which is the order they are restored in.
    queues: Vec<(Arc<str>, QueueSpec, bool)>,
    limits: Vec<(Arc<str>, LimitSpec)>,
    runs: BTreeMap<RunId, KeptRun>,
    submissions: BTreeMap<RunId, KeptSubmission>,
    schedules: BTreeMap<ScheduleId, ScheduleRow>,
    firings: BTreeMap<(ScheduleId, Timestamp, u64), FiringRow>,
    names: Vec<NameRow>,
    /// What attempts left, by number, of the newest runs of which anything is known.
    records: BTreeMap<RunId, BTreeMap<(u32, u32), Arc<AttemptRecord>>>,
    /// Counts acceptances: restoring in this order keeps first come, first served.
    accepted: u64,
}

#[derive(Debug)]
struct KeptRun {
    order: u64,
    row: RunRow,
    change: Option<RunChange>,
    added: BTreeMap<u32, Arc<TaskSpec>>,
    tasks: BTreeMap<u32, TaskRow>,
}

#[derive(Debug)]
struct KeptSubmission {
    order: u64,
    row: SubmissionRow,
    task: Option<TaskRow>,
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many runs and single submissions have not ended.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        let rows = self.rows();
        rows.runs.len() + rows.submissions.len()
    }

    /// What became of the instants of a schedule that is still live, earliest first.
    #[must_use]
    pub fn firings(&self, schedule: ScheduleId) -> Vec<FiringRow> {
        let least = Timestamp::from_micros(i64::MIN);
        let most = Timestamp::from_micros(i64::MAX);
        let rows = self.rows();
        rows.firings
            .range((schedule, least, 0)..=(schedule, most, u64::MAX))
            .map(|(_, row)| row.clone())
            .collect()
    }

    /// What the attempts of a task left, by number.
    #[must_use]
    pub fn attempts(&self, task: TaskId) -> Vec<AttemptRecord> {
        let rows = self.rows();
        let kept = rows.records.get(&task.run).into_iter();
        let own = kept.flat_map(|kept| kept.range((task.index, 0)..=(task.index, u32::MAX)));
        own.map(|(_, record)| AttemptRecord::clone(record)).collect()
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        // Nothing below panics halfway through a change.
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Memory {
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        let holding = Arc::new(());
        let mut rows = self.rows();
        rows.tenure = Tenure(rows.tenure.0 + 1);
        rows.holder = Arc::downgrade(&holding);
        rows.newest = None;
        let taken = (rows.tenure, rows.snapshot());
        drop(rows);
        self.holding = Some(holding);
        Ok(taken)
    }

    fn retake_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        let holder = self.rows().holder.upgrade();
        if holder.is_some_and(|holder| !self.holding.iter().any(|own| Arc::ptr_eq(own, &holder))) {
            let shard = String::from("memory");
            return Err(StoreError::Held { shard, pid: Some(std::process::id()), since: None });
        }
        self.take_tenure()
    }

    fn commit(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'_>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof, StoreError> {
        let mut rows = self.rows();
        if tenure != rows.tenure {
            return Err(StoreError::StaleTenure { held: tenure, current: rows.tenure });
        }
        if rows.newest.is_none_or(|newest| changes.number() > newest) {
            rows.check(changes.changes())?;
            for change in changes.changes() {
                rows.apply(change);
            }
            for record in records {
                rows.keep_record(record);
            }
            rows.newest = Some(changes.number());
        }
        Ok(changes.stored())
    }
}

impl Rows {
    /// All or nothing: what could be refused is refused before the first row is touched.
    fn check(&self, changes: &[Change]) -> Result<(), StoreError> {
        for change in changes {
            let Change::FiringStored(firing) = change else { continue };
            let before = self.firings.get(&firing_key(firing)).and_then(|row| row.fate.run());
            let is_allowed = match firing.fate {
                Fate::Fired(_) => before.is_none(),
                Fate::NotMade { run, .. } => before.is_none_or(|before| before == run),
                Fate::Skipped(_) => true,
            };
            if !is_allowed {
                let what =
                    format!("schedule {} fired at {} before", firing.schedule, firing.nominal);
                return Err(StoreError::Conflict { what });
            }
        }
        Ok(())
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::RunAccepted(row) => self.accept_run(row),
            Change::RunChanged(change) => self.change_run(change),
            Change::SubmissionAccepted(row) => self.accept_submission(row),
            Change::TaskAdded { id, spec } => self.add_task(*id, spec),
            Change::TaskChanged(row) => self.change_task(row),
            Change::SchedulerPaused(paused) => self.paused = *paused,
            Change::QueueStored { name, spec, paused } => self.store_queue(name, spec, *paused),
            Change::LimitStored { name, spec } => self.store_limit(name, spec),
            Change::ScheduleStored(row) => {
                self.schedules.insert(row.id, (**row).clone());
            }
            Change::ScheduleEnded(id) => {
                self.schedules.remove(id);
                self.firings.retain(|(schedule, ..), _| schedule != id);
            }
            Change::FiringStored(row) => {
                self.firings.insert(firing_key(row), row.clone());
            }
        }
    }

    fn keep_record(&mut self, record: &Arc<AttemptRecord>) {
        let of_run = self.records.entry(record.task.run).or_default();
        of_run.insert((record.task.index, record.attempt), Arc::clone(record));
        if self.records.len() > RECORDED_MAX {
            self.records.pop_first();
        }
    }

    fn accept_run(&mut self, row: &RunRow) {
        self.keep_name(row.spec.attachment.once.as_ref(), row.id, row.accepted_at);
        self.accepted += 1;
        let kept = KeptRun {
            order: self.accepted,
            row: row.clone(),
            change: None,
            added: BTreeMap::new(),
            tasks: BTreeMap::new(),
        };
        self.runs.insert(row.id, kept);
    }

    fn keep_name(&mut self, once: Option<&OnceKey>, run: RunId, accepted_at: Timestamp) {
        if let Some(once) = once {
            self.names.push(NameRow { once: once.clone(), run, accepted_at });
        }
    }

    fn change_run(&mut self, change: &RunChange) {
        if change.result.is_some() {
            self.runs.remove(&change.id);
        } else if let Some(run) = self.runs.get_mut(&change.id) {
            run.change = Some(*change);
        }
    }

    fn accept_submission(&mut self, row: &SubmissionRow) {
        let once = row.attachment.as_ref().and_then(|attachment| attachment.once.as_ref());
        self.keep_name(once, row.id, row.accepted_at);
        self.accepted += 1;
        let kept = KeptSubmission { order: self.accepted, row: row.clone(), task: None };
        self.submissions.insert(row.id, kept);
    }

    fn add_task(&mut self, id: TaskId, spec: &Arc<TaskSpec>) {
        if let Some(run) = self.runs.get_mut(&id.run) {
            run.added.insert(id.index, Arc::clone(spec));
        }
    }

    fn change_task(&mut self, row: &TaskRow) {
        if let Some(run) = self.runs.get_mut(&row.id.run) {
            run.tasks.insert(row.id.index, row.clone());
        } else if row.state.is_terminal() {
            self.submissions.remove(&row.id.run);
        } else if let Some(submission) = self.submissions.get_mut(&row.id.run) {
            submission.task = Some(row.clone());
        }
    }

    fn store_queue(&mut self, name: &Arc<str>, spec: &QueueSpec, paused: bool) {
        let row = (Arc::clone(name), spec.clone(), paused);
        match self.queues.iter_mut().find(|(known, ..)| known == name) {
            Some(known) => *known = row,
            None => self.queues.push(row),
        }
    }

    fn store_limit(&mut self, name: &Arc<str>, spec: &LimitSpec) {
        match self.limits.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.clone_from(spec),
            None => self.limits.push((Arc::clone(name), spec.clone())),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let mut runs: Vec<&KeptRun> = self.runs.values().collect();
        runs.sort_by_key(|run| run.order);
        let mut submissions: Vec<&KeptSubmission> = self.submissions.values().collect();
        submissions.sort_by_key(|submission| submission.order);
        Snapshot {
            paused: self.paused,
            queues: self.queues.clone(),
            limits: self.limits.clone(),
            runs: runs.into_iter().map(KeptRun::stored).collect(),
            submissions: submissions
                .into_iter()
                .map(|kept| (kept.row.clone(), kept.task.clone()))
                .collect(),
            schedules: self.schedules.values().cloned().collect(),
            names: self.names.clone(),
        }
    }
}

impl KeptRun {
    fn stored(&self) -> StoredRun {
        StoredRun {
            row: self.row.clone(),
            change: self.change,
            added: self.added.iter().map(|(index, spec)| (*index, Arc::clone(spec))).collect(),
            tasks: self.tasks.values().cloned().collect(),
        }
    }
}

/// What no two rows about instants have in common.
fn firing_key(row: &FiringRow) -> (ScheduleId, Timestamp, u64) {
    (row.schedule, row.nominal, row.origin.number())
}
