//! The callers of a world: what they ask for, and what they may rely on once they have an answer.
//!
//! Starting again is believed as soon as it is asked for, stopping only when it was answered: an
//! answer that never came binds nobody.

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::MakeRun;
use tidewheel_core::explain::Hold;
use tidewheel_core::id::{RunId, RunKey, ScheduleId, ScheduleKey, TaskId, TaskKey};
use tidewheel_core::input::{
    CancelMode, Command, Dependents, Event, Fires, Input, Rejection, Reply, ShutdownMode,
    Submission,
};
use tidewheel_core::policy::Priority;
use tidewheel_core::schedule::Span;
use tidewheel_core::task::TaskState;

use crate::workload::{self, QUEUES};
use crate::workload_groups;
use crate::world::World;

/// What a caller waits for an answer to.
#[derive(Debug, Clone)]
pub enum Asked {
    /// Accept a run or submission.
    Work(RunId),
    /// Accept a schedule.
    Schedule(ScheduleId),
    /// Change a schedule.
    Update(ScheduleId),
    /// Fire what the trigger did not.
    ByHand(&'static str),
    /// Accept the run of a firing.
    Firing(MakeRun),
    /// Start nothing.
    Pause,
    /// Go on.
    Resume,
    /// Go on with a run.
    ResumeRun(RunId),
    /// Go on with a queue.
    ResumeQueue(Arc<str>),
    /// Start nothing of a run.
    PauseRun(RunId),
    /// Start nothing of a queue.
    PauseQueue(Arc<str>),
    /// End a run or submission.
    Cancel(RunId),
    /// End a run or submission, clean-up too.
    End(RunId),
    /// End a task.
    CancelTask(TaskId),
    /// Come to an end.
    ShutDown(ShutdownMode),
    /// Use so many slots.
    Slots(Option<u32>),
    /// Use so many slots for a run.
    RunSlots(RunId, Option<u32>),
    /// Change a priority: of a run, or of a task.
    Priority(&'static str),
    /// Put a new task before others.
    AddBefore,
    /// Anything else.
    Other,
}

/// An input in a few words, for the trace.
#[must_use]
pub fn brief(input: &Input) -> String {
    match input {
        Input::Command(Command::SubmitRun { id, spec }) => {
            format!("submit run {id} of {} tasks", spec.graph.len())
        }
        Input::Command(Command::AddSchedule { id, spec, .. }) => {
            format!("add schedule {id} {:?}", spec.trigger)
        }
        Input::Command(Command::SubmitFiring { id, spec, .. }) => {
            format!("submit firing {id} of {} tasks", spec.graph.len())
        }
        Input::Command(command) => format!("{command:?}"),
        Input::Event(Event::TimePassed) => "time passed".into(),
        Input::Event(event) => format!("{event:?}"),
    }
}

impl World {
    /// Defines queues and limits, without faults.
    pub(crate) fn set_up(&mut self) {
        self.faults = false;
        for name in QUEUES {
            let spec = workload::queue(&mut self.random);
            self.promises.queues.insert(name.into(), spec.clone());
            self.command(Command::DefineQueue { name: name.into(), spec });
        }
        if self.random.percent(20) {
            let name: Arc<str> = tidewheel_core::spec::DEFAULT_QUEUE.into();
            let spec = workload::queue(&mut self.random);
            self.promises.queues.insert(name.clone(), spec.clone());
            self.command(Command::DefineQueue { name, spec });
        }
        let limits = workload::limits(&mut self.random).into_iter().chain(self.extremes.limit());
        for (name, spec) in limits.collect::<Vec<_>>() {
            self.command(Command::DefineLimit { name, spec });
        }
        self.faults = true;
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.turn(vec![Input::Command(command)], vec![Asked::Other]);
    }

    /// Asks for a few random things in one turn.
    pub(crate) fn ask(&mut self, count: u64) {
        let mut inputs = Vec::new();
        let mut asked = Vec::new();
        for _ in 0..count {
            if let Some((command, answer)) = self.random_command() {
                self.relax(&answer);
                inputs.push(Input::Command(command));
                asked.push(answer);
            }
        }
        self.turn(inputs, asked);
    }

    fn random_command(&mut self) -> Option<(Command, Asked)> {
        match self.random.below(100) {
            0..=24 => self.submit_run(),
            25..=44 => self.submit_single(),
            45..=51 => self.add_schedule(),
            52..=57 => self.add_tasks(),
            58..=62 => self.remove_task(),
            63..=66 => self.cancel_run(),
            67..=69 => self.cancel_task(),
            70..=71 => self.abandon(),
            72..=77 => self.pause_run(),
            78 => self.set_run_slots(),
            79 => self.set_priority(),
            80..=82 => self.pause_queue(),
            83..=86 => self.pause_all(),
            87..=90 => self.change_schedule(),
            91..=92 => self.set_slots(),
            93..=95 => self.close_run(),
            96 => self.change_queue(),
            97 => Some((Command::ResetBreaker(workload::BREAKER.into()), Asked::Other)),
            _ => self.shut_down_sometimes(),
        }
    }

    fn submit_run(&mut self) -> Option<(Command, Asked)> {
        let id = RunId(self.fresh());
        let mut spec = workload::run(&mut self.random);
        self.extremes.exaggerate_run(&mut spec, &mut self.coverage);
        Some((Command::SubmitRun { id, spec: Arc::new(spec) }, Asked::Work(id)))
    }

    fn submit_single(&mut self) -> Option<(Command, Asked)> {
        let id = RunId(self.fresh());
        let mut profile = workload::profile(&mut self.random);
        self.extremes.exaggerate(&mut profile, &mut self.coverage);
        let priority = profile.priority;
        let profile = self.engine.as_mut()?.scheduler_mut().profile(&profile).ok()?;
        let submission = Submission {
            id,
            profile,
            priority,
            deadline: self.random.percent(15).then(|| self.random.millis(500, 60_000)),
            key: workload::key(&mut self.random),
            attachment: workload::attachment(&mut self.random).map(Arc::new),
        };
        Some((Command::Submit(submission), Asked::Work(id)))
    }

    fn add_schedule(&mut self) -> Option<(Command, Asked)> {
        // Schedules are not moved: a guest who has any keeps its work.
        let has_none = self.is_guest && !self.random.percent(10);
        if self.schedules.len() >= 6 || has_none {
            return None;
        }
        let id = ScheduleId(self.fresh() << 64);
        let mut spec = Box::new(workload::schedule(&mut self.random, self.now.wall));
        self.extremes.exaggerate_schedule(&mut spec, &mut self.coverage);
        let mut profile = workload::profile(&mut self.random);
        self.extremes.exaggerate(&mut profile, &mut self.coverage);
        let profile = self.engine.as_mut()?.scheduler_mut().profile(&profile).ok()?;
        let priority = Priority::new(self.random.between(0, 100) as i64);
        self.schedules.insert(id, false);
        let fires = match self.random.below(5) {
            0..=1 => Fires::Run,
            _ => Fires::Task { profile, priority },
        };
        Some((Command::AddSchedule { id, spec, fires }, Asked::Schedule(id)))
    }

    /// A run in memory and its identity; sometimes one that is no longer there.
    fn some_work(&mut self) -> Option<(RunKey, RunId)> {
        let scheduler = self.engine.as_ref()?.scheduler();
        let works: Vec<(RunKey, RunId)> = scheduler.works().collect();
        (!works.is_empty()).then(|| *self.random.pick(&works))
    }

    fn some_run(&mut self) -> Option<(RunKey, RunId)> {
        let work = self.some_work()?;
        self.store.rows().runs.contains_key(&work.1).then_some(work)
    }

    fn task_count(&self, id: RunId) -> u32 {
        self.store.rows().runs.get(&id).map_or(1, |run| run.task_count())
    }

    fn some_task(&mut self) -> Option<(TaskKey, TaskId)> {
        let (run, id) = self.some_work()?;
        let index = self.random.below(u64::from(self.task_count(id))) as u32;
        Some((TaskKey { run, index }, TaskId { run: id, index }))
    }

    fn add_tasks(&mut self) -> Option<(Command, Asked)> {
        let (run, id) = self.some_run()?;
        let tasks = self.task_count(id);
        let scheduler = self.engine.as_ref()?.scheduler();
        let is_blocked = |index: &u32| {
            let task = scheduler.task(TaskKey { run, index: *index });
            task.is_some_and(|task| task.state == TaskState::Blocked)
        };
        let blocked: Vec<u32> = (0..tasks).filter(is_blocked).collect();
        let names: Vec<String> =
            (0..self.random.between(1, 4)).map(|_| format!("added-{}", self.fresh())).collect();
        let mut addition = workload::addition(&mut self.random, names, tasks, &blocked);
        self.extremes.exaggerate_addition(&mut addition, &mut self.coverage);
        if let Some(kept) = self.store.rows().runs.get(&id)
            && (!kept.row.spec.groups.is_empty() || self.random.percent(10))
        {
            for task in &mut addition.tasks {
                workload_groups::join(&mut self.random, kept, task);
            }
        }
        let asked = match addition.tasks.iter().all(|task| task.before.is_empty()) {
            true => Asked::Other,
            false => Asked::AddBefore,
        };
        if addition.tasks.len() > 1 {
            self.coverage.hit("added: several at once");
        }
        Some((Command::AddTasks { run, addition }, asked))
    }

    fn grace(&mut self) -> Option<Duration> {
        self.random.percent(60).then(|| self.random.millis(0, 3_000))
    }

    fn mode(&mut self) -> CancelMode {
        match self.grace() {
            Some(grace) if self.random.percent(30) => CancelMode::End { grace },
            Some(grace) => CancelMode::Stop { grace },
            None => CancelMode::Drain,
        }
    }

    fn remove_task(&mut self) -> Option<(Command, Asked)> {
        let (task, id) = self.some_task()?;
        let grace = self.grace();
        let dependents =
            if self.random.percent(50) { Dependents::Skip } else { Dependents::Release };
        self.promises.removed.insert(id);
        if dependents == Dependents::Release {
            self.promises.released.insert(id);
        }
        let asked = if grace.is_some() { Asked::CancelTask(id) } else { Asked::Other };
        Some((Command::RemoveTask { task, dependents, grace }, asked))
    }

    fn cancel_run(&mut self) -> Option<(Command, Asked)> {
        let (run, id) = self.some_work()?;
        let mode = self.mode();
        let asked = match mode {
            CancelMode::End { .. } => Asked::End(id),
            _ => Asked::Cancel(id),
        };
        Some((Command::CancelRun { run, mode }, asked))
    }

    fn cancel_task(&mut self) -> Option<(Command, Asked)> {
        let (task, id) = self.some_task()?;
        let mode = self.mode();
        let asked = match mode {
            CancelMode::Stop { .. } | CancelMode::End { .. } => Asked::CancelTask(id),
            CancelMode::Drain => Asked::Other,
        };
        Some((Command::CancelTask { task, mode }, asked))
    }

    fn abandon(&mut self) -> Option<(Command, Asked)> {
        let (run, id) = self.some_work()?;
        if self.engine.as_ref()?.scheduler().run_spec(run).is_some() {
            return None;
        }
        Some((Command::Abandon(run), Asked::Cancel(id)))
    }

    fn pause_run(&mut self) -> Option<(Command, Asked)> {
        let (run, id) = self.some_run()?;
        if self.random.percent(50) {
            return Some((Command::PauseRun(run), Asked::PauseRun(id)));
        }
        Some((Command::ResumeRun(run), Asked::ResumeRun(id)))
    }

    /// Changes priorities, often several at once: each leaves something behind in the order.
    fn set_priority(&mut self) -> Option<(Command, Asked)> {
        let priority = Priority::new(self.random.between(0, 10) as i64 * 10);
        if self.random.percent(40) {
            let (run, _) = self.some_work()?;
            let command = Command::SetPriority { run, task: None, priority };
            return Some((command, Asked::Priority("of a run")));
        }
        let (task, _) = self.some_task()?;
        let (run, task) = (task.run, Some(task.index));
        Some((Command::SetPriority { run, task, priority }, Asked::Priority("of a task")))
    }

    fn pause_queue(&mut self) -> Option<(Command, Asked)> {
        let name: Arc<str> = Arc::from(*self.random.pick(&QUEUES));
        if self.random.percent(50) {
            return Some((Command::PauseQueue(name.clone()), Asked::PauseQueue(name)));
        }
        Some((Command::ResumeQueue(name.clone()), Asked::ResumeQueue(name)))
    }

    fn pause_all(&mut self) -> Option<(Command, Asked)> {
        if self.random.percent(40) {
            return Some((Command::Pause, Asked::Pause));
        }
        Some((Command::Resume, Asked::Resume))
    }

    fn change_schedule(&mut self) -> Option<(Command, Asked)> {
        let scheduler = self.engine.as_ref()?.scheduler();
        let schedules: Vec<_> = scheduler.schedules().collect();
        if schedules.is_empty() {
            return None;
        }
        let (key, id) = *self.random.pick(&schedules);
        let command = match self.random.below(10) {
            0 => Command::CancelSchedule(key),
            6..=7 => {
                let overlap = self.random.percent(60).then(|| workload::overlap(&mut self.random));
                return Some((Command::FireNow { schedule: key, overlap }, Asked::ByHand("now")));
            }
            8..=9 => return self.backfill(key, id),
            5 => {
                let spec = Box::new(workload::schedule(&mut self.random, self.now.wall));
                return Some((Command::UpdateSchedule { schedule: key, spec }, Asked::Update(id)));
            }
            1..=2 => {
                self.schedules.insert(id, true);
                Command::PauseSchedule(key)
            }
            _ => Command::ResumeSchedule(key),
        };
        Some((command, Asked::Other))
    }

    fn backfill(&mut self, schedule: ScheduleKey, id: ScheduleId) -> Option<(Command, Asked)> {
        let from = self.now.wall.before(self.random.millis(1_000, 600_000));
        let span = Span::new(from, self.now.wall);
        let scheduler = self.engine.as_ref()?.scheduler();
        let instants =
            scheduler.schedule_instants(schedule, span, self.random.between(1, 4) as usize);
        let asked_for = self.random.percent(50).then(|| {
            let rows = self.store.rows();
            rows.schedules.get(&id).map_or(0, |(row, _)| row.state.asked_for)
        });
        let overlap = self.random.percent(60).then(|| workload::overlap(&mut self.random));
        let command = Command::Backfill { schedule, instants, overlap, asked_for };
        Some((command, Asked::ByHand("backfill")))
    }

    fn set_slots(&mut self) -> Option<(Command, Asked)> {
        let slots = self.random.percent(90).then(|| self.random.between(1, 8) as u32);
        Some((Command::SetSlots(slots), Asked::Slots(slots)))
    }

    fn set_run_slots(&mut self) -> Option<(Command, Asked)> {
        let (run, id) = self.some_run()?;
        let slots = self.random.percent(80).then(|| self.random.between(1, 4) as u32);
        Some((Command::SetRunSlots { run, slots }, Asked::RunSlots(id, slots)))
    }

    fn close_run(&mut self) -> Option<(Command, Asked)> {
        let (run, _) = self.some_run()?;
        Some((Command::CloseRun(run), Asked::Other))
    }

    fn change_queue(&mut self) -> Option<(Command, Asked)> {
        if self.is_guest {
            return None;
        }
        let name: Arc<str> = Arc::from(*self.random.pick(&QUEUES));
        let spec = workload::queue(&mut self.random);
        let slots =
            match (self.promises.queues.get(&name).and_then(|known| known.slots), spec.slots) {
                (Some(before), Some(now)) => Some(before.max(now)),
                _ => None,
            };
        let known = tidewheel_core::spec::QueueSpec { slots, ..spec.clone() };
        self.promises.queues.insert(name.clone(), known);
        Some((Command::DefineQueue { name, spec }, Asked::Other))
    }

    fn shut_down_sometimes(&mut self) -> Option<(Command, Asked)> {
        if !self.random.percent(30) {
            return None;
        }
        let mode =
            *self.random.pick(&[ShutdownMode::Drain, ShutdownMode::Reject, ShutdownMode::Persist]);
        let name = match mode {
            ShutdownMode::Drain => "shutdown: drain",
            ShutdownMode::Reject => "shutdown: reject",
            ShutdownMode::Persist => "shutdown: persist",
        };
        self.coverage.hit(name);
        let grace = self.grace();
        Some((Command::ShutDown { mode, grace }, Asked::ShutDown(mode)))
    }

    /// What is about to be allowed may happen before its answer is seen.
    pub(crate) fn relax(&mut self, asked: &Asked) {
        match asked {
            Asked::Resume => self.promises.paused = false,
            Asked::ResumeRun(id) => {
                self.promises.paused_runs.remove(id);
            }
            Asked::ResumeQueue(name) => {
                self.promises.paused_queues.remove(name);
            }
            Asked::Slots(slots) => {
                self.promises.slots = match (self.promises.slots, *slots) {
                    (Some(before), Some(now)) => Some(before.max(now)),
                    _ => None,
                };
            }
            Asked::RunSlots(id, slots) => {
                let before = self.promises.slots_of(*id, &self.store.rows());
                let most = before.zip(*slots).map(|(before, now)| before.max(now));
                self.promises.run_slots.insert(*id, most);
            }
            Asked::ShutDown(ShutdownMode::Drain) => {
                self.promises.resume_all();
                self.promises.stopped = false;
            }
            Asked::Update(id) => {
                self.updated.insert(*id);
            }
            _ => {}
        }
    }

    /// Whether something was asked after what is answered now. Of the two it is the newer one that counts, even if
    /// its answer is never seen.
    fn was_asked_since(&self, is: impl Fn(&Asked) -> bool) -> bool {
        self.unanswered.iter().any(|(_, asked)| is(asked))
    }

    /// Takes in an answer.
    pub(crate) fn learn(&mut self, asked: Asked, reply: Result<Reply, Rejection>) {
        if let Asked::Firing(wanted) = asked {
            return self.learn_of_run(wanted, reply);
        }
        let Ok(reply) = reply else { return };
        match asked {
            Asked::Work(id) => self.acknowledged.push(id),
            Asked::Pause => {
                self.promises.paused = !self.was_asked_since(|it| matches!(it, Asked::Resume));
            }
            Asked::Resume => self.promises.paused = false,
            Asked::ResumeRun(id) => {
                self.promises.paused_runs.remove(&id);
            }
            Asked::ResumeQueue(name) => {
                self.promises.paused_queues.remove(&name);
            }
            Asked::PauseRun(id) => {
                if !self.was_asked_since(|it| matches!(it, Asked::ResumeRun(run) if *run == id)) {
                    self.promises.paused_runs.insert(id);
                }
            }
            Asked::PauseQueue(name) => {
                let is_resumed = |it: &Asked| matches!(it, Asked::ResumeQueue(it) if *it == name);
                if !self.was_asked_since(is_resumed) {
                    self.promises.paused_queues.insert(name);
                }
            }
            Asked::Cancel(id) => {
                self.promises.cancelled.insert(id);
                self.promises.paused_runs.remove(&id);
            }
            Asked::End(id) => {
                if self.promises.ended.insert(id) && self.has_clean_up(id) {
                    self.coverage.hit("cancelled: clean-up too");
                }
                self.promises.cancelled.insert(id);
                self.promises.paused_runs.remove(&id);
            }
            Asked::CancelTask(id) if reply == Reply::Done => {
                self.promises.cancelled_tasks.insert(id);
            }
            Asked::ShutDown(mode) => {
                self.shutting_down = true;
                if mode == ShutdownMode::Drain {
                    self.promises.resume_all();
                }
                self.promises.stopped = mode != ShutdownMode::Drain;
            }
            Asked::Slots(slots) => self.promises.slots = slots,
            Asked::RunSlots(id, slots) => {
                self.coverage.hit("run: slots changed");
                self.promises.run_slots.insert(id, slots);
            }
            Asked::Priority(what) if reply == Reply::Done => {
                self.coverage.hit(&format!("priority: {what}"));
            }
            Asked::AddBefore => self.coverage.hit("added: before others"),
            Asked::Update(_) => self.coverage.hit("schedule: changed"),
            Asked::ByHand(how) => self.coverage.hit(&format!("firing by hand: {how}")),
            Asked::Schedule(_)
            | Asked::Priority(_)
            | Asked::CancelTask(_)
            | Asked::Firing(_)
            | Asked::Other => {}
        }
    }

    /// Whether a run has tasks that run always.
    fn has_clean_up(&self, id: RunId) -> bool {
        let rows = self.store.rows();
        rows.runs.get(&id).is_some_and(|run| {
            let mut profiles = run.row.spec.profiles.iter();
            profiles.any(|profile| profile.always)
        })
    }

    /// Asks a few tasks why they wait.
    pub(crate) fn look_around(&mut self) {
        if !self.random.percent(30) {
            return;
        }
        let Some((key, _)) = self.some_task() else { return };
        let Some(engine) = &self.engine else { return };
        let Some(explanation) = engine.scheduler().explain(key, self.now) else { return };
        for hold in &explanation.holds {
            self.coverage.hit(hold_name(hold));
        }
        // A slow store lets time pass after a turn: then the next wake-up may start the task.
        let wakes = engine.scheduler().next_wakeup();
        let is_due = wakes.is_some_and(|at| at <= self.now.monotonic);
        if explanation.holds.is_empty() && !is_due {
            self.violate("a waiting task can say why", explanation.to_string());
        }
    }
}

fn hold_name(hold: &Hold) -> &'static str {
    match hold {
        Hold::Ended => "hold: ended",
        Hold::Running { .. } => "hold: running",
        Hold::Dependencies { .. } => "hold: dependencies",
        Hold::PlacesTaken { .. } => "hold: places taken",
        Hold::RetryDelay { .. } => "hold: retry delay",
        Hold::Postponed { .. } => "hold: postponed",
        Hold::StartDelay { .. } => "hold: start delay",
        Hold::SchedulerPaused => "hold: scheduler paused",
        Hold::QueuePaused { .. } => "hold: queue paused",
        Hold::RunPaused => "hold: run paused",
        Hold::ShuttingDown => "hold: shutting down",
        Hold::SchedulerFull { .. } => "hold: scheduler full",
        Hold::QueueSlotsTaken { .. } => "hold: queue slots",
        Hold::RunSlotsTaken { .. } => "hold: run slots",
        Hold::QueueRate { .. } => "hold: queue rate",
        Hold::LimitTaken { .. } => "hold: limit taken",
        Hold::LimitReserved { .. } => "hold: limit reserved",
        Hold::LimitRate { .. } => "hold: limit rate",
        Hold::BreakerOpen { left: Some(_), .. } => "hold: breaker open",
        Hold::BreakerOpen { left: None, .. } => "hold: breaker probed",
        Hold::KeyTaken { .. } => "hold: key taken",
        Hold::Order { .. } => "hold: order",
        _ => "hold: new",
    }
}
