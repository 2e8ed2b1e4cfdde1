//! What is told of runs beside how they stand: what decided how long they took, when they began, what nobody can foresee.
//!
//! Which of it is on which page is tried in `tidewheel-server` and in a browser.

use std::collections::BTreeMap;

use crate::scene::Scene;
use serde_json::Value as Json;
use tidewheel::TaskState;
use tidewheel_client::api::{Explained, PriorityWish, StartWish, StepsWish};
use tidewheel_client::desk::{Beside, LocalDesk};
use tidewheel_client::house::{House, HouseOptions};
use tidewheel_client::session::Takeover;
use tidewheel_testing::wait_until;

/// A short cut leads from the first to the last of those that decided; `build` ends when the test lets it.
const SHORT_CUT: &str = "
flow:
  - { name: fetch, wait: 1ms }
  - { name: build, wait: { file: built, every: 1ms }, depends_on: [fetch] }
  - { name: beside, wait: 1ms, depends_on: [fetch] }
  - { name: summary, wait: 1ms, depends_on: [fetch, build, beside] }
  - { name: never, wait: 1ms, depends_on: [beside], when: 'false' }
";

/// Two that look for something outside, one that has not begun to, and what comes after them.
const LOOKS: &str = "
flow:
  - { name: ask, wait: { approval: 'now?', every: 10ms } }
  - { name: arrives, wait: { file: not-there, every: 10ms } }
  - { name: later, wait: 1h }
  - { name: again, wait: { approval: 'and now?', every: 10ms }, depends_on: [later] }
  - { name: then, wait: 1ms, depends_on: [ask] }
  - { name: last, wait: 1ms, depends_on: [then] }
  - { name: after-again, wait: 1ms, depends_on: [again] }
";

fn picture(desk: &LocalDesk, run: &str) -> Json {
    desk.picture(run).unwrap().json()
}

/// Runs [`SHORT_CUT`], with `build` as the last step before the summary.
fn short_cut(scene: &Scene) -> String {
    let order = scene.order(&scene.write("short-cut.yaml", SHORT_CUT), &[]);
    let session = scene.session(Takeover::Fresh);
    let started = scene.runtime.block_on(session.start(&order, BTreeMap::new())).unwrap();
    let run = started.run.id().to_string();
    wait_until("the step beside has ended", || {
        let steps = scene.desk().find(&run).unwrap().tasks;
        steps.iter().any(|step| step.name == "beside" && step.state == TaskState::Succeeded)
    });
    scene.write("built", "");
    scene.runtime.block_on(async {
        started.run.report().await.unwrap();
        session.close().await;
    });
    run
}

#[test]
fn what_decided_is_a_path_without_short_cuts() {
    let scene = Scene::new();
    let run = short_cut(&scene);
    let drawn = picture(&scene.desk(), &run);
    let marked = |what: &str| -> Vec<Json> {
        let all = drawn[what].as_array().unwrap();
        all.iter().filter(|it| it["is_critical"] == true).cloned().collect()
    };
    let names = |key: &str, all: Vec<Json>| -> Vec<String> {
        all.iter().map(|it| it[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("name", marked("steps")), ["fetch", "build", "summary"]);
    assert_eq!(names("from", marked("edges")), ["fetch", "build"]);
    assert_eq!(names("to", marked("edges")), ["build", "summary"]);
    let standing = scene.desk().standing(&run).unwrap();
    let told = standing.steps.iter().filter(|step| step.critical);
    let told: Vec<&str> = told.map(|step| step.name.as_str()).collect();
    assert_eq!(told, ["fetch", "build", "summary"], "whoever watches is told the same");
}

#[test]
fn what_was_skipped_took_no_time() {
    let scene = Scene::new();
    let run = short_cut(&scene);
    let drawn = picture(&scene.desk(), &run);
    let details = drawn["steps"].as_array().unwrap().iter();
    let detail = |name: &str| {
        let step = details.clone().find(|it| it["name"] == name).unwrap();
        step["detail"].as_str().unwrap().to_owned()
    };
    assert_eq!(detail("never"), "wait");
    assert!(detail("build").starts_with("wait · "), "{}", detail("build"));
}

/// A run of [`LOOKS`] in a house, of which both that look have looked several times.
async fn looking(scene: &Scene) -> (House, String) {
    let flows = scene.path.join("flows");
    std::fs::create_dir_all(&flows).unwrap();
    std::fs::write(flows.join("looks.yaml"), LOOKS).unwrap();
    let mut options = HouseOptions::new();
    options.flows = Some(flows);
    let house = House::open(scene.folder(), options).await.unwrap();
    let wish = StartWish { flow: "looks".to_owned(), ..StartWish::default() };
    let run = house.start(wish).await.unwrap().run_id;
    for step in ["ask", "arrives"] {
        let looks = async || {
            let run = run.clone();
            house.desk().here(move |desk| desk.find(&run)).await.unwrap()
        };
        while !looks().await.tasks.iter().any(|task| task.name == step && task.attempts > 2) {
            tokio::task::yield_now().await;
        }
    }
    (house, run)
}

#[test]
fn a_run_begins_once_however_often_its_steps_look() {
    let scene = Scene::new();
    scene.runtime.block_on(async {
        let (house, run) = looking(&scene).await;
        // Between two looks there may be none that is told.
        let first = loop {
            let run = run.clone();
            let attempts = house.desk().here(move |desk| desk.attempts(&run, "ask"));
            if let Some(first) = attempts.await.unwrap().attempts.first() {
                break first.started_at.unwrap();
            }
        };
        let result = house.desk().here(move |desk| desk.result(&run)).await.unwrap();
        assert!(result.started_at.unwrap() <= first, "{result:?} {first}");
        let runs = house.desk().list(Default::default()).await.unwrap().runs;
        assert_eq!(runs[0].started_at, result.started_at);
        house.close(std::time::Duration::ZERO).await;
    });
}

#[test]
fn nobody_knows_when_what_looks_outside_ends_nor_when_what_comes_after_it_starts() {
    let scene = Scene::new();
    scene.runtime.block_on(async {
        let (house, run) = looking(&scene).await;
        let asked = run.clone();
        let explained: Explained =
            house.desk().here(move |desk| desk.explain(&asked, None)).await.unwrap();
        let told = explained.steps.iter().filter(|it| it.expected_start_seconds.is_some());
        let told: Vec<&str> = told.map(|it| it.step.as_str()).collect();
        assert_eq!(told, ["later", "again"]);
        // Nor is it told of the line, or of what another priority would lead to.
        let line = house.line(100).await.unwrap().waiting;
        let in_line = line.iter().filter(|it| it.expected_start_seconds.is_some());
        let in_line: Vec<&str> = in_line.map(|it| it.step.as_str()).collect();
        assert!(in_line.iter().all(|step| told.contains(step)), "{in_line:?}");
        let wish = PriorityWish { priority: 80, ..PriorityWish::default() };
        // What looks at that moment waits for nothing: it is asked until that is over.
        let preview = loop {
            let (run, wish) = (run.clone(), wish.clone());
            let preview = house.desk().here(move |desk| desk.preview_priority(&run, &wish));
            let preview = preview.await.unwrap();
            if preview.before.iter().any(|it| it.step == "ask") {
                break preview;
            }
        };
        for order in [&preview.before, &preview.after] {
            assert!(order.iter().any(|it| it.step == "ask"), "{order:?}");
            let known = order.iter().filter(|it| it.expected_start_seconds.is_some());
            let mut known: Vec<&str> = known.map(|it| it.step.as_str()).collect();
            known.sort_unstable();
            assert_eq!(known, ["again", "later"]);
        }
        house.close(std::time::Duration::ZERO).await;
    });
}

#[test]
fn beside_a_run_that_went_well_is_the_step_that_ended_last() {
    let scene = Scene::new();
    let run = short_cut(&scene);
    let whole = scene.desk().whole(&run, &StepsWish::default(), false, &Beside::First).unwrap();
    assert_eq!(whole.beside.unwrap().name, "summary", "what was skipped has not run");
}
