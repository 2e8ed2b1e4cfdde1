//! [`State`]: everything behind the one lock: the engine and who belongs to which key.
//!
//! Actions become effects here; effects are carried out without the lock, in `shared`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidewheel_core::decision::{Action, Fact, Notice, Outputs, Start};
use tidewheel_core::id::{AttemptId, ProfileId, RunId, RunKey, ScheduleId, ScheduleKey, TaskKey};
use tidewheel_core::input::{Command, Event, Input, Rejection, Reply};
use tidewheel_core::spec::Profile;
use tidewheel_core::time::{Moment, Now, Timestamp};
use tokio::sync::{Notify, mpsc};

use super::books::{Books, Ticket};
use super::code::{Adopt, Entry, ScheduleCode, ScheduleEntry, SingleEntry};
use super::commons::{Mail, SharedCommons};
use super::effect::{Effect, End, Launch, Single, SingleCode};
use super::engine::{Engine, ScheduleRef};
use super::entries::Entries;
use super::ids::{Ids, KeyHasher};
use super::report::{Next, Wanted};
use super::schedules::EndedSchedules;
use super::seat::{Seat, Stopped};
use super::shared::Shared;
use super::span::{TaskSpans, WorkSpan};
use super::values::SharedValues;
use super::wish::Wish;
use super::writing::{Reclaim, Writer};
use crate::error::describe;
use crate::run::{RunCell, RunCode, Task};
use crate::store::CommandSource;

/// A store that has not answered for so long is told of.
const ANSWER_MAX: Duration = Duration::from_secs(3);

pub(crate) struct State {
    pub engine: Engine,
    /// Decisions on their way to the store, if it keeps any.
    pub(super) books: Option<Books>,
    /// The right to write, while nobody does.
    pub(super) writer: Option<Writer>,
    /// Since when the store is asked to keep a batch, while it is.
    pub(super) asked: Option<Moment>,
    /// How plain submissions are treated.
    pub plain: ProfileId,
    pub notices: Option<mpsc::UnboundedSender<Notice>>,
    /// The number of the newest notice. The scheduler's own begin anew when it is restored.
    told: u64,
    /// Why nothing is done any more.
    pub end: Option<End>,
    /// When the timer will look at the clock, and what wakes it earlier.
    pub armed: Moment,
    pub(super) timer: Arc<Notify>,
    pub(super) entries: Entries<Entry>,
    /// What ended while memory was restored, until that is stored.
    pub(super) ending: BTreeMap<RunId, Entry>,
    pub(super) schedules: HashMap<ScheduleKey, Arc<ScheduleEntry>, BuildHasherDefault<KeyHasher>>,
    pub ended_schedules: EndedSchedules,
    /// Attempts that have waited at least once.
    pub(super) attempts: HashMap<AttemptId, Arc<Seat>, BuildHasherDefault<KeyHasher>>,
    /// Requests to stop attempts that are not among these yet.
    pub(super) early: HashMap<AttemptId, Stopped, BuildHasherDefault<KeyHasher>>,
    /// There are some, or nothing shall begin any more: whoever begins an attempt looks.
    pub(super) has_early: Arc<AtomicBool>,
    /// Code for restored tasks.
    pub(super) adopt: Adopt,
    /// What surrounds the attempts of firings and of restored tasks.
    task_spans: TaskSpans,
    /// What tasks give that several people wait for.
    pub values: SharedValues,
    ids: Ids,
    /// Where commands of other processes arrive, until somebody looks after them.
    pub(super) inbox: Option<Box<dyn CommandSource>>,
    /// The way to what is shared with other processes.
    pub(super) commons: Option<SharedCommons>,
    /// For whoever looks after it.
    pub(super) commons_mail: Option<mpsc::UnboundedSender<Mail>>,
    /// Limits that are shared, with the units that others were last told of.
    pub(super) limits_told: BTreeMap<Arc<str>, u32>,
    /// What opening the engine left to be done, until the wheel begins to turn.
    opening: Vec<Action>,
    /// The actions of the newest turn; kept for its buffer.
    actions: Vec<Action>,
    /// Attempts whose worker left because another one was faster alone.
    pub(super) spare: VecDeque<Effect>,
    /// How often a worker took spare work.
    pub(super) exchanges: u64,
}

/// What a store needs that keeps decisions, besides itself.
#[derive(Default)]
pub(crate) struct Keeping {
    pub reclaim: Option<Reclaim>,
    /// It was begun paused.
    pub paused: bool,
}

impl State {
    pub fn new(
        mut engine: Engine,
        plain: ProfileId,
        adopt: Adopt,
        seed: Option<u64>,
        keeping: Keeping,
    ) -> Self {
        let opening = std::mem::take(&mut engine.outputs().actions);
        let (inbox, ids) = (engine.inbox(), Ids::new(seed, engine.tenure()));
        let commons = engine.commons().map(|commons| Arc::new(Mutex::new(commons)));
        let mut books = engine.keeps_rows().then(|| Books::new(&engine, &opening));
        if let Some(books) = books.as_mut().filter(|_| keeping.paused) {
            books.begin_paused();
        }
        let writer = books.is_some().then(|| Writer::of(&mut engine, keeping.reclaim));
        Self {
            books,
            writer,
            asked: None,
            engine,
            plain,
            notices: None,
            told: 0,
            end: None,
            armed: Moment::MAX,
            timer: Arc::new(Notify::new()),
            entries: Entries::default(),
            ending: BTreeMap::new(),
            schedules: HashMap::default(),
            ended_schedules: EndedSchedules::default(),
            attempts: HashMap::default(),
            early: HashMap::default(),
            has_early: Arc::default(),
            adopt,
            task_spans: TaskSpans::default(),
            values: SharedValues::default(),
            ids,
            opening,
            inbox,
            commons,
            commons_mail: None,
            limits_told: BTreeMap::new(),
            actions: Vec::new(),
            spare: VecDeque::new(),
            exchanges: 0,
        }
    }

    /// How plain futures are treated: they cannot be run again, so they never give way.
    pub fn plain_profile() -> Profile {
        Profile { stays: true, ..Profile::default() }
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
        // Of what was forgotten nobody tells the end.
        self.task_spans = TaskSpans::default();
        if self.adopt.is_empty() {
            return;
        }
        let works: Vec<(RunKey, RunId)> = self.engine.scheduler().works().collect();
        for (key, id) in works {
            if self.entries.get(key).is_some() {
                continue;
            }
            let Some(cell) = RunCell::restored(shared, &self.engine, key, id) else {
                continue;
            };
            let kind = self.engine.scheduler().kind(key);
            let Some(code) = self.adopt.code(kind).cloned() else { continue };
            let code = move |task: Task| code(task.as_attempt());
            let span = WorkSpan::of_own_run(&cell.name);
            span.accepted(id);
            self.insert_run(key, Arc::new(RunCode::new(Arc::new(cell), span, code)));
        }
    }

    /// Asks something of the scheduler. What it leads to waits for [`State::settle`]; the ticket
    /// says with which decision it is stored, if any are.
    pub(super) fn ask(&mut self, now: Now, command: Command) -> Result<(Reply, Ticket), Rejection> {
        match &mut self.books {
            _ if self.end.is_some() => Err(Rejection::ShuttingDown),
            Some(books) => books.ask(&mut self.engine, now, command),
            None => self.turn(now, Input::Command(command)).map(|reply| (reply, Ticket::default())),
        }
    }

    /// Asks something that is not forgotten while the store is in trouble.
    pub(super) fn wish(&mut self, now: Now, wish: Wish) -> Result<(Reply, Ticket), Rejection> {
        match &mut self.books {
            _ if self.end.is_some() => Err(Rejection::ShuttingDown),
            Some(books) => books.wish(&mut self.engine, now, wish),
            None => {
                let command = wish.command(&self.engine).ok_or(Rejection::Gone("run"))?;
                self.turn(now, Input::Command(command)).map(|reply| (reply, Ticket::default()))
            }
        }
    }

    /// Tells the scheduler something that can be told again or missed.
    pub(super) fn tell(&mut self, now: Now, event: Event) {
        match &mut self.books {
            _ if self.end.is_some() => {}
            Some(books) => books.tell(&mut self.engine, now, event),
            None => drop(self.turn(now, Input::Event(event))),
        }
    }

    /// Tells the scheduler what a custom trigger said.
    pub(super) fn trigger_answered(
        &mut self,
        now: Now,
        schedule: ScheduleRef,
        next: Option<Timestamp>,
    ) {
        match &mut self.books {
            _ if self.end.is_some() => {}
            Some(books) => books.trigger_answered(&mut self.engine, now, schedule, next),
            None => {
                if let Some(schedule) = self.engine.find_schedule(schedule) {
                    let event = Event::TriggerAnswered { schedule, next };
                    let _ = self.turn(now, Input::Event(event));
                }
            }
        }
    }

    /// Steps and commits, for a store that keeps nothing.
    #[inline]
    pub(super) fn turn(&mut self, now: Now, input: Input) -> Result<Reply, Rejection> {
        debug_assert!(self.actions.is_empty(), "every turn is followed by settle");
        match self.engine.turn_one(now, input) {
            Ok(outputs) => {
                std::mem::swap(&mut outputs.actions, &mut self.actions);
                tell_all(self.notices.as_ref(), &mut self.told, &mut outputs.notices);
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
        tell_all(self.notices.as_ref(), &mut self.told, &mut outputs.notices);
    }

    /// Tells observers something that the scheduler does not know.
    pub(super) fn notify(&mut self, now: Now, fact: Fact) {
        let notice = Notice { sequence: 0, at: now.wall, name: None, fact };
        tell_all(self.notices.as_ref(), &mut self.told, &mut vec![notice]);
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
            match action {
                // Most often the caller goes on in the run it comes from.
                Action::StartAttempt(start)
                    if next.is_none()
                        && matches!(wanted, Wanted::Run(run) if run == start.task.run) =>
                {
                    next = Some(Next::Run(start));
                }
                Action::StartAttempt(start) => self.start(start, wanted, &mut next, effects),
                Action::SubmissionEnded { run, id, state, reason, error } => {
                    self.end_single(run, id, End::Ended { state, reason, error }, effects);
                }
                action => self.act(action, effects),
            }
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
        let single = match self.entries.get_mut(start.task.run) {
            Some(Entry::Run(launch)) => {
                effects.push(Effect::Launch(Arc::clone(launch), start));
                return;
            }
            Some(Entry::Single(entry)) => {
                Single { start, code: entry.code.attempt(), span: entry.span.clone() }
            }
            None => {
                let span = self.task_spans.span(start.id.run);
                Single { start, code: self.adopted(start), span }
            }
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
        let own = schedule.and_then(|schedule| match &schedule.code {
            ScheduleCode::Task(code) => Some(code),
            ScheduleCode::Run(_) => None,
        });
        let kind = || self.engine.scheduler().kind(start.task.run);
        let code = own.or_else(|| self.adopt.code(kind()));
        code.map_or(SingleCode::Missing, |code| SingleCode::Call(Arc::clone(code)))
    }

    #[inline]
    fn end_single(&mut self, run: RunKey, id: RunId, end: End, effects: &mut Vec<Effect>) {
        let entry = self.entries.remove(run).or_else(|| self.ending.remove(&id));
        self.task_spans.ended(id);
        if let Some(Entry::Single(entry)) = entry {
            effects.push(Effect::EndSingle(entry, end));
        }
    }

    /// Not part of its caller, where starts and ends of single tasks are what counts.
    #[inline(never)]
    fn act(&mut self, action: Action, effects: &mut Vec<Effect>) {
        match action {
            Action::StartAttempt(start) => self.start(start, Wanted::Nothing, &mut None, effects),
            Action::StopAttempt { task, attempt, grace, reason } => {
                let stopped = Stopped { grace, reason };
                // Stored later than decided, the request may come after the attempt's own end.
                let Some(task) = self.engine.scheduler().id_of(task) else { return };
                let attempt = AttemptId { task, number: attempt };
                match self.attempts.get(&attempt) {
                    Some(seat) => effects.push(Effect::Stop(Arc::clone(seat), stopped)),
                    None if self.is_under_way(attempt) => {
                        self.stop_early(attempt, stopped);
                    }
                    None => {}
                }
            }
            Action::SubmissionEnded { run, id, state, reason, error } => {
                self.end_single(run, id, End::Ended { state, reason, error }, effects);
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
                if let Some(entry) = self.schedules.get(&schedule) {
                    let schedule = self.engine.schedule_ref(entry.id, schedule);
                    effects.push(Effect::AskTrigger(entry.ask.clone(), schedule, last));
                }
            }
            Action::MakeRun(wanted) => {
                effects.push(Effect::MakeRun(self.maker(wanted.schedule), wanted));
            }
            Action::ScheduleEnded { schedule, id, counters } => {
                self.ended_schedules.keep(id, *counters);
                effects.extend(self.schedules.remove(&schedule).map(Effect::DropCode));
            }
            Action::AskUnits { .. }
            | Action::ReturnUnits { .. }
            | Action::KeepUnits { .. }
            | Action::JoinGroup { .. }
            | Action::LeaveGroup(_)
            | Action::KeepPlaces(_) => {
                // Under the lock, so that they arrive in the order in which they were decided.
                if let Some(mail) = &self.commons_mail {
                    // Whoever looks after it is gone only when the wheel is.
                    let _ = mail.send(Mail::Action(action));
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
        self.has_early.store(true, Ordering::Relaxed);
        self.actions.clear();
        // What was told already still reaches the listeners; then they see the end.
        self.notices = None;
        self.commons_mail = None;
        let ending = std::mem::take(&mut self.ending).into_values();
        effects.extend(self.entries.drain().chain(ending).map(|entry| entry.end(end.clone())));
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
        self.attempts.insert(seat.id(), Arc::clone(seat));
        if self.end.is_some() {
            let reason = tidewheel_core::task::Reason::ShutDown;
            return Some(Stopped { grace: std::time::Duration::ZERO, reason });
        }
        let early = self.early.remove(&seat.id());
        self.has_early.store(!self.early.is_empty(), Ordering::Relaxed);
        early
    }

    /// Remembers a request to stop for when the attempt begins, or waits for the first time.
    pub(super) fn stop_early(&mut self, attempt: AttemptId, stopped: Stopped) {
        self.early.insert(attempt, stopped);
        self.has_early.store(true, Ordering::Relaxed);
    }

    /// The attempt has ended: forgets its seat, or a request that never reached it.
    pub(super) fn unregister(&mut self, seat: &Seat) {
        seat.leave();
        if seat.is_registered() {
            self.attempts.remove(&seat.id());
        } else if !self.early.is_empty() {
            self.early.remove(&seat.id());
            self.has_early.store(!self.early.is_empty(), Ordering::Relaxed);
        }
    }

    /// Attempts that run here by their tasks, with their numbers; without a store those that have waited at least once.
    pub(crate) fn under_way(&self) -> BTreeMap<TaskKey, u32> {
        match &self.books {
            Some(books) => {
                let of_task = |it: AttemptId| Some((books.key_of(it)?, it.number));
                books.running().filter_map(of_task).collect()
            }
            None => {
                let of_task = |seat: &Arc<Seat>| (seat.start.task, seat.id().number);
                self.attempts.values().map(of_task).collect()
            }
        }
    }

    fn is_under_way(&self, attempt: AttemptId) -> bool {
        self.books.as_ref().is_none_or(|books| books.key_of(attempt).is_some())
    }

    /// The key of an attempt's task in memory now, if it is there.
    pub(crate) fn key_of(&self, seat: &Seat) -> Option<TaskKey> {
        match &self.books {
            Some(books) => books.key_of(seat.id()),
            None => Some(seat.start.task),
        }
    }

    /// Why nothing can be accepted for now, or why that takes long.
    pub fn trouble(&self, now: Now) -> Option<Arc<str>> {
        let known = self.books.as_ref()?.trouble().cloned();
        let is_late = |asked: Moment| now.monotonic.since(asked) >= ANSWER_MAX;
        known.or_else(|| {
            self.asked.is_some_and(is_late).then(|| Arc::from("it takes long to answer"))
        })
    }

    /// When the scheduler wants to look at the time; a lost one does not.
    pub(super) fn next_wakeup(&self) -> Option<Moment> {
        if self.engine.is_lost() { None } else { self.engine.scheduler().next_wakeup() }
    }

    pub(super) fn rearm(&mut self, effects: &mut Vec<Effect>) {
        if let Some(wakeup) = self.next_wakeup()
            && wakeup < self.armed
        {
            self.armed = wakeup;
            effects.push(Effect::Rearm);
        }
    }
}

#[inline]
fn tell_all(
    sender: Option<&mpsc::UnboundedSender<Notice>>,
    told: &mut u64,
    notices: &mut Vec<Notice>,
) {
    let Some(sender) = sender else { return };
    for mut notice in notices.drain(..) {
        *told += 1;
        notice.sequence = *told;
        // The pump that receives them ends only with the runtime.
        let _ = sender.send(notice);
    }
}
