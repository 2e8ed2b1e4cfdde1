//! What attempts leave: stored with their outcomes, whatever goes wrong between.
//!
//! How it is written and read back is each store's business; the simulator looks for the same with
//! everything else that can happen.

use std::sync::Arc;
use std::time::Duration;

use crate::common::disturbed::{Disturbed, Wrong};
use crate::common::{Gate, builder, until};
use tidewheel::engine::{AttemptEnd, Books, Engine, Errand, Verdict};
use tidewheel::store::{AttemptRecord, Memory, Pace, Records, Store};
use tidewheel::{Graph, Outcome, Priority, RunId, Shutdown, Tidewheel, Timestamp};
use tidewheel_core::decision::{Action, Outputs, Start};
use tidewheel_core::id::{AttemptId, TaskId};
use tidewheel_core::input::{Command, Submission};
use tidewheel_core::spec::{Config, Profile};
use tidewheel_core::time::{Moment, Now};

const TASKS: u128 = 4;

/// What happens to one commit and, where it lasts, to those after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    Fails(Wrong, u32),
    /// Somebody takes the tenure, and is gone again.
    Deposed,
    /// The process dies, before the commit or after it.
    Dies(Wrong),
}

const BLOWS: [Blow; 9] = [
    Blow::Fails(Wrong::Full, 1),
    Blow::Fails(Wrong::LostSilent, 1),
    Blow::Fails(Wrong::StoredSilent, 1),
    // So often that memory is not trusted any more.
    Blow::Fails(Wrong::LostSilent, 8),
    Blow::Fails(Wrong::StoredSilent, 8),
    Blow::Deposed,
    Blow::Dies(Wrong::Full),
    Blow::Dies(Wrong::LostSilent),
    Blow::Dies(Wrong::StoredSilent),
];

/// A process: books, and attempts that run here.
struct Process {
    store: Disturbed,
    engine: Engine,
    books: Books,
    writer: Box<dyn Store>,
    running: Vec<Start>,
}

fn now() -> Now {
    Now { monotonic: Moment::from_millis(1), wall: Timestamp::from_seconds(1) }
}

impl Process {
    fn open(store: &Disturbed) -> Self {
        let mut engine = Engine::open(Config::default(), Box::new(store.clone()), now()).unwrap();
        let opening = std::mem::take(&mut engine.outputs().actions);
        let books = Books::new(&engine, &opening);
        let writer = engine.take_store();
        let mut process = Self { store: store.clone(), engine, books, writer, running: Vec::new() };
        process.act(&opening);
        process
    }

    fn act(&mut self, actions: &[Action]) {
        for action in actions {
            if let Action::StartAttempt(start) = action {
                self.running.push(*start);
            }
        }
    }

    fn submit(&mut self, id: u128) {
        let profile = self.engine.scheduler_mut().profile(&Profile::default()).unwrap();
        let id = RunId(id);
        let submission =
            Submission { id, profile, priority: Priority::NORMAL, ..Submission::default() };
        let command = Command::Submit(submission);
        self.books.ask(&mut self.engine, now(), command).unwrap();
    }

    /// One attempt ends, and leaves something.
    fn end_one(&mut self) {
        let Some(start) = self.running.pop() else { return };
        let (task, attempt) = (start.id, start.attempt);
        let record = AttemptRecord { task, attempt, code: Some(7), ..AttemptRecord::default() };
        let end = AttemptEnd { outcome: Outcome::Succeeded, record: Some(Arc::new(record)) };
        let id = AttemptId { task, number: attempt };
        self.books.attempt_ended(&mut self.engine, now(), id, end);
    }

    /// Carries out one errand, and looks what is stored then. Whether another one follows.
    fn run_errand(&mut self) -> bool {
        let goes_on = match self.books.next(&mut self.engine) {
            Errand::Nothing => false,
            Errand::Store(mut batch) => {
                let number = batch.number();
                let result: Result<Outputs, _> =
                    batch.commit(&mut *self.writer).map(std::mem::take);
                match result {
                    Ok(outputs) => {
                        self.books.stored(number, &outputs);
                        self.act(&outputs.actions);
                    }
                    Err(error) => {
                        let verdict = self.books.not_stored(&mut self.engine, batch, &error);
                        assert!(matches!(verdict, Verdict::Again(_) | Verdict::StepDown));
                    }
                }
                true
            }
            Errand::Restore => {
                let (tenure, snapshot) = self.writer.retake_tenure().unwrap();
                let restored = self.books.restore(&mut self.engine, tenure, snapshot, now());
                assert!(restored.unwrap().strays.is_empty());
                true
            }
        };
        // What has ended is what has left something.
        let ended = (1..=TASKS).filter(|id| !left_by(&self.store.memory, *id).is_empty()).count();
        assert_eq!(self.store.memory.unfinished(), TASKS as usize - ended);
        goes_on
    }
}

/// What the attempts of a task handed over.
fn left(memory: &Memory, task: TaskId) -> Vec<AttemptRecord> {
    let known = Records::attempts(memory, task).unwrap();
    known.into_iter().filter(|attempt| attempt.code.is_some()).collect()
}

fn left_by(memory: &Memory, run: u128) -> Vec<AttemptRecord> {
    left(memory, TaskId { run: RunId(run), index: 0 })
}

/// All tasks are accepted and started; then they end one by one, and one commit is hit.
fn play(blow: Blow, place: u128) {
    let store = Disturbed::new(Pace::Instant);
    let mut process = Process::open(&store);
    (1..=TASKS).for_each(|id| process.submit(id));
    let Errand::Store(mut batch) = process.books.next(&mut process.engine) else { panic!() };
    let number = batch.number();
    let outputs = batch.commit(&mut *process.writer).map(std::mem::take).unwrap();
    process.books.stored(number, &outputs);
    process.act(&outputs.actions);
    let mut turn = 0;
    while !process.running.is_empty() {
        process.end_one();
        // Two may end before either is stored.
        if turn % 2 == 1 {
            process.end_one();
        }
        match blow {
            _ if turn != place => {}
            Blow::Fails(wrong, times) => store.go_for(times, wrong),
            Blow::Deposed => store.depose(),
            Blow::Dies(wrong) => {
                store.go_for(1, wrong);
                process.run_errand();
                // Whatever was not stored is lost with the process, and tried again by the next.
                process = Process::open(&store);
            }
        }
        turn += 1;
        while process.run_errand() {}
    }
    assert_eq!(store.memory.unfinished(), 0);
    for id in 1..=TASKS {
        let left = left_by(&store.memory, id);
        assert_eq!(left.len(), 1, "{blow:?} at {place}: {left:?}");
        assert_eq!(left[0].code, Some(7));
    }
}

#[test]
fn no_death_and_no_fault_comes_between_an_outcome_and_its_record() {
    for blow in BLOWS {
        (0..3).for_each(|place| play(blow, place));
    }
}

const PACES: [Pace; 3] = [Pace::Instant, Pace::Brief, Pace::Slow];

/// A graph of two tasks that leave a record each, the first behind a gate.
fn start(wheel: &Tidewheel, gate: &Gate) -> tidewheel::Run {
    let gate = gate.clone();
    let code = move |task: tidewheel::Task| {
        let pass = gate.pass();
        async move {
            pass.await;
            let attempt = task.as_attempt();
            attempt.record(AttemptRecord { code: Some(1), ..AttemptRecord::default() });
            // The last one counts.
            attempt.record(AttemptRecord { code: Some(2), ..AttemptRecord::default() });
        }
    };
    wheel.run(Graph::from_edges([("a", "b")]).unwrap(), code).start().unwrap()
}

#[tokio::test]
async fn a_record_survives_that_the_wheel_steps_down() {
    for pace in PACES {
        let (store, gate) = (Disturbed::new(pace), Gate::closed());
        let wheel = store.builder().start();
        let run = start(&wheel, &gate);
        let id = run.id();
        until(|| wheel.stats().total.active == 1).await;
        // Nothing can be decided when the attempt ends, and memory is lost.
        store.go(Wrong::NoTenure);
        store.depose();
        gate.open();
        until(|| wheel.trouble().is_some_and(|why| why.contains("not available"))).await;
        let left = |index| left(&store.memory, TaskId { run: id, index });
        assert!(left(0).is_empty(), "its end is not stored either");
        store.go(Wrong::Nothing);
        assert!(run.await.unwrap().is_success());
        wheel.shutdown(Shutdown::drain()).await;
        for index in 0..2 {
            let left = left(index);
            assert_eq!(left.len(), 1, "{left:?}");
            let told = (left[0].task.index, left[0].attempt, left[0].code);
            assert_eq!(told, (index, 1, Some(2)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_cut_off_leaves_what_it_had_handed_over() {
    let store = Memory::new();
    let wheel = builder().store(store.clone()).start();
    let task = wheel.task_with(|attempt| async move {
        attempt.record(AttemptRecord { code: Some(3), ..AttemptRecord::default() });
        std::future::pending::<Result<(), &str>>().await
    });
    let task = task.attempt_timeout(Duration::from_millis(1)).submit();
    let run = task.accepted().await.unwrap();
    task.await.unwrap_err();
    let left = left(&store, TaskId { run, index: 0 });
    assert_eq!((left.len(), left[0].code), (1, Some(3)));
}
