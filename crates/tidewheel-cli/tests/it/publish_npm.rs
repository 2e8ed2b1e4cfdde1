//! `tidewheel publish` of packages of npm: packed by npm itself, sent to a registry on loopback.
//!
//! What holds for every ecosystem is tested with crates, in `publish_cargo.rs`.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::process::Command;

use crate::publishing::{Scene, told};
use crate::registry::{Fault, Faults, Protocol, RetryAfter, What};
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
fn whatever_happens_to_an_upload_to_npm_it_is_finished() {
    for (name, fault) in [
        ("after", Fault::DoneThenRefused(500)),
        ("limit", Fault::TooMany(RetryAfter::Seconds(1))),
        ("cut", Fault::CutAfterDoing),
        ("hidden", Fault::Hidden(5)),
    ] {
        let Some(scene) = scene(&format!("publish-npm-{name}")) else { return };
        scene.registry.script(Faults::none().on(What::Upload, "a", fault));
        let (code, report) = scene.published(&[]);
        assert_eq!(code, 0, "{name}: {report:#}");
        scene.registry.assert_nothing_twice();
    }
}

#[test]
fn another_content_of_an_npm_package_is_a_conflict() {
    let Some(scene) = scene("publish-npm-conflict") else { return };
    scene.registry.put("a", "1.0.0", "a-1.0.0.tgz", b"something else");
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
    assert!(scene.brought().is_empty());
}

#[test]
fn a_package_of_npm_does_not_go_without_what_it_needs() {
    let Some(scene) = scene("publish-npm-alone") else { return };
    let (code, error) = scene.published(&["--only", "@us/b"]);
    assert_eq!(code, 3, "{error}");
    let said = error.to_string();
    assert!(said.contains("npm:@us/b needs npm:a 1.0.0, which is not out"), "{said}");
    assert!(scene.brought().is_empty());
}

#[test]
fn what_an_earlier_release_has_brought_out_is_not_taken_back() {
    let Some(scene) = scene("publish-npm-undo") else { return };
    scene.finish();
    let manifest = std::fs::read_to_string(scene.path("ws/b/package.json")).unwrap();
    scene.file("b/package.json", &manifest.replace("beta.1", "beta.2"));
    scene.commit();
    let report = scene.finish();
    let (done, published) = (json!(["npm:a"]), json!(["npm:@us/b"]));
    assert_eq!((&report["done"], &report["published"]), (&done, &published), "{report:#}");
    let undo = ["publish", "undo", "--yes", "--reason", "it loses data", "--format", "json"];
    scene.registry.script(Faults::none().on(What::TakeBack, "@us/b", Fault::CodeWanted));
    let wanted = [&undo[..], &["--otp", "111111"]].concat();
    assert_eq!(told(&scene.tidewheel(&wanted).output().unwrap()).0, 7);
    let requests = scene.registry.requests();
    let codes = requests.iter().filter(|it| it.asked.what == What::TakeBack);
    let codes: Vec<_> = codes.map(|it| it.header("npm-otp").map(str::to_owned)).collect();
    assert!(codes.contains(&Some("111111".to_owned())), "{codes:?}");
    let (code, taken) = told(&scene.tidewheel(&undo).output().unwrap());
    assert_eq!(code, 0, "{taken:#}");
    let states: Vec<_> =
        taken.as_array().unwrap().iter().map(|it| (&it["package"], &it["state"])).collect();
    let expected =
        [(&json!("npm:@us/b"), &json!("taken back")), (&json!("npm:a"), &json!("out before"))];
    assert_eq!(states, expected, "{taken:#}");
    let packages = scene.registry.packages();
    assert!(packages["a"].versions[0].told.get("deprecated").is_none());
    assert!(packages["@us/b"].versions[0].told.get("deprecated").is_none(), "beta.1 is earlier");
    assert_eq!(packages["@us/b"].versions[1].told["deprecated"], "it loses data");
}
