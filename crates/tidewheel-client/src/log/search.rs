//! [`Search`]: the lines of a log in which something is found, one after the other, in time that grows with the log and
//! with nothing else.
//!
//! Whoever listens may stop it at any time. What is found is not kept here.

use std::io;

use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, Look};

use super::cursor::Cursor;
use super::files::LogFiles;
use super::index::Index;
use super::signs::plain;
use super::walk::{Line, Stop, Walk};

/// Parts of a log for which it is counted what was found in them.
pub const BUCKETS: usize = 200;
/// Letters of what is searched.
pub const PATTERN_MAX: usize = 1000;
/// What an expression may take in memory.
const MEMORY_MAX: usize = 2 << 20;
/// A longer line is searched in pieces.
const LONG: usize = 1 << 20;
/// So much of one piece is in the next as well.
const OVERLAP: usize = 64 << 10;
/// Whoever listens is told after so many bytes, or so many lines.
const TELL_BYTES: u64 = 8 << 20;
const TELL_LINES: usize = 256;

/// What lines look like that tell of an error.
const ERROR: &str = r"\b(?:errors?|fatal|panic(?:ked)?|exception|traceback|fail(?:ed|ures?)|segmentation fault|undefined reference|cannot|not found|permission denied)\b";

/// What is searched for.
#[derive(Debug, Clone)]
pub struct Search {
    expression: Regex,
    /// Whether `0 errors` is none.
    is_for_errors: bool,
}

/// Why something cannot be searched for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// There is nothing to search for.
    #[error("there is nothing to search for")]
    Empty,
    /// It is too long.
    #[error("what is searched for has more than {PATTERN_MAX} letters")]
    TooLong,
    /// It is no regular expression, or one that takes too much.
    #[error("this is no regular expression that can be searched for: {0}")]
    Expression(String),
    /// It asks for the ends of the text, of which there is none.
    #[error(r"the ends of a line are ^ and $; \A and \z are those of a text, which a log is not")]
    Ends,
}

impl Search {
    /// A search for a text, or for a regular expression within a line. If nobody says whether it matters how large letters
    /// are, it does if one is a capital.
    ///
    /// # Errors
    ///
    /// When it cannot be searched for.
    pub fn new(text: &str, is_regex: bool, case: Option<bool>) -> Result<Self, SearchError> {
        if text.is_empty() {
            return Err(SearchError::Empty);
        }
        if text.chars().count() > PATTERN_MAX {
            return Err(SearchError::TooLong);
        }
        let case = case.unwrap_or_else(|| text.chars().any(char::is_uppercase));
        let expression = if is_regex { text.to_owned() } else { regex::escape(text) };
        Self::of(&expression, case)
    }

    /// A search for lines that look as if they told of an error.
    ///
    /// # Errors
    ///
    /// Never: what it searches for is known.
    pub fn errors() -> Result<Self, SearchError> {
        Ok(Self { is_for_errors: true, ..Self::of(ERROR, false)? })
    }

    fn of(expression: &str, case: bool) -> Result<Self, SearchError> {
        let wrong = |error: &dyn std::error::Error| {
            // The last line says what is wrong; those before show where, for a terminal.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            SearchError::Expression(last.trim_start_matches("error: ").to_owned())
        };
        let mut parser = regex_syntax::ParserBuilder::new();
        let parsed: Result<Hir, _> = parser.utf8(false).multi_line(true).build().parse(expression);
        let looks = parsed.map_err(|error| wrong(&error))?.properties().look_set();
        if looks.contains(Look::Start) || looks.contains(Look::End) {
            return Err(SearchError::Ends);
        }
        let mut builder = RegexBuilder::new(expression);
        builder.multi_line(true).case_insensitive(!case);
        let built = builder.size_limit(MEMORY_MAX).dfa_size_limit(MEMORY_MAX).build();
        let expression = built.map_err(|error| wrong(&error))?;
        Ok(Self { expression, is_for_errors: false })
    }

    /// Whether something is found in a line.
    fn is_in(&self, line: &[u8]) -> bool {
        let found = self.expression.find_iter(line);
        if !self.is_for_errors {
            return self.expression.is_match(line);
        }
        found.into_iter().any(|found| !is_denied(&line[..found.start()]))
    }

    /// Calls for each of some whole lines in which something is found.
    fn each_in(&self, lines: &[u8], mut hit: impl FnMut(u64)) {
        let (mut at, mut number) = (0, 0);
        while let Some(found) = self.expression.find_at(lines, at) {
            if found.start() >= lines.len() {
                return;
            }
            let from = memrchr(b'\n', &lines[at..found.start()]).map_or(at, |end| at + end + 1);
            number += memchr_iter(b'\n', &lines[at..from]).count() as u64;
            let to = memchr(b'\n', &lines[from..]).map_or(lines.len(), |end| from + end);
            // What goes beyond a line may be there within it too.
            let is_sure = found.end() <= to && !self.is_for_errors;
            if is_sure || self.is_in(&lines[from..to]) {
                hit(number);
            }
            (at, number) = (to + 1, number + 1);
            if at >= lines.len() {
                return;
            }
        }
    }

    /// Whether something is found in a line of any length.
    fn is_in_line(&self, files: &mut LogFiles, line: Line, room: &mut Vec<u8>) -> io::Result<bool> {
        let Line { stream, mut from, to, .. } = line;
        let reading = &mut files.streams[stream];
        if to - from <= LONG as u64 {
            let bytes = reading.part(from, to, LONG)?;
            return Ok(self.is_in(plain(&bytes, room).unwrap_or(&bytes)));
        }
        let begin = from;
        loop {
            // One byte more, so that the end of the piece is not taken for that of the line.
            let bytes = reading.part(from, to, LONG + 1)?;
            let text = plain(&bytes, room).unwrap_or(&bytes);
            let is_last = from + LONG as u64 + 1 >= to;
            let first = usize::from(from > begin).min(text.len());
            let found = self.expression.find_at(text, first);
            if found.is_some_and(|found| is_last || found.end() < text.len()) {
                return Ok(true);
            }
            if is_last || bytes.is_empty() {
                return Ok(false);
            }
            from += (LONG - OVERLAP) as u64;
        }
    }
}

/// Whether what stands before a word for an error says that there is none.
fn is_denied(before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let word = before.rsplit(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
    [&b"0"[..], b"no", b"without"].iter().any(|no| word.eq_ignore_ascii_case(no))
}

/// What a search has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Lines in which something was found.
    pub count: u64,
    /// Bytes that were searched.
    pub bytes: u64,
    /// How many of the lines are in which part of the log.
    pub buckets: Vec<u64>,
    /// Whether all of the log was searched.
    pub is_whole: bool,
}

impl Index {
    /// Searches a log from a line on. Whoever listens is told line numbers, from 0, and how many bytes were searched, and says
    /// whether to go on. The index must have grown with these files.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub fn search(
        &self,
        files: &mut LogFiles,
        search: &Search,
        from: u64,
        mut hear: impl FnMut(&[u64], u64) -> bool,
    ) -> io::Result<Found> {
        let total = self.total().max(1);
        let mut found = Found { count: 0, bytes: 0, buckets: vec![0; BUCKETS], is_whole: false };
        let mut hits = Vec::new();
        let mut told = 0;
        let is_whole = self.each_hit(files, search, from, |hit, _, bytes| {
            found.bytes = bytes;
            if let Some(line) = hit {
                found.count += 1;
                let bucket = u128::from(line) * BUCKETS as u128 / u128::from(total);
                found.buckets[usize::try_from(bucket).unwrap_or(usize::MAX).min(BUCKETS - 1)] += 1;
                hits.push(line);
            }
            if hits.len() < TELL_LINES && bytes < told + TELL_BYTES {
                return true;
            }
            told = bytes;
            let goes_on = hear(&hits, bytes);
            hits.clear();
            goes_on
        })?;
        found.is_whole = is_whole && hear(&hits, found.bytes);
        Ok(found)
    }

    /// Calls for each line in which something is found with its number and its stream, and for each piece without any; says
    /// whether it came to the end.
    fn each_hit(
        &self,
        files: &mut LogFiles,
        search: &Search,
        from: u64,
        mut hit: impl FnMut(Option<u64>, usize, u64) -> bool,
    ) -> io::Result<bool> {
        let mut walk = Walk::new(files, self.near(from));
        walk.is_coloured = false;
        walk.pass_to(from)?;
        let mut room = Vec::new();
        let mut found = Vec::new();
        loop {
            let Cursor { line: first, .. } = walk.cursor;
            let bytes = walk.cursor.bytes();
            found.clear();
            let stream = match walk.lines()? {
                None => break,
                Some((stream, [])) => {
                    if let Some(line) = ended(&mut walk)?
                        && search.is_in_line(walk.files, line, &mut room)?
                        && !hit(Some(first), line.stream, bytes)
                    {
                        return Ok(false);
                    }
                    stream
                }
                Some((stream, lines)) => {
                    let text = plain(lines, &mut room).unwrap_or(lines);
                    search.each_in(text, |line| found.push(first + line));
                    walk.pass(u64::MAX)?;
                    stream
                }
            };
            for &line in &found {
                if !hit(Some(line), stream, bytes) {
                    return Ok(false);
                }
            }
            if !hit(None, stream, walk.cursor.bytes()) {
                return Ok(false);
            }
        }
        let open: Vec<Line> = walk.open().collect();
        let (first, bytes) = (walk.cursor.line, walk.cursor.bytes());
        for (number, line) in (first..).zip(open) {
            let is_found = number >= from && search.is_in_line(walk.files, line, &mut room)?;
            if is_found && !hit(Some(number), line.stream, bytes) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Passes a piece of a line that has begun, or does not end within a piece; the line, if it ended.
fn ended(walk: &mut Walk<'_>) -> Result<Option<Line>, Stop> {
    let Cursor { line, start, style, .. } = walk.cursor;
    walk.pass(1)?;
    let is_ended = walk.cursor.line > line;
    let stream = (0..2).find(|&stream| start[stream] != walk.cursor.start[stream]);
    Ok(stream.filter(|_| is_ended).map(|stream| Line {
        stream,
        from: start[stream],
        to: walk.cursor.start[stream] - 1,
        style: style[stream],
    }))
}

/// A line that may say why something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstError {
    /// Its number, from 0.
    pub line: u64,
    /// Whether it was written to standard error.
    pub is_error: bool,
    /// Whether it looks like it; else it is only the first of standard error.
    pub is_likely: bool,
}

/// The first line that looks as if it told of an error, of standard error if there is one; else the first line of
/// standard error.
///
/// # Errors
///
/// When the log cannot be read.
pub fn first_error(index: &Index, files: &mut LogFiles) -> io::Result<Option<FirstError>> {
    // What it searches for is known, and can be.
    let search = Search::errors().map_err(io::Error::other)?;
    let has_both = files.sizes().iter().all(|size| *size > 0);
    let mut likely: Option<FirstError> = None;
    index.each_hit(files, &search, 0, |line, stream, _| {
        let is_error = stream == 1;
        if let Some(line) = line
            && (likely.is_none() || is_error)
        {
            likely = Some(FirstError { line, is_error, is_likely: true });
        }
        // One of standard error is better than one of standard output.
        !likely.is_some_and(|likely| likely.is_error || !has_both)
    })?;
    if likely.is_some() || files.sizes()[1] == 0 {
        return Ok(likely);
    }
    let mut walk = Walk::new(files, Cursor::default());
    walk.is_coloured = false;
    while let Some((stream, _)) = walk.turn()? {
        let before = walk.cursor.line;
        if !walk.pass(if stream == 1 { 1 } else { u64::MAX })? {
            break;
        }
        if stream == 1 && walk.cursor.line > before {
            return Ok(Some(FirstError { line: before, is_error: true, is_likely: false }));
        }
    }
    let open = (walk.cursor.line..).zip(walk.open()).find(|(_, line)| line.stream == 1);
    Ok(open.map(|(line, _)| FirstError { line, is_error: true, is_likely: false }))
}
