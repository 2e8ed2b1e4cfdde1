//! [`view`]: a frame of the live view, drawn from the model and nothing else.
//!
//! What stays on the screen when the run is over is in `summary`.

use std::time::Duration;

use tidewheel_client::progress::EndState;
use tidewheel_client::text::{self, count};

use super::line::{Line, Signs, Tone};
use super::model::{Model, Part, Phase};
use super::row::{self, RowStyle};
use super::window::{Choice, WINDOW_MAX};

/// Rows of the header and the footer, and an empty one beside each where there is room.
const FRAME_ROWS: usize = 3;
/// Rows from which on there is room.
const ROOMY: usize = 12;
/// Columns of a run's id: time and all that usually differs.
const RUN_ID_WIDTH: usize = 13;
/// Lines of output below each step, where only failed ones are shown.
const FAILED_TAIL_LINES: usize = 10;

/// The room for a frame, and what the model does not know.
#[derive(Debug, Clone, Copy)]
pub struct Canvas {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The time since the start of the run.
    pub now: Duration,
    /// The time until it is over.
    pub eta: Option<Duration>,
    /// Whether keys are read.
    pub has_keys: bool,
    /// The signs to draw with.
    pub signs: &'static Signs,
}

/// Draws what is looked at into at most `height` lines of at most `width` columns.
pub fn view(model: &Model, canvas: &Canvas) -> Vec<Line> {
    let style = RowStyle::new(model, canvas.width, canvas.now, canvas.signs);
    let (rows, gap) = room(canvas.height);
    let mut lines = vec![header(model, canvas)];
    lines.extend(vec![Line::new(); gap]);
    if rows > 0 {
        match model.part {
            Part::Fitting | Part::Window => push_window(model, &style, rows, &mut lines),
            Part::All => push_all(model, &style, rows, &mut lines),
            Part::Failed => push_failed(model, &style, rows, &mut lines),
            Part::Log => push_log(model, &style, rows, &mut lines),
        }
    }
    lines.extend(vec![Line::new(); gap]);
    lines.push(progress(model, canvas));
    lines.push(hints(model, canvas));
    lines.truncate(canvas.height);
    // Where there are hardly any columns, not even what is never left out has room.
    lines.iter_mut().for_each(|line| line.fit(canvas.width));
    lines
}

/// Rows for steps, and empty ones beside header and footer.
fn room(height: usize) -> (usize, usize) {
    let gap = usize::from(height >= ROOMY);
    (height.saturating_sub(FRAME_ROWS + 2 * gap), gap)
}

/// How many steps are shown at once where all can be scrolled.
pub fn page(height: usize) -> usize {
    room(height).0.saturating_sub(1).max(1)
}

fn header(model: &Model, canvas: &Canvas) -> Line {
    let (width, signs) = (canvas.width, canvas.signs);
    let elapsed = text::about(model.elapsed(canvas.now));
    let (state, tone) = state(model.phase);
    let right = text::columns(state) + 2 + elapsed.len();
    let mut line = Line::new().with(Tone::Plain, " ");
    line.push_cut(Tone::Strong, &model.flow, width.saturating_sub(right + 2), signs);
    if line.width() + RUN_ID_WIDTH + right + 4 <= width {
        let run_id = text::cut(&model.run_id, RUN_ID_WIDTH, "");
        line.push(Tone::Plain, "  ");
        line.push(Tone::Faint, run_id);
    }
    line.push_cut(Tone::Plain, "  ", width, signs);
    line.push_cut(tone, state, width, signs);
    line.push_cut(Tone::Plain, "  ", width, signs);
    line.push_cut(Tone::Plain, &elapsed, width, signs);
    line
}

pub(crate) fn state(phase: Phase) -> (&'static str, Tone) {
    match phase {
        Phase::Running => ("running", Tone::Active),
        Phase::Waiting => ("waiting", Tone::Doubtful),
        Phase::Paused => ("paused", Tone::Doubtful),
        Phase::Draining => ("stopping", Tone::Doubtful),
        Phase::Killing => ("killing", Tone::Bad),
        Phase::Ended { state, .. } => (state.word(), row::end_mark(state, &super::line::ASCII).1),
    }
}

/// All steps if they are few and fit, else those that matter.
fn push_window(model: &Model, style: &RowStyle, rows: usize, lines: &mut Vec<Line>) {
    let is_small = model.steps.len() <= WINDOW_MAX && model.part != Part::Window;
    let everything = if is_small { Choice::everything(model, rows) } else { None };
    let choice = everything
        .unwrap_or_else(|| Choice::window(model, rows.saturating_sub(1).clamp(1, WINDOW_MAX)));
    let end = lines.len() + rows;
    push_choice(model, style, &choice, lines);
    if choice.steps.len() < model.steps.len() && lines.len() < end {
        let hidden = choice.hidden(model);
        lines.push(more(&format!("{hidden} not shown"), style));
    }
}

fn push_choice(model: &Model, style: &RowStyle, choice: &Choice, lines: &mut Vec<Line>) {
    for chosen in &choice.steps {
        lines.push(row::step(model, chosen.step, style));
        let tail = model.steps[chosen.step].tail();
        for line in &tail[tail.len().saturating_sub(chosen.tail)..] {
            lines.push(row::tail(line, style));
        }
    }
}

/// A part of all steps, in their own order.
fn push_all(model: &Model, style: &RowStyle, rows: usize, lines: &mut Vec<Line>) {
    let count = model.steps.len();
    if count <= rows {
        if let Some(choice) = Choice::everything(model, rows) {
            push_choice(model, style, &choice, lines);
        }
        return;
    }
    let shown = rows.saturating_sub(1).max(1);
    let first = model.scroll.min(count - shown);
    for index in first..first + shown {
        lines.push(row::step(model, index, style));
    }
    if shown < rows {
        let last = first + shown;
        lines.push(more(&format!("steps {} to {last} of {count}", first + 1), style));
    }
}

/// Failed steps with their output, the latest first.
fn push_failed(model: &Model, style: &RowStyle, rows: usize, lines: &mut Vec<Line>) {
    let count = model.failed.len();
    if count == 0 {
        lines.push(more("no step has failed", style));
        return;
    }
    let end = lines.len() + rows;
    let room = end - 1;
    let first = model.scroll.min(count - 1);
    let mut shown = 0;
    for &index in model.failed.iter().rev().skip(first) {
        let tail = model.steps[index].tail();
        let tail = &tail[tail.len().saturating_sub(FAILED_TAIL_LINES)..];
        if lines.len() + 1 > room || (shown > 0 && lines.len() + 1 + tail.len() > room) {
            break;
        }
        lines.push(row::step(model, index, style));
        lines.extend(tail.iter().take(room - lines.len()).map(|line| row::tail(line, style)));
        shown += 1;
    }
    let words = match (shown, count) {
        (_, 1) => "1 step has failed".to_owned(),
        (shown, count) if shown == count => format!("{count} steps have failed, the latest first"),
        _ => format!("{} to {} of {count} failed, the latest first", first + 1, first + shown),
    };
    lines.push(more(&words, style));
}

/// What runs, and below it the latest output.
fn push_log(model: &Model, style: &RowStyle, rows: usize, lines: &mut Vec<Line>) {
    let end = lines.len() + rows;
    for &(_, index) in model.running.iter().take(rows / 3) {
        lines.push(row::step(model, index, style));
    }
    if lines.len() < end {
        let title = match model.scroll {
            0 => " log ".to_owned(),
            scroll => format!(" log, {} below ", count(scroll, "line")),
        };
        let mut rule = Line::new().with(Tone::Faint, style.signs.rule.repeat(3));
        rule.push_cut(Tone::Faint, &title, style.width, style.signs);
        let rest = style.width.saturating_sub(rule.width());
        rule.push(Tone::Faint, style.signs.rule.repeat(rest));
        lines.push(rule);
    }
    let room = end - lines.len();
    let last = model.log.len() - model.scroll.min(model.log.len().saturating_sub(room));
    let name_width = style.name_width.min(style.width / 4);
    for written in model.log.range(last.saturating_sub(room)..last) {
        let name = text::cut(&model.steps[written.step].name, name_width, style.signs.cut);
        let mut line = Line::new().with(Tone::Plain, " ").with(Tone::Active, name);
        line.pad_to(name_width + 2);
        line.push(Tone::Faint, style.signs.gutter);
        line.push_cut(Tone::Plain, &format!(" {}", written.text), style.width, style.signs);
        lines.push(line);
    }
    if model.log.is_empty() && room > 0 {
        lines.push(more("no output yet", style));
    }
}

fn more(words: &str, style: &RowStyle) -> Line {
    let mut line = Line::new();
    let text = format!("   {} {words}", style.signs.more);
    line.push_cut(Tone::Faint, &text, style.width, style.signs);
    line
}

/// The bar, the counts and the time left. Of the counts, those that matter least are left out if
/// there is no room.
pub(crate) fn progress(model: &Model, canvas: &Canvas) -> Line {
    let (done, all) = (model.ended_count(), model.steps.len());
    let mut line = Line::new().with(Tone::Plain, " ");
    push_bar(model, (canvas.width / 4).clamp(6, 24), canvas.signs, &mut line);
    line.push(Tone::Strong, format!(" {done}/{all}"));
    let eta = eta_words(model, canvas);
    let mut room = canvas.width.saturating_sub(line.width() + text::columns(&eta));
    let mut shown = Vec::new();
    for (place, word, count, tone) in counts(model) {
        let text = format!("  {count} {word}");
        if count > 0 && text.len() <= room {
            room -= text.len();
            shown.push((place, text, tone));
        }
    }
    shown.sort_unstable_by_key(|(place, ..)| *place);
    for (_, text, tone) in shown {
        line.push(tone, text);
    }
    line.push_cut(Tone::Strong, &eta, canvas.width, canvas.signs);
    line
}

/// Counts with their places in the line, what matters most first.
fn counts(model: &Model) -> [(u8, &'static str, usize, Tone); 6] {
    [
        (1, "failed", model.count(EndState::Failed), Tone::Bad),
        (2, "unknown", model.count(EndState::Unknown), Tone::Bad),
        (0, "running", model.running.len(), Tone::Active),
        (3, "delayed", model.delayed.len(), Tone::Doubtful),
        (4, "skipped", model.count(EndState::Skipped), Tone::Doubtful),
        (5, "cancelled", model.count(EndState::Cancelled), Tone::Doubtful),
    ]
}

fn eta_words(model: &Model, canvas: &Canvas) -> String {
    match canvas.eta {
        _ if matches!(model.phase, Phase::Paused | Phase::Waiting) => String::new(),
        Some(eta) if eta.is_zero() => "  eta any moment".to_owned(),
        Some(eta) => format!("  eta {}", text::due(eta)),
        None => String::new(),
    }
}

/// A bar of `width` columns. It is full only when everything has ended.
fn push_bar(model: &Model, width: usize, signs: &Signs, line: &mut Line) {
    let (done, all) = (model.ended_count(), model.steps.len().max(1));
    let bad = model.count(EndState::Failed) + model.count(EndState::Unknown);
    let filled = done * width / all;
    let bad_cells = if bad == 0 { 0 } else { (bad * width / all).max(1).min(filled) };
    line.push(Tone::Good, signs.done.repeat(filled - bad_cells));
    line.push(Tone::Bad, signs.done.repeat(bad_cells));
    line.push(Tone::Faint, signs.todo.repeat(width - filled));
}

/// What the keys do, as far as there is room.
fn hints(model: &Model, canvas: &Canvas) -> Line {
    let mut line = Line::new();
    let is_stopping = match model.phase {
        Phase::Draining => {
            let words = " what runs may finish; Ctrl-C again kills it";
            line.push_cut(Tone::Doubtful, words, canvas.width, canvas.signs);
            true
        }
        Phase::Killing => {
            line.push_cut(Tone::Bad, " ending what runs", canvas.width, canvas.signs);
            true
        }
        _ => false,
    };
    if !canvas.has_keys {
        return line;
    }
    let control: &[(&str, &str)] = match model.phase {
        _ if is_stopping => &[],
        Phase::Paused => &[("r", "resume"), ("q", "quit")],
        _ => &[("p", "pause"), ("q", "quit")],
    };
    for &(key, words) in control {
        push_hint(key, words, Tone::Faint, canvas.width, &mut line);
    }
    let parts = [
        ("a", "all", Part::All),
        ("w", "window", Part::Window),
        ("f", "failed", Part::Failed),
        ("l", "log", Part::Log),
    ];
    // Where there is no room for the words, the keys alone remind of them.
    let words_width: usize = parts.iter().map(|(_, words, _)| words.len() + 4).sum();
    let has_words = line.width() + words_width <= canvas.width;
    for (key, words, part) in parts {
        let tone = if model.part == part { Tone::Active } else { Tone::Faint };
        push_hint(key, if has_words { words } else { "" }, tone, canvas.width, &mut line);
    }
    line
}

fn push_hint(key: &str, words: &str, tone: Tone, width: usize, line: &mut Line) {
    let before = if line.width() == 0 { " " } else { "  " };
    let words = if words.is_empty() { String::new() } else { format!(" {words}") };
    if line.width() + before.len() + key.len() + words.len() <= width {
        line.push(Tone::Plain, before);
        line.push(if tone == Tone::Active { tone } else { Tone::Strong }, key);
        line.push(tone, words);
    }
}
