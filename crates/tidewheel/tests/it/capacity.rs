//! Queues, limits, rates and breakers, through the wheel.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::common::{Gate, Log, builder, millis, seconds, settle, until};
use tidewheel::explain::Hold;
use tidewheel::policy::{BreakerSpec, Rate};
use tidewheel::{
    Graph, LimitSpec, QueueSpec, Rejection, Submission, TaskOptions, TaskState, Tidewheel,
};

#[tokio::test(start_paused = true)]
async fn a_limit_holds_for_submissions_and_runs_together() {
    let wheel = builder().limit("db", 2).start();
    let (active, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let work = {
        let most = most.clone();
        move || {
            let (active, most) = (active.clone(), most.clone());
            async move {
                most.fetch_max(active.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(millis(10)).await;
                active.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, String>(())
            }
        }
    };
    let shared = work.clone();
    let run =
        wheel.run(Graph::numbered(6, []).unwrap(), move |_| shared()).limit("db").start().unwrap();
    let submissions: Vec<_> =
        (0..6).map(|_| wheel.task(work.clone()).limit("db").submit()).collect();
    settle().await;
    let why = wheel.explain(&submissions[5]).unwrap().to_string();
    assert!(why.contains("limit `db` has 2 of 2 in use"), "{why}");
    for submission in submissions {
        submission.await.unwrap();
    }
    assert!(run.await.unwrap().is_success());
    assert_eq!(most.load(Ordering::SeqCst), 2);
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn units_of_a_resource_are_respected_and_the_impossible_is_refused() {
    let wheel = builder().limit("gpu", 4).start();
    let two = || {
        wheel.task(|| async {
            tokio::time::sleep(seconds(1)).await;
            Ok::<_, String>(())
        })
    };
    let started = tokio::time::Instant::now();
    let submissions: Vec<_> = (0..4).map(|_| two().units("gpu", 2).submit()).collect();
    for submission in submissions {
        submission.await.unwrap();
    }
    assert_eq!(started.elapsed(), seconds(2));
    let refused = two().units("gpu", 5).submit();
    assert!(matches!(refused.rejection(), Some(Rejection::NeverFits { wanted: 5, max: 4, .. })));
    let refused = two().limit("nothing").submit();
    assert!(matches!(refused.rejection(), Some(Rejection::UnknownLimit(_))));
    let refused = two().queue("nowhere").submit();
    assert!(matches!(refused.rejection(), Some(Rejection::UnknownQueue(_))));
}

#[tokio::test(start_paused = true)]
async fn a_rate_spreads_starts() {
    let rate = Rate::new(2, seconds(1)).unwrap();
    let wheel = builder().rate("mail", rate).start();
    let started = tokio::time::Instant::now();
    let graph = Graph::numbered(6, []).unwrap();
    let report = wheel.run(graph, |_| async {}).limit("mail").concurrency(None).await.unwrap();
    assert!(report.is_success());
    assert_eq!(started.elapsed(), seconds(2));
}

/// D17 of the review: "a probe may start in 1000 s", and "expected to start within 0 ns".
#[tokio::test(start_paused = true)]
async fn what_waits_for_an_open_breaker_is_expected_with_its_probe() {
    let wheel = builder().breaker("registry", BreakerSpec::new(1, seconds(1000))).start();
    let good = wheel.task(|| async { Ok::<_, &str>(()) }).limit("registry").submit();
    good.await.unwrap();
    let down = wheel.task(|| async { Err::<(), _>("down") }).limit("registry").submit();
    down.await.unwrap_err();
    let waiting = wheel.task(|| async { Ok::<_, &str>(()) }).limit("registry").submit();
    let why = wheel.explain(&waiting).unwrap();
    let left = Some(seconds(1000));
    assert!(
        why.facts.holds.contains(&Hold::BreakerOpen { limit: "registry".into(), left }),
        "{why}"
    );
    assert_eq!(why.expected_start, left, "{why}");
    waiting.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_breaker_opens_after_failures_and_closes_after_a_good_probe() {
    let spec = BreakerSpec::new(2, seconds(30));
    let wheel = builder().breaker("registry", spec).start();
    let (broken, log) = (Arc::new(AtomicBool::new(true)), Log::default());
    let call = || {
        let (broken, log) = (broken.clone(), log.clone());
        let request = wheel.task(move || {
            let broken = broken.load(Ordering::SeqCst);
            log.add(if broken { "bad" } else { "good" });
            async move { if broken { Err("503") } else { Ok(()) } }
        });
        request.limit("registry").submit()
    };
    call().await.unwrap_err();
    call().await.unwrap_err();
    let waiting = call();
    settle().await;
    assert_eq!(log.take(), ["bad", "bad"]);
    let why = wheel.explain(&waiting).unwrap().to_string();
    assert!(why.contains("breaker `registry` is open"), "{why}");
    broken.store(false, Ordering::SeqCst);
    let started = tokio::time::Instant::now();
    waiting.await.unwrap();
    assert_eq!(started.elapsed(), seconds(30));
    call().await.unwrap();

    broken.store(true, Ordering::SeqCst);
    call().await.unwrap_err();
    call().await.unwrap_err();
    broken.store(false, Ordering::SeqCst);
    let waiting = call();
    wheel.reset_breaker("registry").unwrap();
    waiting.await.unwrap();
    assert_eq!(started.elapsed(), seconds(30));
    assert!(wheel.reset_breaker("nothing").is_err());
}

/// Submits tasks of a queue that note its name when they start, and last a millisecond.
fn submit_to(
    wheel: &Tidewheel,
    log: &Log,
    queue: &'static str,
    count: usize,
) -> Vec<Submission<()>> {
    let submit = |_| {
        let log = log.clone();
        let request = wheel.task(move || {
            log.add(queue);
            async {
                tokio::time::sleep(millis(1)).await;
                Ok::<_, String>(())
            }
        });
        request.queue(queue).submit()
    };
    (0..count).map(submit).collect()
}

/// TP-15 at this level: a tenant with little work is not starved by one with much.
#[tokio::test(start_paused = true)]
async fn a_queue_with_little_work_is_not_starved() {
    let wheel = builder().slots(1).queue("a", QueueSpec::default()).start();
    wheel.define_queue("b", QueueSpec { weight: 1, ..QueueSpec::default() }).unwrap();
    let (gate, log) = (Gate::closed(), Log::default());
    let blocker = wheel.submit_normal(gate.pass());
    let (many, few) = (submit_to(&wheel, &log, "a", 1000), submit_to(&wheel, &log, "b", 10));
    gate.open();
    blocker.await.unwrap();
    for submission in few {
        submission.await.unwrap();
    }
    assert!(log.len() <= 40, "{} started before the few were done", log.len());
    for submission in many {
        submission.await.unwrap();
    }
    wheel.check();
}

#[tokio::test(start_paused = true)]
async fn queues_share_by_weight() {
    let wheel = builder().slots(1).start();
    for (queue, weight) in [("heavy", 3), ("light", 1)] {
        wheel.define_queue(queue, QueueSpec { weight, ..QueueSpec::default() }).unwrap();
    }
    let (gate, log) = (Gate::closed(), Log::default());
    let blocker = wheel.submit_normal(gate.pass());
    let mut submissions = submit_to(&wheel, &log, "light", 300);
    submissions.extend(submit_to(&wheel, &log, "heavy", 300));
    gate.open();
    blocker.await.unwrap();
    for submission in submissions {
        submission.await.unwrap();
    }
    // While both have work, three of four are of the heavy one.
    let heavy = log.take().iter().take(200).filter(|line| *line == "heavy").count();
    assert!((145..=155).contains(&heavy), "{heavy} of 200");
    wheel.check();
}

/// Whoever came first with a crowd: the others get as much, whatever kind of work it is.
#[tokio::test(start_paused = true)]
async fn keys_share_a_queue_fairly() {
    let wheel = builder().slots(2).start();
    let log = Log::default();
    let note = |who: &'static str| {
        let log = log.clone();
        move || {
            log.add(who);
            async {
                tokio::time::sleep(seconds(1)).await;
                Ok::<_, &str>(())
            }
        }
    };
    let crowd: Vec<_> =
        (0..100).map(|_| wheel.task(note("crowd")).fair_by("crowd").submit()).collect();
    let few: Vec<_> = (0..5).map(|_| wheel.task(note("few")).fair_by("few").submit()).collect();
    let run = note("run");
    let graph = Graph::numbered(5, []).unwrap();
    let run = wheel.run(graph, move |_| run()).fair_by("run").start().unwrap();
    let why = wheel.explain(&few[4]).unwrap();
    let place = why.facts.place.clone().unwrap();
    assert_eq!(place.fair_by.as_deref(), Some("few"));
    assert!(place.ahead < 20, "{why}");
    for submission in few {
        submission.await.unwrap();
    }
    assert!(run.await.unwrap().is_success());
    let started = log.take();
    assert!(started.len() <= 18, "{} started before the few had ended", started.len());
    wheel.check();
    drop(crowd);
}

#[tokio::test(start_paused = true)]
async fn queues_have_slots_and_can_be_paused() {
    let spec = QueueSpec { slots: Some(1), ..QueueSpec::default() };
    let wheel = builder().queue("narrow", spec).start();
    let graph = Graph::numbered(3, []).unwrap();
    let wait = |_| tokio::time::sleep(seconds(1));
    let report = wheel.run(graph.clone(), wait).queue("narrow").await.unwrap();
    assert_eq!(report.elapsed(), seconds(3));
    wheel.pause_queue("narrow").unwrap();
    let run = wheel.run(graph, wait).queue("narrow").start().unwrap();
    tokio::time::sleep(seconds(5)).await;
    assert_eq!(run.counts().of(TaskState::Ready), 3);
    let why = wheel.explain(run.task("0")).unwrap().to_string();
    assert!(why.contains("queue `narrow` is paused"), "{why}");
    assert_eq!(wheel.submit_normal(async { 1 }).await.unwrap(), 1);
    wheel.resume_queue("narrow").unwrap();
    assert!(run.await.unwrap().is_success());
    assert!(wheel.pause_queue("nowhere").is_err());
}

#[tokio::test]
async fn what_runs_is_in_the_line_however_much_has_ended_before_it() {
    let (wheel, gate) = (builder().slots(1).start(), Gate::closed());
    let last: u32 = 10_001;
    let pass = gate.clone();
    let code = move |task: tidewheel::Task| {
        let waits = (task.index() == last).then(|| pass.pass());
        async move {
            if let Some(pass) = waits {
                pass.await;
            }
        }
    };
    let run = wheel.run(Graph::numbered(last + 1, []).unwrap(), code).start().unwrap();
    until(|| run.counts().of(TaskState::Succeeded) == last).await;
    until(|| wheel.line(10).running.len() == 1).await;
    assert_eq!(&*wheel.line(10).running[0].name, last.to_string());
    gate.open();
    assert!(run.await.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn slots_and_limits_can_be_changed_while_work_waits() {
    let wheel = builder().slots(1).limit("x", 1).start();
    let submissions: Vec<_> =
        (0..4).map(|_| wheel.submit_normal(tokio::time::sleep(seconds(1)))).collect();
    wheel.set_slots(4).unwrap();
    let started = tokio::time::Instant::now();
    for submission in submissions {
        submission.await.unwrap();
    }
    assert_eq!(started.elapsed(), seconds(1));
    let limited = || {
        let request = wheel.task(|| async {
            tokio::time::sleep(seconds(1)).await;
            Ok::<_, String>(())
        });
        request.limit("x").submit()
    };
    let (first, second) = (limited(), limited());
    settle().await;
    wheel.define_limit("x", LimitSpec::Units(2)).unwrap();
    first.await.unwrap();
    second.await.unwrap();
    assert_eq!(started.elapsed(), seconds(2));
    wheel.set_slots(None).unwrap();
    assert_eq!(wheel.stats().slots, None);
}

#[tokio::test(start_paused = true)]
async fn per_task_options_reach_the_scheduler() {
    let wheel = builder().limit("one", 1).start();
    let graph = Graph::numbered(4, []).unwrap();
    let report = wheel
        .run(graph, |_| tokio::time::sleep(seconds(1)))
        .configure(|name| match name {
            "0" | "1" => TaskOptions::new().limit("one"),
            "2" => TaskOptions::new().start_delay(seconds(5)),
            _ => TaskOptions::new().key("k"),
        })
        .await
        .unwrap();
    assert_eq!(report.elapsed(), seconds(6));
    let ends: Vec<_> = ["0", "1", "2", "3"]
        .map(|name| report.task(name).unwrap().ended_after().unwrap().as_secs())
        .to_vec();
    assert_eq!(ends, [1, 2, 6, 1]);
}
