//! A step: what is known of it, or what it wrote.
//!
//! The log is in [`super::log`].

use ratatui::layout::Rect;
use tidewheel_client::api::{AttemptLine, RunState, StepState};
use tidewheel_client::desk::attempt_state;
use tidewheel_client::text::{self, harmless, name, sentence};

use super::paper::{Paper, rows_at_once};
use super::words::{clock, column, heading, seconds};
use super::{log, overview};
use crate::message::StepKnown;
use crate::model::Model;
use crate::run::{Line, Signs, Tone, UNICODE};

/// Letters of an output that are shown.
const VALUE_MAX: usize = 20_000;

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(reading) = &model.reading else { return };
    if reading.is_log {
        return log::draw(model, reading, paper, area);
    }
    let Some(known) = &reading.known else { return overview::waiting(paper, area) };
    let lines = lines(known, model, area.width.into(), paper.theme.signs);
    paper.part(area, lines, reading.details.cursor);
}

/// The places to which what is known of a step can be scrolled.
pub(crate) fn details_places(model: &Model) -> usize {
    let known = model.reading.as_ref().and_then(|reading| reading.known.as_ref());
    let width = usize::from(model.size.0);
    let count = known.map_or(0, |known| lines(known, model, width, &UNICODE).len());
    count - rows_at_once(count, model.room()) + 1
}

fn lines(known: &StepKnown, model: &Model, width: usize, signs: &'static Signs) -> Vec<Line> {
    let mut lines = Vec::new();
    let goes_on = model.run_state() == Some(RunState::Running);
    let state = known.result.as_ref().map(|it| it.state);
    let is_running = goes_on && state == Some(StepState::Running);
    let mut say = |word: &str, tone: Tone, text: &str| {
        let first = Line::new().with(Tone::Faint, format!("  {word:<10}"));
        push_wrapped(&mut lines, first, (tone, text), width);
    };
    if let Some(it) = &known.result {
        let tolerated = if it.tolerated { ", which is tolerated" } else { "" };
        say("state", Tone::of(it.state), &format!("{}{tolerated}", it.state));
        if let Some(reason) = &it.reason {
            say("why", Tone::Plain, &sentence(reason));
        }
        if let Some(element) = &it.element {
            say("element", Tone::Plain, &harmless(&element.to_string()));
        }
        if let Some(at) = it.started_at {
            say("started", Tone::Plain, &clock(model, at));
        }
        match (it.started_at, it.ended_at) {
            (Some(from), Some(to)) => say("took", Tone::Plain, &text::took(to.since(from))),
            (Some(from), None) if is_running => {
                say(
                    "running",
                    Tone::Active,
                    &format!("for {}", text::about(model.now.since(from))),
                );
            }
            _ => {}
        }
        if let Some(code) = it.code {
            say("code", Tone::Plain, &code.to_string());
        }
        for error in it.error.iter().chain(&it.timeout) {
            say("error", Tone::Bad, &sentence(error));
        }
        for warning in &it.warnings {
            say("warning", Tone::Doubtful, &sentence(warning));
        }
    }
    if let Some(it) = &known.explained {
        // How long it runs is said above, as of now.
        if !is_running {
            say("explained", Tone::Plain, &sentence(&it.why));
        }
        for needed in &it.waits_for {
            say("waits for", Tone::Plain, &name(needed));
        }
        if let Some(start) = it.expected_start_seconds {
            say("expected", Tone::Plain, &format!("to start in {}", seconds(start)));
        }
    }
    if let Some(list) = known.attempts.as_ref().filter(|list| !list.attempts.is_empty()) {
        lines.push(Line::new());
        lines.push(heading("ATTEMPTS", width));
        list.attempts.iter().for_each(|it| attempt(&mut lines, it, model, width, signs));
    }
    let outputs = known.result.iter().flat_map(|result| result.outputs.iter());
    let outputs: Vec<_> = outputs.collect();
    if !outputs.is_empty() {
        lines.push(Line::new());
        lines.push(heading("OUTPUTS", width));
    }
    for (key, value) in outputs {
        output(&mut lines, key, value, width);
    }
    lines
}

/// Adds a text behind the beginning of a line, in as many lines as it takes.
pub(super) fn push_wrapped(
    lines: &mut Vec<Line>,
    first: Line,
    (tone, text): (Tone, &str),
    width: usize,
) {
    let indent = first.width();
    let mut line = first;
    for row in text::wrapped(text, width.saturating_sub(indent).max(1)) {
        line.pad_to(indent);
        line.push(tone, row);
        lines.push(std::mem::take(&mut line));
    }
}

fn attempt(
    lines: &mut Vec<Line>,
    it: &AttemptLine,
    model: &Model,
    width: usize,
    signs: &'static Signs,
) {
    let mut line = Line::new().with(Tone::Plain, format!("  {:>3}  ", it.attempt));
    let indent = line.width();
    let state = it.outcome.as_deref().map_or(StepState::Running, attempt_state);
    column(&mut line, Tone::of(state), it.outcome.as_deref().unwrap_or("running"), 10, signs);
    let began = it.started_at.map(|at| clock(model, at)).unwrap_or_default();
    column(&mut line, Tone::Plain, &began, 12, signs);
    let took = it.started_at.zip(it.ended_at).map(|(from, to)| text::took(to.since(from)));
    column(&mut line, Tone::Plain, &took.unwrap_or_default(), 7, signs);
    let code = it.code.map(|code| format!("code {code}"));
    let signal = it.signal.map(|signal| format!("signal {signal}"));
    let error = it.error.as_deref().map(sentence);
    let rest: Vec<String> = [code, signal, error].into_iter().flatten().collect();
    let rest = rest.join(", ");
    // Where there is no room beside it, or not for all of it, it has lines of its own.
    if text::columns(&rest) > width.saturating_sub(line.width()) {
        lines.push(line);
        line = Line::new().with(Tone::Plain, " ".repeat(indent));
    }
    push_wrapped(lines, line, (Tone::Plain, &rest), width);
}

/// A value: what is text line by line, all else as JSON.
pub(super) fn output(lines: &mut Vec<Line>, key: &str, value: &serde_json::Value, width: usize) {
    let written = match value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let cut: String = written.chars().take(VALUE_MAX).collect();
    let mut texts = cut.lines();
    let first = Line::new().with(Tone::Active, format!("  {}  ", name(key)));
    // Nobody reads a column of letters behind a long name.
    let first = match first.width() > width / 2 {
        true => {
            push_wrapped(lines, Line::new(), (Tone::Active, &format!("  {}", name(key))), width);
            Line::new().with(Tone::Plain, "    ")
        }
        false => first,
    };
    let beside = harmless(texts.next().unwrap_or_default());
    push_wrapped(lines, first, (Tone::Plain, &beside), width);
    for text in texts {
        let first = Line::new().with(Tone::Plain, "    ");
        push_wrapped(lines, first, (Tone::Plain, &harmless(text)), width);
    }
    let more = written.chars().count().saturating_sub(VALUE_MAX);
    if more > 0 {
        let words =
            format!("    and {} more; `tidewheel show` has all", text::count(more, "letter"));
        lines.push(Line::new().with(Tone::Faint, words));
    }
}
