//! The scheduler's data, its construction and the dispatch of inputs.
//!
//! No rule lives here; every arm of the dispatch is one call.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use slotmap::{DefaultKey, SlotMap};

use super::names::Names;
use super::profiles::Profiles;
use crate::decision::Decision;
use crate::id::{ProfileId, RunId, RunKey, ScheduleId, TaskId, TaskKey};
use crate::input::{Command, Event, Fires, Input, Rejection, Reply, ShutdownMode};
use crate::limit::Limit;
use crate::party::NO_PARTY;
use crate::policy::Ageing;
use crate::queue::{Class, Queue};
use crate::row::Wanted;
use crate::run::{Extra, Run, Work};
use crate::schedule::Schedule;
use crate::spec::{Config, Profile};
use crate::task::Task;
use crate::time::Now;
use crate::timer::Wheel;

/// Decides. It has no clock, thread, store or randomness of its own: the same inputs at the same
/// times give the same decisions.
///
/// ```
/// use std::sync::Arc;
/// use tidewheel_core::graph::Graph;
/// use tidewheel_core::spec::{Config, Profile, RunOptions, RunSpec};
/// use tidewheel_core::time::Now;
/// use tidewheel_core::{Action, Command, Decision, Input, RunId, Scheduler};
///
/// let mut scheduler = Scheduler::new(Config { slots: Some(2), ..Config::default() });
/// let graph = Arc::new(Graph::from_edges([("a", "b"), ("a", "c")])?);
/// let spec = Arc::new(RunSpec::new(graph, RunOptions::default(), Profile::default()));
///
/// let mut decision = Decision::new();
/// let command = Command::SubmitRun { id: RunId(1), spec };
/// scheduler.step(Now::default(), Input::Command(command), &mut decision);
///
/// // A store would keep the changes here; the proof unlocks what to do.
/// let outputs = decision.commit(|changes| Ok::<_, std::io::Error>(changes.stored()))?;
/// assert!(matches!(outputs.actions[..], [Action::StartAttempt(start)] if start.id.index == 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A copy is for looking ahead ([`Scheduler::forecast`]): it knows no names that work was accepted under.
#[derive(Debug, Clone)]
pub struct Scheduler {
    pub(super) config: Config,
    pub(super) ageing: Ageing,
    pub(super) works: SlotMap<DefaultKey, Work>,
    /// Runs by durable identity; single submissions are not in it.
    pub(super) run_keys: BTreeMap<RunId, DefaultKey>,
    /// Single submissions that were restored and have not ended, likewise.
    pub(super) restored: BTreeMap<RunId, DefaultKey>,
    pub(super) profiles: Profiles,
    pub(super) classes: Vec<Class>,
    /// Classes by queue and what they take of limits.
    pub(super) class_of: BTreeMap<(u32, Vec<(u32, u32)>), u32>,
    /// Numbers of classes to be given out again.
    pub(super) free_classes: Vec<u32>,
    pub(super) queues: Vec<Queue>,
    pub(super) limits: Vec<Limit>,
    /// Those of them that are shared with other schedulers.
    pub(super) shared: Vec<u32>,
    /// Tasks of each key in order; the first is ready, delayed or running, the others are held.
    pub(super) keys: HashMap<(u32, Arc<str>), VecDeque<TaskKey>>,
    pub(super) schedules: SlotMap<DefaultKey, ScheduleEntry>,
    /// Schedules by durable identity, and those that have a name by that.
    pub(super) schedule_keys: BTreeMap<ScheduleId, DefaultKey>,
    pub(super) schedule_names: BTreeMap<Arc<str>, DefaultKey>,
    pub(super) timers: Wheel<Alarm>,
    /// Attempts running.
    pub(super) active: u32,
    /// Tasks that wait for time.
    pub(super) delayed: u64,
    /// Whether any queue preempts.
    pub(super) has_preemption: bool,
    pub(super) paused: bool,
    pub(super) shutdown: Option<ShutdownMode>,
    pub(super) shutdown_told: bool,
    pub(super) drain_timer: Option<crate::timer::TimerKey>,
    /// Grows with each task that becomes ready.
    pub(super) ready_sequence: u64,
    pub(super) notice_sequence: u64,
    /// Virtual time of fair queueing.
    pub(super) virtual_time: u64,
    /// Tasks that are ready, in all queues.
    pub(super) waiting: u64,
    /// The ready set the last task was taken from: likely the one the next is taken from.
    pub(super) favourite: (DefaultKey, u32),
    /// Tasks that became ready in this step and have no place in the order yet.
    pub(super) fresh: Vec<TaskKey>,
    /// Runs that may have ended in this step.
    pub(super) finishing: Vec<RunKey>,
    /// The class that has units kept for it. One at a time, or two could wait for each other.
    pub(super) reserving: Option<u32>,
    /// Tasks that ended in this step and whose consequences are not drawn yet.
    pub(super) ended: VecDeque<TaskKey>,
    /// Groups with places to be given out in this step.
    pub(super) dealing: Vec<(RunKey, u32)>,
    /// The wall clock minus the monotonic one when last looked at, in microseconds.
    pub(super) wall_offset: Option<i64>,
    pub(super) names: Names,
}

/// The queue that is always there.
pub(super) const DEFAULT_QUEUE_INDEX: u32 = 0;

/// A schedule and how its firings are treated.
#[derive(Debug, Clone)]
pub(super) struct ScheduleEntry {
    pub schedule: Schedule,
    pub id: ScheduleId,
    pub spec: Arc<crate::schedule::ScheduleSpec>,
    pub fires: Fires<ProfileId>,
    pub timer: Option<crate::timer::TimerKey>,
    /// Firings whose work has not ended.
    pub running: Vec<DefaultKey>,
    /// Firings whose runs are not made yet.
    pub wanted: Vec<Wanted>,
}

/// What a timer is for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Alarm {
    /// A delay ends.
    Delay(TaskKey),
    /// The time for a task is over.
    TaskTimeout(TaskKey),
    /// The time for a run is over.
    RunTimeout(DefaultKey),
    /// A limit may let somebody through.
    Limit(u32),
    /// The rate of a queue allows the next start.
    Queue(u32),
    /// A schedule is due.
    Schedule(DefaultKey),
    /// The time for draining is over.
    DrainOver,
}

impl Scheduler {
    /// An empty scheduler with the queue `default`.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let ageing =
            config.starvation_timeout.map_or(Ageing::off(), Ageing::from_starvation_timeout);
        let mut scheduler = Self {
            config,
            ageing,
            works: SlotMap::new(),
            run_keys: BTreeMap::new(),
            restored: BTreeMap::new(),
            profiles: Profiles::default(),
            classes: Vec::new(),
            class_of: BTreeMap::new(),
            free_classes: Vec::new(),
            queues: vec![Queue::of_everybody()],
            limits: Vec::new(),
            shared: Vec::new(),
            keys: HashMap::new(),
            schedules: SlotMap::new(),
            schedule_keys: BTreeMap::new(),
            schedule_names: BTreeMap::new(),
            timers: Wheel::new(),
            active: 0,
            delayed: 0,
            has_preemption: false,
            paused: false,
            shutdown: None,
            shutdown_told: false,
            drain_timer: None,
            ready_sequence: 0,
            notice_sequence: 0,
            virtual_time: 0,
            waiting: 0,
            favourite: (DefaultKey::default(), 0),
            fresh: Vec::new(),
            finishing: Vec::new(),
            reserving: None,
            ended: VecDeque::new(),
            dealing: Vec::new(),
            wall_offset: None,
            names: Names::default(),
        };
        let class = scheduler.class_of(DEFAULT_QUEUE_INDEX, Vec::new());
        scheduler.classes[class as usize].profiles = 1;
        scheduler.profiles.insert(Arc::default(), DEFAULT_QUEUE_INDEX, class, NO_PARTY);
        scheduler
    }

    /// Takes in one input and adds what follows from it to the decision.
    ///
    /// Each command adds exactly one reply.
    pub fn step(&mut self, now: Now, input: Input, decision: &mut Decision) {
        self.notice_clock(now, decision);
        match input {
            Input::Command(command) => {
                let reply = self.command(now, command, decision);
                decision.reply(reply);
            }
            Input::Event(event) => self.event(now, event, decision),
        }
        self.settle(now, decision);
        self.fill_slots(now, decision);
        if !self.shared.is_empty() {
            self.settle_shares(now.monotonic, decision);
        }
        self.tell_shutdown(decision);
        self.forget_profiles();
    }

    #[inline(always)]
    fn event(&mut self, now: Now, event: Event, decision: &mut Decision) {
        match event {
            Event::AttemptEnded { task, attempt, outcome } => {
                self.attempt_ended(now, task, attempt, outcome, decision);
            }
            Event::TimePassed => self.time_passed(now, decision),
            Event::TriggerAnswered { schedule, next } => {
                self.trigger_answered(now, schedule.0, next, decision);
            }
            Event::UnitsKept { limit, since } => self.units_kept(&limit, since),
            Event::UnitsGranted { limit, units } => self.units_granted(&limit, units, decision),
            Event::UnitsTaken { limit, holders } => self.units_taken(&limit, holders),
            Event::PlaceGiven(run) => self.place_given(now, run, decision),
            Event::PlaceTaken { run, holders } => self.place_taken(now, run, holders, decision),
            Event::PlaceRefused { run, replaced } => {
                self.place_refused(now, run, replaced, decision);
            }
            Event::RunNotMade { schedule, run, error } => {
                self.run_not_made(now, schedule.0, run, error, decision);
            }
        }
    }

    fn command(
        &mut self,
        now: Now,
        command: Command,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        match command {
            Command::Submit(submission) => self.submit(now, submission, decision),
            Command::SubmitRun { id, spec } => self.submit_run(now, id, spec, None, decision),
            Command::SubmitFiring { schedule, id, spec } => {
                self.submit_firing(now, schedule.0, id, spec, decision)
            }
            Command::AddTasks { run, addition } => self.add_tasks(now, run, addition, decision),
            Command::RemoveTask { task, dependents, grace } => {
                self.remove_task(now, task, dependents, grace, decision)
            }
            Command::PauseRun(run) => self.pause_run(now, run, decision),
            Command::ResumeRun(run) => self.resume_run(now, run, decision),
            Command::SetRunSlots { run, slots } => self.set_run_slots(run, slots),
            Command::SetPriority { run, task, priority } => {
                self.set_priority(now, run, task, priority, decision)
            }
            Command::CancelRun { run, mode } => self.cancel_run(now, run, mode, decision),
            Command::ReplaceRun { run, mode } => self.replace_run(now, run, mode, decision),
            Command::CancelTask { task, mode } => self.cancel_task(now, task, mode, decision),
            Command::CloseRun(run) => self.close_run(now, run, decision),
            Command::Abandon(run) => self.abandon(now, run, decision),
            Command::Pause => self.pause(now, decision),
            Command::Resume => self.resume(now, decision),
            Command::PauseQueue(name) => self.pause_queue(&name, true, decision),
            Command::ResumeQueue(name) => self.pause_queue(&name, false, decision),
            Command::SetSlots(slots) => self.set_slots(slots),
            Command::DefineQueue { name, spec } => self.define_own_queue(name, spec, decision),
            Command::DefineLimit { name, spec } => self.define_own_limit(name, &spec, decision),
            Command::ResetBreaker(name) => self.reset_breaker(&name, now, decision),
            Command::AddSchedule { id, spec, fires } => {
                self.add_schedule(now, id, *spec, fires, decision)
            }
            Command::UpdateSchedule { schedule, spec } => {
                self.update_schedule(now, schedule.0, *spec, decision)
            }
            Command::CancelSchedule(schedule) => self.cancel_schedule(now, schedule.0, decision),
            Command::PauseSchedule(schedule) => self.pause_schedule(now, schedule.0, decision),
            Command::ResumeSchedule(schedule) => self.resume_schedule(now, schedule.0, decision),
            Command::Backfill { schedule, instants, overlap, asked_for } => {
                self.backfill(now, schedule.0, instants, overlap, asked_for, decision)
            }
            Command::FireNow { schedule, overlap } => {
                self.fire_now(now, schedule.0, overlap, decision)
            }
            Command::ShutDown { mode, grace } => self.shut_down(now, mode, grace, decision),
        }
    }

    pub(super) fn run(&self, run: DefaultKey) -> Option<&Run> {
        match self.works.get(run) {
            Some(Work::Run(run)) => Some(run),
            _ => None,
        }
    }

    pub(super) fn run_mut(&mut self, run: DefaultKey) -> Option<&mut Run> {
        match self.works.get_mut(run) {
            Some(Work::Run(run)) => Some(run),
            _ => None,
        }
    }

    /// A run that still accepts commands.
    pub(super) fn live_run(&mut self, run: RunKey) -> Result<&mut Run, Rejection> {
        match self.run_mut(run.0) {
            Some(run) if run.result.is_none() => Ok(run),
            _ => Err(Rejection::Gone("run")),
        }
    }

    pub(super) fn member(&self, key: TaskKey) -> Option<&Task> {
        self.works.get(key.run.0).and_then(|work| work.task(key.index))
    }

    pub(super) fn work(&self, key: TaskKey) -> &Work {
        self.works.get(key.run.0).expect("the key was checked when the input came in")
    }

    pub(super) fn work_mut(&mut self, key: TaskKey) -> &mut Work {
        self.works.get_mut(key.run.0).expect("the key was checked when the input came in")
    }

    pub(super) fn task_id(&self, key: TaskKey) -> TaskId {
        TaskId { run: self.work(key).id(), index: key.index }
    }

    pub(super) fn profile_spec(&self, key: TaskKey) -> &Arc<Profile> {
        &self.profiles[self.work(key).profile(key.index).0 as usize].spec
    }
}

impl Work {
    pub(super) fn id(&self) -> RunId {
        match self {
            Self::Run(run) => run.id,
            Self::Single(single) => single.id,
        }
    }

    #[inline]
    pub(super) fn task(&self, index: u32) -> Option<&Task> {
        match self {
            Self::Run(run) => run.tasks.get(index as usize),
            Self::Single(single) if index == 0 => Some(&single.task),
            Self::Single(_) => None,
        }
    }

    #[inline(always)]
    pub(super) fn task_mut(&mut self, index: u32) -> &mut Task {
        match self {
            Self::Run(run) => &mut run.tasks[index as usize],
            Self::Single(single) => &mut single.task,
        }
    }

    pub(super) fn profile(&self, index: u32) -> ProfileId {
        match self {
            Self::Run(run) => run.profiles[run.tasks[index as usize].profile.0 as usize].profile,
            Self::Single(single) => single.task.profile,
        }
    }

    #[inline(always)]
    pub(super) fn class(&self, index: u32) -> u32 {
        match self {
            Self::Run(run) => {
                let profile = run.tasks[index as usize].profile.0 as usize;
                run.sets[run.profiles[profile].set as usize].class
            }
            Self::Single(single) => single.class,
        }
    }

    #[inline]
    pub(super) fn extra(&self, index: u32) -> Option<&Extra> {
        match self {
            Self::Run(run) => run.extra(index),
            Self::Single(single) => single.extra.as_deref(),
        }
    }

    pub(super) fn extra_mut(&mut self, index: u32) -> &mut Extra {
        match self {
            Self::Run(run) => run.extras.entry(index).or_default(),
            Self::Single(single) => single.extra.get_or_insert_default(),
        }
    }
}
