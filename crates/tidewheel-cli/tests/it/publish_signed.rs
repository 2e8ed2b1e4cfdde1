//! Statements about where packages were built, by a signer of these tests: who gets one, once, and what follows if none is made.
//!
//! What holds for every upload is tested in `publish_npm.rs` and `publish_python.rs`.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::fs;

use crate::publishing;
use crate::publishing::Scene;
use crate::registry::{Fault, Faults, Protocol, What};
use serde_json::{Value as Json, json};

/// Packages of npm with what is in their manifests besides.
fn scene(name: &str, packages: &[(&str, &str)]) -> Scene {
    let scene = Scene::new(name, Protocol::Npm);
    let (url, port) = (scene.registry.index_url(), scene.registry.port());
    let token = "${NPM_TOKEN}";
    scene.file(".npmrc", &format!("registry={url}\n//127.0.0.1:{port}/:_authToken={token}\n"));
    scene.file("package.json", r#"{ "private": true, "workspaces": ["*"] }"#);
    for (name, more) in packages {
        let manifest = format!(r#"{{ "name": "{name}", "version": "1.0.0" {more} }}"#);
        scene.file(&format!("{name}/package.json"), &manifest);
    }
    scene.commit();
    scene
}

const REPOSITORY: &str = r#", "repository": "https://forge.example/us/all""#;

/// A signer that notes for whom it signs, and says what it signs. It has the secrets of whoever publishes.
fn signer(scene: &Scene) -> String {
    format!(
        "test -n \"$SIGNING_TOKEN\" && echo $TIDEWHEEL_PACKAGE >> {} && \
         printf '{{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\",\"of\":\"%s\"}}' $(sha256sum \"$TIDEWHEEL_FILE\" | cut -c1-64)",
        scene.path("signed").display()
    )
}

fn signed(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.path("signed")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn published(scene: &Scene, arguments: &[&str]) -> (i32, Json) {
    let mut command = scene.publish(arguments);
    publishing::told(&command.env("SIGNING_TOKEN", "s").output().unwrap())
}

fn statement(scene: &Scene, package: &str) -> Json {
    let stored = &scene.registry.packages()[package].versions[0];
    stored.told["dist"]["attestations"]["provenance"].clone()
}

#[test]
fn statements_go_with_the_packages_that_want_them_and_are_made_once() {
    let off = format!(r#"{REPOSITORY}, "publishConfig": {{ "provenance": false }}"#);
    let needs = format!(r#"{REPOSITORY}, "dependencies": {{ "a": "workspace:^" }}"#);
    let scene = scene("signed-npm", &[("a", REPOSITORY), ("b", &needs), ("c", &off)]);
    // Refused once: what was signed is not signed again.
    let refused = Fault::Refused(422, "not today");
    scene.registry.script(Faults::none().on(What::Upload, "b", refused));
    let signer = signer(&scene);
    let (code, report) = published(&scene, &["--signer", &signer]);
    assert_eq!(code, 1, "{report:#}");
    let (code, report) = published(&scene, &["--signer", &signer]);
    assert_eq!((code, &report["published"]), (0, &json!(["npm:b"])), "{report:#}");
    assert_eq!(signed(&scene), ["a", "b"]);
    let census = scene.registry.census();
    for package in ["a", "b"] {
        let file = census.iter().find(|it| it.0 == package).unwrap();
        assert_eq!(statement(&scene, package)["of"], file.3, "{package}");
    }
    assert_eq!(statement(&scene, "c"), Json::Null, "it wants none");
}

#[test]
fn one_that_cannot_be_signed_stops_itself_and_what_needs_it_and_goes_on_later() {
    let needs = format!(r#"{REPOSITORY}, "dependencies": {{ "b": "workspace:^" }}"#);
    let packages = [("a", REPOSITORY), ("b", REPOSITORY), ("c", &needs), ("d", REPOSITORY)];
    let scene = scene("signed-not", &packages);
    let open = scene.path("open");
    let conflict = "{ echo '409: an entry is there already' >&2; exit 1; }";
    let signer = format!(
        "test $TIDEWHEEL_PACKAGE != b || test -e {} || {conflict}; {}",
        open.display(),
        signer(&scene)
    );
    let (code, report) = published(&scene, &["--signer", &signer, "--max-retries", "1"]);
    assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
    assert_eq!(report["published"], json!(["npm:a", "npm:d"]), "{report:#}");
    assert_eq!((&report["failed"], &report["skipped"]), (&json!(["npm:b"]), &json!(["npm:c"])));
    assert!(report.to_string().contains("cannot be signed"), "{report:#}");
    assert!(report.to_string().contains("409: an entry is there already"), "{report:#}");
    fs::write(open, "").unwrap();
    let (code, report) = published(&scene, &["--signer", &signer]);
    assert_eq!((code, &report["published"]), (0, &json!(["npm:b", "npm:c"])), "{report:#}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn no_more_are_signed_at_once_than_may_be() {
    let names = ["a", "b", "c", "d", "e"];
    let scene = scene("signed-turns", &names.map(|name| (name, REPOSITORY)));
    // Whoever comes while another one is there fails, and is not tried again.
    let lock = scene.path("lock").display().to_string();
    let signer = format!("mkdir {lock} && sleep 0.1 && rmdir {lock} && {}", signer(&scene));
    let arguments = ["--signer", &signer, "--max-retries", "0", "--concurrency", "5"];
    let (code, report) = published(&scene, &arguments);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(signed(&scene).len(), 5);
}

#[test]
fn distributions_have_a_list_of_statements_for_each_file() {
    let scene = Scene::python("signed-python");
    let (code, report) = published(&scene, &["--signer", "printf '{\"version\":1}'"]);
    assert_eq!(code, 0, "{report:#}");
    let packages = scene.registry.packages();
    let files: Vec<_> = packages.values().flat_map(|it| &it.versions[0].files).collect();
    assert_eq!(files.len(), 4);
    assert!(files.iter().all(|it| it.told["attestations"] == r#"[{"version":1}]"#), "{files:?}");
    let (code, error) = published(
        &Scene::python("signed-nonsense"),
        &["--signer", "echo no", "--max-retries", "0"],
    );
    assert_eq!(code, 7, "{error:#}");
    assert!(error.to_string().contains("what the signer says is no JSON"), "{error:#}");
}

#[test]
fn what_cannot_be_stated_is_told_before_anything_is_sent() {
    let on = format!(r#"{REPOSITORY}, "publishConfig": {{ "provenance": true }}"#);
    let wanted = scene("signed-wanted", &[("a", &on)]);
    let (code, error) = published(&wanted, &[]);
    assert_eq!(code, 3, "{error:#}");
    let said = error["error"]["message"].as_str().unwrap();
    assert!(said.contains("[provenance]") && said.contains("nobody signs it"), "{said}");
    let nameless = scene("signed-nameless", &[("a", "")]);
    let (code, error) = published(&nameless, &["--signer", "true"]);
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains("names no repository"), "{error:#}");
    assert!(wanted.brought().is_empty() && nameless.brought().is_empty());
    assert_eq!(published(&wanted, &["--no-provenance"]).0, 0);
    assert_eq!(published(&nameless, &[]).0, 0);
}
