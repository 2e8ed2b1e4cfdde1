//! [`User`]: one of many who ask a wheel for everything it offers, by chance.
//!
//! What they ask depends on the seed; what comes of it depends on the machine too.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidewheel::explain::Explanation;
use tidewheel::schedule::Overlap;
use tidewheel::{
    Cancel, Graph, LimitSpec, QueueSpec, Rejection, Run, RunError, Submission, TaskError,
    TaskOptions, Tidewheel,
};
use tokio::task::JoinSet;

use super::tally::{
    BULK, BULK_SLOTS, FEW, FEW_UNITS, HUGE, Inside, KEYS, MOVING, MOVING_UNITS_MAX, Taken, Tally,
    add,
};
use crate::random::Random;

/// How many answers one user waits for at once.
const OPEN_MAX: usize = 200;
/// How many schedules there are at once.
const SCHEDULES_MAX: usize = 20;

/// The queue of firings. What waits in it has no bound, so that none of them is refused.
pub(super) const TIMED: &str = "timed";
pub(super) const RATED: &str = "rated";
pub(super) const BREAKER: &str = "breaker";

#[derive(Debug)]
pub(super) struct User {
    wheel: Tidewheel,
    tally: Arc<Tally>,
    random: Random,
    /// Everything that is waited for.
    open: JoinSet<()>,
}

/// What the code of a task does.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Nothing,
    /// It lets others have their turn.
    Yields(u64),
    Sleeps(Duration),
    Fails,
    /// It fails in its first attempt.
    Recovers,
    Panics,
}

impl User {
    pub fn new(wheel: Tidewheel, tally: Arc<Tally>, random: Random) -> Self {
        Self { wheel, tally, random, open: JoinSet::new() }
    }

    /// Asks for this and that until it is time to rest, and hears every answer.
    pub async fn work(&mut self) {
        while !self.tally.is_resting.load(Ordering::Acquire) {
            self.ask();
            while self.open.try_join_next().is_some() {}
            while self.open.len() >= OPEN_MAX {
                self.open.join_next().await;
            }
            // Users are many, and threads few.
            tokio::task::yield_now().await;
        }
    }

    /// Hears what was asked for and is not answered.
    pub async fn hear(&mut self) {
        while self.open.join_next().await.is_some() {}
    }

    fn ask(&mut self) {
        match self.random.between(0, 1_000) {
            0..400 => self.submit_plainly(),
            400..880 => self.submit(),
            880..930 => self.run(),
            930..935 => self.schedule(),
            935..990 => self.look(),
            _ => self.steer(),
        }
    }

    fn submit_plainly(&mut self) {
        let priority = self.random.between(0, 101) as i64;
        let deed = self.deed();
        let code = code(&self.tally, Taken::default(), deed);
        let submission = self.wheel.submit(priority, async move { code(1).await.is_ok() });
        self.follow(submission);
    }

    fn submit(&mut self) {
        let (options, taken) = self.options(true);
        let deed = self.deed();
        let code = code(&self.tally, taken, deed);
        let request = self.wheel.task_with(move |attempt| code(attempt.number()));
        let submission = request.options(options).submit();
        self.follow(submission);
    }

    /// Waits for a submission, cancels it, or lets it go.
    fn follow<T: Send + 'static>(&mut self, submission: Submission<T>) {
        if submission.rejection().is_some() {
            add(&self.tally.refused, 1);
            return;
        }
        add(&self.tally.singles, 1);
        match self.random.between(0, 40) {
            0 => {
                add(&self.tally.cancels, 1);
                drop(submission);
                return;
            }
            1 => {
                submission.detach();
                return;
            }
            2 => {
                add(&self.tally.cancels, 1);
                submission.cancel(self.cancel());
            }
            3 => {
                let (handle, cancel) = (submission.handle(), self.cancel());
                add(&self.tally.cancels, 1);
                self.open.spawn(async move {
                    tokio::task::yield_now().await;
                    handle.cancel(cancel);
                });
            }
            _ => {}
        }
        add(&self.tally.awaited, 1);
        let tally = Arc::clone(&self.tally);
        self.open.spawn(async move {
            match submission.await {
                Err(TaskError::Lost(why)) => tally.breach(format!("a task was lost: {why}")),
                Err(TaskError::ShutDown) => tally.breach("a task was shut down".to_owned()),
                _ => add(&tally.told, 1),
            }
        });
    }

    fn run(&mut self) {
        let count = self.random.between(1, 20) as u32;
        let edges = (1..count).map(|task| (self.random.between(0, task.into()) as u32, task));
        let Ok(graph) = Graph::numbered(count, edges.collect::<Vec<_>>()) else {
            return self.tally.breach("a tree is no graph".to_owned());
        };
        let plans: Vec<_> = (0..count).map(|_| (self.options(false), self.deed())).collect();
        let (options, codes): (Vec<_>, Vec<_>) = plans
            .into_iter()
            .map(|((options, taken), deed)| (options, code(&self.tally, taken, deed)))
            .unzip();
        let added = code(&self.tally, Taken::default(), Deed::Nothing);
        let run = self.wheel.run(graph, move |task| {
            codes.get(task.index() as usize).unwrap_or(&added)(task.attempt())
        });
        match run.configure_by_index(options).start() {
            Ok(run) => self.follow_run(run, count),
            Err(_) => add(&self.tally.refused, 1),
        }
    }

    /// Meddles with a run and waits for its report.
    fn follow_run(&mut self, run: Run, count: u32) {
        let task = self.random.between(0, count.into()).to_string();
        match self.random.between(0, 10) {
            0 => {
                run.pause();
                let run = run.clone();
                self.open.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    run.resume();
                });
            }
            1 => {
                add(&self.tally.cancels, 1);
                run.cancel(self.cancel());
            }
            2 => {
                add(&self.tally.cancels, 1);
                run.cancel_task(&task, self.cancel());
            }
            3 => {
                // Refused when the run has ended, or the queue is full.
                let _ = run.add("added", [&task]);
            }
            4 => {
                run.remove(&task);
            }
            5 => {
                run.set_concurrency(1 + self.random.between(0, 3) as u32);
            }
            _ => {}
        }
        add(&self.tally.runs, 1);
        let tally = Arc::clone(&self.tally);
        self.open.spawn(async move {
            match run.report().await {
                Ok(report) => {
                    add(&tally.reports, 1);
                    add(&tally.run_tasks, report.len() as u64);
                    let unended = report.tasks().filter(|task| !task.state().is_terminal()).count();
                    if unended > 0 || report.counts().total() as usize != report.len() {
                        tally.breach(format!("a report does not add up: {report}"));
                    }
                }
                Err(RunError::Rejected(_)) => add(&tally.refused, 1),
                Err(error) => tally.breach(format!("a run gave no report: {error}")),
            }
        });
    }

    fn schedule(&mut self) {
        let mut live = self.tally.live_schedules.lock().unwrap_or_else(|error| error.into_inner());
        if live.len() >= SCHEDULES_MAX {
            let place = self.random.between(0, live.len() as u64) as usize;
            match self.random.between(0, 4) {
                0 => live[place].cancel(),
                1 => drop(live[place].pause()),
                2 => drop(live[place].resume()),
                // Refused when it has ended.
                _ => drop(live[place].fire_now_with(Overlap::Allow)),
            }
            return;
        }
        let period = Duration::from_micros(self.random.between(1_000, 5_000));
        let overlaps = [Overlap::Allow, Overlap::Skip];
        let overlap = overlaps[self.random.between(0, 2) as usize];
        let tally = Arc::clone(&self.tally);
        let schedule = self.wheel.every(period).overlap(overlap).queue(TIMED);
        let schedule = schedule.times(self.random.between(1, 50)).run(move || {
            // Firings may overlap: each is a task of its own.
            code(&tally, Taken::default(), Deed::Yields(1))(1)
        });
        match schedule {
            Ok(schedule) => live.push(schedule),
            Err(_) => add(&self.tally.refused, 1),
        }
        add(&self.tally.schedules, 1);
    }

    /// Questions, which must not disturb anybody.
    fn look(&mut self) {
        let submission = self.wheel.submit_normal(std::future::ready(()));
        let explained: Option<Explanation> = self.wheel.explain(&submission).ok();
        let told = explained.map(|explained| explained.to_string());
        if told.is_some_and(|told| told.is_empty()) {
            self.tally.breach("an explanation was empty".to_owned());
        }
        self.follow(submission);
        if self.random.between(0, 20) == 0 {
            let _ = self.wheel.stats();
        }
    }

    /// Settings of the wheel, which are defined: nothing of it can be refused.
    fn steer(&mut self) {
        let wheel = &self.wheel;
        let result = match self.random.between(0, 6) {
            0 => {
                wheel.pause();
                self.soon(|wheel| {
                    wheel.resume();
                    Ok(())
                });
                Ok(())
            }
            1 => {
                let paused = wheel.pause_queue(BULK);
                self.soon(|wheel| wheel.resume_queue(BULK));
                paused
            }
            2 => wheel.reset_breaker(BREAKER),
            3 | 4 => {
                // Not below what one task of it may need.
                let units = self.random.between(2, u64::from(MOVING_UNITS_MAX) + 1) as u32;
                wheel.define_limit(MOVING, LimitSpec::Units(units))
            }
            _ => {
                let weight = 1 + self.random.between(0, 5) as u32;
                wheel.define_queue(BULK, bulk(weight))
            }
        };
        if let Err(rejection) = result {
            self.tally.breach(format!("a setting was refused: {rejection}"));
        }
    }

    /// Undoes a pause: without that all users would wait for each other.
    fn soon(&mut self, undo: fn(&Tidewheel) -> Result<(), Rejection>) {
        let (wheel, tally) = (self.wheel.clone(), Arc::clone(&self.tally));
        self.open.spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            if let Err(rejection) = undo(&wheel) {
                tally.breach(format!("a pause was not undone: {rejection}"));
            }
        });
    }

    /// How a task is treated, hardly ever twice the same; `is_single` for what only submissions have.
    fn options(&mut self, is_single: bool) -> (TaskOptions, Taken) {
        let mut taken = Taken::default();
        let mut options = TaskOptions::new().priority(self.random.between(0, 101) as i64);
        if self.random.between(0, 2) == 0 {
            // What is left of a request's budget: a number that never comes again.
            let left = Duration::from_nanos(self.random.between(500_000_000, 60_000_000_000));
            options = options.attempt_timeout(left).deadline(left);
        }
        match self.random.between(0, 24) {
            0..6 => {
                taken.is_bulk = true;
                options = options.queue(BULK);
            }
            6..9 => {
                taken.few = 1 + self.random.between(0, u64::from(FEW_UNITS)) as u32;
                options = options.units(FEW, taken.few);
            }
            9..12 => {
                taken.moving = 1 + self.random.between(0, 2) as u32;
                options = options.units(MOVING, taken.moving);
            }
            12 => {
                taken.huge = u32::MAX - self.random.between(0, 3_000_000_000) as u32;
                options = options.units(HUGE, taken.huge);
            }
            13 => options = options.limit(RATED),
            14 => options = options.limit(BREAKER),
            15..17 if is_single => {
                let key = self.random.between(0, KEYS as u64) as usize;
                taken.key = Some(key);
                options = options.key(&key.to_string());
            }
            17 => {
                options = options.start_delay(Duration::from_micros(self.random.between(1, 2_000)))
            }
            18 => {
                let timeout = Duration::from_micros(self.random.between(1, 3_000));
                options = options.task_timeout(timeout);
            }
            19 => {
                options =
                    options.attempt_timeout(Duration::from_micros(self.random.between(1, 900)))
            }
            _ => {}
        }
        if self.random.between(0, 4) == 0 {
            options = options.retries(2).base_delay(Duration::from_micros(200));
        }
        (options, taken)
    }

    fn deed(&mut self) -> Deed {
        match self.random.between(0, 40) {
            0..8 => Deed::Yields(self.random.between(1, 4)),
            8 => Deed::Sleeps(Duration::from_micros(self.random.between(10, 2_000))),
            9..12 => Deed::Fails,
            12 => Deed::Recovers,
            13 => Deed::Panics,
            _ => Deed::Nothing,
        }
    }

    fn cancel(&mut self) -> Cancel {
        match self.random.between(0, 3) {
            0 => Cancel::Drain,
            1 => Cancel::now(),
            _ => Cancel::after(Duration::from_millis(1)),
        }
    }
}

/// The queue of few slots; users change its weight.
pub(super) fn bulk(weight: u32) -> QueueSpec {
    QueueSpec { weight, slots: Some(BULK_SLOTS), ..QueueSpec::default() }
}

/// The code of one task, called with the number of the attempt.
type Code = Box<dyn Fn(u32) -> BoxFuture + Send + Sync>;
type BoxFuture = Pin<Box<dyn Future<Output = Result<(), &'static str>> + Send>>;

fn code(tally: &Arc<Tally>, taken: Taken, deed: Deed) -> Code {
    let (tally, task) = (Arc::clone(tally), Arc::new(AtomicU32::new(0)));
    Box::new(move |attempt| {
        let (tally, task) = (Arc::clone(&tally), Arc::clone(&task));
        Box::pin(async move {
            let _inside = Inside::enter(&tally, taken, &task);
            match deed {
                Deed::Nothing => Ok(()),
                Deed::Yields(times) => {
                    for _ in 0..times {
                        tokio::task::yield_now().await;
                    }
                    Ok(())
                }
                Deed::Sleeps(time) => {
                    tokio::time::sleep(time).await;
                    Ok(())
                }
                Deed::Fails => Err("it was told to fail"),
                Deed::Recovers if attempt == 1 => Err("the first attempt is told to fail"),
                Deed::Recovers => Ok(()),
                // As a panic, but without the message that panics print.
                Deed::Panics => std::panic::resume_unwind(Box::new("it was told to panic")),
            }
        })
    })
}
