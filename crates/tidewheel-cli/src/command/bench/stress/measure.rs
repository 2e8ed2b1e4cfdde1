//! The way through the rounds, and what is told at the end.
//!
//! A round is some seconds of work by all users, looked at in between; then they stop asking, everything
//! comes to its end, and the books are closed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::json;
use tidewheel::policy::{BreakerSpec, Rate};
use tidewheel::{LimitSpec, QueueSpec, Tidewheel};

use super::super::command::StressArgs;
use super::super::dag::runtime;
use super::super::measurement::{MEBI, peak_memory, resident_memory, rounded, thousands};
use super::judge::{self, Counted};
use super::tally::{BULK, FEW, FEW_UNITS, HUGE, MOVING, MOVING_UNITS_MAX, SLOTS, Tally, add, read};
use super::user::{BREAKER, RATED, TIMED, User, bulk};
use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::random::Random;
use crate::ui::Ui;

/// How long users work until the books are closed.
const ROUND: Duration = Duration::from_secs(5);
/// How often it is looked at what must always hold.
const LOOK: Duration = Duration::from_millis(500);
/// How long what was asked for may take to end once nobody asks for more.
const REST_MAX: Duration = Duration::from_secs(60);
const REST_LOOK: Duration = Duration::from_millis(2);
/// Tasks that may wait.
const WAITING_MAX: u32 = 5_000;

pub(in super::super) fn measure(ui: &Ui, args: &StressArgs) -> Result<(), CommandError> {
    let runtime = runtime(args.threads)?;
    let tally = Arc::new(Tally::new());
    let wheel = {
        let _context = runtime.enter();
        wheel(args.seed)
    };
    let started = Instant::now();
    let resident = runtime.block_on(rounds(args, &wheel, &tally));
    let told =
        Told { args, time: started.elapsed(), checks: resident.len(), resident, tally: &tally };
    match ui.format(Format::Human) {
        Format::Json => ui.print(&told.json().to_string())?,
        Format::Human => ui.print(&told.line())?,
    }
    // A wheel that is broken may hang; nothing here needs its end.
    runtime.shutdown_background();
    match tally.breaches().is_empty() {
        true => Ok(()),
        false => Err(broken(args, &tally)),
    }
}

fn broken(args: &StressArgs, tally: &Tally) -> CommandError {
    let breaches = tally.breaches().join("; ");
    let again = format!("tidewheel bench stress --seed {} --threads {}", args.seed, args.threads);
    CommandError::new(ErrorKind::Failed, anyhow!("what must hold did not: {breaches}"))
        .hint(format!("`{again}` asks for the same again; the order differs each time"))
}

fn wheel(seed: u64) -> Tidewheel {
    let rate = Rate::new(5_000, Duration::from_secs(1));
    let rate = rate.expect("a count and a period").with_burst(50).expect("a burst");
    Tidewheel::builder()
        .seed(seed)
        .slots(SLOTS)
        .queue_capacity(WAITING_MAX)
        .queue(BULK, bulk(3))
        .queue(TIMED, QueueSpec::default())
        .limit(FEW, FEW_UNITS)
        .limit(MOVING, MOVING_UNITS_MAX)
        .limit(HUGE, u32::MAX)
        .rate(RATED, rate)
        .breaker(BREAKER, BreakerSpec::new(3, Duration::from_millis(2)))
        .start()
}

/// Plays all rounds, and tells the memory that was held at the end of each.
async fn rounds(args: &StressArgs, wheel: &Tidewheel, tally: &Arc<Tally>) -> Vec<u64> {
    let end = Instant::now() + Duration::from_secs(args.seconds);
    let mut users: Vec<User> = (0..args.threads)
        .map(|number| {
            let random = Random::new(args.seed, "stress", number.into());
            User::new(wheel.clone(), Arc::clone(tally), random)
        })
        .collect();
    let mut resident = Vec::new();
    while tally.breaches().is_empty() && (resident.is_empty() || Instant::now() < end) {
        let until = end.min(Instant::now() + ROUND);
        users = round(users, wheel, tally, until).await;
        close(wheel, tally).await;
        resident.push(resident_memory());
        if let Some(grown) = judge::memory(&resident) {
            tally.breach(grown);
        }
    }
    resident
}

/// Lets users work until then, and everything they asked for end.
async fn round(
    users: Vec<User>,
    wheel: &Tidewheel,
    tally: &Arc<Tally>,
    until: Instant,
) -> Vec<User> {
    tally.is_resting.store(false, Ordering::Release);
    let working: Vec<_> = users
        .into_iter()
        .map(|mut user| {
            tokio::spawn(async move {
                user.work().await;
                user
            })
        })
        .collect();
    while Instant::now() < until && tally.breaches().is_empty() {
        tokio::time::sleep(LOOK.min(until.saturating_duration_since(Instant::now()))).await;
        look(wheel, tally);
    }
    tally.is_resting.store(true, Ordering::Release);
    let hearing = async {
        let mut users = Vec::new();
        for user in working {
            match user.await {
                Ok(mut user) => {
                    user.hear().await;
                    users.push(user);
                }
                Err(error) => tally.breach(format!("a user came to an end: {error}")),
            }
        }
        users
    };
    let heard = tokio::time::timeout(REST_MAX, hearing).await;
    heard.unwrap_or_else(|_| {
        tally.breach(format!("what was asked for did not end within {} s", REST_MAX.as_secs()));
        Vec::new()
    })
}

/// Looks at what holds while work goes on.
fn look(wheel: &Tidewheel, tally: &Tally) {
    for breach in judge::always(&wheel.stats(), tally.gauges()) {
        tally.breach(breach);
    }
}

/// Ends the schedules, waits until nothing is left, and closes the books.
async fn close(wheel: &Tidewheel, tally: &Arc<Tally>) {
    let schedules = {
        let mut live = tally.live_schedules.lock().unwrap_or_else(|error| error.into_inner());
        std::mem::take(&mut *live)
    };
    schedules.iter().for_each(|schedule| schedule.cancel());
    let begin = Instant::now();
    let is_left = |stats: &tidewheel::observe::Overview| {
        stats.runs > 0 || stats.schedules > 0 || stats.total.active > 0 || stats.total.queued > 0
    };
    while is_left(&wheel.stats()) && begin.elapsed() < REST_MAX {
        tokio::time::sleep(REST_LOOK).await;
    }
    for schedule in &schedules {
        match schedule.counters() {
            // Nothing that users ask for by hand is ever skipped.
            Some(counters) => add(&tally.fired, counters.fired + counters.asked_for),
            None => tally.breach("a schedule that ended has no counters".to_owned()),
        }
    }
    look(wheel, tally);
    for breach in judge::at_rest(&wheel.stats(), &Counted::of(tally)) {
        tally.breach(breach);
    }
    if catch_unwind(AssertUnwindSafe(|| wheel.check())).is_err() {
        tally.breach("an index of the scheduler does not agree with its tasks".to_owned());
    }
    // Whatever the breaker and the limit came to, the next round begins as the first did.
    if wheel.define_limit(MOVING, LimitSpec::Units(MOVING_UNITS_MAX)).is_err() {
        tally.breach("a limit could not be set back".to_owned());
    }
}

/// What came of it.
struct Told<'a> {
    args: &'a StressArgs,
    time: Duration,
    checks: usize,
    resident: Vec<u64>,
    tally: &'a Tally,
}

impl Told<'_> {
    fn tasks(&self) -> u64 {
        let tally = self.tally;
        read(&tally.singles) + read(&tally.run_tasks) + read(&tally.fired)
    }

    fn line(&self) -> String {
        let result = match self.tally.breaches().len() {
            0 => "all held".to_owned(),
            breaches => format!("{breaches} did not hold"),
        };
        let (first, last) = self.memory();
        format!(
            "stress: {} tasks, {} attempts, {} cancels, {} threads, {:.1} s, {} checks, \
             {first:.1} to {last:.1} MiB, seed {}: {result}\n",
            thousands(self.tasks()),
            thousands(read(&self.tally.attempts)),
            thousands(read(&self.tally.cancels)),
            self.args.threads,
            self.time.as_secs_f64(),
            self.checks,
            self.args.seed,
        )
    }

    /// What was held at the first rest and at the last, in MiB.
    fn memory(&self) -> (f64, f64) {
        let at = |bytes: Option<&u64>| bytes.map_or(0.0, |bytes| *bytes as f64 / MEBI);
        (at(self.resident.first()), at(self.resident.last()))
    }

    fn json(&self) -> serde_json::Value {
        let (tally, tasks) = (self.tally, self.tasks());
        let seconds = self.time.as_secs_f64().max(1e-9);
        let (first, last) = self.memory();
        json!({
            "workload": "stress",
            "peer": "tidewheel",
            "version": env!("CARGO_PKG_VERSION"),
            "variant": format!("{} threads", self.args.threads),
            "n": tasks,
            "seconds": rounded(seconds, 6),
            "per_task_us": rounded(seconds / (tasks.max(1) as f64) * 1e6, 4),
            "tasks_per_s": rounded(tasks as f64 / seconds, 1),
            "peak_rss_mb": rounded(peak_memory() as f64 / MEBI, 1),
            "seed": self.args.seed,
            "threads": self.args.threads,
            "checks": self.checks,
            "submissions": read(&tally.singles),
            "runs": read(&tally.runs),
            "schedules": read(&tally.schedules),
            "firings": read(&tally.fired),
            "attempts": read(&tally.attempts),
            "cancels": read(&tally.cancels),
            "refused": read(&tally.refused),
            "slots_most": tally.slots.most(),
            "limit_most": tally.few.most(),
            "first_rss_mb": rounded(first, 1),
            "last_rss_mb": rounded(last, 1),
            "breaches": tally.breaches(),
        })
    }
}
