//! Every field of everything that is written, set to something, written and read.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::calendar::{ClockChanges, Cron, Fold, Gap, Zone};
use tidewheel_core::condition::{Clause, Condition, Ends, Standing};
use tidewheel_core::graph::Graph;
use tidewheel_core::group::{GroupKind, GroupSpec, Membership};
use tidewheel_core::id::RunId;
use tidewheel_core::policy::{
    Backoff, BreakerSpec, Factor, Jitter, OnError, OnSkip, Priority, Rate, Retry, RetryOn, Shape,
};
use tidewheel_core::row::Wanted;
use tidewheel_core::schedule::{
    Anchor, EndReason, FiredRanges, Misfire, Origin, Overlap, Pending, ScheduleSpec, ScheduleState,
    SkipCounts, Span, Trigger,
};
use tidewheel_core::spec::{
    Attachment, Busy, LimitSpec, OnStop, OnceKey, Profile, QueueSpec, RunGroup, RunOptions,
    RunOrder, RunSpec, TaskSpec,
};
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;

use super::*;
use crate::store::RecordedOutcome;
use crate::store::{RunCommand, ScheduleCommand};

const ODD: Duration = Duration::new(3, 141_592_653);

fn same<T: Written + PartialEq + Debug>(value: &T) {
    let text = write(value).unwrap();
    assert_eq!(&read::<T>(&text).unwrap(), value, "{text}");
}

fn retries() -> Vec<Retry> {
    let shapes = [
        Shape::Fixed,
        Shape::Linear,
        Shape::Decorrelated,
        Shape::Exponential { factor: Factor::from_thousandths(u32::MAX) },
    ];
    let jitters = [
        Jitter::None,
        Jitter::Full,
        Jitter::Equal,
        Jitter::Additive { max: Duration::MAX },
        Jitter::Proportional { percent: u32::MAX },
    ];
    let mut retries = Vec::new();
    for (index, shape) in shapes.into_iter().enumerate() {
        for (other, jitter) in jitters.into_iter().enumerate() {
            let backoff = Backoff { shape, base: ODD, cap: Duration::MAX };
            let on = RetryOn {
                failed: index % 2 == 0,
                failed_for_good: other % 2 == 0,
                timed_out: index > other,
            };
            retries.push(Retry { retries: u32::MAX - index as u32, backoff, jitter, on });
        }
    }
    retries
}

fn profile(retry: Retry) -> Profile {
    Profile {
        priority: Priority::new(73),
        queue: Some(Arc::from("a \"quoted\" queue\n")),
        retry,
        attempt_timeout: Some(Duration::MAX),
        task_timeout: Some(Duration::ZERO),
        start_delay: ODD,
        on_error: Some(OnError::Continue),
        on_dependency_error: Some(OnError::Fail),
        on_skip: Some(OnSkip::Skip),
        always: true,
        at_most_once: true,
        stays: false,
        limits: vec![(Arc::from("ünits"), u32::MAX), (Arc::from(""), 0)],
        fair_by: Some(Arc::from("ténant")),
    }
}

fn micros(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

#[test]
fn profiles() {
    same(&Profile::default());
    for retry in retries() {
        same(&profile(retry));
    }
    same(&Profile { on_error: Some(OnError::Skip), ..Profile::default() });
}

#[test]
fn queues_and_limits() {
    let rate = Rate::new(u32::MAX, Duration::from_nanos(u64::MAX)).unwrap().with_burst(7).unwrap();
    same(&QueueSpec::default());
    same(&QueueSpec {
        weight: u32::MAX,
        slots: Some(0),
        rate: Some(rate),
        waiting_max: Some(u32::MAX),
        preempt: true,
    });
    same(&LimitSpec::Units(u32::MAX));
    same(&LimitSpec::SharedUnits(2));
    same(&LimitSpec::Rate(rate));
    same(&LimitSpec::Breaker(BreakerSpec::new(9, Duration::MAX)));
    same(&LimitSpec::Breaker(BreakerSpec::new(9, Duration::MAX).fail_fast()));
}

fn same_run(spec: &RunSpec) {
    let text = write(spec).unwrap();
    let back: RunSpec = read(&text).unwrap();
    assert_eq!(back.graph, spec.graph, "{text}");
    assert_eq!(back.options, spec.options);
    assert_eq!(back.profiles, spec.profiles);
    assert_eq!(back.profile_of, spec.profile_of);
    assert_eq!((&back.deadlines, &back.keys), (&spec.deadlines, &spec.keys));
    assert_eq!((&back.conditions, &back.groups), (&spec.conditions, &spec.groups));
    assert_eq!(back.already_done, spec.already_done);
    assert_eq!(back.attachment.once, spec.attachment.once);
    assert_eq!(back.attachment.payload, None, "bytes have a column of their own");
}

fn conditions() -> BTreeMap<u32, Arc<Condition>> {
    let clauses = vec![
        Clause::all([1, u32::MAX], Ends::SUCCEEDED.or(Ends::DECLINED)),
        Clause::any([], Ends::FAILED.not()),
        Clause::any([0], Ends::ANY.not()),
    ];
    let standings = [Standing::Succeeded, Standing::Failed, Standing::Ended];
    let whole = standings.into_iter().map(Condition::OfWhole);
    (0..).zip(whole.chain([Condition::OfTasks(clauses)]).map(Arc::new)).collect()
}

#[test]
fn runs() {
    let edges = [("b", "ä\t"), ("a", "ä\t"), ("ä\t", "\u{0}"), ("b", "\u{0}")];
    let graph = Graph::from_edges(edges).unwrap();
    let each = [0, 1, u64::MAX, 5].map(Duration::from_nanos);
    let mut spec = RunSpec::new(
        Arc::new(graph.with_estimates(|index| each[index as usize])),
        RunOptions {
            name: Arc::from("näme"),
            queue: Arc::from("q"),
            slots: Some(u32::MAX),
            timeout: Some(ODD),
            on_error: OnError::Fail,
            on_skip: OnSkip::Skip,
            on_stop: OnStop::Cancel { grace: Duration::MAX },
            order: RunOrder::LatestFinish,
            keep_open: true,
            paused: true,
            group: Some(RunGroup { name: "deploy".into(), max: 2, busy: Busy::QueueOne }),
        },
        profile(retries()[3]),
    );
    spec.profiles.push(Arc::new(Profile::default()));
    spec.profile_of = vec![1, 0, 1, u16::MAX];
    spec.deadlines = BTreeMap::from([(0, Duration::MAX), (u32::MAX, ODD)]);
    spec.keys = BTreeMap::from([(2, Arc::from("k")), (3, Arc::from(""))]);
    spec.conditions = conditions();
    spec.groups = BTreeMap::from([
        (
            0,
            GroupSpec {
                kind: GroupKind::Parts,
                at_once: Some(2),
                opener: Some(7),
                members: vec![7, 1],
            },
        ),
        (
            u32::MAX,
            GroupSpec {
                kind: GroupKind::Call { on_error: OnError::Continue, on_skip: OnSkip::Skip },
                at_once: None,
                opener: None,
                members: Vec::new(),
            },
        ),
    ]);
    spec.already_done = vec![0, u32::MAX];
    spec.attachment = Attachment {
        payload: Some(Arc::from(&b"x"[..])),
        kind: Some(Arc::from("kind")),
        once: Some(OnceKey::new("k", b"d")),
    };
    same_run(&spec);
    for order in [RunOrder::CriticalPath, RunOrder::Deadline, RunOrder::Fifo] {
        spec.options.order = order;
        spec.options.on_stop = OnStop::Finish;
        same_run(&spec);
    }
}

#[test]
fn graphs_of_all_kinds() {
    let uniform = Graph::numbered(7, [(0, 6), (6, 1), (5, 0)]).unwrap();
    let mut alone = Graph::builder();
    alone.task("alone").estimate(ODD);
    alone.task("7");
    let graphs = [
        Graph::numbered(0, []).unwrap(),
        Graph::numbered(1, []).unwrap(),
        Graph::numbered(1000, (1..1000).map(|index| (index / 3, index))).unwrap(),
        uniform.clone().with_uniform_estimate(ODD),
        uniform,
        alone.build().unwrap(),
        Graph::from_edges([("z", "a")]).unwrap(),
    ];
    for graph in graphs {
        same_run(&RunSpec::new(Arc::new(graph), RunOptions::default(), Profile::default()));
    }
}

#[test]
fn added_tasks() {
    let full = TaskSpec {
        name: Arc::from("näme"),
        after: vec![0, u32::MAX],
        before: vec![u32::MAX, 1],
        condition: conditions().remove(&3),
        membership: Membership {
            group: Some(u32::MAX),
            opens: true,
            ends: Some(GroupKind::Call { on_error: OnError::Fail, on_skip: OnSkip::Continue }),
            at_once: Some(u32::MAX),
        },
        profile: Arc::new(profile(retries()[7])),
        estimate: Some(ODD),
        key: Some(Arc::from("k")),
        deadline: Some(Duration::MAX),
        payload: None,
    };
    same(&full);
    let bare = TaskSpec {
        after: Vec::new(),
        before: Vec::new(),
        condition: None,
        membership: Membership::default(),
        profile: Arc::default(),
        estimate: None,
        key: None,
        deadline: None,
        ..full
    };
    same(&bare);
}

#[test]
fn schedules() {
    let cron = Cron::parse("30 9 * * mon-fri").unwrap();
    let changes = ClockChanges { gap: Gap::Skip, fold: Fold::Both };
    let lisbon = Zone::named("Europe/Lisbon").unwrap();
    let triggers = [
        Trigger::at(micros(i64::MIN)),
        Trigger::after(Duration::MAX),
        Trigger::every(ODD),
        Trigger::FixedRate { period: ODD, start: Anchor::At(micros(i64::MAX)) },
        Trigger::FixedDelay { delay: ODD, start: Anchor::After(ODD) },
        Trigger::calendar(cron.clone(), Zone::utc()),
        Trigger::calendar(cron.clone().with_clock_changes(changes), lisbon),
        Trigger::calendar(cron, Zone::named("+05:30").unwrap()),
        Trigger::Custom,
    ];
    for trigger in triggers {
        same(&ScheduleSpec::new(trigger.clone()));
        let full = ScheduleSpec {
            name: Some("nightly".into()),
            trigger,
            overlap: Overlap::QueueAll { max: 9 },
            misfire: Misfire::All { max: u32::MAX },
            misfire_grace: Duration::MAX,
            jitter: ODD,
            window: Some(Span::since(micros(-1))),
            exclusions: vec![Span::before(micros(5)), Span::new(micros(7), micros(8))],
            max_firings: Some(u64::MAX),
            backoff: Some(retries()[5]),
            payload: None,
            kind: None,
        };
        same(&full);
        let overlaps = [Overlap::QueueOne, Overlap::QueueNewest, Overlap::Cancel, Overlap::Allow];
        for overlap in overlaps {
            same(&ScheduleSpec { overlap, misfire: Misfire::Skip, ..full.clone() });
        }
    }
}

#[test]
fn wanted_runs() {
    same(&Vec::<Wanted>::new());
    let origins = [Origin::Trigger, Origin::Backfill(2), Origin::ByHand(u64::MAX)];
    same(&Vec::from(origins.map(|origin| Wanted {
        run: RunId(u128::MAX - 7),
        nominal: micros(i64::MIN),
        origin,
    })));
}

#[test]
fn states_of_schedules() {
    same(&ScheduleState::default());
    let ends = [
        EndReason::Exhausted,
        EndReason::MaxFirings,
        EndReason::WindowClosed,
        EndReason::TriggerStuck,
        EndReason::Cancelled,
    ];
    for end in ends {
        same(&ScheduleState {
            anchor: Some(micros(1)),
            cursor: micros(i64::MIN),
            pending: Some(Pending { nominal: micros(2), due: micros(3), origin: Origin::Trigger }),
            queue: [Origin::Backfill(u64::MAX), Origin::Trigger, Origin::ByHand(1)]
                .map(|origin| Pending { nominal: micros(4), due: micros(5), origin })
                .into(),
            fired_ranges: FiredRanges::from_ranges([
                (micros(6), micros(7)),
                (micros(9), micros(9)),
            ]),
            last_fired: Some(micros(8)),
            last_decided: Some(micros(i64::MAX)),
            outstanding: u32::MAX,
            cancelling: true,
            paused: true,
            end: Some(end),
            end_told: true,
            fired: u64::MAX,
            asked_for: u64::MAX,
            failed: u64::MAX,
            skipped: SkipCounts {
                misfire: 1,
                overlap: 2,
                paused: 3,
                excluded: 4,
                window: 5,
                queue_full: 6,
                backoff: u64::MAX,
            },
            last_due_lag: Duration::MAX,
            backoff_level: 7,
            not_before: Some(micros(-10)),
            seen_label: micros(11),
            seen_wall: micros(12),
        });
    }
}

#[test]
fn words_find_their_way_home() {
    for state in TaskState::ALL {
        assert_eq!(state_of(state.word()).unwrap(), state);
    }
    let reasons = [
        Reason::Ordinary,
        Reason::Error,
        Reason::Panic,
        Reason::AttemptTimeout,
        Reason::TaskTimeout,
        Reason::RunTimeout,
        Reason::DependencyFailed(u32::MAX),
        Reason::DependencySkipped(1),
        Reason::RunStopped(0),
        Reason::Requested,
        Reason::Removed,
        Reason::AlreadyDone,
        Reason::Abandoned,
        Reason::ShutDown,
        Reason::Replaced,
        Reason::GroupTaken,
        Reason::Preempted,
        Reason::HandedBack,
        Reason::Lost,
        Reason::Quarantined,
        Reason::Ambiguous,
        Reason::Condition,
        Reason::DependencyDeclined(7),
        Reason::GroupStopped(8),
        Reason::PartFailed(9),
        Reason::Postponed,
    ];
    for reason in reasons {
        assert_eq!(reason_of(reason.word(), reason.cause()).unwrap(), reason);
    }
    for outcome in RecordedOutcome::PLAIN {
        assert_eq!(outcome_of(outcome.word()), Some(outcome));
    }
    for reason in reasons.into_iter().filter(|reason| reason.cause().is_none()) {
        let again = RecordedOutcome::Again(reason);
        assert_eq!(outcome_of(again.word()), Some(again), "no two outcomes have one word");
    }
    assert_eq!(outcome_of("whim"), None);
    assert!(state_of("asleep").is_err() && reason_of("whim", None).is_err());
}

#[test]
fn commands() {
    same(&RunCommand::Drain);
    same(&RunCommand::Cancel { grace: ODD });
    same(&RunCommand::End { grace: ODD });
    same(&RunCommand::Replace { grace: ODD });
    same(&RunCommand::CancelTask { task: 7, grace: ODD });
    same(&RunCommand::Pause);
    same(&RunCommand::Resume);
    let nominal = Timestamp::from_micros(-7);
    for command in [
        ScheduleCommand::Pause,
        ScheduleCommand::Resume,
        ScheduleCommand::FireNow { asked_for: u64::MAX },
        ScheduleCommand::Backfill { nominal, asked_for: 3, at_once: true },
    ] {
        same(&RunCommand::OfSchedule(command));
    }
}

#[test]
fn what_a_newer_program_wrote_is_refused_with_a_hint() {
    for text in [r#"{"v":3,"is":{"units":3}}"#, r#"{"v":3,"whatever":1}"#] {
        let error = read::<LimitSpec>(text).unwrap_err();
        assert!(matches!(error, CodecError::Newer { found: 3, .. }), "{error}");
        assert!(error.to_string().contains("upgrade"), "{error}");
    }
    for text in ["", "{}", "nonsense", r#"{"v":1}"#, r#"{"v":1,"is":{"rate":{}}}"#] {
        assert!(matches!(read::<LimitSpec>(text), Err(CodecError::Text { .. })), "{text}");
    }
    let zero = r#"{"v":1,"is":{"rate":{"count":0,"per":{"secs":1,"nanos":0},"burst":1}}}"#;
    assert!(matches!(read::<LimitSpec>(zero), Err(CodecError::Value { .. })));
}

#[test]
fn a_group_that_was_stored_before_there_were_bounds_has_none() {
    let text = r#"{"kind":"parts","opener":2,"members":[2,1]}"#;
    let record: super::group::GroupRecord = serde_json::from_str(text).unwrap();
    let (kind, opener, members) = (GroupKind::Parts, Some(2), vec![2, 1]);
    let expected = GroupSpec { kind, at_once: None, opener, members };
    assert_eq!(record.into_value().unwrap(), expected);
}
