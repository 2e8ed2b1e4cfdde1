//! [`Last`] and [`LastTurns`]: the last lines of what a process wrote, in the order of its writing.
//!
//! What is kept in files, and the order of that, is in `output` and `turns`.

use std::collections::VecDeque;

const LINES_MAX: usize = 20;
const BYTES_MAX: usize = 8 << 10;

/// So many turns are remembered; what was written before them is told stream by stream.
const TURNS_MAX: usize = 256;

/// The end of one stream, masked.
#[derive(Debug, Default)]
pub(super) struct Last {
    bytes: Vec<u8>,
    told: u64,
}

impl Last {
    pub fn push(&mut self, piece: &[u8]) {
        self.told += piece.len() as u64;
        let last = &piece[piece.len().saturating_sub(BYTES_MAX)..];
        let too_many = (self.bytes.len() + last.len()).saturating_sub(BYTES_MAX);
        self.bytes.drain(..too_many);
        self.bytes.extend_from_slice(last);
    }

    /// How much was written in all.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// The last line that says something.
    pub fn line(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    /// Its last lines with the place where each ends, the last one first, within bounds.
    fn lines(&self, lines_max: usize, mut bytes_max: usize) -> Vec<(u64, String)> {
        let mut lines = Vec::new();
        let mut end = self.told;
        for line in self.bytes.split_inclusive(|byte| *byte == b'\n').rev().take(lines_max) {
            let place = end;
            end -= line.len() as u64;
            let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
            // Replacing bytes that are no text made it longer, and a character may be cut.
            let mut start = (text.len() + 1).saturating_sub(bytes_max).min(text.len());
            while !text.is_char_boundary(start) {
                start += 1;
            }
            if start == text.len() && start > 0 {
                break;
            }
            bytes_max -= text.len() - start + 1;
            lines.push((place, text[start..].to_owned()));
            if start > 0 || bytes_max == 0 {
                break;
            }
        }
        lines
    }
}

/// Which stream was written to of late, and how much at a time.
#[derive(Debug, Default)]
pub(super) struct LastTurns(VecDeque<(usize, u64)>);

impl LastTurns {
    /// So much more was written to a stream.
    pub fn note(&mut self, stream: usize, bytes: u64) {
        match self.0.back_mut() {
            _ if bytes == 0 => {}
            Some((last, told)) if *last == stream => *told += bytes,
            _ => {
                if self.0.len() == TURNS_MAX {
                    self.0.pop_front();
                }
                self.0.push_back((stream, bytes));
            }
        }
    }

    /// The last lines of standard output and standard error, as they were written: those of standard error
    /// are served first. A line stands where it ended.
    pub fn tail(&self, streams: [&Last; 2]) -> String {
        let errors = streams[1].lines(LINES_MAX, BYTES_MAX);
        let used = errors.iter().map(|(_, line)| line.len() + 1).sum::<usize>();
        let others = streams[0].lines(LINES_MAX - errors.len(), BYTES_MAX - used);
        let mut lines = Vec::with_capacity(errors.len() + others.len());
        for (stream, found) in [others, errors].into_iter().enumerate() {
            let mut turns = self.0.iter().enumerate().rev().filter(|(_, (its, _))| *its == stream);
            let mut turn = turns.next();
            let mut begins = streams[stream].told;
            begins -= turn.map_or(0, |(_, (_, bytes))| *bytes);
            for (end, line) in found {
                // The turn in which its last byte was written.
                while end <= begins
                    && let Some(_) = turn
                {
                    turn = turns.next();
                    begins -= turn.map_or(0, |(_, (_, bytes))| *bytes);
                }
                let number = turn.map_or(0, |(number, _)| number + 1);
                lines.push((number, stream, end, line));
            }
        }
        lines.sort_by_key(|(number, stream, end, _)| (*number, *stream, *end));
        let lines: Vec<String> = lines.into_iter().map(|(.., line)| line).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tail of what was written: the stream and the text, one after the other.
    fn tail(written: &[(usize, &[u8])]) -> String {
        let mut streams = [Last::default(), Last::default()];
        let mut turns = LastTurns::default();
        for (stream, piece) in written {
            streams[*stream].push(piece);
            turns.note(*stream, piece.len() as u64);
        }
        turns.tail([&streams[0], &streams[1]])
    }

    #[test]
    fn tails_are_in_the_order_of_the_writing() {
        let written: [(usize, &[u8]); 5] =
            [(0, b"a\n"), (1, b"oh\n"), (0, b"b\nc"), (1, b"no\n"), (0, b"d\n")];
        assert_eq!(tail(&written), "a\noh\nb\nno\ncd");
        // Without an end it stands where its last byte was written.
        assert_eq!(tail(&[(1, b"error"), (0, b"later")]), "error\nlater");
        assert_eq!(tail(&[(0, b"no newline"), (1, b"error")]), "no newline\nerror");
        assert_eq!(tail(&[]), "");
        let many: Vec<(usize, &[u8])> = (0..2_000)
            .map(|turn| (turn % 2, if turn % 2 == 0 { &b"o\n"[..] } else { b"e\n" }))
            .collect();
        assert_eq!(tail(&many), ["e"; 20].join("\n"));
    }

    #[test]
    fn tails_prefer_errors() {
        let many: String = (0..50).map(|line| format!("line {line}\n")).collect();
        let text = tail(&[(0, many.as_bytes()), (1, b"oh\nno")]);
        assert_eq!(text.lines().count(), 20);
        assert!(text.starts_with("line 32\n") && text.ends_with("line 49\noh\nno"), "{text}");
        let text = tail(&[(1, many.as_bytes()), (0, many.as_bytes())]);
        assert_eq!((text.lines().count(), text.lines().next()), (20, Some("line 30")));
        let mut errors = Last::default();
        errors.push(b"first\n  last  \n\n");
        assert_eq!(errors.line(), "last");
    }

    #[test]
    fn tails_are_bounded_and_text() {
        let long = [0xff; 100_000];
        let text = tail(&[(0, &long), (1, &long)]);
        assert!(text.len() <= BYTES_MAX && text.len() > BYTES_MAX - 10, "{}", text.len());
        assert!(text.chars().all(|letter| letter == '\u{fffd}'));
        let lines = "€".repeat(1_000) + "\n";
        let text = tail(&[(0, lines.repeat(10).as_bytes()), (1, b"short\n")]);
        assert!(text.len() <= BYTES_MAX && text.ends_with("€\nshort"), "{}", text.len());
        assert!(text.len() > BYTES_MAX - 10, "{}", text.len());
    }
}
