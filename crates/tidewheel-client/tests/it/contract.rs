//! The serialised contract: one example of each document, as it is written down in `contract/`.
//!
//! A change of a document shows here. If fields were only added, the new text takes the place of the old one
//! (`TIDEWHEEL_BLESS=1 cargo test -p tidewheel-client --test it contract::`); if not, the document needs a new version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use crate::written::Written;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, json};
use tidewheel::Timestamp;
use tidewheel_client::api::{
    AnswerWish, Answered, ArtifactLine, ArtifactList, Asked, Asker, AttemptLine, AttemptList,
    AuditList, AuditRow, AuditVerified, CacheState, CancelWish, Document, Explained, Figures,
    FileChange, GoneOn, Health, HealthState, ListWish, LogFile, LogList, LogStream, LogTurn,
    LogWanted, LogWish, LoginLink, Named, NextFirings, OrderLine, OrderPreview, OriginWord, Plan,
    PlannedCache, PlannedStep, Preview, PriorityChanged, PriorityWish, QueueFigures, Refusal,
    RefusalKind, Refused, RequestEnd, ResumeWish, RetryWish, Role, RunLine, RunList, RunOrigin,
    RunResult, RunState, SchedulerFigures, Standing, StateWish, StepExplained, StepLogs,
    StepResult, StepStanding, StepState, TimeBucket, TimeFigures, TokenLine, TokenList, TokenMade,
    TokenWish, UnknownSteps, Validated, Values,
};
use tidewheel_client::progress::{EndState, Event, StepInfo, Told};

const RUN: &str = "0a2b3c4d5e6f7a8b9c0d1e2f3a";
/// 2026-11-16T05:00:00Z
const AT: Timestamp = Timestamp::from_seconds(1_794_805_200);

fn check<D>(example: D, number: &str) -> String
where
    D: Document + Serialize + DeserializeOwned + Clone + PartialEq + Debug,
{
    Written::new("contract").check(example, number)
}

fn line() -> RunLine {
    RunLine {
        run_id: RUN.to_owned(),
        flow: Some("nightly".to_owned()),
        state: RunState::Interrupted,
        accepted_at: AT,
        started_at: Some(AT),
        ended_at: None,
        steps: 3,
        failed: 1,
        error: Some("exit code 1".to_owned()),
        tags: vec!["backup".to_owned()],
    }
}

fn artifact() -> ArtifactLine {
    ArtifactLine {
        name: "dist/app.tar.gz".to_owned(),
        step: "build[linux]".to_owned(),
        attempt: 2,
        bytes: 1024,
        sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
        path: "/data/runs/0a2b/artifacts/4f/files/dist/app.tar.gz".to_owned(),
    }
}

fn result() -> RunResult {
    let left = Values::from(Map::from_iter([("release".to_owned(), json!("1.2.0"))]));
    let step = StepResult {
        state: StepState::Succeeded,
        reason: Some("cached".to_owned()),
        tolerated: false,
        attempts: 1,
        element: Some(json!("linux")),
        tags: vec!["slow".to_owned()],
        started_at: Some(AT),
        ended_at: Some(AT),
        code: Some(0),
        error: None,
        timeout: None,
        warnings: vec!["tls-unverified".to_owned()],
        outputs: left.clone(),
    };
    let failed = StepResult {
        state: StepState::Failed,
        reason: Some("failed".to_owned()),
        tolerated: true,
        code: Some(2),
        error: Some("exit code 2".to_owned()),
        timeout: Some("timed out after 2.0 s".to_owned()),
        outputs: Values::default(),
        ..step.clone()
    };
    RunResult {
        version: None,
        run_id: RUN.to_owned(),
        flow: None,
        state: RunState::Succeeded,
        accepted_at: AT,
        started_at: Some(AT),
        ended_at: Some(AT),
        reason: Some("its group was taken".to_owned()),
        tags: vec!["backup".to_owned()],
        made_room: true,
        params: BTreeMap::from([("level".to_owned(), json!(3))]),
        origin: Some(RunOrigin {
            by: OriginWord::Schedule,
            schedule: Some("nightly".to_owned()),
            nominal: Some(AT),
            firing: Some("backfill".to_owned()),
            run_id: Some(RUN.to_owned()),
        }),
        hints: vec!["tidewheel retry 0a2b3c4d5e6f7  runs what is left".to_owned()],
        // The order is that of the flow, not of the alphabet.
        steps: Named(vec![("test".to_owned(), step), ("build".to_owned(), failed)]),
        outputs: Named(vec![("test".to_owned(), left)]),
        artifacts: vec![artifact()],
    }
}

fn logs() -> LogList {
    LogList {
        version: None,
        run_id: RUN.to_owned(),
        logs: vec![LogFile {
            step: "build".to_owned(),
            state: StepState::Running,
            attempt: 2,
            stream: LogStream::Stderr,
            path: "/data/logs/0a2b/0-2.err".to_owned(),
            bytes: 17,
        }],
        requests: vec![RequestEnd {
            step: "ask".to_owned(),
            state: StepState::Failed,
            attempt: 1,
            status: Some(503),
            error: Some("status 503".to_owned()),
            answer: Some("later".to_owned()),
        }],
        steps: vec![StepLogs {
            step: "ask".to_owned(),
            task: 1,
            state: StepState::Failed,
            attempt: 1,
            turns: vec![LogTurn { stream: LogStream::Stderr, bytes: 12 }],
            silent: Some("the step has not started".to_owned()),
            warnings: vec!["its standard output could not be kept: full".to_owned()],
        }],
        over: true,
    }
}

fn explained() -> Explained {
    Explained {
        version: None,
        run_id: RUN.to_owned(),
        state: RunState::Paused,
        why: Some("the run is paused".to_owned()),
        steps: vec![StepExplained {
            step: "ship".to_owned(),
            element: Some(json!({ "host": "alpha" })),
            state: StepState::Pending,
            tolerated: false,
            why: "it waits for build".to_owned(),
            asks: false,
            waits_for: vec!["build".to_owned()],
            priority: Some(50),
            expected_start_seconds: Some(42.5),
            unpassed_in_seconds: Some(13.0),
        }],
    }
}

fn refused() -> Refused {
    let error = Refusal {
        kind: RefusalKind::NotFound,
        exit_code: None,
        message: "there is no run `x`".to_owned(),
        hints: vec!["`tidewheel runs` lists them".to_owned()],
        position: None,
        problems: None,
        changes: Vec::new(),
    };
    Refused { version: None, error }
}

/// With everything that can be said of a refusal.
fn refused_at_length() -> Refused {
    let change = FileChange { file: "flow.yaml".to_owned(), change: "- a\n+ b\n".to_owned() };
    let error = Refusal {
        kind: RefusalKind::Input,
        exit_code: Some(3),
        position: Some(7),
        problems: Some(json!([{ "code": "unknown-key" }])),
        changes: vec![change],
        ..refused().error
    };
    Refused { version: None, error }
}

fn attempts() -> AttemptList {
    AttemptList {
        version: None,
        run_id: RUN.to_owned(),
        step: "build".to_owned(),
        attempts: vec![AttemptLine {
            attempt: 1,
            outcome: Some("failed".to_owned()),
            started_at: Some(AT),
            ended_at: Some(AT),
            code: None,
            signal: Some(9),
            error: Some("signal 9".to_owned()),
        }],
    }
}

/// One of each, in the order in which they could happen.
fn events() -> Vec<Event> {
    let step = 0;
    let info = StepInfo {
        name: "build".to_owned(),
        expected: Some(Duration::from_millis(1_500)),
        after: Vec::new(),
        attempts_max: Some(3),
        element: None,
    };
    let added = StepInfo {
        name: "each[0]".to_owned(),
        after: vec![0],
        element: Some(json!("stable")),
        ..StepInfo::default()
    };
    vec![
        Event::RunStarted { run_id: RUN.to_owned(), flow: "nightly".to_owned(), steps: vec![info] },
        Event::StepAdded(added),
        Event::StepWaiting {
            step,
            why: "waits for approval".to_owned(),
            answer: Some("tidewheel approve 0a2b build".to_owned()),
        },
        Event::StepStarted { step, attempt: 1 },
        Event::StepOutput { step, line: "$ make".to_owned() },
        Event::StepRetrying {
            step,
            attempt: 1,
            at: Duration::from_secs(2),
            error: "exit code 1".to_owned(),
        },
        Event::Paused,
        Event::Resumed,
        Event::Draining,
        Event::Killing,
        Event::StepEnded {
            step,
            state: EndState::Failed,
            reason: Some("timed out after 2.0 s".to_owned()),
            error: Some("exit code 1".to_owned()),
            tail: vec!["last words".to_owned()],
            is_tolerated: false,
            is_late: true,
        },
        Event::RunEnded { state: EndState::Unknown },
    ]
}

fn order() -> OrderPreview {
    let line = OrderLine {
        run_id: RUN.to_owned(),
        flow: Some("nightly".to_owned()),
        step: "build".to_owned(),
        queue: "default".to_owned(),
        priority: 50,
        effective: 70,
        changed: true,
        expected_start_seconds: Some(12.5),
    };
    let other = OrderLine {
        flow: None,
        step: "0a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d".to_owned(),
        changed: false,
        expected_start_seconds: None,
        ..line.clone()
    };
    let raised = OrderLine { priority: 80, effective: 100, ..line.clone() };
    OrderPreview {
        version: None,
        run_id: RUN.to_owned(),
        step: Some("build".to_owned()),
        priority: 80,
        before: vec![other.clone(), line],
        after: vec![raised, other],
        more: 3,
    }
}

fn priority_changed() -> PriorityChanged {
    let (run_id, step) = (RUN.to_owned(), Some("build".to_owned()));
    PriorityChanged { version: None, run_id, step, priority: 80, heard: true }
}

fn asked() -> Asked {
    let (run_id, asked) = (RUN.to_owned(), "cancelled".to_owned());
    let step = Some("deploy".to_owned());
    Asked { version: None, run_id, step, asked, heard: true, clean_up_left: true }
}

fn plan() -> Plan {
    let step = |name: &str, after: &[&str]| PlannedStep {
        step: name.to_owned(),
        kind: "process".to_owned(),
        level: after.len() as u32,
        after: after.iter().map(|&it| it.to_owned()).collect(),
        expected_seconds: Some(1.5),
        critical: true,
        many: !after.is_empty(),
        cache: Some(PlannedCache {
            state: CacheState::Done,
            why: Some("in.txt has changed".to_owned()),
        }),
    };
    Plan {
        version: None,
        flow: "nightly".to_owned(),
        description: Some("what is done at night".to_owned()),
        max_workers: 4,
        steps: vec![step("build", &[]), step("each[*]", &["build"])],
        complete: false,
        unknown: vec![UnknownSteps {
            step: "each".to_owned(),
            elements_of: "flows.build.parts".to_owned(),
            params: vec!["region".to_owned()],
        }],
        levels: vec![vec!["build".to_owned()], vec!["each[*]".to_owned()]],
        parallelism: 1,
        critical_path: vec!["build".to_owned(), "each[*]".to_owned()],
        expected_seconds: Some(3.0),
        limits: [("db".to_owned(), vec!["build".to_owned()])].into(),
        schedule: vec![NextFirings { rule: "daily 05:00".to_owned(), next: vec![AT] }],
    }
}

/// What travels to a desk.
fn wishes() -> [String; 8] {
    let step = Some("build".to_owned());
    let list = ListWish {
        version: None,
        name: Some("nightly".to_owned()),
        state: Some(StateWish::Failed),
        tag: Some("backup".to_owned()),
        id: Some("0a2b".to_owned()),
        limit: 20,
        cursor: Some("1f".to_owned()),
    };
    let wanted = LogWanted {
        version: None,
        run_id: RUN.to_owned(),
        task: 1,
        attempt: 2,
        stream: LogStream::Stdout,
        from: 4096,
    };
    let retry = RetryWish {
        version: None,
        from: step.clone(),
        skip: BTreeSet::from(["ship".to_owned()]),
        new_files: true,
        max_workers: Some(2),
        preview: Some("9f86d081884c7d65".to_owned()),
    };
    let answer = AnswerWish {
        version: None,
        approved: false,
        by: "me".to_owned(),
        note: Some("not on a Friday".to_owned()),
        code: None,
    };
    let grace = Some(Duration::from_secs(5));
    [
        check(list, ""),
        check(LogWish { version: None, step, attempt: Some(2), follow: true }, ""),
        check(wanted, ""),
        check(
            CancelWish {
                version: None,
                grace,
                everything: true,
                drain: true,
                step: Some("deploy".to_owned()),
            },
            "",
        ),
        check(PriorityWish { version: None, step: Some("build".to_owned()), priority: 80 }, ""),
        check(ResumeWish { version: None, as_started: true, max_workers: Some(2) }, ""),
        check(retry, ""),
        check(answer, ""),
    ]
}

fn standing() -> Standing {
    let step = StepStanding {
        name: "build[linux]".to_owned(),
        state: StepState::Failed,
        after: vec![0],
        expected: Some(Duration::from_millis(1500)),
        attempts_max: Some(3),
        element: Some(json!("linux")),
        attempt: 2,
        started_at: Some(AT),
        retry_at: Some(AT),
        ended_at: Some(AT),
        reason: Some("timed out after 2.0 s".to_owned()),
        error: Some("exit code 2".to_owned()),
        tail: vec!["no such file".to_owned()],
        tolerated: true,
        critical: true,
        waits: Some("waits for approval".to_owned()),
        asks: true,
        wants_code: true,
    };
    Standing {
        version: None,
        run_id: RUN.to_owned(),
        flow: Some("nightly".to_owned()),
        state: RunState::Waiting,
        why: Some("waiting for its group `deploy`".to_owned()),
        accepted_at: AT,
        ended_at: Some(AT),
        steps: vec![step],
    }
}

/// Who may ask, and what is written down of it.
fn access() -> [String; 7] {
    let (version, name) = (None, "laptop".to_owned());
    let token = TokenLine {
        id: "0123abcd".to_owned(),
        name: name.clone(),
        role: Role::Operator,
        flows: None,
        made_at: AT,
        expires_at: AT,
        used_at: Some(AT),
    };
    let row = AuditRow {
        number: 7,
        at: AT,
        actor: name.clone(),
        token: Some("0123abcd".to_owned()),
        address: "127.0.0.1".to_owned(),
        action: "cancel-run".to_owned(),
        object: "run last".to_owned(),
        result: 200,
        before: "0".repeat(64),
        hash: "f".repeat(64),
    };
    let csrf = Some("word".to_owned());
    [
        check(Asker { version, name: name.clone(), role: Role::Viewer, flows: None, csrf }, ""),
        check(
            LoginLink {
                version,
                path: "/login?code=0123".to_owned(),
                seconds: 60,
                url: Some("http://127.0.0.1:8080/login?code=0123".to_owned()),
            },
            "",
        ),
        check(TokenWish { version, name, role: Role::Author, days: Some(7), flows: None }, ""),
        check(
            TokenMade {
                version, secret: "tidewheel_0123abcd_…".to_owned(), token: token.clone()
            },
            "",
        ),
        check(TokenList { version, tokens: vec![token] }, ""),
        check(AuditList { version, rows: vec![row] }, ""),
        check(AuditVerified { version, rows: 7 }, ""),
    ]
}

/// How a house does.
fn figures() -> [String; 2] {
    let times = TimeFigures {
        count: 2,
        sum_seconds: 1.5,
        p50_seconds: 0.5,
        p99_seconds: 1.0,
        max_seconds: 1.0,
        buckets: vec![TimeBucket { seconds: 0.5, count: 1 }],
    };
    let total = QueueFigures {
        active: 1,
        failure_rate: 0.25,
        wait_time: times.clone(),
        run_time: times.clone(),
        ..QueueFigures::default()
    };
    let scheduler = SchedulerFigures {
        enabled: true,
        active_count: 4,
        queued_count: 12,
        total_submitted: 1523,
        total_completed: 1507,
        high_priority_completed: 312,
        low_priority_completed: 89,
        starvation_promotions: 23,
    };
    let queue = QueueFigures { queue: Some("default".to_owned()), ..total.clone() };
    let figures = Figures {
        version: None,
        scheduler,
        slots: Some(16),
        runs: 3,
        delayed: 1,
        schedules: 2,
        backoff_level: 0,
        oldest_wait_seconds: 0.5,
        due_lag: times,
        total,
        queues: vec![queue],
    };
    let health = Health {
        version: None,
        state: HealthState::Warning,
        why: vec!["more and more waits: 12 tasks by now".to_owned()],
        program: "tidewheel 0.1.0".to_owned(),
    };
    [check(figures, ""), check(health, "")]
}

#[test]
fn every_document_is_what_is_written_down() {
    let run_id = RUN.to_owned();
    let mut names = BTreeSet::from([
        check(RunList { version: None, runs: vec![line()], next: Some("1f".to_owned()) }, ""),
        check(result(), ""),
        check(
            ArtifactList { version: None, run_id: run_id.clone(), artifacts: vec![artifact()] },
            "",
        ),
        check(logs(), ""),
        check(explained(), ""),
        check(attempts(), ""),
        check(refused(), ""),
        check(refused_at_length(), "-at-length"),
        check(order(), ""),
        check(priority_changed(), ""),
        check(asked(), ""),
        check(plan(), ""),
        check(
            Validated {
                version: None,
                valid: false,
                flow: Some("nightly".to_owned()),
                steps: 2,
                problems: json!([{ "code": "unknown-key" }]),
            },
            "",
        ),
        check(
            GoneOn {
                version: None,
                run_id: run_id.clone(),
                state: "resumed".to_owned(),
                taken_over: true,
            },
            "",
        ),
        check(standing(), ""),
        check(
            Answered {
                version: None,
                run_id: run_id.clone(),
                step: "ship".to_owned(),
                answer: "approved".to_owned(),
            },
            "",
        ),
        check(
            Preview {
                version: None,
                run_id,
                run_again: vec!["ship".to_owned()],
                reused: vec!["build".to_owned()],
                passed_over: vec!["flaky".to_owned()],
                changed_files: vec!["nightly.yaml".to_owned()],
                digest: "9f86d081884c7d65".to_owned(),
            },
            "",
        ),
    ]);
    names.extend(wishes());
    names.extend(access());
    names.extend(figures());
    for (number, event) in (1..).zip(events()) {
        let told = Told { version: None, at: Duration::from_millis(250 * number), event };
        names.insert(check(told, &format!("-{number:02}")));
    }
    Written::new("contract").check_all(&names);
}

#[test]
fn what_a_newer_program_adds_is_passed_over() {
    let mut text = serde_json::to_value(line()).unwrap();
    text["colour"] = json!("blue");
    assert_eq!(serde_json::from_value::<RunLine>(text).unwrap(), line());
}
