//! `tidewheel publish` of crates: to the end, whatever a registry does, and whenever it is killed.
//!
//! How each ecosystem is packed and spoken to, and what becomes of single uploads, is tested in `tidewheel-publish`.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

use crate::publishing::{Begun, Scene, everything, told};
use crate::registry::{Fault, Faults, What};
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
fn cancelled_nothing_more_is_sent_what_is_under_way_is_known_and_the_next_run_finishes() {
    let scene = Scene::chain("publish-drained");
    // A first Ctrl-C lets what is under way finish, and begins nothing more.
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Held));
    let mut command = scene.publish(&["--events"]);
    let mut begun = Begun::start(&scene, command.stdout(Stdio::piped()).stderr(Stdio::null()));
    begun.until_uploading("b");
    let lines = BufReader::new(begun.child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut events = lines.map(|line| serde_json::from_str::<Json>(&line).unwrap());
    let interrupt = ["-INT", &begun.child.id().to_string()];
    assert!(scene.program("kill").args(interrupt).status().unwrap().success());
    let is_left_out = |it: &Json| it["name"] == "cargo:c" && it["event"]["type"] == "step-ended";
    assert!(events.any(|it| is_left_out(&it)), "it ends without a word about c");
    scene.registry.release();
    events.for_each(drop);
    assert_eq!(begun.wait().code(), Some(130));
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
    // What is never answered does not hold it up.
    scene.registry.script(Faults::none().on(What::Upload, "b", Fault::Silent { is_done: true }));
    let begun = scene.begin(&[]);
    begun.until_uploading("b");
    assert!(scene.tidewheel(&["cancel", "last", "--grace", "0s"]).status().unwrap().success());
    let code = begun.wait().code();
    assert!(code != Some(0), "{code:?}");
    assert!(!scene.brought().contains(&"c".to_owned()));
    scene.finish();
    scene.registry.assert_nothing_twice();
}
