//! [`view`]: the screen that is looked at, and what lies above it.
//!
//! Each screen is drawn in a file of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::paper::{Hits, Paper};
use super::{dialog, flow, form, frame, help, overview, queues, run, runs, schedules, step};
use crate::model::{Model, Screen};
use crate::theme::Theme;

/// Draws what is looked at; gives where what is.
pub fn view(model: &Model, theme: Theme, buffer: &mut Buffer) -> Hits {
    let area = *buffer.area();
    let mut paper = Paper::new(buffer, theme);
    if area.width < 20 || area.height < 6 {
        let words = crate::run::Line::new().with(crate::run::Tone::Plain, "too small");
        paper.line((area.x, area.y), usize::from(area.width), &words);
        return paper.hits;
    }
    frame::top(model, &mut paper, area);
    let body = Rect { y: area.y + 2, height: area.height - 4, ..area };
    match model.screen() {
        _ if model.help.is_some() => help::draw(model, &mut paper, body),
        Screen::Overview => overview::draw(model, &mut paper, body),
        Screen::Runs => runs::draw(model, &mut paper, body),
        Screen::Run => run::draw(model, &mut paper, body),
        Screen::Step | Screen::Log => step::draw(model, &mut paper, body),
        Screen::Queues => queues::draw(model, &mut paper, body),
        Screen::Schedules => schedules::draw_all(model, &mut paper, body),
        Screen::Schedule => schedules::draw_one(model, &mut paper, body),
        Screen::Flow => flow::draw(model, &mut paper, body),
    }
    frame::bottom(model, &mut paper, area);
    if let Some(filled) = &model.form {
        form::draw(filled, &mut paper, area);
    }
    if let Some(asked) = &model.dialog {
        dialog::draw(asked, &mut paper, area);
    }
    paper.hits
}
