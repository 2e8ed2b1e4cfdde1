//! The keys, all of them, from the one table.
//!
//! The table is [`crate::keys`].

use ratatui::layout::Rect;

use super::paper::{Paper, rows_at_once};
use super::words::column;
use crate::keys::{BINDINGS, Binding};
use crate::model::Model;
use crate::run::{Line, Tone};

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let mut lines = vec![Line::new().with(Tone::Strong, HEAD)];
    for binding in told(model) {
        let is_here = binding.is_on(model.screen());
        let (key, tone) =
            if is_here { (Tone::Strong, Tone::Plain) } else { (Tone::Faint, Tone::Faint) };
        let mut line = Line::new().with(Tone::Plain, "  ");
        column(&mut line, key, binding.shown, 8, signs);
        column(&mut line, Tone::Faint, binding.command, 10, signs);
        line.push_cut(tone, binding.words, width, signs);
        if !is_here {
            line.push_cut(Tone::Faint, "  (on other screens)", width, signs);
        }
        lines.push(line);
    }
    lines.push(Line::new().with(Tone::Faint, MOUSE));
    paper.part(area, lines, model.help.unwrap_or_default());
}

const HEAD: &str = " KEYS, and what to type after `:`";
const MOUSE: &str = " The mouse selects, opens on a second press, and scrolls. Ctrl-C leaves.";

/// The places to which the help can be scrolled.
pub(crate) fn help_places(model: &Model) -> usize {
    let count = told(model).len() + [HEAD, MOUSE].len();
    count - rows_at_once(count, model.room()) + 1
}

/// What is told of: first what has a key on the screen that is looked at. What has one need not be told with that of others.
fn told(model: &Model) -> Vec<&'static Binding> {
    let here = |it: &&Binding| it.is_on(model.screen());
    let mut told: Vec<&Binding> = BINDINGS.iter().filter(here).collect();
    for binding in BINDINGS {
        if !told.iter().any(|it| it.action == binding.action) {
            told.push(binding);
        }
    }
    told
}
