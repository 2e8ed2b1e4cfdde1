//! The checker sees each kind of violation, and nothing where there is none.

use tidewheel::{RunId, TaskState};

use super::check::{Duty, Kind, Stored, StoredRun, StoredTask, Verdict, check};

const RUN: &str = "00000000-0000-0000-0000-000000000001";

fn task(index: u32, after: &[u32], attempts: u32) -> StoredTask {
    let (after, state) = (after.to_vec(), TaskState::Succeeded);
    let (name, duty) = (format!("t{index}"), Duty::Work);
    StoredTask { index, name, duty, after, state, attempts, at_most_once: false }
}

/// One run of two tasks, the second of which waits for the first and took two attempts.
fn stored() -> Stored {
    let tasks = vec![task(0, &[], 1), task(1, &[0], 2)];
    let runs = vec![StoredRun { id: RunId(1), is_live: false, tasks }];
    Stored { runs, ..Stored::default() }
}

const LEDGER: [&str; 8] = [
    "victim 9",
    "accepted work RUN",
    "start RUN 0 1 10",
    "end RUN 0 1 10",
    "start RUN 1 1 11",
    "victim 12",
    "start RUN 1 2 13",
    "end RUN 1 2 13",
];

fn verdict_of(lines: &[&str], stored: &Stored) -> Verdict {
    let text: String = lines.iter().map(|line| line.replace("RUN", RUN) + "\n").collect();
    check(&text, stored, &["work".to_owned()])
}

#[track_caller]
fn assert_finds(lines: &[&str], stored: &Stored, kind: Kind, words: &str) {
    let verdict = verdict_of(lines, stored);
    let is_found =
        verdict.violations.iter().any(|found| found.kind == kind && found.what.contains(words));
    assert!(is_found, "{words}: {:?}", verdict.violations);
}

/// The good ledger with one line more at the end.
fn and(line: &'static str) -> Vec<&'static str> {
    LEDGER.iter().copied().chain([line]).collect()
}

/// The good ledger without a line.
fn without(place: usize) -> Vec<&'static str> {
    LEDGER.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, line)| *line).collect()
}

#[test]
fn a_lost_attempt_and_its_repetition_are_fine() {
    let verdict = verdict_of(&LEDGER, &stored());
    assert_eq!(verdict.violations, []);
    assert_eq!((verdict.runs, verdict.attempts), (1, 3));
}

#[test]
fn lost_work_is_found() {
    assert_finds(&LEDGER, &Stored::default(), Kind::Lost, "is not stored");
    assert_finds(&without(1), &stored(), Kind::Lost, "was never accepted");
    let mut live = stored();
    live.runs[0].is_live = true;
    assert_finds(&LEDGER, &live, Kind::Lost, "has not ended");
    for state in [TaskState::Ready, TaskState::Running, TaskState::Failed, TaskState::Unknown] {
        let mut open = stored();
        open.runs[0].tasks[1].state = state;
        assert_finds(&LEDGER, &open, Kind::Lost, state.word());
    }
}

#[test]
fn success_without_evidence_is_found() {
    assert_finds(&LEDGER[..7], &stored(), Kind::Lost, "which did not do it");
    assert_finds(&LEDGER[..6], &stored(), Kind::Lost, "which did not do it");
}

#[test]
fn two_runs_of_one_name_are_found() {
    let other = "accepted work 00000000-0000-0000-0000-000000000002";
    assert_finds(&and(other), &stored(), Kind::Doubled, "as 2 runs");
    let mut more = stored();
    more.runs.push(StoredRun { id: RunId(2), is_live: false, tasks: Vec::new() });
    assert_finds(&LEDGER, &more, Kind::Doubled, "nobody was told");
    let stranger = "start 00000000-0000-0000-0000-000000000003 0 1 7";
    assert_finds(&and(stranger), &stored(), Kind::Doubled, "no such run");
}

#[test]
fn doubled_attempts_are_found() {
    assert_finds(&and("start RUN 1 2 99"), &stored(), Kind::Doubled, "started twice");
    assert_finds(&and("end RUN 1 1 11"), &stored(), Kind::Doubled, "attempt 1 spoke");
    assert_finds(&and("start RUN 1 3 99"), &stored(), Kind::Doubled, "2 are recorded");
}

#[test]
fn a_start_before_what_it_needs_is_found() {
    let mut early = LEDGER.to_vec();
    early.swap(3, 4);
    assert_finds(&early, &stored(), Kind::Doubled, "before task 0, which it needs, was over");
    let mut again = stored();
    again.runs[0].tasks[0].attempts = 2;
    let lines = [&LEDGER[..], &["start RUN 0 2 5", "end RUN 0 2 5"]].concat();
    assert_finds(&lines, &again, Kind::Doubled, "before task 0, which it needs, was over");
}

#[test]
fn a_second_start_of_what_may_run_once_is_found() {
    let mut once = stored();
    once.runs[0].tasks[1].at_most_once = true;
    assert_finds(&LEDGER, &once, Kind::Doubled, "may run at most once");
    // Once and then unknown is what it should be.
    once.runs[0].tasks[1].state = TaskState::Unknown;
    once.runs[0].tasks[1].attempts = 1;
    assert_eq!(verdict_of(&LEDGER[..6], &once).violations, []);
}

#[test]
fn everything_else_is_found() {
    assert_finds(&and("nonsense"), &stored(), Kind::Broken, "makes no sense");
    assert_finds(&and("start RUN 1 2"), &stored(), Kind::Broken, "makes no sense");
    assert_finds(&without(2), &stored(), Kind::Broken, "ended without a start");
    let left = Stored { left: vec!["77 sh".to_owned()], ..stored() };
    assert_finds(&LEDGER, &left, Kind::Broken, "77 sh");
    let findings = Stored { findings: vec!["row 3 missing".to_owned()], ..stored() };
    assert_finds(&LEDGER, &findings, Kind::Broken, "row 3 missing");
}
