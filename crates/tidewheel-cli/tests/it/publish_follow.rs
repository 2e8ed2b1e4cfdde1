//! How `tidewheel publish` goes on: after kills and signals, from other commits, beside a server, and in a rehearsal.
//!
//! Tags, hooks, one-time codes and tokens are in `following.rs` of `tidewheel-publish`, uploads and faults in `uploads.rs`.

use std::fs;

use crate::publishing::{Scene, told};
use crate::registry;
use crate::registry::{Fault, Faults, What};
use serde_json::json;

fn git(scene: &Scene, arguments: &[&str]) -> String {
    let own = ["-c", "user.name=n", "-c", "user.email=e@e.example"];
    let output = scene.program("git").args(own).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A run that was killed while its upload of `b` was taken and not answered.
fn killed_in_upload(scene: &Scene, faults: Faults) {
    scene.registry.script(faults);
    let begun = scene.begin(&[]);
    begun.until_uploaded("b");
    begun.kill();
}

#[test]
fn killed_between_an_upload_and_its_answer_nothing_is_sent_twice_however_late_the_index_is() {
    let scene = Scene::chain("follow-late");
    // It is taken, its answer never comes, and the index does not show it for long.
    killed_in_upload(&scene, Faults::none().on(What::Upload, "b", Fault::Lost));
    let (code, report) = scene.published(&["--max-wait", "1s"]);
    assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
    scene.registry.assert_nothing_twice();
    // All that was noted here is lost: the registry is asked all the same.
    fs::remove_dir_all(scene.path("data")).unwrap();
    let (code, _) = scene.published(&["--max-wait", "1s"]);
    assert_eq!(code, 7);
    scene.registry.assert_nothing_twice();
    assert_eq!(scene.brought(), ["a", "b"]);
}

#[test]
fn what_was_stuck_is_known_to_whoever_goes_on_and_whoever_asks() {
    let scene = Scene::crates("follow-stuck-left", &[("a", &[]), ("b", &["a"]), ("x", &[])]);
    scene.registry.put("x", "1.0.0", "x-1.0.0.crate", b"something else");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: true }));
    let begun = scene.begin(&["--tag", "v{version}"]);
    begun.until_uploaded("b");
    begun.kill();
    let resume = ["publish", "resume", "--format", "json"];
    let (code, report) = told(&scene.tidewheel(&resume).output().unwrap());
    assert_eq!((code, &report["published"]), (8, &json!(["cargo:a", "cargo:b"])), "{report:#}");
    assert_eq!((git(&scene, &["tag"]).as_str(), &report["tags"]), ("", &json!([])));
    let status = ["publish", "status", "--format", "json"];
    let (code, status) = told(&scene.tidewheel(&status).output().unwrap());
    assert_eq!((code, &status["skipped"]), (8, &json!(["cargo:x"])), "{status:#}");
}

/// A crate gets this version, with contents of its own.
fn raise(scene: &Scene, name: &str, version: &str) {
    let path = format!("{name}/Cargo.toml");
    let manifest = fs::read_to_string(scene.path("ws").join(&path)).unwrap();
    scene.file(&path, &manifest.replacen("1.0.0", version, 1));
    scene.file(&format!("{name}/src/lib.rs"), &format!("// {version}\n"));
}

#[test]
fn packages_with_versions_of_their_own_go_out_when_they_are_changed() {
    let scene = Scene::chain("follow-own-versions");
    let tag = ["--tag", "{name}-v{version}"];
    assert_eq!(scene.published(&tag).0, 0);
    let first = git(&scene, &["rev-parse", "HEAD"]);
    raise(&scene, "b", "1.1.0");
    scene.commit();
    let plan = ["publish", "plan", "--no-verify", "--format", "json"];
    let mut command = scene.tidewheel(&plan);
    let (code, plan) = told(&command.env("CARGO_NET_OFFLINE", "false").output().unwrap());
    assert_eq!(code, 0, "{plan:#}");
    let of = |key: &str| -> Vec<String> {
        let packages = plan["packages"].as_array().unwrap().iter();
        packages.map(|it| it[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("class"), ["done", "update", "done"], "{plan:#}");
    assert_eq!(of("why")[0], "done: same contents, of another commit");
    let mut command = scene.publish(&tag);
    let (code, report) = told(&command.env("CARGO_NET_OFFLINE", "false").output().unwrap());
    assert_eq!((code, &report["published"]), (0, &json!(["cargo:b"])), "{report:#}");
    assert_eq!(report["done"], json!(["cargo:a", "cargo:c"]), "{report:#}");
    // Only what is of this commit has its tag here.
    assert_eq!(report["tags"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(git(&scene, &["tag"]), "a-v1.0.0\nb-v1.0.0\nb-v1.1.0\nc-v1.0.0");
    assert_eq!(git(&scene, &["rev-parse", "a-v1.0.0"]), first);
    assert_eq!(git(&scene, &["rev-parse", "b-v1.1.0"]), git(&scene, &["rev-parse", "HEAD"]));
    scene.registry.assert_nothing_twice();
    // Whoever builds b with its own lock file finds the a that is out, and not the one that was packed with it.
    let packages = scene.registry.packages();
    let b = scene.path("b.crate");
    fs::write(&b, &packages["b"].versions[1].files[0].bytes).unwrap();
    let unpack = ["-xzOf", b.to_str().unwrap(), "b-1.1.0/Cargo.lock"];
    let lock = scene.program("tar").args(unpack).output().unwrap().stdout;
    let lock = String::from_utf8(lock).unwrap();
    assert!(lock.contains(&packages["a"].versions[0].files[0].sha256), "{lock}");
    // What was changed and has the version that is out is a conflict, with what to do.
    scene.file("c/src/lib.rs", "// changed\n");
    scene.commit();
    let (code, report) = told(&scene.publish(&[]).output().unwrap());
    assert_eq!((code, &report["done"]), (8, &json!(["cargo:a", "cargo:b"])), "{report:#}");
    assert!(report.to_string().contains("raise the version"), "{report:#}");
}

#[test]
fn changes_that_are_expected_and_not_there_are_told() {
    let scene = Scene::crates("follow-expected", &[("a", &[])]);
    let (code, report) = scene.published(&["--from", "a", "--expect-changes"]);
    assert_eq!((code, &report["published"]), (0, &json!(["cargo:a"])), "{report:#}");
    let (code, error) = scene.published(&["--expect-changes"]);
    assert_eq!(code, 3, "{error}");
}

#[test]
fn a_code_that_is_said_beforehand_is_no_word_that_it_may_be_published() {
    let scene = Scene::npm("follow-code-asked");
    let output = scene.tidewheel(&["publish", "--otp", "123456"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("2 packages to upload"), "the plan is shown: {said}");
    assert!(said.contains("there is nobody to ask whether this may be published"), "{said}");
    assert!(scene.brought().is_empty());
}

#[test]
fn a_signal_ends_a_publish_while_registries_are_asked_what_came_of_it() {
    let scene = Scene::crates("follow-signal", &[("a", &[])]);
    let looks = |requests: &[registry::Request]| {
        requests.iter().filter(|it| it.asked.what == What::Look).count()
    };
    // One for the plan, and before and after the upload; the last is the one that is not answered.
    let silent = Fault::Silent { is_done: false };
    scene.registry.script(Faults::none().on(What::Look, "a", silent).after(3));
    let begun = scene.begin(&["--tag", "v{version}"]);
    assert!(begun.until(|requests, _| looks(requests) == 4));
    let pid = begun.child.id().to_string();
    assert!(scene.program("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(begun.wait().code(), Some(130));
    assert_eq!(git(&scene, &["tag"]), "");
    assert_eq!(scene.published(&["--tag", "v{version}"]).0, 0);
    assert_eq!(git(&scene, &["tag"]), "v1.0.0");
    scene.registry.assert_nothing_twice();
}

#[test]
fn a_server_shows_a_publish_and_says_where_it_goes_on() {
    let scene = Scene::chain("follow-server");
    killed_in_upload(&scene, Faults::none().on(What::Upload, "b", Fault::Silent { is_done: true }));
    let server = scene.serve("admin");
    let ask = |arguments: &[&str]| {
        let output = server.tidewheel(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    };
    let shown = ask(&["show", "last"]);
    assert!(shown.contains("cargo:b"), "{shown}");
    for shown in [shown, ask(&["show", "last", "--format", "json"]), ask(&["explain", "last"])] {
        assert!(!shown.contains(scene.registry.token()), "{shown}");
    }
    let refused = ask(&["resume", "last"]);
    assert!(
        refused.contains("a publish goes on where its workspace and its tokens are"),
        "{refused}"
    );
    assert!(refused.contains("run `tidewheel publish` in"), "{refused}");
    server.stop();
    assert_eq!(scene.published(&[]).0, 0);
    scene.registry.assert_nothing_twice();
}

#[test]
fn whoever_does_not_ask_registries_does_not_go_on_with_a_publish() {
    let scene = Scene::chain("follow-elsewhere");
    let refused = |arguments: &[&str]| {
        let asked = scene.registry.requests_count();
        let (code, error) = told(&scene.tidewheel(arguments).output().unwrap());
        let said = error.to_string();
        assert_eq!((code, scene.registry.requests_count()), (6, asked), "{said}");
        assert!(said.contains("run `tidewheel publish` in"), "{said}");
    };
    let not_now = Fault::Refused(422, "not now");
    scene.registry.script(Faults::none().on(What::Upload, "b", not_now));
    assert_eq!(scene.published(&[]).0, 1);
    refused(&["retry", "last", "--format", "json"]);
    killed_in_upload(&scene, Faults::none().on(What::Upload, "b", Fault::Silent { is_done: true }));
    refused(&["resume", "last", "--format", "json"]);
    refused(&["resume", "last", "--as-started", "--format", "json"]);
    scene.finish();
    scene.registry.assert_nothing_twice();
}

#[test]
fn a_rehearsal_is_a_whole_publish_that_leaves_nothing() {
    let scene = Scene::chain("follow-rehearsal");
    // The registry that would be used cannot be reached, and there is no token for it.
    scene.file(".cargo/config.toml", "[registries.ours]\nindex = \"sparse+http://127.0.0.1:9/\"\n");
    scene.file("package.json", r#"{ "private": true, "workspaces": ["n"] }"#);
    scene.file("n/package.json", r#"{ "name": "n", "version": "1.0.0" }"#);
    scene.commit();
    let before = scene.tree();
    fs::create_dir(scene.path("tmp")).unwrap();
    let output = scene
        .publish(&["--rehearse"])
        .env_remove("CARGO_REGISTRIES_OURS_TOKEN")
        .env("TMPDIR", scene.path("tmp"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let (code, report) = told(&output);
    assert_eq!(code, 0, "{report:#} {said}");
    let published = report["published"].as_array().unwrap().len();
    assert_eq!(published, 4, "{report:#}");
    assert!(said.contains("everything went out and can be resolved"), "{said}");
    assert_eq!(scene.tree(), before);
    assert_eq!(fs::read_dir(scene.path("tmp")).unwrap().count(), 0, "something is left");
    for kept in ["index", "cache", "src"] {
        let kept = fs::read_dir(scene.path("home/registry").join(kept));
        assert_eq!(kept.map_or(0, Iterator::count), 0, "cargo remembers the registry");
    }
    assert!(!scene.path("data").exists(), "a run was kept");
    assert!(scene.registry.requests().is_empty());
}
