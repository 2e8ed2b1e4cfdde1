//! The screens as people see them, on a terminal that is not one, held against stored pictures.
//!
//! `TIDEWHEEL_BLESS=1` stores them anew: as texts in `golden/`, and some as drawings for the documentation.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::{Color, Modifier};
use serde_json::json;
use tidewheel_client::api::{
    AttemptLine, AttemptList, Glance, LogLine, LogLines, LogSpan, LogStream, RunList, RunState,
    Standing, StepExplained, StepResult, StepStanding, StepState, WaitingLine,
};

use super::view;
use crate::message::{Answer, Effect, Message, Question, StepKnown};
use crate::model::{Attached, Model, RunsOf};
use crate::run::Look;
use crate::samples::{
    NOW, about, busy_glance, busy_queue, flow_detail, glance, lines, queue, runs, schedules,
    source, standing, upcoming,
};
use crate::theme::Theme;
use crate::update::update;

const COLOURFUL: Look = Look { is_live: true, is_colourful: true, is_unicode: true };

/// A model with everything known, of so large a terminal, after these keys.
fn model(size: (u16, u16), keys: &[KeyCode]) -> Model {
    model_of(size, keys, (glance(), queue()), |text| text.to_owned())
}

/// What is in front of anything hostile: the documentation shows how things usually are.
fn friendly(text: &str) -> String {
    let is_hostile = |letter: char| letter.is_control() || letter == '\u{202e}';
    text.split(is_hostile).next().unwrap_or_default().trim_end_matches([' ', ':', '#']).to_owned()
}

/// The same with other texts.
fn model_of(
    (width, height): (u16, u16),
    keys: &[KeyCode],
    (mut glance, line): (Glance, WaitingLine),
    text: impl Fn(&str) -> String,
) -> Model {
    let (mut standing, mut lines) = (standing(), lines(500));
    let mut flow = flow_detail();
    flow.flow.description = flow.flow.description.as_deref().map(&text);
    for flow in &mut glance.flows {
        flow.name = text(&flow.name);
    }
    for step in &mut standing.steps {
        step.name = text(&step.name);
        step.error = step.error.as_deref().map(&text);
    }
    let mut source = source();
    for file in source.files.iter_mut().chain(&mut source.outdated) {
        let shown = |line: &str| if line.contains('\u{1b}') { text(line) } else { line.to_owned() };
        file.text = file.text.lines().map(shown).collect::<Vec<_>>().join("\n");
    }
    for span in lines.lines.iter_mut().flat_map(|line| &mut line.2) {
        span.1 = if span.1.contains('\u{1b}') { text(&span.1) } else { span.1.clone() };
    }
    let mut model = Model::new("/srv/tide".to_owned(), Attached::Desk, NOW, TimeZone::UTC);
    update(&mut model, NOW, Message::Resized(width, height));
    let tell = |model: &mut Model, question: Question, answer: Answer| {
        update(model, NOW, Message::Answered(question, Ok(answer), Duration::ZERO));
    };
    tell(&mut model, Question::Glance, Answer::Glance(Box::new(glance)));
    let newest = Question::Runs { of: RunsOf::default(), after: None };
    tell(&mut model, newest, Answer::Runs(runs()));
    tell(&mut model, Question::Schedules, Answer::Schedules(schedules()));
    tell(&mut model, Question::Line, Answer::Line(Box::new((line, None))));
    for key in keys {
        let effects = update(&mut model, NOW, Message::Key(KeyEvent::from(*key)));
        for effect in effects {
            let Effect::Ask(question) = effect else { continue };
            let answer = match question {
                Question::Flow(_) => Answer::Flow(Box::new(flow.clone())),
                _ => continue,
            };
            tell(&mut model, question, answer);
        }
        let answer = match model.question() {
            Some(Question::Run(_)) => Answer::Run(Box::new(standing.clone())),
            Some(Question::About(_)) => Answer::About(Box::new(about())),
            Some(Question::Step { .. }) => Answer::Step(Box::new(known())),
            Some(Question::Log { .. }) => Answer::Log(Box::new(lines.clone())),
            Some(Question::Source(_)) => Answer::Source(Box::new(source.clone())),
            Some(Question::Schedule(_)) => Answer::Schedule(Box::new(upcoming())),
            _ => continue,
        };
        let question = model.question().unwrap();
        tell(&mut model, question, answer);
    }
    model.note = None;
    model
}

fn known() -> StepKnown {
    let outputs = json!({ "version": "1.4.0", "files": ["a.tar", "b \u{1b}[2J.tar"] });
    let result = StepResult {
        state: StepState::Failed,
        reason: None,
        tolerated: true,
        attempts: 1,
        element: None,
        tags: Vec::new(),
        started_at: Some(NOW.before(Duration::from_secs(40))),
        ended_at: Some(NOW.before(Duration::from_secs(12))),
        code: Some(1),
        error: Some("exit code 1".to_owned()),
        timeout: None,
        warnings: Vec::new(),
        outputs: outputs.as_object().cloned().unwrap_or_default().into(),
    };
    let explained = StepExplained {
        step: "test-slow".to_owned(),
        element: None,
        state: StepState::Failed,
        tolerated: true,
        why: "exit code 1".to_owned(),
        asks: false,
        waits_for: Vec::new(),
        priority: None,
        expected_start_seconds: None,
        unpassed_in_seconds: None,
    };
    let attempt = AttemptLine {
        attempt: 1,
        outcome: Some("failed".to_owned()),
        started_at: result.started_at,
        ended_at: result.ended_at,
        code: Some(1),
        signal: None,
        error: Some("exit code 1".to_owned()),
    };
    let attempts = AttemptList {
        version: None,
        run_id: "r".to_owned(),
        step: "s".to_owned(),
        attempts: vec![attempt],
    };
    StepKnown { result: Some(result), explained: Some(explained), attempts: Some(attempts) }
}

fn drawn(model: &Model, look: Look) -> Buffer {
    let (width, height) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| drop(view(model, Theme::new(look), frame.buffer_mut()))).unwrap();
    terminal.backend().buffer().clone()
}

fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let row: String = (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

const ENTER: KeyCode = KeyCode::Enter;
const DOWN: KeyCode = KeyCode::Down;
const RIGHT: KeyCode = KeyCode::Right;
const TAB: KeyCode = KeyCode::Tab;

const fn c(letter: char) -> KeyCode {
    KeyCode::Char(letter)
}

const NARROW: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (130, 18);

/// The pictures: their names, how large they are, and the keys that lead there.
const PICTURES: [(&str, (u16, u16), &[KeyCode]); 19] = [
    ("overview", NARROW, &[]),
    ("overview-wide", WIDE, &[]),
    ("runs", NARROW, &[c('2')]),
    ("run", NARROW, &[ENTER, DOWN, DOWN]),
    ("run-wide", WIDE, &[ENTER, DOWN, DOWN]),
    ("graph", NARROW, &[ENTER, DOWN, DOWN, TAB]),
    ("time", NARROW, &[ENTER, DOWN, DOWN, TAB, TAB]),
    ("about", NARROW, &[ENTER, TAB, TAB, TAB]),
    ("step", NARROW, &[ENTER, DOWN, DOWN, DOWN, ENTER]),
    ("log", NARROW, &[ENTER, DOWN, c('l')]),
    ("queues", NARROW, &[c('3')]),
    ("schedules", NARROW, &[c('4')]),
    ("schedule", NARROW, &[c('4'), ENTER]),
    ("flow", NARROW, &[DOWN, c('d')]),
    ("flow-wide", WIDE, &[DOWN, c('d'), KeyCode::Home]),
    ("help", NARROW, &[ENTER, c('?')]),
    ("dialog", NARROW, &[ENTER, c('x')]),
    ("form", NARROW, &[c('G'), c('s'), TAB, RIGHT, TAB, c('0'), ENTER]),
    ("note", NARROW, &[c('n'), c('w'), c('h'), c('y'), c('?')]),
];

/// Those that the documentation shows.
const SHOWN: [&str; 8] =
    ["overview-wide", "run-wide", "graph", "time", "log", "queues", "form", "flow"];

#[test]
fn nobody_is_shown_a_code_that_is_typed() {
    let mut model = model(NARROW, &[]);
    let mut asking = glance();
    asking.approvals[0].wants_code = true;
    let told =
        Message::Answered(Question::Glance, Ok(Answer::Glance(Box::new(asking))), Duration::ZERO);
    update(&mut model, NOW, told);
    for letter in "y918273".chars() {
        update(&mut model, NOW, Message::Key(KeyEvent::from(c(letter))));
    }
    let shown = text(&drawn(&model, COLOURFUL));
    assert!(shown.contains("******") && !shown.contains("918"), "{shown}");
}

fn is_blessing() -> bool {
    std::env::var_os("TIDEWHEEL_BLESS").is_some()
}

#[test]
fn every_screen_looks_as_it_is_stored() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/view/golden");
    for (name, size, keys) in PICTURES {
        let buffer = drawn(&model(size, keys), COLOURFUL);
        let path = folder.join(format!("{name}.txt"));
        if is_blessing() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, text(&buffer)).unwrap();
        }
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text(&buffer), stored, "{name}: TIDEWHEEL_BLESS=1 stores it anew");
    }
}

/// The same with long texts: their names, and the keys that lead there from the details of a step.
const LONG: [(&str, &[KeyCode]); 8] = [
    ("step-long", &[]),
    ("step-long-end", &[KeyCode::End]),
    ("log-long", &[c('l')]),
    ("log-wrapped", &[c('l'), c('W')]),
    ("log-wrapped-up", &[c('l'), c('W'), KeyCode::PageUp]),
    ("log-right", &[c('l'), c('g'), RIGHT, RIGHT]),
    ("log-found", &[c('/'), c('n'), c('e'), c('e'), c('d'), c('l'), c('e'), ENTER]),
    (
        "log-found-wrapped",
        &[c('l'), c('W'), c('/'), c('n'), c('e'), c('e'), c('d'), c('l'), c('e'), ENTER],
    ),
];

/// An error of three hundred letters, the last of which is its end, and an output of as many that has wide ones.
fn long_known() -> StepKnown {
    let mut known = known();
    let error = format!("exit code 2: {}END", "the disk of the build machine is full, ".repeat(8));
    let result = known.result.as_mut().unwrap();
    (result.error, known.attempts.as_mut().unwrap().attempts[0].error) =
        (Some(error.clone()), Some(error));
    let outputs = json!({ "report": format!("東京都庁 {}", "x".repeat(300)), "list": (0..30).collect::<Vec<_>>() });
    result.outputs = outputs.as_object().cloned().unwrap().into();
    known
}

/// Forty lines: every fourth has three hundred letters and more, with something to find at its end, or wide ones.
fn long_lines(from: i64, count: u32) -> LogLines {
    const TOTAL: i64 = 40;
    let text = |number: i64| match number % 8 {
        3 => format!("{number}: {}needle, and more", "0123456789 ".repeat(27)),
        7 => format!("{number}: {}", "東京都庁".repeat(75)),
        _ => format!("{number}: short"),
    };
    let first = if from < 0 { TOTAL + 1 + from } else { from }.max(1);
    let last = (first + i64::from(count) - 1).min(TOTAL);
    let line = |number| {
        let spans = vec![LogSpan(String::new(), text(number))];
        LogLine(None, LogStream::Stdout, spans, None)
    };
    let (total, from) = (TOTAL as u64, first as u64);
    LogLines { total, from, lines: (first..=last).map(line).collect(), ..lines(TOTAL as u64) }
}

fn long_model(size: (u16, u16), keys: &[KeyCode]) -> Model {
    let mut model = model(size, &[ENTER, DOWN, DOWN, DOWN, ENTER]);
    let answer = |model: &mut Model| {
        // What was found may be further down than was asked for at first.
        for _ in 0..3 {
            let question = model.question().unwrap();
            let answer = match &question {
                Question::Step { .. } => Answer::Step(Box::new(long_known())),
                Question::Log { from, count, .. } => {
                    Answer::Log(Box::new(long_lines(*from, *count)))
                }
                Question::Find { .. } => Answer::Found(vec![3, 11, 19, 27, 35]),
                _ => return,
            };
            let told = Message::Answered(question, Ok(answer), Duration::ZERO);
            update(model, NOW, told);
        }
    };
    answer(&mut model);
    for key in keys {
        update(&mut model, NOW, Message::Key(KeyEvent::from(*key)));
        answer(&mut model);
    }
    model.note = None;
    model
}

#[test]
fn long_texts_can_be_read_to_their_end() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/view/golden");
    for (name, keys) in LONG {
        let shown = text(&drawn(&long_model(NARROW, keys), COLOURFUL));
        let path = folder.join(format!("{name}.txt"));
        if is_blessing() {
            fs::write(&path, &shown).unwrap();
        }
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(shown, stored, "{name}: TIDEWHEEL_BLESS=1 stores it anew");
        for look in
            [Look { is_colourful: false, ..COLOURFUL }, Look { is_unicode: false, ..COLOURFUL }]
        {
            let plain = text(&drawn(&long_model(NARROW, keys), look));
            assert!(plain == shown || plain.is_ascii(), "{name}: the words are the same");
        }
        for size in [(20, 6), (21, 7), (40, 10), (300, 90)] {
            let _ = text(&drawn(&long_model(size, keys), COLOURFUL));
        }
    }
    let seen = |keys: &[KeyCode], words: &str| {
        let shown = text(&drawn(&long_model(NARROW, keys), COLOURFUL));
        assert!(shown.contains(words), "{words} is not in {shown}");
    };
    seen(&[], "END");
    seen(&[], "; more below");
    for name in ["log-found", "log-found-wrapped"] {
        let (_, keys) = LONG.iter().find(|it| it.0 == name).unwrap();
        // Each of them, one after the other, and the first again.
        for times in 0..6 {
            seen(&[*keys, &vec![c('n'); times]].concat(), "needle, and more");
        }
    }
}

/// What is found is marked where it is shown, whatever is to the left of it.
#[test]
fn what_was_found_is_marked() {
    let (_, keys) = LONG.iter().find(|it| it.0 == "log-found").unwrap();
    let buffer = drawn(&long_model(NARROW, keys), COLOURFUL);
    let found = Theme::new(COLOURFUL).found();
    let marked = buffer.content.iter().filter(|cell| Some(cell.bg) == found.bg);
    let marked: String = marked.map(|cell| cell.symbol()).collect();
    assert!(marked.contains("needle"), "{marked}");
}

#[test]
fn the_pictures_of_the_documentation_are_these_screens() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    for (name, size, keys) in PICTURES.iter().filter(|(name, ..)| SHOWN.contains(name)) {
        let busy = (busy_glance(), busy_queue());
        let picture = svg(&drawn(&model_of(*size, keys, busy, friendly), COLOURFUL));
        let path = folder.join(format!("tui-{name}.svg"));
        if is_blessing() {
            fs::write(&path, &picture).unwrap();
        }
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(picture == stored, "{name}: TIDEWHEEL_BLESS=1 stores it anew");
    }
}

#[test]
fn nothing_foreign_does_anything_but_show() {
    for (name, size, keys) in PICTURES {
        for look in [COLOURFUL, Look { is_unicode: false, ..COLOURFUL }] {
            let text = text(&drawn(&model(size, keys), look));
            let is_bad = |letter: &char| {
                (letter.is_control() && *letter != '\n')
                    || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{200b}'..='\u{200f}')
            };
            assert_eq!(text.chars().find(is_bad), None, "{name}");
            assert!(look.is_unicode || text.is_ascii(), "{name}: {text}");
        }
    }
}

#[test]
fn without_colours_there_are_none() {
    let look = Look { is_colourful: false, ..COLOURFUL };
    for (name, size, keys) in PICTURES {
        let buffer = drawn(&model(size, keys), look);
        let plain = |colour| matches!(colour, Color::Reset);
        assert!(buffer.content.iter().all(|cell| plain(cell.fg) && plain(cell.bg)), "{name}");
        let coloured = drawn(&model(size, keys), COLOURFUL);
        assert_eq!(text(&buffer), text(&coloured), "{name}: the words are the same");
    }
}

#[test]
fn every_size_can_be_drawn() {
    for (name, _, keys) in PICTURES {
        for size in [(1, 1), (20, 6), (21, 7), (40, 10), (80, 24), (300, 90)] {
            let _ = text(&drawn(&model(size, keys), COLOURFUL));
            assert!(!name.is_empty());
        }
    }
}

#[test]
fn the_mouse_finds_rows_and_screens() {
    let model = model(NARROW, &[c('2')]);
    let mut buffer = Buffer::empty(ratatui::layout::Rect::new(0, 0, 80, 24));
    let hits = view(&model, Theme::new(COLOURFUL), &mut buffer);
    use crate::keys::Action;
    use crate::message::Hit;
    assert_eq!(hits.at(2, 1), Some(Hit::Action(Action::Overview)));
    assert_eq!(hits.at(30, 4), Some(Hit::Row(1)));
    assert_eq!(hits.at(79, 0), None);
    assert_eq!(hits.at(1, 23), Some(Hit::Action(Action::Open)));
}

#[test]
fn whose_step_is_looked_at_is_told_however_long_its_flow_is_called() {
    let path = |flow: &str, keys: &[KeyCode]| {
        let mut model = model(NARROW, &[ENTER]);
        let run = model.watched.as_ref().unwrap().run.clone();
        model.watched = Some(Box::new(crate::model::Watched::new(&run)));
        let named = Answer::Run(Box::new(Standing { flow: Some(flow.to_owned()), ..standing() }));
        let told = Message::Answered(Question::Run(run), Ok(named), Duration::ZERO);
        update(&mut model, NOW, told);
        keys.iter().for_each(|code| {
            update(&mut model, NOW, Message::Key(KeyEvent::from(*code)));
        });
        let shown = text(&drawn(&model, COLOURFUL));
        shown.lines().nth(1).unwrap().split("schedules  ").last().unwrap().to_owned()
    };
    let long = "packages-of-the-whole-workspace";
    assert_eq!(path("release", &[ENTER]), "› release 0a2b3c4d5e6f7 › fetch");
    assert_eq!(path(long, &[]), "› packages-of-the-who… 0a2b3c4d5e6f7");
    assert_eq!(path(long, &[ENTER]), "› packages-of… 0a2b3c4d5e6f7 › fetch");
    // Which step it is matters most.
    assert_eq!(path(long, &[KeyCode::End, KeyCode::Up, ENTER]), "› deploy \\u{202e}gnp.exe");
}

#[test]
fn a_list_says_that_there_are_older_runs() {
    let mut model = model(NARROW, &[c('2')]);
    let path = |model: &Model| text(&drawn(model, COLOURFUL)).lines().nth(1).unwrap().to_owned();
    assert!(!path(&model).contains("newest"), "these are all");
    let newest = Question::Runs { of: RunsOf::default(), after: None };
    let told = RunList { next: Some("4".to_owned()), ..runs() };
    update(&mut model, NOW, Message::Answered(newest, Ok(Answer::Runs(told)), Duration::ZERO));
    assert!(path(&model).ends_with("› the 4 newest"), "{}", path(&model));
}

#[test]
fn from_when_on_a_step_is_not_overtaken_is_told() {
    let mut line = queue();
    line.waiting[0].unpassed_in_seconds = Some(300.0);
    line.waiting[1].unpassed_in_seconds = Some(0.0);
    let mut model = model_of((180, 18), &[c('3')], (glance(), line), |text| text.to_owned());
    let shown = |model: &Model| text(&drawn(model, COLOURFUL));
    assert!(shown(&model).contains("all 2 slots are taken; not overtaken after 14:05:00"));
    assert!(shown(&model).contains("not overtaken any more"));
    // It does not move away while nobody asks anew, and where the row has no room it stands below.
    update(&mut model, NOW.after(Duration::from_secs(60)), Message::Resized(80, 24));
    for _ in 0..2 {
        let down = Message::Key(KeyEvent::from(DOWN));
        update(&mut model, NOW.after(Duration::from_secs(60)), down);
    }
    assert!(shown(&model).contains("; not overtaken after 14:05:00"), "{}", shown(&model));
}

#[test]
fn times_in_line_go_on_while_nothing_changes() {
    let mut model = model((120, 18), &[c('3')]);
    let row = |model: &Model, step: &str| {
        let shown = text(&drawn(model, COLOURFUL));
        shown.lines().find(|row| row.contains(step)).unwrap().to_owned()
    };
    assert!(
        row(&model, " test ").contains("40.0 s") && row(&model, " index ").contains("in 12.0 s")
    );
    update(&mut model, NOW.after(Duration::from_secs(10)), Message::Tick);
    assert!(
        row(&model, " test ").contains("50.0 s") && row(&model, " index ").contains("in 2.0 s")
    );
    update(&mut model, NOW.after(Duration::from_secs(30)), Message::Tick);
    assert!(row(&model, " index ").contains("soon"), "it takes longer than it did before");
}

#[test]
fn lines_of_a_log_are_counted_in_words() {
    let mut model = model(NARROW, &[ENTER, c('l')]);
    for (total, words) in [(1, " 1 line, "), (2, " 2 lines, ")] {
        let question = model.question().unwrap();
        let told = Answer::Log(Box::new(lines(total)));
        update(&mut model, NOW, Message::Answered(question, Ok(told), Duration::ZERO));
        let shown = text(&drawn(&model, COLOURFUL));
        assert!(shown.lines().nth(2).unwrap().starts_with(words), "{shown}");
    }
}

#[test]
fn how_long_a_step_runs_goes_on_where_it_is_looked_at() {
    let mut model = model(NARROW, &[ENTER, ENTER]);
    let mut running = known();
    let result = running.result.as_mut().unwrap();
    (result.state, result.error, result.ended_at) = (StepState::Running, None, None);
    running.explained.as_mut().unwrap().why = "attempt 1 started 40 s ago".to_owned();
    let question = model.question().unwrap();
    let told = Answer::Step(Box::new(running));
    update(&mut model, NOW, Message::Answered(question, Ok(told), Duration::ZERO));
    assert!(text(&drawn(&model, COLOURFUL)).contains("running   for 40 s"));
    update(&mut model, NOW.after(Duration::from_secs(25)), Message::Tick);
    let shown = text(&drawn(&model, COLOURFUL));
    assert!(shown.contains("running   for 1m05s") && !shown.contains(" ago"), "{shown}");
}

#[test]
fn attempts_are_drawn_apart_and_waits_between_them_as_dots() {
    let ago = |seconds| Some(NOW.before(Duration::from_secs(seconds)));
    let mut retried = standing();
    retried.steps[2] = StepStanding { attempt: 3, started_at: ago(10), ..retried.steps[2].clone() };
    let mut model = model(NARROW, &[ENTER, TAB, TAB]);
    let run = model.watched.as_ref().unwrap().run.clone();
    let tell = |model: &mut Model, question: Question, answer: Answer| {
        update(model, NOW, Message::Answered(question, Ok(answer), Duration::ZERO));
    };
    tell(&mut model, Question::Run(run.clone()), Answer::Run(Box::new(retried)));
    let question = model.question().unwrap();
    let steps = vec!["test".to_owned()];
    assert_eq!(question, Question::Attempts { run, steps });
    assert!(model.is_stale, "it is asked");
    let line = |attempt, from, to| AttemptLine {
        attempt,
        started_at: ago(from),
        ended_at: ago(to),
        ..known().attempts.unwrap().attempts[0].clone()
    };
    let attempts = vec![line(1, 90, 70), line(2, 40, 39)];
    let told = AttemptList { step: "test".to_owned(), attempts, ..known().attempts.unwrap() };
    model.is_stale = false;
    tell(&mut model, question, Answer::Attempts(vec![told]));
    assert!(!model.is_stale && matches!(model.question(), Some(Question::Run(_))));
    for (look, work, wait) in
        [(COLOURFUL, '█', '·'), (Look { is_unicode: false, ..COLOURFUL }, '#', '.')]
    {
        let shown = text(&drawn(&model, look));
        let row = shown.lines().find(|line| line.contains(" test ")).unwrap();
        let lane: String = row
            .chars()
            .skip_while(|it| *it != work)
            .filter(|it| [work, wait].contains(it))
            .collect();
        let mut bars: Vec<usize> =
            lane.split(wait).map(|bar| bar.chars().count()).filter(|wide| *wide > 0).collect();
        assert_eq!(bars.len(), 3, "{row}");
        bars.sort_unstable();
        assert!(bars[0] == 1 && bars[2] > 8, "{row}");
    }
}

#[test]
fn what_decided_how_long_a_run_took_is_marked_wherever_its_steps_are_shown() {
    let looks = [
        COLOURFUL,
        Look { is_colourful: false, ..COLOURFUL },
        Look { is_unicode: false, ..COLOURFUL },
    ];
    let marked = |shown: &str| -> Vec<String> {
        let rows = shown.lines().filter(|row| row.starts_with('*'));
        let is_name = |it: &&str| it.chars().filter(|it| it.is_alphabetic()).count() > 3;
        rows.map(|row| row.split(' ').find(is_name).unwrap().to_owned()).collect()
    };
    let tell = |model: &mut Model, told: Standing| {
        let run = model.watched.as_ref().unwrap().run.clone();
        let told = Answer::Run(Box::new(told));
        update(model, NOW, Message::Answered(Question::Run(run), Ok(told), Duration::ZERO));
    };
    for tabs in 0..3 {
        let mut model = model(NARROW, &[&[ENTER][..], &vec![TAB; tabs]].concat());
        let mut over = standing();
        (over.state, over.ended_at) = (RunState::Failed, Some(NOW));
        (over.steps[2].critical, over.steps[3].critical) = (false, true);
        let mut unknown = over.clone();
        unknown.steps.iter_mut().for_each(|step| step.critical = false);
        for look in looks {
            let shown = text(&drawn(&model, look));
            assert_eq!(marked(&shown), ["fetch", "build", "test"], "{shown}");
            assert!(shown.contains("\n * decided how long it took so far\n"), "{shown}");
        }
        tell(&mut model, over);
        let shown = text(&drawn(&model, COLOURFUL));
        assert_eq!(marked(&shown), ["fetch", "build", "test-slow"], "{shown}");
        assert!(shown.contains("\n * decided how long it took\n"), "{shown}");
        tell(&mut model, unknown);
        assert!(!text(&drawn(&model, COLOURFUL)).contains('*'), "nobody says it");
    }
    let about = model(NARROW, &[ENTER, TAB, TAB, TAB]);
    assert!(!text(&drawn(&about, COLOURFUL)).contains('*'), "there are no steps");
}

#[test]
fn ten_thousand_steps_are_drawn_as_few_are() {
    let mut many = standing();
    let step = many.steps[0].clone();
    many.state = RunState::Running;
    many.steps = (0..10_000)
        .map(|number| {
            let mut step = step.clone();
            step.name = format!("step-{number}");
            step
        })
        .collect();
    let mut model = model(NARROW, &[ENTER]);
    let run = model.watched.as_ref().unwrap().run.clone();
    model.watched = Some(Box::new(crate::model::Watched::new(&run)));
    let answer = Answer::Run(Box::new(many));
    update(&mut model, NOW, Message::Answered(Question::Run(run), Ok(answer), Duration::ZERO));
    for key in [KeyCode::End, KeyCode::PageUp] {
        update(&mut model, NOW, Message::Key(KeyEvent::from(key)));
    }
    let text = text(&drawn(&model, COLOURFUL));
    assert!(text.contains("step-9980") && !text.contains("step-5 "), "{text}");
}

/// A drawing of a screen.
fn svg(buffer: &Buffer) -> String {
    const CELL: (f64, f64) = (8.4, 18.0);
    let area = buffer.area;
    let (width, height) =
        (f64::from(area.width) * CELL.0 + 24.0, f64::from(area.height) * CELL.1 + 24.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, \
         'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" \
         fill=\"#16181d\"/>\n"
    );
    for y in 0..area.height {
        let mut x = 0;
        while x < area.width {
            let cell = &buffer[(x, y)];
            let style = (cell.fg, cell.bg, cell.modifier);
            let same = |x: &u16| {
                let other = &buffer[(*x, y)];
                (other.fg, other.bg, other.modifier) == style
            };
            let end = (x..area.width).take_while(same).last().unwrap_or(x) + 1;
            let run: String = (x..end).map(|x| buffer[(x, y)].symbol()).collect();
            push_run(
                &mut svg,
                (f64::from(x) * CELL.0 + 12.0, f64::from(y) * CELL.1 + 12.0),
                f64::from(end - x) * CELL.0,
                style,
                &run,
            );
            x = end;
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn push_run(
    svg: &mut String,
    (x, y): (f64, f64),
    width: f64,
    (fg, bg, modifier): (Color, Color, Modifier),
    run: &str,
) {
    let (mut letters, mut ground) = (colour(fg).unwrap_or("#d7dae0"), colour(bg));
    if modifier.contains(Modifier::REVERSED) {
        (ground, letters) = (Some(letters), ground.unwrap_or("#16181d"));
    }
    if let Some(ground) = ground {
        svg.push_str(&format!("<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"18\" fill=\"{ground}\"/>\n"));
    }
    if run.trim().is_empty() {
        return;
    }
    let bold = if modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let faint = if modifier.contains(Modifier::DIM) { " opacity=\"0.6\"" } else { "" };
    let run = run.replace('&', "&amp;").replace('<', "&lt;");
    svg.push_str(&format!(
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" xml:space=\"preserve\" fill=\"{letters}\"{bold}{faint}>{run}</text>\n",
        y + 13.5
    ));
}

fn colour(colour: Color) -> Option<&'static str> {
    Some(match colour {
        Color::Green | Color::Indexed(2) => "#8cc570",
        Color::Red => "#ef6b73",
        Color::Yellow => "#e3b567",
        Color::Cyan => "#59b8c9",
        Color::Black => "#16181d",
        _ => return None,
    })
}
