//! The documents of a house, as they are written down in `contract_house/`.
//!
//! Those of the desk, and how a difference is dealt with, are in `contract`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use crate::written::Written;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tidewheel::Timestamp;
use tidewheel_client::api::{
    ApprovalLine, ApprovalList, AttemptSpan, BackfillWish, BrokenFile, Delivered, DeliveryFate,
    Document, FlowDetail, FlowFile, FlowGlance, FlowGrid, FlowLine, FlowList, FlowSource, Glance,
    GridRun, Happened, Ledger, LedgerFate, LedgerLine, LedgerWish, LimitLine, LimitList, ParamLine,
    PastRun, QueueLine, QueueList, Reloaded, RunLine, RunNow, RunState, ScheduleAsked,
    ScheduleLine, ScheduleList, ScheduleWord, SlotHolder, StartWish, StartedRun, StepLine,
    StepList, StepRow, StepState, StepsOrder, StepsWish, StoreFigures, Upcoming, UpcomingFiring,
    WaitingLine, WaitingStep, What,
};

const RUN: &str = "0a2b3c4d5e6f7a8b9c0d1e2f3a";
/// 2026-11-16T05:00:00Z
const AT: Timestamp = Timestamp::from_seconds(1_794_805_200);

fn check<D>(example: D) -> String
where
    D: Document + Serialize + DeserializeOwned + Clone + PartialEq + Debug,
{
    Written::new("contract_house").check(example, "")
}

fn text(text: &str) -> String {
    text.to_owned()
}

fn line() -> FlowLine {
    FlowLine {
        name: text("nightly"),
        description: Some(text("Copies what matters.")),
        tags: vec![text("backup")],
        file: text("/flows/nightly.yaml"),
        fingerprint: text("9f86d081884c"),
        since: AT,
        steps: 3,
        schedules: vec![text("nightly")],
        outdated: true,
    }
}

fn flows() -> [String; 4] {
    let broken = BrokenFile {
        file: text("/flows/nightly.yaml"),
        flow: Some(text("nightly")),
        in_force: true,
        problems: json!([{ "code": "unknown-key", "line": 3 }]),
    };
    let detail = FlowDetail {
        version: None,
        flow: line(),
        max_workers: 4,
        params: vec![ParamLine {
            name: text("level"),
            kind: text("int"),
            required: false,
            default: Some(json!(3)),
            choices: vec![json!(1), json!(3)],
            description: Some(text("How deep.")),
            min: Some(1.0),
            max: Some(9.0),
            pattern: Some(text("*")),
        }],
        steps: vec![StepLine {
            name: text("copy"),
            kind: Some(text("process")),
            description: Some(text("All of it.")),
            after: vec![text("stop")],
        }],
        problems: json!([]),
    };
    let reloaded = Reloaded {
        version: None,
        added: vec![text("nightly")],
        changed: vec![text("hourly")],
        removed: vec![text("weekly")],
        broken: vec![text("/flows/odd.yaml")],
        refused: vec![text("schedule `odd`: the flow needs the param `who`")],
    };
    let started = StartedRun {
        version: None,
        run_id: text(RUN),
        flow: text("nightly"),
        fingerprint: Some(text("9f86d081884c")),
        created: true,
    };
    let list = FlowList { version: None, flows: vec![line()], broken: vec![broken] };
    [check(list), check(detail), check(reloaded), check(started)]
}

fn schedules() -> [String; 5] {
    let line = ScheduleLine {
        name: text("nightly"),
        flow: Some(text("nightly")),
        rule: text("30 2 * * *"),
        zone: Some(text("Europe/Zurich")),
        state: ScheduleWord::Active,
        overlap: text("skip"),
        misfire: text("latest"),
        next: Some(AT),
        last: None,
        fired: 7,
        asked_for: 1,
        failed: 2,
        skipped: 3,
        running: 1,
        waiting: 0,
        backoff_level: 2,
    };
    let upcoming = Upcoming {
        version: None,
        schedule: text("nightly"),
        rule: text("30 2 * * *"),
        zone: Some(text("Europe/Zurich")),
        next: vec![UpcomingFiring {
            at: AT,
            local: text("Sun 2026-03-29 03:00:00 +02:00"),
            clock_change: true,
        }],
    };
    let ran = LedgerLine {
        nominal: AT,
        last: None,
        count: 1,
        origin: text("trigger"),
        fate: LedgerFate::Ran,
        why: None,
        run_id: Some(text(RUN)),
        state: Some(RunState::Succeeded),
    };
    let skipped = LedgerLine {
        last: Some(AT),
        count: 3,
        fate: LedgerFate::Skipped,
        why: Some(text("misfire")),
        run_id: None,
        state: None,
        ..ran.clone()
    };
    let ledger = Ledger { version: None, schedule: text("nightly"), firings: vec![ran, skipped] };
    let asked = ScheduleAsked {
        version: None,
        schedule: text("nightly"),
        asked: text("backfilled"),
        firings: Some(4),
    };
    let delivered = Delivered {
        version: None,
        schedule: text("deploy"),
        delivery: text("msg_p5jXN8AQM9LWM0D4loKWxJek"),
        created: true,
        nominal: AT,
        fate: DeliveryFate::Ran,
        run_id: Some(text(RUN)),
        why: Some(text("overlap")),
    };
    [
        check(ScheduleList { version: None, schedules: vec![line] }),
        check(upcoming),
        check(ledger),
        check(asked),
        check(delivered),
    ]
}

fn capacity() -> [String; 2] {
    let queue = QueueLine {
        name: text("default"),
        weight: 1,
        slots: None,
        waiting_max: Some(1000),
        paused: false,
        active: 2,
        queued: 5,
        submitted: 9,
        completed: 2,
        failed: 1,
        rejected: 0,
    };
    let units =
        LimitLine { name: text("licences"), kind: text("units"), units: Some(2), per_second: None };
    let rate =
        LimitLine { name: text("mail"), kind: text("rate"), units: None, per_second: Some(0.5) };
    [
        check(QueueList { version: None, slots: Some(16), queues: vec![queue] }),
        check(LimitList { version: None, limits: vec![units, rate] }),
    ]
}

fn wishes() -> [String; 3] {
    let start = StartWish {
        version: None,
        flow: text("nightly"),
        params: BTreeMap::from([(text("level"), json!(3))]),
        priority: Some(80),
        tags: vec![text("by-hand")],
        key: Some(text("order-7")),
        max_workers: Some(2),
        fingerprint: Some(text("9f86d081884c")),
    };
    let backfill = BackfillWish {
        version: None,
        from: Some(AT),
        until: None,
        missed: true,
        max: Some(10),
        at_once: true,
    };
    [
        check(start),
        check(LedgerWish { version: None, before: Some(AT), limit: 20 }),
        check(backfill),
    ]
}

fn looks() -> [String; 8] {
    let run = RunLine {
        run_id: text(RUN),
        flow: Some(text("nightly")),
        state: RunState::Failed,
        accepted_at: AT,
        started_at: Some(AT),
        ended_at: None,
        steps: 3,
        failed: 1,
        error: Some(text("exit code 1")),
        tags: vec![text("backup")],
    };
    let approval = ApprovalLine {
        run_id: text(RUN),
        flow: Some(text("release")),
        step: text("ask"),
        asks: text("waits for approval: Ship 2.1?"),
        since: Some(AT),
        wants_code: false,
    };
    let past = PastRun {
        run_id: text(RUN),
        state: RunState::Succeeded,
        accepted_at: AT,
        took: Some(Duration::from_millis(4_200)),
    };
    let flow = FlowGlance {
        name: text("nightly"),
        outdated: false,
        runs: vec![past],
        ok: Some(0.93),
        median: Some(Duration::from_secs(250)),
        trend: Some(0.12),
        next: Some(AT),
        schedules: vec![text("nightly")],
    };
    let now =
        RunNow { run: run.clone(), ended: 2, running: vec![text("copy")], expected_end: Some(AT) };
    let glance = Glance {
        version: None,
        at: AT,
        failing: vec![run],
        late: Vec::new(),
        approvals: vec![approval.clone()],
        approvals_more: true,
        now: vec![now],
        running: 1,
        waiting: 37,
        flows: vec![flow],
    };
    let attempt = AttemptSpan {
        attempt: 1,
        started_at: Some(AT),
        ended_at: None,
        outcome: Some(text("failed")),
    };
    let step = StepRow {
        step: text("copy[3]"),
        place: 4,
        state: StepState::Failed,
        reason: Some(text("failed")),
        tolerated: true,
        kind: Some(text("process")),
        element: Some(json!("eu")),
        error: Some(text("exit code 1")),
        critical: true,
        ready_at: Some(AT),
        attempts: vec![attempt],
    };
    let steps = StepList {
        version: None,
        run_id: text(RUN),
        state: RunState::Running,
        accepted_at: AT,
        ended_at: None,
        letters: text("SSKRFP"),
        total: 6,
        from: 4,
        steps: vec![step],
    };
    let line = WaitingLine {
        version: None,
        slots: Some(8),
        holders: vec![SlotHolder {
            run_id: text(RUN),
            flow: Some(text("import")),
            step: text("load"),
            attempt: 1,
            seconds: 180.5,
        }],
        waiting: vec![WaitingStep {
            run_id: text(RUN),
            flow: None,
            step: text("sum"),
            queue: text("default"),
            priority: 50,
            effective: 70,
            waited_seconds: 12.0,
            why: vec![text("limit `db` has 2 of 2 in use, 1 needed, held by `load`")],
            expected_start_seconds: Some(42.0),
            unpassed_in_seconds: Some(13.0),
        }],
        more: 3,
    };
    let source = FlowSource {
        version: None,
        flow: text("nightly"),
        fingerprint: text("9f86d081884c"),
        files: vec![FlowFile { path: text("/flows/nightly.yaml"), text: text("flow: []\n") }],
        outdated: Some(FlowFile { path: text("/flows/nightly.yaml"), text: text("flow: {}\n") }),
        problems: json!([{ "code": "wrong-type", "line": 1 }]),
    };
    let past = PastRun {
        run_id: text(RUN),
        state: RunState::Failed,
        accepted_at: AT,
        took: Some(Duration::from_millis(1500)),
    };
    let grid = FlowGrid {
        version: None,
        flow: text("nightly"),
        steps: vec![text("fetch"), text("test"), text("new")],
        runs: vec![GridRun { run: past, letters: text("SF-") }],
    };
    let store = StoreFigures {
        version: None,
        folder: text("/var/lib/tidewheel"),
        database_bytes: 1_234_567,
        live: 2,
        ended: BTreeMap::from([(text("failed"), 3), (text("succeeded"), 812)]),
        schedules: 4,
    };
    let wish = StepsWish {
        state: Some(StepState::Failed),
        text: Some(text("copy")),
        order: StepsOrder::Start,
        from: 100,
        ..StepsWish::default()
    };
    let approvals = ApprovalList { version: None, approvals: vec![approval], more: true };
    [
        check(glance),
        check(approvals),
        check(steps),
        check(line),
        check(source),
        check(grid),
        check(store),
        check(wish),
    ]
}

#[test]
fn every_document_of_a_house_is_what_is_written_down() {
    let happened = Happened {
        version: None,
        epoch: text("64f1a2"),
        sequence: 42,
        at: AT,
        what: What::StepRetries,
        run_id: Some(text(RUN)),
        flow: Some(text("nightly")),
        step: Some(text("copy")),
        attempt: Some(1),
        state: Some(text("failed")),
        schedule: Some(text("nightly")),
        nominal: Some(AT),
        count: Some(2),
        error: Some(text("exit code 1")),
    };
    let mut names = BTreeSet::from([check(happened)]);
    names.extend(flows());
    names.extend(schedules());
    names.extend(capacity());
    names.extend(wishes());
    names.extend(looks());
    Written::new("contract_house").check_all(&names);
}

#[test]
fn what_is_left_out_of_a_wish_is_as_by_default() {
    let wish: StartWish = serde_json::from_value(json!({ "flow": "nightly" })).unwrap();
    assert_eq!(wish, StartWish { flow: text("nightly"), ..StartWish::default() });
    let wish: BackfillWish = serde_json::from_value(json!({})).unwrap();
    assert_eq!(wish, BackfillWish::default());
}
