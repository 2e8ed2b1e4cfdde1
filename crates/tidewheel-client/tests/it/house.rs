//! A house: flows by name, schedules that fire, files that change.
//!
//! Which version of a flow is in force is tried beside the catalogue; when instants fire, in the core.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::scene::Scene;
use serde_json::json;
use tidewheel::Timestamp;
use tidewheel::clock::VirtualClock;
use tidewheel_client::api::{
    AnswerWish, BackfillWish, Happened, LedgerFate, LedgerLine, LedgerWish, ListWish, OriginWord,
    RefusalKind, RetryWish, RunOrigin, RunState, ScheduleWord, StartWish, What,
};
use tidewheel_client::house::{Happenings, House, HouseOptions, Seen};
use tidewheel_client::session::Takeover;
use tidewheel_testing::patience;

/// A flow that waits for somebody.
const ASKS: &str = "flow: [{ name: ask, wait: { approval: 'now?', every: 10ms } }]\n";

/// 2026-11-16T05:00:00Z, and so many seconds.
fn at(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1_794_805_200).after(Duration::from_secs(seconds))
}

fn flows(scene: &Scene) -> std::path::PathBuf {
    let flows = scene.path.join("flows");
    std::fs::create_dir_all(&flows).unwrap();
    flows
}

/// Opens a house that looks at its files only when it is asked to, whose wall clock can be set and begins then.
async fn open(scene: &Scene, seconds: u64) -> (House, VirtualClock) {
    let clock = VirtualClock::at(at(seconds));
    let mut options = HouseOptions::new();
    options.flows = Some(flows(scene));
    options.look = None;
    options.session.clock = Some(clock.clone().into());
    (House::open(scene.folder(), options).await.unwrap(), clock)
}

/// Lets the wall clock go on to the next whole minute.
fn minute(clock: &VirtualClock) {
    let passed = clock.wall().as_micros().rem_euclid(60_000_000);
    clock.set_forward(Duration::from_micros(60_000_000 - passed.unsigned_abs()));
}

fn wish(flow: &str) -> StartWish {
    StartWish { flow: flow.to_owned(), ..StartWish::default() }
}

/// Waits for the next thing of this kind.
async fn next(happenings: &mut Happenings, what: What) -> Happened {
    loop {
        match happenings.next().await.expect("the house has not ended") {
            Seen::Happened(happened) if happened.what == what => return (*happened).clone(),
            Seen::Happened(_) => {}
            Seen::Gap => panic!("something was missed"),
        }
    }
}

async fn ledger(house: &House, schedule: &str) -> Vec<LedgerLine> {
    let wish = LedgerWish { limit: 1000, ..LedgerWish::default() };
    let mut firings = house.desk().ledger(schedule, wish).await.unwrap().firings;
    firings.reverse();
    firings
}

#[test]
fn a_flow_is_started_by_its_name() {
    let scene = Scene::new();
    std::fs::write(
        flows(&scene).join("greet.yaml"),
        "params: { who: { type: text }, times: { type: int, default: 1 } }\ntags: [daily]\n\
         flow: [{ name: greet, wait: 1ms }]\n",
    )
    .unwrap();
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 0).await;
        let list = house.flows().await;
        assert_eq!(list.flows.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["greet"]);
        let detail = house.flow("greet").await.unwrap();
        assert_eq!((detail.params.len(), detail.params[0].required), (2, true));
        assert_eq!(detail.steps[0].name, "greet");

        let refused = house.start(wish("greet")).await.unwrap_err();
        assert!(refused.to_string().contains("needs the param `who`"), "{refused}");
        let refused = house.start(wish("great")).await.unwrap_err();
        assert_eq!(refused.kind(), RefusalKind::NotFound);
        assert_eq!(refused.hints(), ["did you mean `greet`?"]);

        let mut happenings = house.happenings(None);
        let wished = StartWish {
            // A text is read as what the param takes.
            params: BTreeMap::from([("who".into(), json!("you")), ("times".into(), json!("3"))]),
            priority: Some(80),
            tags: vec!["by-hand".to_owned()],
            key: Some("order-7".to_owned()),
            fingerprint: Some(detail.flow.fingerprint),
            ..wish("greet")
        };
        let started = house.start(wished.clone()).await.unwrap();
        assert!(started.created);
        let again = house.start(wished.clone()).await.unwrap();
        assert_eq!((again.created, &again.run_id), (false, &started.run_id));
        let other = StartWish { priority: Some(20), ..wished.clone() };
        assert!(house.start(other).await.unwrap_err().rejection().is_some());
        let other = StartWish { fingerprint: Some("0".to_owned()), ..wished };
        assert_eq!(house.start(other).await.unwrap_err().kind(), RefusalKind::Conflict);

        let ended = next(&mut happenings, What::RunEnded).await;
        assert_eq!(ended.run_id.as_ref(), Some(&started.run_id));
        assert_eq!(
            (ended.flow.as_deref(), ended.state.as_deref()),
            (Some("greet"), Some("succeeded"))
        );
        let result = house.desk().show(&started.run_id).await.unwrap();
        assert_eq!(
            (result.state, &*result.tags),
            (RunState::Succeeded, &["daily".to_owned(), "by-hand".to_owned()][..])
        );
        let retried = house.retry(
            &started.run_id,
            RetryWish { from: Some("greet".into()), ..RetryWish::default() },
        );
        let retried = retried.await.unwrap();
        assert_ne!(retried.run_id, started.run_id);
        // What it was started with, and what made it, is told of each.
        assert_eq!(
            result.params,
            BTreeMap::from([("times".into(), json!(3)), ("who".into(), json!("you"))])
        );
        assert_eq!(result.origin, Some(RunOrigin::by(OriginWord::ByHand)));
        let again = house.desk().show(&retried.run_id).await.unwrap();
        let of = Some(started.run_id.clone());
        let origin = RunOrigin { run_id: of, ..RunOrigin::by(OriginWord::Retry) };
        assert_eq!((again.params, again.origin), (result.params, Some(origin)));
        assert_eq!(next(&mut happenings, What::RunEnded).await.run_id, Some(retried.run_id));
        house.close(patience()).await;
    });
}

#[test]
fn a_question_is_seen_however_many_runs_came_after_it() {
    let scene = Scene::new();
    let write = |name: &str, wait: &str| {
        let text = format!("flow: [{{ name: wait, wait: {wait} }}]\n");
        std::fs::write(flows(&scene).join(name), text).unwrap();
    };
    write("asks.yaml", "{ approval: 'now?', every: 10ms }");
    write("rests.yaml", "1h");
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 0).await;
        let asked = async || house.desk().here(|desk| desk.approvals()).await.unwrap();
        let mut happenings = house.happenings(None);
        let asking = house.start(wish("asks")).await.unwrap().run_id;
        while asked().await.approvals.is_empty() {
            happenings.next().await.expect("the house has not ended");
        }
        for _ in 0..100 {
            house.start(wish("rests")).await.unwrap();
        }
        let open = asked().await;
        let runs: Vec<&str> = open.approvals.iter().map(|it| it.run_id.as_str()).collect();
        assert_eq!((runs, open.more), (vec![&*asking], false));
        let glance = house.glance().await.unwrap();
        assert_eq!((glance.running, glance.now.len()), (101, 20));
        assert_eq!((glance.approvals, glance.approvals_more), (open.approvals, false));
        house.close(patience()).await;
    });
}

#[test]
fn what_others_do_in_the_data_folder_is_told_as_well() {
    let scene = Scene::new();
    let file = scene.write("asks.yaml", ASKS);
    let (before, of) =
        (scene.leave(&file, |run| run.task_state(0).is_some()), scene.order(&file, &[]));
    let house = scene.runtime.block_on(open(&scene, 0)).0;
    let session = scene.session(Takeover::Fresh);
    scene.runtime.block_on(async {
        let mut happenings = house.happenings(None);
        let started = session.start(&of, BTreeMap::new()).await.unwrap();
        let run = started.run.id().to_string();
        let accepted = next(&mut happenings, What::RunAccepted).await;
        assert_eq!(
            (accepted.run_id.as_ref(), accepted.flow.as_deref()),
            (Some(&run), Some("asks"))
        );
        let began = next(&mut happenings, What::StepStarted).await;
        assert_eq!((began.run_id.as_ref(), began.step.as_deref()), (Some(&run), Some("ask")));
        house.desk().pause(&run).await.unwrap();
        assert_eq!(next(&mut happenings, What::RunPaused).await.run_id.as_ref(), Some(&run));
        house.desk().go_on(&run).await.unwrap();
        next(&mut happenings, What::RunResumed).await;
        let yes =
            AnswerWish { version: None, approved: true, by: String::new(), note: None, code: None };
        house.desk().answer(&run, "ask", yes).await.unwrap();
        let ended = next(&mut happenings, What::StepEnded).await;
        assert_eq!(
            (ended.run_id.as_ref(), ended.state.as_deref()),
            (Some(&run), Some("succeeded"))
        );
        let ended = next(&mut happenings, What::RunEnded).await;
        assert_eq!(
            (ended.run_id.as_ref(), ended.state.as_deref()),
            (Some(&run), Some("succeeded"))
        );
        assert_ne!(run, before.to_string(), "what was there before is no news");
        session.close().await;
        house.close(patience()).await;
    });
}

#[test]
fn a_run_that_comes_and_goes_between_two_looks_is_told_once_whosever_it_is() {
    let scene = Scene::new();
    let file = scene.write("short.yaml", "flow: [{ name: one, wait: 1ms }]\n");
    std::fs::copy(&file, flows(&scene).join("short.yaml")).unwrap();
    let house = scene.runtime.block_on(open(&scene, 0)).0;
    let mut happenings = house.happenings(None);
    let own = scene.runtime.block_on(house.start(wish("short"))).unwrap().run_id;
    let theirs = scene.run(&file).to_string();
    let mut ended = BTreeMap::new();
    scene.runtime.block_on(async {
        while ended.len() < 2 {
            let run = next(&mut happenings, What::RunEnded).await.run_id.unwrap();
            *ended.entry(run).or_insert(0) += 1;
        }
    });
    // Whatever is told twice is told before another run of others.
    let last = scene.run(&file).to_string();
    scene.runtime.block_on(async {
        loop {
            let run = next(&mut happenings, What::RunEnded).await.run_id.unwrap();
            if run == last {
                break;
            }
            *ended.entry(run).or_insert(0) += 1;
        }
        assert_eq!(ended, BTreeMap::from([(own, 1), (theirs, 1)]));
        house.close(patience()).await;
    });
}

#[test]
fn schedules_fire_runs_of_the_version_that_is_in_force() {
    let scene = Scene::new();
    let path = flows(&scene).join("tick.yaml");
    let text =
        |step: &str| format!("schedule: '* * * * *'\nflow: [{{ name: {step}, wait: 1ms }}]\n");
    std::fs::write(&path, text("one")).unwrap();
    scene.runtime.block_on(async {
        let (house, clock) = open(&scene, 1).await;
        let mut happenings = house.happenings(None);
        minute(&clock);
        let fired = next(&mut happenings, What::ScheduleFired).await;
        assert_eq!((fired.schedule.as_deref(), fired.nominal), (Some("tick"), Some(at(60))));
        let first = next(&mut happenings, What::RunEnded).await.run_id.unwrap();
        std::fs::write(&path, text("two")).unwrap();
        let reloaded = house.reload().await.unwrap();
        assert_eq!(reloaded.changed, ["tick"]);
        minute(&clock);
        let second = next(&mut happenings, What::RunEnded).await.run_id.unwrap();
        for (run, step) in [(&first, "one"), (&second, "two")] {
            let steps = house.desk().show(run).await.unwrap().steps;
            assert!(steps.get(step).is_some(), "{run} {step}");
        }
        // The schedule was changed, not doubled.
        let fired = ledger(&house, "tick").await;
        let nominals: Vec<Timestamp> = fired.iter().map(|line| line.nominal).collect();
        assert_eq!(nominals, [at(60), at(120)]);
        assert!(fired.iter().all(|it| it.state == Some(RunState::Succeeded)), "{fired:?}");
        let schedules = house.schedules().await.unwrap().schedules;
        assert_eq!(schedules.len(), 1);
        assert_eq!((schedules[0].state, schedules[0].next), (ScheduleWord::Active, Some(at(180))));
        assert_eq!(schedules[0].flow.as_deref(), Some("tick"));
        house.close(patience()).await;
    });
}

#[test]
fn a_schedule_goes_on_after_a_restart_and_ends_with_its_file() {
    let scene = Scene::new();
    let path = flows(&scene).join("tick.yaml");
    std::fs::write(&path, "schedule: '* * * * *'\nflow: [{ name: one, wait: 1ms }]\n").unwrap();
    let (opened, ended) = (What::RunEnded, What::ScheduleEnded);
    scene.runtime.block_on(async {
        let (house, clock) = open(&scene, 1).await;
        let mut happenings = house.happenings(None);
        minute(&clock);
        next(&mut happenings, opened).await;
        house.close(patience()).await;
    });
    scene.runtime.block_on(async {
        // Nobody was there at 120, 180 and 240; the newest of them fires.
        let (house, clock) = open(&scene, 250).await;
        let mut happenings = house.happenings(Some(("since the beginning", 0)));
        assert_eq!(happenings.next().await, Some(Seen::Gap));
        next(&mut happenings, opened).await;
        minute(&clock);
        next(&mut happenings, opened).await;
        std::fs::remove_file(&path).unwrap();
        assert_eq!(house.reload().await.unwrap().removed, ["tick"]);
        next(&mut happenings, ended).await;
        assert!(house.schedules().await.unwrap().schedules.is_empty());
        let lines = ledger(&house, "tick").await;
        let said: Vec<_> =
            lines.iter().map(|it| (it.nominal, it.count, it.fate, it.why.as_deref())).collect();
        assert_eq!(
            said,
            [
                (at(60), 1, LedgerFate::Ran, None),
                (at(120), 2, LedgerFate::Skipped, Some("misfire")),
                (at(240), 1, LedgerFate::Ran, None),
                (at(300), 1, LedgerFate::Ran, None),
            ]
        );
        let refused = house.fire_schedule("tick").await.unwrap_err();
        assert_eq!(refused.kind(), RefusalKind::NotFound);
        assert_eq!(house.desk().list(ListWish::default()).await.unwrap().runs.len(), 3);
        house.close(patience()).await;
    });
}

#[test]
fn a_file_that_is_broken_when_the_house_opens_has_its_last_version_in_force() {
    let scene = Scene::new();
    let path = flows(&scene).join("tick.yaml");
    std::fs::write(&path, "schedule: '* * * * *'\nflow: [{ name: one, wait: 1ms }]\n").unwrap();
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 1).await;
        house.close(patience()).await;
    });
    std::fs::write(&path, "schedule: '* * * * *'\nflow: [{ name: one, wiat: 1ms }]\n").unwrap();
    scene.runtime.block_on(async {
        let (house, clock) = open(&scene, 2).await;
        let list = house.flows().await;
        assert!(list.flows[0].outdated);
        assert_eq!((list.broken.len(), list.broken[0].in_force), (1, true));
        assert_eq!(list.broken[0].problems[0]["line"], 2);
        let mut happenings = house.happenings(None);
        minute(&clock);
        assert_eq!(next(&mut happenings, What::RunEnded).await.state.as_deref(), Some("succeeded"));
        house.start(wish("tick")).await.unwrap();
        next(&mut happenings, What::RunEnded).await;
        house.close(patience()).await;
    });
}

#[test]
fn a_schedule_that_came_to_its_end_does_not_begin_anew() {
    let scene = Scene::new();
    let text = |step: &str| {
        format!(
            "schedule: {{ cron: '* * * * *', times: 1 }}\nflow: [{{ name: {step}, wait: 1ms }}]\n"
        )
    };
    let path = flows(&scene).join("once.yaml");
    std::fs::write(&path, text("one")).unwrap();
    scene.runtime.block_on(async {
        let (house, clock) = open(&scene, 1).await;
        let mut happenings = house.happenings(None);
        minute(&clock);
        next(&mut happenings, What::ScheduleEnded).await;
        // Neither when its file is changed elsewhere, nor after a restart.
        std::fs::write(&path, text("two")).unwrap();
        house.reload().await.unwrap();
        assert!(house.schedules().await.unwrap().schedules.is_empty());
        house.close(patience()).await;
    });
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 70).await;
        assert!(house.schedules().await.unwrap().schedules.is_empty());
        assert_eq!(ledger(&house, "once").await.len(), 1);
        house.close(patience()).await;
    });
}

#[test]
fn a_house_looks_at_its_files_by_itself() {
    let scene = Scene::new();
    scene.runtime.block_on(async {
        let mut options = HouseOptions::new();
        options.flows = Some(flows(&scene));
        options.look = Some(Duration::from_millis(1));
        let house = House::open(scene.folder(), options).await.unwrap();
        let mut happenings = house.happenings(None);
        let path = flows(&scene).join("new.yaml");
        std::fs::write(&path, "flow: [{ name: one, wait: 1ms }]\n").unwrap();
        let told = next(&mut happenings, What::FlowChanged).await;
        assert_eq!(told.flow.as_deref(), Some("new"));
        std::fs::write(&path, "flow: [{ nmae: one }]\n").unwrap();
        let error = next(&mut happenings, What::FlowBroken).await.error.unwrap();
        assert!(error.contains("new.yaml cannot be run: line 1, column "), "{error}");
        std::fs::remove_file(&path).unwrap();
        next(&mut happenings, What::FlowRemoved).await;
        house.close(patience()).await;
    });
}

#[test]
fn one_data_folder_has_one_house() {
    let scene = Scene::new();
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 1).await;
        let mut options = HouseOptions::new();
        options.flows = Some(flows(&scene));
        let refused = House::open(scene.folder(), options).await.unwrap_err();
        assert_eq!(refused.kind(), RefusalKind::Conflict);
        assert!(refused.to_string().contains("another server"), "{refused}");
        house.close(patience()).await;
    });
}

#[test]
fn schedules_are_paused_fired_and_backfilled() {
    let scene = Scene::new();
    let text =
        "schedule: { cron: '0 * * * *', overlap: allow }\nflow: [{ name: one, wait: 1ms }]\n";
    std::fs::write(flows(&scene).join("hourly.yaml"), text).unwrap();
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 1).await;
        let mut happenings = house.happenings(None);
        house.pause_schedule("hourly").await.unwrap();
        assert_eq!(house.schedules().await.unwrap().schedules[0].state, ScheduleWord::Paused);
        house.fire_schedule("hourly").await.unwrap();
        next(&mut happenings, What::RunEnded).await;
        house.resume_schedule("hourly").await.unwrap();
        let upcoming = house.desk().upcoming("hourly", 3).await.unwrap();
        assert_eq!(
            upcoming.next.iter().map(|it| it.at).collect::<Vec<_>>(),
            [3600, 7200, 10_800].map(at)
        );

        let range = BackfillWish {
            from: Some(Timestamp::from_seconds(1_794_805_200 - 3 * 3600)),
            ..BackfillWish::default()
        };
        let asked = house.backfill("hourly", BackfillWish { max: Some(2), ..range.clone() }).await;
        assert!(asked.unwrap_err().rejection().is_some());
        // Looking at them fires none.
        let until = Some(Timestamp::from_seconds(1_794_805_200 + 1));
        let seen = BackfillWish { until, ..range.clone() };
        let seen = house.desk().preview_backfill("hourly", seen).await.unwrap();
        let hours = [3, 2, 1, 0].map(|ago| Timestamp::from_seconds(1_794_805_200 - ago * 3600));
        assert_eq!(seen.next.iter().map(|it| it.at).collect::<Vec<_>>(), hours);
        let few = BackfillWish { until, max: Some(2), ..range.clone() };
        assert!(house.desk().preview_backfill("hourly", few).await.is_err());
        let asked = house.backfill("hourly", range.clone()).await.unwrap();
        assert_eq!(asked.firings, Some(4));
        for _ in 0..4 {
            next(&mut happenings, What::RunEnded).await;
        }
        // Nor was anything before there was a schedule.
        let ever = BackfillWish { missed: true, ..BackfillWish::default() };
        assert_eq!(house.backfill("hourly", ever).await.unwrap().firings, Some(0));
        // All of them have run: nothing is missed.
        let asked = house.backfill("hourly", BackfillWish { missed: true, ..range }).await.unwrap();
        assert_eq!(asked.firings, Some(0));
        let mut origins = BTreeSet::new();
        for line in ledger(&house, "hourly").await {
            let run = house.desk().show(line.run_id.as_deref().unwrap()).await.unwrap();
            let made = RunOrigin {
                schedule: Some("hourly".to_owned()),
                nominal: Some(line.nominal),
                firing: Some(line.origin.clone()),
                ..RunOrigin::by(OriginWord::Schedule)
            };
            assert_eq!(run.origin, Some(made), "a run says which firing it is");
            origins.insert(line.origin);
        }
        assert_eq!(origins, BTreeSet::from(["backfill".to_owned(), "by-hand".to_owned()]));
        house.close(patience()).await;
    });
}

#[test]
fn a_calendar_has_what_comes_and_what_was_in_the_zone_of_each_schedule() {
    let scene = Scene::new();
    let text =
        "schedule: { cron: '0 * * * *', zone: Asia/Kolkata }\nflow: [{ name: one, wait: 1ms }]\n";
    std::fs::write(flows(&scene).join("hourly.yaml"), text).unwrap();
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 1).await;
        let mut happenings = house.happenings(None);
        house.fire_schedule("hourly").await.unwrap();
        next(&mut happenings, What::RunEnded).await;
        let calendar = async || {
            let mut all = house.desk().here(|desk| desk.calendar(10, 2)).await.unwrap();
            assert_eq!(all.len(), 1);
            all.remove(0)
        };
        let days = calendar().await;
        assert_eq!((&*days.schedule, &*days.zone), ("hourly", "Asia/Kolkata"));
        let next: Vec<&str> = days.next.iter().map(|it| &*it.local).collect();
        assert_eq!(next, ["Mon 2026-11-16 11:00:00 +05:30", "Mon 2026-11-16 12:00:00 +05:30"]);
        assert!(days.comes_more);
        let (local, line) = &days.past[0];
        assert!(local.starts_with("Mon 2026-11-16 10:30:"), "{local}");
        assert_eq!((days.past.len(), line.state), (1, Some(RunState::Succeeded)));

        house.pause_schedule("hourly").await.unwrap();
        let days = calendar().await;
        assert_eq!((days.next.len(), days.comes_more, days.past.len()), (0, false, 1));
        house.close(patience()).await;
    });
}

/// One of them runs and the others wait for it: all are in their range, and none was missed.
#[test]
fn a_preview_knows_what_waits_to_fire() {
    let scene = Scene::new();
    let text = "schedule: '0 * * * *'\nflow: [{ name: ask, wait: { approval: 'go on?' } }]\n";
    std::fs::write(flows(&scene).join("hourly.yaml"), text).unwrap();
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 1).await;
        let now = 1_794_805_200;
        let range = BackfillWish {
            from: Some(Timestamp::from_seconds(now - 3 * 3600)),
            until: Some(Timestamp::from_seconds(now + 1)),
            ..BackfillWish::default()
        };
        let whole = BackfillWish { until: None, ..range.clone() };
        assert_eq!(house.backfill("hourly", whole).await.unwrap().firings, Some(4));
        let missed = BackfillWish { missed: true, ..range.clone() };
        for (wish, expected) in [(range, 4), (missed, 0)] {
            let seen = house.desk().preview_backfill("hourly", wish).await.unwrap();
            assert_eq!(seen.next.len(), expected, "{seen:?}");
        }
        house.close(patience()).await;
    });
}

#[test]
fn what_happened_is_told_from_any_point_on() {
    let scene = Scene::new();
    std::fs::write(flows(&scene).join("one.yaml"), "flow: [{ name: one, wait: 1ms }]\n").unwrap();
    scene.runtime.block_on(async {
        let (house, _) = open(&scene, 0).await;
        let mut live = house.happenings(None);
        house.start(wish("one")).await.unwrap();
        let ended = next(&mut live, What::RunEnded).await;
        let mut again = house.happenings(Some((&ended.epoch, 0)));
        for number in 1..=ended.sequence {
            let Some(Seen::Happened(happened)) = again.next().await else { panic!("a gap") };
            assert_eq!(happened.sequence, number);
        }
        // Numbers of another life say nothing here.
        let mut other = house.happenings(Some(("another", 1)));
        assert_eq!(other.next().await, Some(Seen::Gap));
        let Some(Seen::Happened(first)) = other.next().await else { panic!("a gap") };
        assert_eq!(first.sequence, 1);
        house.close(patience()).await;
        while again.next().await.is_some() {}
    });
}
