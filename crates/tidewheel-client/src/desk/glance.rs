//! What matters now, as far as it is stored: what fails, asks and runs, and how flows did.
//!
//! Which flows there are, and what waits for room, is known to a [house](crate::house).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::store::{RunFilter, RunKind, RunSummary, StoreCounts, TaskSummary};
use tidewheel::{TaskState, Timestamp};

use super::error::DeskError;
use super::local::LocalDesk;
use super::states::run_state;
use super::view::RunView;
use crate::api::{
    ApprovalLine, ApprovalList, FlowGlance, Glance, PastRun, RunLine, RunNow, RunState,
    ScheduleLine, ScheduleWord, StoreFigures,
};

/// Runs of a flow that are looked at.
pub(crate) const PAST: u32 = 30;

/// The newest of them that went well, of which it is said whether they take longer than those before: one alone is chance.
const LATELY: usize = 5;

/// Runs that have not ended which are looked at, so many together.
const LIVE_MAX: usize = 10_000;
const TOGETHER: u32 = 500;

/// Of those, the ones that may ask somebody and are looked into: to read what a run was started with takes its time.
const ASKING_MAX: usize = 1_000;

/// Runs that failed which are looked at, for flows that are not served any more.
const FAILED_MAX: u32 = 50;

/// Steps that run of which the names are told.
const NAMES_MAX: usize = 3;

/// Runs that have not ended which are told of.
const NOW_MAX: usize = 20;

/// A flow that there is.
#[derive(Debug)]
pub(crate) struct KnownFlow {
    pub name: String,
    /// The names of its schedules.
    pub schedules: Vec<String>,
    /// Whether its file says something else by now, which cannot be run.
    pub is_outdated: bool,
}

/// What is known of runs that have not ended.
#[derive(Debug, Default)]
struct Live {
    now: Vec<RunNow>,
    approvals: Vec<ApprovalLine>,
    count: u64,
    /// Those that may ask and were looked into.
    asked: usize,
    /// Whether some that may ask were not.
    is_cut: bool,
}

impl LocalDesk {
    /// What matters now of these flows and schedules, as far as it is stored: what waits for room is not.
    pub(crate) fn glance_at(
        &self,
        at: Timestamp,
        flows: Vec<KnownFlow>,
        schedules: Vec<ScheduleLine>,
    ) -> Result<Glance, DeskError> {
        let glance = |KnownFlow { name, schedules: own, is_outdated }: KnownFlow| {
            let active = schedules.iter().filter(|it| it.state == ScheduleWord::Active);
            let next = active.filter(|it| own.contains(&it.name)).filter_map(|it| it.next).min();
            Ok(FlowGlance { outdated: is_outdated, schedules: own, next, ..self.past(&name)? })
        };
        let flows = flows.into_iter().map(glance).collect::<Result<Vec<_>, DeskError>>()?;
        let Live { mut now, approvals, count, is_cut, .. } = self.live()?;
        for now in &mut now {
            let flow = flows.iter().find(|flow| Some(&flow.name) == now.run.flow.as_ref());
            now.expected_end = expected_end(now, flow.and_then(|flow| flow.median));
        }
        Ok(Glance {
            version: None,
            at,
            failing: self.failing(&flows)?,
            late: schedules.into_iter().filter(|it| it.is_late(at)).collect(),
            approvals,
            approvals_more: is_cut,
            now,
            running: count,
            waiting: 0,
            flows,
        })
    }

    /// The newest runs of a flow, and what they say of it.
    pub(crate) fn past(&self, flow: &str) -> Result<FlowGlance, DeskError> {
        let filter = RunFilter {
            name: Some(flow.to_owned()),
            kind: Some(RunKind::Run),
            limit: PAST,
            ..RunFilter::default()
        };
        let mut runs = self.runs_within(&filter)?;
        runs.reverse();
        let runs: Vec<PastRun> = runs.iter().map(|run| self.past_run(run)).collect();
        Ok(FlowGlance { name: flow.to_owned(), ..summed_up(runs) })
    }

    pub(super) fn past_run(&self, run: &RunSummary) -> PastRun {
        let is_abandoned = self.is_abandoned(run).unwrap_or_default();
        let began = run.started_at.unwrap_or(run.accepted_at);
        let until = run.ended_at.unwrap_or_else(wall_clock);
        PastRun {
            run_id: run.id.to_string(),
            state: run_state(run, is_abandoned),
            accepted_at: run.accepted_at,
            took: Some(until.since(began)),
        }
    }

    /// Of each flow whose newest run that ended did not go well, that run; the newest first.
    fn failing(&self, past: &[FlowGlance]) -> Result<Vec<RunLine>, DeskError> {
        let mut found: BTreeMap<&str, RunLine> = BTreeMap::new();
        let known: BTreeSet<&str> = past.iter().map(|flow| flow.name.as_str()).collect();
        let mut failing = Vec::new();
        for flow in past {
            let newest = flow.runs.iter().rev().find(|run| has_ended(run.state));
            if let Some(run) = newest.filter(|run| is_bad(run.state)) {
                failing.extend(self.listed_run(&run.run_id)?);
            }
        }
        let filter = RunFilter {
            kind: Some(RunKind::Run),
            live: Some(false),
            states: vec![TaskState::Failed, TaskState::Unknown],
            limit: FAILED_MAX,
            ..RunFilter::default()
        };
        let recent = self.runs_within(&filter)?;
        for run in &recent {
            let name = run.name.as_deref().unwrap_or_default();
            if !known.contains(name) && !found.contains_key(name) && self.is_newest(run)? {
                found.insert(name, self.line(run));
            }
        }
        failing.extend(found.into_values());
        failing.sort_by_key(|run| std::cmp::Reverse(run.accepted_at));
        Ok(failing)
    }

    fn listed_run(&self, id: &str) -> Result<Option<RunLine>, DeskError> {
        let detail = super::find::run_id_of(id).map(|id| self.run_within(id));
        let detail = detail.transpose()?.flatten();
        Ok(detail.map(|detail| self.line(&detail.summary)))
    }

    /// Whether no run of the same name ended after this one.
    fn is_newest(&self, run: &RunSummary) -> Result<bool, DeskError> {
        let filter = RunFilter {
            name: run.name.clone(),
            kind: Some(RunKind::Run),
            live: Some(false),
            limit: 1,
            ..RunFilter::default()
        };
        let newest = self.runs_within(&filter)?;
        Ok(newest.first().is_none_or(|newest| newest.id == run.id))
    }

    /// Runs that have not ended, and which of their steps ask: an old one may, whatever came after it.
    fn live(&self) -> Result<Live, DeskError> {
        let mut filter = RunFilter {
            kind: Some(RunKind::Run),
            live: Some(true),
            limit: TOGETHER,
            ..RunFilter::default()
        };
        let (mut live, mut looks) = (Live::default(), 0);
        loop {
            let mut page = self.read(|reader| reader.runs(&filter))?;
            let is_last = page.len() < TOGETHER as usize;
            filter.before = page.last().map(|run| run.place);
            looks += page.len();
            page.retain(|run| self.reach.has(run.name.as_deref()));
            live.count += page.len() as u64;
            self.look_into(&page, &mut live)?;
            if is_last {
                break;
            }
            if looks >= LIVE_MAX {
                live.is_cut = true;
                break;
            }
        }
        if live.is_cut && self.reach.is_all() {
            live.count = self.read(|reader| reader.live_counts())?.live_runs;
        }
        live.approvals.sort_by_key(|it| it.since);
        Ok(live)
    }

    /// Of the newest runs it is told how they stand, and of all that may ask which of their steps do.
    fn look_into(&self, runs: &[RunSummary], live: &mut Live) -> Result<(), DeskError> {
        for (run, may_ask) in runs.iter().zip(self.may_ask(runs)) {
            let is_told = live.now.len() < NOW_MAX;
            let is_asked = may_ask && live.asked < ASKING_MAX;
            live.is_cut |= may_ask && !is_asked;
            if !is_told && !is_asked {
                continue;
            }
            let Some(detail) = self.run_within(run.id)? else { continue };
            let view = self.glimpse(detail)?;
            if is_asked {
                live.asked += 1;
                live.approvals.extend(view.approvals());
            }
            if is_told {
                live.now.push(view.now(self.line(run)));
            }
        }
        Ok(())
    }

    /// Steps that wait for somebody to say yes or no.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn approvals(&self) -> Result<ApprovalList, DeskError> {
        let Live { approvals, is_cut, .. } = self.live()?;
        Ok(ApprovalList { version: None, approvals, more: is_cut })
    }

    /// How much is stored.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn store(&self) -> Result<StoreFigures, DeskError> {
        let counts = self.read(|reader| reader.counts())?;
        Ok(self.figures_of(&counts))
    }

    /// The same without how many have ended, which is counted in all of history.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn store_at_once(&self) -> Result<StoreFigures, DeskError> {
        let counts = self.read(|reader| reader.live_counts())?;
        Ok(self.figures_of(&counts))
    }

    fn figures_of(&self, counts: &StoreCounts) -> StoreFigures {
        let database = self.folder.database();
        let size = |suffix: &str| {
            let mut path = database.as_os_str().to_owned();
            path.push(suffix);
            std::fs::metadata(path).map_or(0, |about| about.len())
        };
        let ended = counts.ended.iter().map(|(state, count)| (state.word().to_owned(), *count));
        StoreFigures {
            version: None,
            folder: self.folder.path().display().to_string(),
            database_bytes: size("") + size("-wal"),
            live: counts.live_runs + counts.live_submissions,
            ended: ended.collect(),
            schedules: counts.schedules,
        }
    }
}

impl RunView {
    fn now(&self, run: RunLine) -> RunNow {
        let tasks = self.detail.tasks.iter();
        let running = tasks.clone().filter(|task| task.state.holds_slot());
        RunNow {
            run,
            ended: tasks.filter(|task| task.state.is_terminal()).count() as u32,
            running: running.take(NAMES_MAX).map(|task| task.name.clone()).collect(),
            expected_end: None,
        }
    }

    /// Whether a task of a run that goes on waits for somebody: it looks now and then whether they have answered, and waits
    /// in between.
    pub(super) fn has_asked(&self, task: &TaskSummary) -> bool {
        let is_open = self.detail.summary.is_live && !task.state.is_terminal();
        is_open && task.attempts > 0 && self.definition.asks(&task.name)
    }

    /// The steps that wait for somebody.
    fn approvals(&self) -> Vec<ApprovalLine> {
        let summary = &self.detail.summary;
        let asks = |task: &&TaskSummary| self.has_asked(task);
        let line = |task: &TaskSummary| ApprovalLine {
            run_id: summary.id.to_string(),
            flow: summary.name.clone(),
            step: task.name.clone(),
            asks: self.definition.waits_for(&task.name).unwrap_or_default(),
            since: self.ready_at(task),
            wants_code: self.definition.wants_code(&task.name),
        };
        self.detail.tasks.iter().filter(asks).map(line).collect()
    }
}

pub(crate) fn has_ended(state: RunState) -> bool {
    let goes_on = [RunState::Running, RunState::Waiting, RunState::Paused, RunState::Interrupted];
    !goes_on.contains(&state)
}

fn is_bad(state: RunState) -> bool {
    matches!(state, RunState::Failed | RunState::Unknown)
}

/// What past runs say of a flow.
fn summed_up(runs: Vec<PastRun>) -> FlowGlance {
    let counted: Vec<&PastRun> =
        runs.iter().filter(|run| is_bad(run.state) || run.state == RunState::Succeeded).collect();
    let good: Vec<&&PastRun> =
        counted.iter().filter(|run| run.state == RunState::Succeeded).collect();
    let ok = (!counted.is_empty()).then(|| good.len() as f64 / counted.len() as f64);
    let times: Vec<Duration> = good.iter().filter_map(|run| run.took).collect();
    let (before, lately) = times.split_at(times.len().saturating_sub(LATELY));
    let trend = middle(before).zip(middle(lately)).filter(|(before, _)| !before.is_zero());
    let trend = trend.map(|(before, lately)| lately.as_secs_f64() / before.as_secs_f64() - 1.0);
    FlowGlance {
        name: String::new(),
        outdated: false,
        runs,
        ok,
        median: middle(&times),
        trend,
        next: None,
        schedules: Vec::new(),
    }
}

/// That which half of them do not exceed.
fn middle(times: &[Duration]) -> Option<Duration> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// When a run ends that takes as long as others of its flow.
fn expected_end(now: &RunNow, median: Option<Duration>) -> Option<Timestamp> {
    let began = now.run.started_at?;
    Some(began.after(median?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: RunState, seconds: u64) -> PastRun {
        PastRun {
            run_id: String::new(),
            state,
            accepted_at: Timestamp::UNIX_EPOCH,
            took: Some(Duration::from_secs(seconds)),
        }
    }

    #[test]
    fn only_what_ended_by_itself_counts_for_how_a_flow_does() {
        use RunState::{Cancelled, Failed, Running, Succeeded};
        let runs = [(Succeeded, 10), (Failed, 1), (Succeeded, 30), (Cancelled, 2), (Succeeded, 20)];
        let mut runs: Vec<PastRun> = runs.map(|(state, took)| run(state, took)).into();
        runs.push(run(Running, 99));
        let glance = summed_up(runs);
        assert_eq!(glance.ok, Some(0.75));
        assert_eq!(glance.median, Some(Duration::from_secs(20)));
        assert_eq!(glance.trend, None, "there are none before the newest");
        let nothing = summed_up(vec![run(Running, 5)]);
        assert_eq!((nothing.ok, nothing.median, nothing.trend), (None, None, None));
    }

    #[test]
    fn lately_is_several_runs_beside_those_before_them() {
        let trend = |times: &[u64]| {
            summed_up(times.iter().map(|it| run(RunState::Succeeded, *it)).collect()).trend
        };
        assert_eq!(trend(&[10, 10, 10, 10, 10, 10, 90]), Some(0.0), "one alone is chance");
        assert_eq!(trend(&[10, 12, 8, 20, 20, 20, 20, 20]), Some(1.0));
        assert_eq!(trend(&[20, 20, 20, 10, 10, 10, 10, 10]), Some(-0.5));
        assert_eq!(trend(&[10, 20, 30, 40, 50]), None, "there is nothing to compare with");
    }
}
