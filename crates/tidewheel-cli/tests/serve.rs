//! `tidewheel serve` as a process: what it says, how it stops, what is left when it is killed.
//!
//! What a house does is tried in `tidewheel-client`.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]

mod common;

use std::collections::BTreeMap;
use std::process::Stdio;

use common::{Heard, Scratch, read_until, stderr, wait_until};
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

#[test]
fn files_are_read_again_when_it_is_told_to() {
    let scratch = Scratch::new("serve-reload");
    flows(&scratch, &[("a.yaml", "flow: [{ name: one, run: 'true' }]\n")]);
    let server = serve(&scratch, &[]);
    flows(&scratch, &[("b.yaml", "flow: [{ name: one, run: 'true' }]\n")]);
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

/// A bounded part of the soak: several schedules, a server that is killed again and again.
#[test]
fn no_firing_is_lost_or_doubled_however_often_the_server_is_killed() {
    let scratch = Scratch::new("serve-kill");
    let text = |number: u32| {
        let period = 300 + 70 * number;
        format!(
            "schedule: {{ every: {period}ms, misfire: all, overlap: queue-all }}\n\
             flow: [{{ name: one, argv: [sh, -c, 'echo \"$1\" >> fired-{number}', x, \
             '{{{{ run.scheduled_at }}}}'] }}]\n"
        )
    };
    let files: Vec<(String, String)> =
        (0..4).map(|number| (format!("f{number}.yaml"), text(number))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    flows(&scratch, &files);
    let ran = |schedule: &str| {
        let ledger = scratch.json(&["schedule", "ledger", schedule, "--limit", "100000"]);
        ledger["firings"].as_array().unwrap().clone()
    };
    let mut wanted = 2;
    for _ in 0..5 {
        let server = serve(&scratch, &[]);
        wait_until("more firings", || (0..4).all(|it| ran(&format!("f{it}")).len() >= wanted));
        wanted += 2;
        server.signal("KILL");
        assert_eq!(server.ended().0, None);
    }
    // The last one has the time to do what is left.
    let server = serve(&scratch, &[]);
    for number in 0..4 {
        scratch.run(&["schedule", "pause", &format!("f{number}")]);
    }
    let is_quiet = || {
        let list = scratch.json(&["schedule", "list"]);
        let list = list["schedules"].as_array().unwrap().clone();
        list.iter().all(|it| it["running"] == 0 && it["waiting"] == 0 && it["state"] == "paused")
    };
    wait_until("nothing runs", is_quiet);
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
    for number in 0..4 {
        let ledger = ran(&format!("f{number}"));
        let done = scratch.read(&format!("flows/fired-{number}"));
        let mut times: BTreeMap<&str, u32> = BTreeMap::new();
        for line in done.lines() {
            *times.entry(line).or_default() += 1;
        }
        let mut nominals = Vec::new();
        for line in &ledger {
            assert_eq!(line["fate"], "ran", "{line}");
            assert_eq!(line["state"], "succeeded", "{line}");
            let nominal = line["nominal"].as_str().unwrap();
            // An attempt that died with its server is made again; the firing is the same.
            assert!(times.contains_key(nominal), "{nominal} is in the ledger, and was not done");
            nominals.push(nominal.parse::<tidewheel::Timestamp>().unwrap().as_micros());
        }
        assert_eq!(times.len(), nominals.len(), "what was done is in the ledger");
        nominals.sort_unstable();
        let period = i64::from(300 + 70 * number) * 1000;
        for pair in nominals.windows(2) {
            assert_eq!(pair[1] - pair[0], period, "no instant is missing, none comes twice");
        }
    }
}
