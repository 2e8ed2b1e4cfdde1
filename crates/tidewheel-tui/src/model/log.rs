//! [`Log`]: what a step wrote, as far as it is looked at, and which rows of it are shown.
//!
//! How a row looks is in [`crate::view`]. Lines come in pages from whoever has them: however long a log is, little of it
//! is here.

use std::ops::Range;

use tidewheel_client::api::{LogLine, LogLines, LogStream};
use tidewheel_client::text::{bytes, clusters, columns, is_hidden};

use crate::message::Written;

/// Rows beyond this are as good as all.
const FAR: i64 = 1000;

/// Columns and rows in which lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Columns.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
}

/// A row: the number of its line, from 1, and how many rows of that are above it.
pub type Place = (u64, usize);

/// What a step wrote, as far as it is looked at.
#[derive(Debug, Clone)]
pub struct Log {
    /// Which of the attempts and streams.
    pub of: Written,
    /// Some lines.
    pub lines: Option<LogLines>,
    /// The first row that is wanted.
    pub top: Place,
    /// The first row that is shown: the same, once its lines are here.
    pub shown: Place,
    /// Whether the end is kept in sight.
    pub is_following: bool,
    /// Whether a line has as many rows as it takes, instead of one.
    pub is_wrapped: bool,
    /// Columns of lines that are to the left of what is shown.
    pub left: usize,
    /// What is searched for.
    pub text: String,
    /// The lines in which it was found; `None`: nobody has looked yet.
    pub hits: Option<Vec<u64>>,
    /// Which of them is looked at.
    pub hit: usize,
    /// Whether that is to be brought into sight, once its line is here.
    pub is_seeking: bool,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            of: Written::default(),
            lines: None,
            top: (1, 0),
            shown: (1, 0),
            is_following: true,
            is_wrapped: false,
            left: 0,
            text: String::new(),
            hits: None,
            hit: 0,
            is_seeking: false,
        }
    }
}

impl Log {
    /// How many lines there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.lines.as_ref().map_or(0, |lines| lines.total)
    }

    /// The attempt that is shown, and how many there are.
    #[must_use]
    pub fn attempts(&self) -> (u32, u32) {
        let shown = self.lines.as_ref().map_or(0, |lines| lines.attempt);
        let all = self.lines.as_ref().and_then(|lines| lines.attempts);
        (shown, all.unwrap_or(shown))
    }

    /// Looks at the attempt before, or after. The last of them is the newest, also when there is another one later.
    ///
    /// # Errors
    ///
    /// When there is none, in words.
    pub fn turn_attempt(&mut self, is_newer: bool) -> Result<(), &'static str> {
        let (shown, all) = self.attempts();
        let now = self.of.attempt.unwrap_or(shown);
        match if is_newer { now + 1 } else { now.saturating_sub(1) } {
            0 => Err("this is the first attempt"),
            next if next > all => Err("this is the newest attempt"),
            next => {
                let attempt = (next < all).then_some(next);
                self.look_at(Written { attempt, ..self.of });
                Ok(())
            }
        }
    }

    /// Looks at standard output only, then at standard error only, then at both.
    pub fn turn_stream(&mut self) {
        let stream = match self.of.stream {
            None => Some(LogStream::Stdout),
            Some(LogStream::Stdout) => Some(LogStream::Stderr),
            Some(LogStream::Stderr) => None,
        };
        self.look_at(Written { stream, ..self.of });
    }

    /// Looks at something else that was written, of which nothing is known yet.
    fn look_at(&mut self, of: Written) {
        self.of = of;
        (self.top, self.left) = ((1, 0), 0);
        (self.is_following, self.is_seeking, self.hits) = (true, false, None);
    }

    /// Digits of the number of a line.
    #[must_use]
    pub fn digits(&self) -> usize {
        self.total().max(1).to_string().len()
    }

    /// Columns for the letters of a line: its number and a rule stand before them.
    #[must_use]
    pub fn letters(&self, room: Room) -> usize {
        room.columns.saturating_sub(self.digits() + 4).max(1)
    }

    /// The line of a number, if it is here.
    #[must_use]
    pub fn line(&self, number: u64) -> Option<&LogLine> {
        let lines = self.lines.as_ref()?;
        lines.lines.get(usize::try_from(number.checked_sub(lines.from)?).ok()?)
    }

    /// The number of the line in which something was found and that is looked at.
    #[must_use]
    pub fn found(&self) -> Option<u64> {
        self.hits.as_ref()?.get(self.hit).copied()
    }

    /// From which line on is to be asked, and for how many; less than 0: counted from the end. Wrapped lines above are known
    /// too, or nobody knew how many rows further up one gets.
    #[must_use]
    pub fn wanted(&self, room: Room) -> (i64, u32) {
        let rows = if self.is_wrapped { room.rows * 2 } else { room.rows };
        let count = u32::try_from(rows).unwrap_or(400).clamp(1, 400);
        let above = if self.is_wrapped { room.rows as u64 } else { 0 };
        let first = self.top.0.saturating_sub(above).max(1);
        let from = match self.is_following {
            true => -i64::from(count),
            false => i64::try_from(first).unwrap_or(1),
        };
        (from, count)
    }

    /// Takes in lines.
    pub fn take_in(&mut self, lines: LogLines, room: Room) {
        self.lines = Some(lines);
        if self.is_seeking {
            self.seek(room);
        }
        let end = self.end(room);
        self.top = if self.is_following { end } else { self.top.min(end) };
        self.shown = self.top;
    }

    /// Scrolls by rows.
    pub fn scroll(&mut self, by: i64, room: Room) {
        let end = self.end(room);
        let from = if self.is_following { end } else { self.top };
        let rows = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
        let to = match by {
            FAR.. => end,
            ..0 if by <= -FAR => (1, 0),
            ..0 => self.before(from, rows, room),
            _ => self.behind(from, rows, room),
        };
        self.is_seeking = false;
        self.turn_to(to.min(end), room);
        self.is_following = self.top == end && by > 0;
    }

    /// Moves to the right, or to the left, by half of what is shown; at most to the end of the longest line that is here.
    pub fn slide(&mut self, is_right: bool, room: Room) {
        let letters = self.letters(room);
        let step = (letters / 2).max(1);
        let lines = self.lines.iter().flat_map(|lines| &lines.lines);
        let longest = lines.map(|line| columns(&written(line))).max().unwrap_or_default();
        self.left = match is_right {
            true => (self.left + step).min(longest.saturating_sub(letters)),
            false => self.left.saturating_sub(step),
        };
        self.is_seeking = false;
    }

    /// Gives each line as many rows as it takes, or one again.
    pub fn wrap(&mut self, room: Room) {
        self.is_wrapped = !self.is_wrapped;
        self.left = 0;
        // What was found and is in sight stays so.
        let first = self.top.0;
        let is_near = |line: u64| (first..first + room.rows as u64).contains(&line);
        self.is_seeking = !self.is_following && self.found().is_some_and(is_near);
        self.turn_to((first, 0), room);
        if self.is_following {
            self.turn_to(self.end(room), room);
        }
    }

    /// Goes to a line in which it was found: the next one, or the one before.
    pub fn jump(&mut self, by: isize, room: Room) {
        let Some(hits) = self.hits.as_ref().filter(|hits| !hits.is_empty()) else { return };
        let count = hits.len() as isize;
        self.hit = (self.hit as isize + by).rem_euclid(count) as usize;
        self.show(hits[self.hit], room);
    }

    /// Shows a line, in the middle if there are lines on both sides.
    pub fn show(&mut self, line: u64, room: Room) {
        let place = self.before((line, 0), room.rows / 2, room);
        // Where the end is, is not known before there are lines.
        let end = if self.lines.is_some() { self.end(room) } else { place };
        self.turn_to(place.min(end), room);
        (self.is_following, self.is_seeking) = (false, true);
    }

    /// Brings what was found into sight, if its line is here.
    fn seek(&mut self, room: Room) {
        let Some(number) = self.found() else { return };
        let Some(text) = self.line(number).map(written) else { return };
        self.is_seeking = false;
        let letters = self.letters(room);
        let Some(found) = places(&text, &self.text).into_iter().next() else { return };
        if self.is_wrapped {
            let rows = rows(&text, letters);
            let row = rows.iter().position(|row| row.contains(&found.start)).unwrap_or_default();
            self.top = self.before((number, row), room.rows / 2, room);
            return;
        }
        let (from, to) = (columns(&text[..found.start]), columns(&text[..found.end]));
        // The last column may be taken by the sign that there is more.
        let is_seen = |left: usize| from >= left && to < left + letters;
        if is_seen(0) {
            self.left = 0;
        } else if !is_seen(self.left) {
            self.left = from.saturating_sub(letters / 3);
        }
    }

    /// Wants a row to be the first, and shows it at once if its lines are here.
    fn turn_to(&mut self, place: Place, room: Room) {
        self.top = place;
        let last = (place.0 + room.rows as u64).saturating_sub(1).min(self.total());
        if self.line(place.0).is_some() && self.line(last).is_some() {
            self.shown = place;
        }
    }

    /// The first row that is shown where the last one is at the bottom.
    fn end(&self, room: Room) -> Place {
        self.before((self.total() + 1, 0), room.rows, room)
    }

    /// The row so many above another: the first one, if there are not so many.
    fn before(&self, (mut line, mut above): Place, mut rows: usize, room: Room) -> Place {
        loop {
            if rows <= above {
                return (line, above - rows);
            }
            if line <= 1 {
                return (1, 0);
            }
            rows -= above;
            line -= 1;
            above = self.height(line, room);
        }
    }

    /// The row so many below another.
    fn behind(&self, (mut line, above): Place, rows: usize, room: Room) -> Place {
        let mut above = above + rows;
        while line <= self.total() {
            let height = self.height(line, room);
            if above < height {
                break;
            }
            above -= height;
            line += 1;
        }
        (line, above)
    }

    /// Rows of a line: one, where that is not known.
    fn height(&self, number: u64, room: Room) -> usize {
        match self.line(number).filter(|_| self.is_wrapped) {
            Some(line) => rows(&written(line), self.letters(room)).len(),
            None => 1,
        }
    }
}

/// What a line is made of: letters that do nothing but show, and before them the words for their style.
pub fn parts(line: &LogLine) -> Vec<(&str, String)> {
    let spans = line.2.iter().map(|span| (span.0.as_str(), visible(&span.1)));
    let rest = line.3.map(|cut| ("d", format!(" … of {}", bytes(cut.1))));
    spans.chain(rest).collect()
}

/// The letters of a line.
pub fn written(line: &LogLine) -> String {
    parts(line).into_iter().map(|(_, letters)| letters).collect()
}

/// The rows of a line that is wrapped, as parts of its letters.
pub fn rows(text: &str, width: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut start = 0;
    loop {
        let end = start + row_end(&text[start..], width);
        rows.push(start..end);
        if end == text.len() {
            return rows;
        }
        start = end;
    }
}

/// The end of the first row of a text: as many letters as have room, and at least one.
pub fn row_end(text: &str, width: usize) -> usize {
    let (mut used, mut at) = (0, 0);
    for (cluster, columns) in clusters(text) {
        if used + columns > width && at > 0 {
            break;
        }
        used += columns;
        at += cluster.len();
    }
    at
}

/// Where a line goes on that is shown from a column on, and how many columns of a wide letter are there before.
pub fn beyond(text: &str, left: usize) -> (usize, usize) {
    let (mut used, mut at) = (0, 0);
    for (cluster, columns) in clusters(text) {
        if used >= left {
            break;
        }
        used += columns;
        at += cluster.len();
    }
    (at, used.saturating_sub(left))
}

/// Where a text is in another, by the rule of whoever searched: the case of letters matters if one of them is a capital.
pub fn places(text: &str, wanted: &str) -> Vec<Range<usize>> {
    let within = |text: &str, wanted: &str| -> Vec<Range<usize>> {
        text.match_indices(wanted).map(|(at, found)| at..at + found.len()).collect()
    };
    match wanted {
        "" => Vec::new(),
        _ if wanted.chars().any(char::is_uppercase) => within(text, wanted),
        // Of the same length, so that places are those of the text.
        _ => within(&text.to_ascii_lowercase(), &wanted.to_ascii_lowercase()),
    }
}

/// Lines come harmless; what does not comes from no server of ours, and is shown escaped all the same.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => shown.push_str("    "),
            letter if letter.is_control() || is_hidden(letter) => {
                shown.extend(letter.escape_unicode());
            }
            letter => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_client::api::LogSpan;

    use super::*;

    /// Ten columns for letters, of up to nine lines.
    const ROOM: Room = Room { columns: 15, rows: 4 };

    fn log(texts: &[&str]) -> Log {
        let line = |text: &&str| {
            let spans = vec![LogSpan(String::new(), (*text).to_owned())];
            LogLine(None, LogStream::Stdout, spans, None)
        };
        let lines = LogLines {
            total: texts.len() as u64,
            from: 1,
            lines: texts.iter().map(line).collect(),
            ..crate::samples::lines(1)
        };
        let mut log = Log { is_wrapped: true, ..Log::default() };
        log.take_in(lines, ROOM);
        log
    }

    #[test]
    fn wrapped_lines_are_scrolled_row_by_row_to_both_ends() {
        let long = "0123456789".repeat(3);
        let mut log = log(&["a", &long, "b", "c", &long]);
        assert_eq!(log.top, (4, 0), "the last four rows");
        log.scroll(-1, ROOM);
        assert_eq!((log.top, log.is_following), ((3, 0), false));
        log.scroll(-2, ROOM);
        assert_eq!((log.top, log.shown), ((2, 1), (2, 1)));
        log.scroll(-100, ROOM);
        assert_eq!(log.top, (1, 0));
        log.scroll(2, ROOM);
        assert_eq!(log.top, (2, 1));
        log.scroll(i64::MAX / 2, ROOM);
        assert_eq!((log.top, log.is_following), ((4, 0), true));
        log.wrap(ROOM);
        assert_eq!(log.top, (2, 0), "a row each");
        log.wrap(ROOM);
        assert_eq!(log.top, (4, 0));
    }

    #[test]
    fn no_row_is_wider_than_the_room_and_no_letter_is_lost() {
        let text = "a 東京都庁 e\u{301}\u{301}x ❤\u{fe0f} end".repeat(7);
        for width in 2..30 {
            let rows = rows(&text, width);
            let all: String = rows.iter().map(|row| &text[row.clone()]).collect();
            assert_eq!(all, text, "{width}");
            assert!(rows.iter().all(|row| columns(&text[row.clone()]) <= width), "{width}");
        }
        assert_eq!(rows("", 5).len(), 1, "an empty line has a row");
        assert_eq!(beyond("東京x", 1), (3, 1), "half of a wide letter is a space");
        assert_eq!(beyond("東京x", 2), (3, 0));
        assert_eq!(beyond("ab", 9), (2, 0));
    }

    #[test]
    fn what_was_found_beyond_the_edge_is_brought_into_sight() {
        let far = format!("{}needle{}", "x".repeat(200), "y".repeat(60));
        let mut log = log(&["a", &far, "b", "c", "d", "needle"]);
        let lines = log.lines.clone().unwrap();
        (log.text, log.hits) = ("needle".to_owned(), Some(vec![2, 6]));
        log.show(2, ROOM);
        log.take_in(lines.clone(), ROOM);
        let (line, above) = log.top;
        assert!(line == 2 && (17..=20).contains(&above), "row 21 of it: {:?}", log.top);
        log.wrap(ROOM);
        log.take_in(lines.clone(), ROOM);
        assert!((197..=200).contains(&log.left), "{}", log.left);
        log.jump(1, ROOM);
        log.take_in(lines.clone(), ROOM);
        assert_eq!((log.left, log.is_following), (0, false));
        log.jump(1, ROOM);
        log.slide(false, ROOM);
        log.take_in(lines, ROOM);
        assert_eq!(log.left, 0, "whoever moves elsewhere is not brought back");
    }

    #[test]
    fn a_capital_matters_in_what_is_searched_for() {
        assert_eq!(places("Error, error", "error"), [0..5, 7..12]);
        assert_eq!(places("Error, errors, Error", "Error"), [0..5, 15..20]);
        assert!(places("x", "").is_empty());
    }

    #[test]
    fn sideways_it_goes_to_the_end_of_the_longest_line() {
        let mut log = log(&["a", &"東".repeat(12)]);
        log.is_wrapped = false;
        for left in [5, 10, 14, 14] {
            log.slide(true, ROOM);
            assert_eq!(log.left, left);
        }
        for left in [9, 4, 0, 0] {
            log.slide(false, ROOM);
            assert_eq!(log.left, left);
        }
    }
}
