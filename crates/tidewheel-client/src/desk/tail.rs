//! What steps write, read from their log files while they grow.
//!
//! Which files those are is found out in [`super::logs`].

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tidewheel::id::TaskId;
use tidewheel::store::log_file;

use crate::api::LogStream;

/// At most so much is read at once, so that a flood does not hold anything up.
const PIECE_MAX: u64 = 256 << 10;

/// At most so much of a file is shown at once; what came before it is left out.
const SHOWN_MAX: u64 = 64 << 10;

/// Where an attempt's output is kept, in the folder of logs.
#[must_use]
pub fn log_path(logs: &Path, task: TaskId, attempt: u32, stream: LogStream) -> PathBuf {
    let end = match stream {
        LogStream::Stdout => "out",
        LogStream::Stderr => "err",
    };
    logs.join(log_file(task, attempt, end))
}

/// Lines that are worth showing of what came.
#[derive(Debug, PartialEq, Eq)]
pub struct Newest {
    /// Bytes before them that are left out.
    pub skipped: u64,
    /// The lines, without their ends.
    pub lines: Vec<String>,
}

/// A file that is read as it grows.
#[derive(Debug)]
pub struct LogTail {
    path: PathBuf,
    read: u64,
    /// What was read after the last line end.
    rest: Vec<u8>,
}

impl LogTail {
    /// A file from its beginning.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self::from(path, 0)
    }

    /// A file from this byte on.
    #[must_use]
    pub fn from(path: PathBuf, read: u64) -> Self {
        Self { path, read, rest: Vec::new() }
    }

    /// The bytes that came since the last call. A file that is not there has none.
    pub fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read))?;
            file.take(PIECE_MAX).read_to_end(&mut bytes)
        });
        self.read += read.unwrap_or_default() as u64;
        bytes
    }

    /// The newest lines that came since the last call, at most so many. However much came, it costs
    /// no more than what is shown of it.
    pub fn newest(&mut self, lines_max: usize) -> Newest {
        let length = std::fs::metadata(&self.path).map_or(0, |file| file.len());
        let mut skipped = 0;
        let passed = length.saturating_sub(self.read).saturating_sub(SHOWN_MAX);
        if passed > 0 {
            skipped = passed + self.rest.len() as u64;
            self.read += passed;
            self.rest.clear();
        }
        let mut lines = self.lines().unwrap_or_default();
        if passed > 0 && lines.len() > 1 {
            // The first is the end of one whose beginning was passed over.
            skipped += lines.remove(0).len() as u64 + 1;
        }
        let surplus = lines.len().saturating_sub(lines_max);
        skipped += lines.drain(..surplus).map(|line| line.len() as u64 + 1).sum::<u64>();
        Newest { skipped, lines }
    }

    /// What was read after the last line end.
    pub fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.rest);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
    }

    /// Some of the lines that came since the last call, `None` if nothing came.
    pub fn lines(&mut self) -> Option<Vec<String>> {
        let new = self.bytes();
        if new.is_empty() {
            return None;
        }
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend(new);
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
        self.rest = bytes.split_off(end);
        if self.rest.len() as u64 > PIECE_MAX {
            bytes.append(&mut self.rest);
        }
        Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use std::io::Write as _;

    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn of_a_flood_only_the_newest_lines_are_read() {
        let temp = temp_folder("tail");
        let path = temp.path().join("log");
        let mut file = File::create(&path).unwrap();
        let mut tail = LogTail::new(path.clone());
        file.write_all(b"one\ntwo\nbegun").unwrap();
        let lines = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        assert_eq!(tail.newest(10), Newest { skipped: 0, lines: lines(&["one", "two"]) });
        let flood: String = (0..1_000_000).map(|number| format!("{number:09}\n")).collect();
        file.write_all(flood.as_bytes()).unwrap();
        let newest = tail.newest(3);
        assert_eq!(newest.lines, lines(&["000999997", "000999998", "000999999"]));
        assert_eq!(newest.skipped, "begun".len() as u64 + flood.len() as u64 - 30);
        assert_eq!(tail.newest(3), Newest { skipped: 0, lines: Vec::new() });
        file.write_all(b"last").unwrap();
        assert_eq!(tail.newest(3), Newest { skipped: 0, lines: Vec::new() });
        assert_eq!(tail.rest().as_deref(), Some("last"));
    }
}
