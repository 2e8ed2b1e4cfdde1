//! Times, states and bars in the words and signs of the screens.
//!
//! What they are of is decided by each screen.

use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel_client::api::{PastRun, RunState, WaitingStep};
use tidewheel_client::text::{self, sentence};

use crate::model::Model;
use crate::run::{Line, Signs, Tone};

/// The mark of a run's state, and its tone.
pub(super) fn run_mark(state: RunState, signs: &Signs) -> (&'static str, Tone) {
    match state {
        RunState::Running => (signs.spinner[0], Tone::Active),
        RunState::Waiting => (signs.ready, Tone::Doubtful),
        RunState::Paused => (signs.delayed, Tone::Doubtful),
        RunState::Interrupted => (signs.unknown, Tone::Bad),
        RunState::Succeeded => (signs.succeeded, Tone::Good),
        RunState::Failed => (signs.failed, Tone::Bad),
        RunState::Skipped => (signs.skipped, Tone::Doubtful),
        RunState::Cancelled => (signs.cancelled, Tone::Doubtful),
        RunState::Unknown => (signs.unknown, Tone::Bad),
    }
}

/// How long ago something was, or how soon it is: "3m ago", "in 2h".
pub(super) fn away(at: Timestamp, now: Timestamp) -> String {
    match at <= now {
        true => format!("{} ago", text::about(now.since(at))),
        false => format!("in {}", text::about(at.since(now))),
    }
}

/// A time of day, with the day where that is another one.
pub(super) fn clock(model: &Model, at: Timestamp) -> String {
    let local = |at: Timestamp| {
        let at = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default();
        at.to_zoned(model.zone.clone())
    };
    let (at, now) = (local(at), local(model.now));
    match at.date() == now.date() {
        true => at.strftime("%H:%M:%S").to_string(),
        false => at.strftime("%d %b %H:%M").to_string(),
    }
}

/// The time of day. Without seconds: while nothing happens, nothing is drawn for their sake.
pub(super) fn time_of_day(model: &Model) -> String {
    let at = jiff::Timestamp::from_microsecond(model.now.as_micros()).unwrap_or_default();
    at.to_zoned(model.zone.clone()).strftime("%H:%M").to_string()
}

/// Why a step waits, and from when on nothing that becomes ready later goes before it, where waiting leads to that.
pub(super) fn why(model: &Model, it: &WaitingStep) -> String {
    let mut why: Vec<String> = it.why.iter().map(|why| sentence(why)).collect();
    let seconds = it.unpassed_in_seconds.map(|it| Duration::from_secs_f64(it.clamp(0.0, 1e9)));
    why.extend(seconds.map(|seconds| model.line_at.after(seconds)).map(|at| {
        match at > model.now {
            true => format!("not overtaken after {}", clock(model, at)),
            false => "not overtaken any more".to_owned(),
        }
    }));
    why.join("; ")
}

/// Seconds as a time.
pub(crate) fn seconds(seconds: f64) -> String {
    text::took(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
}

/// Past runs as bars, the newest last: as high as they took long, and coloured by how they ended.
pub(super) fn bars(runs: &[PastRun], most: usize) -> Line {
    const HEIGHTS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let shown = &runs[runs.len().saturating_sub(most)..];
    let longest = shown.iter().filter_map(|run| run.took).max().unwrap_or_default();
    let mut line = Line::new();
    line.pad_to(most - shown.len());
    for run in shown {
        let took = run.took.unwrap_or_default().as_secs_f64();
        let share = if longest.is_zero() { 0.0 } else { took / longest.as_secs_f64() };
        let tone = match run.state {
            RunState::Succeeded => Tone::Good,
            RunState::Failed | RunState::Unknown => Tone::Bad,
            RunState::Running => Tone::Active,
            _ => Tone::Doubtful,
        };
        line.push(tone, HEIGHTS[((share * 7.0).round() as usize).min(7)]);
    }
    line
}

/// A bar that is filled in part.
pub(super) fn bar(done: u32, all: u32, width: usize, signs: &Signs) -> Line {
    let filled = (done as usize * width).checked_div(all as usize).unwrap_or(0).min(width);
    Line::new()
        .with(Tone::Good, signs.done.repeat(filled))
        .with(Tone::Faint, signs.todo.repeat(width - filled))
}

/// What the rows below are, with a rule up to the end of so many columns.
pub(super) fn heading(words: &str, width: usize) -> Line {
    let line = Line::new().with(Tone::Strong, format!(" {words}"));
    ruled(line, width)
}

/// A line with a rule from its end on.
pub(super) fn ruled(mut line: Line, width: usize) -> Line {
    line.push(Tone::Plain, " ");
    let rest = width.saturating_sub(line.width() + 1);
    line.push(Tone::Faint, "─".repeat(rest));
    line
}

/// Adds a text in a column of so many letters, and two spaces.
pub(super) fn column(line: &mut Line, tone: Tone, text: &str, width: usize, signs: &Signs) {
    let end = line.width() + width;
    line.push_cut(tone, text, end, signs);
    line.pad_to(end + 2);
}
