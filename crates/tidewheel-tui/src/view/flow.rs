//! A flow: how it did in its last runs, and its files with what is wrong there.
//!
//! Its rows are made in [`crate::model`].

use ratatui::layout::Rect;
use tidewheel_client::text;

use super::overview::waiting;
use super::paper::Paper;
use super::words::{away, bars, ruled};
use crate::model::{FlowRow, Model, ShownFlow};
use crate::run::{Line, Signs, Tone};

/// Past runs that are shown at most.
const RUNS: usize = 40;

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(flow) = &model.looked_flow else { return };
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    paper.line((area.x, area.y), width, &history(model, flow));
    let body = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    let Some(all) = &flow.rows else { return waiting(paper, body) };
    let shown = flow.shown();
    let selected = flow.list.cursor.min(shown.len().saturating_sub(1));
    let window = flow.list.window(shown.len(), body.height.into());
    let numbers = numbers(all);
    let rows = window.map(|row| (Some(row), line(&all[shown[row]], numbers, width, signs)));
    let rows: Vec<(Option<usize>, Line)> = rows.collect();
    paper.rows(body, rows, Some(selected));
}

/// Columns before the text of a line.
pub(super) fn margin(flow: &ShownFlow) -> usize {
    numbers(flow.rows.as_deref().unwrap_or_default()) + 4
}

/// Columns of the largest number of a line.
fn numbers(rows: &[FlowRow]) -> usize {
    let number = |row: &FlowRow| if let FlowRow::Line(number, _) = row { *number } else { 0 };
    rows.iter().map(number).max().unwrap_or_default().to_string().len()
}

/// Its last runs as bars, and what they come to.
fn history(model: &Model, flow: &ShownFlow) -> Line {
    let glance = model.glance.as_ref();
    let known = glance.and_then(|glance| glance.flows.iter().find(|it| it.name == flow.name));
    let Some(it) = known.filter(|it| !it.runs.is_empty()) else {
        return Line::new().with(Tone::Faint, " no run of it is known");
    };
    let mut line = Line::new().with(Tone::Plain, " ");
    line.append(bars(&it.runs, it.runs.len().min(RUNS)));
    let tone = if it.ok < Some(0.9) { Tone::Doubtful } else { Tone::Plain };
    line.push(tone, it.ok.map(|ok| format!("  {:.0}% ok", ok * 100.0)).unwrap_or_default());
    let took = it.median.map(|median| format!("  median {}", text::took(median)));
    line.push(Tone::Plain, took.unwrap_or_default());
    let next = it.next.map(|at| format!("  next {}", away(at, model.now)));
    line.push(Tone::Faint, next.unwrap_or_default());
    line
}

fn line(row: &FlowRow, numbers: usize, width: usize, signs: &'static Signs) -> Line {
    let mut line = Line::new();
    match row {
        FlowRow::File(path, note) => {
            line.push_cut(Tone::Strong, &format!(" {path}"), width, signs);
            if !note.is_empty() {
                line.push_cut(Tone::Doubtful, &format!("  {note}"), width, signs);
            }
            return ruled(line, width);
        }
        FlowRow::Line(number, text) => {
            line.push(Tone::Faint, format!(" {number:>numbers$} {} ", signs.gutter));
            line.push_cut(Tone::Plain, text, width, signs);
        }
        FlowRow::Problem(text, is_error) => {
            let (mark, tone) =
                if *is_error { (signs.failed, Tone::Bad) } else { ("!", Tone::Doubtful) };
            line.pad_to(numbers + 2);
            line.push(tone, format!("{mark} "));
            line.push_cut(tone, text, width, signs);
        }
        FlowRow::Hint(text) => {
            line.pad_to(numbers + 4);
            line.push_cut(Tone::Faint, text, width, signs);
        }
    }
    line
}
