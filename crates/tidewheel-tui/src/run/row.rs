//! One step as one line: its mark, name, state, time, and what else there is to say.
//!
//! Which steps are shown is decided elsewhere.

use std::time::Duration;

use tidewheel_client::progress::EndState;
use tidewheel_client::text;

use super::line::{Line, Signs, Tone};
use super::model::{Model, Phase, Status, Step};

/// Below this many columns there is no room for states and times in columns of their own.
const COLUMNS_WIDE: usize = 60;
/// Columns of the longest word for a state.
const WORD_WIDTH: usize = 9;
/// Columns of the longest time.
const TIME_WIDTH: usize = 6;
/// Columns before a name.
const INDENT: usize = 3;
/// Names of steps that are waited for, before the rest is counted.
const NAMES_MAX: usize = 3;
/// How long a picture of the spinner is shown.
const SPINNER_STEP: Duration = Duration::from_millis(100);

/// How rows look: the same for all rows of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowStyle {
    pub width: usize,
    pub name_width: usize,
    pub now: Duration,
    pub signs: &'static Signs,
}

impl RowStyle {
    pub fn new(model: &Model, width: usize, now: Duration, signs: &'static Signs) -> Self {
        let most = if width < COLUMNS_WIDE { width * 2 / 5 } else { width * 3 / 8 };
        Self { width, name_width: model.name_width.clamp(4, most.clamp(4, 48)), now, signs }
    }

    fn is_wide(&self) -> bool {
        self.width >= COLUMNS_WIDE
    }
}

/// The line of a step.
pub(crate) fn step(model: &Model, index: usize, style: &RowStyle) -> Line {
    let Some(step) = model.steps.get(index) else { return Line::new() };
    let signs = style.signs;
    let (mark, tone) = mark(step, model, style);
    let name_end = INDENT + style.name_width;
    let mut line = margin(model, index, signs).with(tone, mark).with(Tone::Plain, " ");
    line.push_cut(name_tone(step), &step.name, name_end.min(style.width), signs);
    line.pad_to((name_end + 2).min(style.width));
    let time = time(step, style);
    let detail = detail(model, step, style.now);
    let time_tone = if step.attempt == 0 { Tone::Faint } else { Tone::Plain };
    if style.is_wide() {
        line.push(tone, word(step));
        line.pad_to(name_end + 2 + WORD_WIDTH + 2);
        let padding = TIME_WIDTH.saturating_sub(text::columns(&time));
        line.push(time_tone, format!("{}{time}", " ".repeat(padding)));
        line.pad_to(name_end + 2 + WORD_WIDTH + 2 + TIME_WIDTH + 2);
        line.push_cut(detail_tone(step), &detail, style.width, signs);
        return line;
    }
    let is_waiting = step.attempt == 0;
    if !time.is_empty() && !is_waiting {
        line.push_cut(time_tone, &time, style.width, signs);
        line.push_cut(Tone::Plain, "  ", style.width, signs);
    } else if detail.is_empty() {
        line.push_cut(tone, word(step), style.width, signs);
    }
    line.push_cut(detail_tone(step), &detail, style.width, signs);
    line
}

/// The column before a step: whether it decided how long the run took.
pub(crate) fn margin(model: &Model, index: usize, signs: &Signs) -> Line {
    match model.critical.contains(&index) {
        true => Line::new().with(Tone::Strong, signs.critical),
        false => Line::new().with(Tone::Plain, " "),
    }
}

/// A line of output below its step.
pub(crate) fn tail(text: &str, style: &RowStyle) -> Line {
    let mut line = Line::new();
    line.push(Tone::Plain, " ".repeat(INDENT));
    line.push(Tone::Faint, style.signs.gutter);
    line.push_cut(Tone::Plain, &format!(" {text}"), style.width, style.signs);
    line
}

/// The mark of an end, and its tone.
pub(crate) fn end_mark(state: EndState, signs: &Signs) -> (&'static str, Tone) {
    match state {
        EndState::Succeeded => (signs.succeeded, Tone::Good),
        EndState::Failed => (signs.failed, Tone::Bad),
        EndState::Skipped => (signs.skipped, Tone::Doubtful),
        EndState::Cancelled => (signs.cancelled, Tone::Doubtful),
        EndState::Unknown => (signs.unknown, Tone::Bad),
    }
}

fn mark(step: &Step, model: &Model, style: &RowStyle) -> (&'static str, Tone) {
    let signs = style.signs;
    match step.status {
        Status::Ended(EndState::Failed) if step.is_tolerated() => (signs.failed, Tone::Doubtful),
        Status::Ended(state) => end_mark(state, signs),
        Status::Running { .. } => (spinner(model.elapsed(style.now), signs), Tone::Active),
        Status::Delayed { .. } => (signs.delayed, Tone::Doubtful),
        Status::Ready => (signs.ready, Tone::Faint),
        Status::Blocked => (signs.blocked, Tone::Faint),
    }
}

fn spinner(now: Duration, signs: &Signs) -> &'static str {
    let turn = now.as_millis() / SPINNER_STEP.as_millis();
    signs.spinner[(turn % signs.spinner.len() as u128) as usize]
}

fn word(step: &Step) -> &'static str {
    match step.status {
        Status::Ended(EndState::Failed) if step.is_tolerated() => "tolerated",
        Status::Ended(state) => state.word(),
        Status::Running { .. } if !step.why.is_empty() => "waiting",
        Status::Running { .. } => "running",
        Status::Delayed { .. } => "delayed",
        Status::Ready => "ready",
        Status::Blocked => "blocked",
    }
}

fn name_tone(step: &Step) -> Tone {
    match step.status {
        Status::Ended(EndState::Failed) if !step.is_tolerated() => Tone::Strong,
        Status::Running { .. } => Tone::Strong,
        Status::Blocked | Status::Ready => Tone::Faint,
        _ => Tone::Plain,
    }
}

fn detail_tone(step: &Step) -> Tone {
    match step.status {
        Status::Ended(EndState::Failed) | Status::Ended(EndState::Unknown) => Tone::Plain,
        _ => Tone::Faint,
    }
}

fn time(step: &Step, style: &RowStyle) -> String {
    match step.status {
        Status::Running { since } => text::about(style.now.saturating_sub(since)),
        Status::Ended(_) => step.took.map(text::took).unwrap_or_default(),
        Status::Delayed { .. } => String::new(),
        Status::Blocked | Status::Ready => step.expected.map_or_else(String::new, |expected| {
            format!("{}{}", style.signs.about, text::about(rounded(expected)))
        }),
    }
}

/// What else there is to say about a step.
pub(crate) fn detail(model: &Model, step: &Step, now: Duration) -> String {
    let attempt = attempt(step, step.attempt);
    match step.status {
        Status::Running { .. } => {
            // How long somebody takes to answer is not known from before.
            let expected = step
                .expected
                .filter(|_| step.why.is_empty())
                .map(|expected| format!("of about {}", text::about(rounded(expected))));
            joined([step.why.clone(), expected.unwrap_or_default(), attempt])
        }
        Status::Delayed { until } => {
            let next = self::attempt(step, step.attempt + 1);
            let wait = format!("retry in {}", text::due(until.saturating_sub(now)));
            let wait = if step.why.is_empty() { wait } else { format!("{wait}: {}", step.why) };
            joined([wait, next])
        }
        Status::Ended(_) => match &step.end {
            Some(end) if end.reason == end.error => joined([end.error.clone(), attempt]),
            Some(end) => joined([end.error.clone(), end.reason.clone(), attempt]),
            None => attempt,
        },
        Status::Blocked | Status::Ready if !step.why.is_empty() => step.why.clone(),
        Status::Blocked => waits_for(model, step),
        Status::Ready => ready(model).to_owned(),
    }
}

/// Why a step that waits for no other does not run.
fn ready(model: &Model) -> &'static str {
    match model.phase {
        Phase::Waiting => "waits: others of its group go on",
        Phase::Paused => "waits: the run is paused",
        Phase::Draining | Phase::Killing => "will not start: the run is stopping",
        Phase::Running | Phase::Ended { .. } => "",
    }
}

/// "attempt 2 of 3", if it is not the first.
fn attempt(step: &Step, number: u32) -> String {
    match step.attempts_max {
        _ if number < 2 => String::new(),
        Some(most) => format!("attempt {number} of {}", most.max(number)),
        None => format!("attempt {number}"),
    }
}

fn waits_for(model: &Model, step: &Step) -> String {
    let names = step.after.iter().map(|&before| &model.steps[before]);
    let names = names.filter(|before| !matches!(before.status, Status::Ended(_)));
    let names: Vec<&str> = names.take(NAMES_MAX).map(|before| before.name.as_str()).collect();
    let more = step.unmet.saturating_sub(names.len());
    let list = names.join(", ");
    match more {
        0 => format!("waits for {list}"),
        more => format!("waits for {list} and {more} more"),
    }
}

fn joined<const N: usize>(parts: [String; N]) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

/// Past durations are no promise, so seconds are rounded up.
fn rounded(duration: Duration) -> Duration {
    Duration::from_secs(duration.as_millis().div_ceil(1000) as u64)
}
