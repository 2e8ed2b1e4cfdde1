//! Rehearsals of packages that need what others have published: it is looked up where it is, and nothing is sent there.
//!
//! A rehearsal of packages that need each other alone is in `publish_follow.rs`.

use std::fs;
use std::process::Command;

use crate::publishing::{Scene, told};
use crate::registry::{Request, What};
use serde_json::json;
use tidewheel_testing::skipped;

/// Rehearses, and gives what the registry was asked that settings name.
#[track_caller]
fn rehearse(scene: &Scene, packages: &[&str]) -> Vec<Request> {
    let before = scene.tree();
    let output = scene
        .publish(&["--rehearse"])
        .env("CARGO_NET_OFFLINE", "false")
        .env_remove("CARGO_REGISTRIES_OURS_TOKEN")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (code, report) = told(&output);
    assert_eq!((code, &report["published"]), (0, &json!(packages)), "{report:#} {said}");
    assert!(said.contains("everything went out and can be resolved"), "{said}");
    assert_eq!(scene.tree(), before);
    let requests = scene.registry.requests();
    let sent = requests.iter().find(|it| it.method != "GET");
    assert!(sent.is_none(), "{sent:?}");
    requests
}

fn is_look(it: &Request, package: &str) -> bool {
    it.asked.what == What::Look && it.asked.package.as_deref() == Some(package)
}

#[test]
fn crates_that_need_another_one_of_their_registry_are_rehearsed() {
    let scene = Scene::chain("rehearsed-cargo");
    scene.registry.put("outside", "1.2.0", "outside-1.2.0.crate", b"\x1f\x8bsomething");
    let path = "a/Cargo.toml";
    let manifest = fs::read_to_string(scene.path("ws").join(path)).unwrap();
    scene.file(path, &format!("{manifest}outside = {{ version = \"1\", registry = \"ours\" }}\n"));
    // What is locked stays so.
    let cargo = std::env::var("CARGO").unwrap_or("cargo".to_owned());
    let mut lock = scene.program(&cargo);
    let lock = lock.arg("generate-lockfile").env("CARGO_NET_OFFLINE", "false");
    assert!(lock.output().unwrap().status.success());
    scene.commit();
    let requests = rehearse(&scene, &["cargo:a", "cargo:b", "cargo:c"]);
    assert!(requests.iter().any(|it| is_look(it, "outside")));
}

#[test]
fn crates_for_the_usual_registry_are_rehearsed_with_each_other() {
    let scene = Scene::chain("rehearsed-usual");
    for name in ["a", "b", "c"] {
        let path = format!("{name}/Cargo.toml");
        let manifest = fs::read_to_string(scene.path("ws").join(&path)).unwrap();
        let manifest = manifest.replace("publish = [\"ours\"]\n", "");
        scene.file(&path, &manifest.replace(", registry = \"ours\"", ""));
    }
    scene.commit();
    // The usual registry is nobody's of this machine: what cargo needs of it is not asked for.
    let output = scene.publish(&["--rehearse"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (code, report) = told(&output);
    assert_eq!(code, 0, "{report:#} {said}");
    assert!(said.contains("everything went out and can be resolved"), "{said}");
}

#[test]
fn packages_of_npm_that_need_another_one_are_rehearsed() {
    let scene = Scene::npm("rehearsed-npm");
    if Command::new("npm").arg("--version").output().is_err() {
        return skipped("publish_rehearsed::npm", "npm is not there");
    }
    scene.registry.put("outside", "1.2.0", "outside-1.2.0.tgz", b"\x1f\x8bsomething");
    // Who reads is known by what the settings say, here as everywhere.
    scene.registry.be_private();
    let a = r#"{ "name": "a", "version": "1.0.0", "dependencies": { "outside": "^1.0.0" } }"#;
    scene.file("a/package.json", a);
    scene.commit();
    let requests = rehearse(&scene, &["npm:a", "npm:b"]);
    let look = requests.iter().find(|it| is_look(it, "outside")).unwrap();
    assert_eq!(look.status, Some(200));
}

/// A wheel with nothing in it but what it is.
const WHEEL: &str = "
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    info = 'outside-1.2.dist-info'
    wheel.writestr('outside.py', '')
    wheel.writestr(f'{info}/METADATA', 'Metadata-Version: 2.1\\nName: outside\\nVersion: 1.2\\n')
    wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(f'{info}/RECORD', '')
";

#[test]
fn distributions_that_need_another_one_are_rehearsed() {
    let scene = Scene::python("rehearsed-python");
    let has = |arguments: &[&str]| {
        let output = Command::new("python3").args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !has(&["-c", "import tomllib"]) || !has(&["-m", "pip", "--version"]) {
        return skipped("publish_rehearsed::python", "python3 with tomllib and pip is not there");
    }
    let name = "outside-1.2-py3-none-any.whl";
    let wheel = scene.path(name);
    assert!(has(&["-c", WHEEL, wheel.to_str().unwrap()]));
    scene.registry.put("outside", "1.2", name, &fs::read(wheel).unwrap());
    let manifest = fs::read_to_string(scene.path("ws/a/pyproject.toml")).unwrap();
    let manifest = manifest.replace("dependencies = []", "dependencies = [\"outside>=1\"]");
    scene.file("a/pyproject.toml", &manifest);
    scene.commit();
    let requests = rehearse(&scene, &["python:our-a", "python:our-b"]);
    assert!(requests.iter().any(|it| is_look(it, "outside")));
}
