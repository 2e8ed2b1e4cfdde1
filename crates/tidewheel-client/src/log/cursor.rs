//! [`Cursor`]: a place in a log, from which it can be read on.
//!
//! How one gets from one to the next is in [`super::walk`].

use super::style::Style;

/// A place in a log.
///
/// A line stands where its end came; until then its stream has a *beginning* of a line, which may go on after turns of the
/// other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cursor {
    /// Lines before it.
    pub line: u64,
    /// How far the order of the streams was read.
    pub order: u64,
    /// What it said of each stream up to there.
    pub told: [u64; 2],
    /// How far each stream was read.
    pub at: [u64; 2],
    /// Where the line begins in each stream that has not ended.
    pub start: [u64; 2],
    /// How letters look there.
    pub style: [Style; 2],
}

impl Cursor {
    /// Beginnings of lines that nothing has ended.
    pub fn open(&self) -> impl Iterator<Item = usize> + use<> {
        let (start, at) = (self.start, self.at);
        (0..2).filter(move |&stream| start[stream] < at[stream])
    }

    /// Bytes before it.
    pub fn bytes(&self) -> u64 {
        self.at[0] + self.at[1]
    }
}
