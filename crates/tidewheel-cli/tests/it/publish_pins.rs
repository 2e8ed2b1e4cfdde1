//! `tidewheel publish --pin-in-place`: manifests are as they were, whatever ends it.
//!
//! How files are pinned and put back is tested where that is done, in `tidewheel-publish`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use crate::publishing::{PYTHON_BACKEND, Scene, told, when_over};
use crate::registry::Protocol;
use serde_json::json;

/// Two Python packages, the second of which needs the first, and a backend that waits for ever while there is a
/// pipe `wait`.
fn scene(name: &str) -> Scene {
    let scene = Scene::new(name, Protocol::Python);
    scene.file("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"*\"]\n");
    for (name, needs) in [("a", ""), ("b", "\"Our.A[x] >= 0.5 ; python_version > '3'\"")] {
        let manifest = format!(
            "# {name}\n[project]\nname = \"our-{name}\"\nversion = \"1.0\"\ndependencies = [{needs}] # why\n\
             [build-system]\nrequires = []\nbuild-backend = \"ours\"\nbackend-path = [\".\"]\n"
        );
        scene.file(&format!("{name}/pyproject.toml"), &manifest);
        scene.file(&format!("{name}/ours.py"), &format!("{WAIT}{PYTHON_BACKEND}"));
    }
    scene.commit();
    scene
}

const WAIT: &str = "
import os
wait = os.environ.get('WAIT_FOR')
if wait and os.path.exists(wait):
    with open(wait + '.here', 'w') as here:
        here.write('h')
    open(wait).read()
";

fn publish(scene: &Scene, arguments: &[&str]) -> Command {
    let mut command = scene.publish(&["--pin-in-place"]);
    command.args(arguments).env("PYTHONDONTWRITEBYTECODE", "1").env("WAIT_FOR", scene.path("wait"));
    command
}

/// A publish whose tools are at work while manifests are pinned.
fn at_work(scene: &Scene) -> Child {
    for name in ["wait", "wait.here"] {
        assert!(Command::new("mkfifo").arg(scene.path(name)).status().unwrap().success());
    }
    let here = || fs::File::options().read(true).write(true).open(scene.path("wait.here")).unwrap();
    let (mut heard, mut over) = (here(), here());
    let child = publish(scene, &[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    when_over(&child, move || over.write_all(b"x").unwrap());
    let mut who = [0];
    heard.read_exact(&mut who).unwrap();
    assert_eq!(&who, b"h", "it has ended");
    let pinned = fs::read_to_string(scene.path("ws/b/pyproject.toml")).unwrap();
    let line = "dependencies = [\"Our.A[x]==1.0 ; python_version > '3'\"] # why\n";
    assert!(pinned.contains(line), "{pinned}");
    child
}

/// Lets whoever still waits go on, which outlives a program that is killed; nobody waits any more.
fn release(scene: &Scene) {
    let pipe = fs::File::options().read(true).write(true).open(scene.path("wait")).unwrap();
    // Who comes later finds none; who has opened it reads its end when the last writer has gone.
    fs::remove_file(scene.path("wait")).unwrap();
    drop(pipe);
}

#[test]
fn what_is_packed_in_place_is_pinned_and_manifests_are_as_they_were() {
    let scene = scene("pins-plain");
    let before = scene.tree();
    let (code, report) = told(&publish(&scene, &[]).output().unwrap());
    assert_eq!((code, &report["published"]), (0, &json!(["python:our-a", "python:our-b"])));
    assert_eq!(scene.tree(), before);
    let files = scene.registry.packages();
    let wheel = files["our-b"].versions[0].files.iter().find(|it| it.name.ends_with(".whl"));
    let inside = String::from_utf8_lossy(&wheel.unwrap().bytes).into_owned();
    assert!(inside.contains("Our.A[x]==1.0 ; python_version > '3'"), "{inside}");
}

#[test]
fn a_signal_ends_it_with_every_manifest_as_it_was() {
    for (signal, number) in [("TERM", 15), ("INT", 2)] {
        let scene = scene(&format!("pins-{signal}"));
        let before = scene.tree();
        let mut child = at_work(&scene);
        let pid = child.id().to_string();
        assert!(
            Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success()
        );
        let status = child.wait().unwrap();
        let seen = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
        assert_eq!(seen, 128 + number, "{signal}");
        assert_eq!(scene.tree(), before, "{signal}");
        assert!(scene.brought().is_empty());
    }
}

#[test]
fn killed_in_the_middle_the_next_start_puts_everything_back_first() {
    let scene = scene("pins-kill");
    let before = scene.tree();
    let mut child = at_work(&scene);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(scene.tree(), before);
    let is_staged = || {
        let mut kept = fs::read_dir(scene.path("data/publish")).unwrap();
        kept.any(|it| it.unwrap().path().join("staging").exists())
    };
    assert!(is_staged());
    release(&scene);
    // Whoever comes next may keep its data elsewhere, and may not want to publish anything.
    let output = scene
        .tidewheel(&["publish", "plan", "--offline", "--no-verify"])
        .env("TIDEWHEEL_DATA", scene.path("other-data"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("was left pinned; it is as it was again"), "{said}");
    assert_eq!(scene.tree(), before);
    let (code, report) = told(&publish(&scene, &[]).output().unwrap());
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(scene.tree(), before);
    assert!(!is_staged(), "what the dead made is gone");
}

#[test]
fn what_somebody_wrote_into_a_pinned_manifest_is_not_lost() {
    let scene = scene("pins-edit");
    let mut child = at_work(&scene);
    child.kill().unwrap();
    child.wait().unwrap();
    release(&scene);
    let edited = fs::read_to_string(scene.path("ws/b/pyproject.toml")).unwrap() + "# mine\n";
    scene.file("b/pyproject.toml", &edited);
    let (code, error) = told(&publish(&scene, &[]).output().unwrap());
    assert_eq!(code, 5, "{error}");
    assert!(error.to_string().contains("was changed while it was pinned"), "{error}");
    assert_eq!(fs::read_to_string(scene.path("ws/b/pyproject.toml")).unwrap(), edited);
    assert!(scene.brought().is_empty());
}
