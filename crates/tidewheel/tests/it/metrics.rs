//! Figures of a wheel, as a recorder of the `metrics` facade hears them.

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

/// Returns how many tasks of the default queue have completed, as last reported.
fn completed(snapshotter: &Snapshotter) -> Option<u64> {
    let name = ("tidewheel_tasks_completed_total".to_owned(), "default".to_owned());
    heard(snapshotter).get(&name).map(|value| match value {
        DebugValue::Counter(count) => *count,
        other => panic!("{other:?}"),
    })
}

#[tokio::test(start_paused = true)]
async fn figures_are_told_from_time_to_time_and_once_more_at_the_end() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    // All tasks of the wheel run on this thread.
    let _recorder = metrics::set_default_local_recorder(&recorder);
    let wheel = Tidewheel::builder().clock(VirtualClock::at(Timestamp::UNIX_EPOCH)).start();
    wheel.export_metrics(Duration::from_secs(10));
    wheel.submit_normal(async {}).await.unwrap();
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(completed(&snapshotter), Some(1));
    wheel.submit_normal(async {}).await.unwrap();
    wheel.shutdown(Shutdown::drain()).await;
    tokio::task::yield_now().await;
    assert_eq!(completed(&snapshotter), Some(2));
}

#[tokio::test(start_paused = true)]
async fn without_a_period_figures_are_told_with_pauses_all_the_same() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recorder = metrics::set_default_local_recorder(&recorder);
    let wheel = Tidewheel::builder().clock(VirtualClock::at(Timestamp::UNIX_EPOCH)).start();
    wheel.export_metrics(Duration::ZERO);
    for count in 1..=3 {
        wheel.submit_normal(async {}).await.unwrap();
        assert_ne!(completed(&snapshotter), Some(count), "no figures are reported before a pause");
        // Paused time passes only while nothing runs: without pauses between reports, this would never return.
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert_eq!(completed(&snapshotter), Some(count));
    }
}
