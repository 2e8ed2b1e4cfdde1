//! Driving the machine that production drives: inputs go into the books, errands are carried out
//! one by one, and anything may go wrong with each.
//!
//! What the books ask for is decided in `tidewheel`; here are only the faults and what a world
//! learns.

use std::sync::Arc;

use tidewheel::engine::{AttemptEnd, Batch, Books, Engine, Errand, Verdict, Wish};
use tidewheel::store::{AttemptRecord, Store, StoreError};
use tidewheel_core::decision::Outputs;
use tidewheel_core::id::{AttemptId, RunKey, ScheduleKey};
use tidewheel_core::input::{Command, Event, Input, ShutdownMode};

use crate::client::Asked;
use crate::executor::Report;
use crate::fault::StoreFault;
use crate::world::World;

/// So often a store that answers at once is asked again at once, as in production.
const INSTANT_TRIES_MAX: u32 = 5;

impl World {
    /// Steps inputs of callers and of the clock, and stores now or later what was decided.
    pub(crate) fn turn(&mut self, inputs: Vec<Input>, asked: Vec<Asked>) {
        let mut asked = asked.into_iter();
        for input in inputs {
            self.note_input(&input);
            match input {
                Input::Command(command) => {
                    let asked = asked.next().unwrap_or(Asked::Other);
                    self.ask_one(command, asked);
                }
                Input::Event(event) => self.tell(event),
            }
        }
        self.write();
    }

    fn note_input(&mut self, input: &Input) {
        self.inputs += 1;
        self.store.rows().see(self.now.wall);
        let text = crate::client::brief(input);
        self.trace.add(format_args!("{:?} {text}", self.now.monotonic));
    }

    pub(crate) fn tell(&mut self, event: Event) {
        if let (Some(engine), Some(books)) = (&mut self.engine, &mut self.books) {
            books.tell(engine, self.now, event);
        }
    }

    fn ask_one(&mut self, command: Command, asked: Asked) {
        let (Some(engine), Some(books)) = (&mut self.engine, &mut self.books) else { return };
        let number = engine.open_number();
        let is_stepped = match wish_of(engine, &command) {
            Some(wish) => {
                let _ = books.wish(engine, self.now, wish);
                if books.is_down() {
                    self.coverage.hit("books: wished while down");
                }
                // It will be heard, if not in this tenure, then in the next.
                if let Wish::ShutDown(mode, _) = wish {
                    self.shutting_down = true;
                    self.drains = mode == ShutdownMode::Drain;
                }
                !books.is_down()
            }
            None => {
                let is_sound = books.trouble().is_none() && !books.is_taking_in();
                let _ = books.ask(engine, self.now, command);
                if !is_sound {
                    self.coverage.hit("refused: unavailable");
                }
                is_sound
            }
        };
        if is_stepped {
            self.unanswered.push_back((number, asked));
        }
    }

    /// A report of this process's own attempt reaches the scheduler.
    pub(crate) fn receive(&mut self, report: &Report) {
        self.inputs += 1;
        let Report { id, outcome, .. } = report;
        if report.is_copy {
            let Some(task) = self.find_key(id.task) else { return };
            self.coverage.hit("report: stale, fenced");
            let (attempt, outcome) = (id.number, outcome.clone());
            self.tell(Event::AttemptEnded { task, attempt, outcome });
            return;
        }
        if self.executor.running.remove(id).is_none() {
            return;
        }
        self.trace.add(format_args!("ended {id:?} {outcome:?}"));
        if let tidewheel_core::input::Outcome::Postponed(delay) = outcome {
            let until = self.now.monotonic.after(*delay);
            self.ledger.postpone(*id, until, self.incarnation);
        }
        let (Some(engine), Some(books)) = (&mut self.engine, &mut self.books) else { return };
        if books.is_down() {
            self.coverage.hit("books: an attempt ended while down");
        }
        let error = Some(format!("{outcome:?}"));
        let record =
            AttemptRecord { task: id.task, attempt: id.number, error, ..AttemptRecord::default() };
        let end = AttemptEnd { outcome: outcome.clone(), record: Some(Arc::new(record)) };
        books.attempt_ended(engine, self.now, *id, end);
    }

    /// Stores what is decided, now or later.
    pub(crate) fn write(&mut self) {
        if !self.faults || !self.is_patient {
            self.flush();
            return;
        }
        while self.random.percent(65) {
            if !self.run_errand() {
                return;
            }
        }
        self.coverage.hit("books: stepped ahead of the store");
    }

    /// Stores everything that is decided, unless the store is in trouble.
    pub(crate) fn flush(&mut self) {
        while self.run_errand() {}
    }

    /// Carries out the next errand. Whether another one may follow at once.
    pub(crate) fn run_errand(&mut self) -> bool {
        if self.in_hand.is_some() {
            return self.take_over();
        }
        let (Some(engine), Some(books)) = (&mut self.engine, &mut self.books) else {
            return false;
        };
        match books.next(engine) {
            Errand::Nothing => false,
            Errand::Store(batch) => self.store_batch(batch),
            Errand::Restore => {
                // What was not stored is not answered, and triggers are asked anew.
                self.unanswered.clear();
                self.asked.clear();
                self.take_over()
            }
        }
    }

    fn store_batch(&mut self, mut batch: Batch) -> bool {
        self.plan_fault();
        let number = batch.number();
        let result = batch.commit(&mut self.store).map(std::mem::take);
        let fault = self.store.take_fired();
        if let Some(fault) = fault {
            self.coverage.hit(fault.name());
            self.trace.add(format_args!("{}", fault.name()));
        }
        if self.faults && self.random.percent(5) {
            self.coverage.hit("fault: slow store");
            let slow = self.random.millis(1, 3_000);
            self.pass(slow);
        }
        let (Some(engine), Some(books)) = (&mut self.engine, &mut self.books) else {
            return false;
        };
        let error = match result {
            Ok(outputs) => {
                books.stored(number, &outputs);
                self.retry_at = None;
                self.follow_stored(number, outputs);
                return true;
            }
            Err(error) => error,
        };
        let verdict = books.not_stored(engine, batch, &error);
        if let Some(StoreFault::DiesBefore | StoreFault::DiesAfter) = fault {
            self.crash("lost: died");
            return true;
        }
        if verdict == Verdict::StepDown {
            self.note_step_down(fault, &error);
        }
        self.obey(verdict)
    }

    fn note_step_down(&mut self, fault: Option<StoreFault>, error: &StoreError) {
        self.trace.add(format_args!("stepped down: {error}"));
        if matches!(error, StoreError::Ambiguous { .. }) {
            self.coverage.hit("lost: nobody could say what is stored");
        }
        self.unanswered.clear();
        self.asked.clear();
        let comes_and_goes = fault == Some(StoreFault::Stale) && self.random.percent(50);
        if comes_and_goes || fault == Some(StoreFault::Taken) {
            self.let_another_decide();
        }
    }

    /// Somebody else takes the tenure, decides about what is stored, and does nothing of it.
    fn let_another_decide(&mut self) {
        self.coverage.hit("lost: another one decided");
        self.store.pass_by(true);
        let opened = Engine::open(self.config.clone(), Box::new(self.store.clone()), self.now);
        self.store.pass_by(false);
        match opened {
            Ok(_) => self.note_changes(),
            Err(error) => self.violate("it can be restored", format!("{error:?}")),
        }
    }

    /// Takes the tenure again and goes on with what is stored.
    fn take_over(&mut self) -> bool {
        let taken = match self.in_hand.take() {
            Some(taken) => Ok(taken),
            None => self.store.retake_tenure(),
        };
        self.wear_off();
        let taken = match taken {
            // Much may happen between reading what is stored and going on with it.
            Ok(taken) if self.is_slow_to_restore() => {
                self.in_hand = Some(taken);
                return false;
            }
            taken => taken,
        };
        let (Some(engine), Some(books)) = (&mut self.engine, &mut self.books) else {
            return false;
        };
        let error = match taken {
            Ok((tenure, snapshot)) => {
                let alive = books.alive();
                if !alive.is_empty() {
                    self.coverage.hit("lost: recovered with attempts alive");
                }
                if alive.len() > books.running().count() {
                    self.coverage.hit("books: an end is told again");
                }
                match books.restore(engine, tenure, snapshot, self.now) {
                    Ok(restored) => {
                        if !restored.unaccepted.is_empty() {
                            self.coverage.hit("books: an acceptance was lost");
                        }
                        let number = engine.open_number();
                        let again = (0..restored.wishes).map(|_| (number, Asked::Other));
                        self.unanswered.extend(again);
                        self.note_restored(&restored.strays);
                    }
                    Err(error) => self.violate("it can be restored", format!("{error:?}")),
                }
                return true;
            }
            Err(error) => error,
        };
        if let StoreError::Held { .. } = &error {
            let strays = books.forsake();
            if !strays.is_empty() {
                self.coverage.hit("lost: attempts left to another");
            }
            for stray in strays {
                self.executor.forget(stray);
            }
        }
        let Some(books) = &mut self.books else { return false };
        let verdict = books.not_taken(&error);
        self.obey(verdict)
    }

    /// Whether another errand may follow at once.
    fn obey(&mut self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Again(pause) => {
                self.retry_at = Some(self.now.monotonic.after(pause));
                let tries = self.books.as_ref().map_or(0, Books::tries);
                !self.is_patient && tries < INSTANT_TRIES_MAX
            }
            Verdict::Patiently | Verdict::StepDown => true,
            Verdict::Leave => {
                self.crash("lost: left to another");
                true
            }
            Verdict::End => {
                self.violate("a store in trouble is waited for", format!("{verdict:?}"));
                false
            }
        }
    }

    /// The attempts that go on belong to the scheduler that was restored.
    fn note_restored(&mut self, strays: &[AttemptId]) {
        self.coverage.hit("lost: recovered");
        self.keep_some_answers();
        self.retry_at = None;
        self.note_restore();
        if self.drains {
            // It is asked again, and what is paused runs then.
            self.relax(&Asked::ShutDown(ShutdownMode::Drain));
        }
        self.incarnation += 1;
        self.trace.add(format_args!("restored {}", self.incarnation));
        for stray in strays {
            self.coverage.hit("books: a stray was stopped");
            self.executor.forget(*stray);
        }
        let Some(books) = &self.books else { return };
        let known: Vec<AttemptId> = books.running().collect();
        let running: Vec<AttemptId> = self.executor.running.keys().copied().collect();
        if known != running {
            let text = format!("{known:?} are known, {running:?} run");
            self.violate("the books know what runs", text);
        }
        for id in known {
            self.executor.rebind(id, self.incarnation);
        }
    }

    fn follow_stored(&mut self, number: u64, outputs: Outputs) {
        let mut asked = Vec::new();
        while let Some((of, _)) = self.unanswered.front()
            && *of <= number
        {
            asked.extend(self.unanswered.pop_front().map(|(_, asked)| asked));
        }
        self.follow(outputs, asked);
    }

    /// Lets the next commit go wrong, perhaps, or an earlier fault go on for a while.
    fn plan_fault(&mut self) {
        if self.store.is_down() {
            self.wear_off();
            return;
        }
        let fault = (self.faults && self.random.percent(6)).then(|| {
            *self.random.pick(&[
                StoreFault::Unavailable,
                StoreFault::Down,
                StoreFault::Busy,
                StoreFault::StoredUnknown,
                StoreFault::LostUnknown,
                StoreFault::StoredSilent,
                StoreFault::LostSilent,
                StoreFault::Stale,
                StoreFault::Taken,
                StoreFault::DiesBefore,
                StoreFault::DiesAfter,
            ])
        });
        self.errands_in_trouble = self.random.between(1, 20);
        self.store.set_fault(fault);
    }

    /// Every fault is over some day.
    fn wear_off(&mut self) {
        self.errands_in_trouble = self.errands_in_trouble.saturating_sub(1);
        if self.errands_in_trouble == 0 || !self.faults {
            self.store.set_fault(None);
        }
    }
}

/// What production does not let be forgotten while the store is in trouble.
fn wish_of(engine: &Engine, command: &Command) -> Option<Wish> {
    let scheduler = engine.scheduler();
    let run_ref = |run: &RunKey| Some(engine.run_ref(scheduler.run_id(*run)?, *run));
    let schedule_ref = |key: &ScheduleKey| {
        let (_, id) = scheduler.schedules().find(|(known, _)| known == key)?;
        Some(engine.schedule_ref(id, *key))
    };
    Some(match command {
        Command::Pause => Wish::Pause,
        Command::Resume => Wish::Resume,
        Command::CancelRun { run, mode } => Wish::Cancel(run_ref(run)?, *mode),
        Command::Abandon(run) => Wish::Abandon(run_ref(run)?),
        Command::PauseRun(run) => Wish::PauseRun(run_ref(run)?),
        Command::ResumeRun(run) => Wish::ResumeRun(run_ref(run)?),
        Command::SetPriority { run, task, priority } => {
            Wish::SetPriority(run_ref(run)?, *task, *priority)
        }
        Command::PauseSchedule(key) => Wish::PauseSchedule(schedule_ref(key)?),
        Command::ResumeSchedule(key) => Wish::ResumeSchedule(schedule_ref(key)?),
        Command::CancelSchedule(key) => Wish::CancelSchedule(schedule_ref(key)?),
        Command::ShutDown { mode, grace } => Wish::ShutDown(*mode, *grace),
        _ => return None,
    })
}
