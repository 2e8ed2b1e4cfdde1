//! One run: how it stands, and its steps as a table, a drawing or bars over time.
//!
//! A step in a line is that of the live view of `tidewheel run`.

use ratatui::layout::Rect;
use tidewheel_client::text::count;

use super::overview::waiting;
use super::paper::Paper;
use super::{about, graph, time};
use crate::model::{Model, Part, Shown, Watched};
use crate::run::{Canvas, Line, Phase, RowStyle, Signs, Tone, phase_word, progress, step_row};

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(watched) = model.watched.as_ref().filter(|it| it.since.is_some()) else {
        return waiting(paper, area);
    };
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let now = watched.elapsed(model.now);
    let canvas = Canvas { width, height: 1, now, eta: watched.eta, has_keys: true, signs };
    paper.line((area.x, area.y), width, &head(watched, &canvas));
    let body = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    if watched.shown != Shown::About && !watched.model.critical.is_empty() {
        paper.line((area.x, area.y + 1), width, &legend(watched, signs));
    }
    match watched.shown {
        Shown::Steps => table(model, watched, paper, body),
        Shown::Graph => graph::draw(watched, paper, body),
        Shown::Time => time::draw(model, watched, paper, body),
        Shown::About => about::draw(model, watched, paper, body),
    }
}

/// How it stands, the bar, the counts and the time left.
fn head(watched: &Watched, canvas: &Canvas) -> Line {
    let (mut state, mut tone) = phase_word(watched.model.phase);
    if watched.state == Some(tidewheel_client::api::RunState::Interrupted) {
        (state, tone) = ("interrupted", Tone::Bad);
    }
    let elapsed = tidewheel_client::text::about(watched.model.elapsed(canvas.now));
    let mut line = Line::new().with(Tone::Plain, " ").with(tone, state);
    line.push(Tone::Plain, format!(" {elapsed}"));
    let rest = Canvas { width: canvas.width.saturating_sub(line.width()), ..*canvas };
    line.append(progress(&watched.model, &rest));
    line
}

/// What the mark before steps means.
fn legend(watched: &Watched, signs: &Signs) -> Line {
    let words = match watched.model.phase {
        Phase::Ended { .. } => " decided how long it took",
        _ => " decided how long it took so far",
    };
    let line = Line::new().with(Tone::Plain, " ").with(Tone::Strong, signs.critical);
    line.with(Tone::Faint, words)
}

fn table(model: &Model, watched: &Watched, paper: &mut Paper<'_>, area: Rect) {
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let now = watched.elapsed(model.now);
    let style = RowStyle::new(&watched.model, width, now, signs);
    let shown = watched.shown();
    if shown.is_empty() {
        let words = match (watched.part, watched.model.phase) {
            _ if !watched.list.filter.is_empty() => "  no step is called so",
            (Part::Failed, Phase::Ended { .. }) => "  no step failed",
            (Part::Failed, _) => "  no step has failed",
            _ => "  there are no steps",
        };
        return paper.line((area.x, area.y), width, &Line::new().with(Tone::Faint, words));
    }
    let selected = watched.list.cursor.min(shown.len() - 1);
    let room = usize::from(area.height);
    let window = watched.list.window(shown.len(), room);
    let is_cut = window.len() < shown.len();
    let rows: Vec<(Option<usize>, Line)> =
        window.map(|row| (Some(row), step_row(&watched.model, shown[row], &style))).collect();
    paper.rows(area, rows, Some(selected));
    if is_cut {
        let place = format!(" {} of {} ", selected + 1, count(shown.len(), "step"));
        let line = Line::new().with(Tone::Faint, place);
        let x = area.right().saturating_sub(line.width() as u16);
        paper.line((x, area.y - 1), line.width(), &line);
    }
}
