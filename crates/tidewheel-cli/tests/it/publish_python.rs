//! `tidewheel publish` of Python's distributions: built by their own backend, sent to a registry on loopback.
//!
//! What holds for every ecosystem is tested with crates, in `publish_cargo.rs`.

use std::process::Command;

use crate::publishing::{PYTHON_BACKEND, Scene, told};
use serde_json::json;
use tidewheel_testing::skipped;

/// `our-b` needs `our-a`. Nothing if there is no Python that can read its own manifests.
fn scene(name: &str) -> Option<Scene> {
    let has_tomllib = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !has_tomllib.is_ok_and(|output| output.status.success()) {
        skipped(name, "python3 with tomllib is not there");
        return None;
    }
    Some(Scene::python(name))
}

#[test]
fn distributions_go_out_with_all_their_files() {
    let Some(scene) = scene("publish-python") else { return };
    let before = scene.tree();
    let (code, report) = scene.published(&[]);
    assert_eq!(
        (code, &report["published"]),
        (0, &json!(["python:our-a", "python:our-b"])),
        "{report:#}"
    );
    assert_eq!(scene.tree(), before);
    let files: Vec<String> = scene.registry.census().into_iter().map(|it| it.2).collect();
    assert_eq!(
        files,
        [
            "our_a-1.0-py3-none-any.whl",
            "our_a-1.0.tar.gz",
            "our_b-1.0-py3-none-any.whl",
            "our_b-1.0.tar.gz"
        ]
    );
    // What was packed is kept: files that differ each time they are built are still the same.
    let (code, report) = scene.published(&[]);
    assert_eq!(
        (code, &report["done"]),
        (0, &json!(["python:our-a", "python:our-b"])),
        "{report:#}"
    );
    scene.registry.assert_nothing_twice();
}

#[test]
fn what_was_packed_alone_is_not_packed_again_with_the_others() {
    let Some(scene) = scene("publish-python-alone") else { return };
    // Built again it is another file each time.
    let backend = PYTHON_BACKEND.replace("RECORD', '')", "RECORD', os.urandom(8).hex())");
    assert_ne!(backend, PYTHON_BACKEND);
    scene.file("a/ours.py", &backend);
    scene.file("b/ours.py", &backend);
    scene.commit();
    let (code, report) = scene.published(&["--only", "our-a"]);
    assert_eq!((code, &report["published"]), (0, &json!(["python:our-a"])), "{report:#}");
    let report = scene.finish();
    let (done, published) = (json!(["python:our-a"]), json!(["python:our-b"]));
    assert_eq!((&report["done"], &report["published"]), (&done, &published), "{report:#}");
    // Nor is it forgotten while others go alone.
    let (code, report) = scene.published(&["--only", "our-b"]);
    assert_eq!((code, &report["done"]), (0, &published), "{report:#}");
    let report = scene.finish();
    assert_eq!(report["done"], json!(["python:our-a", "python:our-b"]), "{report:#}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn the_code_of_packages_sees_no_token_when_it_is_built() {
    let Some(scene) = scene("python-curious") else { return };
    // It has a reason to be curious.
    let seen = scene.path("seen");
    let curious = format!(
        "{PYTHON_BACKEND}\nwith open({seen:?}, 'a') as file: file.write(repr(dict(os.environ)))\n"
    );
    scene.file("a/ours.py", &curious);
    scene.commit();
    let mut command = scene.publish(&[]);
    let canaries =
        [("NPM_TOKEN", "canary-1"), ("TWINE_PASSWORD", "canary-2"), ("MY_API_KEY", "canary-3")];
    let output = command.envs(canaries).output().unwrap();
    assert_eq!(told(&output).0, 0);
    let seen = std::fs::read_to_string(&seen).unwrap();
    assert!(seen.contains("PATH"), "{seen}");
    assert!(!seen.contains(scene.registry.token()) && !seen.contains("canary"), "{seen}");
}
