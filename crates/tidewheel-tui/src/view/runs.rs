//! All runs, the newest first.
//!
//! One of them is in [`super::run`].

use ratatui::layout::Rect;
use tidewheel_client::text::{self, name, sentence, short_id};

use super::overview::waiting;
use super::paper::Paper;
use super::words::{away, column, run_mark};
use crate::model::Model;
use crate::run::{Line, Tone};

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(runs) = &model.runs else { return waiting(paper, area) };
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let names = (width / 5).clamp(10, 40);
    let mut head = Line::new().with(Tone::Plain, "    ");
    for (words, wide) in
        [("flow", names), ("run", 13), ("state", 9), ("began", 10), ("took", 6), ("steps", 5)]
    {
        column(&mut head, Tone::Faint, words, wide, signs);
    }
    paper.line((area.x, area.y), width, &head);
    let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let shown = model.shown_runs();
    let selected = model.runs_list.cursor.min(shown.len().saturating_sub(1));
    let window = model.runs_list.window(shown.len(), usize::from(body.height));
    let rows = window.map(|row| {
        let it = &runs.runs[shown[row]];
        let (mark, tone) = run_mark(it.state, signs);
        let mut line = Line::new().with(Tone::Plain, "  ").with(tone, format!("{mark} "));
        column(&mut line, Tone::Plain, &name(it.flow.as_deref().unwrap_or("-")), names, signs);
        column(&mut line, Tone::Faint, &short_id(&it.run_id), 13, signs);
        column(&mut line, tone, it.state.word(), 9, signs);
        let began = it.started_at.unwrap_or(it.accepted_at);
        column(&mut line, Tone::Plain, &away(began, model.now), 10, signs);
        let took = it.ended_at.unwrap_or(model.now).since(began);
        column(&mut line, Tone::Plain, &text::took(took), 6, signs);
        column(&mut line, Tone::Plain, &it.steps.to_string(), 5, signs);
        let error = it.error.as_deref().map(sentence).unwrap_or_default();
        line.push_cut(Tone::Plain, &error, width, signs);
        (Some(row), line)
    });
    let rows: Vec<(Option<usize>, Line)> = rows.collect();
    paper.rows(body, rows, Some(selected));
}
