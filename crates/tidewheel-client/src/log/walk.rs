//! [`Walk`]: from one place in a log to the next, in the order in which it was written.
//!
//! The order tells how much of one stream came before how much of the other; what it does not tell came last,
//! standard output first. While a process writes, that is settled as long as only one of them has more than was told.

use std::io;

use memchr::{memchr, memchr_iter, memrchr};

use super::cursor::Cursor;
use super::files::LogFiles;
use super::signs::carry;
use super::style::Style;

/// What is passed at once.
const PIECE: u64 = 64 << 10;
/// Of a long line so much is looked at, at its beginning and at its end, for the colour of the lines after it.
const LONG: usize = 64 << 10;
/// No turn is written longer.
const TURN_MAX: u64 = 64;

/// A line, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    pub stream: usize,
    pub from: u64,
    pub to: u64,
    /// How its first letter looks.
    pub style: Style,
}

/// Why one cannot go on.
#[derive(Debug)]
pub(super) enum Stop {
    Failed(io::Error),
    /// The order says now that what was passed came otherwise.
    Otherwise,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Stop> for io::Error {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Failed(error) => error,
            Stop::Otherwise => Self::other("the log was written anew meanwhile"),
        }
    }
}

/// On the way through a log.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub files: &'a mut LogFiles,
    pub cursor: Cursor,
    /// Whether colours are of interest.
    pub is_coloured: bool,
    /// Whether both streams have more than the order tells: then what follows may still come otherwise.
    pub is_unsettled: bool,
}

impl<'a> Walk<'a> {
    pub fn new(files: &'a mut LogFiles, cursor: Cursor) -> Self {
        Self { files, cursor, is_coloured: true, is_unsettled: false }
    }

    /// The stream that comes next, and up to which byte.
    pub fn turn(&mut self) -> Result<Option<(usize, u64)>, Stop> {
        let sizes = self.files.sizes();
        loop {
            let Cursor { order, told, at, .. } = self.cursor;
            let Some((stream, bytes, length)) = self.told(order)? else {
                let has_more = |stream: usize| sizes[stream] > told[stream];
                self.is_unsettled = has_more(0) && has_more(1);
                let next = (0..2).find(|&stream| at[stream] < sizes[stream]);
                return Ok(next.map(|stream| (stream, sizes[stream])));
            };
            let (other, end) = (1 - stream, told[stream].saturating_add(bytes));
            if at[other] > told[other] || at[stream] > end {
                return Err(Stop::Otherwise);
            }
            if at[stream] < end {
                // What was told may be on its way.
                let end = end.min(sizes[stream]);
                return Ok((at[stream] < end).then_some((stream, end)));
            }
            self.cursor.told[stream] = end;
            self.cursor.order += length;
        }
    }

    /// The turn that stands here in the order, and how many bytes say so. The last may not be whole yet.
    fn told(&mut self, from: u64) -> io::Result<Option<(usize, u64, u64)>> {
        let bytes = self.files.order.bytes(from, from + TURN_MAX)?;
        let Some(end) = memchr(b'\n', bytes) else { return Ok(None) };
        let stream = match bytes[..end] {
            [b'o', b' ', ..] => 0,
            [b'e', b' ', ..] => 1,
            _ => return Ok(None),
        };
        let number = std::str::from_utf8(&bytes[2..end]).ok().and_then(|it| it.parse().ok());
        Ok(number.map(|number| (stream, number, end as u64 + 1)))
    }

    /// The whole lines that come next, all of one stream; none if a line has begun before, or does not end there.
    pub fn lines(&mut self) -> Result<Option<(usize, &[u8])>, Stop> {
        let Some((stream, end)) = self.turn()? else { return Ok(None) };
        let (at, start) = (self.cursor.at[stream], self.cursor.start[stream]);
        let lines = self.files.streams[stream].lines(at, end.min(at + PIECE))?;
        let is_whole = at == start && lines.last() == Some(&b'\n');
        Ok(Some((stream, if is_whole { lines } else { &[] })))
    }

    /// Passes some of what comes next, and no more lines than these; says whether there was anything.
    pub fn pass(&mut self, lines_max: u64) -> Result<bool, Stop> {
        let Some((stream, end)) = self.turn()? else { return Ok(false) };
        let Cursor { at, start, style, line, .. } = &mut self.cursor;
        let (at, start, style) = (&mut at[stream], &mut start[stream], &mut style[stream]);
        let reading = &mut self.files.streams[stream];
        let bytes = reading.lines(*at, end.min(*at + PIECE))?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let Some(last) = memrchr(b'\n', bytes) else {
            *at += bytes.len() as u64;
            return Ok(true);
        };
        if *start < *at {
            // A line that began before ends alone.
            let end = *at + memchr(b'\n', bytes).unwrap_or(last) as u64;
            if self.is_coloured {
                carry(&reading.part(*start, end, LONG)?, style);
                let rest = (*start + LONG as u64).max(end.saturating_sub(LONG as u64));
                if rest < end {
                    carry(&reading.part(rest, end, LONG)?, style);
                }
            }
            (*at, *start) = (end + 1, end + 1);
            *line += 1;
            return Ok(true);
        }
        let (passed, lines) = first_lines(&bytes[..=last], lines_max);
        if self.is_coloured {
            carry(passed, style);
        }
        *at += passed.len() as u64;
        *start = *at;
        *line += lines;
        Ok(true)
    }

    /// Passes up to this line, or as far as there is something.
    pub fn pass_to(&mut self, line: u64) -> Result<(), Stop> {
        while self.cursor.line < line && self.pass(line - self.cursor.line)? {}
        Ok(())
    }

    /// The next line; behind the last whole one there is none.
    pub fn line(&mut self) -> Result<Option<Line>, Stop> {
        let Cursor { line, start, style, .. } = self.cursor;
        while self.cursor.line == line {
            if !self.pass(1)? {
                return Ok(None);
            }
        }
        let ended = (0..2).find(|&stream| start[stream] != self.cursor.start[stream]);
        Ok(ended.map(|stream| Line {
            stream,
            from: start[stream],
            to: self.cursor.start[stream] - 1,
            style: style[stream],
        }))
    }

    /// Beginnings of lines at the end of what there is, which count as lines.
    pub fn open(&self) -> impl Iterator<Item = Line> + use<> {
        let Cursor { start, at, style, .. } = self.cursor;
        self.cursor.open().map(move |stream| Line {
            stream,
            from: start[stream],
            to: at[stream],
            style: style[stream],
        })
    }
}

/// The first of some whole lines, and how many they are.
fn first_lines(lines: &[u8], most: u64) -> (&[u8], u64) {
    if most > 1 {
        let count = memchr_iter(b'\n', lines).count() as u64;
        if count <= most {
            return (lines, count);
        }
    }
    let place = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(1);
    let last = memchr_iter(b'\n', lines).nth(place).unwrap_or(lines.len() - 1);
    (&lines[..=last], most)
}
