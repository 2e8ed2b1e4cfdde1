//! `tidewheel publish` of packages of npm: packed by npm itself, sent to a registry on loopback.
//!
//! What holds for every ecosystem is tested with crates, in `publish_cargo.rs`, and without tools in `tidewheel-publish`.

use std::process::Command;

use crate::publishing::{Scene, told};
use crate::registry::{Fault, Faults, Protocol, What};
use serde_json::json;
use tidewheel_testing::skipped;

/// `@us/b` needs `a` by a range of the workspace. Nothing if there is no npm.
fn scene(name: &str) -> Option<Scene> {
    if Command::new("npm").arg("--version").output().is_err() {
        skipped(name, "npm is not there");
        return None;
    }
    let scene = Scene::new(name, Protocol::Npm);
    let (url, port) = (scene.registry.index_url(), scene.registry.port());
    scene.file(
        ".npmrc",
        &format!("registry={url}\n//127.0.0.1:{port}/:_authToken=${{NPM_TOKEN}}\n"),
    );
    scene.file("package.json", r#"{ "private": true, "workspaces": ["*"] }"#);
    scene.file("a/package.json", r#"{ "name": "a", "version": "1.0.0", "files": ["index.js"] }"#);
    scene.file("a/index.js", "module.exports = 1;\n");
    scene.file(
        "b/package.json",
        r#"{ "name": "@us/b", "version": "2.0.0-beta.1", "publishConfig": { "access": "public" },
        "scripts": { "prepack": "exit 1" }, "dependencies": { "a": "workspace:^" } }"#,
    );
    scene.commit();
    Some(scene)
}

#[test]
fn packages_of_npm_go_out_in_order_with_ranges_that_mean_something() {
    let Some(scene) = scene("publish-npm") else { return };
    let before = scene.tree();
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["published"]), (0, &json!(["npm:a", "npm:@us/b"])), "{report:#}");
    assert_eq!(scene.tree(), before);
    let packages = scene.registry.packages();
    let b = &packages["@us/b"];
    assert_eq!(b.versions[0].told["dependencies"]["a"], "^1.0.0");
    assert_eq!(b.tags.get("beta").map(String::as_str), Some("2.0.0-beta.1"));
    assert_eq!(b.tags.get("latest"), None, "who did not ask for it does not get it");
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["done"]), (0, &json!(["npm:a", "npm:@us/b"])), "{report:#}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn a_package_is_taken_back_by_a_word_of_warning_and_with_a_one_time_code() {
    let Some(scene) = scene("publish-npm-undo") else { return };
    let (code, report) = scene.published(&["--only", "a"]);
    assert_eq!((code, &report["published"]), (0, &json!(["npm:a"])), "{report:#}");
    let undo = ["publish", "undo", "--yes", "--reason", "it loses data", "--format", "json"];
    scene.registry.script(Faults::none().on(What::TakeBack, "a", Fault::CodeWanted));
    let wanted = [&undo[..], &["--otp", "111111"]].concat();
    assert_eq!(told(&scene.tidewheel(&wanted).output().unwrap()).0, 7);
    let requests = scene.registry.requests();
    let codes = requests.iter().filter(|it| it.asked.what == What::TakeBack);
    let codes: Vec<_> = codes.map(|it| it.header("npm-otp").map(str::to_owned)).collect();
    assert!(codes.contains(&Some("111111".to_owned())), "{codes:?}");
    let (code, taken) = told(&scene.tidewheel(&undo).output().unwrap());
    let state = (&taken[0]["package"], &taken[0]["state"]);
    assert_eq!((code, state), (0, (&json!("npm:a"), &json!("taken back"))), "{taken:#}");
    let packages = scene.registry.packages();
    assert_eq!(packages["a"].versions[0].told["deprecated"], "it loses data");
}
