//! What a step wrote, with its own colours and nothing else of what it says to terminals.
//!
//! Lines are taken apart where they are read, in the client.

use ratatui::layout::Rect;
use ratatui::style::Style;
use tidewheel_client::api::{LogLine, LogStream};
use tidewheel_client::text::{bytes, harmless, is_hidden};

use super::overview::waiting;
use super::paper::Paper;
use crate::model::{Model, Reading};
use crate::run::{Line, Tone};

pub(super) fn draw(_: &Model, reading: &Reading, paper: &mut Paper<'_>, area: Rect) {
    let Some(lines) = &reading.log.lines else { return waiting(paper, area) };
    let width = usize::from(area.width);
    paper.line((area.x, area.y), width, &head(reading, width, paper));
    let digits = lines.total.max(1).to_string().len();
    let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    if lines.total == 0 {
        let words = "  it has written nothing";
        return paper.line((body.x, body.y), width, &Line::new().with(Tone::Faint, words));
    }
    let numbers = lines.from..;
    for (y, (number, line)) in (body.top()..body.bottom()).zip(numbers.zip(&lines.lines)) {
        let mut gutter = Line::new().with(Tone::Faint, format!(" {number:>digits$} "));
        let is_error = line.1 == LogStream::Stderr;
        gutter.push(if is_error { Tone::Bad } else { Tone::Faint }, paper.theme.signs.gutter);
        gutter.push(Tone::Plain, " ");
        let wide = gutter.width();
        paper.line((body.x, y), width, &gutter);
        let pieces = pieces(line, &reading.log.text, paper);
        paper.pieces((body.x + wide as u16, y), width.saturating_sub(wide), &pieces);
        if line.3.is_some() {
            let sign = paper.theme.shown(paper.theme.signs.cut);
            let style = paper.theme.style(Tone::Faint);
            paper.pieces((area.right() - 1, y), 1, &[(sign, style)]);
        }
        let hit = reading.log.hits.as_ref().and_then(|hits| hits.get(reading.log.hit));
        if hit == Some(&number) {
            let strip = Rect { y, height: 1, width: wide as u16, ..body };
            paper.buffer.set_style(strip, paper.theme.found());
        }
    }
}

fn head(reading: &Reading, width: usize, paper: &Paper<'_>) -> Line {
    let log = &reading.log;
    let (total, size) = log.lines.as_ref().map_or((0, 0), |it| (it.total, it.size));
    let mut line = Line::new().with(Tone::Faint, format!(" {total} lines, {}", bytes(size)));
    if let Some(attempt) = log.lines.as_ref().map(|it| it.attempt).filter(|it| *it > 1) {
        line.push(Tone::Faint, format!(", attempt {attempt}"));
    }
    if log.is_following {
        line.push(Tone::Active, "  following");
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

/// A line in pieces, with what is searched for marked.
fn pieces(line: &LogLine, text: &str, paper: &Paper<'_>) -> Vec<(String, Style)> {
    let mut pieces = Vec::new();
    for span in &line.2 {
        let style = paper.theme.written(&span.0);
        let mut rest = paper.theme.shown(&visible(&span.1));
        while let Some(at) = find(&rest, text) {
            let after = rest.split_off(at);
            let end = after.char_indices().nth(text.chars().count()).map_or(after.len(), |it| it.0);
            pieces.push((rest, style));
            pieces.push((after[..end].to_owned(), paper.theme.found()));
            rest = after[end..].to_owned();
        }
        pieces.push((rest, style));
    }
    pieces
}

/// Lines come harmless; what does not comes from no server of ours, and is shown escaped all the same.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => shown.push_str("    "),
            letter if letter.is_control() || is_hidden(letter) => {
                shown.extend(letter.escape_unicode());
            }
            letter => shown.push(letter),
        }
    }
    shown
}

/// Where a text is in another, whatever the case of its ASCII letters.
fn find(rest: &str, text: &str) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    rest.to_ascii_lowercase().find(&text.to_ascii_lowercase())
}
