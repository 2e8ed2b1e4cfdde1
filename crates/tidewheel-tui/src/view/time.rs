//! The steps of a run over time: attempts as bars, and waits between them as dots.
//!
//! Which steps are shown is known to the model.

use std::time::Duration;

use ratatui::layout::Rect;
use tidewheel_client::text;

use super::paper::Paper;
use super::words::column;
use crate::model::{Model, Stretch, Watched};
use crate::run::{Line, Status, Step, Tone, end_mark, margin};

pub(super) fn draw(model: &Model, watched: &Watched, paper: &mut Paper<'_>, area: Rect) {
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let now = watched.model.elapsed(watched.elapsed(model.now));
    let names = watched.model.name_width.clamp(4, (width / 3).max(4));
    let room = width.saturating_sub(names + 14).max(8);
    let whole = now.max(Duration::from_millis(1));
    paper.line((area.x, area.y), width, &scale(whole, names + 5, room));
    let body = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let shown = watched.shown();
    let selected = watched.list.cursor.min(shown.len().saturating_sub(1));
    let window = watched.list.window(shown.len(), usize::from(body.height));
    let rows = window.map(|row| {
        let step = &watched.model.steps[shown[row]];
        let (mark, tone) = mark(step, signs);
        let line = margin(&watched.model, shown[row], signs);
        let mut line = line.with(tone, mark).with(Tone::Plain, " ");
        column(&mut line, Tone::Plain, &step.name, names, signs);
        let first = line.width();
        let stretches = watched.stretches(shown[row], now, tone);
        if let (Some(oldest), Some(newest)) = (stretches.first(), stretches.last()) {
            let is_waiting = matches!(step.status, Status::Delayed { .. });
            let end = if is_waiting { now.max(newest.ended) } else { newest.ended };
            line.append(lane(&stretches, end, whole, room, signs));
            line.pad_to(first + room + 1);
            line.push_cut(Tone::Faint, &text::took(end.saturating_sub(oldest.began)), width, signs);
        }
        (Some(row), line)
    });
    let rows: Vec<(Option<usize>, Line)> = rows.collect();
    paper.rows(body, rows, Some(selected));
}

/// What is in a column of a lane.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Nothing,
    Wait,
    Work(Tone),
}

/// Attempts as bars, which stand apart wherever there is room for that, and the waits between them as dots, up to its end.
fn lane(
    stretches: &[Stretch],
    end: Duration,
    whole: Duration,
    room: usize,
    signs: &'static crate::run::Signs,
) -> Line {
    let mut cells = vec![Cell::Nothing; room];
    let first = stretches.first().map_or(0, |it| cell(it.began, whole, room));
    cells[first.min(room - 1)..cell(end, whole, room).max(first)].fill(Cell::Wait);
    let mut free = None;
    for stretch in stretches {
        let begin = cell(stretch.began, whole, room).max(free.unwrap_or(0)).min(room - 1);
        let end = cell(stretch.ended, whole, room).clamp(begin + 1, room);
        cells[begin..end].fill(Cell::Work(stretch.tone));
        if free == Some(begin) && end - begin > 1 {
            cells[begin] = Cell::Wait;
        }
        free = Some(end);
    }
    let mut line = Line::new();
    for cells in cells.chunk_by(|one, other| one == other) {
        let (tone, sign) = match cells[0] {
            Cell::Nothing => (Tone::Plain, " "),
            Cell::Wait => (Tone::Faint, signs.blocked),
            Cell::Work(tone) => (tone, signs.done),
        };
        line.push(tone, sign.repeat(cells.len()));
    }
    line
}

fn cell(at: Duration, whole: Duration, room: usize) -> usize {
    let share = at.as_secs_f64() / whole.as_secs_f64();
    ((share * room as f64).round() as usize).min(room)
}

fn mark(step: &Step, signs: &'static crate::run::Signs) -> (&'static str, Tone) {
    match step.status {
        Status::Ended(state) => end_mark(state, signs),
        Status::Running { .. } => (signs.spinner[0], Tone::Active),
        Status::Delayed { .. } => (signs.delayed, Tone::Doubtful),
        Status::Ready => (signs.ready, Tone::Faint),
        Status::Blocked => (signs.blocked, Tone::Faint),
    }
}

/// The beginning, the middle and the end of the time.
fn scale(whole: Duration, first: usize, room: usize) -> Line {
    let end = text::about(whole);
    let middle = text::about(whole / 2);
    let mut line = Line::new();
    line.pad_to(first);
    line.push(Tone::Faint, "0");
    line.pad_to(first + room / 2);
    if room > 24 {
        line.push(Tone::Faint, middle);
    }
    line.pad_to((first + room).saturating_sub(end.len()));
    line.push(Tone::Faint, end);
    line
}
