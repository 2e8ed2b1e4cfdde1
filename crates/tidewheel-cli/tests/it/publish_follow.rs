//! What `tidewheel publish` does around uploads: tags, hooks, one-time codes, tokens, and what it refuses before anything is
//! sent; and what a server shows of it.
//!
//! Uploads and faults themselves are tested in `publish_cargo.rs`.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::publishing::{Scene, told};
use crate::registry;
use crate::registry::{Fault, Faults, What};
use serde_json::{Value as Json, json};

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
fn a_commit_is_tagged_when_its_packages_are_out_and_a_tag_is_never_moved() {
    let scene = Scene::chain("follow-tags");
    let commit = git(&scene, &["rev-parse", "HEAD"]);
    let remote = scene.path("remote");
    git(&scene, &["init", "-q", "--bare", remote.to_str().unwrap()]);
    let refused = Fault::Refused(422, "not this one");
    scene.registry.script(Faults::none().on(What::Upload, "b", refused).always());
    let each = ["--tag", "{name}-v{version}", "--push-tags", remote.to_str().unwrap()];
    let (code, report) = scene.published(&each);
    assert_eq!(code, 1, "{report:#}");
    assert_eq!(git(&scene, &["tag"]), "a-v1.0.0", "what is out has its tag, the others have none");
    scene.registry.script(Faults::none());
    let (code, report) = scene.published(&each);
    assert_eq!(code, 0, "{report:#}");
    let states: Vec<&Json> =
        report["tags"].as_array().unwrap().iter().map(|it| &it["state"]).collect();
    assert_eq!(states, ["there", "set", "set"]);
    assert_eq!(git(&scene, &["rev-parse", "c-v1.0.0"]), commit);
    let pushed = scene.program("git").args(["--git-dir", remote.to_str().unwrap(), "tag"]).output();
    assert_eq!(
        String::from_utf8(pushed.unwrap().stdout).unwrap(),
        "a-v1.0.0\nb-v1.0.0\nc-v1.0.0\n"
    );
    // One tag for all of them, that somebody has put elsewhere.
    let scene = Scene::chain("follow-moved");
    git(&scene, &["tag", "v1.0.0"]);
    git(&scene, &["commit", "-q", "--allow-empty", "-m", "more"]);
    let (code, error) = scene.published(&["--tag", "v{version}"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.to_string().contains("the tag `v1.0.0` is at"), "{error}");
    let (code, error) = scene.published(&["--tag", "a..b"]);
    assert_eq!(code, 3, "{error}");
    assert!(scene.brought().is_empty());
}

#[test]
fn a_tag_for_all_waits_for_those_that_are_stuck() {
    let scene = Scene::chain("follow-stuck");
    scene.registry.put("b", "1.0.0", "b-1.0.0.crate", b"something else");
    let (code, report) = scene.published(&["--tag", "v{version}"]);
    assert_eq!((code, &report["published"]), (8, &json!(["cargo:a"])), "{report:#}");
    assert_eq!((git(&scene, &["tag"]).as_str(), &report["tags"]), ("", &json!([])));
    let (code, report) = scene.published(&["--tag", "{name}-v{version}"]);
    assert_eq!(code, 8, "{report:#}");
    assert_eq!(git(&scene, &["tag"]), "a-v1.0.0", "those with one of their own have it");

    let scene = Scene::npm("follow-stuck-npm");
    scene.registry.put("a", "1.0.0", "a-1.0.0.tgz", b"something else");
    scene.file("b/package.json", r#"{ "name": "b", "version": "1.0.0" }"#);
    scene.commit();
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["published"]), (8, &json!(["npm:b"])), "{report:#}");
    let tags = &scene.registry.packages()["b"].tags;
    assert!(!tags.contains_key("latest"), "{tags:?}");
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
fn a_hook_runs_once_for_each_package_that_was_uploaded() {
    let scene = Scene::chain("follow-hooks");
    scene.registry.script(Faults::none());
    assert_eq!(scene.published(&["--only", "a"]).0, 0);
    let heard = scene.path("heard");
    let token = "${CARGO_REGISTRIES_OURS_TOKEN-none}";
    let line = format!("echo $TIDEWHEEL_PACKAGE $TIDEWHEEL_VERSION {token} >> {}", heard.display());
    let fails = format!("test -e {} || exit 1; {line}", scene.path("open").display());
    let (code, report) = scene.published(&["--hook", &fails]);
    assert_eq!(code, 7, "{report:#}");
    assert!(report.to_string().contains("its hook failed"), "{report:#}");
    fs::write(scene.path("open"), "").unwrap();
    assert_eq!(scene.published(&["--hook", &fails]).0, 0);
    assert_eq!(scene.published(&["--hook", &fails]).0, 0);
    assert_eq!(fs::read_to_string(&heard).unwrap(), "b 1.0.0 none\nc 1.0.0 none\n");
}

#[test]
fn what_follows_has_what_it_needs_and_no_token_of_a_registry() {
    let scene = Scene::crates("follow-variables", &[("a", &[])]);
    let (heard, seen) = (scene.path("heard"), scene.path("seen"));
    let say = "$GH_TOKEN ${CARGO_REGISTRIES_OURS_TOKEN-none} ${MINE-none}";
    let hook = format!("echo $TIDEWHEEL_TAG {say} > {}", heard.display());
    let ssh = scene.path("ssh");
    fs::write(&ssh, format!("#!/bin/sh\necho {say} > {}\nexit 1\n", seen.display())).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let tag = ["--tag", "{name}-v{version}", "--push-tags", "ssh://remote.invalid/a"];
    let mut command = scene.publish(&[&tag[..], &["--hook", &hook]].concat());
    // A token is known by its name, and by being one.
    command.env("GH_TOKEN", "canary").env("MINE", scene.registry.token());
    let (code, report) = told(&command.env("GIT_SSH_COMMAND", &ssh).output().unwrap());
    assert_eq!((code, &report["tags"][0]["state"]), (7, &json!("failed")), "{report:#}");
    assert_eq!(fs::read_to_string(&heard).unwrap(), "a-v1.0.0 canary none none\n");
    assert_eq!(fs::read_to_string(&seen).unwrap(), "canary none none\n");
}

#[test]
fn what_is_asked_for_is_kept_to_and_proposed_changes_are_not_published() {
    let scene = Scene::chain("follow-refused");
    let output = scene.publish(&[]).env("GITHUB_EVENT_NAME", "pull_request").output().unwrap();
    let (code, error) = told(&output);
    assert_eq!(code, 3, "{error}");
    assert!(error.to_string().contains("was only proposed"), "{error}");
    assert!(scene.brought().is_empty());
    let (code, error) = scene.published(&["--from", "b"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.to_string().contains("cargo:b needs cargo:a 1.0.0, which is not out"), "{error}");
    assert_eq!(scene.published(&["--only", "a"]).0, 0);
    // What is out is looked up by cargo, in the same registry.
    let mut command = scene.publish(&["--from", "b", "--expect-changes"]);
    let (code, report) = told(&command.env("CARGO_NET_OFFLINE", "false").output().unwrap());
    assert_eq!((code, &report["published"]), (0, &json!(["cargo:b", "cargo:c"])), "{report:#}");
    let (code, error) = scene.published(&["--expect-changes"]);
    assert_eq!(code, 3, "{error}");
}

#[test]
fn what_a_crate_is_only_tried_with_may_be_out_in_any_version_that_it_asks_for() {
    let scene = Scene::crates("follow-tried", &[("a", &[]), ("z", &[])]);
    let manifest = fs::read_to_string(scene.path("ws/a/Cargo.toml")).unwrap();
    let tried =
        "[dev-dependencies]\nz = { path = \"../z\", version = \"1.0.0\", registry = \"ours\" }\n";
    scene.file("a/Cargo.toml", &format!("{manifest}{tried}"));
    scene.commit();
    let (code, error) = scene.published(&["--only", "a"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.to_string().contains("cargo:a needs cargo:z 1.0.0, which is not out"), "{error}");
    assert_eq!(scene.published(&["--only", "z"]).0, 0);
    raise(&scene, "z", "1.1.0");
    scene.commit();
    // What is out is looked up by cargo, in the same registry.
    let mut command = scene.publish(&["--only", "a"]);
    let (code, report) = told(&command.env("CARGO_NET_OFFLINE", "false").output().unwrap());
    assert_eq!((code, &report["published"]), (0, &json!(["cargo:a"])), "{report:#}");
}

#[test]
fn a_one_time_code_that_is_wanted_is_a_matter_for_somebody_and_goes_with_each_upload() {
    let scene = Scene::npm("follow-code");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::CodeWanted));
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
    assert_eq!((&report["wants_code"], &report["published"]), (&json!(true), &json!(["npm:a"])));
    let (code, report) = scene.published(&["--otp", "123456"]);
    assert_eq!(code, 0, "{report:#}");
    let requests = scene.registry.requests();
    let last = requests.iter().rfind(|it| it.asked.what == What::Upload).unwrap();
    let code = last.headers.iter().find(|(name, _)| name == "npm-otp").map(|(_, it)| it.as_str());
    assert_eq!(code, Some("123456"));
    assert!(!report.to_string().contains("123456"));
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
fn tags_of_npm_move_when_all_packages_are_out() {
    let scene = Scene::npm("follow-hold");
    scene.registry.put("a", "0.9.0", "a-0.9.0.tgz", b"old");
    let refused = Fault::Refused(422, "not this one");
    scene.registry.script(Faults::none().on(What::Upload, "b", refused).always());
    assert_eq!(scene.published(&[]).0, 1);
    let tags = |name: &str| scene.registry.packages()[name].tags.clone();
    assert_eq!(tags("a").get("latest").map(String::as_str), None, "{:?}", tags("a"));
    scene.registry.script(Faults::none());
    assert_eq!(scene.published(&[]).0, 0);
    for name in ["a", "b"] {
        assert_eq!(tags(name), [("latest".to_owned(), "1.0.0".to_owned())].into(), "{name}");
    }
}

#[test]
fn a_token_that_has_ended_is_asked_for_again_and_programs_that_give_them_are_asked() {
    let scene = Scene::chain("follow-token");
    let giver = scene.path("giver");
    let count = scene.path("count");
    let script =
        format!("#!/bin/sh\necho x >> {}\necho {}\n", count.display(), scene.registry.token());
    fs::write(&giver, script).unwrap();
    fs::set_permissions(&giver, fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = fs::read_to_string(scene.path("ws/.cargo/config.toml")).unwrap();
    config.push_str(&format!(
        "credential-provider = [\"cargo:token-from-stdout\", \"{}\"]\n",
        giver.display()
    ));
    scene.file(".cargo/config.toml", &config);
    scene.commit();
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Unauthorised));
    let mut command = scene.publish(&[]);
    let output = command.env_remove("CARGO_REGISTRIES_OURS_TOKEN").output().unwrap();
    let (code, report) = told(&output);
    // The same one again does not help: somebody has to see to it.
    assert_eq!(code, 8, "{report:#}");
    let asked = fs::read_to_string(&count).unwrap().lines().count();
    assert!(asked >= 2, "asked {asked} times");
    let mut command = scene.publish(&[]);
    let output = command.env_remove("CARGO_REGISTRIES_OURS_TOKEN").output().unwrap();
    assert_eq!(told(&output).0, 0);
}

#[test]
fn a_token_that_has_ended_when_a_registry_is_looked_at_is_asked_for_again() {
    let scene = Scene::chain("follow-token-look");
    let (giver, count) = (scene.path("giver"), scene.path("count"));
    // Whoever asks first is given one that ends soon.
    let script = format!(
        "#!/bin/sh\nif [ -e {0} ]; then echo {1}; else echo ended; fi\necho x >> {0}\n",
        count.display(),
        scene.registry.token()
    );
    fs::write(&giver, script).unwrap();
    fs::set_permissions(&giver, fs::Permissions::from_mode(0o755)).unwrap();
    let mut config = fs::read_to_string(scene.path("ws/.cargo/config.toml")).unwrap();
    let provider = format!("[\"cargo:token-from-stdout\", \"{}\"]", giver.display());
    config.push_str(&format!("credential-provider = {provider}\n"));
    scene.file(".cargo/config.toml", &config);
    scene.commit();
    // The first look is that of the plan.
    scene.registry.script(Faults::none().on(What::Look, "a", Fault::Unauthorised).after(1));
    let mut command = scene.publish(&[]);
    let output = command.env_remove("CARGO_REGISTRIES_OURS_TOKEN").output().unwrap();
    let (code, report) = told(&output);
    assert_eq!((code, &report["verdict"]), (0, &"done".into()), "{report:#}");
    // What was given then is good for all that follows.
    let requests = scene.registry.requests();
    let uploads = requests.iter().filter(|it| it.asked.what == What::Upload);
    assert_eq!(uploads.count(), 3);
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 2);
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
