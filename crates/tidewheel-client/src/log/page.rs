//! [`Page`]: some lines of a log, as they are shown.
//!
//! What stands in a line is taken apart in [`super::signs`].

use std::io;

use memchr::memchr;

use super::cursor::Cursor;
use super::files::LogFiles;
use super::index::Index;
use super::signs::{last_state, spans};
use super::style::Style;
use super::walk::{Line, Walk};

/// Of a line that is longer, this much is looked at from its end for what was written over.
const END: usize = 64 << 10;

/// So much of the end is looked at for lines that are shown before all are counted.
const ENDING: u64 = 256 << 10;

/// Which lines are wanted, and how much of each.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The number of the first, from 0; less than 0: counted from the end.
    pub from: i64,
    /// How many.
    pub count: u64,
    /// Bytes of each that are shown.
    pub bytes: usize,
}

/// Some lines of a log.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// The number of the first, from 0.
    pub from: u64,
    /// The lines.
    pub lines: Vec<ShownLine>,
}

/// A line as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct ShownLine {
    /// Its number, from 0.
    pub number: u64,
    /// Whether it was written to standard error.
    pub is_error: bool,
    /// Its letters: nothing in them does anything but show.
    pub spans: Vec<(Style, String)>,
    /// Whether there is more of it.
    pub cut: Option<Cut>,
}

/// A line of which not all is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Where it begins in the file of its stream.
    pub from: u64,
    /// How long it is.
    pub bytes: u64,
}

impl Index {
    /// Lines that follow each other. The index must have grown with these files.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn page(&self, files: &mut LogFiles, wanted: Wanted) -> io::Result<Page> {
        let total = self.total();
        let from = match u64::try_from(wanted.from) {
            Ok(from) => from.min(total),
            Err(_) => total.saturating_sub(wanted.from.unsigned_abs()),
        };
        let lines = self.some(files, from, wanted.count.min(total - from), wanted.bytes)?;
        Ok(Page { from, lines })
    }

    /// Lines by their numbers, in their order; what is not there is left out.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn these(&self, files: &mut LogFiles, numbers: &[u64], bytes: usize) -> io::Result<Page> {
        let mut lines = Vec::new();
        let mut rest = numbers;
        while let Some(&first) = rest.first() {
            // Those that follow each other are read at once.
            let follows = rest.iter().zip(first..).take_while(|(number, next)| *number == next);
            let count = follows.count();
            lines.extend(self.some(files, first, count as u64, bytes)?);
            rest = &rest[count..];
        }
        let from = numbers.first().copied().unwrap_or_default();
        Ok(Page { from, lines })
    }

    /// The last lines while those before them are not counted: their numbers are nobody's. None if they cannot be told
    /// without, because both streams have some, or there is no line end near the end.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn ending(files: &mut LogFiles, count: u64, bytes: usize) -> io::Result<Option<Page>> {
        let sizes = files.sizes();
        let stream = match sizes {
            [_, 0] => 0,
            [0, _] => 1,
            _ => return Ok(None),
        };
        let near = sizes[stream].saturating_sub(ENDING);
        let part = files.streams[stream].part(near, sizes[stream], ENDING as usize)?;
        let Some(first) = memchr(b'\n', &part) else { return Ok(None) };
        let at = if near == 0 { 0 } else { near + first as u64 + 1 };
        let mut cursor = Cursor { order: files.order.size, ..Cursor::default() };
        (cursor.at[stream], cursor.start[stream], cursor.told[stream]) = (at, at, at);
        let mut end = Walk::new(files, cursor);
        end.pass_to(u64::MAX)?;
        let total = end.cursor.line + end.open().count() as u64;
        let from = total.saturating_sub(count);
        let lines = some(files, cursor, from, total - from, bytes)?;
        Ok(Some(Page { from, lines }))
    }

    fn some(
        &self,
        files: &mut LogFiles,
        from: u64,
        count: u64,
        bytes: usize,
    ) -> io::Result<Vec<ShownLine>> {
        some(files, self.near(from), from, count, bytes)
    }
}

/// So many lines from this one on, which comes after the cursor.
fn some(
    files: &mut LogFiles,
    cursor: Cursor,
    from: u64,
    count: u64,
    bytes: usize,
) -> io::Result<Vec<ShownLine>> {
    let mut walk = Walk::new(files, cursor);
    walk.pass_to(from)?;
    let mut found = Vec::new();
    while (found.len() as u64) < count {
        match walk.line()? {
            Some(line) => found.push((from + found.len() as u64, line)),
            None => break,
        }
    }
    if (found.len() as u64) < count {
        let open = (walk.cursor.line..).zip(walk.open());
        found.extend(open.filter(|(number, _)| (from..from + count).contains(number)));
    }
    let shown = found.into_iter().map(|(number, line)| show(files, number, line, bytes));
    shown.collect()
}

/// A line as it is shown.
fn show(files: &mut LogFiles, number: u64, line: Line, most: usize) -> io::Result<ShownLine> {
    let Line { stream, from, to, mut style } = line;
    let reading = &mut files.streams[stream];
    let length = to - from;
    let (bytes, is_cut) = if length <= END as u64 {
        let bytes = reading.part(from, to, END)?;
        let (over, last) = last_state(&bytes);
        spans(over, &mut style);
        (last[..most.min(last.len())].to_vec(), last.len() > most)
    } else {
        let end = reading.part(to - END as u64, to, END)?;
        let (over, last) = last_state(&end);
        match over.is_empty() {
            false => (last[..most.min(last.len())].to_vec(), last.len() > most),
            true => (reading.part(from, to, most)?, length > most as u64),
        }
    };
    let bytes = if is_cut { whole_letters(&bytes) } else { &bytes };
    let cut = is_cut.then_some(Cut { from, bytes: length });
    Ok(ShownLine { number, is_error: stream == 1, spans: spans(bytes, &mut style), cut })
}

/// Without a letter at the end that is not all there.
fn whole_letters(bytes: &[u8]) -> &[u8] {
    let end = bytes.len();
    for back in 1..=end.min(3) {
        let byte = bytes[end - back];
        let length = match byte {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        if length > 1 {
            return if length > back { &bytes[..end - back] } else { bytes };
        }
        if byte < 0x80 {
            break;
        }
    }
    bytes
}
