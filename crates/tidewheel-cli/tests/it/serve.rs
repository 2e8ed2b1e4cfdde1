//! `tidewheel serve` as a process: what it says, how it stops, what is left when it is killed.
//!
//! What a house does is tried in `tidewheel-client`.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Heard, Scratch, read_until, stderr, stdout, wait_until};
use serde_json::Value;

/// Starts a server on the folder `flows`, and waits until it serves.
fn serve(scratch: &Scratch, more: &[&str]) -> Heard {
    let mut arguments = vec!["serve", "--flows", "flows", "--listen", "off"];
    arguments.extend(more);
    let running = scratch.start_heard(&arguments);
    running.wait_for("listening on no port");
    running
}

fn flows(scratch: &Scratch, files: &[(&str, &str)]) {
    std::fs::create_dir_all(scratch.path("flows")).unwrap();
    for (name, text) in files {
        scratch.file(&format!("flows/{name}"), text);
    }
}

const TICK: &str = "schedule: { every: 100ms }\nflow: [{ name: one, run: 'echo x >> ticks' }]\n";

#[test]
fn schedules_fire_while_it_is_there_and_it_stops_when_it_is_told_to() {
    let scratch = Scratch::new("serve");
    flows(&scratch, &[("tick.yaml", TICK), ("odd.yaml", "flow: [{ name: one, rum: x }]\n")]);
    let server = serve(&scratch, &[]);
    let has_run = |count: usize| {
        let runs = scratch.json(&["runs", "--flow", "tick", "--state", "succeeded"]);
        runs["runs"].as_array().unwrap().len() >= count
    };
    wait_until("two runs", || has_run(2));
    // Nobody else may serve the folder meanwhile.
    let second = scratch.run(&["serve", "--flows", "flows", "--listen", "off"]);
    assert_eq!(second.status.code(), Some(5), "{}", stderr(&second));
    server.signal("TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("flows/odd.yaml cannot be run: it is not served"), "{said}");
    assert!(said.contains("flows/odd.yaml:1:21: "), "{said}");
    assert!(said.contains("serving 1 flow with 1 schedule, 16 slots"), "{said}");
    assert!(said.contains("schedule tick fired for "), "{said}");
    assert!(said.contains("stopped"), "{said}");
    // Without a server it is still known what was.
    let schedules = scratch.json(&["schedule", "list"]);
    assert_eq!(schedules["schedules"][0]["state"], "idle");
}

#[test]
fn a_step_that_is_stopped_with_the_server_is_done_again_by_the_next() {
    let scratch = Scratch::new("serve-stop");
    let text = "flow:\n  - { name: first, run: 'echo x >> first' }\n  \
                - { name: second, needs: first, run: 'echo x >> second; test -e go || sleep 600' }\n";
    let text = text.replace("needs:", "depends_on:");
    let file = scratch.file("once.yaml", &text);
    let server = scratch.start_heard(&["serve", &file, "--grace", "0s", "--listen", "off"]);
    scratch.wait_for("second");
    server.signal("TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    scratch.file("go", "");
    flows(&scratch, &[]);
    // The run is that of the folder, whoever serves it.
    let server = serve(&scratch, &[]);
    let state = || scratch.json(&["runs"])["runs"][0]["state"].clone();
    wait_until("it goes on", || state() == "succeeded");
    assert_eq!(scratch.read("first"), "x\n");
    assert_eq!(scratch.read("second"), "x\nx\n");
    server.signal("INT");
    assert_eq!(server.ended().0, Some(0));
}

/// Whoever could read its memory, or what is left of it after a crash, had the secrets of all flows.
#[test]
fn a_server_that_crashes_leaves_nothing_of_its_memory() {
    let scratch = Scratch::new("serve-crash");
    flows(&scratch, &[("a.yaml", "flow: [{ name: one, run: 'true' }]\n")]);
    let serve = "ulimit -c unlimited 2> none; exec \"$0\" serve --flows flows --listen off";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", serve]).arg(env!("CARGO_BIN_EXE_tidewheel"));
    command.current_dir(scratch.path("")).env_clear().env("TIDEWHEEL_DATA", scratch.path("data"));
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    read_until(child.stderr.as_mut().unwrap(), "listening on no port");
    // What belongs to nobody but root is what others of the same user may not read.
    let owner = |pid: u32| std::fs::metadata(format!("/proc/{pid}/maps")).unwrap().uid();
    assert_eq!(owner(child.id()), 0);
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::ABORT).unwrap();
    let status = child.wait().unwrap();
    assert_eq!((status.signal(), status.core_dumped()), (Some(6), false));
}

#[test]
fn files_are_read_again_when_it_is_told_to() {
    let scratch = Scratch::new("serve-reload");
    flows(&scratch, &[("a.yaml", "flow: [{ name: one, run: 'true' }]\n")]);
    let server = serve(&scratch, &[]);
    flows(&scratch, &[("b.yaml", "flow: [{ name: one, run: 'true' }]\n")]);
    // Who means somebody else, or has closed what it writes to, does not end it.
    for harmless in ["USR1", "USR2", "PIPE"] {
        server.signal(harmless);
    }
    server.signal("HUP");
    server.wait_for("b: a new version is in force");
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
}

#[test]
fn what_happens_is_told_to_programs_line_by_line() {
    let scratch = Scratch::new("serve-json");
    let file = scratch.file("once.yaml", "flow: [{ name: one, run: 'true' }]\n");
    let mut command = scratch.command(&["serve", &file, "--format", "json", "--listen", "off"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let text = read_until(child.stdout.as_mut().unwrap(), "run-ended");
    let _ = child.kill();
    let _ = child.wait();
    let whats: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|happened| happened["what"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(&whats[..2], ["run-accepted", "step-started"], "{text}");
}

/// The commands of the page, one after the other.
#[test]
fn from_crontab_to_a_run_in_five_minutes() {
    let scratch = Scratch::new("from-crontab");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/guide/from-crontab.md")).unwrap();
    let crontab = page.split("<!-- crontab -->\n```text\n").nth(1).unwrap().split("```").next();
    scratch.file("my.crontab", crontab.unwrap());
    std::fs::create_dir_all(scratch.path("bin")).unwrap();
    for name in ["backup", "check-disk"] {
        let path = scratch.file(&format!("bin/{name}"), "#!/bin/sh\necho \"$0 $*\" >> done.txt\n");
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut server = None;
    let mut ran = Vec::new();
    for command in page.lines().filter_map(|line| line.strip_prefix("$ tidewheel ")) {
        let words: Vec<&str> = command.trim_end_matches(" &").split(' ').collect();
        if command.ends_with(" &") {
            let words = [&words[..], &["--listen", "off"]].concat();
            let started = scratch.start_heard_at_home(&words);
            started.wait_for("listening on no port");
            server = Some(started);
            continue;
        }
        let output = scratch.command(&words).env("HOME", scratch.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
        ran.push((command.to_owned(), stdout(&output)));
        if command == "schedule run backup" {
            let state = || scratch.json(&["runs"])["runs"][0]["state"].clone();
            wait_until("it has run", || state() == "succeeded");
        }
    }
    assert_eq!(ran.len(), 8);
    let printed = |command: &str| &ran.iter().find(|(it, _)| it == command).unwrap().1;
    assert!(printed("schedule list").contains("30 2 * * *"), "{}", printed("schedule list"));
    assert!(printed("schedule next backup").lines().count() > 5);
    let ledger = printed("schedule ledger backup");
    assert!(ledger.contains("by-hand") && ledger.contains("succeeded"), "{ledger}");
    assert!(scratch.read("done.txt").ends_with("bin/backup --all\n"));
    let server = server.unwrap();
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
}
