//! The first screen: what asks, fails and is late, what runs, and how flows do.
//!
//! What its rows are is in [`crate::model`].

use ratatui::layout::Rect;
use tidewheel_client::api::Glance;
use tidewheel_client::text::{self, name, sentence};

use super::paper::Paper;
use super::words::{away, bar, bars, column, run_mark};
use crate::model::{Model, Row, rows};
use crate::run::{Line, Signs, Tone};

/// From so many columns on, flows stand beside the rest.
const WIDE: u16 = 120;

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(glance) = &model.glance else { return waiting(paper, area) };
    let rows = rows(model);
    let selected = model.overview.cursor.min(rows.len().saturating_sub(1));
    if rows.is_empty() {
        let words = "  nothing yet: `tidewheel run FILE` runs a flow, `tidewheel serve` flows by themselves";
        return paper.line((area.x, area.y), usize::from(area.width), &faint(words));
    }
    let is_flow = |row: &Row| matches!(row, Row::Flow(_));
    let flows = rows.iter().position(is_flow).unwrap_or(rows.len());
    let numbered: Vec<(usize, Row)> = rows.into_iter().enumerate().collect();
    let (left, right) = match area.width >= WIDE && flows > 0 && flows < numbered.len() {
        true => {
            let half = area.width / 2;
            let right = Rect { x: area.x + half, width: area.width - half, ..area };
            (Rect { width: half - 1, ..area }, Some(right))
        }
        false => (area, None),
    };
    match right {
        Some(right) => {
            list(model, glance, paper, left, &numbered[..flows], selected);
            list(model, glance, paper, right, &numbered[flows..], selected);
        }
        None => list(model, glance, paper, left, &numbered, selected),
    }
}

/// Nothing is known yet.
pub(super) fn waiting(paper: &mut Paper<'_>, area: Rect) {
    paper.line((area.x, area.y), usize::from(area.width), &faint("  …"));
}

fn faint(words: &str) -> Line {
    Line::new().with(Tone::Faint, words)
}

/// Draws rows below the headings of their kinds, so that the selected one is seen.
fn list(
    model: &Model,
    glance: &Glance,
    paper: &mut Paper<'_>,
    area: Rect,
    rows: &[(usize, Row)],
    selected: usize,
) {
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    let mut heading = "";
    for (number, row) in rows {
        let words = kind(*row);
        if words != heading {
            if !heading.is_empty() {
                lines.push((None, Line::new()));
            }
            heading = words;
            lines.push((None, Line::new().with(Tone::Strong, format!(" {words}"))));
        }
        lines.push((Some(*number), line(model, glance, *row, width, signs)));
    }
    let at = lines.iter().position(|(row, _)| *row == Some(selected)).unwrap_or_default();
    let shown = crate::model::List { cursor: at, filter: String::new() };
    let shown = shown.window(lines.len(), usize::from(area.height));
    paper.rows(area, lines.drain(shown), Some(selected));
}

fn kind(row: Row) -> &'static str {
    match row {
        Row::Asks(_) => "ASKS",
        Row::Fails(_) => "FAILS",
        Row::Late(_) => "LATE",
        Row::Runs(_) => "RUNS",
        Row::Flow(_) => "FLOWS",
    }
}

fn line(model: &Model, glance: &Glance, row: Row, width: usize, signs: &'static Signs) -> Line {
    let flow = |flow: &Option<String>| name(flow.as_deref().unwrap_or("-"));
    let names = (width / 4).clamp(10, 28);
    let mut line = Line::new().with(Tone::Plain, "  ");
    match row {
        Row::Asks(place) => {
            let it = &glance.approvals[place];
            line.push(Tone::Doubtful, format!("{} ", signs.unknown));
            column(&mut line, Tone::Strong, &flow(&it.flow), names, signs);
            let since = it.since.map_or_else(String::new, |at| away(at, model.now));
            column(&mut line, Tone::Faint, &since, 10, signs);
            let asks = format!("{}: {}", name(&it.step), sentence(&it.asks));
            line.push_cut(Tone::Plain, &asks, width, signs);
        }
        Row::Fails(place) => {
            let it = &glance.failing[place];
            let (mark, tone) = run_mark(it.state, signs);
            line.push(tone, format!("{mark} "));
            column(&mut line, Tone::Strong, &flow(&it.flow), names, signs);
            let at = it.ended_at.unwrap_or(it.accepted_at);
            column(&mut line, Tone::Faint, &away(at, model.now), 10, signs);
            let error = it.error.as_deref().map_or_else(|| it.state.to_string(), sentence);
            line.push_cut(Tone::Plain, &error, width, signs);
        }
        Row::Late(place) => {
            let it = &glance.late[place];
            line.push(Tone::Doubtful, format!("{} ", signs.delayed));
            column(&mut line, Tone::Strong, &name(&it.name), names, signs);
            let due = it.next.map_or_else(String::new, |at| format!("due {}", away(at, model.now)));
            line.push_cut(Tone::Plain, &due, width, signs);
        }
        Row::Runs(place) => run(model, glance, place, names, width, signs, &mut line),
        Row::Flow(place) => self::flow(model, glance, place, names, width, signs, &mut line),
    }
    line.fit(width);
    line
}

fn run(
    model: &Model,
    glance: &Glance,
    place: usize,
    names: usize,
    width: usize,
    signs: &'static Signs,
    line: &mut Line,
) {
    let it = &glance.now[place];
    let (mark, tone) = run_mark(it.run.state, signs);
    line.push(tone, format!("{mark} "));
    column(line, Tone::Strong, &name(it.run.flow.as_deref().unwrap_or("-")), names, signs);
    let steps = it.run.steps.max(it.ended);
    line.append(bar(it.ended, steps, 10, signs));
    let done = format!(" {}/{steps}", it.ended);
    column(line, Tone::Plain, &done, 8, signs);
    let since = it.run.started_at.map_or_else(String::new, |at| text::about(model.now.since(at)));
    column(line, Tone::Plain, &since, 6, signs);
    let running: Vec<String> = it.running.iter().map(|step| name(step)).collect();
    let ends = it.expected_end.filter(|end| *end > model.now);
    let ends = ends.map(|end| format!("ends {}; ", away(end, model.now))).unwrap_or_default();
    line.push_cut(Tone::Faint, &format!("{ends}{}", running.join(", ")), width, signs);
}

fn flow(
    model: &Model,
    glance: &Glance,
    place: usize,
    names: usize,
    width: usize,
    signs: &'static Signs,
    line: &mut Line,
) {
    let it = &glance.flows[place];
    let last = it.runs.last().map(|run| run_mark(run.state, signs));
    let (mark, tone) = last.unwrap_or((signs.blocked, Tone::Faint));
    line.push(tone, format!("{mark} "));
    column(line, Tone::Plain, &name(&it.name), names, signs);
    let most = if width < 100 { 12 } else { 24 };
    line.append(bars(&it.runs, most));
    line.push(Tone::Plain, "  ");
    let ok = it.ok.map_or_else(String::new, |ok| format!("{:>3.0}%", ok * 100.0));
    column(line, if it.ok < Some(0.9) { Tone::Doubtful } else { Tone::Plain }, &ok, 4, signs);
    let median = it.median.map(text::took).unwrap_or_default();
    column(line, Tone::Plain, &median, 6, signs);
    if it.outdated {
        line.push_cut(Tone::Bad, "its file cannot be run ", width, signs);
    }
    let next = it.next.map(|at| format!("next {}", away(at, model.now))).unwrap_or_default();
    line.push_cut(Tone::Faint, &next, width, signs);
}
