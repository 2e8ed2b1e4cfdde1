//! What is told of runs beside how they stand: what decided how long they took.
//!
//! Which of it is on which page is tried in `tidewheel-server` and in a browser.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]

mod scene;

use scene::Scene;
use serde_json::Value as Json;
use tidewheel_client::desk::LocalDesk;

/// A short cut leads from the first to the last of those that decided.
const SHORT_CUT: &str = "
flow:
  - { name: fetch, wait: 1ms }
  - { name: build, wait: 20ms, depends_on: [fetch] }
  - { name: beside, wait: 1ms, depends_on: [fetch] }
  - { name: summary, wait: 1ms, depends_on: [fetch, build, beside] }
  - { name: never, wait: 1ms, depends_on: [beside], when: 'false' }
";

fn picture(desk: &LocalDesk, run: &str) -> Json {
    desk.picture(run).unwrap().json()
}

#[test]
fn what_decided_is_a_path_without_short_cuts() {
    let scene = Scene::new();
    let run = scene.run(&scene.write("short-cut.yaml", SHORT_CUT)).to_string();
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
}

#[test]
fn what_was_skipped_took_no_time() {
    let scene = Scene::new();
    let run = scene.run(&scene.write("short-cut.yaml", SHORT_CUT)).to_string();
    let drawn = picture(&scene.desk(), &run);
    let details = drawn["steps"].as_array().unwrap().iter();
    let detail = |name: &str| {
        let step = details.clone().find(|it| it["name"] == name).unwrap();
        step["detail"].as_str().unwrap().to_owned()
    };
    assert_eq!(detail("never"), "wait");
    assert!(detail("build").starts_with("wait · "), "{}", detail("build"));
}
