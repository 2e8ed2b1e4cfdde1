//! What a run was started with, by whom, and which files it left.
//!
//! How its steps stand is in [`super::run`].

use ratatui::layout::Rect;
use tidewheel_client::api::{OriginWord, RunOrigin, RunResult};
use tidewheel_client::text::{bytes, harmless, name, sentence, short_id, took};

use super::overview::waiting;
use super::paper::{Paper, rows_at_once};
use super::step::{output, push_wrapped};
use super::words::{clock, heading};
use crate::model::{Model, Watched};
use crate::run::{Line, Tone};

pub(super) fn draw(model: &Model, watched: &Watched, paper: &mut Paper<'_>, area: Rect) {
    let Some(about) = &watched.about else { return waiting(paper, area) };
    paper.part(area, lines(about, model, area.width.into()), watched.about_top);
}

/// The places to which it can be scrolled.
pub(crate) fn about_places(model: &Model) -> usize {
    let about = model.watched.as_ref().and_then(|watched| watched.about.as_ref());
    let count = about.map_or(0, |about| lines(about, model, model.size.0.into()).len());
    count - rows_at_once(count, model.room().saturating_sub(2)) + 1
}

fn lines(about: &RunResult, model: &Model, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut say = |word: &str, text: &str| {
        let first = Line::new().with(Tone::Faint, format!("  {word:<10}"));
        push_wrapped(&mut lines, first, (Tone::Plain, text), width);
    };
    say("run", &name(&about.run_id));
    say("made", &about.origin.as_ref().map_or_else(|| BY_HAND.to_owned(), |it| made(it, model)));
    let began = about.started_at.unwrap_or(about.accepted_at);
    let waited = began.since(about.accepted_at);
    let waited = if waited.as_secs() > 0 {
        format!(", waited {} before", took(waited))
    } else {
        String::new()
    };
    say("began", &format!("{}{waited}", clock(model, began)));
    if let Some(end) = about.ended_at {
        say("ended", &format!("{}, took {}", clock(model, end), took(end.since(began))));
    }
    if let Some(reason) = &about.reason {
        say("why", &sentence(reason));
    }
    if !about.tags.is_empty() {
        say("tags", &sentence(&about.tags.join(", ")));
    }
    if !about.params.is_empty() {
        lines.push(Line::new());
        lines.push(heading("PARAMS", width));
    }
    for (key, value) in &about.params {
        output(&mut lines, key, value, width);
    }
    if !about.artifacts.is_empty() {
        lines.push(Line::new());
        lines.push(heading("FILES LEFT", width));
    }
    for file in &about.artifacts {
        let first = Line::new().with(Tone::Active, format!("  {}  ", name(&file.name)));
        let from =
            format!("{} of {}, in {}", bytes(file.bytes), name(&file.step), harmless(&file.path));
        push_wrapped(&mut lines, first, (Tone::Faint, &from), width);
    }
    lines
}

/// Nobody else is known to have made it.
const BY_HAND: &str = "started by hand";

/// What made it.
fn made(origin: &RunOrigin, model: &Model) -> String {
    let nominal = origin.nominal.map(|at| format!(" for {}", clock(model, at))).unwrap_or_default();
    match (origin.by, &origin.schedule, &origin.run_id) {
        (OriginWord::Retry, _, Some(run)) => format!("run {} made again", short_id(run)),
        (OriginWord::Schedule, Some(schedule), _) => {
            let asked = match origin.firing.as_deref() {
                Some("backfill") => ", a backfill",
                Some("by-hand") => ", fired by hand",
                _ => "",
            };
            format!("by the schedule {}{nominal}{asked}", name(schedule))
        }
        (OriginWord::Schedule, None, _) => format!("by a schedule that is gone{nominal}"),
        _ => BY_HAND.to_owned(),
    }
}
