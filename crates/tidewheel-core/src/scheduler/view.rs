//! Looking at the scheduler without changing it: figures, reports, names.
//!
//! Why a task waits is in `explain`.

use std::sync::Arc;

use super::state::Scheduler;
use super::waiting::{Looks, note_look};
use crate::id::{RunId, RunKey, ScheduleId, ScheduleKey, TaskId, TaskKey};
use crate::policy::Priority;
use crate::report::{Counts, RunReport, TaskReport};
use crate::run::Work;
use crate::schedule::{Counters, ScheduleSpec, Span};
use crate::spec::{QueueSpec, RunSpec};
use crate::statistics::{Overview, Statistics};
use crate::time::{Now, Timestamp};

impl Scheduler {
    /// Turns notices on or off.
    pub fn set_notices(&mut self, wanted: bool) {
        self.config.notices = wanted;
    }

    /// The report of a run that has ended; the scheduler forgets it.
    pub fn take_report(&mut self, key: RunKey) -> Option<RunReport> {
        let result = self.run(key.0)?.result?;
        let Some(Work::Run(run)) = self.works.remove(key.0) else { return None };
        let run = *run;
        for used in &run.profiles {
            self.profiles.leave(used.profile);
        }
        let errors = run.extras.into_iter();
        let errors = errors.filter_map(|(index, extra)| Some((index, extra.error?))).collect();
        Some(RunReport {
            id: run.id,
            result,
            tasks: run.tasks,
            errors,
            added: run.added.iter().map(|spec| spec.name.clone()).collect(),
            counts: run.counts,
            accepted_at: run.accepted_at,
            started_at: run.started_at,
            ended_at: run.ended_at,
            graph: run.spec.graph.clone(),
        })
    }

    /// What a queue is like, if there is one of that name.
    #[must_use]
    pub fn queue_spec(&self, name: &Arc<str>) -> Option<&QueueSpec> {
        let index = self.find_queue(name).ok()?;
        Some(&self.queues[index as usize].spec)
    }

    /// A task as it stands.
    #[must_use]
    pub fn task(&self, key: TaskKey) -> Option<TaskReport> {
        let work = self.works.get(key.run.0)?;
        let task = work.task(key.index)?;
        let error = work.extra(key.index).and_then(|extra| extra.error.clone());
        Some(TaskReport::new(TaskId { run: work.id(), index: key.index }, task, error))
    }

    /// The priority of a task as it is by now.
    #[must_use]
    pub fn priority(&self, key: TaskKey) -> Option<Priority> {
        self.member(key).map(|task| Priority::new(i64::from(task.priority)))
    }

    /// How many tasks of a run are in each state.
    #[must_use]
    pub fn counts(&self, run: RunKey) -> Option<Counts> {
        self.run(run.0).map(|run| run.counts)
    }

    /// When a run was accepted.
    #[must_use]
    pub fn accepted_at(&self, run: RunKey) -> Option<Timestamp> {
        self.run(run.0).map(|run| run.accepted_at)
    }

    /// The durable identity of a run or single submission.
    #[must_use]
    pub fn run_id(&self, run: RunKey) -> Option<RunId> {
        self.works.get(run.0).map(Work::id)
    }

    /// A live run by its durable identity.
    #[must_use]
    pub fn find_run(&self, id: RunId) -> Option<RunKey> {
        self.run_keys.get(&id).copied().map(RunKey)
    }

    /// What was asked for as a run.
    #[must_use]
    pub fn run_spec(&self, run: RunKey) -> Option<&Arc<RunSpec>> {
        self.run(run.0).map(|run| &run.spec)
    }

    /// What whoever runs a task must know: its own payload if it was added with one, else that of
    /// the run or single submission.
    #[must_use]
    pub fn payload(&self, task: TaskKey) -> Option<&Arc<[u8]>> {
        match self.works.get(task.run.0)? {
            Work::Run(run) => {
                let added = task.index.checked_sub(run.graph().len());
                let own = added.and_then(|added| run.added.get(added as usize)?.payload.as_ref());
                own.or(run.spec.attachment.payload.as_ref())
            }
            Work::Single(single) => single.extra.as_ref()?.attachment.as_ref()?.payload.as_ref(),
        }
    }

    /// Who understands the payload of a run or single submission.
    #[must_use]
    pub fn kind(&self, run: RunKey) -> Option<&Arc<str>> {
        match self.works.get(run.0)? {
            Work::Run(run) => run.spec.attachment.kind.as_ref(),
            Work::Single(single) => single.extra.as_ref()?.attachment.as_ref()?.kind.as_ref(),
        }
    }

    /// The nominal instant of the firing that a single task is.
    #[must_use]
    pub fn nominal(&self, run: RunKey) -> Option<Timestamp> {
        match self.works.get(run.0)? {
            Work::Run(_) => None,
            Work::Single(single) => single.extra.as_ref()?.nominal,
        }
    }

    /// The live schedule whose firing a run or single task is.
    #[must_use]
    pub fn schedule_of(&self, run: RunKey) -> Option<ScheduleKey> {
        match self.works.get(run.0)? {
            Work::Run(run) => run.schedule.map(ScheduleKey),
            Work::Single(single) => single.schedule.map(ScheduleKey),
        }
    }

    /// A run or single submission by its durable identity. For a submission of this memory all are looked
    /// through, because keeping them in order would cost each of them more than the few questions do; for one that
    /// was restored none is: handles of before know nothing but the identity.
    #[must_use]
    pub fn find_work(&self, id: RunId) -> Option<RunKey> {
        let known = self.find_run(id).or_else(|| self.restored.get(&id).copied().map(RunKey));
        // What has ended is in `works` until its report is taken.
        let are_all_known = self.works.len() <= self.run_keys.len() + self.restored.len();
        if known.is_some() || are_all_known {
            return known;
        }
        let mut works = self.works().inspect(|_| note_look());
        works.find(|(_, known)| *known == id).map(|(key, _)| key)
    }

    /// Every run and single submission in memory.
    pub fn works(&self) -> impl Iterator<Item = (RunKey, RunId)> + '_ {
        self.works.iter().map(|(key, work)| (RunKey(key), work.id()))
    }

    /// Names of the tasks that were added to a run, by index; the first follows the graph's last.
    pub fn added_names(&self, run: RunKey, from: usize) -> impl Iterator<Item = &Arc<str>> {
        let added = self.run(run.0).and_then(|run| run.added.get(from..)).unwrap_or_default();
        added.iter().map(|spec| &spec.name)
    }

    /// The name of a task; a single submission is called by its identity.
    #[must_use]
    pub fn task_name(&self, key: TaskKey) -> Option<Arc<str>> {
        match self.works.get(key.run.0)? {
            Work::Run(run) if (key.index as usize) < run.tasks.len() => Some(run.name(key.index)),
            Work::Run(_) => None,
            Work::Single(single) => Some(single.id.to_string().into()),
        }
    }

    /// Attempts that run now.
    pub fn running(&self) -> impl Iterator<Item = (TaskKey, u32)> + '_ {
        self.works.iter().flat_map(move |(run, work)| {
            let tasks = match work {
                Work::Run(run) if run.active > 0 => run.tasks.as_slice(),
                Work::Run(_) => &[],
                Work::Single(single) => std::slice::from_ref(&single.task),
            };
            let running = tasks.iter().enumerate().filter(|(_, task)| task.state.holds_slot());
            running.map(move |(index, task)| {
                (TaskKey { run: RunKey(run), index: index as u32 }, task.attempts)
            })
        })
    }

    /// Every live schedule.
    pub fn schedules(&self) -> impl Iterator<Item = (ScheduleKey, ScheduleId)> + '_ {
        self.schedules.iter().map(|(key, entry)| (ScheduleKey(key), entry.id))
    }

    /// Trigger and policies of a schedule.
    #[must_use]
    pub fn schedule_spec(&self, key: ScheduleKey) -> Option<&Arc<ScheduleSpec>> {
        self.schedules.get(key.0).map(|entry| &entry.spec)
    }

    /// The durable identity of a live schedule.
    #[must_use]
    pub fn schedule_id(&self, key: ScheduleKey) -> Option<ScheduleId> {
        self.schedules.get(key.0).map(|entry| entry.id)
    }

    /// A live schedule by its name.
    #[must_use]
    pub fn find_schedule_named(&self, name: &str) -> Option<ScheduleKey> {
        self.schedule_names.get(name).copied().map(ScheduleKey)
    }

    /// The instants of a schedule that can be asked for: see [`Schedule::instants`].
    ///
    /// [`Schedule::instants`]: crate::schedule::Schedule::instants
    #[must_use]
    pub fn schedule_instants(&self, key: ScheduleKey, span: Span, max: usize) -> Vec<Timestamp> {
        let entry = self.schedules.get(key.0);
        entry.map_or_else(Vec::new, |entry| entry.schedule.instants(span).take(max).collect())
    }

    /// Whether a schedule is paused.
    #[must_use]
    pub fn is_schedule_paused(&self, key: ScheduleKey) -> bool {
        self.schedules.get(key.0).is_some_and(|entry| entry.schedule.is_paused())
    }

    /// Figures of a schedule.
    #[must_use]
    pub fn schedule_counters(&self, key: ScheduleKey) -> Option<Counters> {
        self.schedules.get(key.0).map(|entry| entry.schedule.counters())
    }

    /// The next nominal instant of a schedule.
    #[must_use]
    pub fn schedule_next(&self, key: ScheduleKey) -> Option<Timestamp> {
        self.schedules.get(key.0).and_then(|entry| entry.schedule.next_nominal())
    }

    /// The newest instant of a schedule that is decided, or was passed over when it was set: none up to it fires
    /// by itself any more.
    #[must_use]
    pub fn schedule_decided(&self, key: ScheduleKey) -> Option<Timestamp> {
        self.schedules.get(key.0).map(|entry| entry.schedule.decided())
    }

    /// Figures of the whole scheduler and of each queue.
    #[must_use]
    pub fn overview(&self, now: Now) -> Overview {
        let mut overview = Overview {
            slots: self.config.slots,
            runs: self.run_keys.len() as u64,
            delayed: self.delayed,
            schedules: self.schedules.len() as u64,
            timers: self.timers.len() as u64,
            paused: self.paused,
            backoff_level: self
                .schedules
                .values()
                .map(|entry| entry.schedule.counters().backoff_level)
                .max()
                .unwrap_or(0),
            ..Overview::default()
        };
        let mut oldest = now.monotonic;
        let mut looks = Looks::new();
        for (index, queue) in self.queues.iter().enumerate() {
            let waiting = self.waiting_figures(index as u32, now.monotonic, &mut looks);
            oldest = oldest.min(waiting.oldest);
            let statistics = Statistics {
                active: u64::from(queue.active),
                queued: queue.waiting,
                promotions: queue.statistics.promotions + waiting.promotions,
                ..queue.statistics.clone()
            };
            overview.total.add(&statistics);
            overview.queues.push((queue.name.clone(), statistics));
        }
        overview.oldest_wait = now.monotonic.since(oldest);
        overview
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::super::waiting::LOOKS;
    use super::*;
    use crate::decision::Decision;
    use crate::input::{CancelMode, Command, Input, Submission};
    use crate::row::{Snapshot, SubmissionRow};
    use crate::spec::{Config, Profile};

    fn waiting(number: u128) -> (SubmissionRow, Option<crate::row::TaskRow>) {
        let row = SubmissionRow {
            id: RunId(number),
            profile: Arc::new(Profile::default()),
            priority: Priority::NORMAL,
            deadline: None,
            key: None,
            accepted_at: Timestamp::default(),
            firing: None,
            attachment: None,
        };
        (row, None)
    }

    #[test]
    fn restored_submissions_are_found_without_looking_through_all() {
        const MANY: u128 = 100_000;
        let snapshot =
            Snapshot { submissions: (1..=MANY).map(waiting).collect(), ..Snapshot::default() };
        let (config, now) = (Config { slots: Some(1), ..Config::default() }, Now::default());
        let mut decision = Decision::volatile();
        let restored = Scheduler::restore(config, snapshot, &BTreeSet::new(), now, &mut decision);
        let mut scheduler = restored.expect("rows that make sense");
        assert_eq!(scheduler.find_work(RunId(MANY + 1)), None);
        // As when whoever waits for them goes away, each by a handle of before.
        for number in (1..=MANY).rev() {
            let run = scheduler.find_work(RunId(number)).expect("it waits");
            assert_eq!(scheduler.run_id(run), Some(RunId(number)));
            let task = TaskKey { run, index: 0 };
            let mode = CancelMode::Stop { grace: Duration::ZERO };
            let command = Command::CancelTask { task, mode };
            scheduler.step(now, Input::Command(command), &mut decision);
            decision.clear();
        }
        assert_eq!(LOOKS.get(), 0);
        // One of this memory is found all the same.
        let own = Submission { id: RunId(MANY + 2), ..Submission::default() };
        scheduler.step(now, Input::Command(Command::Submit(own)), &mut decision);
        assert!(scheduler.find_work(RunId(MANY + 2)).is_some());
        assert_eq!(LOOKS.get(), 2, "the first still runs");
        scheduler.check();
    }
}
