//! The code of `docs/guide/schedules.md`, on virtual time.
//!
//! `cargo run -p tidewheel --example schedules`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidewheel::calendar::{Cron, Zone};
use tidewheel::clock::{Clock, VirtualClock};
use tidewheel::schedule::{Backfill, Misfire, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel::{Graph, GraphError, Retry, Tidewheel, Timestamp};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    triggers().await?;
    policies().await?;
    backoff().await?;
    runs().await?;
    asked_for().await?;
    clock_changes().await?;
    jumps().await?;
    Ok(())
}

async fn refresh() {}

async fn backup() -> Result<(), std::io::Error> {
    Ok(())
}

async fn triggers() -> Result<(), Box<dyn Error>> {
    let wheel =
        Tidewheel::builder().clock(Clock::virtual_at("2026-01-01T00:00:00Z".parse()?)).start();
    // [snippet: triggers]
    let once = wheel.once_after(Duration::from_secs(90)).run(refresh)?;
    let at = wheel.once_at("2026-12-24T18:00:00Z".parse()?).run(refresh)?;

    // Exactly at start + k · 300 ms, whatever the work takes.
    let ticker = wheel.every(Duration::from_millis(300)).run(refresh)?;
    // 5 s after the end of the work before.
    let poller = wheel.every_after(Duration::from_secs(5)).run(refresh)?;

    let nightly = wheel.cron("30 2 * * *", "Europe/Zurich")?.retries(2).run(backup)?;

    // A rule of your own: given the instant before, the next; `None` ends the schedule.
    let start: Timestamp = "2026-01-01T00:00:10Z".parse()?;
    let doubling = wheel
        .trigger(move |last| match last {
            None => Some(start),
            Some(last) => Some(last.after(last.since(start) + Duration::from_secs(1))),
        })
        .times(5)
        .run(refresh)?;
    // [end]

    // [snippet: handle]
    assert_eq!(nightly.next(), Some("2026-01-01T01:30:00Z".parse()?));
    ticker.pause(); // nothing fires
    ticker.resume(); // what was missed follows the misfire policy
    ticker.cancel(); // for good; a firing under way finishes
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(once.is_ended() && ticker.is_ended() && doubling.is_ended());
    assert_eq!(poller.counters().map(|counters| counters.fired), Some(20));
    // [end]
    at.cancel();
    Ok(())
}

async fn policies() -> Result<(), Box<dyn Error>> {
    let wheel =
        Tidewheel::builder().clock(Clock::virtual_at("2026-01-01T00:00:00Z".parse()?)).start();
    // [snippet: policies]
    let report = wheel
        .cron("*/10 8-18 * * mon-fri", "Europe/Zurich")?
        .overlap(Overlap::QueueOne)
        .misfire(Misfire::All { max: 3 })
        .misfire_grace(Duration::from_secs(30))
        .jitter(Duration::from_secs(20))
        .window(Span::since("2026-02-01T00:00:00Z".parse()?))
        .except(Span::new("2026-12-24T00:00:00Z".parse()?, "2027-01-03T00:00:00Z".parse()?))
        .queue("default")
        .priority(20)
        .run(backup)?;
    // [end]
    assert!(report.next().is_some_and(|next| next.to_string().starts_with("2026-02-02T07:00:")));
    Ok(())
}

async fn backoff() -> Result<(), Box<dyn Error>> {
    let wheel = Tidewheel::builder()
        .seed(1)
        .clock(Clock::virtual_at("2026-01-01T00:00:00Z".parse()?))
        .start();
    // [snippet: backoff]
    let sync = wheel
        .every_after(Duration::from_secs(10))
        .backoff(Retry::times(0)) // only its waits count: 1 s doubling up to 60 s
        .run(|| async { Err::<(), _>("the server is away") })?;
    tokio::time::sleep(Duration::from_secs(25)).await;
    let level = sync.counters().map(|counters| counters.backoff_level);
    assert!(level >= Some(2)); // failures in a row; the next success resets it
    // [end]
    Ok(())
}

async fn runs() -> Result<(), Box<dyn Error>> {
    let wheel =
        Tidewheel::builder().clock(Clock::virtual_at("2026-01-01T00:00:00Z".parse()?)).start();
    // [snippet: runs]
    let nightly = wheel
        .cron("30 2 * * *", "UTC")?
        .name("nightly")
        .kind("report") // who understands it after a restart
        .overlap(Overlap::QueueOne)
        .make_run(|firing| async move {
            let graph = Graph::from_edges([("extract", "load"), ("load", "publish")])?;
            let day = firing.nominal();
            let run = firing.run(graph, move |task| async move {
                println!("{} of {day}", task.name());
            });
            Ok::<_, GraphError>(run.kind("report").retries(2))
        })?;
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    assert_eq!(nightly.counters().map(|counters| counters.fired), Some(1));
    assert_eq!(wheel.find_schedule("nightly").map(|found| found.id()), Some(nightly.id()));
    // [end]
    // [snippet: update]
    if let Some(spec) = nightly.spec() {
        let cron = Cron::parse("0 4 * * *")?;
        let trigger = Trigger::calendar(cron, Zone::named("Europe/Zurich")?);
        nightly.update(ScheduleSpec { trigger, ..spec })?; // counts from now on
    }
    // [end]
    Ok(())
}

async fn asked_for() -> Result<(), Box<dyn Error>> {
    let wheel =
        Tidewheel::builder().clock(Clock::virtual_at("2026-03-05T12:00:00Z".parse()?)).start();
    let daily = wheel.cron("30 2 * * *", "UTC")?.run(refresh)?;
    // [snippet: asked for]
    daily.fire_now()?;
    let march = Span::since("2026-03-01T00:00:00Z".parse()?);
    let one_by_one = Overlap::QueueAll { max: 100 };
    let count = daily.backfill(Backfill::between(march).max(31).overlap(one_by_one))?;
    assert_eq!(count, 5); // decided instants only, whether they fired or not
    // [end]
    // [snippet: instant]
    let days = Arc::new(Mutex::new(Vec::new()));
    let done = Arc::clone(&days);
    let report = wheel.cron("0 4 * * *", "UTC")?.run_with(move |attempt| {
        // The instant it is of, whenever it is done: at 04:00, after a restart or as part of the past.
        done.lock().expect("nobody panics").extend(attempt.nominal());
        async {}
    })?;
    report.backfill(Backfill::at(["2026-03-02T04:00:00Z".parse()?]))?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(*days.lock().expect("nobody panics"), ["2026-03-02T04:00:00Z".parse()?]);
    // [end]
    Ok(())
}

async fn clock_changes() -> Result<(), Box<dyn Error>> {
    // [snippet: testing]
    // In a test: #[tokio::test(start_paused = true)]. Then time passes at once.
    let clock = VirtualClock::at("2026-03-28T12:00:00Z".parse()?);
    let wheel = Tidewheel::builder().clock(clock.clone()).start();
    let backups = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&backups);
    let nightly = wheel.cron("30 2 * * *", "Europe/Zurich")?.run(move || {
        let count = Arc::clone(&count);
        async move {
            count.fetch_add(1, Ordering::Relaxed);
        }
    })?;
    // On 29 March there is no 02:30: it fires at 03:00, which is 01:00 UTC.
    assert_eq!(nightly.next(), Some("2026-03-29T01:00:00Z".parse()?));
    tokio::time::sleep(Duration::from_secs(3 * 24 * 3600)).await;
    assert_eq!(backups.load(Ordering::Relaxed), 3);
    // [end]
    Ok(())
}

async fn jumps() -> Result<(), Box<dyn Error>> {
    let clock = VirtualClock::at("2026-01-01T00:00:00Z".parse()?);
    let wheel = Tidewheel::builder().clock(clock.clone()).start();
    // [snippet: jumps]
    let hourly = wheel.cron("@hourly", "UTC")?.run(refresh)?;
    let ticker = wheel.every(Duration::from_secs(60)).run(refresh)?;
    clock.set_forward(Duration::from_secs(90 * 60));
    tokio::time::sleep(Duration::from_secs(1)).await;
    // One instant was missed, and later than a minute: the newest still fires.
    assert_eq!(hourly.counters().map(|counters| counters.fired), Some(1));
    // Intervals do not follow the wall clock.
    assert_eq!(ticker.counters().map(|counters| counters.fired), Some(1));
    // [end]
    Ok(())
}

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn Error>> {
    main()
}
