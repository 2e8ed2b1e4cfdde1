//! [`Memory`] as a [`Store`]: tenure, rows, and which of them are kept when their work has ended.
//!
//! What is shown of them is in `read`, what others leave for it in `post`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::policy::Priority;
use tidewheel_core::row::{
    Change, Fate, FiringRow, NameRow, PriorityRow, RunChange, RunRow, ScheduleRow, Snapshot,
    StoredRun, SubmissionRow, TaskRow,
};
use tidewheel_core::spec::{LimitSpec, OnceKey, QueueSpec, TaskSpec};
use tidewheel_core::task::TaskState;
use tidewheel_core::time::Timestamp;

use super::post::{Letters, Post};
use crate::store::records::{merge, says_attempt_ended};
use crate::store::{
    Answer, AttemptRecord, CommandSource, OutputRecord, RecordedOutcome, Store, StoreError,
};

/// So many runs and submissions that have ended are kept, the newest, and as many schedules.
pub(super) const HISTORY_MAX: usize = 1_000;

/// Keeps rows in memory. Clones share them, so one clone can take over where another was stopped.
///
/// What has ended is kept for readers, the newest thousand; [`Reader`](crate::store::Reader) and
/// [`Records`](crate::store::Records) are the store itself.
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
pub(super) struct Rows {
    paused: bool,
    tenure: Tenure,
    /// The clone that took the tenure last, if it still lives.
    holder: Weak<()>,
    /// The number of the newest change set of this tenure.
    newest: Option<u64>,
    /// In order of definition, which is the order they are restored in.
    pub(super) queues: Vec<(Arc<str>, QueueSpec, bool)>,
    pub(super) limits: Vec<(Arc<str>, LimitSpec)>,
    pub(super) runs: BTreeMap<RunId, KeptRun>,
    pub(super) submissions: BTreeMap<RunId, KeptSubmission>,
    pub(super) schedules: BTreeMap<ScheduleId, KeptSchedule>,
    /// Those that have ended, oldest first.
    ended_schedules: VecDeque<ScheduleId>,
    pub(super) firings: BTreeMap<(ScheduleId, Timestamp, u64), FiringRow>,
    names: Vec<NameRow>,
    /// What has ended, oldest first.
    pub(super) history: VecDeque<Past>,
    /// What is known of each run and submission that is kept, beside its rows.
    pub(super) known: BTreeMap<RunId, Known>,
    pub(super) post: Post,
    /// Counts acceptances: restoring in this order keeps first come, first served.
    accepted: u64,
}

#[derive(Debug)]
pub(super) struct KeptRun {
    pub order: u64,
    pub row: RunRow,
    pub change: Option<RunChange>,
    pub priorities: BTreeMap<Option<u32>, Priority>,
    pub added: BTreeMap<u32, Arc<TaskSpec>>,
    pub tasks: BTreeMap<u32, TaskRow>,
}

#[derive(Debug)]
pub(super) struct KeptSubmission {
    pub order: u64,
    pub row: SubmissionRow,
    pub task: Option<TaskRow>,
}

#[derive(Debug)]
pub(super) struct KeptSchedule {
    pub order: u64,
    pub row: ScheduleRow,
    pub is_ended: bool,
}

/// Work that has ended.
#[derive(Debug)]
pub(super) enum Past {
    Run(Box<KeptRun>),
    Single(Box<KeptSubmission>),
}

impl Past {
    pub fn id(&self) -> RunId {
        match self {
            Self::Run(run) => run.row.id,
            Self::Single(single) => single.row.id,
        }
    }
}

/// What is known of a run or submission beside its rows.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// When the newest attempt of each task began, by index.
    pub started: BTreeMap<u32, Timestamp>,
    /// By index and number.
    pub attempts: BTreeMap<(u32, u32), AttemptRecord>,
    /// By index, in the order in which they came.
    pub outputs: BTreeMap<u32, Vec<OutputRecord>>,
    pub answers: BTreeMap<u32, Answer>,
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

    /// What became of the instants of a schedule, earliest first.
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

    pub(super) fn rows(&self) -> MutexGuard<'_, Rows> {
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

    fn commit<'c>(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'c>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError> {
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

    fn inbox(&mut self) -> Option<Box<dyn CommandSource>> {
        let letters = || Box::new(Letters::new(self)) as Box<dyn CommandSource>;
        self.rows().post.is_used.then(letters)
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
            Change::PriorityChanged(row) => self.change_priority(row),
            Change::SchedulerPaused(paused) => self.paused = *paused,
            Change::QueueStored { name, spec, paused } => self.store_queue(name, spec, *paused),
            Change::LimitStored { name, spec } => self.store_limit(name, spec),
            Change::ScheduleStored(row) => self.store_schedule(row),
            Change::ScheduleEnded(id) => self.end_schedule(*id),
            Change::FiringStored(row) => {
                self.firings.insert(firing_key(row), row.clone());
            }
        }
    }

    fn keep_record(&mut self, record: &AttemptRecord) {
        let known = self.known.entry(record.task.run).or_default();
        let key = (record.task.index, record.attempt);
        let kept = known.attempts.entry(key).or_default();
        merge(kept, &AttemptRecord { outputs: Vec::new(), ..record.clone() });
        let outputs = known.outputs.entry(record.task.index).or_default();
        for output in &record.outputs {
            match outputs.iter_mut().find(|known| known.name == output.name) {
                Some(known) => known.value = output.value.clone(),
                None => outputs.push(output.clone()),
            }
        }
    }

    /// Takes note of what the row of a task says of its attempts.
    fn note_attempt(&mut self, row: &TaskRow) {
        let is_running = row.state == TaskState::Running;
        if !is_running && !says_attempt_ended(row) {
            return;
        }
        let known = self.known.entry(row.id.run).or_default();
        let started = known.started.get(&row.id.index).copied();
        if is_running {
            known.started.insert(row.id.index, row.at);
        } else {
            let said = AttemptRecord {
                task: row.id,
                attempt: row.attempts,
                started_at: started,
                ended_at: Some(row.at),
                outcome: Some(RecordedOutcome::Again(row.reason)),
                error: row.error.as_deref().map(str::to_owned),
                ..AttemptRecord::default()
            };
            let kept = known.attempts.entry((row.id.index, row.attempts)).or_default();
            // What its executor knew counts.
            let left = std::mem::replace(kept, said);
            merge(kept, &left);
        }
    }

    fn end(&mut self, past: Past) {
        self.history.push_back(past);
        if self.history.len() > HISTORY_MAX
            && let Some(oldest) = self.history.pop_front()
        {
            self.known.remove(&oldest.id());
        }
    }

    fn store_schedule(&mut self, row: &ScheduleRow) {
        if let Some(kept) = self.schedules.get_mut(&row.id) {
            kept.row = row.clone();
            return;
        }
        self.accepted += 1;
        let kept = KeptSchedule { order: self.accepted, row: row.clone(), is_ended: false };
        self.schedules.insert(row.id, kept);
    }

    fn end_schedule(&mut self, id: ScheduleId) {
        let Some(kept) = self.schedules.get_mut(&id) else { return };
        kept.is_ended = true;
        self.ended_schedules.push_back(id);
        if self.ended_schedules.len() > HISTORY_MAX
            && let Some(oldest) = self.ended_schedules.pop_front()
        {
            self.schedules.remove(&oldest);
            self.firings.retain(|(schedule, ..), _| *schedule != oldest);
        }
    }

    fn accept_run(&mut self, row: &RunRow) {
        self.keep_name(row.spec.attachment.once.as_ref(), row.id, row.accepted_at);
        self.accepted += 1;
        let kept = KeptRun {
            order: self.accepted,
            row: row.clone(),
            change: None,
            priorities: BTreeMap::new(),
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
        if let Some(run) = self.runs.get_mut(&change.id) {
            run.change = Some(*change);
        }
        if change.result.is_some()
            && let Some(run) = self.runs.remove(&change.id)
        {
            self.end(Past::Run(Box::new(run)));
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
        self.note_attempt(row);
        if let Some(run) = self.runs.get_mut(&row.id.run) {
            run.tasks.insert(row.id.index, row.clone());
        } else if let Some(mut single) = self.submissions.remove(&row.id.run) {
            single.task = Some(row.clone());
            if row.state.is_terminal() {
                self.end(Past::Single(Box::new(single)));
            } else {
                self.submissions.insert(row.id.run, single);
            }
        }
    }

    fn change_priority(&mut self, row: &PriorityRow) {
        if let Some(run) = self.runs.get_mut(&row.run) {
            run.priorities.insert(row.task, row.priority);
        } else if let Some(single) = self.submissions.get_mut(&row.run) {
            single.row.priority = row.priority;
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
        let mut schedules: Vec<&KeptSchedule> =
            self.schedules.values().filter(|kept| !kept.is_ended).collect();
        schedules.sort_by_key(|kept| kept.order);
        Snapshot {
            paused: self.paused,
            queues: self.queues.clone(),
            limits: self.limits.clone(),
            runs: runs.into_iter().map(KeptRun::stored).collect(),
            submissions: submissions
                .into_iter()
                .map(|kept| (kept.row.clone(), kept.task.clone()))
                .collect(),
            schedules: schedules.into_iter().map(|kept| kept.row.clone()).collect(),
            names: self.names.clone(),
        }
    }
}

impl KeptRun {
    fn priorities(&self) -> Vec<PriorityRow> {
        let run = self.row.id;
        let rows = self.priorities.iter();
        rows.map(|(&task, &priority)| PriorityRow { run, task, priority }).collect()
    }

    fn stored(&self) -> StoredRun {
        StoredRun {
            row: self.row.clone(),
            change: self.change,
            priorities: self.priorities(),
            added: self.added.iter().map(|(index, spec)| (*index, Arc::clone(spec))).collect(),
            tasks: self.tasks.values().cloned().collect(),
        }
    }
}

/// What no two rows about instants have in common.
fn firing_key(row: &FiringRow) -> (ScheduleId, Timestamp, u64) {
    (row.schedule, row.nominal, row.origin.number())
}
