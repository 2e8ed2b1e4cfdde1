//! A question above everything else, with the keys that answer it.
//!
//! What follows from an answer is in the model.

use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, BorderType, Clear, Widget as _};
use tidewheel_client::text::columns;

use super::paper::Paper;
use crate::message::Hit;
use crate::model::Dialog;
use crate::run::{Line, Tone};

pub(super) fn draw(dialog: &Dialog, paper: &mut Paper<'_>, area: Rect) {
    let signs = paper.theme.signs;
    let answers: usize = dialog.answers.iter().map(|(_, words, _)| columns(words) + 4).sum();
    let most = usize::from(area.width).saturating_sub(4);
    let details = dialog.details.iter().map(|line| columns(line)).max().unwrap_or_default();
    let width = columns(&dialog.question).max(answers).max(details).min(most) as u16 + 4;
    let place = frame("", (width, dialog.details.len() as u16 + 5), paper, area);
    let room = usize::from(place.width).saturating_sub(4);
    let mut question = Line::new();
    question.push_cut(Tone::Strong, &dialog.question, room, signs);
    paper.line((place.x + 2, place.y + 1), room, &question);
    let last = place.bottom().saturating_sub(2);
    for (y, detail) in (place.y + 2..last.saturating_sub(1)).zip(&dialog.details) {
        let mut line = Line::new();
        line.push_cut(Tone::Plain, detail, room, signs);
        paper.line((place.x + 2, y), room, &line);
    }
    let mut x = place.x + 2;
    for (key, words, _) in &dialog.answers {
        let room = usize::from(place.right().saturating_sub(x + 1));
        let hit = Hit::Key(KeyCode::Char(*key));
        x = paper.key((x, last), room, &key.to_string(), words, hit) + 2;
    }
}

/// Draws a frame of this size, as far as there is room, in the middle; gives where it is.
pub(super) fn frame(
    title: &str,
    (width, height): (u16, u16),
    paper: &mut Paper<'_>,
    area: Rect,
) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, paper.buffer);
    if paper.theme.is_unicode {
        let border = paper.theme.style(Tone::Active);
        let block = Block::bordered().border_type(BorderType::Rounded).border_style(border);
        block.render(place, paper.buffer);
    } else {
        let rule = Line::new().with(Tone::Plain, "-".repeat(usize::from(width)));
        paper.line((place.x, place.y), usize::from(width), &rule);
        paper.line((place.x, place.bottom() - 1), usize::from(width), &rule);
    }
    // Nothing below it can be pressed.
    paper.cover(place);
    if !title.is_empty() {
        let mut line = Line::new().with(Tone::Plain, " ");
        let room = usize::from(width).saturating_sub(4);
        line.push_cut(Tone::Strong, title, room, paper.theme.signs);
        line.push(Tone::Plain, " ");
        paper.line((place.x + 1, place.y), room, &line);
    }
    place
}
