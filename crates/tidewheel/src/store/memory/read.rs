//! What is shown of a [`Memory`]: lists, runs with their tasks, and what attempts left.
//!
//! Which rows are kept, and for how long, is in `store`.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel_core::id::{RunId, ScheduleId, TaskId};
use tidewheel_core::input::Fires;
use tidewheel_core::row::{Fate, RunResult, TaskRow};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;

use super::store::{KeptRun, KeptSchedule, KeptSubmission, Known, Memory, Past, Rows};
use crate::store::reader::range_of;
use crate::store::records::complete;
use crate::store::{
    Answer, AttemptRecord, FiringFate, FiringSummary, LimitSummary, OutputRecord, QueueSummary,
    Reader, RecordedOutcome, Records, RunDetail, RunFilter, RunKind, RunSummary, ScheduleSummary,
    StoreCounts, StoreError, TaskResult, TaskSummary,
};

/// The only part there is.
const SHARD: &str = "memory";

impl Reader for Memory {
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError> {
        let rows = self.rows();
        let mut found: Vec<RunSummary> =
            rows.summaries().filter(|summary| filter.admits(summary)).collect();
        found.sort_by_key(|summary| std::cmp::Reverse(summary.place));
        found.truncate(filter.limit as usize);
        Ok(found)
    }

    fn run(&self, id: RunId) -> Result<Option<RunDetail>, StoreError> {
        Ok(self.rows().detail(id))
    }

    fn find(&self, prefix: &str, limit: u32) -> Result<Vec<RunId>, StoreError> {
        let Some((least, most)) = range_of(prefix) else { return Ok(Vec::new()) };
        let rows = self.rows();
        let ids = rows.summaries().map(|summary| summary.id);
        Ok(ids.filter(|id| (least..=most).contains(id)).take(limit as usize).collect())
    }

    fn counts(&self) -> Result<StoreCounts, StoreError> {
        let rows = self.rows();
        let mut ended: BTreeMap<&str, (TaskState, u64)> = BTreeMap::new();
        for summary in rows.summaries().filter(|summary| !summary.is_live) {
            ended.entry(summary.state.word()).or_insert((summary.state, 0)).1 += 1;
        }
        Ok(StoreCounts {
            live_runs: rows.runs.len() as u64,
            live_submissions: rows.submissions.len() as u64,
            ended: ended.into_values().collect(),
            schedules: rows.schedules.values().filter(|kept| !kept.is_ended).count() as u64,
        })
    }

    fn schedules(&self, ended_too: bool) -> Result<Vec<ScheduleSummary>, StoreError> {
        let rows = self.rows();
        let mut wanted: Vec<&KeptSchedule> =
            rows.schedules.values().filter(|kept| ended_too || !kept.is_ended).collect();
        wanted.sort_by_key(|kept| kept.order);
        let summary =
            wanted.into_iter().map(|KeptSchedule { row, is_ended, .. }| ScheduleSummary {
                id: row.id,
                shard: SHARD.to_owned(),
                spec: (*row.spec).clone(),
                fires: match &row.fires {
                    Fires::Task { profile, priority } => {
                        Fires::Task { profile: (**profile).clone(), priority: *priority }
                    }
                    Fires::Run => Fires::Run,
                },
                state: row.state.clone(),
                is_ended: *is_ended,
            });
        Ok(summary.collect())
    }

    fn firings(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<FiringSummary>, StoreError> {
        let rows = Self::firings(self, schedule).into_iter().rev();
        let early = rows.filter(|row| before.is_none_or(|before| row.nominal < before));
        let summary = early.take(limit as usize).map(|row| FiringSummary {
            nominal: row.nominal,
            origin: row.origin,
            last: row.last,
            count: row.count,
            fate: match row.fate {
                Fate::Fired(run) => FiringFate::Ran(run),
                Fate::Skipped(word) => FiringFate::Skipped(word.to_owned()),
                Fate::NotMade { run, error } => {
                    FiringFate::NotMade { run, error: error.to_string() }
                }
            },
        });
        Ok(summary.collect())
    }

    fn queues(&self) -> Result<Vec<QueueSummary>, StoreError> {
        let rows = self.rows();
        let summary = rows.queues.iter().map(|(name, spec, is_paused)| QueueSummary {
            shard: SHARD.to_owned(),
            name: name.to_string(),
            spec: spec.clone(),
            is_paused: *is_paused,
        });
        Ok(summary.collect())
    }

    fn limits(&self) -> Result<Vec<LimitSummary>, StoreError> {
        let rows = self.rows();
        let summary = rows.limits.iter().map(|(name, spec)| LimitSummary {
            shard: SHARD.to_owned(),
            name: name.to_string(),
            spec: spec.clone(),
        });
        Ok(summary.collect())
    }
}

impl Records for Memory {
    fn attempts(&self, task: TaskId) -> Result<Vec<AttemptRecord>, StoreError> {
        let rows = self.rows();
        let range = (task.index, 0)..=(task.index, u32::MAX);
        let kept = rows.known.get(&task.run).into_iter();
        let mut known: Vec<AttemptRecord> = kept
            .flat_map(|kept| kept.attempts.range(range.clone()))
            .map(|(_, it)| it.clone())
            .collect();
        let tasks = rows.detail(task.run).map(|detail| detail.tasks).unwrap_or_default();
        if let Some(row) = tasks.into_iter().find(|row| row.index == task.index) {
            complete(task, row, &mut known);
        }
        Ok(known)
    }

    fn outputs(&self, task: TaskId) -> Result<Vec<OutputRecord>, StoreError> {
        let rows = self.rows();
        let kept = rows.known.get(&task.run).and_then(|known| known.outputs.get(&task.index));
        let mut outputs = kept.cloned().unwrap_or_default();
        outputs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(outputs)
    }

    fn results(&self, run: RunId) -> Result<BTreeMap<u32, TaskResult>, StoreError> {
        let rows = self.rows();
        let mut results: BTreeMap<u32, TaskResult> = BTreeMap::new();
        let Some(known) = rows.known.get(&run) else { return Ok(results) };
        for ((index, _), record) in &known.attempts {
            let newest = AttemptRecord { stdout: None, stderr: None, ..record.clone() };
            results.entry(*index).or_default().newest = Some(newest);
        }
        for (index, outputs) in known.outputs.iter().filter(|(_, outputs)| !outputs.is_empty()) {
            results.entry(*index).or_default().outputs.clone_from(outputs);
        }
        Ok(results)
    }

    fn outcomes(&self, run: RunId) -> Result<BTreeMap<u32, RecordedOutcome>, StoreError> {
        let rows = self.rows();
        let known = rows.known.get(&run).into_iter().flat_map(|known| &known.attempts);
        Ok(known.filter_map(|((index, _), record)| Some((*index, record.outcome?))).collect())
    }

    fn times(&self, run: RunId) -> Result<BTreeMap<u32, Duration>, StoreError> {
        let rows = self.rows();
        let known = rows.known.get(&run).into_iter().flat_map(|known| &known.attempts);
        let span = |record: &AttemptRecord| Some(record.ended_at?.since(record.started_at?));
        Ok(known.filter_map(|((index, _), record)| Some((*index, span(record)?))).collect())
    }

    fn answer(&self, task: TaskId) -> Result<Option<Answer>, StoreError> {
        let rows = self.rows();
        Ok(rows.known.get(&task.run).and_then(|known| known.answers.get(&task.index)).cloned())
    }
}

impl Rows {
    fn summaries(&self) -> impl Iterator<Item = RunSummary> + '_ {
        let runs = self.runs.values().map(|run| self.run_summary(run));
        let singles = self.submissions.values().map(|single| self.single_summary(single));
        let past = self.history.iter().map(|past| match past {
            Past::Run(run) => self.run_summary(run),
            Past::Single(single) => self.single_summary(single),
        });
        runs.chain(singles).chain(past)
    }

    fn run_summary(&self, run: &KeptRun) -> RunSummary {
        let change = run.change;
        let result = change.and_then(|change| change.result);
        let is_live = result.is_none();
        let ended = || run.tasks.values().filter(|_| !is_live);
        let failed = |row: &&TaskRow| matches!(row.state, TaskState::Failed | TaskState::Unknown);
        let mut errors: Vec<&TaskRow> =
            ended().filter(|row| row.state == TaskState::Failed).collect();
        errors.sort_by_key(|row| (row.at, row.id.index));
        let error = errors.iter().find_map(|row| row.error.as_deref()).map(str::to_owned);
        RunSummary {
            id: run.row.id,
            place: run.order.cast_signed(),
            kind: RunKind::Run,
            name: Some(&*run.row.spec.options.name)
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
            state: match result {
                None => TaskState::Running,
                Some(RunResult::Succeeded) => TaskState::Succeeded,
                Some(RunResult::Failed) => TaskState::Failed,
                Some(RunResult::Cancelled) => TaskState::Cancelled,
            },
            reason: change.and_then(|change| change.stopped).unwrap_or_default(),
            is_live,
            is_paused: is_live && change.is_some_and(|change| change.paused),
            shard: is_live.then(|| SHARD.to_owned()),
            accepted_at: run.row.accepted_at,
            started_at: self.first_start(run.row.id).filter(|_| !is_live),
            ended_at: change.and_then(|change| change.ended_at),
            tasks: run.task_count(),
            failed: ended().filter(failed).count() as u32,
            attempts: ended().map(|row| row.attempts).sum(),
            error,
            priority: None,
            key: None,
            firing: run.row.firing,
        }
    }

    fn single_summary(&self, single: &KeptSubmission) -> RunSummary {
        let (row, task) = (&single.row, single.task.as_ref());
        let state = task.map_or(TaskState::Ready, |task| task.state);
        let is_live = !state.is_terminal();
        let known = self.known.get(&row.id);
        RunSummary {
            id: row.id,
            place: single.order.cast_signed(),
            kind: RunKind::Single,
            name: None,
            state,
            reason: task.map_or(Reason::Ordinary, |task| task.reason),
            is_live,
            is_paused: false,
            shard: is_live.then(|| SHARD.to_owned()),
            accepted_at: row.accepted_at,
            started_at: known.and_then(|known| known.started.get(&0)).copied(),
            ended_at: task.filter(|_| !is_live).map(|task| task.at),
            tasks: 1,
            failed: u32::from(state == TaskState::Failed),
            attempts: task.map_or(0, |task| task.attempts),
            error: task.and_then(|task| task.error.as_deref()).map(str::to_owned),
            priority: Some(row.priority.value()),
            key: row.key.as_deref().map(str::to_owned),
            firing: row.firing,
        }
    }

    fn first_start(&self, run: RunId) -> Option<Timestamp> {
        let known = self.known.get(&run)?;
        let of_attempts = known.attempts.values().filter_map(|record| record.started_at);
        known.started.values().copied().chain(of_attempts).min()
    }

    fn detail(&self, id: RunId) -> Option<RunDetail> {
        let past = || self.history.iter().find(|past| past.id() == id);
        let run = match (self.runs.get(&id), past()) {
            (Some(run), _) => Some(run),
            (None, Some(Past::Run(run))) => Some(&**run),
            _ => None,
        };
        if let Some(run) = run {
            let attachment = &run.row.spec.attachment;
            return Some(RunDetail {
                summary: self.run_summary(run),
                tasks: run.tasks(self.known.get(&id)),
                payload: attachment.payload.as_deref().map(<[u8]>::to_vec),
                payload_kind: attachment.kind.as_deref().map(str::to_owned),
            });
        }
        let single = match (self.submissions.get(&id), past()) {
            (Some(single), _) => single,
            (None, Some(Past::Single(single))) => single,
            _ => return None,
        };
        let attachment = single.row.attachment.as_deref();
        let summary = self.single_summary(single);
        Some(RunDetail {
            tasks: vec![TaskSummary::of_single(&summary)],
            summary,
            payload: attachment.and_then(|it| it.payload.as_deref()).map(<[u8]>::to_vec),
            payload_kind: attachment.and_then(|it| it.kind.as_deref()).map(str::to_owned),
        })
    }
}

impl KeptRun {
    fn task_count(&self) -> u32 {
        let added = self.added.keys().next_back().map_or(0, |last| last + 1);
        self.row.spec.graph.len().max(added)
    }

    fn tasks(&self, known: Option<&Known>) -> Vec<TaskSummary> {
        let graph = &self.row.spec.graph;
        let mut tasks: Vec<TaskSummary> = (0..graph.len())
            .zip(graph.all_dependencies())
            .map(|(index, after)| {
                TaskSummary::blocked(index, graph.name(index).into_owned(), after)
            })
            .collect();
        for (index, spec) in &self.added {
            for before in &spec.before {
                if let Some(task) = tasks.get_mut(*before as usize) {
                    task.after.push(*index);
                }
            }
            tasks.push(TaskSummary::blocked(*index, spec.name.to_string(), spec.after.clone()));
        }
        for (index, row) in &self.tasks {
            let Some(summary) = tasks.get_mut(*index as usize) else { continue };
            summary.state = row.state;
            summary.reason = row.reason;
            summary.attempts = row.attempts;
            summary.started_at = known.and_then(|known| known.started.get(index)).copied();
            summary.at = Some(row.at);
            summary.until = row.until;
            summary.error = row.error.as_deref().map(str::to_owned);
        }
        tasks
    }
}
