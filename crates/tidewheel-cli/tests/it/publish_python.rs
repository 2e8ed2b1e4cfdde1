//! `tidewheel publish` of Python's distributions: built by their own backend, sent to a registry on loopback.
//!
//! What holds for every ecosystem is tested with crates, in `publish_cargo.rs`.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::path::Path;
use std::process::Command;

use crate::publishing::{PYTHON_BACKEND, Scene, everything, told};
use crate::registry::{Fault, Faults, RetryAfter, What};
use serde_json::{Value as Json, json};
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
fn of_a_version_with_several_files_only_those_are_sent_that_are_missing() {
    let Some(scene) = scene("publish-python-partial") else { return };
    scene.registry.script(
        Faults::none().on(What::Upload, "our-a", Fault::Refused(422, "not today")).after(1),
    );
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["verdict"]), (1, &"failed".into()), "{report:#}");
    assert_eq!(scene.registry.census().len(), 1);
    let (code, report) = scene.published(&[]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(scene.registry.census().len(), 4);
    scene.registry.assert_nothing_twice();
}

#[test]
fn what_was_taken_is_not_sent_again_while_somebody_wants_to_wait_for_it() {
    let Some(scene) = scene("publish-python-patient") else { return };
    let unseen = Fault::Hidden(u32::MAX);
    scene.registry.script(Faults::none().on(What::Upload, "our-a", unseen).always());
    assert_eq!(scene.published(&["--visible-within", "50ms"]).0, 7);
    assert_eq!(scene.brought(), ["our-a", "our-a"]);
    // It was taken forty minutes ago.
    let files = everything(&scene.path("data/publish"));
    let is_it = |path: &Path| {
        let path = path.to_string_lossy();
        path.contains("/journal/") && path.contains("our-a")
    };
    let (path, text) = files.into_iter().find(|(path, _)| is_it(path)).unwrap();
    let mut journal: Json = serde_json::from_slice(&text).unwrap();
    let since = journal["since"].as_i64().unwrap();
    journal["since"] = json!(since - 40 * 60 * 1_000_000);
    std::fs::write(path, journal.to_string()).unwrap();
    let (code, report) = scene.published(&["--visible-within", "2h", "--max-wait", "1s"]);
    assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
    assert_eq!(scene.brought(), ["our-a", "our-a"]);
}

#[test]
fn where_a_registry_gives_no_digest_files_are_fetched_and_compared() {
    let Some(scene) = scene("publish-python-bare") else { return };
    scene.registry.be_without_digests();
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["published"]), (0, &json!(["python:our-a", "python:our-b"])));
    let (code, report) = scene.published(&[]);
    assert_eq!(
        (code, &report["done"]),
        (0, &json!(["python:our-a", "python:our-b"])),
        "{report:#}"
    );
    let fetched =
        scene.registry.requests().iter().filter(|it| it.asked.what == What::Download).count();
    assert!(fetched >= 4, "{fetched} files were fetched");
    // Another content under the same name is found out.
    let Some(scene) = self::scene("publish-python-other") else { return };
    scene.registry.be_without_digests();
    scene.registry.put("our-a", "1.0", "our_a-1.0.tar.gz", b"something else");
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
    assert!(scene.brought().is_empty());
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

/// `our-b` needs a version of `our-a` that is not the one of the workspace.
fn scene_of_newer(name: &str) -> Option<Scene> {
    let scene = scene(name)?;
    let manifest = std::fs::read_to_string(scene.path("ws/b/pyproject.toml")).unwrap();
    scene.file("b/pyproject.toml", &manifest.replace("our_a>=1", "our_a>=2,<3"));
    scene.commit();
    Some(scene)
}

#[test]
fn a_need_that_nothing_will_satisfy_is_told_before_anything_is_sent() {
    let Some(scene) = scene_of_newer("publish-python-unmet") else { return };
    let (code, error) = scene.published(&[]);
    assert_eq!(code, 3, "{error:#}");
    let said = error["error"]["message"].as_str().unwrap();
    let words = "python:our-b needs python:our-a >=2,<3, and there is 1.0";
    assert!(said.contains(words) && said.contains("[needs-unpublished]"), "{said}");
    assert!(scene.brought().is_empty());
}

#[test]
fn all_that_packages_need_of_each_other_is_out_at_the_end_or_it_is_not_done() {
    let Some(scene) = scene_of_newer("publish-python-gap") else { return };
    scene.registry.put("our-a", "2.1", "our_a-2.1.tar.gz", b"newer");
    let limited = Fault::TooMany(RetryAfter::Seconds(1));
    scene.registry.script(Faults::none().on(What::Upload, "our-b", limited));
    let begun = scene.begin(&[]);
    begun.until_uploading("our-b");
    // What would do is taken back while it goes on. Every upload goes well.
    scene.registry.yank("our-a", "2.1");
    assert_eq!(begun.wait().code(), Some(8));
    let output = scene.tidewheel(&["publish", "status", "--format", "json"]).output().unwrap();
    let (code, report) = told(&output);
    assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
    let unmet = json!([{ "package": "python:our-b", "needs": "python:our-a", "range": ">=2,<3" }]);
    assert_eq!(report["unmet"], unmet, "{report:#}");
    // Another one that will do makes it whole.
    scene.registry.put("our-a", "2.2", "our_a-2.2.tar.gz", b"newest");
    let report = scene.finish();
    assert_eq!(report["unmet"], json!([]), "{report:#}");
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
