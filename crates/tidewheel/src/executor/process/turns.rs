//! [`Turns`]: in which order a process wrote to its two streams, beside its logs.
//!
//! Each stream has a log of its own, byte for byte. A third file says how much of one came before how much of
//! the other, a turn a line: `o 120`, `e 45`. It is made when the second stream has its first turn, so most
//! processes have none. Bytes that it does not tell of came last.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use super::output::create;

/// What the file may grow to; from there on the streams are told one after the other.
const BYTES_MAX: u64 = 4 << 20;

/// The letters of the two streams.
const LETTERS: [char; 2] = ['o', 'e'];

/// The order of two streams.
#[derive(Debug)]
pub(super) struct Turns {
    path: Option<PathBuf>,
    file: Option<File>,
    /// Whose turn it is, and what was kept of it.
    now: Option<(usize, u64)>,
    bytes: u64,
}

impl Turns {
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path, file: None, now: None, bytes: 0 }
    }

    /// So much more was kept of a stream.
    pub fn note(&mut self, stream: usize, kept: u64) {
        match &mut self.now {
            _ if kept == 0 => {}
            Some((now, bytes)) if *now == stream => *bytes += kept,
            now => {
                let before = now.replace((stream, kept));
                if let Some((stream, bytes)) = before {
                    self.write(stream, bytes);
                }
            }
        }
    }

    /// Nothing more follows.
    pub fn finish(&mut self) {
        if let (Some((stream, bytes)), true) = (self.now.take(), self.file.is_some()) {
            self.write(stream, bytes);
        }
    }

    /// That the order cannot be kept is no reason to lose what was written.
    fn write(&mut self, stream: usize, bytes: u64) {
        let Some(path) = &self.path else { return };
        let line = format!("{} {bytes}\n", LETTERS[stream]);
        self.bytes += line.len() as u64;
        let file = match self.file.take() {
            Some(file) => Ok(file),
            None => create(path),
        };
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()).map(|()| file));
        match written {
            Ok(file) if self.bytes < BYTES_MAX => self.file = Some(file),
            _ => self.path = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_told_once_both_streams_had_one() {
        let scratch = tidewheel_testing::temp_folder("turns");
        let path = scratch.path().join("turns");
        let mut turns = Turns::new(Some(path.clone()));
        turns.note(0, 3);
        turns.note(0, 4);
        turns.finish();
        assert!(!path.exists(), "one stream needs no order");
        let mut turns = Turns::new(Some(path.clone()));
        for (stream, kept) in [(0, 3), (0, 4), (1, 0), (1, 5), (0, 1), (0, 1)] {
            turns.note(stream, kept);
        }
        turns.finish();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "o 7\ne 5\no 2\n");
        let mut turns = Turns::new(Some(path.clone()));
        for turn in 0..2_000_000 {
            turns.note(turn % 2, 1);
        }
        turns.finish();
        let bytes = std::fs::metadata(&path).unwrap().len();
        assert!((BYTES_MAX..BYTES_MAX + 100).contains(&bytes), "{bytes}");
    }
}
