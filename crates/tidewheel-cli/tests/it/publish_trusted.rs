//! `tidewheel publish` from a pipeline that registries trust: no token is kept anywhere, and registries give one for a while.
//!
//! Pipeline and registries are on loopback, and nothing is signed.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::process::Command;

use crate::publishing::{Scene, everything, told};
use crate::registry::Pipeline;
use serde_json::{Value as Json, json};

/// A publish from a pipeline, with no token but what it is given.
fn publish(scene: &Scene, pipeline: &Pipeline, arguments: &[&str]) -> Command {
    let mut command = scene.publish(arguments);
    for name in ["CARGO_REGISTRIES_OURS_TOKEN", "NPM_TOKEN", "UV_PUBLISH_TOKEN"] {
        command.env_remove(name);
    }
    command.envs(pipeline.variables());
    command
}

fn published(scene: &Scene, pipeline: &Pipeline) -> (i32, Json) {
    told(&publish(scene, pipeline, &[]).output().unwrap())
}

/// Nothing that gives leave is in what is kept or said.
fn assert_kept_nowhere(scene: &Scene, report: &Json) {
    assert!(!report.to_string().contains("-canary"), "{report:#}");
    for (path, content) in everything(&scene.path("data")) {
        let is_in = content.windows(7).any(|part| part == b"-canary");
        assert!(!is_in, "a token is in {}", path.display());
    }
}

#[test]
fn crates_go_out_by_tokens_that_are_given_and_given_again_when_they_end() {
    let scene = Scene::chain("trusted-cargo");
    let pipeline = Pipeline::start();
    // A crate that its registry has never seen cannot trust anybody.
    let (code, error) = published(&scene, &pipeline);
    assert_eq!(code, 3, "{error:#}");
    let said = error.to_string();
    assert!(said.contains("[credentials]") && said.contains("cargo:a is new"), "{said}");
    assert!(said.contains("publish its first version with a token"), "{said}");
    assert_eq!((scene.brought().len(), scene.registry.given()), (0, 0));

    for name in ["a", "b", "c"] {
        scene.registry.put(name, "0.9.0", &format!("{name}-0.9.0.crate"), b"old");
    }
    scene.registry.trust_once();
    let (code, report) = published(&scene, &pipeline);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["published"], json!(["cargo:a", "cargo:b", "cargo:c"]));
    assert_eq!(scene.registry.given(), 3, "one for each upload, and none is asked for in vain");
    scene.registry.assert_nothing_twice();
    assert_kept_nowhere(&scene, &report);
}

#[test]
fn packages_of_npm_have_a_token_each_and_their_tags_at_once() {
    let scene = Scene::npm("trusted-npm");
    let pipeline = Pipeline::start();
    scene.registry.put("a", "0.9.0", "a-0.9.0.tgz", b"old");
    let (code, error) = published(&scene, &pipeline);
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains("npm:b is new"), "{error:#}");
    assert!(scene.brought().is_empty());

    scene.registry.put("b", "0.9.0", "b-0.9.0.tgz", b"old");
    let (code, report) = published(&scene, &pipeline);
    assert_eq!((code, &report["published"]), (0, &json!(["npm:a", "npm:b"])), "{report:#}");
    for name in ["a", "b"] {
        let tags = scene.registry.packages()[name].tags.clone();
        assert_eq!(tags, [("latest".to_owned(), "1.0.0".to_owned())].into(), "{name}");
    }
    assert_kept_nowhere(&scene, &report);
}

#[test]
fn distributions_may_be_new() {
    let scene = Scene::python("trusted-python");
    let pipeline = Pipeline::start();
    let (code, report) = published(&scene, &pipeline);
    assert_eq!(
        (code, &report["published"]),
        (0, &json!(["python:our-a", "python:our-b"])),
        "{report:#}"
    );
    assert_eq!(scene.registry.given(), 1);
    assert_kept_nowhere(&scene, &report);
}

#[test]
fn a_pipeline_that_is_not_trusted_is_told_before_anything_is_sent() {
    let scene = Scene::python("trusted-not");
    let pipeline = Pipeline::start();
    let mut command = publish(&scene, &pipeline, &[]);
    let (code, error) = told(&command.env("PYPI_ID_TOKEN", "somebody else").output().unwrap());
    assert_eq!(code, 3, "{error:#}");
    let said = error.to_string();
    assert!(
        said.contains("gives this pipeline no token") && said.contains("is not trusted"),
        "{said}"
    );
    assert!(scene.brought().is_empty());
    // What says who one is does not travel in the clear.
    let mut command = publish(&scene, &pipeline, &[]);
    command.env("ACTIONS_ID_TOKEN_REQUEST_URL", "http://pipeline.example/identity");
    let (code, error) = told(&command.output().unwrap());
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains("in the clear"), "{error:#}");
}
