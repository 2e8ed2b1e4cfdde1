//! Documents for tests: a run in which something of everything happens, and what is around it. Some of their texts are
//! hostile.
//!
//! What is done with them is in the tests.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tidewheel::Timestamp;
use tidewheel_client::api::{
    ApprovalLine, ArtifactLine, FlowDetail, FlowFile, FlowGlance, FlowLine, FlowSource, Glance,
    Ledger, LedgerFate, LedgerLine, LogLine, LogLines, LogSpan, LogStream, Named, OriginWord,
    ParamLine, PastRun, RunLine, RunList, RunNow, RunOrigin, RunResult, RunState, ScheduleLine,
    ScheduleList, ScheduleWord, SlotHolder, Standing, StepStanding, StepState, Upcoming,
    UpcomingFiring, WaitingLine, WaitingStep,
};

/// The time of the tests: 17 November 2026, 14:00 UTC.
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_794_924_000);

fn ago(seconds: u64) -> Timestamp {
    NOW.before(Duration::from_secs(seconds))
}

fn soon(seconds: u64) -> Timestamp {
    NOW.after(Duration::from_secs(seconds))
}

const RUN: &str = "0a2b3c4d5e6f7a8b9c0d1e2f3a";

fn step(name: &str, state: StepState, after: &[u32]) -> StepStanding {
    StepStanding {
        after: after.to_vec(),
        expected: Some(Duration::from_secs(40)),
        attempts_max: Some(3),
        attempt: u32::from(state != StepState::Pending),
        ..StepStanding::new(name, state)
    }
}

/// A run that goes on.
pub(crate) fn standing() -> Standing {
    use StepState::{Failed, Pending, Running, Succeeded};
    let timed = |it: StepStanding, from: u64, to: Option<u64>| StepStanding {
        started_at: Some(ago(from)),
        ended_at: to.map(ago),
        ..it
    };
    let failed = StepStanding {
        error: Some("exit code 1: \u{1b}]52;c;aGk=\u{7}3 of 120 failed".to_owned()),
        tolerated: true,
        ..step("test-slow", Failed, &[1])
    };
    let asks = StepStanding {
        waits: Some("waits for approval".to_owned()),
        asks: true,
        attempt: 1,
        ..step("approve", Pending, &[1])
    };
    let decided = |it: StepStanding| StepStanding { critical: true, ..it };
    Standing {
        version: None,
        run_id: RUN.to_owned(),
        flow: Some("release".to_owned()),
        state: RunState::Running,
        why: None,
        accepted_at: ago(95),
        ended_at: None,
        steps: vec![
            decided(timed(step("fetch", Succeeded, &[]), 95, Some(88))),
            decided(timed(step("build", Succeeded, &[0]), 88, Some(40))),
            decided(timed(step("test", Running, &[1]), 40, None)),
            timed(failed, 40, Some(12)),
            timed(asks, 12, None),
            step("deploy \u{202e}gnp.exe", Pending, &[2, 4]),
            step("announce", Pending, &[5]),
        ],
    }
}

/// What it was started with, and by whom.
pub(crate) fn about() -> RunResult {
    let nominal = Some(ago(100));
    let (schedule, firing) = (Some("hourly \u{1b}[2J".to_owned()), Some("backfill".to_owned()));
    let params =
        [("version", json!("1.4.0 \u{202e}gnp")), ("targets", json!(["staging", "production"]))];
    let file = ArtifactLine {
        name: "report \u{7}.html".to_owned(),
        step: "build".to_owned(),
        attempt: 1,
        bytes: 48_213,
        sha256: "0".repeat(64),
        path: "/srv/tide/artifacts/report.html".to_owned(),
    };
    RunResult {
        version: None,
        run_id: RUN.to_owned(),
        flow: Some("release".to_owned()),
        state: RunState::Running,
        accepted_at: ago(99),
        started_at: Some(ago(95)),
        ended_at: None,
        reason: None,
        made_room: false,
        tags: vec!["weekly".to_owned()],
        params: params.map(|(name, value)| (name.to_owned(), value)).into(),
        origin: Some(RunOrigin {
            schedule,
            nominal,
            firing,
            ..RunOrigin::by(OriginWord::Schedule)
        }),
        hints: Vec::new(),
        steps: Named::default(),
        outputs: Named::default(),
        artifacts: vec![file],
    }
}

fn line(id: &str, flow: &str, state: RunState, began: u64, ended: Option<u64>) -> RunLine {
    RunLine {
        run_id: id.to_owned(),
        flow: Some(flow.to_owned()),
        state,
        accepted_at: ago(began),
        started_at: Some(ago(began)),
        ended_at: ended.map(ago),
        steps: 7,
        failed: u32::from(state == RunState::Failed),
        error: (state == RunState::Failed).then(|| "load: exit code 2".to_owned()),
        tags: Vec::new(),
    }
}

/// Runs of the last hours.
pub(crate) fn runs() -> RunList {
    use RunState::{Cancelled, Failed, Running, Succeeded};
    let runs = vec![
        line(RUN, "release", Running, 95, None),
        line("7c1d3c4d5e6f7a8b9c0d1e2f3a", "nightly", Failed, 3 * 3600, Some(3 * 3600 - 300)),
        line("8e2b3c4d5e6f7a8b9c0d1e2f3a", "release", Succeeded, 7200, Some(7000)),
        line("9f2b3c4d5e6f7a8b9c0d1e2f3a", "report \u{1b}[31m", Cancelled, 9000, Some(8990)),
    ];
    RunList { version: None, runs, next: None }
}

fn past(states: &[RunState]) -> Vec<PastRun> {
    let run = |(place, state): (usize, &RunState)| PastRun {
        run_id: RUN.to_owned(),
        state: *state,
        accepted_at: ago(1000 - place as u64),
        took: Some(Duration::from_secs(20 + (place as u64 * 7) % 40)),
    };
    states.iter().enumerate().map(run).collect()
}

fn flow(name: &str, states: &[RunState], ok: f64, next: Option<u64>) -> FlowGlance {
    FlowGlance {
        name: name.to_owned(),
        outdated: false,
        runs: past(states),
        ok: Some(ok),
        median: Some(Duration::from_secs(42)),
        trend: None,
        next: next.map(soon),
        schedules: vec![name.to_owned()],
    }
}

/// What matters now.
pub(crate) fn glance() -> Glance {
    use RunState::{Failed, Running, Succeeded};
    let all = runs().runs;
    Glance {
        version: None,
        at: NOW,
        failing: vec![all[1].clone()],
        late: vec![ScheduleLine { next: Some(ago(600)), ..schedule("hourly-sync") }],
        approvals: vec![ApprovalLine {
            run_id: RUN.to_owned(),
            flow: Some("release".to_owned()),
            step: "approve".to_owned(),
            asks: "waits for approval".to_owned(),
            since: Some(ago(12)),
            wants_code: false,
        }],
        approvals_more: false,
        now: vec![RunNow {
            run: all[0].clone(),
            ended: 3,
            running: vec!["test".to_owned()],
            expected_end: Some(soon(60)),
        }],
        running: 1,
        waiting: 2,
        flows: vec![
            flow("nightly", &[Succeeded, Succeeded, Failed, Succeeded, Failed], 0.6, Some(36_000)),
            flow("release", &[Succeeded, Succeeded, Succeeded, Running], 1.0, None),
            flow("report \u{202e}x", &[Succeeded; 12], 1.0, Some(1800)),
        ],
    }
}

/// The same on a busy day, for pictures.
pub(crate) fn busy_glance() -> Glance {
    use RunState::{Cancelled, Failed, Running, Succeeded};
    let mut glance = glance();
    let run = |id: &str, name: &str, began: u64, ended: u32, running: &str, left: u64| RunNow {
        run: RunLine { steps: 24, ..line(id, name, Running, began, None) },
        ended,
        running: vec![running.to_owned()],
        expected_end: Some(soon(left)),
    };
    glance.now.push(run("1b3c3c4d5e6f7a8b9c0d1e2f3a", "backup", 420, 19, "upload", 95));
    glance.now.push(run("2c4d3c4d5e6f7a8b9c0d1e2f3a", "import-orders", 64, 6, "parse", 310));
    glance.running = 3;
    let mut mixed = [Succeeded; 18];
    (mixed[4], mixed[11], mixed[12]) = (Failed, Cancelled, Failed);
    glance.flows.extend([
        flow("backup", &[Succeeded; 23], 1.0, Some(41_000)),
        flow("docs-site", &mixed, 0.83, None),
        flow("import-orders", &[&[Succeeded; 15][..], &[Running]].concat(), 1.0, Some(3_536)),
        flow("rotate-keys", &[Succeeded, Succeeded, Succeeded], 1.0, Some(500_000)),
        flow("thumbnails", &[&mixed[..], &[Succeeded; 6]].concat(), 0.88, Some(240)),
    ]);
    for (place, flow) in glance.flows.iter_mut().enumerate() {
        flow.median = Some(Duration::from_secs([42, 230, 9, 515, 71, 374, 3, 18][place % 8]));
    }
    glance
}

fn schedule(name: &str) -> ScheduleLine {
    ScheduleLine {
        name: name.to_owned(),
        flow: Some(name.to_owned()),
        rule: "30 2 * * mon-fri".to_owned(),
        zone: Some("Europe/Zurich".to_owned()),
        state: ScheduleWord::Active,
        overlap: "skip".to_owned(),
        misfire: "latest".to_owned(),
        next: Some(soon(36_000)),
        last: Some(ago(3 * 3600)),
        fired: 118,
        asked_for: 2,
        failed: 3,
        skipped: 0,
        running: 0,
        waiting: 0,
        backoff_level: 0,
    }
}

fn param(name: &str, kind: &str, default: Option<Json>) -> ParamLine {
    ParamLine {
        name: name.to_owned(),
        kind: kind.to_owned(),
        required: default.is_none(),
        default,
        choices: Vec::new(),
        description: Some(format!("what is used as {name}")),
        min: None,
        max: None,
        pattern: None,
    }
}

/// A flow with params.
pub(crate) fn flow_detail() -> FlowDetail {
    let environment = ParamLine {
        choices: vec![json!("staging"), json!("production")],
        ..param("environment", "text", Some(json!("staging")))
    };
    let workers =
        ParamLine { min: Some(1.0), max: Some(20.0), ..param("workers", "int", Some(json!(5))) };
    FlowDetail {
        version: None,
        flow: FlowLine {
            name: "release".to_owned(),
            description: Some("builds, tests and publishes main: \u{1b}]0;x\u{7}".to_owned()),
            tags: Vec::new(),
            file: "flows/release.yaml".to_owned(),
            fingerprint: "0a1b2c".to_owned(),
            since: ago(4000),
            steps: 7,
            schedules: Vec::new(),
            outdated: false,
        },
        max_workers: 4,
        params: vec![
            param("version", "text", None),
            environment,
            workers,
            param("dry_run", "bool", Some(json!(false))),
        ],
        steps: Vec::new(),
        problems: json!([]),
    }
}

/// The file of a flow that cannot be run as it is now, and the version in force.
pub(crate) fn source() -> FlowSource {
    const TEXT: &str = "name: nightly\nschedule: '30 2 * * mon-fri'\nflow:\n  - name: fetch\n    \
                        run: curl -fsS https://data.example/orders.csv -o orders.csv\n  - name: load\n    \
                        depends_on: [fetch]\n    shell: ./load orders.csv # \u{1b}]0;x\u{7}\n";
    let file = |text: String| FlowFile { path: "flows/nightly.yaml".to_owned(), text };
    let unknown = json!({
        "severity": "error",
        "code": "unknown-key",
        "message": "unknown key `shel` of the step `load`, which may have a command in `run`",
        "hint": "did you mean `shell`?",
        "file": "flows/nightly.yaml",
        "line": 8,
        "column": 5,
    });
    FlowSource {
        version: None,
        flow: "nightly".to_owned(),
        fingerprint: "0a1b2c".to_owned(),
        files: vec![file(TEXT.to_owned())],
        outdated: Some(file(TEXT.replace("shell:", "shel:"))),
        problems: json!([unknown]),
    }
}

/// What runs by itself.
pub(crate) fn schedules() -> ScheduleList {
    let paused = ScheduleLine { state: ScheduleWord::Paused, next: None, ..schedule("report") };
    ScheduleList { version: None, schedules: vec![schedule("nightly"), paused] }
}

/// What a schedule will do and did.
pub(crate) fn upcoming() -> (Upcoming, Ledger) {
    let at = |day: u64| UpcomingFiring {
        at: soon(36_000 + day * 86_400),
        local: format!("2026-11-{:02} 02:30 CET", 18 + day),
        clock_change: false,
    };
    let before = |day: u64, state: RunState| LedgerLine {
        nominal: ago(41_400 + day * 86_400),
        last: None,
        count: 1,
        origin: "schedule".to_owned(),
        fate: LedgerFate::Ran,
        why: None,
        run_id: Some(RUN.to_owned()),
        state: Some(state),
    };
    let skipped = LedgerLine {
        fate: LedgerFate::Skipped,
        why: Some("the run before had not ended".to_owned()),
        run_id: None,
        state: None,
        ..before(2, RunState::Succeeded)
    };
    let upcoming = Upcoming {
        version: None,
        schedule: "nightly".to_owned(),
        rule: "30 2 * * mon-fri".to_owned(),
        zone: Some("Europe/Zurich".to_owned()),
        next: (0..3).map(at).collect(),
    };
    let firings = vec![before(0, RunState::Failed), before(1, RunState::Succeeded), skipped];
    (upcoming, Ledger { version: None, schedule: "nightly".to_owned(), firings })
}

/// Who has slots and who waits.
pub(crate) fn queue() -> WaitingLine {
    let holder = |step: &str, seconds| SlotHolder {
        run_id: RUN.to_owned(),
        flow: Some("release".to_owned()),
        step: step.to_owned(),
        attempt: 1,
        seconds,
    };
    let waiting = |step: &str, priority, effective, start, why: &str| WaitingStep {
        run_id: RUN.to_owned(),
        flow: Some("nightly".to_owned()),
        step: step.to_owned(),
        queue: "default".to_owned(),
        priority,
        effective,
        waited_seconds: 30.0,
        why: vec![why.to_owned()],
        expected_start_seconds: start,
        unpassed_in_seconds: None,
    };
    WaitingLine {
        version: None,
        slots: Some(2),
        holders: vec![holder("test", 40.0), holder("load", 3.5)],
        waiting: vec![
            waiting("index", 70, 80, Some(12.0), "all 2 slots are taken"),
            waiting("mail", 50, 50, None, "limit `smtp`: 1 of 1 units are taken"),
        ],
        more: 4,
    }
}

/// The same on a busy day, for pictures.
pub(crate) fn busy_queue() -> WaitingLine {
    let mut line = queue();
    let like =
        |flow: &str, step: &str, priority: u8, effective: u8, start: Option<f64>| WaitingStep {
            flow: Some(flow.to_owned()),
            step: step.to_owned(),
            priority,
            effective,
            expected_start_seconds: start,
            ..line.waiting[0].clone()
        };
    let more = [
        like("import-orders", "parse", 50, 62, Some(14.5)),
        like("import-orders", "enrich", 50, 55, Some(31.0)),
        like("thumbnails", "resize[3]", 20, 41, Some(48.0)),
        like("thumbnails", "resize[4]", 20, 41, Some(52.5)),
    ];
    line.waiting.splice(1..1, more);
    line
}

/// The last lines of a log of so many.
pub(crate) fn lines(total: u64) -> LogLines {
    const TESTED: [&str; 6] = [
        "calendar::leap_days",
        "queue::aging",
        "store::torn_page",
        "flow::loops",
        "http::reach",
        "keys::once",
    ];
    let from = total.saturating_sub(17).max(1);
    let plain = |text: String| LogSpan(String::new(), text);
    let line = |number: u64| {
        let name = TESTED[(number % 6) as usize];
        let (stream, spans) = match number % 8 {
            4 => (LogStream::Stderr, vec![plain(format!("warning: {name} took {number} ms"))]),
            _ => {
                let ok = LogSpan("f2 b".to_owned(), "ok\u{1b}[2J".to_owned());
                (LogStream::Stdout, vec![plain(format!("test {name}_{number} ... ")), ok])
            }
        };
        LogLine(None, stream, spans, None)
    };
    LogLines {
        version: None,
        run_id: RUN.to_owned(),
        task: 1,
        attempt: 2,
        attempts: Some(2),
        over: Some(false),
        generation: "a".to_owned(),
        total,
        size: total * 12,
        counted: None,
        from,
        lines: (from..=total).map(line).collect(),
    }
}
