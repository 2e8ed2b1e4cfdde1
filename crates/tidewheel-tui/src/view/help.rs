//! The keys, all of them, from the one table.
//!
//! The table is [`crate::keys`].

use ratatui::layout::Rect;

use super::paper::Paper;
use super::words::column;
use crate::keys::{BINDINGS, Binding};
use crate::model::Model;
use crate::run::{Line, Tone};

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let mut lines = vec![Line::new().with(Tone::Strong, " KEYS, and what to type after `:`")];
    let here = |it: &&Binding| it.is_on(model.screen());
    // What has a key here need not be told with that of other screens.
    let mut told: Vec<&Binding> = BINDINGS.iter().filter(here).collect();
    for binding in BINDINGS {
        if !told.iter().any(|it| it.action == binding.action) {
            told.push(binding);
        }
    }
    for binding in told {
        let tone = if here(&binding) { Tone::Plain } else { Tone::Faint };
        let mut line = Line::new().with(Tone::Plain, "  ");
        let key = if here(&binding) { Tone::Strong } else { Tone::Faint };
        column(&mut line, key, binding.shown, 8, signs);
        column(&mut line, Tone::Faint, binding.command, 10, signs);
        line.push_cut(tone, binding.words, width, signs);
        if !here(&binding) {
            line.push_cut(Tone::Faint, "  (on other screens)", width, signs);
        }
        lines.push(line);
    }
    let words = " The mouse selects, opens on a second press, and scrolls. Ctrl-C leaves.";
    lines.push(Line::new().with(Tone::Faint, words));
    let most = lines.len().saturating_sub(usize::from(area.height));
    let top = model.help.unwrap_or_default().min(most);
    let rows: Vec<(Option<usize>, Line)> =
        lines.into_iter().skip(top).map(|line| (None, line)).collect();
    paper.rows(area, rows, None);
}
