//! A bounded part of `tidewheel torture`: real faults against the real binary, and nothing is lost
//! or done twice.
//!
//! `tidewheel torture --seconds 600` goes on for longer; what it checks has tests beside its code.

#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use serde_json::Value;

use tidewheel_testing::skipped;

/// Tortures, and gives the report of a clean run.
#[track_caller]
fn torture(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_tidewheel"))
        .args(["torture", "--format", "json"])
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    for what in ["lost", "doubled", "broken"] {
        assert_eq!(report[what], 0, "{said}");
    }
    report
}

/// The scenario was played, or it says why that cannot be done here.
#[track_caller]
fn assert_played(report: &Value) {
    let scenarios = report["scenarios"].as_array().expect("a list");
    let missing = scenarios.iter().filter_map(|scenario| {
        let why = scenario["skipped"].as_str()?;
        Some(format!("{}: {why}", scenario["scenario"]))
    });
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        skipped("torture", &missing.join(", "));
    }
    for scenario in scenarios.iter().filter(|scenario| scenario["skipped"].is_null()) {
        assert!(scenario["faults"].as_u64() > Some(0), "{scenario}");
        assert!(scenario["runs"].as_u64() > Some(0), "{scenario}");
        assert!(scenario["attempts"].as_u64() > Some(0), "{scenario}");
    }
}

#[test]
fn a_kill_at_any_write_flush_or_message_loses_nothing() {
    assert_played(&torture(&["--only", "sweep", "--rounds", "25"]));
}

#[test]
fn a_kill_between_commits_loses_nothing_at_the_lower_durability() {
    assert_played(&torture(&["--only", "sweep,kill", "--rounds", "8", "--durability", "process"]));
}

#[test]
fn failing_writes_and_flushes_lose_nothing() {
    assert_played(&torture(&["--only", "errors", "--rounds", "8"]));
}

#[test]
fn random_kills_lose_nothing_and_leave_no_process() {
    let report = torture(&["--only", "kill", "--rounds", "6"]);
    assert_played(&report);
    assert!(report["faults"].as_u64() >= Some(6), "{report}");
}

#[test]
fn flows_that_are_killed_and_resumed_lose_no_output_element_or_hook() {
    let report = torture(&["--only", "flows", "--rounds", "8"]);
    assert_played(&report);
    assert!(report["faults"].as_u64() >= Some(8), "{report}");
}

#[test]
fn a_frozen_victim_keeps_its_shard_and_a_lost_spawner_loses_nothing() {
    // The second of the two rounds kills the spawner too.
    let report = torture(&["--only", "stop", "--rounds", "2"]);
    assert_played(&report);
    assert_eq!(report["faults"], 3, "{report}");
}

#[test]
fn work_of_the_dead_is_taken_in_once_whoever_else_dies() {
    let report = torture(&["--only", "taken", "--rounds", "24"]);
    assert_played(&report);
    assert!(report["faults"].as_u64() >= Some(24), "{report}");
}

#[test]
fn a_full_disk_loses_nothing_and_is_waited_for_quietly() {
    assert_played(&torture(&["--only", "full", "--rounds", "1"]));
}

#[test]
fn a_large_graph_and_a_long_queue_survive() {
    let bounds = ["--rounds", "1", "--steps", "400", "--queued", "2000"];
    let report = torture(&[&["--only", "steps,queue"][..], &bounds[..]].concat());
    assert_played(&report);
    assert!(report["attempts"].as_u64() >= Some(2_400), "{report}");
}

#[test]
fn what_does_not_belong_into_the_folder_harms_nobody() {
    assert_played(&torture(&["--only", "odd", "--rounds", "1"]));
}

#[test]
fn ignored_signals_end_nothing_and_stubborn_steps_are_ended() {
    assert_played(&torture(&["--only", "signals", "--rounds", "1"]));
}

#[test]
fn a_frozen_owner_is_said_not_to_have_heard_and_follows_later() {
    // The first of the two rounds pauses the run, the second ends it.
    assert_played(&torture(&["--only", "frozen", "--rounds", "2"]));
}
