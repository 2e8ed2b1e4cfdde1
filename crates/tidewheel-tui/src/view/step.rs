//! A step: what is known of it, or what it wrote.
//!
//! The log is in [`super::log`].

use ratatui::layout::Rect;
use tidewheel_client::api::{AttemptLine, StepState};
use tidewheel_client::text::{self, harmless, name, sentence};

use super::paper::Paper;
use super::words::{clock, column, heading, seconds};
use super::{log, overview};
use crate::message::StepKnown;
use crate::model::{Model, Reading};
use crate::run::{Line, Signs, Tone, UNICODE};

/// Letters of an output that are shown.
const VALUE_MAX: usize = 2000;

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(reading) = &model.reading else { return };
    if reading.is_log {
        return log::draw(model, reading, paper, area);
    }
    let Some(known) = &reading.known else { return overview::waiting(paper, area) };
    let width = usize::from(area.width);
    let lines = lines(known, model, width, paper.theme.signs);
    let top = reading.details.cursor.min(lines.len().saturating_sub(1));
    let rows: Vec<(Option<usize>, Line)> =
        lines.into_iter().skip(top).map(|line| (None, line)).collect();
    paper.rows(area, rows, None);
}

/// How far what is known of a step can be scrolled.
pub(crate) fn details_rows(reading: &Reading) -> usize {
    let now = tidewheel::Timestamp::UNIX_EPOCH;
    let zone = jiff::tz::TimeZone::UTC;
    let model = Model::new(String::new(), crate::model::Attached::Desk, now, zone);
    reading.known.as_ref().map_or(0, |known| lines(known, &model, 80, &UNICODE).len())
}

fn lines(known: &StepKnown, model: &Model, width: usize, signs: &'static Signs) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut say = |word: &str, tone: Tone, text: &str| {
        let mut line = Line::new().with(Tone::Faint, format!("  {word:<10}"));
        line.push_cut(tone, text, width, signs);
        lines.push(line);
    };
    if let Some(it) = &known.result {
        let tolerated = if it.tolerated { ", which is tolerated" } else { "" };
        say("state", tone(it.state), &format!("{}{tolerated}", it.state));
        if let Some(reason) = &it.reason {
            say("why", Tone::Plain, &sentence(reason));
        }
        if let Some(element) = &it.element {
            say("element", Tone::Plain, &harmless(&element.to_string()));
        }
        if let Some(at) = it.started_at {
            say("started", Tone::Plain, &clock(model, at));
        }
        if let (Some(from), Some(to)) = (it.started_at, it.ended_at) {
            say("took", Tone::Plain, &text::took(to.since(from)));
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
        say("explained", Tone::Plain, &sentence(&it.why));
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
        lines.extend(list.attempts.iter().map(|it| attempt(it, model, width, signs)));
    }
    let outputs = known.result.iter().flat_map(|result| result.outputs.iter());
    let outputs: Vec<_> = outputs.collect();
    if !outputs.is_empty() {
        lines.push(Line::new());
        lines.push(heading("OUTPUTS", width));
    }
    for (key, value) in outputs {
        lines.extend(output(key, value, width, signs));
    }
    lines
}

fn attempt(it: &AttemptLine, model: &Model, width: usize, signs: &'static Signs) -> Line {
    let mut line = Line::new().with(Tone::Plain, format!("  {:>3}  ", it.attempt));
    let outcome = it.outcome.as_deref().unwrap_or("running");
    let tone = match outcome {
        "succeeded" => Tone::Good,
        "running" => Tone::Active,
        _ => Tone::Bad,
    };
    column(&mut line, tone, outcome, 10, signs);
    let began = it.started_at.map(|at| clock(model, at)).unwrap_or_default();
    column(&mut line, Tone::Plain, &began, 12, signs);
    let took = it.started_at.zip(it.ended_at).map(|(from, to)| text::took(to.since(from)));
    column(&mut line, Tone::Plain, &took.unwrap_or_default(), 7, signs);
    let code = it.code.map(|code| format!("code {code}"));
    let signal = it.signal.map(|signal| format!("signal {signal}"));
    let error = it.error.as_deref().map(sentence);
    let rest: Vec<String> = [code, signal, error].into_iter().flatten().collect();
    line.push_cut(Tone::Plain, &rest.join(", "), width, signs);
    line
}

/// A value: what is text line by line, all else as JSON.
fn output(key: &str, value: &serde_json::Value, width: usize, signs: &'static Signs) -> Vec<Line> {
    let written = match value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let cut: String = written.chars().take(VALUE_MAX).collect();
    let mut texts = cut.lines();
    let mut line = Line::new().with(Tone::Active, format!("  {}", name(key)));
    line.push(Tone::Plain, "  ");
    line.push_cut(Tone::Plain, &harmless(texts.next().unwrap_or_default()), width, signs);
    let mut lines = vec![line];
    for text in texts {
        let mut line = Line::new().with(Tone::Plain, "    ");
        line.push_cut(Tone::Plain, &harmless(text), width, signs);
        lines.push(line);
    }
    if cut.len() < written.len() {
        lines.push(Line::new().with(Tone::Faint, format!("    {} more", signs.more)));
    }
    lines
}

fn tone(state: StepState) -> Tone {
    match state {
        StepState::Succeeded => Tone::Good,
        StepState::Failed | StepState::Unknown => Tone::Bad,
        StepState::Running => Tone::Active,
        StepState::Pending => Tone::Plain,
        StepState::Skipped | StepState::Cancelled => Tone::Doubtful,
    }
}
