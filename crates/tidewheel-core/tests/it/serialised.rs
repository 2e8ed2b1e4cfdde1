//! The forms of the core's values in serde.

use std::time::Duration;

use serde_json::{from_value, json, to_value};
use tidewheel_core::id::{AttemptId, RunId, TaskId};
use tidewheel_core::policy::Priority;
use tidewheel_core::row::RunResult;
use tidewheel_core::statistics::{Overview, Statistics};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;

#[test]
fn identities_instants_and_priorities_come_back() {
    let task = TaskId { run: RunId(0xff), index: 3 };
    let attempt = AttemptId { task, number: 2 };
    let text = "00000000-0000-0000-0000-0000000000ff/3/2";
    assert_eq!(to_value(attempt).unwrap(), json!(text));
    assert_eq!(from_value::<AttemptId>(json!(text)).unwrap(), attempt);
    let instant = Timestamp::from_micros(1_763_280_000_500_000);
    assert_eq!(to_value(instant).unwrap(), json!("2025-11-16T08:00:00.5Z"));
    assert_eq!(from_value::<Timestamp>(to_value(instant).unwrap()).unwrap(), instant);
    assert_eq!(to_value(Priority::HIGH).unwrap(), json!(80));
    for (value, priority) in [
        (json!(80), Priority::HIGH),
        (json!("low"), Priority::LOW),
        (json!(-4), Priority::BACKGROUND),
    ] {
        assert_eq!(from_value::<Priority>(value).unwrap(), priority);
    }
    let wrong = from_value::<Priority>(json!("soon")).unwrap_err().to_string();
    assert!(wrong.contains("`soon` is not a priority"), "{wrong}");
    let wrong = from_value::<RunId>(json!("soon")).unwrap_err().to_string();
    assert!(wrong.contains("`soon` is not the identity of a run"), "{wrong}");
}

#[test]
fn words_and_figures_are_told() {
    for state in TaskState::ALL {
        assert_eq!(from_value::<TaskState>(to_value(state).unwrap()).unwrap(), state);
    }
    assert_eq!(to_value(Reason::DependencyFailed(3)).unwrap(), json!("dependency-failed"));
    assert_eq!(from_value::<RunResult>(json!("failed")).unwrap(), RunResult::Failed);
    let mut overview = Overview::default();
    overview.total.wait_time.record(Duration::from_millis(500));
    overview.queues.push(("reports".into(), Statistics { queued: 4, ..Statistics::default() }));
    let told = to_value(&overview).unwrap();
    assert_eq!(told["queues"]["reports"]["queued"], 4);
    assert_eq!(told["total"]["wait_time"]["count"], 1);
    assert_eq!(told["total"]["wait_time"]["max"], 0.5);
    assert_eq!(told["total"]["run_time"]["max"], json!(null));
    assert_eq!(told["slots"], json!(null));
}
