//! [`Index`]: places in a log from which its lines are found quickly, however many there are.
//!
//! It grows with the log, when somebody looks. It holds no text, and never more than so many places: when there are
//! more, every second one goes. Where indexes are kept is [`super::shelf`].

use std::io;

use super::cursor::Cursor;
use super::files::LogFiles;
use super::walk::{Stop, Walk};

/// Bytes between two places, at first.
const SPACING: u64 = 64 << 10;
/// Places that are kept.
const PLACES_MAX: usize = 4096;

/// Places in a log.
#[derive(Debug, Clone)]
pub struct Index {
    /// Which file it is of.
    identity: u64,
    /// How often lines may have changed their numbers.
    changed: u64,
    places: Vec<Cursor>,
    spacing: u64,
    /// How far the order is settled, and the places up to there.
    settled: (Cursor, usize),
    /// The end of what there was.
    end: Cursor,
    /// How long the files were then.
    seen: ([u64; 2], u64),
}

impl Default for Index {
    fn default() -> Self {
        Self {
            identity: 0,
            changed: 0,
            places: vec![Cursor::default()],
            spacing: SPACING,
            settled: (Cursor::default(), 1),
            end: Cursor::default(),
            seen: ([0; 2], 0),
        }
    }
}

impl Index {
    /// How many lines there are, with one that has not ended.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.end.line + self.end.open().count() as u64
    }

    /// A word that is another one when lines may have changed: the log was written anew, or its streams are in another order than
    /// could be known at first.
    #[must_use]
    pub fn generation(&self) -> String {
        format!("{:x}-{}", self.identity, self.changed)
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.places.capacity() * size_of::<Cursor>()
    }

    /// Bytes whose lines are counted.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.end.bytes()
    }

    /// Takes in what came since the last time.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn grow(&mut self, files: &mut LogFiles) -> io::Result<()> {
        self.grow_by(files, u64::MAX)
    }

    /// Takes in some of it: about so many bytes, or as many as are in no order yet.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn grow_by(&mut self, files: &mut LogFiles, most: u64) -> io::Result<()> {
        let sizes = files.sizes();
        let seen = (sizes, files.order.size);
        let is_shorter = (0..2).any(|stream| sizes[stream] < self.seen.0[stream]);
        let was_empty = self.seen == ([0; 2], 0);
        if is_shorter || (!was_empty && files.streams.iter().all(|it| it.identity != self.identity))
        {
            *self = Self { changed: self.changed + 1, ..Self::default() };
        }
        if self.identity == 0 {
            self.identity = files.identity();
        }
        if self.seen == seen {
            return Ok(());
        }
        let (settled, places) = self.settled;
        if settled != self.end {
            // What came after it was in an order that nobody had told.
            self.changed += 1;
        }
        self.places.truncate(places);
        let is_whole = match self.walk(files, settled, most) {
            Ok(is_whole) => is_whole,
            Err(Stop::Otherwise) => {
                let (identity, changed) = (self.identity, self.changed + 1);
                *self = Self { identity, changed, ..Self::default() };
                self.walk(files, Cursor::default(), most)?
            }
            Err(Stop::Failed(error)) => return Err(error),
        };
        self.seen = if is_whole { seen } else { (self.end.at, self.end.order) };
        Ok(())
    }

    /// Goes through about so many bytes; says whether it came to the end.
    fn walk(&mut self, files: &mut LogFiles, from: Cursor, most: u64) -> Result<bool, Stop> {
        let mut walk = Walk::new(files, from);
        let (mut settled, mut is_whole) = (None, true);
        loop {
            // What has no order yet is gone through anew each time, so that is never left half way.
            if settled.is_none() && walk.cursor.bytes() - from.bytes() >= most {
                is_whole = false;
                break;
            }
            let before = walk.cursor;
            let has_more = walk.pass(u64::MAX)?;
            if walk.is_unsettled && settled.is_none() {
                settled = Some((before, self.places.len()));
            }
            if !has_more {
                break;
            }
            let last = self.places.last().map_or(0, Cursor::bytes);
            if walk.cursor.bytes() >= last + self.spacing {
                if self.places.len() == PLACES_MAX {
                    self.thin_out(&mut settled);
                }
                self.places.push(walk.cursor);
            }
        }
        self.end = walk.cursor;
        self.settled = settled.unwrap_or((self.end, self.places.len()));
        Ok(is_whole)
    }

    /// Leaves every second place out.
    fn thin_out(&mut self, settled: &mut Option<(Cursor, usize)>) {
        let mut place = 0;
        self.places.retain(|_| {
            place += 1;
            place % 2 == 1
        });
        self.spacing *= 2;
        if let Some((_, places)) = settled {
            *places = places.div_ceil(2);
        }
    }

    /// The nearest place at or before a line.
    pub(super) fn near(&self, line: u64) -> Cursor {
        let after = self.places.partition_point(|place| place.line <= line);
        self.places[after.saturating_sub(1)]
    }
}
