//! [`State`]: everything behind the one lock: the engine and who belongs to which key.
//!
//! Actions become effects here; effects are carried out without the lock, in `shared`.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex};

use tidewheel_core::decision::{Action, Notice, Outputs, Start};
use tidewheel_core::id::{ProfileId, RunId, RunKey, ScheduleId, ScheduleKey, TaskKey};
use tidewheel_core::input::{Event, Input, Outcome, Rejection, Reply};
use tidewheel_core::time::{Moment, Now, Timestamp};
use tokio::sync::mpsc;

use super::attempt::BoxFuture;
use super::books::Books;
use super::commons::SharedCommons;
use super::effect::{Effect, End, Launch, Single, SingleCode, Waiter};
use super::engine::Engine;
use super::entries::Entries;
use super::held::Kinds;
use super::post::Report;
use super::seat::{Seat, Stopped};
use super::shared::Shared;
use crate::attempt::Attempt;
use crate::error::describe;
use crate::run::{RunCell, RunCode, Task};
use crate::store::CommandSource;

/// Code that can be run again and again.
pub(crate) type Repeat = dyn Fn(Attempt) -> BoxFuture<Outcome> + Send + Sync;

/// Code for restored work.
#[derive(Default)]
pub(crate) struct Adopt {
    /// By kind, `None` standing for work that says none.
    pub kinds: HashMap<Option<Arc<str>>, Arc<Repeat>>,
    /// For work of any other kind.
    pub rest: Option<Arc<Repeat>>,
}

impl Adopt {
    /// Which kinds of work there is code for.
    pub fn known(&self) -> Kinds {
        match self.rest {
            Some(_) => Kinds::all(),
            None => Kinds::only(self.kinds.keys().cloned().collect()),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_none() && self.kinds.is_empty()
    }

    fn code(&self, kind: Option<&Arc<str>>) -> Option<&Arc<Repeat>> {
        self.kinds.get(&kind.cloned()).or(self.rest.as_ref())
    }
}

/// Asks a custom trigger for its next instant.
pub(crate) type Ask = Arc<dyn Fn(Option<Timestamp>) -> Option<Timestamp> + Send + Sync>;

pub(crate) struct State {
    pub engine: Engine,
    /// Where decisions wait for a store that takes its time.
    pub(super) books: Option<Books>,
    /// How plain submissions are treated.
    pub plain: ProfileId,
    pub notices: Option<mpsc::UnboundedSender<Notice>>,
    /// Why nothing is done any more.
    pub end: Option<End>,
    /// When the timer will look at the clock.
    pub armed: Moment,
    entries: Entries<Entry>,
    schedules: HashMap<ScheduleKey, Arc<ScheduleEntry>, BuildHasherDefault<KeyHasher>>,
    /// Attempts that have waited at least once.
    attempts: HashMap<TaskKey, Arc<Seat>, BuildHasherDefault<KeyHasher>>,
    /// Requests to stop attempts that are not among these yet.
    early: HashMap<(TaskKey, u32), Stopped, BuildHasherDefault<KeyHasher>>,
    /// Code for restored tasks.
    adopt: Adopt,
    ids: Ids,
    /// Where commands of other processes arrive, until somebody looks after them.
    pub(super) inbox: Option<Box<dyn CommandSource>>,
    /// The way to what is shared with other processes.
    pub(super) commons: Option<SharedCommons>,
    /// Actions for whoever looks after it.
    pub(super) commons_mail: Option<mpsc::UnboundedSender<Action>>,
    /// What opening the engine left to be done, until the wheel begins to turn.
    opening: Vec<Action>,
    /// The actions of the newest turn; kept for its buffer.
    actions: Vec<Action>,
    /// Attempts whose worker left because another one was faster alone.
    pub(super) spare: VecDeque<Effect>,
    /// How often a worker took spare work.
    pub(super) exchanges: u64,
    /// Reports being taken in; kept for its buffer.
    pub(super) reports: Vec<Report>,
}

enum Entry {
    Single(SingleEntry),
    Run(Arc<dyn Launch>),
}

pub(crate) struct SingleEntry {
    pub code: Code,
    pub waiter: Arc<dyn Waiter>,
}

pub(crate) enum Code {
    /// A future that can be run once; gone when it was.
    Once(Option<BoxFuture<Outcome>>),
    Repeat(Arc<Repeat>),
}

pub(crate) struct ScheduleEntry {
    pub code: Arc<Repeat>,
    pub ask: Option<Ask>,
}

/// Whose attempts the caller could go straight on with.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    Nothing,
    Run(RunKey),
    Single,
}

/// The attempt the caller goes on with.
pub(super) enum Next {
    Run(Start),
    Single(Single),
}

impl State {
    pub fn new(mut engine: Engine, plain: ProfileId, adopt: Adopt, seed: Option<u64>) -> Self {
        let opening = std::mem::take(&mut engine.outputs().actions);
        let pace = engine.pace();
        let inbox = engine.inbox();
        let commons = engine.commons().map(|commons| Arc::new(Mutex::new(commons)));
        Self {
            books: Books::of(&mut engine, pace),
            engine,
            plain,
            notices: None,
            end: None,
            armed: Moment::MAX,
            entries: Entries::default(),
            schedules: HashMap::default(),
            attempts: HashMap::default(),
            early: HashMap::default(),
            adopt,
            ids: Ids::new(seed),
            opening,
            inbox,
            commons,
            commons_mail: None,
            actions: Vec::new(),
            spare: VecDeque::new(),
            exchanges: 0,
            reports: Vec::new(),
        }
    }

    pub fn fresh_run_id(&mut self, now: Now) -> RunId {
        RunId(self.ids.next(now.wall))
    }

    pub fn fresh_schedule_id(&mut self, now: Now) -> ScheduleId {
        ScheduleId(self.ids.next(now.wall))
    }

    pub fn insert_single(&mut self, run: RunKey, entry: SingleEntry) {
        self.entries.insert(run, Entry::Single(entry));
    }

    pub fn insert_run(&mut self, run: RunKey, launch: Arc<dyn Launch>) {
        self.entries.insert(run, Entry::Run(launch));
    }

    /// What the handles of a run share that has not ended.
    pub fn find_run(&self, id: RunId) -> Option<Arc<RunCell>> {
        match self.entries.get(self.engine.scheduler().find_run(id)?)? {
            Entry::Run(launch) => Some(Arc::clone(launch.cell())),
            Entry::Single(_) => None,
        }
    }

    /// Gives restored runs the code for restored work, and handles as if they had been started here.
    pub(super) fn adopt_runs(&mut self, shared: &Arc<Shared>) {
        if self.adopt.is_empty() {
            return;
        }
        let works: Vec<(RunKey, RunId)> = self.engine.scheduler().works().collect();
        for (key, id) in works {
            let Some(cell) = RunCell::restored(shared, self.engine.scheduler(), key, id) else {
                continue;
            };
            let kind = self.engine.scheduler().kind(key);
            let Some(code) = self.adopt.code(kind).cloned() else { continue };
            let code = move |task: Task| code(task.as_attempt());
            self.insert_run(key, Arc::new(RunCode::new(Arc::new(cell), code)));
        }
    }

    pub fn insert_schedule(&mut self, schedule: ScheduleKey, entry: ScheduleEntry) {
        self.schedules.insert(schedule, Arc::new(entry));
    }

    /// Whether a schedule has a rule of its own that names its instants.
    pub fn has_rule(&self, schedule: ScheduleKey) -> bool {
        self.schedules.get(&schedule).is_some_and(|entry| entry.ask.is_some())
    }

    /// Steps one input. What it leads to waits for [`State::settle`]; the reply is for commands.
    pub(super) fn step(&mut self, now: Now, input: Input) -> Result<Reply, Rejection> {
        if self.end.is_some() {
            return Err(Rejection::ShuttingDown);
        }
        if self.books.is_some() {
            let reply = self.engine.step(now, input).map(|reply| reply.cloned());
            return match reply {
                Ok(reply) => reply.unwrap_or(Ok(Reply::Done)),
                Err(_) => Err(Rejection::ShuttingDown),
            };
        }
        debug_assert!(self.actions.is_empty(), "every step is followed by settle");
        match self.engine.turn(now, [input]) {
            Ok(outputs) => {
                std::mem::swap(&mut outputs.actions, &mut self.actions);
                tell_all(self.notices.as_ref(), &mut outputs.notices);
                outputs.replies.pop().unwrap_or(Ok(Reply::Done))
            }
            Err(error) => {
                self.end = Some(End::Lost(Arc::from(describe(&error))));
                Err(Rejection::ShuttingDown)
            }
        }
    }

    /// Takes over what opening the engine left to be done.
    pub(super) fn begin(&mut self) {
        self.actions.append(&mut self.opening);
    }

    /// Takes over what a stored decision says is to be done and told.
    pub(super) fn take_over(&mut self, outputs: &mut Outputs) {
        self.actions.append(&mut outputs.actions);
        tell_all(self.notices.as_ref(), &mut outputs.notices);
    }

    /// Takes in the end of an attempt and gives the one its worker goes on with.
    pub(super) fn attempt_ended(
        &mut self,
        now: Now,
        seat: &Seat,
        outcome: Outcome,
        wanted: Wanted,
        effects: &mut Vec<Effect>,
    ) -> Option<Next> {
        self.unregister(seat);
        let Start { task, attempt, .. } = seat.start;
        let expands = matches!(outcome, Outcome::Expanded(_));
        let event = Event::AttemptEnded { task, attempt, outcome };
        // An event has no reply; settle sees it if the wheel has ended.
        let _ = self.step(now, Input::Event(event));
        if expands && let Some(Entry::Run(launch)) = self.entries.get_mut(task.run) {
            launch.cell().catch_up(self.engine.scheduler());
        }
        let next = self.settle(wanted, effects);
        if self.spare.is_empty() { next } else { self.exchange(next, wanted, effects) }
    }

    /// Takes in the end of an attempt whose worker has left: what follows is spare.
    pub(super) fn last_attempt_ended(
        &mut self,
        now: Now,
        seat: &Seat,
        outcome: Outcome,
        effects: &mut Vec<Effect>,
    ) {
        let known = effects.len();
        self.attempt_ended(now, seat, outcome, Wanted::Nothing, effects);
        for effect in effects.split_off(known) {
            match effect {
                Effect::Launch(..) | Effect::LaunchSingle(_) => self.spare.push_back(effect),
                other => effects.push(other),
            }
        }
    }

    /// Gives the oldest spare attempt in exchange for the newest one.
    fn exchange(
        &mut self,
        next: Option<Next>,
        wanted: Wanted,
        effects: &mut Vec<Effect>,
    ) -> Option<Next> {
        let fits = |effect: &Effect| match (effect, wanted) {
            (Effect::Launch(_, start), Wanted::Run(run)) => start.task.run == run,
            (Effect::LaunchSingle(_), Wanted::Single) => true,
            _ => false,
        };
        match next {
            Some(Next::Run(start)) => match self.entries.get_mut(start.task.run) {
                Some(Entry::Run(launch)) => {
                    self.spare.push_back(Effect::Launch(Arc::clone(launch), start));
                }
                _ => unreachable!("an attempt of a run that has ended"),
            },
            Some(Next::Single(single)) => self.spare.push_back(Effect::LaunchSingle(single)),
            None => {}
        }
        self.exchanges += 1;
        match self.spare.iter().position(fits).and_then(|place| self.spare.remove(place)) {
            Some(Effect::Launch(_, start)) => Some(Next::Run(start)),
            Some(Effect::LaunchSingle(single)) => Some(Next::Single(single)),
            _ => {
                // The caller leaves too: somebody else must take care of the rest.
                effects.extend(self.spare.drain(..));
                None
            }
        }
    }

    /// Gives all spare attempts workers of their own.
    pub(super) fn launch_spare(&mut self, effects: &mut Vec<Effect>) {
        effects.extend(self.spare.drain(..));
    }

    /// Turns the actions of the newest step into effects, except one attempt the caller wants.
    pub(super) fn settle(&mut self, wanted: Wanted, effects: &mut Vec<Effect>) -> Option<Next> {
        if self.end.is_some() {
            self.end_everything(effects);
            return None;
        }
        let mut next = None;
        let mut actions = std::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            self.act(action, wanted, &mut next, effects);
        }
        self.actions = actions;
        self.rearm(effects);
        next
    }

    fn start(
        &mut self,
        start: Start,
        wanted: Wanted,
        next: &mut Option<Next>,
        effects: &mut Vec<Effect>,
    ) {
        if let Wanted::Run(run) = wanted
            && next.is_none()
            && start.task.run == run
        {
            *next = Some(Next::Run(start));
            return;
        }
        let single = match self.entries.get_mut(start.task.run) {
            Some(Entry::Run(launch)) => {
                effects.push(Effect::Launch(Arc::clone(launch), start));
                return;
            }
            Some(Entry::Single(entry)) => Single { start, code: entry.code.attempt() },
            None => Single { start, code: self.adopted(start) },
        };
        if matches!(wanted, Wanted::Single) && next.is_none() {
            *next = Some(Next::Single(single));
        } else {
            effects.push(Effect::LaunchSingle(single));
        }
    }

    /// The code of a task that was not submitted here: a firing, or restored from the store.
    fn adopted(&self, start: Start) -> SingleCode {
        // A schedule ends only when its last firing has, so its code is still there.
        let schedule = start.schedule.and_then(|key| self.schedules.get(&key));
        let kind = || self.engine.scheduler().kind(start.task.run);
        let code = schedule.map(|schedule| &schedule.code).or_else(|| self.adopt.code(kind()));
        code.map_or(SingleCode::Missing, |code| SingleCode::Call(Arc::clone(code)))
    }

    #[inline]
    fn act(
        &mut self,
        action: Action,
        wanted: Wanted,
        next: &mut Option<Next>,
        effects: &mut Vec<Effect>,
    ) {
        match action {
            Action::StartAttempt(start) => self.start(start, wanted, next, effects),
            Action::StopAttempt { task, attempt, grace, reason } => {
                let stopped = Stopped { grace, reason };
                match self.attempts.get(&task) {
                    Some(seat) if seat.start.attempt == attempt => {
                        effects.push(Effect::Stop(Arc::clone(seat), stopped));
                    }
                    // Stored later than decided, the request may come after the attempt's own end.
                    _ if self.is_under_way(task, attempt) => {
                        self.early.insert((task, attempt), stopped);
                    }
                    _ => {}
                }
            }
            Action::SubmissionEnded { run, state, reason, error } => {
                if let Some(Entry::Single(entry)) = self.entries.remove(run) {
                    let end = End::Ended { state, reason, error };
                    effects.push(Effect::EndSingle(entry, end));
                }
            }
            Action::RunEnded { run, .. } => {
                let report = self.engine.scheduler_mut().take_report(run).map(Box::new);
                if let Some(Entry::Run(launch)) = self.entries.remove(run) {
                    if let Some(report) = &report {
                        launch.count(report.counts);
                    }
                    effects.push(Effect::EndRun(launch, report, End::ShutDown));
                }
            }
            Action::AskTrigger { schedule, last } => {
                let ask = self.schedules.get(&schedule).and_then(|entry| entry.ask.clone());
                effects.push(Effect::AskTrigger(ask, schedule, last));
            }
            Action::ScheduleEnded(schedule) => {
                effects.extend(self.schedules.remove(&schedule).map(Effect::DropCode));
            }
            Action::AskUnits { .. } | Action::ReturnUnits { .. } | Action::KeepUnits { .. } => {
                // Under the lock, so that they arrive in the order in which they were decided.
                if let Some(mail) = &self.commons_mail {
                    // Whoever looks after it is gone only when the wheel is.
                    let _ = mail.send(action);
                }
            }
            Action::ShutDownCompleted => {
                self.end = Some(End::ShutDown);
                self.end_everything(effects);
                effects.push(Effect::ShutDownCompleted);
            }
        }
    }

    /// Nothing will come of anything any more: tells everybody.
    pub(super) fn end_everything(&mut self, effects: &mut Vec<Effect>) {
        let end = self.end.clone().unwrap_or(End::ShutDown);
        self.actions.clear();
        // What was told already still reaches the listeners; then they see the end.
        self.notices = None;
        self.commons_mail = None;
        for entry in self.entries.drain() {
            effects.push(match entry {
                Entry::Single(entry) => Effect::EndSingle(entry, end.clone()),
                Entry::Run(launch) => Effect::EndRun(launch, None, end.clone()),
            });
        }
        for (_, seat) in self.attempts.drain() {
            let reason = tidewheel_core::task::Reason::ShutDown;
            let stopped = Stopped { grace: std::time::Duration::ZERO, reason };
            effects.push(Effect::Stop(seat, stopped));
        }
        effects.extend(self.schedules.drain().map(|(_, entry)| Effect::DropCode(entry)));
        if matches!(end, End::Lost(_)) {
            effects.push(Effect::ShutDownCompleted);
        }
    }

    /// Lets requests to stop reach the seat; gives one that came too early.
    pub(super) fn register(&mut self, seat: &Arc<Seat>) -> Option<Stopped> {
        let (task, attempt) = (seat.start.task, seat.start.attempt);
        self.attempts.insert(task, Arc::clone(seat));
        if self.end.is_some() {
            let reason = tidewheel_core::task::Reason::ShutDown;
            return Some(Stopped { grace: std::time::Duration::ZERO, reason });
        }
        self.early.remove(&(task, attempt))
    }

    /// The attempt has ended: forgets its seat, or a request that never reached it.
    pub(super) fn unregister(&mut self, seat: &Seat) {
        seat.leave();
        if seat.is_registered() {
            self.attempts.remove(&seat.start.task);
        } else if !self.early.is_empty() {
            self.early.remove(&(seat.start.task, seat.start.attempt));
        }
    }

    fn is_under_way(&self, task: TaskKey, attempt: u32) -> bool {
        self.books.is_none()
            || self
                .engine
                .scheduler()
                .task(task)
                .is_some_and(|task| task.state.holds_slot() && task.attempts == attempt)
    }

    pub(super) fn rearm(&mut self, effects: &mut Vec<Effect>) {
        if let Some(wakeup) = self.engine.scheduler().next_wakeup()
            && wakeup < self.armed
        {
            self.armed = wakeup;
            effects.push(Effect::Rearm);
        }
    }
}

#[inline]
fn tell_all(sender: Option<&mpsc::UnboundedSender<Notice>>, notices: &mut Vec<Notice>) {
    let Some(sender) = sender else { return };
    for notice in notices.drain(..) {
        // The pump that receives them ends only with the runtime.
        let _ = sender.send(notice);
    }
}

impl Code {
    fn attempt(&mut self) -> SingleCode {
        match self {
            Self::Once(future) => future.take().map_or(SingleCode::Missing, SingleCode::Future),
            Self::Repeat(code) => SingleCode::Call(Arc::clone(code)),
        }
    }
}

/// Keys are already well spread numbers; they need no defence against an attacker.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = self.0.wrapping_add(value).wrapping_mul(0xf135_7aea_2e62_a9c5);
    }

    fn finish(&self) -> u64 {
        // The good bits of a product are the high ones; tables look at the low ones first.
        self.0.rotate_left(26)
    }
}

/// Fresh ids in the layout of a UUID version 7: time first, then what makes them unique.
struct Ids {
    base: u64,
    count: u64,
}

impl Ids {
    fn new(seed: Option<u64>) -> Self {
        use std::hash::BuildHasher as _;
        // The standard library's own source of randomness, which needs no other crate.
        let random = || std::hash::RandomState::new().build_hasher().finish();
        Self { base: seed.unwrap_or_else(random), count: 0 }
    }

    fn next(&mut self, now: Timestamp) -> u128 {
        self.count += 1;
        let millis = (now.as_micros() / 1000).max(0) as u128 & 0xffff_ffff_ffff;
        let high = u128::from(mix(self.base ^ mix(self.count))) & 0xfff;
        let low = u128::from(mix(self.base.wrapping_add(self.count))) >> 2;
        millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low
    }
}

/// One round of splitmix64.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
