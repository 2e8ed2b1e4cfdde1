//! [`Paper`]: what is drawn on, and where what is on it.
//!
//! What is drawn is decided by the screens.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::message::Hit;
use crate::run::{Line, Tone};
use crate::theme::Theme;

/// Where what is drawn; what was drawn later lies above.
#[derive(Debug, Clone, Default)]
pub struct Hits(Vec<(Rect, Hit)>);

impl Hits {
    /// What is at a place.
    #[must_use]
    pub fn at(&self, column: u16, row: u16) -> Option<Hit> {
        let is_there = |(area, _): &&(Rect, Hit)| area.contains((column, row).into());
        self.0.iter().rev().find(is_there).map(|(_, hit)| *hit)
    }
}

/// What is drawn on.
pub(crate) struct Paper<'a> {
    pub buffer: &'a mut Buffer,
    pub theme: Theme,
    pub hits: Hits,
}

impl<'a> Paper<'a> {
    pub fn new(buffer: &'a mut Buffer, theme: Theme) -> Self {
        Self { buffer, theme, hits: Hits::default() }
    }

    /// Draws a line at a place, of at most so many columns.
    pub fn line(&mut self, (x, y): (u16, u16), width: usize, line: &Line) {
        let pieces = line.pieces().map(|(text, tone)| (text, self.theme.style(tone)));
        let pieces: Vec<(String, Style)> =
            pieces.map(|(text, style)| (self.theme.shown(text), style)).collect();
        self.pieces((x, y), width, &pieces);
    }

    /// Draws pieces of text with their styles.
    pub fn pieces(&mut self, (x, y): (u16, u16), width: usize, pieces: &[(String, Style)]) {
        let area = *self.buffer.area();
        let mut room = width.min(usize::from(area.right().saturating_sub(x)));
        if !(area.top()..area.bottom()).contains(&y) {
            return;
        }
        let mut at = x;
        for (text, style) in pieces {
            let (next, _) = self.buffer.set_stringn(at, y, text, room, *style);
            room -= usize::from(next - at);
            at = next;
        }
    }

    /// Draws rows of a list from a place downwards; the selected one stands out.
    pub fn rows(
        &mut self,
        area: Rect,
        rows: impl IntoIterator<Item = (Option<usize>, Line)>,
        selected: Option<usize>,
    ) {
        for (y, (row, line)) in (area.top()..area.bottom()).zip(rows) {
            self.line((area.x, y), usize::from(area.width), &line);
            let strip = Rect { y, height: 1, ..area };
            if let Some(row) = row {
                self.hit(strip, Hit::Row(row));
                if Some(row) == selected {
                    self.select(strip);
                }
            }
        }
    }

    /// Draws lines from one of them on, as many as have room. Where that is not all, the last row says which they are.
    pub fn part(&mut self, area: Rect, lines: Vec<Line>, top: usize) {
        let count = lines.len();
        let shown = rows_at_once(count, area.height.into());
        let top = top.min(count - shown);
        let mut rows: Vec<(Option<usize>, Line)> =
            lines.into_iter().skip(top).take(shown).map(|line| (None, line)).collect();
        if shown < count {
            let rest = if top + shown < count { "; more below" } else { "" };
            let words = format!("  lines {} to {} of {count}{rest}", top + 1, top + shown);
            rows.push((None, Line::new().with(Tone::Active, words)));
        }
        self.rows(area, rows, None);
    }

    /// Lets something stand out as a whole, whatever tones it has.
    pub fn select(&mut self, area: Rect) {
        let area = area.intersection(*self.buffer.area());
        for place in area.positions() {
            self.buffer[place].set_style(Style::reset());
        }
        self.buffer.set_style(area, self.theme.selected());
    }

    /// A key and what it does, which the mouse can do as well. Gives the column behind it.
    pub fn key(
        &mut self,
        (x, y): (u16, u16),
        width: usize,
        key: &str,
        words: &str,
        hit: Hit,
    ) -> u16 {
        let line = Line::new().with(Tone::Strong, key).with(Tone::Faint, format!(" {words}"));
        if line.width() > width {
            return x;
        }
        self.line((x, y), width, &line);
        let keys = Line::new().with(Tone::Strong, key).width() as u16;
        let keys = Rect { x, y, width: keys, height: 1 }.intersection(*self.buffer.area());
        self.buffer.set_style(keys, self.theme.style(Tone::Active));
        let wide = line.width() as u16;
        self.hit(Rect { x, y, width: wide, height: 1 }, hit);
        x + wide
    }

    /// Hides from the mouse what lies below.
    pub fn cover(&mut self, area: Rect) {
        self.hit(area, Hit::Nothing);
    }

    /// Says what is at a place.
    pub fn hit(&mut self, area: Rect, hit: Hit) {
        self.hits.0.push((area, hit));
    }
}

/// How many of so many lines are shown at once: the last row says that there are more.
pub(super) fn rows_at_once(count: usize, height: usize) -> usize {
    if count <= height { count } else { height.saturating_sub(1) }
}
