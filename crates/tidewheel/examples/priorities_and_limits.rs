//! The code of `docs/guide/priorities-and-limits.md`, on virtual time.
//!
//! `cargo run -p tidewheel --example priorities_and_limits`

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidewheel::clock::Clock;
use tidewheel::policy::{BreakerSpec, Rate};
use tidewheel::{
    Builder, Graph, LimitSpec, Priority, QueueSpec, Rejection, Shutdown, TaskError, Tidewheel,
};

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    order().await?;
    ageing().await?;
    changing().await?;
    queues().await?;
    fair().await?;
    limits().await?;
    keys().await?;
    breaker().await?;
    fail_fast().await?;
    preemption().await?;
    bounded().await?;
    shutdown().await?;
    Ok(())
}

fn builder() -> Result<Builder, Box<dyn Error>> {
    Ok(Tidewheel::builder().clock(Clock::virtual_at("2026-01-01T00:00:00Z".parse()?)))
}

async fn order() -> Result<(), Box<dyn Error>> {
    let wheel = builder()?.slots(1).start();
    let log = Arc::new(Mutex::new(Vec::new()));
    let say = |word: &'static str| {
        let log = Arc::clone(&log);
        async move { log.lock().map(|mut log| log.push(word)).is_ok() }
    };
    // [snippet: order]
    wheel.pause();
    let background = wheel.submit(Priority::BACKGROUND, say("background"));
    let first = wheel.submit(Priority::NORMAL, say("first"));
    let second = wheel.submit(50, say("second")); // a number from 0 to 100, clamped
    let critical = wheel.submit(Priority::CRITICAL, say("critical"));
    wheel.resume();
    // They start in this order: critical, first, second, background.
    // [end]
    for submission in [background, first, second, critical] {
        submission.await?;
    }
    assert_eq!(
        log.lock().map(|log| log.clone()).unwrap_or_default(),
        ["critical", "first", "second", "background"]
    );
    Ok(())
}

async fn ageing() -> Result<(), Box<dyn Error>> {
    let builder = builder()?;
    // [snippet: ageing]
    let wheel = builder.slots(1).starvation_timeout(Duration::from_secs(60)).start();
    let blocker = wheel.submit_normal(tokio::time::sleep(Duration::from_secs(45)));
    let waiting = wheel.submit(Priority::LOW, async {});
    tokio::time::sleep(Duration::from_secs(31)).await;

    // Three full steps of 10 s: 20 has become 50.
    let place = wheel.explain(&waiting)?.facts.place.ok_or("it waits")?;
    assert_eq!((place.priority, place.effective), (20, 50));
    // [end]
    blocker.await?;
    waiting.await?;
    Ok(())
}

async fn changing() -> Result<(), Box<dyn Error>> {
    let wheel = builder()?.slots(1).start();
    let nightly = Graph::from_edges([("dump", "upload")])?;
    let report = Graph::from_edges([("read", "render")])?;
    wheel.pause();
    // [snippet: changing]
    let nightly = wheel.run(nightly, |_| async {}).priority(Priority::LOW).start()?;
    let report = wheel.run(report, |_| async {}).priority(Priority::LOW).start()?;

    // What would come of it, before anything is changed.
    let preview = report.preview_priority(None, Priority::HIGH, 10)?;
    assert_eq!((&*preview.before[0].name, &*preview.after[0].name), ("dump", "read"));

    report.set_priority(Priority::HIGH)?; // and all its tasks that were given no other
    report.set_task_priority("render", 90)?; // from now on this one has its own
    // [end]
    wheel.resume();
    assert!(report.await?.is_success() && nightly.await?.is_success());
    Ok(())
}

async fn queues() -> Result<(), Box<dyn Error>> {
    let builder = builder()?;
    // [snippet: queues]
    let ten_a_second = Rate::new(10, Duration::from_secs(1))?;
    let wheel = builder
        .slots(16)
        .queue("reports", QueueSpec { weight: 3, slots: Some(4), ..QueueSpec::default() })
        .queue("mail", QueueSpec { rate: Some(ten_a_second), ..QueueSpec::default() })
        .start();
    let report = wheel.task(|| async { Ok::<_, String>("done") }).queue("reports").submit();

    wheel.pause_queue("mail")?;
    wheel.resume_queue("mail")?;
    wheel.define_queue("imports", QueueSpec { slots: Some(1), ..QueueSpec::default() })?;
    assert_eq!(report.await?, "done");
    // [end]
    Ok(())
}

async fn fair() -> Result<(), Box<dyn Error>> {
    let builder = builder()?;
    // [snippet: fair]
    let wheel = builder.slots(2).start();
    let resize = |customer: &str| {
        let work = || async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, String>(())
        };
        wheel.task(work).fair_by(customer).submit()
    };
    // A thousand of one customer, then two of another, who do not wait for the thousand.
    let crowd: Vec<_> = (0..1000).map(|_| resize("large")).collect();
    let few = [resize("small"), resize("small")];
    let begin = tokio::time::Instant::now();
    for mine in few {
        mine.await?;
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
    // [end]
    drop(crowd);
    Ok(())
}

async fn limits() -> Result<(), Box<dyn Error>> {
    let builder = builder()?;
    // [snippet: limits]
    let wheel = builder
        .limit("database", 8)
        .limit("gpu memory", 24)
        .rate("api", Rate::new(100, Duration::from_secs(60))?.with_burst(10)?)
        .start();
    let trained = wheel
        .task(|| async { Ok::<_, String>(0.97) })
        .limit("database") // one unit while it runs
        .units("gpu memory", 20)
        .limit("api") // one start
        .submit();
    let impossible = wheel.task(|| async { Ok::<_, String>(()) }).units("gpu memory", 25).submit();
    assert!(matches!(impossible.rejection(), Some(Rejection::NeverFits { .. })));
    wheel.define_limit("database", LimitSpec::Units(4))?; // what runs goes on
    assert_eq!(trained.await?, 0.97);
    // [end]
    Ok(())
}

async fn keys() -> Result<(), Box<dyn Error>> {
    let wheel = builder()?.start();
    // [snippet: keys]
    let user = |user: &str| wheel.task(|| async { Ok::<_, String>(()) }).key(user);
    let first = user("anna").submit();
    let second = user("anna").submit(); // starts when the first has ended
    let other = user("ben").submit(); // does not wait for either

    let urgent = wheel
        .task(|| async { Ok::<_, String>(()) })
        .deadline(Duration::from_secs(30)) // from now; the earliest goes first within a priority
        .submit();
    // [end]
    for submission in [first, second, other, urgent] {
        submission.await?;
    }
    Ok(())
}

async fn breaker() -> Result<(), Box<dyn Error>> {
    let builder = builder()?;
    // [snippet: breaker]
    let spec = BreakerSpec::new(3, Duration::from_secs(30));
    let wheel = builder.breaker("payments", spec).start();
    let pay = || wheel.task(|| async { Err::<(), _>("502") }).limit("payments").submit();
    for _ in 0..3 {
        assert!(pay().await.is_err());
    }
    // Now it is open: the next one waits for 30 s, and is then the only one let through.
    let probe = pay();
    assert_eq!(
        wheel.explain(&probe)?.facts.holds[0].to_string(),
        "breaker `payments` is open, a probe may start in 30.0s"
    );
    // [end]
    wheel.reset_breaker("payments")?;
    assert!(probe.await.is_err());
    Ok(())
}

async fn fail_fast() -> Result<(), Box<dyn Error>> {
    let builder = builder()?;
    // [snippet: fail_fast]
    let spec = BreakerSpec::new(1, Duration::from_secs(30)).fail_fast();
    let wheel = builder.breaker("payments", spec).start();
    let pay = || wheel.task(|| async { Err::<(), _>("502") }).limit("payments").submit();
    assert!(pay().await.is_err());
    // Now it is open: whoever asks is told at once, and how long it lasts.
    match pay().await {
        Err(TaskError::Rejected(Rejection::BreakerOpen { left, .. })) => {
            assert_eq!(left, Some(Duration::from_secs(30)));
        }
        other => panic!("{other:?}"),
    }
    // [end]
    Ok(())
}

async fn preemption() -> Result<(), Box<dyn Error>> {
    let builder = builder()?;
    // [snippet: preemption]
    let wheel = builder
        .slots(1)
        .queue("default", QueueSpec { preempt: true, ..QueueSpec::default() })
        .start();
    let long = wheel
        .task(|| async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok::<_, String>(())
        })
        .priority(Priority::LOW)
        .submit();
    tokio::time::sleep(Duration::from_secs(10)).await;
    // Takes the slot at once. The long one starts again afterwards, from its beginning.
    wheel.submit(Priority::CRITICAL, async {}).await?;
    long.await?;
    assert_eq!(wheel.stats().total.preempted, 1);
    // [end]
    Ok(())
}

async fn bounded() -> Result<(), Box<dyn Error>> {
    let builder = builder()?;
    // [snippet: bounded]
    let wheel = builder.slots(1).queue_capacity(1).start();
    let running = wheel.submit_normal(tokio::time::sleep(Duration::from_secs(1)));
    let waiting = wheel.submit_normal(async {});
    let refused = wheel.submit_normal(async {});
    let Err(TaskError::Rejected(rejection)) = refused.await else { return Err("accepted".into()) };
    assert_eq!(rejection.to_string(), "queue `default` is full (1/1)");
    // [end]
    running.await?;
    waiting.await?;
    Ok(())
}

async fn shutdown() -> Result<(), Box<dyn Error>> {
    let wheel = builder()?.slots(1).start();
    // [snippet: shutdown]
    let running = wheel.submit_normal(tokio::time::sleep(Duration::from_secs(5)));
    let waiting = wheel.submit_normal(async {});
    // Drain: all of it runs. Reject: what waits is cancelled. Persist: what waits stays in the store.
    wheel.shutdown(Shutdown::reject().after(Duration::from_secs(30))).await;
    assert!(running.await.is_ok()); // it ended by itself within its 30 s
    assert!(matches!(waiting.await, Err(TaskError::ShutDown)));
    // [end]
    Ok(())
}

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn Error>> {
    main()
}
