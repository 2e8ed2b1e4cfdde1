//! The stage of a scenario: the scheduler under test, its store, the clocks, and who is who.
//!
//! What lines mean is in [`super::say`] and [`super::expect`].

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tidewheel::engine::Engine;
use tidewheel_core::decision::{Action, Fact, MakeRun, Notice, Start};
use tidewheel_core::id::{RunId, RunKey, ScheduleId, ScheduleKey, TaskId, TaskKey};
use tidewheel_core::input::{Command, Event, Input, Outcome, Rejection, Reply};
use tidewheel_core::row::{Fate, RunResult};
use tidewheel_core::spec::Config;
use tidewheel_core::time::{Moment, Now, Timestamp};

use super::attributes::RunText;
use crate::store::SimStore;

/// Where the wall clock stands when a scenario begins.
const BEGINNING: &str = "2026-11-15T08:00:00Z";
/// Turns that one line may take before it is called endless.
const TURNS_MAX: u32 = 200_000;

/// Everything a scenario plays with.
pub struct Player {
    pub(super) config: Config,
    pub(super) store: SimStore,
    pub(super) engine: Option<Engine>,
    pub(super) now: Now,
    pub(super) runs: BTreeMap<String, RunText>,
    pub(super) run_ids: BTreeMap<String, RunId>,
    pub(super) tasks: BTreeMap<String, TaskId>,
    pub(super) names: BTreeMap<TaskId, String>,
    pub(super) schedules: BTreeMap<String, ScheduleId>,
    pub(super) firings: BTreeMap<String, u32>,
    pub(super) takes: BTreeMap<TaskId, Duration>,
    pub(super) schedule_takes: BTreeMap<String, Duration>,
    /// Attempts that succeed by themselves.
    pub(super) ending: BTreeMap<(Moment, u64), (TaskId, u32)>,
    pub(super) next_number: u64,
    pub(super) started: Vec<String>,
    pub(super) stopping: Vec<String>,
    pub(super) notices: Vec<Notice>,
    pub(super) results: BTreeMap<RunId, RunResult>,
    pub(super) asked: Vec<ScheduleKey>,
    /// Units of shared limits: what was asked for last, given back since the last look, and kept at
    /// the last restore.
    pub(super) units_asked: BTreeMap<String, u32>,
    pub(super) units_returned: BTreeMap<String, u32>,
    pub(super) units_kept: BTreeMap<String, (u32, Moment)>,
    /// Runs of concurrency groups that have or want a place.
    pub(super) joining: Vec<RunId>,
    /// Runs that schedules asked for and nobody made yet.
    pub(super) making: Vec<MakeRun>,
    pub(super) last_reply: Option<Result<Reply, String>>,
    pub(super) shut_down: bool,
    pub(super) zero: Moment,
}

impl Player {
    pub fn new() -> Self {
        let wall: Timestamp = BEGINNING.parse().expect("it is an instant");
        Self {
            config: Config { notices: true, ..Config::default() },
            store: SimStore::default(),
            engine: None,
            now: Now { monotonic: Moment::from_millis(1_000_000), wall },
            runs: BTreeMap::new(),
            run_ids: BTreeMap::new(),
            tasks: BTreeMap::new(),
            names: BTreeMap::new(),
            schedules: BTreeMap::new(),
            firings: BTreeMap::new(),
            takes: BTreeMap::new(),
            schedule_takes: BTreeMap::new(),
            ending: BTreeMap::new(),
            next_number: 0,
            started: Vec::new(),
            stopping: Vec::new(),
            notices: Vec::new(),
            results: BTreeMap::new(),
            asked: Vec::new(),
            units_asked: BTreeMap::new(),
            units_returned: BTreeMap::new(),
            units_kept: BTreeMap::new(),
            joining: Vec::new(),
            making: Vec::new(),
            last_reply: None,
            shut_down: false,
            zero: Moment::from_millis(1_000_000),
        }
    }

    /// Keeps a run's description until it is started.
    pub fn describe(&mut self, name: String, text: RunText) {
        self.runs.insert(name, text);
    }

    /// Looks once more at what must hold at the end of every scenario.
    pub fn finish(&mut self) -> Result<()> {
        if let Some(Err(refusal)) = &self.last_reply {
            bail!("a command was refused and nothing expected it: {refusal}");
        }
        self.check()
    }

    pub(super) fn engine(&mut self) -> Result<&mut Engine> {
        if self.engine.is_none() {
            let store = Box::new(self.store.clone());
            let opened = Engine::open(self.config.clone(), store, self.now);
            self.engine = Some(opened.map_err(|error| anyhow!("cannot restore: {error:?}"))?);
            self.act()?;
        }
        self.engine.as_mut().ok_or_else(|| anyhow!("there is no engine"))
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// Takes a turn with one command; the reply is kept for the next expectation.
    pub(super) fn command(&mut self, command: Command) -> Result<()> {
        if let Some(Err(refusal)) = &self.last_reply {
            bail!("the command before was refused and nothing expected it: {refusal}");
        }
        let reply = self.turn(Input::Command(command))?;
        let reply = reply.ok_or_else(|| anyhow!("the command got no reply"))?;
        self.last_reply = Some(reply.map_err(|rejection| rejection.to_string()));
        Ok(())
    }

    pub(super) fn event(&mut self, event: Event) -> Result<()> {
        self.turn(Input::Event(event)).map(drop)
    }

    pub(super) fn turn(&mut self, input: Input) -> Result<Option<Result<Reply, Rejection>>> {
        let now = self.now;
        let engine = self.engine()?;
        let outputs =
            engine.turn(now, [input]).map_err(|error| anyhow!("the turn failed: {error:?}"))?;
        let reply = outputs.replies.pop();
        self.check()?;
        self.act()?;
        Ok(reply)
    }

    pub(super) fn check(&self) -> Result<()> {
        if let Some(engine) = &self.engine {
            engine.scheduler().check();
        }
        match self.store.rows().violations.first() {
            Some(violation) => bail!("the store was asked to keep nonsense: {violation}"),
            None => Ok(()),
        }
    }

    /// Carries out what the newest turn decided.
    fn act(&mut self) -> Result<()> {
        let Some(engine) = &mut self.engine else { return Ok(()) };
        let outputs = std::mem::take(engine.outputs());
        self.notices.extend(outputs.notices);
        self.name_firings();
        for action in outputs.actions {
            match action {
                Action::StartAttempt(start) => self.start(start),
                Action::StopAttempt { task, .. } => {
                    let name = self.name_of(task);
                    self.stopping.push(name);
                }
                Action::SubmissionEnded { .. } => {}
                Action::RunEnded { run, result } => {
                    let id = self.scheduler_ref()?.run_id(run);
                    let id = id.ok_or_else(|| anyhow!("an ended run is not there"))?;
                    if self.results.insert(id, result).is_some() {
                        bail!("run {id} ended twice");
                    }
                }
                Action::AskTrigger { schedule, .. } => self.asked.push(schedule),
                Action::MakeRun(wanted) => self.making.push(wanted),
                Action::ScheduleEnded { .. } => {}
                Action::AskUnits { limit, units } => {
                    self.units_asked.insert(limit.to_string(), units);
                }
                Action::ReturnUnits { limit, units } => {
                    *self.units_returned.entry(limit.to_string()).or_default() += units;
                }
                Action::JoinGroup { run, .. } => self.joining.push(run),
                Action::LeaveGroup(run) => self.joining.retain(|other| *other != run),
                Action::KeepPlaces(runs) => self.joining.retain(|run| runs.contains(run)),
                Action::KeepUnits { limit, units, since } => {
                    self.units_asked.remove(&*limit);
                    self.units_kept.insert(limit.to_string(), (units, since));
                }
                Action::ShutDownCompleted => self.shut_down = true,
            }
        }
        Ok(())
    }

    pub(super) fn scheduler_ref(&self) -> Result<&tidewheel_core::Scheduler> {
        let engine = self.engine.as_ref().ok_or_else(|| anyhow!("the scheduler is not running"))?;
        Ok(engine.scheduler())
    }

    /// Gives the tasks of firings names: `tick#1`, `tick#2`, …
    fn name_firings(&mut self) {
        let rows = self.store.rows();
        for row in &rows.firings {
            let Fate::Fired(run) = row.fate else { continue };
            let id = TaskId { run, index: 0 };
            let Some((schedule, _)) = self.schedules.iter().find(|(_, id)| **id == row.schedule)
            else {
                continue;
            };
            if self.names.contains_key(&id) {
                continue;
            }
            let count = self.firings.entry(schedule.clone()).or_default();
            *count += 1;
            let name = format!("{schedule}#{count}");
            self.names.insert(id, name.clone());
            self.tasks.insert(name, id);
            if let Some(takes) = self.schedule_takes.get(schedule) {
                self.takes.insert(id, *takes);
            }
        }
    }

    fn start(&mut self, start: Start) {
        let name = self.names.get(&start.id).cloned().unwrap_or_else(|| format!("{:?}", start.id));
        self.started.push(name);
        if let Some(takes) = self.takes.get(&start.id) {
            let at = self.now.monotonic.after(*takes);
            let number = self.number();
            self.ending.insert((at, number), (start.id, start.attempt));
        }
    }

    fn name_of(&self, key: TaskKey) -> String {
        let id = self.engine.as_ref().and_then(|engine| engine.scheduler().id_of(key));
        id.and_then(|id| self.names.get(&id).cloned()).unwrap_or_else(|| format!("{key:?}"))
    }

    pub(super) fn run_key(&self, id: RunId) -> Option<RunKey> {
        let scheduler = self.engine.as_ref()?.scheduler();
        scheduler.works().find(|(_, other)| *other == id).map(|(key, _)| key)
    }

    pub(super) fn task_id(&self, name: &str) -> Result<TaskId> {
        self.tasks.get(name).copied().ok_or_else(|| anyhow!("there is no task `{name}`"))
    }

    /// The key of a task; an unusable one when it is gone from memory.
    pub(super) fn task_key(&self, name: &str) -> Result<TaskKey> {
        let id = self.task_id(name)?;
        let run = self.run_key(id.run).unwrap_or_default();
        Ok(TaskKey { run, index: id.index })
    }

    pub(super) fn run_id(&self, name: &str) -> Result<RunId> {
        let id = self.run_ids.get(name).copied();
        id.or_else(|| self.tasks.get(name).map(|id| id.run))
            .ok_or_else(|| anyhow!("there is no run `{name}`"))
    }

    pub(super) fn schedule_key(&self, name: &str) -> Result<ScheduleKey> {
        let id = self.schedules.get(name).ok_or_else(|| anyhow!("no schedule `{name}`"))?;
        let scheduler = self.scheduler_ref()?;
        let found = scheduler.schedules().find(|(_, other)| other == id).map(|(key, _)| key);
        Ok(found.unwrap_or_default())
    }

    /// Lets time pass, turn by turn, up to `target`.
    pub(super) fn advance_to(&mut self, target: Moment) -> Result<()> {
        if target < self.now.monotonic {
            bail!("that moment has passed");
        }
        for _ in 0..TURNS_MAX {
            let now = self.now;
            let wakeup = self.engine()?.scheduler().next_wakeup();
            let ending = self.ending.first_key_value().map(|((at, _), _)| *at);
            let next = wakeup.into_iter().chain(ending).min().unwrap_or(Moment::MAX);
            if next > target {
                self.set_monotonic(target);
                return self.event(Event::TimePassed);
            }
            self.set_monotonic(next.max(now.monotonic));
            if ending == Some(next) {
                self.end_one()?;
            } else {
                self.event(Event::TimePassed)?;
            }
        }
        bail!("time does not pass: the scheduler wants to be woken again and again")
    }

    fn set_monotonic(&mut self, moment: Moment) {
        let passed = moment.since(self.now.monotonic);
        self.now = Now { monotonic: moment, wall: self.now.wall.after(passed) };
    }

    fn end_one(&mut self) -> Result<()> {
        let Some((_, (id, attempt))) = self.ending.pop_first() else { return Ok(()) };
        let run = self.run_key(id.run).unwrap_or_default();
        let task = TaskKey { run, index: id.index };
        self.event(Event::AttemptEnded { task, attempt, outcome: Outcome::Succeeded })
    }

    /// Drops memory, as a crash does; running attempts are gone with it.
    pub(super) fn crash(&mut self) {
        self.engine = None;
        self.ending.clear();
        self.asked.clear();
        self.making.clear();
        self.shut_down = false;
    }

    pub(super) fn noticed(&self, text: &str) -> bool {
        let says = |fact: &Fact| format!("{fact:?}").contains(text);
        self.notices.iter().any(|notice| says(&notice.fact))
    }
}
