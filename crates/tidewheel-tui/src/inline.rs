//! [`Inline`]: a frame that stands where the cursor was, not on a screen of its own, so that what was there before stays.
//!
//! Between frames the cursor rests at the beginning of the row below: whoever else writes then spoils nothing, and giving the
//! terminal back needs no movement. Nothing is written here: what is to be written is given as bytes. Cells are drawn, held
//! against each other and styled by ratatui; it has no way to move but to places of the whole screen, and where on it a frame
//! stands only the terminal could say.

use ratatui::backend::IntoCrossterm as _;
use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::cursor::{Hide, MoveDown, MoveToColumn, MoveUp, Show};
use ratatui::crossterm::style::{
    Attribute, Print, PrintStyledContent, SetAttribute, StyledContent,
};
use ratatui::crossterm::terminal::{Clear, ClearType, DisableLineWrap, EnableLineWrap};
use ratatui::crossterm::{Command, QueueableCommand as _};
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use crate::run::Line;
use crate::theme::Theme;
use crate::view::Paper;

/// What the terminal shows now.
#[derive(Debug)]
pub struct Inline {
    theme: Theme,
    shown: Buffer,
    size: (usize, usize),
}

impl Inline {
    /// A terminal that shows no frame yet.
    #[must_use]
    pub fn new(theme: Theme) -> Self {
        Self { theme, shown: Buffer::empty(Rect::ZERO), size: (0, 0) }
    }

    /// The bytes that replace the frame by another one, for a screen of so many columns and rows; none if nothing differs.
    pub fn replace(&mut self, lines: &[Line], size: (usize, usize)) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.size != size {
            bytes = self.erase(size.0);
            self.size = size;
        }
        let mut next = self.drawn(lines, size.0);
        let (before, rows) = (self.shown.area.height, next.area.height);
        // Both have all rows, so that they can be held against each other.
        let area = Rect { height: before.max(rows), ..next.area };
        next.resize(area);
        self.shown.resize(area);
        let differs = self.shown.diff(&next);
        if !differs.is_empty() || before != rows {
            // Lines longer than the screen are cut instead of going on in the next row: terminals disagree about the width
            // of some characters, and one row too many would shift everything.
            put(&mut bytes, DisableLineWrap);
            up(&mut bytes, before);
            let mut rest = &differs[..];
            let mut same = 0;
            for y in 0..rows {
                let here = rest.iter().take_while(|(_, row, _)| *row == y).count();
                let (cells, others) = rest.split_at(here);
                rest = others;
                if cells.is_empty() && y < before {
                    same += 1;
                    continue;
                }
                down(&mut bytes, std::mem::take(&mut same));
                if y >= before {
                    put(&mut bytes, Clear(ClearType::UntilNewLine));
                }
                row(&mut bytes, cells);
                put(&mut bytes, Print("\r\n"));
            }
            down(&mut bytes, same);
            if rows < before {
                put(&mut bytes, Clear(ClearType::FromCursorDown));
            }
            put(&mut bytes, EnableLineWrap);
        }
        next.resize(Rect { height: rows, ..area });
        self.shown = next;
        bytes
    }

    /// The bytes that remove the frame from a screen that is now `width` columns wide. The cursor is then where its first
    /// line was.
    pub fn erase(&mut self, width: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Terminals break lines that have become too long into several rows.
        let rows = self.widths().map(|wide| wide.div_ceil(width.max(1)).max(1)).sum::<usize>();
        let rows = u16::try_from(rows).unwrap_or(u16::MAX);
        up(&mut bytes, rows);
        // Line by line: a screen that is cleared from its first line on is kept by some terminals in what can be scrolled
        // back to, and a frame has no business there.
        for row in 0..rows {
            put(&mut bytes, Clear(ClearType::UntilNewLine));
            down(&mut bytes, u16::from(row + 1 < rows));
        }
        up(&mut bytes, rows.saturating_sub(1));
        self.forget();
        bytes
    }

    /// The bytes of lines that stay, to be written where there is no frame.
    #[must_use]
    pub fn lasting(&self, lines: &[Line]) -> Vec<u8> {
        let painted = lines.iter().map(|line| format!("{}\r\n", self.theme.paint(line)));
        painted.collect::<String>().into_bytes()
    }

    /// The frame is no longer where it was: the next one begins where the cursor is.
    pub fn forget(&mut self) {
        self.shown = Buffer::empty(Rect::ZERO);
    }

    fn drawn(&self, lines: &[Line], width: usize) -> Buffer {
        let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        let mut buffer = Buffer::empty(Rect::new(0, 0, short(width), short(lines.len())));
        let mut paper = Paper::new(&mut buffer, self.theme);
        for (y, line) in (0..).zip(lines) {
            paper.line((0, y), width, line);
        }
        buffer
    }

    /// How many columns each row takes.
    fn widths(&self) -> impl Iterator<Item = usize> {
        let width = usize::from(self.shown.area.width).max(1);
        let is_seen = |cell: &Cell| cell.symbol() != " ";
        self.shown
            .content
            .chunks(width)
            .map(move |row| row.iter().rposition(is_seen).map_or(0, |last| last + 1))
    }
}

/// What a terminal is told before the first frame: its cursor is not seen.
#[must_use]
pub fn begin() -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, Hide);
    bytes
}

/// What it is told after the last one. Colours are off and lines are broken again as well, should a frame have been interrupted.
#[must_use]
pub fn end() -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, SetAttribute(Attribute::Reset));
    put(&mut bytes, EnableLineWrap);
    put(&mut bytes, Show);
    bytes
}

/// Adds what a command of the terminal looks like.
fn put(bytes: &mut Vec<u8>, command: impl Command) {
    // Memory takes whatever it is given.
    let _ = bytes.queue(command);
}

fn up(bytes: &mut Vec<u8>, rows: u16) {
    if rows > 0 {
        put(bytes, Print("\r"));
        put(bytes, MoveUp(rows));
    }
}

fn down(bytes: &mut Vec<u8>, rows: u16) {
    if rows > 0 {
        put(bytes, MoveDown(rows));
    }
}

/// Writes cells of a row in which the cursor is at the beginning. What stands side by side and looks the same goes together.
fn row(bytes: &mut Vec<u8>, cells: &[(u16, u16, &Cell)]) {
    let mut at = 0;
    let mut rest = cells;
    while let Some((x, _, first)) = rest.first() {
        if *x != at {
            put(bytes, MoveToColumn(*x));
        }
        let follows = rest
            .iter()
            .zip(*x..)
            .take_while(|((place, _, cell), next)| place == next && style(cell) == style(first));
        let (alike, others) = rest.split_at(follows.count());
        let text: String = alike.iter().map(|(_, _, cell)| cell.symbol()).collect();
        put(bytes, PrintStyledContent(StyledContent::new(style(first).into_crossterm(), text)));
        at = x + alike.len() as u16;
        rest = others;
    }
}

/// How a cell looks, where it does not look as usual.
fn style(cell: &Cell) -> Style {
    let style = Style::new().add_modifier(cell.modifier);
    let style = if cell.fg == Color::Reset { style } else { style.fg(cell.fg) };
    if cell.bg == Color::Reset { style } else { style.bg(cell.bg) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Look, Tone};

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

        fn write(&mut self, bytes: impl AsRef<[u8]>) {
            let mut rest = std::str::from_utf8(bytes.as_ref()).unwrap();
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
                (_, "G") => self.column = count - 1,
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

    fn inline() -> Inline {
        let look = Look { is_live: true, is_colourful: true, is_unicode: true };
        Inline::new(Theme::new(look))
    }

    fn frame(texts: &[&str]) -> Vec<Line> {
        texts.iter().map(|text| Line::new().with(Tone::Plain, *text)).collect()
    }

    #[test]
    fn a_frame_that_is_the_same_costs_nothing() {
        let mut screen = inline();
        assert!(!screen.replace(&frame(&["a", "b"]), (80, 10)).is_empty());
        assert!(screen.replace(&frame(&["a", "b"]), (80, 10)).is_empty());
    }

    #[test]
    fn only_what_differs_is_written() {
        let mut screen = inline();
        screen.replace(&frame(&["first", "second 10s", "third", "fourth"]), (80, 10));
        let bytes = screen.replace(&frame(&["first", "second 11s", "third", "fourth"]), (80, 10));
        let bytes = String::from_utf8(bytes).unwrap();
        assert_eq!(bytes, "\x1b[?7l\r\x1b[4A\x1b[1B\x1b[9G1\r\n\x1b[2B\x1b[?7h");
        let red = |text: &str| vec![Line::new().with(Tone::Bad, text)];
        let mut screen = inline();
        screen.replace(&red("failed twice"), (80, 10));
        let bytes = String::from_utf8(screen.replace(&red("failed often"), (80, 10))).unwrap();
        assert_eq!(bytes.matches("\x1b[1m").count(), 1, "one style, told once: {bytes:?}");
        assert!(bytes.contains("often") && !bytes.contains("failed"), "{bytes:?}");
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
            let mut screen = inline();
            for line in 0..before {
                terminal.write(format!("old {line}\r\n"));
            }
            for texts in frames {
                terminal.write(screen.replace(&frame(texts), (20, 10)));
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
        let mut screen = inline();
        terminal.write(screen.replace(&frame(&["123456789", "b"]), (5, 10)));
        terminal.write(screen.replace(&frame(&["123456789", "c"]), (5, 10)));
        assert_eq!(terminal.text(), ["12345", "c"]);
    }

    #[test]
    fn after_a_change_of_width_the_old_frame_is_gone() {
        let mut screen = inline();
        screen.replace(&frame(&["0123456789", "abc"]), (10, 10));
        // The terminal has broken the first line in two.
        let mut terminal = Terminal::new(5, 8);
        terminal.write("\x1b[?7lold\r\n01234\r\n56789\r\nabc\r\n");
        terminal.write(screen.replace(&frame(&["01234", "new"]), (5, 10)));
        assert_eq!(terminal.text(), ["old", "01234", "new"]);
    }

    #[test]
    fn what_lasts_is_written_where_the_frame_was() {
        let mut terminal = Terminal::new(20, 6);
        let mut screen = inline();
        terminal.write("old\r\n");
        terminal.write(screen.replace(&frame(&["frame 1", "frame 2"]), (20, 10)));
        terminal.write(screen.erase(20));
        terminal.write(screen.lasting(&frame(&["note"])));
        assert_eq!(terminal.text(), ["old", "note"]);
        terminal.write(screen.replace(&frame(&["frame 3"]), (20, 10)));
        assert_eq!(terminal.text(), ["old", "note", "frame 3"]);
    }
}
