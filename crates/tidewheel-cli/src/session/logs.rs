//! What steps write, read from their log files while they grow.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tidewheel::TaskId;

/// At most so much is read at once, so that a flood does not hold anything up.
const PIECE_MAX: u64 = 256 << 10;

/// The two streams of a process.
pub(crate) const STREAMS: [&str; 2] = ["out", "err"];

/// Where an attempt's output is kept.
pub(crate) fn log_path(logs: &Path, task: TaskId, attempt: u32, stream: &str) -> PathBuf {
    logs.join(task.run.to_string()).join(format!("{}-{attempt}.{stream}", task.index))
}

/// A file that is read as it grows.
#[derive(Debug)]
pub(crate) struct LogTail {
    path: PathBuf,
    read: u64,
    /// What was read after the last line end.
    rest: Vec<u8>,
}

impl LogTail {
    pub fn new(path: PathBuf) -> Self {
        Self { path, read: 0, rest: Vec::new() }
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
