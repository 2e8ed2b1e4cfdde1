//! Frames and logs of whole runs, as people see them.
//!
//! The parts have their own tests beside them.

use std::time::Duration;

use serde_json::json;
use tidewheel_client::progress::{EndState, Event, StepInfo};
use tidewheel_client::text;

use super::eta::eta;
use super::line::{ASCII, UNICODE};
use super::look::Look;
use super::model::Model;
use super::plain::{Level, Plain};
use super::summary::summary;
use super::view::{Canvas, page, view};
use crate::keys::Action;
use crate::theme::Theme;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn step(name: &str, expected: u64, after: &[usize]) -> StepInfo {
    let expected = (expected > 0).then_some(s(expected));
    let after = after.to_vec();
    StepInfo { name: name.to_owned(), expected, after, attempts_max: Some(3), element: None }
}

fn started(step: usize, attempt: u32) -> Event {
    Event::StepStarted { step, attempt }
}

fn waiting(step: usize, why: &str) -> Event {
    Event::StepWaiting { step, why: why.to_owned(), answer: None }
}

fn ended(step: usize, state: EndState) -> Event {
    let (reason, error, tail, is_tolerated) = (None, None, Vec::new(), false);
    Event::StepEnded { step, state, reason, error, tail, is_tolerated, is_late: false }
}

fn failed(step: usize, lines: usize) -> Event {
    let tail =
        (1..=lines).map(|line| format!("\x1b[31mline {line}\x1b[0m of the output")).collect();
    let error = Some("exit code 1".to_owned());
    let (state, reason, is_tolerated) = (EndState::Failed, None, false);
    Event::StepEnded { step, state, reason, error, tail, is_tolerated, is_late: false }
}

/// What happens in a run in which something of everything happens.
fn story() -> Vec<(Duration, Event)> {
    let steps = vec![
        step("fetch", 2, &[]),
        step("parse", 10, &[0]),
        step("check 東京", 5, &[0]),
        step("load", 60, &[1, 2]),
        step("archive-the-old-tables", 0, &[0]),
        step("optional", 0, &[]),
        step("report", 90, &[1, 2, 3, 4]),
        step("gpu", 3, &[]),
    ];
    let run_id = "019a2b3c-4d5e-7f60-8123-456789abcdef".to_owned();
    let skipped = Event::StepEnded {
        step: 5,
        state: EndState::Skipped,
        reason: Some("`when` is false".to_owned()),
        error: None,
        tail: Vec::new(),
        is_tolerated: false,
        is_late: false,
    };
    let retrying =
        Event::StepRetrying { step: 2, attempt: 1, at: s(9), error: "exit code 1".to_owned() };
    vec![
        (s(0), Event::RunStarted { run_id, flow: "nightly".to_owned(), steps }),
        (s(0), started(0, 1)),
        (s(0), skipped),
        (s(0), waiting(7, "waits for limit `gpu` (1 of 1)")),
        (ms(2_120), ended(0, EndState::Succeeded)),
        (ms(2_120), started(1, 1)),
        (ms(2_120), started(2, 1)),
        (ms(2_120), started(4, 2)),
        (s(4), Event::StepOutput { step: 1, line: "read 10 rows".to_owned() }),
        (s(5), retrying),
        (ms(5_500), failed(4, 7)),
    ]
}

fn told(events: Vec<(Duration, Event)>) -> Model {
    let mut model = Model::default();
    for (now, event) in events {
        model.update(now, event);
    }
    model
}

fn canvas(width: usize, height: usize, now: Duration) -> Canvas {
    Canvas { width, height, now, eta: None, has_keys: true, signs: &UNICODE }
}

/// The frame as text, after checking that it fits.
fn frame(model: &Model, canvas: Canvas) -> Vec<String> {
    let lines = view(model, &canvas);
    assert!(lines.len() <= canvas.height, "{} lines in {canvas:?}", lines.len());
    for line in &lines {
        assert!(line.width() <= canvas.width, "{:?} in {canvas:?}", line.text());
        assert!(text::columns(&line.text()) <= line.width());
    }
    lines.iter().map(super::line::Line::text).collect()
}

fn wide(steps: usize) -> Model {
    let steps = (0..steps).map(|index| {
        let after = if index < 4 { Vec::new() } else { vec![index - 4] };
        step(&format!("step-{index}"), 10, &after)
    });
    let (run_id, flow, steps) = ("id".to_owned(), "wide".to_owned(), steps.collect());
    told(vec![(s(0), Event::RunStarted { run_id, flow, steps })])
}

#[test]
fn a_run_at_80_columns() {
    let model = told(story());
    let canvas = Canvas { eta: eta(&model, 4, s(6)), ..canvas(80, 23, s(6)) };
    let expected = [
        " nightly  019a2b3c-4d5e  running  6 s",
        "",
        " ✓ fetch                   succeeded   2.1 s",
        " ⠋ parse                   running       3 s  of about 10 s",
        " ↻ check 東京              delayed            retry in 3 s: exit code 1, attemp…",
        " · load                    blocked    ~1m00s  waits for parse, check 東京",
        " ✗ archive-the-old-tables  failed      3.4 s  exit code 1, attempt 2 of 3",
        "   │ line 3 of the output",
        "   │ line 4 of the output",
        "   │ line 5 of the output",
        "   │ line 6 of the output",
        "   │ line 7 of the output",
        " – optional                skipped            `when` is false",
        " · report                  blocked    ~1m30s  waits for parse, check 東京, load",
        " ○ gpu                     ready        ~3 s  waits for limit `gpu` (1 of 1)",
        "",
        " ███████░░░░░░░░░░░░░ 3/8  1 running  1 failed  1 delayed  1 skipped  eta 2m38s",
        " p pause  q quit  a all  w window  f failed  l log",
    ];
    assert_eq!(frame(&model, canvas), expected);
}

#[test]
fn a_run_at_40_columns() {
    let model = told(story());
    let canvas = Canvas { eta: Some(s(80)), ..canvas(40, 23, s(6)) };
    let expected = [
        " nightly  019a2b3c-4d5e  running  6 s",
        "",
        " ✓ fetch             2.1 s",
        " ⠋ parse             3 s  of about 10 s",
        " ↻ check 東京        retry in 3 s: exit…",
        " · load              waits for parse, c…",
        " ✗ archive-the-old…  3.4 s  exit code 1…",
        "   │ line 3 of the output",
        "   │ line 4 of the output",
        "   │ line 5 of the output",
        "   │ line 6 of the output",
        "   │ line 7 of the output",
        " – optional          `when` is false",
        " · report            waits for parse, c…",
        " ○ gpu               waits for limit `g…",
        "",
        " ███░░░░░░░ 3/8  1 failed  eta 1m20s",
        " p pause  q quit  a  w  f  l",
    ];
    assert_eq!(frame(&model, canvas), expected);
}

#[test]
fn a_run_in_ascii_at_120_columns() {
    let model = told(story());
    let canvas = Canvas { signs: &ASCII, has_keys: false, ..canvas(120, 39, s(6)) };
    let lines = view(&model, &canvas);
    let theme = Theme::new(Look { is_live: true, is_colourful: false, is_unicode: false });
    let lines: Vec<String> = lines.iter().map(|line| theme.paint(line)).collect();
    let expected = [
        " nightly  019a2b3c-4d5e  running  6 s",
        "",
        " + fetch                   succeeded   2.1 s",
        " > parse                   running       3 s  of about 10 s",
        " @ check ????              delayed            retry in 3 s: exit code 1, attempt 2 of 3",
        " . load                    blocked    ~1m00s  waits for parse, check ????",
        " x archive-the-old-tables  failed      3.4 s  exit code 1, attempt 2 of 3",
        "   | line 3 of the output",
        "   | line 4 of the output",
        "   | line 5 of the output",
        "   | line 6 of the output",
        "   | line 7 of the output",
        " - optional                skipped            `when` is false",
        " . report                  blocked    ~1m30s  waits for parse, check ????, load",
        " o gpu                     ready        ~3 s  waits for limit `gpu` (1 of 1)",
        "",
        " #########--------------- 3/8  1 running  1 failed  1 delayed  1 skipped",
        "",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_low_terminal_shows_what_matters() {
    let expected = [
        " nightly  019a2b3c-4d5e  running  6 s",
        " ✓ fetch                   succeeded   2.1 s",
        " ⠋ parse                   running       3 s  of about 10 s",
        " ↻ check 東京              delayed            retry in 3 s: exit code 1, attemp…",
        " ✗ archive-the-old-tables  failed      3.4 s  exit code 1, attempt 2 of 3",
        "   │ line 6 of the output",
        "   │ line 7 of the output",
        " ○ gpu                     ready        ~3 s  waits for limit `gpu` (1 of 1)",
        "   … 1 skipped, 2 blocked not shown",
        " ███████░░░░░░░░░░░░░ 3/8  1 running  1 failed  1 delayed  1 skipped",
        " p pause  q quit  a all  w window  f failed  l log",
    ];
    assert_eq!(frame(&told(story()), canvas(80, 11, s(6))), expected);
}

#[test]
fn every_part_fits_into_every_terminal() {
    let mut models = vec![told(story()), wide(31), wide(500), Model::default()];
    models[1].update(s(1), Event::Draining);
    models[2].update(s(1), failed(0, 30));
    for index in 0..1500 {
        let line = "wide 東京 ".repeat(30);
        models[2].update(s(1), Event::StepOutput { step: index % 500, line });
    }
    for model in &mut models {
        let keys = [
            Action::Up,
            Action::All,
            Action::Bottom,
            Action::Window,
            Action::Failed,
            Action::Log,
            Action::PageUp,
        ];
        for key in keys {
            model.press(key, 10);
            for width in [0, 1, 2, 3, 5, 8, 13, 20, 21, 40, 59, 60, 80, 200] {
                for height in [0, 1, 2, 3, 4, 5, 8, 11, 12, 24, 60] {
                    for signs in [&UNICODE, &ASCII] {
                        let eta = Some(s(100));
                        frame(model, Canvas { eta, signs, ..canvas(width, height, s(2)) });
                    }
                }
            }
        }
    }
}

#[test]
fn up_to_thirty_steps_are_shown_whole_and_more_in_a_window() {
    let rows = |count: usize| {
        let lines = frame(&wide(count), canvas(80, 100, s(1)));
        let steps =
            lines.iter().filter(|line| line.contains("step-") && !line.contains("not shown"));
        let hidden = lines.iter().find(|line| line.contains("not shown")).cloned();
        (steps.count(), hidden.unwrap_or_default())
    };
    assert_eq!(rows(10), (10, String::new()));
    assert_eq!(rows(30), (30, String::new()));
    assert_eq!(rows(31), (30, "   … 1 blocked not shown".to_owned()));
    assert_eq!(rows(500), (30, "   … 470 blocked not shown".to_owned()));
    assert_eq!(rows(10_000), (30, "   … 9970 blocked not shown".to_owned()));
}

#[test]
fn a_window_follows_the_run() {
    let mut model = wide(500);
    for index in 0..200 {
        model.update(s(index as u64), started(index, 1));
        let end = if index == 40 { failed(index, 2) } else { ended(index, EndState::Succeeded) };
        model.update(s(index as u64 + 4), end);
    }
    for index in 200..204 {
        model.update(s(300), started(index, 1));
    }
    let expected = [
        " wide  id  running  5m01s",
        " ✗ step-40   failed      4.0 s  exit code 1",
        "   │ line 1 of the output",
        "   │ line 2 of the output",
        " ✓ step-198  succeeded   4.0 s",
        " ✓ step-199  succeeded   4.0 s",
        " ⠋ step-200  running       1 s  of about 10 s",
        " ⠋ step-201  running       1 s  of about 10 s",
        " ⠋ step-202  running       1 s  of about 10 s",
        " ⠋ step-203  running       1 s  of about 10 s",
        " · step-204  blocked     ~10 s  waits for step-200",
        "   … 197 succeeded, 295 blocked not shown",
    ];
    let lines = frame(&model, canvas(80, 16, s(301)));
    assert_eq!(lines[0], expected[0]);
    assert_eq!(lines[2..13], expected[1..]);
}

#[test]
fn all_steps_can_be_scrolled() {
    let mut model = wide(100);
    let page = page(13) as isize;
    model.press(Action::All, page);
    let first = |model: &Model| {
        let lines = frame(model, canvas(80, 13, s(0)));
        (lines[2].clone(), lines[9].clone())
    };
    let at = |name: &str, words: &str| {
        (format!(" ○ {name}   ready       ~10 s"), format!("   … steps {words} of 100"))
    };
    assert_eq!(first(&model), at("step-0", "1 to 7"));
    model.press(Action::Down, page);
    assert_eq!(first(&model), at("step-1", "2 to 8"));
    model.press(Action::Bottom, page);
    assert_eq!(first(&model).1, "   … steps 94 to 100 of 100");
    model.press(Action::Up, page);
    assert_eq!(first(&model).1, "   … steps 93 to 99 of 100");
    model.press(Action::All, page);
    assert!(first(&model).0.contains("step-0"));
}

#[test]
fn failed_steps_alone_with_their_output() {
    let mut model = wide(40);
    model.press(Action::Failed, 10);
    assert_eq!(frame(&model, canvas(80, 20, s(1)))[2], "   … no step has failed");
    model.update(s(1), failed(3, 2));
    model.update(s(2), failed(1, 1));
    let expected = [
        " ✗ step-1   failed             exit code 1",
        "   │ line 1 of the output",
        " ✗ step-3   failed             exit code 1",
        "   │ line 1 of the output",
        "   │ line 2 of the output",
        "   … 2 steps have failed, the latest first",
    ];
    assert_eq!(frame(&model, canvas(80, 20, s(2)))[2..8], expected);
}

#[test]
fn the_log_shows_the_latest_output() {
    let mut model = told(story());
    model.press(Action::Log, 10);
    let line = "50%\r\x1b[2K100% \x1b]0;evil\x07done".to_owned();
    model.update(s(6), Event::StepOutput { step: 2, line });
    let expected = [
        " ⠋ parse                   running       3 s  of about 10 s",
        "─── log ────────────────────────────────────────────────────────────────────────",
        " parse                │ read 10 rows",
        " check 東京           │ 100% done",
    ];
    assert_eq!(frame(&model, canvas(80, 20, s(6)))[2..6], expected);
}

#[test]
fn a_reader_of_older_output_is_not_disturbed() {
    let mut model = wide(2);
    model.press(Action::Log, 10);
    let write = |model: &mut Model, range: std::ops::Range<usize>| {
        for number in range {
            let line = format!("line {number}");
            model.update(s(1), Event::StepOutput { step: 0, line });
        }
    };
    write(&mut model, 0..100);
    model.press(Action::Up, 10);
    let before = frame(&model, canvas(80, 20, s(1)));
    assert!(before[3].starts_with("") && before[16].ends_with("line 98"), "{before:?}");
    write(&mut model, 100..110);
    let after = frame(&model, canvas(80, 20, s(1)));
    assert_eq!(before[3..17], after[3..17]);
    assert!(after[2].starts_with("─── log, 11 lines below"));
}

#[test]
fn the_phase_of_the_run_is_said() {
    let mut model = told(story());
    let words = |model: &Model| {
        let lines = frame(model, canvas(80, 30, s(7)));
        (lines[0].clone(), lines[lines.len() - 1].clone())
    };
    model.update(s(6), Event::Paused);
    let (head, keys) = words(&model);
    assert_eq!(head, " nightly  019a2b3c-4d5e  paused  7 s");
    assert!(keys.starts_with(" r resume  q quit"));
    model.update(s(6), Event::Resumed);
    model.update(s(6), Event::Draining);
    let (head, keys) = words(&model);
    assert!(head.contains("stopping"));
    assert!(keys.starts_with(" what runs may finish; Ctrl-C again kills it"));
    model.update(s(6), Event::Killing);
    model.update(s(6), Event::Draining);
    assert!(words(&model).0.contains("killing"));
}

#[test]
fn hostile_text_stays_in_its_place() {
    let evil = "a\x1b[2J\n\u{202e}b\u{9b}5A";
    let mut info = step(evil, 0, &[]);
    info.after = vec![0, 7, usize::MAX];
    let mut model = Model::default();
    let (run_id, flow) = (evil.to_owned(), evil.to_owned());
    model.update(s(0), Event::RunStarted { run_id, flow, steps: vec![info.clone()] });
    model.update(s(0), Event::StepAdded(info));
    model.update(s(0), waiting(1, evil));
    model.update(
        s(0),
        Event::StepRetrying { step: 0, attempt: 1, at: s(1), error: evil.to_owned() },
    );
    model.update(s(0), Event::StepOutput { step: 0, line: evil.to_owned() });
    model.update(s(0), Event::StepStarted { step: 99, attempt: 1 });
    for key in [Action::All, Action::Window, Action::Log] {
        model.press(key, 10);
        for line in frame(&model, canvas(200, 24, s(0))) {
            assert!(
                !line.contains(|char: char| char.is_control() || char == '\u{202e}'),
                "{line:?}"
            );
        }
    }
}

#[test]
fn few_steps_stay_on_the_screen_with_how_it_went() {
    let mut model = told(story());
    for (index, state) in [(1, EndState::Succeeded), (2, EndState::Unknown), (3, EndState::Skipped)]
    {
        model.update(s(60), ended(index, state));
    }
    model.update(s(60), ended(6, EndState::Skipped));
    model.update(s(60), ended(7, EndState::Cancelled));
    model.update(s(61), Event::RunEnded { state: EndState::Failed });
    let lines = summary(&model, 80, s(500), &UNICODE);
    let lines: Vec<String> = lines.iter().map(super::line::Line::text).collect();
    let expected = [
        " ✓ fetch                   succeeded   2.1 s",
        " ✓ parse                   succeeded  57.9 s",
        " ? check 東京              unknown",
        " – load                    skipped",
        " ✗ archive-the-old-tables  failed      3.4 s  exit code 1, attempt 2 of 3",
        "   │ line 1 of the output",
        "   │ line 2 of the output",
        "   │ line 3 of the output",
        "   │ line 4 of the output",
        "   │ line 5 of the output",
        "   │ line 6 of the output",
        "   │ line 7 of the output",
        " – optional                skipped            `when` is false",
        " – report                  skipped",
        " ⊘ gpu                     cancelled",
        "",
        " ✗ nightly failed in 1m01s: 2 succeeded, 1 failed, 3 skipped, 1 cancelled, 1 unknown",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn of_many_steps_only_the_failed_ones_stay() {
    let mut model = wide(1000);
    for index in 0..1000 {
        model.update(s(1), started(index, 1));
        let is_bad = index % 25 == 0;
        let end = if is_bad { failed(index, 1) } else { ended(index, EndState::Succeeded) };
        model.update(s(2), end);
    }
    model.update(s(3), Event::RunEnded { state: EndState::Failed });
    let lines = summary(&model, 80, s(3), &UNICODE);
    let lines: Vec<String> = lines.iter().map(super::line::Line::text).collect();
    assert_eq!(lines.len(), 30 + 10 + 3);
    assert_eq!(lines[0], " ✗ step-0    failed      1.0 s  exit code 1");
    assert_eq!(lines[1], "   │ line 1 of the output");
    assert_eq!(lines[40], "   … 10 more failed");
    assert_eq!(lines[42], " ✗ wide failed in 3.0 s: 960 succeeded, 40 failed");
}

/// Were a frame or an update to look at every step, this would take minutes.
#[test]
fn a_hundred_thousand_steps_are_no_trouble() {
    let count = 100_000;
    let mut model = wide(4);
    for index in 4..count {
        model.update(s(0), Event::StepAdded(step(&format!("step-{index}"), 10, &[index - 4])));
    }
    for index in 0..count {
        let now = ms(index as u64);
        model.update(now, started(index, 1));
        let end =
            if index % 10 == 9 { failed(index, 3) } else { ended(index, EndState::Succeeded) };
        model.update(now, end);
        if index % 100 == 0 {
            frame(&model, canvas(80, 24, now));
        }
    }
    assert_eq!(eta(&model, 4, s(1)), None);
    assert!(frame(&model, canvas(80, 24, s(1))).iter().any(|line| line.contains("100000/100000")));
}

#[test]
fn a_log_has_a_line_for_everything_that_happens_to_steps() {
    let mut plain = Plain::new(Level::Normal);
    let mut events = story();
    events.push((s(61), Event::RunEnded { state: EndState::Failed }));
    let lines = events.into_iter().flat_map(|(now, event)| plain.tell(now, "12:03:07", event));
    let lines: Vec<String> = lines.map(|line| line.text()).collect();
    let expected = [
        "12:03:07 run       nightly, run 019a2b3c-4d5e-7f60-8123-456789abcdef: 8 steps",
        "12:03:07 started   fetch",
        "12:03:07 skipped   optional: `when` is false",
        "12:03:07 succeeded fetch (2.1 s)",
        "12:03:07 started   parse",
        "12:03:07 started   check 東京",
        "12:03:07 started   archive-the-old-tables (attempt 2 of 3)",
        "12:03:07 failed    check 東京, attempt 1 of 3, next try in 4 s: exit code 1",
        "12:03:07 failed    archive-the-old-tables (3.4 s, attempt 2 of 3): exit code 1",
        "12:03:07             | line 1 of the output",
        "12:03:07             | line 2 of the output",
        "12:03:07             | line 3 of the output",
        "12:03:07             | line 4 of the output",
        "12:03:07             | line 5 of the output",
        "12:03:07             | line 6 of the output",
        "12:03:07             | line 7 of the output",
        "12:03:07 failed    nightly in 1m01s: 1 succeeded, 1 failed, 1 skipped, 5 not ended",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_quiet_log_says_what_went_wrong_and_a_verbose_one_everything() {
    let words = |level: Level| {
        let mut plain = Plain::new(level);
        let mut events = story();
        events.push((s(7), Event::StepOutput { step: 99, line: "whose?".to_owned() }));
        events.push((s(61), Event::RunEnded { state: EndState::Failed }));
        let lines = events.into_iter().flat_map(|(now, event)| plain.tell(now, "-", event));
        let words = lines.map(|line| line.text().split_whitespace().nth(1).unwrap().to_owned());
        words.filter(|word| word != "|").collect::<Vec<String>>()
    };
    assert_eq!(words(Level::Quiet), ["failed", "failed"]);
    let expected = [
        "run",
        "started",
        "skipped",
        "waiting",
        "succeeded",
        "started",
        "started",
        "started",
        "output",
        "failed",
        "failed",
        "failed",
    ];
    assert_eq!(words(Level::Verbose), expected);
}

#[test]
fn a_step_that_waits_says_for_what_while_it_does() {
    let mut model = wide(1);
    model.update(s(0), started(0, 1));
    model.update(s(0), waiting(0, "waits for a file"));
    let lines = frame(&model, canvas(80, 24, s(2)));
    assert!(lines.iter().any(|line| line.contains("waits for a file")), "{lines:?}");
}

#[test]
fn a_step_that_asks_says_how_it_is_answered() {
    for steps in [3, 100] {
        let mut model = wide(steps);
        model.update(s(0), started(1, 1));
        let answer = Some("tidewheel approve 01a1 step-1".to_owned());
        let why = "waits for approval: Ship it?".to_owned();
        model.update(s(0), Event::StepWaiting { step: 1, why, answer });
        let lines = frame(&model, canvas(80, 24, s(2)));
        let at = lines.iter().position(|line| line.contains("Ship it?")).unwrap();
        assert!(lines[at].contains("waiting"), "{lines:?}");
        assert_eq!(lines[at + 1], "   │ say `tidewheel approve 01a1 step-1`");
        model.update(s(3), ended(1, EndState::Succeeded));
        let lines = frame(&model, canvas(80, 24, s(4)));
        assert!(!lines.iter().any(|line| line.contains("approve")), "{lines:?}");
    }
}

#[test]
fn elements_are_shown_with_their_values() {
    let mut model = Model::default();
    let element = |name: &str, value: serde_json::Value| StepInfo {
        element: Some(value),
        ..step(name, 0, &[])
    };
    let steps = vec![
        element("test[0]", json!("linux")),
        element("test[1]", json!({ "os": "macos\u{1b}[31m" })),
        element("test[stable]", json!({ "rust": "stable" })),
    ];
    let run = Event::RunStarted { run_id: "r".to_owned(), flow: "f".to_owned(), steps };
    model.update(s(0), run);
    let names: Vec<&str> = model.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names[0], "test[0] (linux)");
    assert!(names[1].starts_with("test[1] (macos"), "{names:?}");
    assert!(!names[1].contains('\u{1b}'), "{names:?}");
    assert_eq!(names[2], "test[stable]");
}

#[test]
fn nobody_knows_how_long_an_answer_takes() {
    let mut model = Model::default();
    let steps = vec![step("gate", 5, &[])];
    let run = Event::RunStarted { run_id: "r".to_owned(), flow: "f".to_owned(), steps };
    model.update(s(0), run);
    model.update(s(0), started(0, 1));
    let detail = |model: &Model| super::row::detail(model, &model.steps[0], s(1));
    assert_eq!(detail(&model), "of about 5 s");
    model.update(s(0), waiting(0, "waits for approval: Ship it?"));
    assert_eq!(detail(&model), "waits for approval: Ship it?");
}

#[test]
fn an_end_that_is_told_late_has_no_time() {
    let mut model = wide(2);
    for index in 0..2 {
        model.update(s(0), started(index, 1));
    }
    model.update(s(3), ended(0, EndState::Succeeded));
    let mut late = ended(1, EndState::Succeeded);
    if let Event::StepEnded { is_late, .. } = &mut late {
        *is_late = true;
    }
    model.update(s(60), late);
    assert_eq!((model.steps[0].took, model.steps[1].took), (Some(s(3)), None));
}
