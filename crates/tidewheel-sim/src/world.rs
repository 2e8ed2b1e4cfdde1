//! One seed's world: a scheduler, its store, an executor, callers and clocks, and what goes wrong.
//!
//! It takes turns exactly as production does; what a caller may ask for next is in `client`, what
//! must hold at the end in `verdict`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use tidewheel::engine::{Books, Engine, ScheduleRef};
use tidewheel_core::decision::{Action, Outputs, Start, Tenure};
use tidewheel_core::id::{AttemptId, RunId, ScheduleId, TaskId, TaskKey};
use tidewheel_core::input::{Event, Input, Rejection, Reply};
use tidewheel_core::row::Snapshot;
use tidewheel_core::spec::Config;
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::{Moment, Now, Timestamp};

use crate::beside::Beside;
use crate::client::Asked;
use crate::coverage::Coverage;
use crate::executor::{Executor, Report};
use crate::extremes::Extremes;
use crate::ledger::{Ledger, Promises, Violation};
use crate::notes::{note_change, note_fact};
use crate::owner::Making;
use crate::random::Random;
use crate::store::SimStore;
use crate::trace::Trace;
use crate::workload;

/// The longest that nothing happens.
const STRETCH_MAX: Duration = Duration::from_secs(30 * 86_400);

/// What a seed came to.
#[derive(Debug)]
pub struct Outcome {
    /// Hash of everything that went in and came out.
    pub hash: u64,
    /// Inputs stepped.
    pub inputs: u64,
    /// Attempts started.
    pub attempts: u64,
    /// Interesting events.
    pub coverage: Coverage,
    /// The first rule that was broken, if any.
    pub failure: Option<String>,
    /// Readable lines, on request.
    pub lines: Vec<String>,
}

/// A world under way.
pub struct World {
    pub(crate) random: Random,
    pub(crate) config: Config,
    pub(crate) now: Now,
    pub(crate) store: SimStore,
    pub(crate) engine: Option<Engine>,
    pub(crate) executor: Executor,
    pub(crate) ledger: Ledger,
    pub(crate) promises: Promises,
    pub(crate) coverage: Coverage,
    pub(crate) trace: Trace,
    pub(crate) violations: Vec<Violation>,
    pub(crate) incarnation: u32,
    pub(crate) inputs: u64,
    /// Whether a turn takes in one input only.
    one_at_a_time: bool,
    pub(crate) books: Option<Books>,
    /// Whether decisions are stored while the next ones are being made.
    pub(crate) is_patient: bool,
    /// What was asked, and the number of the decision that answers it.
    pub(crate) unanswered: VecDeque<(u64, Asked)>,
    /// When a store in trouble is tried again.
    pub(crate) retry_at: Option<Moment>,
    /// For so many errands the store stays in trouble.
    pub(crate) errands_in_trouble: u64,
    pub(crate) faults: bool,
    pub(crate) acknowledged: Vec<RunId>,
    pub(crate) schedules: BTreeMap<ScheduleId, bool>,
    /// Schedules that were perhaps changed.
    pub(crate) updated: BTreeSet<ScheduleId>,
    pub(crate) shutting_down: bool,
    pub(crate) shut_down: bool,
    /// The newest shutdown asked for lets everything run to its end.
    pub(crate) drains: bool,
    pub(crate) next_id: u64,
    /// Custom triggers that were asked, and when they answer.
    pub(crate) asked: Vec<(Moment, ScheduleRef)>,
    /// Runs that schedules asked for, and when they are made.
    pub(crate) making: Vec<Making>,
    /// Every run that was ever asked for.
    pub(crate) wished: BTreeSet<RunId>,
    pub(crate) wall_jumped: bool,
    pub(crate) extremes: Extremes,
    pub(crate) beside: Beside,
    /// Whether it is the world of another shard, whose owner may stay dead.
    pub(crate) is_guest: bool,
    /// What was read to restore memory from it, which has not happened yet.
    pub(crate) in_hand: Option<(Tenure, Snapshot)>,
}

/// Plays a seed.
#[must_use]
pub fn play(seed: u64, readable: bool) -> Outcome {
    let mut world = World::new(seed, readable);
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.play()));
    let mut failure = match played {
        Ok(failure) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(format!("panic: {}", text.unwrap_or_default()))
        }
    };
    if let Some(text) = &mut failure {
        let at = world.now.monotonic.as_nanos() / 1_000_000;
        *text = format!("{text} (at {at} ms, after {} inputs)", world.inputs);
    }
    Outcome {
        hash: world.trace.hash(),
        inputs: world.inputs,
        attempts: world.ledger.len() as u64,
        coverage: std::mem::take(&mut world.coverage),
        failure,
        lines: world.trace.lines().to_vec(),
    }
}

impl World {
    pub(crate) fn new(seed: u64, readable: bool) -> Self {
        let mut random = Random::new(seed);
        let config = workload::config(&mut random);
        // Most worlds begin on an ordinary day, some in the night of a clock change.
        let walls = [
            "2026-11-15T08:00:00Z",
            "2026-03-29T00:58:00Z",
            "2026-11-01T05:30:00Z",
            "2026-03-08T06:58:00Z",
        ];
        let wall: Timestamp = random.pick(&walls).parse().expect("an instant");
        let one_at_a_time = random.percent(50);
        let is_patient = random.percent(40);
        Self {
            promises: Promises { slots: config.slots, ..Promises::default() },
            random,
            config,
            now: Now { monotonic: Moment::from_millis(5_000), wall },
            store: SimStore::default(),
            engine: None,
            executor: Executor::default(),
            ledger: Ledger::default(),
            coverage: Coverage::default(),
            trace: Trace::new(readable),
            violations: Vec::new(),
            incarnation: 0,
            inputs: 0,
            one_at_a_time,
            books: None,
            is_patient,
            unanswered: VecDeque::new(),
            retry_at: None,
            errands_in_trouble: 0,
            faults: true,
            acknowledged: Vec::new(),
            schedules: BTreeMap::new(),
            updated: BTreeSet::new(),
            shutting_down: false,
            shut_down: false,
            drains: false,
            next_id: 0,
            asked: Vec::new(),
            making: Vec::new(),
            wished: BTreeSet::new(),
            wall_jumped: false,
            extremes: Extremes::new(seed),
            beside: Beside::new(seed),
            is_guest: false,
            in_hand: None,
        }
    }

    fn play(&mut self) -> Option<String> {
        self.store.expect_records();
        self.open();
        self.set_up();
        let steps = self.random.between(40, 160);
        for _ in 0..steps {
            self.step();
            self.look_beside();
            self.check_memory();
            if let Some(failure) = self.broken() {
                return Some(failure);
            }
        }
        if let Some(failure) = self.see_guest_off() {
            return Some(failure);
        }
        self.heal();
        self.broken().or_else(|| self.judge())
    }

    fn step(&mut self) {
        self.change_options();
        match self.random.below(100) {
            0..=44 => {
                let commands = if self.one_at_a_time { 1 } else { self.random.between(1, 4) };
                self.ask(commands);
            }
            45..=89 => self.let_time_pass(),
            90..=93 => self.crash("fault: crash between turns"),
            _ => self.disturb_clock(),
        }
    }

    /// The first broken rule, if any.
    pub(crate) fn broken(&mut self) -> Option<String> {
        let stored = std::mem::take(&mut self.store.rows().violations);
        let stored = stored.into_iter().map(|text| Violation { rule: "rows make sense", text });
        self.violations.extend(stored);
        let first = self.violations.first();
        first.map(|violation| format!("{}: {}", violation.rule, violation.text))
    }

    pub(crate) fn fresh(&mut self) -> u128 {
        self.next_id += 1;
        u128::from(self.next_id)
    }

    /// Opens a scheduler on what is stored.
    pub(crate) fn open(&mut self) {
        self.note_restore();
        let store = Box::new(self.store.clone());
        match Engine::open(self.config.clone(), store, self.now) {
            Ok(mut engine) => {
                let outputs = std::mem::take(engine.outputs());
                engine.take_store();
                self.books = Some(Books::new(&engine, &outputs.actions));
                self.engine = Some(engine);
                self.begin(outputs);
            }
            Err(error) => self.violate("it can be restored", format!("{error:?}")),
        }
    }

    /// A scheduler begins with what was restored.
    fn begin(&mut self, outputs: Outputs) {
        self.incarnation += 1;
        self.shut_down = false;
        self.shutting_down = false;
        self.drains = false;
        self.promises.stopped = false;
        self.promises.slots = self.config.slots;
        self.promises.run_slots.clear();
        self.trace.add(format_args!("open {}", self.incarnation));
        self.check_priorities();
        self.follow(outputs, Vec::new());
    }

    pub(crate) fn has_stored_all(&self) -> bool {
        let books = self.books.as_ref().zip(self.engine.as_ref());
        books.is_some_and(|(books, engine)| books.has_stored_all(engine))
    }

    pub(crate) fn note_restore(&mut self) {
        let rows = self.store.rows();
        let tasks = rows.runs.values().flat_map(|run| run.tasks.values());
        let singles = rows.submissions.values().filter_map(|kept| kept.task.as_ref());
        for row in tasks.chain(singles) {
            if row.state.holds_slot() {
                self.coverage.hit("restore: with running attempts");
            }
            if row.state == TaskState::Delayed {
                self.coverage.hit("restore: with delayed tasks");
            }
            if row.reason == Reason::Postponed {
                self.coverage.hit("restore: with postponed tasks");
            }
        }
        if rows.schedules.values().any(|(_, ended)| !ended) {
            self.coverage.hit("restore: with schedules");
        }
        if rows.schedules.values().any(|(row, ended)| !ended && !row.wanted.is_empty()) {
            self.coverage.hit("restore: with wanted runs");
        }
        if rows.runs.values().any(|run| {
            run.row.firing.is_some() && run.change.is_none_or(|change| change.result.is_none())
        }) {
            self.coverage.hit("restore: with runs of firings");
        }
    }

    pub(crate) fn violate(&mut self, rule: &'static str, text: String) {
        self.violations.push(Violation { rule, text });
    }

    /// Drops memory and everything that ran in it, then starts again.
    pub(crate) fn crash(&mut self, name: &'static str) {
        self.end_for_good(name);
        if self.is_guest && self.faults && self.random.percent(50) {
            return;
        }
        let down = match self.random.below(4) {
            0 => self.random.millis(1_000, 200_000),
            _ => self.random.millis(0, 500),
        };
        self.pass(down);
        self.open();
    }

    /// Drops memory and everything that ran in it.
    pub(crate) fn end_for_good(&mut self, name: &'static str) {
        self.coverage.hit(name);
        self.trace.add(format_args!("{name}"));
        self.engine = None;
        self.books = None;
        self.asked.clear();
        self.making.clear();
        self.unanswered.clear();
        self.retry_at = None;
        self.in_hand = None;
        self.store.set_fault(None);
        self.executor.crash(self.now.monotonic, &mut self.random);
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now =
            Now { monotonic: self.now.monotonic.after(time), wall: self.now.wall.after(time) };
    }

    /// When something happens next without anybody asking.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        let engine = self.engine.as_ref().filter(|engine| !engine.is_lost());
        let wakeup = engine.and_then(|engine| engine.scheduler().next_wakeup());
        let answers =
            self.asked.iter().map(|(at, _)| *at).chain(self.making.iter().map(Making::at));
        let due = self.executor.next_due().into_iter().chain(wakeup).chain(answers);
        due.chain(self.retry_at).chain(self.beside.next_due()).min()
    }

    /// Goes to the next moment at which something is due, and lets it happen.
    pub(crate) fn let_time_pass(&mut self) {
        let now = self.now.monotonic;
        let next = self.next_due().unwrap_or(now.after(Duration::from_secs(1))).max(now);
        // What would never be due is none of this world's: no machine runs for centuries.
        let mut time = next.since(now).min(STRETCH_MAX);
        if self.faults && self.random.percent(20) {
            time = time.min(self.random.millis(0, 2_000));
        } else if self.faults && self.random.percent(10) {
            time += self.random.millis(0, 3_000);
        }
        self.pass(time);
        self.deliver();
    }

    /// Delivers everything that is due.
    pub(crate) fn deliver(&mut self) {
        self.inputs += 1;
        self.tell(Event::TimePassed);
        let (due, later) =
            self.asked.iter().copied().partition(|(at, _)| *at <= self.now.monotonic);
        self.asked = later;
        let due: Vec<(Moment, ScheduleRef)> = due;
        for (_, schedule) in due {
            let next = (!self.random.percent(15))
                .then(|| self.now.wall.after(self.random.millis(500, 20_000)));
            if let (Some(engine), Some(books)) = (&mut self.engine, &mut self.books) {
                books.trigger_answered(engine, self.now, schedule, next);
            }
        }
        for (input, answer) in self.due_answers() {
            self.turn(vec![input], answer.into_iter().collect());
        }
        let mut stale = Vec::new();
        while let Some(report) = self.executor.take_due(self.now.monotonic) {
            if report.incarnation != self.incarnation {
                stale.push(report);
                continue;
            }
            self.receive(&report);
            if self.one_at_a_time {
                self.write();
            }
        }
        self.write();
        for report in stale {
            self.deliver_stale(&report);
        }
    }

    pub(crate) fn find_key(&self, id: TaskId) -> Option<TaskKey> {
        let scheduler = self.engine.as_ref()?.scheduler();
        let run = scheduler.works().find(|(_, run)| *run == id.run).map(|(key, _)| key)?;
        Some(TaskKey { run, index: id.index })
    }

    /// A report from before a crash: it must be found stale.
    fn deliver_stale(&mut self, report: &Report) {
        self.flush();
        let Some(task) = self.find_key(report.id.task) else { return };
        // What is not stored yet would be taken for what the report led to.
        if !self.has_stored_all() {
            return;
        }
        self.coverage.hit("fault: report from a zombie");
        self.trace.add(format_args!("zombie {:?}", report.id));
        let outcome = report.outcome.clone();
        let event = Event::AttemptEnded { task, attempt: report.id.number, outcome };
        let incarnation = self.incarnation;
        let before = self.store.rows().task(report.id.task).cloned();
        self.turn(vec![Input::Event(event)], Vec::new());
        self.flush();
        let after = self.store.rows().task(report.id.task).cloned();
        let ended = |row: &tidewheel_core::row::TaskRow| row.state.is_terminal();
        // If memory was lost over it, whatever was restored has had a say as well.
        let survived = incarnation == self.incarnation && self.has_stored_all();
        if survived && before != after && after.as_ref().is_some_and(ended) {
            self.violate("stale reports change nothing", format!("{before:?} -> {after:?}"));
        }
    }

    /// Carries out what a stored decision asks for, unless the process dies on the way.
    pub(crate) fn follow(&mut self, outputs: Outputs, asked: Vec<Asked>) {
        self.note_changes();
        let Some(engine) = &mut self.engine else { return };
        engine.scheduler().check();
        for asked in &asked {
            self.relax(asked);
        }
        for notice in &outputs.notices {
            note_fact(&notice.fact, &mut self.coverage);
        }
        let replies = outputs.replies;
        let dies_at = (self.faults && self.random.percent(2))
            .then(|| self.random.below(outputs.actions.len() as u64 + 1) as usize);
        for (place, action) in outputs.actions.into_iter().enumerate() {
            if dies_at == Some(place) {
                self.crash("fault: crash among actions");
                return;
            }
            self.trace.add(format_args!("{action:?}"));
            self.act(action);
        }
        if replies.len() != asked.len() {
            let text = format!("{} for {} commands", replies.len(), asked.len());
            self.violate("each command gets a reply", text);
        }
        for (asked, reply) in asked.into_iter().zip(replies) {
            self.trace.add(format_args!("{asked:?}: {}", reply.is_ok()));
            self.note_reply(&reply);
            self.learn(asked, reply);
        }
        self.look_around();
    }

    pub(crate) fn note_changes(&mut self) {
        for change in self.store.take_changes() {
            note_change(&change, &self.store.rows(), &mut self.trace, &mut self.coverage);
        }
    }

    fn note_reply(&mut self, reply: &Result<Reply, Rejection>) {
        match reply {
            Err(Rejection::QueueFull { .. }) => self.coverage.hit("refused: queue full"),
            Err(Rejection::BreakerOpen { .. }) => self.coverage.hit("refused: breaker open"),
            Err(Rejection::ShuttingDown) => self.coverage.hit("refused: shutting down"),
            Err(Rejection::AlreadyAccepted(run)) => {
                self.coverage.hit("refused: accepted before");
                let rows = self.store.rows();
                if !rows.runs.contains_key(run) && !rows.submissions.contains_key(run) {
                    drop(rows);
                    self.violate("a name stands for stored work", format!("{run}"));
                }
            }
            Err(Rejection::KeyTaken { .. }) => self.coverage.hit("refused: name taken"),
            Err(Rejection::Contradiction { .. }) => self.coverage.hit("refused: contradiction"),
            Err(Rejection::NeverFits { .. }) => self.coverage.hit("refused: never fits"),
            Err(Rejection::UnknownQueue(_)) => self.coverage.hit("refused: unknown queue"),
            Err(Rejection::Gone(_)) => self.coverage.hit("refused: gone"),
            Err(Rejection::TooLate { .. }) => self.coverage.hit("refused: too late"),
            Err(Rejection::Circular { .. }) => self.coverage.hit("refused: circular"),
            _ => {}
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::StartAttempt(start) => self.start(start),
            Action::StopAttempt { task, attempt, grace, .. } => {
                let id = self.engine.as_ref().and_then(|engine| engine.scheduler().id_of(task));
                // A task that ended later in the same turn is gone; nobody needs to stop it.
                if let Some(task) = id {
                    let id = AttemptId { task, number: attempt };
                    let now = self.now.monotonic;
                    self.executor.stop(id, grace, now, &mut self.random, &mut self.coverage);
                }
            }
            Action::RunEnded { run, result } => {
                self.coverage.hit(&format!("run: {}", result.word()));
                let report =
                    self.engine.as_mut().and_then(|engine| engine.scheduler_mut().take_report(run));
                match report {
                    Some(report) if report.counts.ended() == report.counts.total() => {}
                    other => self.violate("an ended run has a report", format!("{other:?}")),
                }
            }
            Action::AskTrigger { schedule, .. } => {
                self.coverage.hit("schedule: custom trigger asked");
                let at = self.now.monotonic.after(self.random.millis(0, 1_000));
                let Some(engine) = &self.engine else { return };
                let id = engine.scheduler().schedules().find(|(key, _)| *key == schedule);
                if let Some((key, id)) = id {
                    self.asked.push((at, engine.schedule_ref(id, key)));
                }
            }
            Action::MakeRun(wanted) => self.make_run(wanted),
            Action::ScheduleEnded { .. } => self.coverage.hit("schedule: ended"),
            Action::ShutDownCompleted => self.shut_down = true,
            // Whoever submitted looks at the rows; what is shared has a world of its own.
            Action::SubmissionEnded { .. }
            | Action::AskUnits { .. }
            | Action::ReturnUnits { .. }
            | Action::KeepUnits { .. }
            | Action::JoinGroup { .. }
            | Action::LeaveGroup(_)
            | Action::KeepPlaces(_) => {}
        }
    }

    fn start(&mut self, start: Start) {
        let rows = self.store.rows();
        self.ledger.start(
            start,
            (self.incarnation, self.now.monotonic),
            &self.promises,
            &rows,
            &self.executor,
            (&mut self.violations, &mut self.coverage),
        );
        let successors = rows.runs.get(&start.id.run).map(|run| {
            let (graph, index) = (&run.row.spec.graph, start.id.index);
            if index < graph.len() { graph.successors(index).to_vec() } else { Vec::new() }
        });
        drop(rows);
        let now = self.now.monotonic;
        self.executor.start(
            start,
            successors.as_deref(),
            self.incarnation,
            now,
            &mut self.random,
            &mut self.coverage,
        );
    }
}
