//! `tidewheel publish` of crates: to the end, whatever a registry does, and whenever it is killed.
//!
//! How each ecosystem is packed and spoken to is tested in `tidewheel-publish`.
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::net::TcpListener;

use crate::publishing::{Scene, everything, told};
use crate::registry;
use crate::registry::{Fault, Faults, RetryAfter, What};
use serde_json::{Value as Json, json};

#[test]
fn crates_go_out_in_order_and_a_second_run_finds_them_there() {
    let scene = Scene::chain("publish-plain");
    let before = scene.tree();
    let report = scene.finish();
    assert_eq!(report["published"], json!(["cargo:a", "cargo:b", "cargo:c"]));
    assert_eq!(scene.brought(), ["a", "b", "c"]);
    let last = &report["packages"][2];
    assert!(last["began_at"].as_str() <= last["seen_at"].as_str(), "{last:#}");
    assert!(last["began_at"].is_string() && last["retries"] == 0, "{last:#}");
    assert_eq!(scene.tree(), before, "the workspace is only read");
    let report = scene.finish();
    assert_eq!(
        (&report["published"], &report["done"]),
        (&json!([]), &json!(["cargo:a", "cargo:b", "cargo:c"]))
    );
    scene.registry.assert_nothing_twice();

    // Cargo itself can have them.
    let user = scene.path("user");
    std::fs::create_dir_all(user.join("src")).unwrap();
    let manifest = "[package]\nname = \"user\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\nc = { version = \"1\", registry = \"ours\" }\n";
    std::fs::write(user.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(user.join("src/lib.rs"), "").unwrap();
    let index = scene.registry.index_url();
    let output = scene
        .program(&std::env::var("CARGO").unwrap_or("cargo".to_owned()))
        .args(["fetch", "--config", &format!("registries.ours.index=\"{index}\"")])
        .env("CARGO_NET_OFFLINE", "false")
        .current_dir(&user)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    // A token is nowhere but in the requests that need it.
    let token = scene.registry.token().as_bytes().to_owned();
    for (path, content) in everything(&scene.path("data")) {
        let is_in = content.windows(token.len()).any(|part| part == token);
        assert!(!is_in, "the token is in {}", path.display());
    }
}

#[test]
fn a_plan_sends_nothing_and_its_digest_is_the_only_one_that_is_carried_out() {
    let scene = Scene::chain("publish-plan");
    let before = scene.tree();
    let output =
        scene.tidewheel(&["publish", "plan", "--no-verify", "--format", "json"]).output().unwrap();
    let (code, plan) = told(&output);
    assert_eq!((code, &plan["uploads"]), (0, &json!(3)), "{plan:#}");
    let classes: Vec<&Json> =
        plan["packages"].as_array().unwrap().iter().map(|it| &it["class"]).collect();
    assert_eq!(classes, ["new", "new", "new"]);
    assert_eq!(scene.tree(), before);
    assert!(scene.registry.requests().iter().all(|it| it.method == "GET"));
    let digest = plan["digest"].as_str().unwrap();
    let (code, error) = scene.published(&["--plan-hash", "0123"]);
    assert_eq!(code, 5, "{error}");
    assert!(scene.brought().is_empty());
    // Without a word that it may, nothing is sent where nobody can be asked.
    let output = scene.tidewheel(&["publish", "--no-verify"]).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    assert!(scene.brought().is_empty());
    let (code, _) = scene.published(&["--plan-hash", digest]);
    assert_eq!(code, 0);
}

/// What may happen to one upload.
fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("refused-before", Fault::Refused(500, "try again")),
        ("refused-after", Fault::DoneThenRefused(500)),
        ("seconds", Fault::TooMany(RetryAfter::Seconds(1))),
        ("date", Fault::TooMany(RetryAfter::Date(1))),
        ("sentence", Fault::TooMany(RetryAfter::Sentence(1))),
        ("nothing", Fault::TooMany(RetryAfter::Missing)),
        ("nonsense", Fault::TooMany(RetryAfter::Text("soon"))),
        ("cut-head", Fault::CutWhileReading(0)),
        ("cut-half", Fault::CutWhileReading(500)),
        ("cut-end", Fault::CutBeforeDoing),
        ("cut-after", Fault::CutAfterDoing),
        ("cut-answer", Fault::CutWhileAnswering),
        ("hidden", Fault::Hidden(20)),
        ("flickering", Fault::Flickering(6)),
        ("garbled", Fault::Garbled),
    ]
}

#[test]
fn whatever_happens_to_an_upload_the_same_run_finishes_and_nothing_is_sent_twice() {
    for (name, fault) in faults() {
        let scene = Scene::chain(&format!("publish-{name}"));
        scene.registry.script(Faults::none().on(What::Upload, "b", fault));
        let (code, report) = scene.published(&[]);
        assert_eq!(code, 0, "{name}: {report:#}");
        let census: Vec<String> = scene.registry.census().into_iter().map(|it| it.0).collect();
        assert_eq!(census, ["a", "b", "c"], "{name}");
        scene.registry.assert_nothing_twice();
    }
}

#[test]
fn what_comes_after_a_plus_makes_no_other_version() {
    let scene = Scene::chain("publish-plus");
    for name in ["a", "b", "c"] {
        let path = format!("{name}/Cargo.toml");
        let manifest = std::fs::read_to_string(scene.path("ws").join(&path)).unwrap();
        scene.file(&path, &manifest.replacen("\"1.0.0\"", "\"1.0.0+3.2\"", 1));
    }
    scene.commit();
    let report = scene.finish();
    assert_eq!(report["published"], json!(["cargo:a", "cargo:b", "cargo:c"]), "{report:#}");
    let report = scene.finish();
    assert_eq!(report["done"], json!(["cargo:a", "cargo:b", "cargo:c"]), "{report:#}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn dependents_wait_until_those_who_resolve_can_have_what_they_need() {
    let scene = Scene::chain("publish-gate");
    scene.registry.script(Faults::none().on(What::Upload, "a", Fault::Hidden(15)));
    scene.finish();
    let requests = scene.registry.requests();
    let is = |it: &registry::Request, what, name| {
        it.asked.what == what && it.asked.package.as_deref() == Some(name)
    };
    let b = requests.iter().position(|it| is(it, What::Upload, "b")).unwrap();
    let before = requests[..b].iter().filter(|it| is(it, What::Look, "a")).count();
    assert!(before > 15, "b was sent after {before} looks at a");
}

#[test]
fn a_version_with_another_content_blocks_what_needs_it_and_nothing_else() {
    let scene = Scene::crates(
        "publish-conflict",
        &[("a", &[]), ("b", &["a"]), ("c", &["b"]), ("d", &["a"])],
    );
    scene.registry.put("b", "1.0.0", "b-1.0.0.crate", b"something else");
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
    assert_eq!(report["published"], json!(["cargo:a", "cargo:d"]));
    let b = report["packages"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["package"] == "cargo:b")
        .unwrap();
    assert_eq!(b["code"], "conflict", "{b:#}");
    let c = report["packages"].as_array().unwrap().iter().find(|it| it["package"] == "cargo:c");
    assert_eq!(c.unwrap()["code"], "blocked", "{report:#}");
    let why = b["error"].as_str().unwrap();
    assert!(why.contains("we have sha256:") && why.contains("the registry has sha256:"), "{why}");
    assert_eq!(scene.brought(), ["a", "d"]);

    // Somebody who is quicker is found out, too.
    let scene = Scene::chain("publish-taken");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Taken));
    let (code, report) = scene.published(&[]);
    assert_eq!(code, 8, "{report:#}");
    assert_eq!(report["published"], json!(["cargo:a"]));
}

#[test]
fn a_yanked_version_is_never_sent_again() {
    let scene = Scene::chain("publish-yanked");
    scene.finish();
    scene.registry.yank("b", "1.0.0");
    let (code, report) = scene.published(&[]);
    assert_eq!(code, 8, "{report:#}");
    assert_eq!(scene.brought(), ["a", "b", "c"]);
}

#[test]
fn what_would_wait_too_long_ends_for_now_and_goes_on_later() {
    let scene = Scene::chain("publish-patience");
    let long = Fault::TooMany(RetryAfter::Seconds(3600));
    scene.registry.script(Faults::none().on(What::Upload, "b", long).always());
    let (code, report) = scene.published(&["--max-wait", "10s"]);
    assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
    assert!(report["go_on_at"].is_string());
    assert_eq!(
        (&report["published"], &report["failed"], &report["skipped"]),
        (&json!(["cargo:a"]), &json!(["cargo:b"]), &json!(["cargo:c"]))
    );
    scene.registry.script(Faults::none());
    let report = scene.finish();
    assert_eq!(
        (&report["done"], &report["published"]),
        (&json!(["cargo:a"]), &json!(["cargo:b", "cargo:c"]))
    );
    scene.registry.assert_nothing_twice();
}

#[test]
fn whoever_says_when_to_come_again_is_not_waited_for_longer_than_anybody_wants() {
    let scene = Scene::chain("publish-busy");
    let busy = Fault::Busy(RetryAfter::Seconds(3600));
    scene.registry.script(Faults::none().on(What::Upload, "b", busy));
    let (code, report) = scene.published(&["--max-wait", "5s"]);
    assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
    assert_eq!(report["packages"][1]["result"], "waiting", "{report:#}");
    assert!(report["go_on_at"].is_string(), "{report:#}");
    // Whoever plans is told at once, and waits for nobody.
    let limited = Fault::TooMany(RetryAfter::Seconds(3600));
    scene.registry.script(Faults::none().on(What::Look, "a", limited).always());
    let (code, error) = scene.published(&[]);
    assert_eq!(code, 3, "{error:#}");
    assert!(error.to_string().contains("it wants to be asked again in 3600 s"), "{error:#}");
    scene.registry.script(Faults::none());
    scene.finish();
    scene.registry.assert_nothing_twice();
}

#[test]
fn what_was_taken_and_is_not_seen_is_waited_for_by_the_next_run_and_not_sent_again() {
    let scene = Scene::chain("publish-unseen");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Hidden(40)));
    let (code, report) = scene.published(&["--visible-within", "50ms"]);
    assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
    scene.finish();
    scene.registry.assert_nothing_twice();
    assert_eq!(scene.brought(), ["a", "b", "c"]);
}

#[test]
fn each_run_looks_for_what_was_taken_for_as_long_as_the_first() {
    let scene = Scene::chain("publish-unseen-again");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Hidden(u32::MAX)));
    let looks = || {
        let is_it = |it: &registry::Request| {
            it.asked.what == What::Look && it.asked.package.as_deref() == Some("b")
        };
        scene.registry.requests().iter().filter(|it| is_it(it)).count()
    };
    let mut before = 0;
    for _ in 0..2 {
        let (code, report) = scene.published(&["--visible-within", "1s"]);
        assert_eq!((code, &report["verdict"]), (7, &"incomplete".into()), "{report:#}");
        // One for the plan, one for the report; those between are why it is run again.
        assert!(looks() > before + 6, "{} and then {}", before, looks());
        before = looks();
    }
    scene.registry.assert_nothing_twice();
}

#[test]
fn crates_come_after_those_that_they_are_tried_with() {
    let scene = Scene::crates("publish-tried-with", &[("a", &[]), ("z", &[])]);
    let manifest = std::fs::read_to_string(scene.path("ws/a/Cargo.toml")).unwrap();
    let tried =
        "[dev-dependencies]\nz = { path = \"../z\", version = \"1.0.0\", registry = \"ours\" }\n";
    scene.file("a/Cargo.toml", &format!("{manifest}{tried}"));
    scene.commit();
    scene.finish();
    assert_eq!(scene.brought(), ["z", "a"]);
}

#[test]
fn without_leave_nothing_is_sent_and_one_that_ends_is_told() {
    let scene = Scene::chain("publish-leave");
    let output = scene.publish(&[]).env_remove("CARGO_REGISTRIES_OURS_TOKEN").output().unwrap();
    let (code, error) = told(&output);
    assert_eq!(code, 3, "{error}");
    assert!(error["error"]["message"].as_str().unwrap().contains("there is no token"), "{error}");
    assert!(scene.brought().is_empty());
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Unauthorised));
    let (code, report) = scene.published(&[]);
    assert_eq!((code, &report["verdict"]), (8, &"blocked".into()), "{report:#}");
    assert_eq!(report["published"], json!(["cargo:a"]));
    let said = report.to_string();
    assert!(!said.contains(scene.registry.token()), "{said}");
    scene.finish();
}

#[test]
fn what_a_registry_refuses_is_told_in_its_words_and_not_tried_again() {
    let scene = Scene::chain("publish-refused");
    scene.registry.script(
        Faults::none().on(What::Upload, "b", Fault::Refused(422, "b is a reserved name")).always(),
    );
    // The second time it is no less refused, and not taken for something that is there and cannot be seen.
    for _ in 0..2 {
        let (code, report) = scene.published(&[]);
        assert_eq!((code, &report["verdict"]), (1, &"failed".into()), "{report:#}");
        assert!(report.to_string().contains("b is a reserved name"), "{report:#}");
        let codes: Vec<&Json> =
            report["packages"].as_array().unwrap().iter().map(|it| &it["code"]).collect();
        assert_eq!(codes, [&Json::Null, &json!("refused"), &json!("not-begun")]);
        assert_eq!(report["skipped"], json!(["cargo:c"]));
    }
}

#[test]
fn changes_that_are_not_committed_are_not_published_unless_somebody_wants_it() {
    let scene = Scene::chain("publish-dirty");
    scene.file("a/src/lib.rs", "// changed\n");
    let (code, error) = scene.published(&[]);
    assert_eq!(code, 3, "{error}");
    assert!(error.to_string().contains("a/src/lib.rs"), "{error}");
    assert!(scene.brought().is_empty());
    assert_eq!(scene.published(&["--allow-dirty"]).0, 0);
}

/// Five crates: a needs nothing, e all of the others.
fn five(name: &str) -> Scene {
    let needs: [(&str, &[&str]); 5] =
        [("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b"]), ("e", &["c", "d"])];
    Scene::crates(name, &needs)
}

#[test]
fn killed_at_any_request_and_run_again_it_ends_as_if_nothing_had_happened() {
    let whole = five("publish-whole");
    whole.finish();
    let census = whole.registry.census();
    let scene = five("publish-killed");
    let before = scene.tree();
    // Each process is killed one request later than the one before, until one of them ends by itself.
    let mut kills = 0;
    let mut step = 1;
    loop {
        let heard = scene.registry.requests_count() + step;
        let begun = scene.begin(&[]);
        let is_alive = begun.until(|requests, _| requests.len() >= heard);
        let status = if is_alive { begun.kill() } else { begun.wait() };
        assert_eq!(scene.tree(), before);
        if !is_alive {
            assert_eq!(status.code(), Some(0));
            break;
        }
        (kills, step) = (kills + 1, step + 1);
    }
    assert!(kills >= 3, "killed {kills} times");
    scene.finish();
    let contents = |it: &(String, String, String, String)| (it.0.clone(), it.1.clone());
    let ours: Vec<_> = scene.registry.census().iter().map(contents).collect();
    assert_eq!(ours, census.iter().map(contents).collect::<Vec<_>>());
    scene.registry.assert_nothing_twice();
}

#[test]
fn a_publish_is_a_run_like_any_other_and_one_that_was_left_goes_on() {
    let scene = Scene::chain("publish-run");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: true }));
    let begun = scene.begin(&[]);
    begun.until_uploading("b");
    // The second exits at once and names the first.
    let (code, error) = scene.published(&[]);
    assert_eq!(code, 5, "{error}");
    assert!(error.to_string().contains(&format!("process {}", begun.child.id())), "{error}");
    let show = |arguments: &[&str]| {
        String::from_utf8(scene.tidewheel(arguments).output().unwrap().stdout).unwrap()
    };
    assert!(show(&["runs"]).contains("publish ws"), "{}", show(&["runs"]));
    assert!(show(&["show", "last"]).contains("cargo:b"));
    begun.kill();
    let run = show(&["show", "last", "--format", "json"]);
    let run: Json = serde_json::from_str(run.lines().last().unwrap()).unwrap();
    let output = scene.tidewheel(&["publish", "resume", "--format", "json"]).output().unwrap();
    let (code, report) = told(&output);
    assert_eq!((code, &report["run_id"]), (0, &run["run_id"]), "{report:#}");
    scene.registry.assert_nothing_twice();
    let output = scene.tidewheel(&["publish", "status", "--format", "json"]).output().unwrap();
    assert_eq!(told(&output).0, 0);
    let output = scene.tidewheel(&["publish", "resume"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "nothing was left");
}

#[test]
fn a_workspace_is_one_from_whichever_of_its_folders_it_is_published() {
    let scene = Scene::chain("publish-member");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: true }));
    let begun = scene.begin(&[]);
    begun.until_uploading("b");
    let member = |arguments: &[&str]| {
        let output = scene.publish(arguments).current_dir(scene.path("ws/a")).output().unwrap();
        (told(&output), String::from_utf8(output.stderr).unwrap())
    };
    let ((code, error), _) = member(&[]);
    assert_eq!(code, 5, "{error}");
    assert!(error.to_string().contains(&format!("process {}", begun.child.id())), "{error}");
    begun.kill();
    let ((code, report), said) = member(&[]);
    assert_eq!(code, 0, "{report:#}");
    assert!(said.contains("is a part of the workspace in") && said.contains("going on with run"));
    let output = scene.tidewheel(&["publish", "status", "a", "--format", "json"]).output().unwrap();
    let (code, status) = told(&output);
    assert_eq!((code, &status["run_id"]), (0, &report["run_id"]), "{status:#}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn a_run_that_was_left_is_not_finished_from_another_commit() {
    let scene = Scene::chain("publish-moved");
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: false }));
    let begun = scene.begin(&[]);
    begun.until_uploading("b");
    begun.kill();
    // Nor from what was changed and not committed, which is shown.
    scene.file("c/src/lib.rs", "// changed\n");
    let (code, error) = scene.published(&[]);
    assert_eq!(code, 5, "{error}");
    assert!(error.to_string().contains("is changed now: M c/src/lib.rs"), "{error}");
    scene.commit();
    let (code, error) = scene.published(&[]);
    assert_eq!(code, 5, "{error}");
    assert!(error.to_string().contains("it was packed from commit"), "{error}");
    let output = scene
        .tidewheel(&["publish", "resume", "--as-started", "--format", "json"])
        .output()
        .unwrap();
    assert_eq!(told(&output).0, 0);
}

#[test]
fn what_went_out_can_be_taken_back_in_reverse_order_and_is_not_deleted() {
    let scene = Scene::chain("publish-undo");
    scene.finish();
    let undo = |arguments: &[&str]| {
        let arguments = [&["publish", "undo", "--format", "json"][..], arguments].concat();
        told(&scene.tidewheel(&arguments).output().unwrap())
    };
    let (code, shown) = undo(&[]);
    assert_eq!(
        (code, &shown[0]["package"], &shown[0]["way"]),
        (0, &"cargo:c".into(), &"yank".into()),
        "{shown:#}"
    );
    assert!(scene.registry.packages().values().all(|it| !it.versions[0].is_yanked));
    let output = scene.tidewheel(&["publish", "undo", "--yes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "those who use it are told why");
    let (code, taken) = undo(&["--yes", "--reason", "it loses data"]);
    assert_eq!(code, 0, "{taken:#}");
    assert!(scene.registry.packages().values().all(|it| it.versions[0].is_yanked));
    assert_eq!(undo(&["--yes", "--reason", "again"]).0, 0);
}

#[test]
fn nothing_but_the_registry_that_was_named_is_ever_spoken_to() {
    let scene = Scene::chain("publish-loopback");
    // Whoever would speak to anybody else would come by here.
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let mut command = scene.publish(&[]);
    for name in
        ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "CARGO_HTTP_PROXY"]
    {
        command.env(name, &address);
    }
    let output =
        command.env("no_proxy", "127.0.0.1").env("NO_PROXY", "127.0.0.1").output().unwrap();
    assert_eq!(told(&output).0, 0);
    assert!(proxy.accept().is_err(), "somebody came by the proxy");
}

#[test]
fn some_packages_go_alone_only_if_what_they_need_of_the_others_is_out() {
    let scene = Scene::chain("publish-only");
    let (code, error) = scene.published(&["--only", "b"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.to_string().contains("cargo:b needs cargo:a 1.0.0, which is not out"), "{error}");
    assert!(scene.brought().is_empty());
    let (code, error) = scene.published(&["--only", "nobody"]);
    assert_eq!(code, 3);
    assert!(error.to_string().contains("there is no package `nobody`"), "{error}");
    let (code, report) = scene.published(&["--except", "b", "--except", "c"]);
    assert_eq!((code, &report["published"]), (0, &json!(["cargo:a"])), "{report:#}");
}

#[test]
fn a_report_is_kept_for_people_and_programs() {
    let scene = Scene::chain("publish-report");
    let file = scene.path("report.md");
    let output = scene.publish(&["-o", file.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("# Published: done\n")
            && text.contains("| cargo:c | 1.0.0 | published | ours | 1 |"),
        "{text}"
    );
}

#[test]
fn the_commands_of_the_guide_do_what_it_says() {
    let scene = Scene::crates("publish-guide", &[]);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, content) in everything(&root.join("examples/publish")) {
        let name = path.strip_prefix(root.join("examples/publish")).unwrap();
        scene.file(name.to_str().unwrap(), &String::from_utf8(content).unwrap());
    }
    scene.commit();
    let guide = std::fs::read_to_string(root.join("docs/guide/publishing.md")).unwrap();
    let commands: Vec<&str> =
        guide.lines().filter_map(|line| line.strip_prefix("$ tidewheel ")).collect();
    assert_eq!(commands.len(), 9, "{commands:?}");
    for command in commands {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let output = scene.tidewheel(&arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{command}: {said}");
        assert!(said.contains("tide-core"), "{command}: {said}");
    }
    assert_eq!(scene.brought(), ["tide-core", "tide-client"]);
}

#[test]
fn waiting_for_a_registry_uses_no_retry_up_and_takes_no_place() {
    let scene = Scene::crates("publish-places", &[("a", &[]), ("b", &[]), ("c", &["a"])]);
    // The index shows `a` late, and the registry says of `b` that there were too many, more often than anything is tried.
    let limited = Fault::TooMany(RetryAfter::Seconds(0));
    let faults = Faults::none().on(What::Upload, "a", Fault::Hidden(30));
    scene.registry.script(faults.on(What::Upload, "b", limited).times(5));
    let (code, report) = scene.published(&["--concurrency", "1", "--max-retries", "0"]);
    assert_eq!(code, 0, "{report:#}");
    let requests = scene.registry.requests();
    let of = |what, name: &'static str| {
        move |it: &registry::Request| {
            it.asked.what == what && it.asked.package.as_deref() == Some(name)
        }
    };
    let b = requests.iter().position(of(What::Upload, "b")).unwrap();
    let c = requests.iter().position(of(What::Upload, "c")).unwrap();
    let looks = requests[b..c].iter().filter(|it| of(What::Look, "a")(it)).count();
    assert!(looks > 10, "b waited for a: {looks} looks after it");
    scene.registry.assert_nothing_twice();
}

/// Ends a publish whose upload of `b` is under way, and gives its exit code.
fn ended_in_upload(
    scene: &Scene,
    fault: Fault,
    end: impl Fn(u32) -> std::process::ExitStatus,
) -> Option<i32> {
    scene.registry.script(Faults::none().on(What::Upload, "b", fault));
    let begun = scene.begin(&[]);
    begun.until_uploading("b");
    assert!(end(begun.child.id()).success());
    begun.wait().code()
}

#[test]
fn cancelled_nothing_more_is_sent_what_is_under_way_is_known_and_the_next_run_finishes() {
    let scene = Scene::chain("publish-drained");
    // A first Ctrl-C lets what is under way finish.
    let interrupt = |process: u32| {
        std::process::Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap()
    };
    let slow = Fault::Slow(std::time::Duration::from_secs(10));
    assert_eq!(ended_in_upload(&scene, slow, interrupt), Some(130));
    assert_eq!(scene.brought(), ["a", "b"], "c was not begun");
    let output = scene.tidewheel(&["publish", "status"]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("run `tidewheel publish` again: it goes on where it is"), "{said}");
    let undo = scene.tidewheel(&["publish", "undo"]).output().unwrap();
    let said = String::from_utf8_lossy(&undo.stderr).into_owned();
    assert!(said.contains("`tidewheel publish` finishes what is not out; or leave it"), "{said}");
    scene.finish();
    scene.registry.assert_nothing_twice();

    let scene = Scene::chain("publish-cancelled");
    let cancel = |_: u32| scene.tidewheel(&["cancel", "last"]).status().unwrap();
    // What is never answered does not hold it up.
    let code = ended_in_upload(&scene, Fault::Silent { is_done: true }, cancel);
    assert!(code != Some(0), "{code:?}");
    assert!(!scene.brought().contains(&"c".to_owned()));
    scene.finish();
    scene.registry.assert_nothing_twice();
}

#[test]
fn without_a_network_a_plan_says_what_it_does_not_know() {
    let scene = Scene::chain("publish-offline");
    let plan = ["publish", "plan", "--offline", "--no-verify", "--format", "json"];
    let mut command = scene.tidewheel(&plan);
    let (code, plan) = told(&command.env_remove("CARGO_REGISTRIES_OURS_TOKEN").output().unwrap());
    assert_eq!(code, 0, "{plan:#}");
    let packages = plan["packages"].as_array().unwrap();
    assert!(packages.iter().all(|it| it["class"] == "unknown"), "{plan:#}");
    assert!(scene.registry.requests().is_empty());
    // Programs rely on these.
    let keys = |of: &Json| of.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(keys(&plan), "digest commit wait_s uploads packages");
    let of_package = "package version class why after registry index files";
    assert_eq!(keys(&packages[0]), of_package);
    assert_eq!(keys(&packages[0]["files"][0]), "name bytes sha256 inside");
    assert_eq!(keys(&packages[0]["files"][0]["inside"]), "files bytes odd");
}
