//! A question above everything else, with the keys that answer it.
//!
//! What follows from an answer is in the model.

use ratatui::layout::Rect;
use ratatui::widgets::{Block, Clear, Widget as _};
use tidewheel_client::text::columns;

use super::paper::Paper;
use crate::model::Dialog;
use crate::run::{Line, Tone};

pub(super) fn draw(dialog: &Dialog, paper: &mut Paper<'_>, area: Rect) {
    let answers: usize = dialog.answers.iter().map(|(_, words, _)| columns(words) + 4).sum();
    let most = usize::from(area.width).saturating_sub(4);
    let width = columns(&dialog.question).max(answers).min(most) as u16 + 4;
    let width = width.min(area.width);
    let height = 5.min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, paper.buffer);
    if paper.theme.is_unicode {
        Block::bordered().render(place, paper.buffer);
    } else {
        let rule = Line::new().with(Tone::Plain, "-".repeat(usize::from(width)));
        paper.line((place.x, place.y), usize::from(width), &rule);
        paper.line((place.x, place.bottom() - 1), usize::from(width), &rule);
    }
    let room = usize::from(width).saturating_sub(4);
    let mut question = Line::new();
    question.push_cut(Tone::Strong, &dialog.question, room, paper.theme.signs);
    paper.line((place.x + 2, place.y + 1), room, &question);
    let mut line = Line::new();
    for (key, words, _) in &dialog.answers {
        line.push(Tone::Active, key.to_string());
        line.push(Tone::Plain, format!(" {words}  "));
    }
    paper.line((place.x + 2, place.y + 3), room, &line);
}
