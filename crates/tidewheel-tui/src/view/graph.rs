//! What waits for what in a run, as a drawing of lines.
//!
//! It is drawn by the client; here it is coloured.

use ratatui::layout::Rect;

use super::paper::Paper;
use crate::model::Watched;
use crate::run::{Line, Status, Tone, end_mark, margin};

pub(super) fn draw(watched: &Watched, paper: &mut Paper<'_>, area: Rect) {
    // The selection counts steps; lines between them are passed over.
    let (shown, signs) = (watched.shown(), paper.theme.signs);
    let cursor = watched.list.cursor.min(shown.len().saturating_sub(1));
    let rows = watched.drawing.iter().scan(0, |steps, line| {
        let row = line.vertex.map(|_| {
            *steps += 1;
            *steps - 1
        });
        Some((row, line))
    });
    let rows: Vec<_> = rows.collect();
    let at = rows.iter().position(|(row, _)| *row == Some(cursor)).unwrap_or_default();
    let window = crate::model::List::at(at);
    let window = window.window(rows.len(), usize::from(area.height));
    let lines = rows[window].iter().map(|(row, line)| {
        let drawn = match line.vertex {
            Some(step) => {
                let mut drawn = margin(&watched.model, step, signs);
                drawn.append(step_line(watched, step, &line.text));
                drawn
            }
            None => Line::new().with(Tone::Plain, " ").with(Tone::Faint, line.text.clone()),
        };
        (*row, drawn)
    });
    let lines: Vec<(Option<usize>, Line)> = lines.collect();
    paper.rows(area, lines, Some(cursor));
}

/// Lines are faint, the mark has the colour of the state, and the name is as it is in tables.
fn step_line(watched: &Watched, step: usize, text: &str) -> Line {
    let is_drawn = |letter: char| letter == ' ' || ('\u{2500}'..='\u{257f}').contains(&letter);
    let mark = text.find(|letter| !is_drawn(letter)).unwrap_or(text.len());
    let rest = text[mark..].char_indices().nth(1).map_or(text.len(), |(at, _)| mark + at);
    let status = watched.model.steps.get(step).map(|step| step.status);
    let tone = match status {
        Some(Status::Ended(state)) => end_mark(state, &crate::run::ASCII).1,
        Some(Status::Running { .. }) => Tone::Active,
        Some(Status::Delayed { .. }) => Tone::Doubtful,
        _ => Tone::Faint,
    };
    let name = if tone == Tone::Faint { Tone::Faint } else { Tone::Plain };
    let mut line = Line::new().with(Tone::Faint, &text[..mark]).with(tone, &text[mark..rest]);
    // Lines that go on behind the mark.
    let behind = text[rest..].find(|letter| !is_drawn(letter)).map_or(text.len(), |at| rest + at);
    line.push(Tone::Faint, &text[rest..behind]);
    line.push(name, &text[behind..]);
    line
}
