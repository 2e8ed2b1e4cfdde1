//! [`List`]: which row of a list is selected, and which rows are shown.
//!
//! What the rows are is known to the screen.

use std::ops::Range;

/// A list that is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    /// The selected row, from 0.
    pub cursor: usize,
    /// Only rows that contain this are shown.
    pub filter: String,
    /// Why the selected row may not be what whoever presses a key has in mind; `None`: it is.
    pub doubt: Option<Doubt>,
}

/// What has happened to the selected row by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It is gone, and another one is selected.
    Gone,
    /// The run that keys are about is another one.
    OtherRun,
}

impl List {
    /// A list in which this row is selected, of those that are all shown.
    #[must_use]
    pub fn at(cursor: usize) -> Self {
        Self { cursor, ..Self::default() }
    }

    /// Moves the selection, within so many rows.
    pub fn step(&mut self, by: isize, count: usize) {
        self.select(self.cursor.saturating_add_signed(by), count);
    }

    /// Selects a row of so many, because somebody wants it.
    pub fn select(&mut self, row: usize, count: usize) {
        self.cursor = row.min(count.saturating_sub(1));
        self.doubt = None;
    }

    /// The rows that are shown where there is room for so many: the selected one is in the middle, as far as there are
    /// rows on both sides of it.
    #[must_use]
    pub fn window(&self, count: usize, room: usize) -> Range<usize> {
        let cursor = self.cursor.min(count.saturating_sub(1));
        let first = cursor.saturating_sub(room / 2).min(count.saturating_sub(room));
        first..count.min(first + room)
    }

    /// Whether a text is to be shown.
    #[must_use]
    pub fn takes(&self, text: &str) -> bool {
        self.filter.is_empty() || text.to_lowercase().contains(&self.filter.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_always_shown() {
        for count in 0..12 {
            for room in 1..5 {
                for cursor in 0..count.max(1) {
                    let list = List::at(cursor);
                    let shown = list.window(count, room);
                    assert_eq!(shown.len(), count.min(room), "{count} {room} {cursor}");
                    assert!(count == 0 || shown.contains(&cursor), "{count} {room} {cursor}");
                }
            }
        }
    }

    #[test]
    fn a_step_stays_within_the_list() {
        let mut list = List::default();
        list.step(5, 3);
        assert_eq!(list.cursor, 2);
        list.step(isize::MIN, 3);
        assert_eq!(list.cursor, 0);
        list.step(1, 0);
        assert_eq!(list.cursor, 0);
    }
}
