//! What `tidewheel publish` refuses before anything is sent: each case with its code, and a registry that was brought nothing.
//!
//! Changes that are not committed, tags elsewhere and proposed changes are in `publish_cargo.rs` and `publish_follow.rs`.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::process::Command;

use crate::publishing::{Scene, told};
use crate::registry;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// It is refused with this code and these words, and nothing was brought.
#[track_caller]
fn refused(scene: &Scene, command: &mut Command, code: &str, words: &str) {
    let (exit_code, error) = told(&command.output().unwrap());
    assert_eq!(exit_code, 3, "{error:#}");
    let said = error["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains(&format!("[{code}]")) && said.contains(words), "{error:#}");
    assert!(scene.brought().is_empty());
}

fn git(scene: &Scene, arguments: &[&str]) {
    let own = ["-c", "user.name=n", "-c", "user.email=e@e.example"];
    assert!(scene.program("git").args(own).args(arguments).status().unwrap().success());
}

#[test]
fn a_commit_that_is_nobodys() {
    let scene = Scene::chain("refused-detached");
    git(&scene, &["checkout", "-q", "--detach"]);
    // A branch still has it: so pipelines check things out.
    let plan = ["publish", "plan", "--no-verify", "--format", "json"];
    assert_eq!(told(&scene.tidewheel(&plan).output().unwrap()).0, 0);
    git(&scene, &["commit", "-q", "--allow-empty", "-m", "more"]);
    refused(&scene, &mut scene.publish(&[]), "commit", "is on no branch and has no tag");
    assert_eq!(scene.published(&["--allow-detached"]).0, 0);
}

#[test]
fn a_clone_that_cannot_know_all_tags() {
    let scene = Scene::chain("refused-shallow");
    git(&scene, &["commit", "-q", "--allow-empty", "-m", "more"]);
    let (from, to) = (scene.path("ws"), scene.path("shallow"));
    let from = format!("file://{}", from.display());
    git(&scene, &["clone", "-q", "--depth", "1", &from, to.to_str().unwrap()]);
    std::fs::rename(scene.path("ws"), scene.path("whole")).unwrap();
    std::fs::rename(&to, scene.path("ws")).unwrap();
    let mut command = scene.publish(&["--tag", "{name}-v{version}"]);
    refused(&scene, &mut command, "tag", "the clone is shallow");
    assert_eq!(scene.published(&[]).0, 0, "without tags it does not matter");
}

#[test]
fn lock_files_that_were_forgotten() {
    let scene = Scene::npm("refused-npm-lock");
    let lock = r#"{ "lockfileVersion": 3, "packages": { "a": { "version": "0.9.0" }, "b": { "version": "1.0.0" } } }"#;
    scene.file("package-lock.json", lock);
    scene.commit();
    let words = "npm:a is 1.0.0, and the lock file says 0.9.0";
    refused(&scene, &mut scene.publish(&[]), "lock", words);

    let scene = Scene::python("refused-uv-lock");
    let lock = "version = 1\n[[package]]\nname = \"our-b\"\nversion = \"0.9\"\nsource = { editable = \"b\" }\n";
    scene.file("uv.lock", lock);
    scene.commit();
    let words = "python:our-b is 1.0, and the lock file says 0.9";
    refused(&scene, &mut scene.publish(&[]), "lock", words);

    let scene = Scene::chain("refused-cargo-lock");
    let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"0.9.0\"\n";
    scene.file("Cargo.lock", lock);
    scene.commit();
    refused(&scene, &mut scene.publish(&[]), "packing", "--locked");
}

/// A crate for the registry that is meant where none is named, which here is on loopback.
fn usual(name: &str, more: &str) -> Scene {
    let scene = Scene::crates(name, &[]);
    scene.file("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"a\"]\n");
    let manifest =
        format!("[package]\nname = \"a\"\nversion = \"1.0.0\"\nedition = \"2024\"\n{more}");
    scene.file("a/Cargo.toml", &manifest);
    scene.file("a/src/lib.rs", "");
    scene
}

fn publish_usual(scene: &Scene) -> Command {
    let mut command = scene.publish(&[]);
    command.env("CARGO_REGISTRIES_CRATES_IO_INDEX", scene.registry.index_url());
    command.env("CARGO_REGISTRY_TOKEN", scene.registry.token());
    command
}

#[test]
fn what_the_usual_registry_of_crates_would_not_take() {
    let scene = usual("refused-bare", "");
    scene.commit();
    let words = "cargo:a has no description and no license";
    refused(&scene, &mut publish_usual(&scene), "packing", words);

    let scene = usual("refused-large", "description = \"d\"\nlicense = \"MIT\"\n");
    // Nothing that packs makes this smaller.
    let mut seed = 1_u64;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(11 << 20).collect();
    std::fs::write(scene.path("ws/a/noise"), noise).unwrap();
    scene.commit();
    refused(&scene, &mut publish_usual(&scene), "packing", "at most 10 MiB");
}

#[test]
fn versions_that_are_not_for_everybody() {
    let scene = Scene::npm("refused-latest");
    let a = r#"{ "name": "a", "version": "1.0.0-beta.1", "publishConfig": { "tag": "latest" } }"#;
    scene.file("a/package.json", a);
    scene.commit();
    let words = "npm:a 1.0.0-beta.1 is no version to be the latest";
    refused(&scene, &mut scene.publish(&[]), "packing", words);
}

#[test]
fn what_was_not_built_before_it_was_packed() {
    let scene = Scene::npm("refused-unbuilt");
    let manifest = |config: &str| {
        format!(
            r#"{{ "name": "a", "version": "1.0.0", "main": "dist/a.js", "scripts": {{ "build": "x" }},
            "publishConfig": {{ {config} }} }}"#
        )
    };
    scene.file("a/package.json", &manifest(""));
    scene.commit();
    let words = "npm:a names `dist/a.js` as its `main`, and that is not in the package";
    refused(&scene, &mut scene.publish(&[]), "packing", words);
    let (_, error) = told(&scene.publish(&[]).output().unwrap());
    assert!(error.to_string().contains("`npm run build` before it is published"), "{error:#}");
    // A folder of which nobody knows what is in it is not packed instead.
    scene.file("a/package.json", &manifest(r#""directory": "dist""#));
    scene.file("a/dist/a.js", "");
    scene.commit();
    refused(&scene, &mut scene.publish(&[]), "packing", "`publishConfig.directory` is \"dist\"");
    // To pnpm and yarn it is a matter of what is said instead.
    scene.file("a/package.json", &manifest(r#""main": "a.js""#));
    scene.file("yarn.lock", "");
    scene.commit();
    refused(&scene, &mut scene.publish(&[]), "packing", "names `a.js` as its `main`");
    scene.file("a/a.js", "");
    scene.commit();
    scene.finish();
    assert_eq!(scene.registry.packages()["a"].versions[0].told["main"], "a.js");
}

#[test]
fn two_packages_of_one_name() {
    let scene = Scene::python("refused-twice");
    let b = std::fs::read_to_string(scene.path("ws/b/pyproject.toml")).unwrap();
    scene.file("b/pyproject.toml", &b.replace("our-b", "Our_A").replace("\"our_a>=1\"", ""));
    scene.commit();
    refused(&scene, &mut scene.publish(&[]), "duplicate", "our-a");
}

#[test]
fn tokens_that_are_none_or_not_good_enough() {
    let scene = Scene::npm("refused-npm-token");
    let mut command = scene.publish(&[]);
    refused(&scene, command.env("NPM_TOKEN", "old"), "credentials", "is not good: unauthorized");
    // Whoever knows better may say so: then the registry says it with the first upload.
    let mut command = scene.publish(&["--no-token-check"]);
    assert_eq!(told(&command.env("NPM_TOKEN", "old").output().unwrap()).0, 8);
    assert!(scene.brought().is_empty());

    let scene = Scene::npm("refused-npm-rights");
    scene.registry.put("a", "0.9.0", "a-0.9.0.tgz", b"old");
    scene.registry.be_read_only("a");
    let words = "`tester`, whose token it is, may not write npm:a";
    refused(&scene, &mut scene.publish(&[]), "credentials", words);

    let scene = Scene::chain("refused-cargo-token");
    let mut command = scene.publish(&[]);
    command.env("CARGO_REGISTRIES_OURS_TOKEN", "two\nlines");
    refused(&scene, &mut command, "credentials", "signs in it that no token has");
}

/// A token of Python's public registry, with one condition.
fn token(caveat: &str) -> String {
    let field = |kind: u8, data: &[u8]| [&[kind, data.len() as u8], data].concat();
    let parts = [
        vec![2],
        field(2, b"id"),
        vec![0],
        field(2, caveat.as_bytes()),
        vec![0, 0],
        field(6, &[7; 32]),
    ];
    format!("pypi-{}", URL_SAFE_NO_PAD.encode(parts.concat()))
}

#[test]
fn tokens_for_other_projects_or_other_times() {
    let scene = Scene::python("refused-python-token");
    let publish = |caveat: &str| {
        let mut command = scene.publish(&[]);
        command.env("UV_PUBLISH_TOKEN", token(caveat));
        command
    };
    // A new name cannot be made with it either.
    let words = "does not let python:our-b be uploaded: it is for `our-a` only";
    refused(&scene, &mut publish(r#"[1,["our-a"]]"#), "credentials", words);
    refused(&scene, &mut publish("[0,1000,500]"), "credentials", "it has expired");
    let output = scene.publish(&[]).env_remove("UV_PUBLISH_TOKEN").output().unwrap();
    let (code, error) = told(&output);
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains("there is no token for the registry"), "{error:#}");
}

#[test]
fn a_registry_that_is_not_the_one_of_the_plan() {
    let scene = Scene::chain("refused-elsewhere");
    let silent = registry::Fault::Silent { is_done: false };
    scene.registry.script(registry::Faults::none().on(registry::What::Upload, "b", silent));
    let begun = scene.begin(&[]);
    begun.until_uploading("b");
    begun.kill();
    // Somebody has put another registry under its name meanwhile.
    let other = registry::Registry::start(registry::Protocol::Cargo);
    let mut command = scene.publish(&[]);
    let output = command.env("CARGO_REGISTRIES_OURS_INDEX", other.index_url()).output().unwrap();
    let (code, report) = told(&output);
    assert_eq!(code, 8, "{report:#}");
    assert!(report.to_string().contains("it was planned to go to"), "{report:#}");
    assert!(other.uploads().is_empty());
    scene.finish();
    scene.registry.assert_nothing_twice();
}
