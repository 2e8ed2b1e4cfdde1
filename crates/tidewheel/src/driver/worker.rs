//! Workers: tokio tasks that run one attempt after another, deciding between them what comes next.
//!
//! A worker that finishes an attempt drives the scheduler itself and goes straight on with an
//! attempt of the same kind; tasks are spawned only when concurrency grows.

use std::pin::pin;
use std::sync::Arc;

use tidewheel_core::decision::Start;
use tidewheel_core::input::{Failure, Outcome};
use tidewheel_core::time::Moment;
use tokio::runtime::RuntimeFlavor;

use super::attempt::{BoxFuture, drive, failure_of_panic, guard};
use super::code::Repeat;
use super::effect::{Effect, Single, SingleCode};
use super::pace::Pace;
use super::report::{Next, Wanted, Word};
use super::seat::Seat;
use super::shared::Shared;
use super::state::State;
use super::turnstile::{Passed, Rival};
use crate::attempt::Attempt;
use crate::output::TaskOutput;
use crate::run::{RunCode, Task};

/// How long, and how many attempts, a worker runs one after the other before other tokio tasks get a
/// turn. The count is for clocks that stand still.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Breath {
    nanos_max: u64,
    attempts_max: u32,
}

impl Breath {
    /// Where other threads can take over what is queued behind a worker, a turn is given seldom: it
    /// wakes another thread, and may end there, with the whole scheduler in the wrong cache.
    pub fn new(flavor: RuntimeFlavor) -> Self {
        match flavor {
            RuntimeFlavor::CurrentThread => Self { nanos_max: 500_000, attempts_max: 1_024 },
            _ => Self { nanos_max: 4_000_000, attempts_max: 16_384 },
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    seat: Arc<Seat>,
    rival: Rival<State>,
    pace: Pace,
    effects: Vec<Effect>,
    /// When other tokio tasks last had a turn, and the attempts since.
    breathed: Moment,
    inline: u32,
    /// The worker came to its end by itself.
    is_done: bool,
}

impl Worker {
    fn new(seat: Seat) -> Self {
        let shared = Arc::clone(&seat.shared);
        // Whoever runs single submissions takes any of them.
        let rival = Rival::new(seat.run.is_none());
        Self {
            shared,
            seat: Arc::new(seat),
            rival,
            pace: Pace::new(),
            effects: Vec::new(),
            breathed: Moment::ZERO,
            inline: 0,
            is_done: false,
        }
    }

    /// Makes the seat that of the next attempt; a new one if user code still has the old.
    fn take_seat(&mut self, start: Start) {
        match Arc::get_mut(&mut self.seat) {
            Some(seat) => seat.reuse(start),
            None => {
                let run = self.seat.run.clone();
                self.seat = Arc::new(Seat::new(Arc::clone(&self.shared), run, start));
            }
        }
    }

    /// Reports the outcome and gives the attempt to go on with.
    fn finish(&mut self, outcome: Outcome, wanted: Wanted) -> Option<Next> {
        let now = self.shared.clock.now();
        if let Some(took) = self.pace.ended(now.monotonic) {
            self.rival.note_pace(took);
        }
        let word = Word { now, seat: &self.seat, outcome, wanted };
        let next = self.shared.attempt_ended(&mut self.rival, word, &mut self.effects);
        if !self.effects.is_empty() {
            self.shared.perform(&mut self.effects);
        }
        if self.pace.wants_time() || self.rival.passed() == Passed::Answered {
            self.pace.goes_on(self.shared.clock.now().monotonic);
        }
        self.is_done = next.is_none();
        next
    }

    async fn breathe(&mut self) {
        let now = self.pace.last();
        self.inline += 1;
        let breath = self.shared.breath;
        if self.inline >= breath.attempts_max || now.nanos_since(self.breathed) > breath.nanos_max {
            self.breathed = now;
            self.inline = 0;
            tokio::task::yield_now().await;
            // What others did meanwhile is not the next attempt's time.
            self.pace.goes_on(self.shared.clock.now().monotonic);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.give_up("the runtime ended");
        }
    }
}

/// Runs tasks of one graph, each future on this worker's own stack.
pub(crate) fn run_worker<F, R>(
    code: Arc<RunCode<F>>,
    start: Start,
) -> impl Future<Output = ()> + Send + 'static
where
    F: Fn(Task) -> R + Send + Sync + 'static,
    R: Future + Send + 'static,
    R::Output: TaskOutput,
{
    let cell = Arc::clone(code.cell());
    let mut worker =
        Worker::new(Seat::new(Arc::clone(&cell.shared), Some(Arc::clone(&cell)), start));
    // The worker exists before its first poll, so that dropping it unpolled is noticed too.
    async move {
        loop {
            let start = worker.seat.start;
            let task = Task::new(Arc::clone(&worker.seat));
            let span = code.span.attempt(&start, || Some(task.name().to_owned()));
            let outcome = match cell.extra_code(start.task.index) {
                _ if worker.seat.is_stopped_early() => Outcome::Cancelled,
                None => match span.within(|| guard(|| code.call(task))) {
                    Ok(future) => {
                        let slot = pin!(Some(future));
                        let ended = drive(&worker.seat, &span, start.timeout, slot).await;
                        ended.outcome(|output| conclude(&worker.seat, output))
                    }
                    Err(text) => failure_of_panic(&text),
                },
                Some(extra) => match span.within(|| guard(|| extra(task))) {
                    Ok(future) => {
                        let slot = pin!(Some(future));
                        drive(&worker.seat, &span, start.timeout, slot)
                            .await
                            .outcome(|outcome| outcome)
                    }
                    Err(text) => failure_of_panic(&text),
                },
            };
            span.ended(&outcome);
            match worker.finish(outcome, Wanted::Run(start.task.run)) {
                Some(Next::Run(next)) => worker.take_seat(next),
                Some(Next::Single(_)) => unreachable!("only attempts of this run were wanted"),
                None => return,
            }
            worker.breathe().await;
        }
    }
}

/// Keeps the value for dependents and says how the attempt ended.
pub(crate) fn conclude<O: TaskOutput>(seat: &Seat, output: O) -> Outcome {
    // A value that panics when converted or dropped is a task that panicked.
    let concluded = guard(|| output.conclude(seat.has_seen_stop()));
    match concluded {
        Ok(concluded) => {
            if let (Some(value), Some(run)) = (concluded.value, &seat.run) {
                run.keep_value(seat.start.task.index, value);
            }
            concluded.outcome
        }
        Err(text) => failure_of_panic(&text),
    }
}

/// Code whose future is boxed and whose value nobody asks for.
pub(crate) fn plain_conclude<F, R>(code: F) -> Arc<Repeat>
where
    F: Fn(Attempt) -> R + Send + Sync + 'static,
    R: Future + Send + 'static,
    R::Output: TaskOutput,
{
    Arc::new(move |attempt: Attempt| -> BoxFuture<Outcome> {
        let future = code(attempt.clone());
        Box::pin(async move { conclude(attempt.seat(), future.await) })
    })
}

/// Runs single submissions and firings of schedules.
pub(super) fn single_worker(
    shared: Arc<Shared>,
    first: Single,
) -> impl Future<Output = ()> + Send + 'static {
    shared.turnstile.add_regular();
    let mut worker = Worker::new(Seat::new(shared, None, first.start));
    let (mut code, mut work) = (first.code, first.span);
    // As above: the worker exists before its first poll.
    async move {
        loop {
            let span = work.attempt(&worker.seat.start, || None);
            let outcome = match span.within(|| future_of(&worker, code)) {
                Ok(future) => {
                    let slot = pin!(Some(future));
                    let timeout = worker.seat.start.timeout;
                    drive(&worker.seat, &span, timeout, slot).await.outcome(|outcome| outcome)
                }
                Err(outcome) => outcome,
            };
            span.ended(&outcome);
            match worker.finish(outcome, Wanted::Single) {
                Some(Next::Single(next)) => {
                    worker.take_seat(next.start);
                    (code, work) = (next.code, next.span);
                }
                Some(Next::Run(_)) => unreachable!("only single attempts were wanted"),
                None => return,
            }
            worker.breathe().await;
        }
    }
}

fn future_of(worker: &Worker, code: SingleCode) -> Result<BoxFuture<Outcome>, Outcome> {
    if worker.seat.is_stopped_early() {
        let _ = guard(|| drop(code));
        return Err(Outcome::Cancelled);
    }
    match code {
        SingleCode::Future(future) => Ok(future),
        SingleCode::Call(code) => {
            let attempt = Attempt::new(Arc::clone(&worker.seat));
            guard(|| code(attempt)).map_err(|text| failure_of_panic(&text))
        }
        SingleCode::Missing => Err(Outcome::Failed(Box::new(Failure {
            message: Arc::from("there is no code to run this task here, or it ran before"),
            permanent: true,
            ..Failure::default()
        }))),
    }
}
