//! [`Screen`]: turns frames into the fewest bytes that make a terminal show them.
//!
//! A frame stands where the cursor was, not on a screen of its own, so that what was there before
//! stays. Between frames the cursor rests at the beginning of the row below: whoever else writes
//! then spoils nothing, and giving the terminal back needs no movement. Nothing is written here.

use tidewheel_client::text;
use tidewheel_tui::run::Line;

/// What the terminal shows now.
#[derive(Debug)]
pub(crate) struct Screen {
    is_colourful: bool,
    is_unicode: bool,
    shown: Vec<Shown>,
    size: (usize, usize),
}

#[derive(Debug, PartialEq, Eq)]
struct Shown {
    painted: String,
    width: usize,
}

/// Lines longer than the screen are cut instead of going on in the next row: terminals disagree
/// about the width of some characters, and one row too many would shift everything.
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

impl Screen {
    /// A screen that shows no frame yet.
    pub fn new(is_colourful: bool, is_unicode: bool) -> Self {
        Self { is_colourful, is_unicode, shown: Vec::new(), size: (0, 0) }
    }

    /// The bytes that replace the frame by another one, for a screen of so many columns and rows;
    /// none if nothing differs.
    pub fn replace(&mut self, lines: &[Line], size: (usize, usize)) -> String {
        let lines = self.paint(lines);
        let mut bytes = String::new();
        if self.size != size {
            bytes.push_str(&self.erase(size.0));
            self.size = size;
        }
        if self.shown == lines {
            return bytes;
        }
        bytes.push_str(WRAP_OFF);
        up(&mut bytes, self.shown.len());
        let mut same = 0;
        for (row, line) in lines.iter().enumerate() {
            if self.shown.get(row) == Some(line) {
                same += 1;
                continue;
            }
            down(&mut bytes, std::mem::take(&mut same));
            bytes.push_str(CLEAR_LINE);
            bytes.push_str(&line.painted);
            bytes.push_str("\r\n");
        }
        down(&mut bytes, same);
        if lines.len() < self.shown.len() {
            bytes.push_str(CLEAR_BELOW);
        }
        bytes.push_str(WRAP_ON);
        self.shown = lines;
        bytes
    }

    /// The bytes that remove the frame from a screen that is now `width` columns wide. The cursor
    /// is then where its first line was.
    pub fn erase(&mut self, width: usize) -> String {
        let mut bytes = String::new();
        // Terminals break lines that have become too long into several rows.
        let rows = self.shown.iter().map(|line| line.width.div_ceil(width.max(1)).max(1)).sum();
        up(&mut bytes, rows);
        // Line by line: a screen that is cleared from its first line on is kept by some terminals
        // in what can be scrolled back to, and a frame has no business there.
        for row in 0..rows {
            bytes.push_str(CLEAR_LINE);
            if row + 1 < rows {
                down(&mut bytes, 1);
            }
        }
        up(&mut bytes, rows.saturating_sub(1));
        self.shown.clear();
        bytes
    }

    /// The bytes of lines that stay, to be written where there is no frame.
    pub fn lasting(&self, lines: &[Line]) -> String {
        self.paint(lines).iter().map(|line| format!("{}\r\n", line.painted)).collect()
    }

    /// The frame is no longer where it was: the next one begins where the cursor is.
    pub fn forget(&mut self) {
        self.shown.clear();
    }

    fn paint(&self, lines: &[Line]) -> Vec<Shown> {
        let paint = |line: &Line| Shown {
            painted: line.paint(self.is_colourful, self.is_unicode),
            width: text::columns(&line.text()),
        };
        lines.iter().map(paint).collect()
    }
}

fn up(bytes: &mut String, rows: usize) {
    if rows > 0 {
        bytes.push_str(&format!("\r\x1b[{rows}A"));
    }
}

fn down(bytes: &mut String, rows: usize) {
    if rows > 0 {
        bytes.push_str(&format!("\x1b[{rows}B"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidewheel_tui::run::Tone;

    /// A terminal that knows just what we use, with ASCII text.
    struct Terminal {
        rows: Vec<Vec<char>>,
        height: usize,
        width: usize,
        row: usize,
        column: usize,
        wraps: bool,
        scrolled: usize,
    }

    impl Terminal {
        fn new(width: usize, height: usize) -> Self {
            let rows = vec![vec![' '; width]; height];
            Self { rows, height, width, row: 0, column: 0, wraps: true, scrolled: 0 }
        }

        fn write(&mut self, text: &str) {
            let mut rest = text;
            while let Some(char) = rest.chars().next() {
                if let Some(sequence) = rest.strip_prefix("\x1b[") {
                    let end = sequence.find(|char: char| char.is_ascii_alphabetic()).unwrap();
                    self.obey(&sequence[..end], &sequence[end..=end]);
                    rest = &sequence[end + 1..];
                    continue;
                }
                match char {
                    '\r' => self.column = 0,
                    '\n' => self.line_feed(),
                    char => self.put(char),
                }
                rest = &rest[char.len_utf8()..];
            }
        }

        fn obey(&mut self, number: &str, command: &str) {
            let count = number.parse().unwrap_or(1);
            match (number, command) {
                ("?7", mode) => self.wraps = mode == "h",
                (_, "A") => self.row = self.row.saturating_sub(count),
                (_, "B") => self.row = (self.row + count).min(self.height - 1),
                (_, "K") => self.rows[self.row][self.column..].fill(' '),
                (_, "J") => {
                    self.rows[self.row][self.column..].fill(' ');
                    self.rows[self.row + 1..].iter_mut().for_each(|row| row.fill(' '));
                }
                (_, "m") => {}
                other => panic!("unknown sequence {other:?}"),
            }
        }

        fn put(&mut self, char: char) {
            self.rows[self.row][self.column] = char;
            if self.column + 1 < self.width {
                self.column += 1;
            } else if self.wraps {
                self.column = 0;
                self.line_feed();
            }
        }

        fn line_feed(&mut self) {
            if self.row + 1 < self.height {
                self.row += 1;
            } else {
                self.rows.remove(0);
                self.rows.push(vec![' '; self.width]);
                self.scrolled += 1;
            }
        }

        fn text(&self) -> Vec<String> {
            let rows = self.rows.iter();
            let rows = rows.map(|row| row.iter().collect::<String>().trim_end().to_owned());
            let mut rows: Vec<String> = rows.collect();
            while rows.last().is_some_and(String::is_empty) {
                rows.pop();
            }
            rows
        }
    }

    fn frame(texts: &[&str]) -> Vec<Line> {
        texts.iter().map(|text| Line::new().with(Tone::Plain, *text)).collect()
    }

    #[test]
    fn a_frame_that_is_the_same_costs_nothing() {
        let mut screen = Screen::new(true, true);
        assert!(!screen.replace(&frame(&["a", "b"]), (80, 10)).is_empty());
        assert_eq!(screen.replace(&frame(&["a", "b"]), (80, 10)), "");
    }

    #[test]
    fn only_lines_that_differ_are_written() {
        let mut screen = Screen::new(true, true);
        screen.replace(&frame(&["first", "second", "third", "fourth"]), (80, 10));
        let bytes = screen.replace(&frame(&["first", "SECOND", "third", "fourth"]), (80, 10));
        assert_eq!(bytes, "\x1b[?7l\r\x1b[4A\x1b[1B\x1b[KSECOND\r\n\x1b[2B\x1b[?7h");
    }

    #[test]
    fn frames_replace_each_other_wherever_they_stand() {
        let frames: [&[&str]; 6] = [
            &["a1", "a2"],
            &["b1", "b2", "b3", "b4"],
            &["b1", "changed", "b3", "b4", "more", "and more"],
            &["short"],
            &[],
            &["x", "y", "z"],
        ];
        for before in 0..12 {
            let mut terminal = Terminal::new(20, 10);
            let mut screen = Screen::new(true, true);
            for line in 0..before {
                terminal.write(&format!("old {line}\r\n"));
            }
            for texts in frames {
                terminal.write(&screen.replace(&frame(texts), (20, 10)));
                let shown = terminal.text();
                assert!(
                    shown.ends_with(&texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
                );
                let old = before - terminal.scrolled.min(before);
                assert_eq!(shown.len(), texts.len() + old, "{before} {texts:?} {shown:?}");
                assert_eq!((terminal.row, terminal.column), (shown.len().min(9), 0));
                assert!(terminal.wraps);
            }
        }
    }

    #[test]
    fn lines_wider_than_believed_do_not_shift_the_frame() {
        let mut terminal = Terminal::new(5, 6);
        let mut screen = Screen::new(true, true);
        terminal.write(&screen.replace(&frame(&["123456789", "b"]), (5, 10)));
        terminal.write(&screen.replace(&frame(&["123456789", "c"]), (5, 10)));
        assert_eq!(terminal.text(), ["12349", "c"]);
    }

    #[test]
    fn after_a_change_of_width_the_old_frame_is_gone() {
        let mut screen = Screen::new(true, true);
        screen.replace(&frame(&["0123456789", "abc"]), (10, 10));
        // The terminal has broken the first line in two.
        let mut terminal = Terminal::new(5, 8);
        terminal.write("\x1b[?7lold\r\n01234\r\n56789\r\nabc\r\n");
        terminal.write(&screen.replace(&frame(&["01234", "new"]), (5, 10)));
        assert_eq!(terminal.text(), ["old", "01234", "new"]);
    }

    #[test]
    fn what_lasts_is_written_where_the_frame_was() {
        let mut terminal = Terminal::new(20, 6);
        let mut screen = Screen::new(true, true);
        terminal.write("old\r\n");
        terminal.write(&screen.replace(&frame(&["frame 1", "frame 2"]), (20, 10)));
        terminal.write(&screen.erase(20));
        terminal.write(&screen.lasting(&frame(&["note"])));
        assert_eq!(terminal.text(), ["old", "note"]);
        terminal.write(&screen.replace(&frame(&["frame 3"]), (20, 10)));
        assert_eq!(terminal.text(), ["old", "note", "frame 3"]);
    }
}
