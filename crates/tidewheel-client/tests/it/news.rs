//! News of runs and schedules, for flows that want to hear them: notifications, before anything is sent.
//!
//! What is sent is tried with the command, in `tidewheel-cli`.

use std::process::Command;
use std::time::Duration;

use crate::scene::Scene;
use tidewheel::Timestamp;
use tidewheel::clock::VirtualClock;
use tidewheel_client::api::{LedgerLine, LedgerWish, RunState, StartWish};
use tidewheel_client::house::{House, HouseOptions};
use tidewheel_testing::{bounded, patience};

const GOOD: &str = "
name: good
sources: { nothing: { type: file, configuration: { path: nothing.json } } }
flow: [{ name: say, source: nothing }]
";

const BAD: &str = "
name: bad
sources: { missing: { type: file, configuration: { path: missing.json } } }
flow: [{ name: say, source: missing }]
";

const ASKS: &str = "
name: asks
flow: [{ name: ask, wait: { approval: 'now?', every: 10ms } }]
";

/// A flow that hears this, and leaves what it heard.
fn hears(name: &str, events: &str) -> String {
    format!(
        "name: {name}\nparams: {{ text: {{ type: text }} }}\n\
         schedule: {{ events: {{ {events} }}, params: {{ text: '{{{{ event.text }}}}' }} }}\n\
         sources: {{ nothing: {{ type: file, configuration: {{ path: nothing.json }} }} }}\n\
         flow: [{{ name: say, source: nothing, outputs: {{ heard: '{{{{ params.text }}}}' }} }}]\n"
    )
}

fn write(scene: &Scene, flows: &[(&str, &str)]) {
    std::fs::create_dir_all(scene.path.join("flows")).unwrap();
    scene.write("flows/nothing.json", "{}");
    for (name, text) in flows {
        scene.write(&format!("flows/{name}.yaml"), text);
    }
}

async fn open(scene: &Scene, clock: Option<VirtualClock>) -> House {
    let mut options = HouseOptions::new();
    options.flows = Some(scene.path.join("flows"));
    options.look = None;
    options.session.clock = clock.map(Into::into);
    let house = House::open(scene.folder(), options).await.unwrap();
    assert_eq!(house.flows().await.broken, []);
    assert_eq!(house.refused(), [] as [String; 0]);
    house
}

async fn start(house: &House, flow: &str) -> String {
    let wish = StartWish { flow: flow.to_owned(), ..StartWish::default() };
    house.start(wish).await.unwrap().run_id
}

/// Runs a flow to its end.
async fn run(house: &House, flow: &str) {
    let run = start(house, flow).await;
    while house.desk().show(&run).await.unwrap().state == RunState::Running {
        tokio::task::yield_now().await;
    }
}

async fn ledger(house: &House, flow: &str) -> Vec<LedgerLine> {
    let wish = LedgerWish { version: None, before: None, limit: 100 };
    house.desk().ledger(flow, wish).await.unwrap().firings
}

/// What a flow has heard, oldest first, as soon as it is so many things.
async fn heard(house: &House, flow: &str, count: usize) -> Vec<String> {
    loop {
        let lines = ledger(house, flow).await;
        let is_done = |line: &LedgerLine| line.state == Some(RunState::Succeeded);
        if lines.len() >= count && lines.iter().all(is_done) {
            assert_eq!(lines.len(), count, "{lines:?}");
            let mut heard = Vec::new();
            for line in lines.iter().rev() {
                let run = house.desk().show(line.run_id.as_deref().unwrap()).await.unwrap();
                let run = serde_json::to_value(&run).unwrap();
                heard.push(run["outputs"]["say"]["heard"].as_str().unwrap().to_owned());
            }
            return heard;
        }
        tokio::task::yield_now().await;
    }
}

fn within(doing: impl AsyncFnOnce(&Scene)) {
    let scene = Scene::new();
    scene.runtime.block_on(bounded("the news are there", doing(&scene)));
}

#[test]
fn who_wants_to_hear_of_failures_hears_of_each_once() {
    within(async |scene| {
        let ends = hears("ends", "on: [success, failure], of: [g*, nobody]");
        write(
            scene,
            &[
                ("alert", &hears("alert", "on: failure")),
                ("ends", &ends),
                ("good", GOOD),
                ("bad", BAD),
            ],
        );
        let house = open(scene, None).await;
        run(&house, "good").await;
        run(&house, "bad").await;
        let told = heard(&house, "alert", 1).await;
        assert!(told[0].starts_with("bad failed: ") && told[0].contains("(run "), "{told:?}");
        let told = heard(&house, "ends", 1).await;
        assert!(told[0].starts_with("good succeeded (run "), "{told:?}");
        house.close(patience()).await;
        drop(house);
        // What was heard is not told again.
        let house = open(scene, None).await;
        assert_eq!(heard(&house, "alert", 1).await.len(), 1);
        house.close(patience()).await;
    });
}

#[test]
fn a_flow_says_who_is_to_hear_of_it() {
    within(async |scene| {
        write(
            scene,
            &[
                ("alert", &hears("alert", "on: failure, of: []")),
                ("bad", &format!("{BAD}notify: alert\n")),
                ("worse", &BAD.replace("name: bad", "name: worse")),
            ],
        );
        let house = open(scene, None).await;
        run(&house, "worse").await;
        run(&house, "bad").await;
        assert!(heard(&house, "alert", 1).await[0].starts_with("bad failed"));
        house.close(patience()).await;
    });
}

#[test]
fn news_of_those_who_tell_news_are_told_to_nobody() {
    within(async |scene| {
        let broken =
            hears("broken", "on: [failure, success]").replace("nothing.json", "missing.json");
        write(
            scene,
            &[
                ("alert", &hears("alert", "on: [failure, success]")),
                ("broken", &broken),
                ("good", GOOD),
            ],
        );
        let house = open(scene, None).await;
        run(&house, "good").await;
        assert!(heard(&house, "alert", 1).await[0].starts_with("good succeeded"));
        let failed = async || {
            let lines = ledger(&house, "broken").await;
            lines.first().is_some_and(|line| line.state == Some(RunState::Failed))
        };
        while !failed().await {
            tokio::task::yield_now().await;
        }
        run(&house, "good").await;
        heard(&house, "alert", 2).await;
        house.close(patience()).await;
    });
}

#[test]
fn what_ended_while_nobody_was_there_is_heard_at_the_next_start() {
    let scene = Scene::new();
    write(&scene, &[("alert", &hears("alert", "on: failure")), ("bad", BAD)]);
    // From before anybody wanted to hear of it.
    scene.run(&scene.path.join("flows/bad.yaml"));
    scene.runtime.block_on(async {
        let house = open(&scene, None).await;
        assert_eq!(ledger(&house, "alert").await, []);
        house.close(patience()).await;
    });
    scene.run(&scene.path.join("flows/bad.yaml"));
    scene.runtime.block_on(async {
        let house = open(&scene, None).await;
        assert!(heard(&house, "alert", 1).await[0].starts_with("bad failed"));
        house.close(patience()).await;
    });
}

#[test]
fn a_run_that_is_not_over_in_time_is_told_once() {
    within(async |scene| {
        let alert = hears("alert", "on: deadline, deadline: 1ms");
        write(scene, &[("alert", &alert), ("asks", ASKS)]);
        let house = open(scene, None).await;
        start(&house, "asks").await;
        while ledger(&house, "alert").await.is_empty() {
            house.look_for_overdue().await.unwrap();
        }
        for _ in 0..3 {
            house.look_for_overdue().await.unwrap();
        }
        let told = heard(&house, "alert", 1).await;
        assert!(told[0].starts_with("asks is not over after "), "{told:?}");
        house.close(Duration::ZERO).await;
    });
}

/// A firing is stored before its run. Here the run waits for a file with variables while the house opens.
#[test]
fn late_firing_is_reported_when_its_run_is_stored_after_the_catch_up() {
    // 2026-11-16T05:00:00Z, and so many seconds.
    let at = |seconds| Timestamp::from_seconds(1_794_805_200).after(Duration::from_secs(seconds));
    within(async |scene| {
        let good = format!("{GOOD}schedule: '*/10 * * * *'\nenv_file: [variables.env]\n");
        let alert = hears("alert", "on: late, late: 10s, of: good");
        write(scene, &[("alert", &alert), ("good", &good)]);
        let variables = scene.path.join("flows/variables.env");
        assert!(Command::new("mkfifo").arg(&variables).status().unwrap().success());
        let house = open(scene, Some(VirtualClock::at(at(1)))).await;
        house.close(patience()).await;
        drop(house);
        let house = open(scene, Some(VirtualClock::at(at(630)))).await;
        let lines = ledger(&house, "good").await;
        assert_eq!((lines.len(), lines[0].state), (1, None), "it fired, and has no run yet");
        tokio::task::spawn_blocking(|| std::fs::write(variables, "N=1\n")).await.unwrap().unwrap();
        let told = heard(&house, "alert", 1).await;
        let late = "schedule good fired late for 2026-11-16T05:10:00Z: 30.";
        assert!(told[0].starts_with(late), "{told:?}");
        house.close(patience()).await;
    });
}

#[test]
fn firings_that_come_late_and_instants_that_were_missed_are_told() {
    // 2026-11-16T05:00:00Z, and so many seconds.
    let at = |seconds| Timestamp::from_seconds(1_794_805_200).after(Duration::from_secs(seconds));
    within(async |scene| {
        let nightly = format!("{GOOD}schedule: '*/10 * * * *'\n");
        let alert = hears("alert", "on: late, late: 10s, of: good");
        write(scene, &[("alert", &alert), ("good", &nightly)]);
        let house = open(scene, Some(VirtualClock::at(at(1)))).await;
        house.close(patience()).await;
        drop(house);
        let house = open(scene, Some(VirtualClock::at(at(1830)))).await;
        while ledger(&house, "alert").await.len() < 2 {
            tokio::task::yield_now().await;
        }
        let mut told = heard(&house, "alert", 2).await;
        told.sort();
        let late = "schedule good fired late for 2026-11-16T05:30:00Z: 30.";
        assert!(told[0].starts_with(late), "{told:?}");
        assert!(told[1].starts_with("schedule good missed 2026-11-16T05:10:00Z"), "{told:?}");
        house.close(patience()).await;
    });
}
