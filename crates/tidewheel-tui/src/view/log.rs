//! What a step wrote, with its own colours and nothing else of what it says to terminals.
//!
//! Lines are taken apart where they are read, in the client; which rows they have is known to the model.

use std::ops::Range;

use ratatui::layout::Rect;
use ratatui::style::Style;
use tidewheel_client::api::{LogLine, LogStream};
use tidewheel_client::text::{bytes, columns, count, harmless};

use super::overview::waiting;
use super::paper::Paper;
use crate::model::{Log, Model, Reading, beyond, log_rows, parts, places, row_end};
use crate::run::{Line, Tone};

/// The letters of a line, their styles, and where in them it is what is searched for.
struct Letters {
    text: String,
    styles: Vec<(Range<usize>, Style)>,
    marks: Vec<Range<usize>>,
}

pub(super) fn draw(model: &Model, reading: &Reading, paper: &mut Paper<'_>, area: Rect) {
    let log = &reading.log;
    let Some(lines) = &log.lines else { return waiting(paper, area) };
    let width = usize::from(area.width);
    paper.line((area.x, area.y), width, &head(log, width, paper));
    let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    if lines.total == 0 {
        let words = "  it has written nothing";
        return paper.line((body.x, body.y), width, &Line::new().with(Tone::Faint, words));
    }
    let room = model.log_room();
    let (first, above) = log.shown;
    let height = room.rows.min(usize::from(body.height));
    let mut free = body.top()..body.top() + height as u16;
    let (mut number, mut skipped) = (first, above);
    while !free.is_empty()
        && let Some(line) = log.line(number)
    {
        let letters = letters(line, &log.text, paper);
        let whole = 0..letters.text.len();
        let all = match log.is_wrapped {
            true => log_rows(&letters.text, log.letters(room)),
            false => vec![whole],
        };
        let rows = all.iter().enumerate().skip(skipped.min(all.len() - 1));
        for ((place, row), y) in rows.zip(&mut free) {
            let strip = Rect { y, height: 1, ..body };
            let beside = gutter(log, line, (place == 0).then_some(number), paper, strip);
            draw_row(log, &letters, row, paper, beside);
        }
        (number, skipped) = (number + 1, 0);
    }
}

/// Draws what stands before the letters of a row; gives where these stand.
fn gutter(
    log: &Log,
    line: &LogLine,
    number: Option<u64>,
    paper: &mut Paper<'_>,
    strip: Rect,
) -> Rect {
    let (digits, shown) = (log.digits(), number.map(|it| it.to_string()).unwrap_or_default());
    let mut gutter = Line::new().with(Tone::Faint, format!(" {shown:>digits$} "));
    let is_error = line.1 == LogStream::Stderr;
    gutter.push(if is_error { Tone::Bad } else { Tone::Faint }, paper.theme.signs.gutter);
    gutter.push(Tone::Plain, " ");
    let wide = (gutter.width() as u16).min(strip.width);
    paper.line((strip.x, strip.y), usize::from(strip.width), &gutter);
    if number.is_some() && number == log.found() {
        paper.buffer.set_style(Rect { width: wide, ..strip }, paper.theme.found());
    }
    Rect { x: strip.x + wide, width: strip.width - wide, ..strip }
}

/// Draws the letters of a row, from the column on that is shown.
fn draw_row(log: &Log, letters: &Letters, row: &Range<usize>, paper: &mut Paper<'_>, strip: Rect) {
    let width = usize::from(strip.width);
    let (begin, before) =
        beyond(&letters.text[row.clone()], if log.is_wrapped { 0 } else { log.left });
    let mut shown = row.start + begin..row.end;
    let is_cut = !log.is_wrapped && before + columns(&letters.text[shown.clone()]) > width;
    if is_cut {
        let room = width.saturating_sub(before + 1);
        shown.end = shown.start + row_end(&letters.text[shown.clone()], room);
    }
    let mut pieces = vec![(" ".repeat(before), Style::new())];
    pieces.extend(letters.pieces(&shown, paper));
    paper.pieces((strip.x, strip.y), width - usize::from(is_cut && width > 0), &pieces);
    if is_cut && width > 0 {
        let sign = paper.theme.shown(paper.theme.signs.cut);
        let style = paper.theme.style(Tone::Faint);
        paper.pieces((strip.right() - 1, strip.y), 1, &[(sign, style)]);
    }
}

fn head(log: &Log, width: usize, paper: &Paper<'_>) -> Line {
    let (total, size) = log.lines.as_ref().map_or((0, 0), |it| (it.total, it.size));
    let lines = count(usize::try_from(total).unwrap_or(usize::MAX), "line");
    let mut line = Line::new().with(Tone::Faint, format!(" {lines}, {}", bytes(size)));
    let (attempt, all) = log.attempts();
    if all > 1 {
        line.push(Tone::Faint, format!(", attempt {attempt} of {all}"));
    }
    match log.of.stream {
        Some(LogStream::Stdout) => line.push(Tone::Active, ", standard output only"),
        Some(LogStream::Stderr) => line.push(Tone::Active, ", standard error only"),
        None => {}
    }
    if log.is_following {
        line.push(Tone::Active, "  following");
    }
    if log.is_wrapped {
        line.push(Tone::Active, "  wrapped");
    } else if log.left > 0 {
        line.push(Tone::Active, format!("  from column {}", log.left + 1));
    }
    if let Some(hits) = &log.hits {
        let words = match hits.len() {
            0 => format!("  `{}` is nowhere", harmless(&log.text)),
            all => format!("  `{}`: {} of {all}", harmless(&log.text), log.hit + 1),
        };
        line.push_cut(Tone::Doubtful, &words, width, paper.theme.signs);
    }
    line
}

fn letters(line: &LogLine, wanted: &str, paper: &Paper<'_>) -> Letters {
    let (mut text, mut styles) = (String::new(), Vec::new());
    for (words, letters) in parts(line) {
        let start = text.len();
        text.push_str(&letters);
        styles.push((start..text.len(), paper.theme.written(words)));
    }
    let marks = places(&text, wanted);
    Letters { text, styles, marks }
}

impl Letters {
    /// Some of them in pieces of one style each, with what is searched for marked.
    fn pieces(&self, shown: &Range<usize>, paper: &Paper<'_>) -> Vec<(String, Style)> {
        let mut pieces = Vec::new();
        let mut push = |range: Range<usize>, style| {
            if !range.is_empty() {
                pieces.push((paper.theme.shown(&self.text[range]), style));
            }
        };
        for (part, style) in &self.styles {
            let mut at = part.start.max(shown.start);
            let end = part.end.min(shown.end);
            for mark in &self.marks {
                let (from, to) = (mark.start.max(at), mark.end.min(end));
                if from < to {
                    push(at..from, *style);
                    push(from..to, paper.theme.found());
                    at = to;
                }
            }
            push(at..end, *style);
        }
        pieces
    }
}
