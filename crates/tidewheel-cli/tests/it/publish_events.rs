//! What `tidewheel publish` says while it goes on: plain lines for people, a JSON object a line for programs.
//!
//! What it does is tested in `publish_cargo.rs`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::publishing::Scene;
use crate::registry::{Fault, Faults, RetryAfter, Upload, What};
use serde_json::Value as Json;
use tidewheel_testing::patience;

fn parsed(line: &str) -> Json {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn programs_are_told_while_it_goes_on() {
    let scene = Scene::chain("events-stream");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: true }));
    let mut command = scene.publish(&["--events"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // It cannot end: what is told is told before.
    let mut seen: Vec<Json> = Vec::new();
    while !seen.iter().any(|it| it["name"] == "cargo:b" && it["event"]["type"] == "step-started") {
        seen.push(parsed(&lines.next().expect("it goes on")));
    }
    let is_b = |it: &Upload| it.package == "b";
    assert!(scene.registry.wait_until(patience(), |_, uploads| uploads.iter().any(is_b)));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(seen[0], serde_json::json!({ "doing": "packing", "packages": 3 }));
    assert_eq!(seen[1], serde_json::json!({ "doing": "asking", "packages": 3 }));
    assert_eq!(seen[2]["plan"]["uploads"], 3);
    assert_eq!(seen[3]["event"]["type"], "run-started");
    assert_eq!(seen[3]["event"]["steps"][2]["name"], "cargo:c");
    let is_a = |it: &&Json| it["name"] == "cargo:a" && it["event"]["type"] == "step-ended";
    assert_eq!(seen.iter().find(is_a).unwrap()["event"]["state"], "succeeded");

    let output = scene.publish(&["--events"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let all: Vec<Json> = text.lines().map(parsed).collect();
    let report = &all.last().unwrap()["report"];
    assert_eq!(report["verdict"], "done", "{text}");
    assert_eq!(all.iter().filter(|it| it.get("report").is_some()).count(), 1);
}

#[test]
fn a_wait_is_told_with_its_reason() {
    let scene = Scene::chain("events-wait");
    // So long that it is still waited for when it is told.
    let limited = Fault::TooMany(RetryAfter::Seconds(600));
    scene.registry.script(Faults::none().on(What::Upload, "b", limited));
    let mut command = scene.publish(&["--events"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut events = lines.map(|line| parsed(&line));
    let waits = events.find(|it| it["event"]["type"] == "step-waiting").unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(waits["name"], "cargo:b", "{waits}");
    let why = waits["event"]["why"].as_str().unwrap();
    assert!(why.starts_with("waits for its registry, which takes none before 20"), "{why}");
}

#[test]
fn without_a_terminal_people_get_plain_lines() {
    let scene = Scene::chain("events-plain");
    let output = scene.tidewheel(&["publish", "--yes", "--no-verify"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let (out, error) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let (out, error) = (out.unwrap(), error.unwrap());
    for text in [&out, &error] {
        assert!(!text.contains(['\u{1b}', '\r']), "{text:?}");
    }
    assert!(error.starts_with("packing 3 packages\nasking registries for 3 packages\n"), "{error}");
    for name in ["cargo:a", "cargo:b", "cargo:c"] {
        assert!(
            error.lines().any(|line| line.contains(name) && line.contains("succeeded")),
            "{error}"
        );
    }
    assert!(out.ends_with("done: 3 published\n"), "{out}");
}

/// The codes that the reference promises are those that the command names.
#[test]
fn exit_codes_are_documented() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/reference/publish.md")).unwrap();
    let table = page.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
    let documented: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|word| word.parse::<u8>().is_ok())
        .collect();
    let scene = Scene::chain("events-help");
    let output = scene.tidewheel(&["publish", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let said = help.split("Exit codes:").nth(1).unwrap().split("\n\n").next().unwrap();
    let said: Vec<&str> =
        said.split([' ', '\n', ',']).filter(|word| word.parse::<u8>().is_ok()).collect();
    assert_eq!(documented, said);
    for code in said {
        let output = scene.tidewheel(&["publish", "explain", code]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with(&format!("{code}: ")), "{said}");
    }
}

/// What each look has shown would be a log of its own for every attempt; for people a package has one.
#[test]
fn what_is_done_about_a_package_is_its_log() {
    let scene = Scene::chain("events-log");
    let limited = Fault::TooMany(RetryAfter::Seconds(0));
    scene.registry.script(Faults::none().on(What::Upload, "b", limited));
    assert_eq!(scene.publish(&[]).status().unwrap().code(), Some(0));
    let output = scene.tidewheel(&["logs", "last", "cargo:b"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said: Vec<&str> = text
        .lines()
        .map(|line| line.split_once("Z  ").expect("an instant comes first").1)
        .collect();
    let at = |words: &str| {
        let place = said.iter().position(|line| line.starts_with(words));
        place.unwrap_or_else(|| panic!("{words}: {text}"))
    };
    let places = [
        at("looked in ours: version 1.0.0 is not out"),
        at("uploads b-1.0.0.crate, "),
        at("its registry on b-1.0.0.crate: "),
        at("its registry has taken b-1.0.0.crate"),
        at("those who resolve can have it"),
    ];
    assert!(places.is_sorted(), "{text}");
    assert!(said[places[2]].contains("429"), "{text}");

    let output =
        scene.tidewheel(&["logs", "last", "cargo:b", "--format", "json"]).output().unwrap();
    let list: Json = serde_json::from_slice(&output.stdout).unwrap();
    let logs = list["logs"].as_array().unwrap();
    assert_eq!(logs.len(), 1, "{list}");
    assert_eq!((&logs[0]["attempt"], &list["steps"][0]["attempt"]), (&1.into(), &1.into()));
}
