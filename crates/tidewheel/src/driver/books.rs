//! [`Books`]: decisions on their way to a store, and what must outlast them should memory be lost.
//!
//! A machine without lock, clock or store: it is told what happened and says what to do next. The
//! driver (`writing`) and the simulator carry out its errands, so that both take the same way
//! through a store in trouble.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::{Action, Outputs, Tenure};
use tidewheel_core::id::{AttemptId, RunId, RunKey, TaskKey};
use tidewheel_core::input::{Command, Event, Input, Outcome, Rejection, Reply};
use tidewheel_core::row::Snapshot;
use tidewheel_core::time::{Now, Timestamp};

use super::engine::{Batch, Engine, EngineError, ScheduleRef};
use super::unstored::{Setting, Unstored};
use super::wish::Wish;
use crate::error::describe;
use crate::store::{AttemptRecord, StoreError};

/// The wait after a store failed; it doubles up to the longest.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Why nothing is accepted while memory is restored because there is more in the store.
pub(super) const TAKES_IN: &str = "work of somebody else is taken in; try again";
/// So often in a row nobody could say whether a batch was stored: then memory is not trusted.
const UNKNOWN_MAX: u32 = 8;

/// Decisions on their way to a store.
///
/// One batch is on its way at a time; what is decided meanwhile is in the engine's open decision.
/// When a store says that the tenure is over, or cannot say what it has kept, the engine is lost:
/// memory is dropped and restored from the store, under a new tenure, with the attempts that run
/// here. What nobody else could tell again (ends of attempts, requests without an answer) is kept
/// until it is stored, and told again then.
#[derive(Debug)]
pub struct Books {
    tenure: Tenure,
    /// Offered to the store before, and not stored for certain.
    batch: Option<Batch>,
    /// The newest decision of this tenure that is stored.
    stored: Option<u64>,
    /// How far tenures of before came.
    past: Vec<(Tenure, Option<u64>)>,
    condition: Condition,
    /// The decision that was open when somebody said that there is more in the store: once it is stored, memory is restored.
    taking_in: Option<u64>,
    /// Nothing was put there since the errand to restore memory was given, so that what is read then is all.
    is_all_read: bool,
    /// Attempts that run here, and the key of each task in memory.
    running: BTreeMap<AttemptId, TaskKey>,
    /// By the number of the decision they are stored with, oldest first.
    kept: VecDeque<(u64, Kept)>,
    unstored: Unstored,
}

#[derive(Debug)]
enum Condition {
    Sound,
    /// The newest batch is offered again.
    Trouble(Trouble),
    /// The engine is lost.
    Down(Trouble),
}

#[derive(Debug)]
struct Trouble {
    why: Arc<str>,
    pause: Duration,
    tries: u32,
    /// Answers in a row that left it open whether the batch was stored.
    unknown: u32,
}

/// What must not be lost with memory.
#[derive(Debug)]
enum Kept {
    /// Work was accepted; whoever asked is told if that was lost.
    Accepted(RunId),
    /// Nobody but this process knows how an attempt ended, and what it left.
    Ended(AttemptId, AttemptEnd),
    Wish(Wish),
}

/// How an attempt ended, and what its executor knows of it: stored together or not at all.
#[derive(Debug, Clone)]
pub struct AttemptEnd {
    /// How it ended, which is what counts for the scheduler.
    pub outcome: Outcome,
    /// What it left, if its code handed that over.
    pub record: Option<Arc<AttemptRecord>>,
}

/// The decision that something is stored with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticket {
    tenure: Tenure,
    number: u64,
}

/// What is known of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is stored.
    Stored,
    /// It will be.
    Pending,
    /// Nobody can say whether it is or will be.
    Unavailable(Arc<str>),
}

/// What is to be done next.
#[derive(Debug)]
pub enum Errand {
    /// Nothing: everything decided is stored.
    Nothing,
    /// Offer a batch to the store; then [`Books::stored`] or [`Books::not_stored`].
    Store(Batch),
    /// Take the tenure again; then [`Books::restore`] or [`Books::not_taken`].
    Restore,
}

/// What follows from an error of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Ask for the next errand after this time.
    Again(Duration),
    /// Ask for it where it does no harm to wait: others have the store.
    Patiently,
    /// The engine is lost, and the next errand is to restore it.
    StepDown,
    /// Somebody else decides, and this process was about to end anyway.
    Leave,
    /// Nothing can be done here any more.
    End,
}

/// What restoring came to, besides the decision that is now open.
#[derive(Debug, Default)]
pub struct Restored {
    /// Attempts that run here although their tasks are not theirs any more.
    pub strays: Vec<AttemptId>,
    /// Work whose acceptance was not stored: for the store it never was.
    pub unaccepted: BTreeSet<RunId>,
    /// Wishes that were asked again, with answers that nobody waits for.
    pub wishes: usize,
}

impl Books {
    /// The books of an engine that was just opened, or restored elsewhere.
    #[must_use]
    pub fn new(engine: &Engine, opening: &[Action]) -> Self {
        let mut books = Self {
            tenure: engine.tenure(),
            batch: None,
            stored: None,
            past: Vec::new(),
            condition: Condition::Sound,
            taking_in: None,
            is_all_read: false,
            running: BTreeMap::new(),
            kept: VecDeque::new(),
            unstored: Unstored::default(),
        };
        books.note_actions(opening);
        books
    }

    /// It was begun paused, which is in no row.
    pub fn begin_paused(&mut self) {
        self.unstored.is_paused = true;
    }

    /// Why nothing can be accepted for now.
    #[must_use]
    pub fn trouble(&self) -> Option<&Arc<str>> {
        match &self.condition {
            Condition::Sound => None,
            Condition::Trouble(trouble) | Condition::Down(trouble) => Some(&trouble.why),
        }
    }

    /// How often in a row the store has failed.
    #[must_use]
    pub fn tries(&self) -> u32 {
        match &self.condition {
            Condition::Sound => 0,
            Condition::Trouble(trouble) | Condition::Down(trouble) => trouble.tries,
        }
    }

    /// Whether the engine is lost and not restored yet.
    #[must_use]
    pub fn is_down(&self) -> bool {
        matches!(self.condition, Condition::Down(_))
    }

    /// Whether nothing is decided that is not stored, provided that no batch is on its way.
    #[must_use]
    pub fn has_stored_all(&self, engine: &Engine) -> bool {
        self.batch.is_none() && !self.is_down() && !engine.has_open_decision()
    }

    /// The newest decision that there is something in: what is not open any more is on its way.
    #[must_use]
    pub fn newest(&self, engine: &Engine) -> Ticket {
        let open = engine.open_number();
        let number = if engine.has_open_decision() { open } else { open.saturating_sub(1) };
        Ticket { tenure: self.tenure, number }
    }

    /// The key in memory of the task of an attempt that runs here.
    #[must_use]
    pub fn key_of(&self, attempt: AttemptId) -> Option<TaskKey> {
        self.running.get(&attempt).copied()
    }

    /// Attempts that run here.
    pub fn running(&self) -> impl Iterator<Item = AttemptId> + '_ {
        self.running.keys().copied()
    }

    /// What is known of a decision.
    #[must_use]
    pub fn fate(&self, ticket: Ticket) -> Fate {
        let is_past = ticket.tenure != self.tenure;
        let stored = match self.past.iter().find(|(tenure, _)| *tenure == ticket.tenure) {
            Some((_, stored)) => *stored,
            None => self.stored,
        };
        if stored.is_some_and(|stored| stored >= ticket.number) {
            return Fate::Stored;
        }
        match self.trouble() {
            Some(why) => Fate::Unavailable(Arc::clone(why)),
            None if is_past => Fate::Unavailable(Arc::from("it was restored without this")),
            None => Fate::Pending,
        }
    }

    /// Steps a command. A refusal may be told at once, any other answer when [`Books::fate`] says that
    /// it is stored.
    ///
    /// # Errors
    ///
    /// When it is refused, by the scheduler or because the store is in trouble.
    pub fn ask(
        &mut self,
        engine: &mut Engine,
        now: Now,
        command: Command,
    ) -> Result<(Reply, Ticket), Rejection> {
        match self.trouble() {
            Some(why) => Err(Rejection::Unavailable(Arc::clone(why))),
            // What is accepted now would be lost with memory.
            None if self.is_taking_in() => Err(Rejection::Unavailable(Arc::from(TAKES_IN))),
            None => self.step_command(engine, now, command),
        }
    }

    /// Somebody has put more into the store: memory is restored from it as soon as everything is stored that was decided so
    /// far. Until then nothing is accepted, and nothing is lost: ends of attempts and wishes outlast it.
    pub fn take_in(&mut self, engine: &Engine) {
        self.taking_in.get_or_insert(engine.open_number());
        // It may have been put there after the store was read.
        self.is_all_read = false;
    }

    /// Whether that is still to be done.
    #[must_use]
    pub fn is_taking_in(&self) -> bool {
        self.taking_in.is_some()
    }

    /// Steps something even if the store is in trouble; if it is lost, it is asked again. What is asked while
    /// memory is being restored is taken to be followed then.
    ///
    /// # Errors
    ///
    /// When the scheduler refuses it.
    pub fn wish(
        &mut self,
        engine: &mut Engine,
        now: Now,
        wish: Wish,
    ) -> Result<(Reply, Ticket), Rejection> {
        if let Wish::ShutDown(mode, grace) = wish {
            self.unstored.shutdown = Some((mode, grace));
        } else {
            self.keep(engine, Kept::Wish(wish));
        }
        if self.is_down() {
            let number = engine.open_number();
            return Ok((Reply::Done, Ticket { tenure: self.tenure, number }));
        }
        let command = wish.command(engine).ok_or(Rejection::Gone("run"))?;
        self.step_command(engine, now, command)
    }

    fn step_command(
        &mut self,
        engine: &mut Engine,
        now: Now,
        command: Command,
    ) -> Result<(Reply, Ticket), Rejection> {
        let accepted = match &command {
            Command::Submit(submission) => Some(submission.id),
            Command::SubmitRun { id, .. } | Command::SubmitFiring { id, .. } => Some(*id),
            _ => None,
        };
        let setting = Setting::of(&command);
        let reply = match engine.step(now, Input::Command(command)) {
            Ok(reply) => reply.cloned().unwrap_or(Ok(Reply::Done))?,
            Err(_) => return Err(Rejection::Unavailable(Arc::from("memory is being restored"))),
        };
        if let Some(id) = accepted {
            self.keep(engine, Kept::Accepted(id));
        }
        self.note_setting(engine, setting);
        Ok((reply, Ticket { tenure: self.tenure, number: engine.open_number() }))
    }

    /// Takes in the end of an attempt that runs here. One that does not, or not any more, has no say,
    /// and what it left is nobody's.
    pub fn attempt_ended(
        &mut self,
        engine: &mut Engine,
        now: Now,
        attempt: AttemptId,
        end: AttemptEnd,
    ) {
        let Some(task) = self.running.remove(&attempt) else { return };
        self.keep(engine, Kept::Ended(attempt, end.clone()));
        let AttemptEnd { outcome, record } = end;
        if let Some(record) = record {
            engine.keep(record);
        }
        let event = Event::AttemptEnded { task, attempt: attempt.number, outcome };
        self.tell(engine, now, event);
    }

    /// Takes in the answer of a custom trigger. After a recovery it is asked anew, so that an answer
    /// of before has no say.
    pub fn trigger_answered(
        &mut self,
        engine: &mut Engine,
        now: Now,
        schedule: ScheduleRef,
        next: Option<Timestamp>,
    ) {
        if schedule.is_of(self.tenure)
            && let Some(schedule) = engine.find_schedule(schedule)
        {
            self.tell(engine, now, Event::TriggerAnswered { schedule, next });
        }
    }

    /// Steps an event that can be told again or missed: the time, a report of nobody here.
    pub fn tell(&mut self, engine: &mut Engine, now: Now, event: Event) {
        // While the engine is lost nothing is decided.
        let _ = engine.step(now, Input::Event(event));
    }

    /// What is to be done next. Only one errand may be under way at a time.
    pub fn next(&mut self, engine: &mut Engine) -> Errand {
        if self.is_down() {
            self.is_all_read = true;
            return Errand::Restore;
        }
        let is_stored = |open: u64| open < engine.open_number() || !engine.has_open_decision();
        if self.batch.is_none() && self.taking_in.is_some_and(is_stored) {
            let why = Arc::from(TAKES_IN);
            self.step_down(engine, Trouble { why, pause: PAUSE_MIN, tries: 0, unknown: 0 });
            self.is_all_read = true;
            return Errand::Restore;
        }
        match self.batch.take().or_else(|| engine.close()) {
            Some(batch) => Errand::Store(batch),
            None => Errand::Nothing,
        }
    }

    /// A batch was stored; what it says is to be done now.
    pub fn stored(&mut self, number: u64, outputs: &Outputs) {
        self.stored = Some(number);
        self.condition = Condition::Sound;
        while self.kept.front().is_some_and(|(stored_with, _)| *stored_with <= number) {
            self.kept.pop_front();
        }
        self.note_actions(&outputs.actions);
    }

    /// A batch was not stored, or not for certain.
    pub fn not_stored(&mut self, engine: &mut Engine, batch: Batch, error: &StoreError) -> Verdict {
        if let StoreError::Busy = error {
            self.batch = Some(batch);
            return Verdict::Patiently;
        }
        let trouble = self.worsen(error);
        match error {
            StoreError::Unavailable { .. } => {}
            StoreError::Ambiguous { .. } if trouble.unknown < UNKNOWN_MAX => {}
            StoreError::Ambiguous { .. }
            | StoreError::StaleTenure { .. }
            | StoreError::Held { .. } => {
                self.step_down(engine, trouble);
                return Verdict::StepDown;
            }
            _ => return Verdict::End,
        }
        let pause = trouble.pause;
        self.condition = Condition::Trouble(trouble);
        self.batch = Some(batch);
        Verdict::Again(pause)
    }

    /// Nothing is decided any more before memory is restored.
    fn step_down(&mut self, engine: &mut Engine, trouble: Trouble) {
        engine.lose();
        self.past.push((self.tenure, self.stored));
        self.condition = Condition::Down(trouble);
    }

    /// The tenure could not be taken again, or not yet.
    pub fn not_taken(&mut self, error: &StoreError) -> Verdict {
        let trouble = self.worsen(error);
        let pause = trouble.pause;
        self.condition = Condition::Down(trouble);
        match error {
            StoreError::Held { .. } if self.unstored.shutdown.is_some() => Verdict::Leave,
            StoreError::Conflict { .. } | StoreError::Corrupt { .. } => Verdict::End,
            _ => Verdict::Again(pause),
        }
    }

    /// Somebody else decides: for them the attempts that run here are lost, so they are not ours any
    /// more. What is returned should be ended.
    pub fn forsake(&mut self) -> Vec<AttemptId> {
        std::mem::take(&mut self.running).into_keys().collect()
    }

    /// Attempts that are not lost should memory be restored: those that run here, and those that ended
    /// here without that being stored.
    #[must_use]
    pub fn alive(&self) -> BTreeSet<AttemptId> {
        let ended = self.kept.iter().filter_map(|(_, kept)| match kept {
            Kept::Ended(attempt, _) => Some(*attempt),
            _ => None,
        });
        self.running.keys().copied().chain(ended).collect()
    }

    /// Goes on with what is stored, under the tenure that was taken. What follows from it is in the
    /// open decision.
    ///
    /// # Errors
    ///
    /// When what is stored makes no sense.
    pub fn restore(
        &mut self,
        engine: &mut Engine,
        tenure: Tenure,
        mut snapshot: Snapshot,
        now: Now,
    ) -> Result<Restored, EngineError> {
        let is_held_back = self.unstored.apply(&mut snapshot, self.has_wishes());
        let unfinished: BTreeSet<RunId> = snapshot.works().collect();
        engine.restore(tenure, snapshot, &self.alive(), now)?;
        self.tenure = tenure;
        self.stored = None;
        self.condition = Condition::Sound;
        let is_all_read = std::mem::take(&mut self.is_all_read);
        self.taking_in = self.taking_in.filter(|_| !is_all_read).map(|_| engine.open_number());
        let works: BTreeMap<RunId, RunKey> =
            engine.scheduler().works().map(|(key, id)| (id, key)).collect();
        self.unstored.rebind(&works);
        let mut restored = Restored::default();
        for attempt in std::mem::take(&mut self.running).into_keys() {
            match key_of(engine, &works, attempt) {
                Some(task) => drop(self.running.insert(attempt, task)),
                None => restored.strays.push(attempt),
            }
        }
        let mut newest = None;
        for (_, kept) in std::mem::take(&mut self.kept) {
            match kept {
                Kept::Accepted(id) => {
                    restored.unaccepted.extend(Some(id).filter(|id| !unfinished.contains(id)));
                }
                Kept::Ended(attempt, end) => {
                    if let Some(task) = key_of(engine, &works, attempt) {
                        self.running.insert(attempt, task);
                        self.attempt_ended(engine, now, attempt, end);
                    }
                }
                // Whether anything may start is said last, when all that must not is known again.
                Kept::Wish(wish @ (Wish::Pause | Wish::Resume)) => newest = Some(wish),
                Kept::Wish(wish) => restored.wishes += self.wish_again(engine, now, wish),
            }
        }
        if let Some((mode, grace)) = self.unstored.shutdown {
            restored.wishes += self.wish_again(engine, now, Wish::ShutDown(mode, grace));
        }
        if let Some(wish) = newest {
            restored.wishes += self.wish_again(engine, now, wish);
        } else if is_held_back {
            // From here on what was wished itself sees to it.
            restored.wishes += usize::from(self.step_command(engine, now, Command::Resume).is_ok());
        }
        Ok(restored)
    }

    /// How many answers that leads to: none when what it is about is gone.
    fn wish_again(&mut self, engine: &mut Engine, now: Now, wish: Wish) -> usize {
        let is_there = wish.command(engine).is_some();
        // Refused only when what it is about has ended.
        let _ = self.wish(engine, now, wish);
        usize::from(is_there)
    }

    fn has_wishes(&self) -> bool {
        self.kept.iter().any(|(_, kept)| matches!(kept, Kept::Wish(_)))
    }

    fn keep(&mut self, engine: &Engine, kept: Kept) {
        self.kept.push_back((engine.open_number(), kept));
    }

    fn note_actions(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::StartAttempt(start) => {
                    let attempt = AttemptId { task: start.id, number: start.attempt };
                    self.running.insert(attempt, start.task);
                }
                Action::RunEnded { run, .. } => drop(self.unstored.run_slots.remove(run)),
                _ => {}
            }
        }
    }

    fn note_setting(&mut self, engine: &mut Engine, setting: Option<Setting>) {
        match setting {
            Some(Setting::Resumed) => self.unstored.is_paused = false,
            Some(Setting::Slots(slots)) => engine.set_slots(slots),
            Some(Setting::RunSlots(run, slots)) => {
                if let Some(id) = engine.scheduler().run_id(run) {
                    self.unstored.run_slots.insert(run, (id, slots));
                }
            }
            None => {}
        }
    }

    fn worsen(&self, error: &StoreError) -> Trouble {
        let why = Arc::from(describe(error));
        let is_unknown = matches!(error, StoreError::Ambiguous { .. });
        match &self.condition {
            Condition::Sound => {
                Trouble { why, pause: PAUSE_MIN, tries: 1, unknown: u32::from(is_unknown) }
            }
            Condition::Trouble(before) | Condition::Down(before) => Trouble {
                why,
                pause: (before.pause * 2).min(PAUSE_MAX),
                tries: before.tries.saturating_add(1),
                unknown: if is_unknown { before.unknown + 1 } else { 0 },
            },
        }
    }
}

/// The key of the task of an attempt, if it is still the task's own.
fn key_of(engine: &Engine, works: &BTreeMap<RunId, RunKey>, attempt: AttemptId) -> Option<TaskKey> {
    let task = TaskKey { run: *works.get(&attempt.task.run)?, index: attempt.task.index };
    let known = engine.scheduler().task(task)?;
    (known.state.holds_slot() && known.attempts == attempt.number).then_some(task)
}
