//! `tidewheel publish` to registries that nobody here wrote, and their own clients that use what is there then.
//!
//! `./test` installs the registries, or says what cannot be had. What happens when they are in trouble is tested with the
//! registry for tests.

use std::process::Command;

use crate::peers::Peer;
use crate::publishing::{Scene, told};
use crate::registry::Protocol;
use crate::samples;
use crate::tools::{Scratch, succeed};
use serde_json::{Value as Json, json};
use tidewheel_testing::skipped;

/// Publishes everything, and then nothing, and takes none of it for somebody else's.
#[track_caller]
fn publish_twice(publish: impl Fn() -> Command, packages: &Json) {
    let (code, report) = told(&publish().output().unwrap());
    assert_eq!((code, &report["published"]), (0, packages), "{report:#}");
    let (code, report) = told(&publish().output().unwrap());
    assert_eq!((code, &report["published"]), (0, &json!([])), "{report:#}");
    assert_eq!(&report["done"], packages, "{report:#}");
}

#[test]
fn packages_go_to_verdaccio_and_npm_installs_them() {
    let scratch = Scratch::new("publish-verdaccio");
    let Some(peer) = Peer::verdaccio(&scratch) else {
        let test = "publish_peers::packages_go_to_verdaccio_and_npm_installs_them";
        return skipped(test, "no verdaccio");
    };
    let scene = Scene::new("verdaccio", Protocol::Npm);
    let port = peer.port;
    let settings =
        format!("registry={}/\n//127.0.0.1:{port}/:_authToken=${{NPM_TOKEN}}\n", peer.url());
    scene.file(".npmrc", &settings);
    scene.file("package.json", r#"{ "private": true, "workspaces": ["*"] }"#);
    scene.file("a/package.json", r#"{ "name": "a", "version": "1.0.0" }"#);
    scene.file("a/index.js", "module.exports = 1;\n");
    let needs =
        r#""dependencies": { "a": "workspace:^" }, "publishConfig": { "access": "public" }"#;
    scene.file("b/package.json", &format!(r#"{{ "name": "@us/b", "version": "1.0.0", {needs} }}"#));
    scene.commit();
    let publish = || {
        let mut command = scene.publish(&[]);
        command.env("NPM_TOKEN", &peer.token);
        command
    };
    publish_twice(publish, &json!(["npm:a", "npm:@us/b"]));
    samples::npm_settings(&scratch, port, &peer.token);
    scratch.file("user/package.json", r#"{ "name": "user", "version": "0.0.0" }"#);
    succeed(scratch.command("npm", "user").args(["install", "@us/b"]));
    assert!(scratch.path("user/node_modules/a/index.js").exists());
}

#[test]
fn distributions_go_to_pypiserver_and_pip_installs_them() {
    let scratch = Scratch::new("publish-pypiserver");
    let Some(peer) = Peer::pypiserver(&scratch) else {
        let test = "publish_peers::distributions_go_to_pypiserver_and_pip_installs_them";
        return skipped(test, "no pypiserver");
    };
    let scene = Scene::python("pypiserver");
    let index = format!("{}/simple/", peer.url());
    let publish = || {
        let mut command = scene.publish(&[]);
        command
            .env("UV_PUBLISH_URL", format!("{}/", peer.url()))
            .env("UV_PUBLISH_CHECK_URL", &index)
            .env_remove("UV_PUBLISH_TOKEN")
            .env("UV_PUBLISH_USERNAME", "tester")
            .env("UV_PUBLISH_PASSWORD", &peer.token);
        command
    };
    publish_twice(publish, &json!(["python:our-a", "python:our-b"]));
    succeed(&mut samples::pip(&scratch, &index, "installed", "our-b"));
    assert!(scratch.path("installed/our_a.py").exists());
}

#[test]
#[ignore = "needs kellnr, which takes long to build: ./test release"]
fn crates_go_to_kellnr_and_are_found_there() {
    let scratch = Scratch::new("publish-kellnr");
    let peer = Peer::kellnr(&scratch).expect("TIDEWHEEL_KELLNR names it");
    let scene = Scene::chain("kellnr");
    let index = format!("sparse+{}/api/v1/crates/", peer.url());
    scene.file(".cargo/config.toml", &format!("[registries.ours]\nindex = \"{index}\"\n"));
    scene.commit();
    let publish = || {
        let mut command = scene.publish(&[]);
        command.env("CARGO_REGISTRIES_OURS_TOKEN", &peer.token);
        command
    };
    publish_twice(publish, &json!(["cargo:a", "cargo:b", "cargo:c"]));
    assert!(scene.registry.requests().is_empty(), "the registry for tests was not meant");
}
