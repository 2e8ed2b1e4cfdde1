//! Who has slots and who waits for one, in the order in which they are expected to start, with why.
//!
//! The order is the scheduler's.

use ratatui::layout::Rect;
use tidewheel_client::text::name;

use super::overview::waiting;
use super::paper::Paper;
use super::words::{column, heading, ruled, seconds, why};
use crate::model::{List, Model};
use crate::run::{Line, Signs, Tone};

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(line) = &model.line else { return waiting(paper, area) };
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    lines.extend(capacity(model, width, signs).into_iter().map(|line| (None, line)));
    let shown = model.shown_line();
    let holders = line.holders.len();
    let slots = line.slots.map_or_else(String::new, |slots| format!(" of {slots} slots"));
    lines.push((None, heading(&format!("RUNNING  {holders}{slots}"), width)));
    let place = |lines: &mut Vec<(Option<usize>, Line)>, is_meant: &dyn Fn(usize) -> bool| {
        for (row, place) in shown.iter().enumerate().filter(|(_, place)| is_meant(**place)) {
            lines.push((Some(row), row_line(model, *place, width, signs)));
        }
    };
    place(&mut lines, &|place| place < holders);
    lines.push((None, Line::new()));
    let count = line.waiting.len() as u64 + line.more;
    lines.push((None, waiting_heading(count, width, signs)));
    place(&mut lines, &|place| place >= holders);
    if line.more > 0 {
        let words = format!("  {} {} more", signs.more, line.more);
        lines.push((None, Line::new().with(Tone::Faint, words)));
    }
    let selected = model.line_list.cursor.min(shown.len().saturating_sub(1));
    let at = lines.iter().position(|(row, _)| *row == Some(selected)).unwrap_or_default();
    let window = List::at(at);
    let window = window.window(lines.len(), usize::from(area.height));
    paper.rows(area, lines.drain(window), Some(selected));
}

/// How many wait, and what stands where. They stand in the order in which they are expected to start.
fn waiting_heading(count: u64, width: usize, signs: &'static Signs) -> Line {
    let (steps, flows) = columns_of(width);
    let mut line = Line::new();
    column(&mut line, Tone::Strong, &format!(" WAITING  {count}"), steps + 4, signs);
    column(&mut line, Tone::Faint, "flow", flows, signs);
    column(&mut line, Tone::Faint, "starts", 9, signs);
    column(&mut line, Tone::Faint, "queue, prio", 14, signs);
    line.push_cut(Tone::Faint, "why", width, signs);
    ruled(line, width)
}

/// Columns of steps and flows.
fn columns_of(width: usize) -> (usize, usize) {
    ((width / 4).clamp(10, 40), (width / 6).clamp(8, 24))
}

/// Queues and limits in a line each.
fn capacity(model: &Model, width: usize, signs: &'static Signs) -> Vec<Line> {
    let Some((queues, limits)) = &model.capacity else { return Vec::new() };
    let mut lines = vec![heading("QUEUES", width)];
    for it in &queues.queues {
        let mut line = Line::new().with(Tone::Plain, "  ");
        column(&mut line, Tone::Plain, &name(&it.name), 16, signs);
        let slots = it.slots.map_or_else(String::new, |slots| format!("/{slots}"));
        column(&mut line, Tone::Active, &format!("{}{slots} run", it.active), 10, signs);
        column(&mut line, Tone::Doubtful, &format!("{} wait", it.queued), 10, signs);
        let paused = if it.paused { ", paused" } else { "" };
        line.push_cut(Tone::Faint, &format!("weight {}{paused}", it.weight), width, signs);
        lines.push(line);
    }
    for it in &limits.limits {
        let mut line = Line::new().with(Tone::Plain, "  ");
        column(&mut line, Tone::Plain, &name(&it.name), 16, signs);
        let what = match (it.units, it.per_second) {
            (Some(units), _) => format!("limit: {units} at once"),
            (_, Some(rate)) => format!("limit: {rate} a second"),
            _ => format!("limit: {}", it.kind),
        };
        line.push_cut(Tone::Faint, &what, width, signs);
        lines.push(line);
    }
    lines.push(Line::new());
    lines
}

fn row_line(model: &Model, place: usize, width: usize, signs: &'static Signs) -> Line {
    let Some(all) = &model.line else { return Line::new() };
    let (steps, flows) = columns_of(width);
    // It was asked a while ago, and time goes on.
    let passed = model.now.since(model.line_at).as_secs_f64();
    let mut line = Line::new().with(Tone::Plain, "  ");
    let Some(waiting) = place.checked_sub(all.holders.len()) else {
        let it = &all.holders[place];
        line.push(Tone::Active, format!("{} ", signs.spinner[0]));
        column(&mut line, Tone::Strong, &name(&it.step), steps, signs);
        column(&mut line, Tone::Faint, &name(it.flow.as_deref().unwrap_or("-")), flows, signs);
        column(&mut line, Tone::Plain, &seconds(it.seconds + passed), 7, signs);
        let attempt =
            if it.attempt > 1 { format!("attempt {}", it.attempt) } else { String::new() };
        line.push_cut(Tone::Faint, &attempt, width, signs);
        return line;
    };
    let it = &all.waiting[waiting];
    line.push(Tone::Faint, format!("{} ", signs.ready));
    column(&mut line, Tone::Plain, &name(&it.step), steps, signs);
    column(&mut line, Tone::Faint, &name(it.flow.as_deref().unwrap_or("-")), flows, signs);
    let start = it.expected_start_seconds.map(|it| match it > passed {
        true => format!("in {}", seconds(it - passed)),
        // Whatever it waits for takes longer than it did before.
        false => "soon".to_owned(),
    });
    let start = start.unwrap_or_default();
    column(&mut line, Tone::Active, &start, 9, signs);
    // What decides the order is known where there is one scheduler.
    if !it.queue.is_empty() {
        let gained = it.effective.saturating_sub(it.priority);
        let gained = if gained > 0 { format!("+{gained}") } else { String::new() };
        let factors = format!("{} {}{gained}", it.queue, it.priority);
        column(&mut line, Tone::Plain, &name(&factors), 14, signs);
    }
    line.push_cut(Tone::Plain, &why(model, it), width, signs);
    line
}
