//! `tidewheel publish` after uploads whose end nobody saw, when a registry says no to the next one: either the first is there,
//! which is found out by looking, or the no stands.
//!
//! Single faults of uploads are in `publish_cargo.rs`, and scripts of many in `publish_sweep.rs`.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::process::Command;

use crate::publishing::Scene;
use crate::registry;
use crate::registry::{Fault, Faults, What};
use serde_json::{Value as Json, json};
use tidewheel_testing::skipped;

/// A workspace of each ecosystem whose tool is here, with the name of its second package, as its registry and as we write it.
fn scenes(name: &str) -> Vec<(Scene, &'static str, &'static str)> {
    let has = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    let mut scenes = vec![(Scene::chain(&format!("{name}-cargo")), "b", "cargo:b")];
    match has("npm", &["--version"]) {
        true => scenes.push((Scene::npm(&format!("{name}-npm")), "b", "npm:b")),
        false => skipped(name, "npm is not there"),
    }
    match has("python3", &["-c", "import tomllib"]) {
        true => {
            scenes.push((Scene::python(&format!("{name}-python")), "our-b", "python:our-b"));
        }
        false => skipped(name, "python3 with tomllib is not there"),
    }
    scenes
}

fn of<'a>(report: &'a Json, package: &str) -> &'a Json {
    let mut packages = report["packages"].as_array().unwrap().iter();
    packages.find(|it| it["package"] == package).unwrap()
}

fn uploads(scene: &Scene, package: &str) -> usize {
    let requests = scene.registry.requests();
    let is_it = |it: &&registry::Request| {
        it.asked.what == What::Upload && it.asked.package.as_deref() == Some(package)
    };
    requests.iter().filter(is_it).count()
}

#[test]
fn a_no_after_trouble_is_told_in_its_words_and_asked_for_again_by_the_next_run() {
    for (scene, name, package) in scenes("doubted-no") {
        let reserved = Fault::Refused(422, "it is a reserved name");
        let faults = Faults::none().on(What::Upload, name, Fault::Refused(500, "try again"));
        scene.registry.script(faults.on(What::Upload, name, reserved).always());
        for sent in [2, 3] {
            // Not every registry says what it has: that one gets time to show it.
            let (code, report) = scene.published(&["--visible-within", "200ms"]);
            assert_eq!((code, &report["verdict"]), (1, &"failed".into()), "{report:#}");
            let it = of(&report, package);
            assert_eq!(it["code"], "refused", "{it:#}");
            assert!(it["error"].as_str().unwrap().contains("it is a reserved name"), "{it:#}");
            assert_eq!(uploads(&scene, name), sent, "{package}: it is tried once a run");
        }
        scene.registry.script(Faults::none());
        scene.finish();
    }
}

#[test]
fn a_token_that_ends_after_trouble_is_told_as_that() {
    for (scene, name, package) in scenes("doubted-leave") {
        let faults = Faults::none().on(What::Upload, name, Fault::Refused(500, "try again"));
        scene.registry.script(faults.on(What::Upload, name, Fault::Unauthorised).always());
        let (code, report) = scene.published(&["--visible-within", "200ms"]);
        assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
        assert_eq!(of(&report, package)["code"], "not-allowed", "{report:#}");
        scene.registry.script(Faults::none());
        scene.finish();
    }
}

#[test]
fn what_was_taken_in_spite_of_its_answer_and_is_shown_late_is_no_refusal() {
    for (scene, name, package) in scenes("doubted-late") {
        // Registries of npm and crates say no to what they have.
        let fault = Fault::HiddenThenRefused(500, 9);
        scene.registry.script(Faults::none().on(What::Upload, name, fault));
        let (code, report) = scene.published(&[]);
        assert_eq!((code, &report["verdict"]), (0, &"done".into()), "{report:#}");
        assert_eq!(of(&report, package)["result"], "published", "{report:#}");
        // Those that say what they have are not sent it again.
        if package == "cargo:b" {
            scene.registry.assert_nothing_twice();
        }
        assert_eq!(of(&report, package)["error"], json!(null), "{report:#}");
    }
}
