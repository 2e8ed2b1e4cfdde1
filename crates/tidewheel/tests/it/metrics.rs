//! Figures of a wheel, as a recorder of the `metrics` facade hears them.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tidewheel::clock::VirtualClock;
use tidewheel::observe::Metrics;
use tidewheel::{QueueSpec, Shutdown, Tidewheel, Timestamp};

/// Everything by name and queue.
fn heard(snapshotter: &Snapshotter) -> BTreeMap<(String, String), DebugValue> {
    let all = snapshotter.snapshot().into_vec().into_iter();
    all.map(|(key, _, _, value)| {
        let queue = key.key().labels().find(|label| label.key() == "queue");
        let queue = queue.map_or(String::new(), |label| label.value().to_owned());
        ((key.key().name().to_owned(), queue), value)
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn a_recorder_hears_every_figure_and_every_duration_once() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let wheel = Tidewheel::builder()
        .clock(VirtualClock::at(Timestamp::UNIX_EPOCH))
        .slots(1)
        .queue("mail", QueueSpec { waiting_max: Some(1), ..QueueSpec::default() })
        .start();
    let mut metrics = metrics::with_local_recorder(&recorder, Metrics::new);
    let send = || {
        let sleep = || async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            Ok::<_, std::io::Error>(())
        };
        wheel.task(sleep).queue("mail").submit()
    };
    let (first, second, refused) = (send(), send(), send());
    assert!(refused.rejection().is_some());
    metrics::with_local_recorder(&recorder, || metrics.record(&wheel.stats()));
    let told = heard(&snapshotter);
    let of = |told: &BTreeMap<_, DebugValue>, name: &str| match &told
        [&(name.to_owned(), "mail".to_owned())]
    {
        DebugValue::Counter(count) => *count as f64,
        DebugValue::Gauge(value) => value.into_inner(),
        DebugValue::Histogram(values) => values.len() as f64,
    };
    assert_eq!(of(&told, "tidewheel_tasks_submitted_total"), 2.0);
    assert_eq!(of(&told, "tidewheel_tasks_rejected_total"), 1.0);
    assert_eq!(of(&told, "tidewheel_attempts_running"), 1.0);
    assert_eq!(of(&told, "tidewheel_tasks_waiting"), 1.0);
    assert_eq!(of(&told, "tidewheel_wait_seconds"), 1.0);
    first.await.unwrap();
    second.await.unwrap();
    for _ in 0..2 {
        metrics::with_local_recorder(&recorder, || metrics.record(&wheel.stats()));
    }
    let told = heard(&snapshotter);
    assert_eq!(of(&told, "tidewheel_tasks_completed_total"), 2.0);
    let DebugValue::Histogram(values) = &told[&("tidewheel_attempt_seconds".into(), "mail".into())]
    else {
        panic!("{told:?}")
    };
    assert_eq!(values.len(), 2);
    assert!(values.iter().all(|value| (2.0..2.5).contains(&value.into_inner())), "{values:?}");
    let DebugValue::Gauge(slots) = &told[&("tidewheel_slots".into(), String::new())] else {
        panic!("{told:?}")
    };
    assert_eq!(slots.into_inner(), 1.0);
}

#[tokio::test(start_paused = true)]
async fn figures_are_told_from_time_to_time_and_once_more_at_the_end() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    // The only test here that looks at the recorder of the whole program.
    recorder.install().unwrap();
    let wheel = Tidewheel::builder().clock(VirtualClock::at(Timestamp::UNIX_EPOCH)).start();
    wheel.export_metrics(Duration::from_secs(10));
    wheel.submit_normal(async {}).await.unwrap();
    tokio::time::sleep(Duration::from_secs(11)).await;
    let completed = ("tidewheel_tasks_completed_total".to_owned(), "default".to_owned());
    let count = |value: &DebugValue| match value {
        DebugValue::Counter(count) => *count,
        other => panic!("{other:?}"),
    };
    assert_eq!(count(&heard(&snapshotter)[&completed]), 1);
    wheel.submit_normal(async {}).await.unwrap();
    wheel.shutdown(Shutdown::drain()).await;
    tokio::task::yield_now().await;
    assert_eq!(count(&heard(&snapshotter)[&completed]), 2);
}

#[tokio::test(start_paused = true)]
async fn without_a_period_figures_are_told_with_pauses_all_the_same() {
    let wheel = Tidewheel::builder().clock(VirtualClock::at(Timestamp::UNIX_EPOCH)).start();
    wheel.export_metrics(Duration::ZERO);
    // The clock of the runtime goes on only when there is nothing to be done.
    tokio::time::sleep(Duration::from_secs(1)).await;
    wheel.submit_normal(async {}).await.unwrap();
}
