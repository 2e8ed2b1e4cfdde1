//! Notices: in order, bounded, and never in the way of the work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use crate::common::{builder, on_threads, settle};
use tidewheel::observe::Fact;
use tidewheel::run::RunResult;
use tidewheel::{Graph, Shutdown, TaskState};

#[tokio::test]
async fn notices_tell_a_run_in_order_without_gaps() {
    let wheel = builder().start();
    wheel.submit_normal(async {}).await.unwrap();
    let mut notices = wheel.notices();
    let graph = Graph::from_edges([("a", "b")]).unwrap();
    let report = wheel.run(graph, |_| async {}).await.unwrap();
    let mut facts = Vec::new();
    let mut before = None;
    loop {
        let notice = notices.recv().await.unwrap().unwrap();
        assert!(before.is_none_or(|before| notice.sequence == before + 1));
        before = Some(notice.sequence);
        facts.push(notice.fact.clone());
        if matches!(notice.fact, Fact::RunEnded(..)) {
            break;
        }
    }
    let place = |wanted: &dyn Fn(&Fact) -> bool| facts.iter().position(wanted).unwrap();
    let accepted = place(&|fact| *fact == Fact::RunAccepted(report.id()));
    let started = place(&|fact| matches!(fact, Fact::AttemptStarted(task, 1) if task.index == 1));
    let ended = place(
        &|fact| matches!(fact, Fact::TaskEnded(task, TaskState::Succeeded, _) if task.index == 1),
    );
    let over = place(&|fact| *fact == Fact::RunEnded(report.id(), RunResult::Succeeded));
    assert!(accepted < started && started < ended && ended < over, "{facts:?}");
    wheel.shutdown(Shutdown::drain()).await;
    settle().await;
    while let Some(notice) = notices.recv().await {
        notice.unwrap();
    }
    assert!(wheel.notices().recv().await.is_none());
}

#[tokio::test]
async fn a_slow_listener_loses_notices_and_is_told_how_many() {
    let wheel = builder().notices(4).start();
    let mut notices = wheel.notices();
    for _ in 0..10 {
        wheel.submit_normal(async {}).await.unwrap();
    }
    settle().await;
    let lagged = notices.recv().await.unwrap().unwrap_err();
    assert!(lagged.0 > 4);
    assert!(notices.recv().await.unwrap().is_ok());
}

#[test]
fn a_panicking_or_blocking_observer_disturbs_nobody() {
    on_threads(async {
        let wheel = builder().notices(16).start();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = calls.clone();
        wheel.observe(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            panic!("observer");
        });
        let (release, held) = mpsc::channel::<()>();
        wheel.observe(move |_| {
            // Blocks one of the two threads until the run is over.
            let _ = held.recv();
        });
        let graph = Graph::numbered(100, []).unwrap();
        let report = wheel.run(graph, |_| async {}).await.unwrap();
        assert!(report.is_success());
        drop(release);
        wheel.shutdown(Shutdown::drain()).await;
        assert!(calls.load(Ordering::SeqCst) <= 1);
    });
}

#[tokio::test]
async fn notices_fall_silent_with_the_last_listener_and_come_back() {
    let wheel = builder().start();
    drop(wheel.notices());
    wheel.submit_normal(async {}).await.unwrap();
    settle().await;
    wheel.submit_normal(async {}).await.unwrap();
    let mut notices = wheel.notices();
    wheel.submit_normal(async {}).await.unwrap();
    assert!(notices.recv().await.unwrap().is_ok());
}
