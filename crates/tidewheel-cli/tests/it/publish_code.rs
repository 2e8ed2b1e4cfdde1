//! One-time codes that a registry wants while `tidewheel publish` goes on: said elsewhere, handed over, and kept nowhere.
//!
//! Codes that are known beforehand, and publishes that end without one, are in `publish_follow.rs`.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::publishing::{Scene, everything, told};
use crate::registry::{Fault, Faults, What};
use serde_json::{Value as Json, json};
use tidewheel_testing::Pty;

/// A publish under way that tells what happens.
struct Going {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl Going {
    fn start(scene: &Scene) -> Self {
        let mut command = scene.publish(&["--events", "--code-within", "10m"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, said: Vec::new() }
    }

    /// Waits until a package asks for a code in these words, and gives the command that answers.
    fn until_asked(&mut self, package: &str, words: &str) -> String {
        loop {
            let line = self.lines.next().expect("it goes on").unwrap();
            let told: Json = serde_json::from_str(&line).unwrap();
            self.said.push(line);
            let why = told["event"]["why"].as_str().unwrap_or_default();
            if told["name"] == package && why.contains(words) {
                return told["event"]["answer"].as_str().unwrap().to_owned();
            }
        }
    }

    /// The exit code, and all that was said.
    fn wait(mut self) -> (Option<i32>, String) {
        self.said.extend(self.lines.by_ref().map(Result::unwrap));
        (self.child.wait().unwrap().code(), self.said.join("\n"))
    }
}

/// Says a code on standard input.
fn say(mut command: Command, code: &str) -> (i32, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that is refused may not read it.
    let _ = writeln!(child.stdin.take().unwrap(), "{code}");
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

fn wants_codes(scene: &Scene, times: u32) {
    scene.registry.script(Faults::none().on(What::Upload, "a", Fault::CodeWanted).times(times));
}

/// The codes that went with uploads of a package.
fn codes(scene: &Scene, package: &str) -> Vec<Option<String>> {
    let requests = scene.registry.requests().into_iter();
    let uploads = requests
        .filter(|it| it.asked.what == What::Upload && it.asked.package.as_deref() == Some(package));
    uploads.map(|it| it.header("npm-otp").map(str::to_owned)).collect()
}

#[test]
fn a_code_is_asked_for_handed_over_used_for_all_and_kept_nowhere() {
    let scene = Scene::npm("code-asked");
    wants_codes(&scene, 2);
    let server = scene.serve("operator");
    let mut going = Going::start(&scene);
    let answer = going.until_asked("npm:a", "asks for a one-time code");
    assert!(answer.ends_with(" 'npm:a' --code"), "{answer}");
    let approve = ["approve", "last", "npm:a", "--code"];
    // A yes alone is not enough.
    let (code, said) = say(scene.tidewheel(&["approve", "last", "npm:a"]), "");
    assert!(code == 2 && said.contains("--code"), "{code} {said}");
    let (code, said) = say(scene.tidewheel(&approve), "canary-111111");
    assert_eq!(code, 0, "{said}");
    // The registry wants another one. This time it is said on a server.
    going.until_asked("npm:a", "asks for another one-time code");
    let listed = server.tidewheel(&["show", "last", "--format", "json"]).output().unwrap();
    assert!(listed.status.success());
    let (code, said) = say(server.tidewheel(&approve), "canary-222222");
    assert_eq!(code, 0, "{said}");

    let (code, events) = going.wait();
    assert_eq!(code, Some(0), "{events}");
    let canaries = ["canary-111111", "canary-222222"].map(str::to_owned);
    let [first, second] = canaries.clone();
    assert_eq!(codes(&scene, "a"), [None, Some(first), Some(second.clone())]);
    assert_eq!(codes(&scene, "b"), [Some(second)], "it is used while it is taken");
    server.stop();
    for canary in &canaries {
        assert!(!events.contains(canary), "{events}");
        for (path, content) in everything(&scene.path("data")) {
            let is_in = content.windows(canary.len()).any(|part| part == canary.as_bytes());
            assert!(!is_in, "a code is in {}", path.display());
        }
    }
    // Nobody waits any more.
    let (code, said) = say(scene.tidewheel(&approve), "canary-333333");
    assert_ne!(code, 0, "{said}");
}

#[test]
fn whoever_has_no_code_says_so_and_it_can_be_run_again() {
    let scene = Scene::npm("code-refused");
    wants_codes(&scene, 1);
    let mut going = Going::start(&scene);
    going.until_asked("npm:a", "asks for a one-time code");
    let reject = ["approve", "last", "npm:a", "--reject", "--by", "Ada"];
    let (code, said) = say(scene.tidewheel(&reject), "");
    assert_eq!(code, 0, "{said}");
    let (code, events) = going.wait();
    assert_eq!(code, Some(8), "{events}");
    assert!(events.contains("Ada says that there is none"), "{events}");
    assert!(scene.brought().is_empty());
    assert_eq!(scene.published(&[]).1["published"], json!(["npm:a", "npm:b"]));
}

#[test]
fn killed_while_it_asks_the_next_run_asks_again() {
    let scene = Scene::npm("code-killed");
    wants_codes(&scene, 1);
    let mut going = Going::start(&scene);
    going.until_asked("npm:a", "asks for a one-time code");
    going.child.kill().unwrap();
    going.wait();
    let approve = ["approve", "last", "npm:a", "--code"];
    let (code, said) = say(scene.tidewheel(&approve), "canary-111111");
    assert!(code == 5 && said.contains("nobody waits for a one-time code"), "{code} {said}");
    let mut going = Going::start(&scene);
    going.until_asked("npm:a", "asks for a one-time code");
    assert_eq!(say(scene.tidewheel(&approve), "canary-111111").0, 0);
    let (code, events) = going.wait();
    assert_eq!(code, Some(0), "{events}");
    scene.registry.assert_nothing_twice();
}

#[test]
fn ctrl_c_at_the_question_for_a_code_ends_it() {
    let scene = Scene::npm("code-prompt");
    wants_codes(&scene, u32::MAX);
    let pty = Pty::open(120, 40);
    let mut command = scene.tidewheel(&["publish", "--yes", "--look-every", "10ms"]);
    let mut child = pty.start(command.env("TERM", "xterm-256color"));
    pty.read_until("A registry wants a one-time code");
    pty.press("\x03");
    pty.rest();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn whoever_comes_second_is_told_who_is_the_first_and_nothing_that_was_said_to_it() {
    let scene = Scene::npm("code-lock");
    scene.registry.script(Faults::none().on(What::Upload, "a", Fault::Silent { is_done: false }));
    let begun = scene.begin(&["--otp", "canary-444444"]);
    begun.until_uploading("a");
    let mut second = scene.publish(&["-o"]);
    // Not everything that is said is text.
    let report = scene.path("").join(OsStr::from_bytes(b"report-\xff.json"));
    let (code, error) = told(&second.arg(report).output().unwrap());
    let said = error.to_string();
    assert_eq!(code, 5, "{said}");
    assert!(
        said.contains("is being published by process") && said.contains(": tidewheel publish"),
        "{said}"
    );
    assert!(!said.contains("canary"), "{said}");
    for (path, content) in everything(&scene.path("data")) {
        let is_in = content.windows(6).any(|part| part == b"canary");
        assert!(!is_in, "the code is in {}", path.display());
    }
    begun.kill();
}
