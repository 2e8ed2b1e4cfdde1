//! Several processes with shared limits and concurrency groups, on one data folder: random work,
//! kills and restarts.
//!
//! After every event it is looked at everything that runs, also what is left of processes that were
//! killed: never do the attempts together use more units than there are, and never do more runs of a
//! group go on than may. Who was let into the line of a group is never refused later, except
//! for a newer run by `queue-newest`. What one scheduler promises
//! for itself is checked in [`crate::world`].

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tidewheel::engine::{Engine, Places, Shares};
use tidewheel::store::{Placement, Settled, Store as _};
use tidewheel_core::decision::{Action, Outputs, Start};
use tidewheel_core::graph::Graph;
use tidewheel_core::id::{AttemptId, RunId};
use tidewheel_core::input::{
    CancelMode, Command, Event, Failure, Input, Outcome, ShutdownMode, Submission,
};
use tidewheel_core::policy::{Priority, Retry};
use tidewheel_core::pool::{self, Claim};
use tidewheel_core::spec::{Config, LimitSpec, Profile, RunOptions, RunSpec};
use tidewheel_core::time::{Moment, Now};

use crate::groups::{GROUPS, Groups};
use crate::random::Random;
use crate::store::SimStore;

/// The limits that all share, and their units.
const SHARED: [(&str, u32); 2] = [("db", 2), ("net", 3)];
/// A limit that each process has for itself.
const OWN: (&str, u32) = ("own", 2);
/// Steps in which everything must end once nothing goes wrong any more.
const STEPS_MAX: u32 = 20_000;

/// What a seed came to.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Played {
    /// Attempts started.
    pub attempts: u64,
    /// How often something waited for units that others had.
    pub waits: u64,
    /// Processes killed while they, or what they had started, held units.
    pub kills: u64,
    /// Schedulers restored in a living process, with units in use.
    pub recoveries: u64,
    /// Runs that were replaced by a newer one of their group.
    pub replaced: u64,
    /// Runs that were not let into the line of their group.
    pub refused: u64,
    /// What went wrong.
    pub failure: Option<String>,
}

/// The folder that all have in common.
#[derive(Default)]
struct Folder {
    claims: BTreeMap<&'static str, Vec<Claim>>,
    places: u64,
    groups: Groups,
}

struct Running {
    start: Start,
    units: Vec<(Arc<str>, u32)>,
}

struct Process {
    owner: u128,
    store: SimStore,
    /// None: it was killed and has not been started again.
    engine: Option<Engine>,
    shares: Shares,
    places: Places,
    /// Actions that have not reached the shares yet.
    mail: VecDeque<Action>,
    /// Answers that have not reached the scheduler yet.
    answers: VecDeque<Event>,
    is_defined: bool,
    /// Attempts under way; those of a killed process are about to be ended.
    running: BTreeMap<AttemptId, Running>,
}

struct Neighbours {
    random: Random,
    now: Now,
    folder: Folder,
    processes: Vec<Process>,
    needs: BTreeMap<RunId, Vec<(Arc<str>, u32)>>,
    groups: BTreeMap<RunId, Arc<str>>,
    /// Runs that were told to wait for their places, or given them.
    accepted: BTreeSet<RunId>,
    next_run: u128,
    played: Played,
}

/// Plays a seed.
#[must_use]
pub fn play(seed: u64) -> Played {
    let mut world = Neighbours::new(seed);
    world.played.failure = world.play().err();
    world.played
}

impl Neighbours {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let count = random.between(2, 3);
        let process = |owner| Process {
            owner: u128::from(owner),
            store: SimStore::default(),
            engine: None,
            shares: Shares::default(),
            places: Places::default(),
            mail: VecDeque::new(),
            answers: VecDeque::new(),
            is_defined: false,
            running: BTreeMap::new(),
        };
        Self {
            processes: (1..=count).map(process).collect(),
            random,
            now: Now { monotonic: Moment::from_millis(1_000), ..Now::default() },
            folder: Folder::default(),
            needs: BTreeMap::new(),
            groups: BTreeMap::new(),
            accepted: BTreeSet::new(),
            next_run: 0,
            played: Played::default(),
        }
    }

    fn play(&mut self) -> Result<(), String> {
        for place in 0..self.processes.len() {
            self.open(place)?;
        }
        for _ in 0..self.random.between(100, 400) {
            self.step()?;
        }
        self.come_to_an_end()
    }

    /// One thing happens to one of the processes.
    fn step(&mut self) -> Result<(), String> {
        let place = self.random.below(self.processes.len() as u64) as usize;
        if self.processes[place].engine.is_none() {
            return self.after_death(place);
        }
        match self.random.below(100) {
            0..=14 => self.submit(place)?,
            15..=19 => self.submit_run(place)?,
            20..=44 => self.end_one(place)?,
            45..=64 => self.carry_mail(place),
            65..=84 => self.look(place)?,
            85..=93 => self.answer(place)?,
            94..=95 => self.control(place)?,
            96..=97 => self.recover(place)?,
            98 => self.kill(place),
            _ => self.pass(Duration::from_secs(20)),
        }
        self.check()
    }

    fn pass(&mut self, time: Duration) {
        self.now =
            Now { monotonic: self.now.monotonic.after(time), wall: self.now.wall.after(time) };
    }

    fn config() -> Config {
        Config { slots: Some(3), lost_attempts_max: 1_000, ..Config::default() }
    }

    fn open(&mut self, place: usize) -> Result<(), String> {
        let store = Box::new(self.processes[place].store.clone());
        let opened = Engine::open(Self::config(), store, self.now);
        let mut engine = opened.map_err(|error| format!("not restored: {error:?}"))?;
        let outputs = std::mem::take(engine.outputs());
        let process = &mut self.processes[place];
        (process.shares, process.places) = (Shares::default(), Places::default());
        self.folder.groups.set_alive(process.owner, true);
        let process = &mut self.processes[place];
        process.engine = Some(engine);
        let is_defined = std::mem::replace(&mut process.is_defined, true);
        self.act(place, outputs.actions)?;
        if !is_defined {
            let own = std::iter::once((OWN.0, LimitSpec::Units(OWN.1)));
            let shared = SHARED.map(|(name, units)| (name, LimitSpec::SharedUnits(units)));
            for (name, spec) in own.chain(shared) {
                self.turn(place, Input::Command(Command::DefineLimit { name: name.into(), spec }))?;
            }
        }
        Ok(())
    }

    fn turn(&mut self, place: usize, input: Input) -> Result<(), String> {
        self.pass(Duration::from_millis(1));
        let Some(engine) = &mut self.processes[place].engine else { return Ok(()) };
        let outputs = engine.turn(self.now, [input]).map(std::mem::take);
        let outputs = outputs.map_err(|error| format!("a turn failed: {error:?}"))?;
        engine.scheduler().check();
        if let Some(Err(refusal)) = outputs.replies.into_iter().find(Result::is_err) {
            return Err(format!("refused: {refusal}"));
        }
        self.act(place, outputs.actions)
    }

    fn act(&mut self, place: usize, actions: Vec<Action>) -> Result<(), String> {
        for action in actions {
            match action {
                Action::StartAttempt(start) => {
                    self.played.attempts += 1;
                    let units = self.needs[&start.id.run].clone();
                    let id = AttemptId { task: start.id, number: start.attempt };
                    self.processes[place].running.insert(id, Running { start, units });
                    self.check()?;
                }
                Action::AskUnits { .. }
                | Action::ReturnUnits { .. }
                | Action::KeepUnits { .. }
                | Action::JoinGroup { .. }
                | Action::LeaveGroup(_)
                | Action::KeepPlaces(_) => self.processes[place].mail.push_back(action),
                Action::RunEnded { run, .. } => {
                    let Some(engine) = &mut self.processes[place].engine else { continue };
                    // That it has ended is stored, and so nobody takes it for a holder any more.
                    if let Some(id) = engine.scheduler().run_id(run) {
                        self.folder.groups.end(id);
                    }
                    engine.scheduler_mut().take_report(run);
                }
                // Everything else needs nobody here.
                _ => {}
            }
        }
        Ok(())
    }

    fn submit(&mut self, place: usize) -> Result<(), String> {
        let mut limits: Vec<(Arc<str>, u32)> = Vec::new();
        for (name, units) in SHARED.into_iter().chain([OWN]) {
            if self.random.percent(50) {
                let units = self.random.between(1, u64::from(units)) as u32;
                limits.push((name.into(), units));
            }
        }
        let Some(engine) = &mut self.processes[place].engine else { return Ok(()) };
        let (limits_all, retry) = (limits.clone(), Retry::times(3));
        let profile = Profile { limits: limits_all, retry, ..Profile::default() };
        let profile = engine.scheduler_mut().profile(&profile);
        let profile = profile.map_err(|refusal| format!("no profile: {refusal}"))?;
        self.next_run += 1;
        let id = RunId(self.next_run);
        limits.retain(|(name, _)| **name != *OWN.0);
        self.needs.insert(id, limits);
        let priority = Priority::new(self.random.between(0, 100) as i64);
        let submission = Submission { id, profile, priority, ..Submission::default() };
        self.turn(place, Input::Command(Command::Submit(submission)))
    }

    /// A run of a group.
    fn submit_run(&mut self, place: usize) -> Result<(), String> {
        let group = Groups::pick(&mut self.random);
        let graph = Graph::from_edges([("a", "b"), ("a", "c")]);
        let graph = graph.map_err(|error| format!("no graph: {error}"))?;
        self.next_run += 1;
        let id = RunId(self.next_run);
        self.needs.insert(id, Vec::new());
        self.groups.insert(id, group.name.clone());
        let options = RunOptions { group: Some(group), ..RunOptions::default() };
        let spec = Arc::new(RunSpec::new(Arc::new(graph), options, Profile::default()));
        self.turn(place, Input::Command(Command::SubmitRun { id, spec }))
    }

    fn end_one(&mut self, place: usize) -> Result<(), String> {
        let ids: Vec<AttemptId> = self.processes[place].running.keys().copied().collect();
        if ids.is_empty() {
            return Ok(());
        }
        let id = *self.random.pick(&ids);
        let outcome = match self.random.below(6) {
            0 => Outcome::Failed(Box::<Failure>::default()),
            1 => Outcome::Postponed(Duration::from_millis(5)),
            _ => Outcome::Succeeded,
        };
        self.end(place, id, outcome)
    }

    fn end(&mut self, place: usize, id: AttemptId, outcome: Outcome) -> Result<(), String> {
        let Some(ended) = self.processes[place].running.remove(&id) else { return Ok(()) };
        let Start { task, attempt, .. } = ended.start;
        self.turn(place, Input::Event(Event::AttemptEnded { task, attempt, outcome }))?;
        self.turn(place, Input::Event(Event::TimePassed))
    }

    /// The next action about units reaches whoever looks after them.
    fn carry_mail(&mut self, place: usize) {
        let process = &mut self.processes[place];
        if let Some(action) = process.mail.pop_front() {
            process.shares.note(&action);
            process.places.note(&action);
        }
    }

    /// Settles with the folder what is due.
    fn look(&mut self, place: usize) -> Result<(), String> {
        for due in self.processes[place].shares.due() {
            let known = SHARED.iter().find(|(name, _)| **name == *due.limit);
            let (name, max) = known.ok_or("a limit that nobody shares")?;
            self.folder.places += 1;
            let claims = self.folder.claims.entry(name).or_default();
            let owner = self.processes[place].owner;
            let asks = (due.held, due.asked);
            let is_granted = pool::settle(claims, owner, asks, *max, self.folder.places);
            let settled = if is_granted {
                Settled::Granted
            } else {
                self.played.waits += u64::from(due.asked > 0);
                Settled::Taken { holders: vec!["somebody".into()] }
            };
            let process = &mut self.processes[place];
            process.answers.extend(process.shares.settled(&due, settled));
        }
        self.look_at_groups(place)
    }

    /// Asks the folder for places in groups, and gives up those of runs that have ended.
    fn look_at_groups(&mut self, place: usize) -> Result<(), String> {
        let process = &mut self.processes[place];
        for run in process.places.leaving() {
            self.folder.groups.leave(run);
            process.places.left(run);
        }
        process.answers.extend(process.places.answers());
        for (run, group) in process.places.due() {
            let placement = self.folder.groups.place(process.owner, run, &group);
            match &placement {
                Placement::Given | Placement::Taken { .. } => {
                    self.accepted.insert(run);
                }
                Placement::Refused { replaced: true } => {}
                Placement::Refused { replaced: false } if self.accepted.contains(&run) => {
                    return Err(format!("{run} was let into the line of its group, and refused"));
                }
                Placement::Refused { replaced: false } => self.played.refused += 1,
            }
            process.answers.extend(process.places.placed(run, placement));
        }
        self.make_room(place)
    }

    /// Commands to make room reach the process that has the run.
    fn make_room(&mut self, place: usize) -> Result<(), String> {
        for run in self.folder.groups.replaced.clone() {
            let engine = self.processes[place].engine.as_ref();
            let Some(key) = engine.and_then(|engine| engine.scheduler().find_work(run)) else {
                continue;
            };
            self.folder.groups.replaced.retain(|other| *other != run);
            self.played.replaced += 1;
            let mode = CancelMode::Stop { grace: Duration::ZERO };
            self.turn(place, Input::Command(Command::ReplaceRun { run: key, mode }))?;
        }
        Ok(())
    }

    /// The next answer reaches the scheduler.
    fn answer(&mut self, place: usize) -> Result<(), String> {
        match self.processes[place].answers.pop_front() {
            Some(event) => self.turn(place, Input::Event(event)),
            None => Ok(()),
        }
    }

    fn control(&mut self, place: usize) -> Result<(), String> {
        let command = if self.random.percent(40) { Command::Pause } else { Command::Resume };
        self.turn(place, Input::Command(command))
    }

    /// The scheduler is restored; the process, its attempts and what is on its way live on.
    fn recover(&mut self, place: usize) -> Result<(), String> {
        self.pass(Duration::from_millis(1));
        let process = &mut self.processes[place];
        let Some(engine) = &mut process.engine else { return Ok(()) };
        let alive: BTreeSet<AttemptId> = process.running.keys().copied().collect();
        let has_units = process.running.values().any(|running| !running.units.is_empty());
        self.played.recoveries += u64::from(has_units);
        let (tenure, snapshot) =
            process.store.take_tenure().map_err(|error| format!("no tenure: {error:?}"))?;
        let restored = engine.restore(tenure, snapshot, &alive, self.now);
        restored.map_err(|error| format!("not restored: {error:?}"))?;
        let outputs = match engine.close() {
            Some(mut batch) => batch.commit(&mut process.store).map(std::mem::take),
            None => Ok(Outputs::default()),
        };
        let outputs = outputs.map_err(|error| format!("not stored: {error:?}"))?;
        let works: BTreeMap<RunId, _> =
            engine.scheduler().works().map(|(key, id)| (id, key)).collect();
        for (id, running) in &mut process.running {
            running.start.task.run = works[&id.task.run];
        }
        self.act(place, outputs.actions)
    }

    /// The process is killed. What it started lives a little longer, and so do its claims.
    fn kill(&mut self, place: usize) {
        let process = &mut self.processes[place];
        process.engine = None;
        process.mail.clear();
        process.answers.clear();
        let has_claims = self.folder.claims.values().flatten().any(|it| it.owner == process.owner);
        self.played.kills += u64::from(has_claims);
    }

    /// What a killed process had started ends; then it is started again.
    fn after_death(&mut self, place: usize) -> Result<(), String> {
        let process = &mut self.processes[place];
        if process.running.pop_first().is_some() {
            return Ok(());
        }
        // Nobody holds its lock any more, so its claims do not count.
        let owner = process.owner;
        for claims in self.folder.claims.values_mut() {
            claims.retain(|claim| claim.owner != owner);
        }
        self.folder.groups.set_alive(owner, false);
        if self.random.percent(20) { self.open(place) } else { Ok(()) }
    }

    /// Units in use by everything that runs are never more than there are, nor are runs of a group.
    fn check(&self) -> Result<(), String> {
        for (name, max) in SHARED {
            let running = self.processes.iter().flat_map(|process| process.running.values());
            let units = running.flat_map(|running| &running.units);
            let used: u32 = units.filter(|(limit, _)| **limit == *name).map(|(_, n)| *n).sum();
            if used > max {
                return Err(format!("{used} units of `{name}` are in use, there are {max}"));
            }
        }
        for (name, max) in GROUPS {
            let running = self.processes.iter().flat_map(|process| process.running.keys());
            let of_group = |run: &RunId| self.groups.get(run).is_some_and(|group| **group == *name);
            let runs: BTreeSet<RunId> = running.map(|id| id.task.run).filter(of_group).collect();
            if runs.len() > max as usize {
                return Err(format!("{runs:?} of group `{name}` go on, {max} may"));
            }
        }
        Ok(())
    }

    /// Nothing goes wrong any more: everything ends, and nothing is held.
    fn come_to_an_end(&mut self) -> Result<(), String> {
        for place in 0..self.processes.len() {
            while self.processes[place].engine.is_none() {
                self.after_death(place)?;
            }
            let mode = ShutdownMode::Drain;
            self.turn(place, Input::Command(Command::ShutDown { mode, grace: None }))?;
        }
        for _ in 0..STEPS_MAX {
            let place = self.random.below(self.processes.len() as u64) as usize;
            match self.random.below(5) {
                0 => self.end_one(place)?,
                4 => {
                    self.pass(Duration::from_secs(1));
                    self.turn(place, Input::Event(Event::TimePassed))?;
                }
                1 => self.carry_mail(place),
                2 => self.look(place)?,
                _ => self.answer(place)?,
            }
            self.check()?;
            if self.is_over() {
                return Ok(());
            }
        }
        let left: Vec<String> = self.processes.iter().map(Process::describe).collect();
        let Folder { claims, groups, .. } = &self.folder;
        Err(format!("it does not come to an end: {left:?} {claims:?} {groups:?}"))
    }

    fn is_over(&self) -> bool {
        self.processes.iter().all(Process::is_idle)
            && self.folder.claims.values().all(Vec::is_empty)
            && self.folder.groups.is_empty()
    }
}

impl Process {
    fn is_idle(&self) -> bool {
        let works = self.engine.as_ref().map(|engine| engine.scheduler().works().count());
        works == Some(0) && self.mail.is_empty() && self.answers.is_empty()
    }

    fn describe(&self) -> String {
        let works = self.engine.as_ref().map_or(0, |engine| engine.scheduler().works().count());
        let (mail, answers) = (&self.mail, &self.answers);
        let (running, shares, places) = (self.running.len(), &self.shares, &self.places);
        format!("{works} left, {running} run, {shares:?} {places:?} {mail:?} {answers:?}")
    }
}
