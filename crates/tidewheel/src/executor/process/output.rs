//! Takes in what a process prints: to a log file, bounded and masked, and to memory where asked.
//!
//! Reading the pipes is in `run.rs`.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::io::Errno;

use super::end::Output;
use super::error::is_for_want_of_descriptors;
use super::masker::{MaskStream, Masker};
use super::tail::Last;
use crate::file::{make_private_file, make_private_folder};

/// How much waits for a log that cannot be opened for want of descriptors.
const WAITING_MAX: usize = 1 << 20;

/// One stream of output on its way to where it is kept.
#[derive(Debug)]
pub(super) struct Sink {
    masking: Option<MaskStream>,
    log: Log,
    last: Last,
    bytes_seen: u64,
    capture: Option<Capture>,
}

#[derive(Debug)]
struct Capture {
    bytes: Vec<u8>,
    most: u64,
}

impl Sink {
    pub(super) fn new(path: Option<PathBuf>, most: u64, secrets: Option<&Arc<Masker>>) -> Self {
        Self {
            masking: secrets.map(|masker| MaskStream::new(Arc::clone(masker))),
            log: Log { path, most, ..Log::default() },
            last: Last::default(),
            bytes_seen: 0,
            capture: None,
        }
    }

    pub(super) fn capture(mut self, most: Option<u64>) -> Self {
        self.capture = most.map(|most| Capture { bytes: Vec::new(), most });
        self
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        self.bytes_seen += piece.len() as u64;
        if let Some(capture) = &mut self.capture
            && self.bytes_seen <= capture.most
        {
            capture.bytes.extend_from_slice(piece);
        }
        match &mut self.masking {
            None => keep(&mut self.log, &mut self.last, piece),
            Some(masking) => keep(&mut self.log, &mut self.last, masking.push(piece)),
        }
    }

    /// How much of it is in its log.
    pub(super) fn kept(&self) -> u64 {
        self.log.kept
    }

    /// Whether nothing waits for its log to be opened; tries that if something does.
    pub(super) fn is_log_open(&mut self) -> bool {
        self.log.write_waiting();
        self.log.waiting.is_empty()
    }

    /// The end of it, masked.
    pub(super) fn last(&self) -> &Last {
        &self.last
    }

    /// Nothing more follows.
    pub(super) fn finish(&mut self) {
        if let Some(masking) = &mut self.masking {
            keep(&mut self.log, &mut self.last, masking.finish());
        }
        self.log.finish();
    }

    /// What was captured, or how much there was if that is more than may be.
    pub(super) fn captured(&mut self) -> Result<Option<Vec<u8>>, (u64, u64)> {
        match self.capture.take() {
            Some(capture) if self.bytes_seen > capture.most => Err((capture.most, self.bytes_seen)),
            capture => Ok(capture.map(|capture| capture.bytes)),
        }
    }

    pub(super) fn output(&self) -> Output {
        Output {
            path: self.log.file.is_some().then(|| self.log.path.clone()).flatten(),
            bytes_seen: self.bytes_seen,
            bytes_kept: self.log.kept,
            is_cut: self.log.is_cut,
            problem: self.log.problem.as_ref().map(io::Error::to_string),
        }
    }
}

fn keep(log: &mut Log, last: &mut Last, piece: &[u8]) {
    if !piece.is_empty() {
        log.write(piece);
        last.push(piece);
    }
}

/// A log file, made at the first byte and cut at its bound.
#[derive(Debug, Default)]
struct Log {
    path: Option<PathBuf>,
    file: Option<File>,
    most: u64,
    /// What is in it, or waits for it.
    kept: u64,
    /// What came while there was no descriptor to open it with.
    waiting: Vec<u8>,
    is_cut: bool,
    problem: Option<io::Error>,
}

impl Log {
    fn write(&mut self, piece: &[u8]) {
        if self.path.is_none() || self.problem.is_some() || self.is_cut {
            return;
        }
        let left = usize::try_from(self.most - self.kept).unwrap_or(usize::MAX);
        let part = &piece[..piece.len().min(left)];
        self.is_cut = part.len() < piece.len();
        match self.append(part) {
            Ok(()) => self.kept += part.len() as u64,
            Err(error) => self.give_up(error),
        }
    }

    fn finish(&mut self) {
        self.write_waiting();
        if !self.waiting.is_empty() {
            self.kept -= std::mem::take(&mut self.waiting).len() as u64;
            self.problem.get_or_insert_with(|| Errno::MFILE.into());
        }
        if self.is_cut && self.problem.is_none() {
            let line = format!("\n[tidewheel: output cut after {} bytes]\n", self.kept);
            if let Err(error) = self.append(line.as_bytes()) {
                self.problem = Some(error);
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = self.waiting.len() + bytes.len() <= WAITING_MAX;
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let path = self.path.as_deref().unwrap_or_else(|| "".as_ref());
                match create(path) {
                    Ok(file) => none.insert(file),
                    Err(error) if fits && is_for_want_of_descriptors(&error) => {
                        self.waiting.extend_from_slice(bytes);
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        if !self.waiting.is_empty() {
            file.write_all(&self.waiting)?;
            self.waiting = Vec::new();
        }
        file.write_all(bytes)
    }

    /// What waits is written yet if all that is wanting is a descriptor.
    fn give_up(&mut self, error: io::Error) {
        if !is_for_want_of_descriptors(&error) {
            self.kept -= std::mem::take(&mut self.waiting).len() as u64;
        }
        self.problem = Some(error);
    }

    /// Others may have given descriptors back.
    fn write_waiting(&mut self) {
        if !self.waiting.is_empty()
            && let Err(error) = self.append(&[])
        {
            self.give_up(error);
        }
    }
}

pub(super) fn create(path: &std::path::Path) -> io::Result<File> {
    match make_private_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    if let Some(folder) = path.parent() {
        make_private_folder(folder)?;
    }
    make_private_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_descriptor_comes_first_and_is_written_at_the_end() {
        let scratch = tidewheel_testing::temp_folder("output");
        let path = scratch.path().join("log");
        let mut sink = Sink::new(Some(path.clone()), 100, None);
        // As when the file could not be opened for want of descriptors.
        sink.log.waiting = b"one ".to_vec();
        sink.log.kept = 4;
        sink.push(b"two ");
        sink.log.waiting = b"three".to_vec();
        sink.log.kept += 5;
        assert!(sink.is_log_open());
        sink.finish();
        assert_eq!(std::fs::read(&path).unwrap(), b"one two three");
        assert_eq!((sink.output().bytes_kept, sink.output().problem), (13, None));
        std::fs::remove_file(&path).unwrap();
        // Where there can be no file at all nothing is waited for.
        let mut sink = Sink::new(Some(path.join("no/log")), 100, None);
        std::fs::write(&path, "").unwrap();
        sink.log.waiting = b"one ".to_vec();
        sink.log.kept = 4;
        assert!(sink.is_log_open());
        assert!(sink.output().problem.is_some() && sink.output().bytes_kept == 0);
    }

    #[test]
    fn captures_are_whole_or_refused() {
        let mut fits = Sink::new(None, 0, None).capture(Some(4));
        fits.push(b"ab");
        fits.push(b"cd");
        assert_eq!(fits.captured(), Ok(Some(b"abcd".to_vec())));
        let mut over = Sink::new(None, 0, None).capture(Some(4));
        over.push(b"abcd");
        over.push(b"e");
        assert_eq!(over.captured(), Err((4, 5)));
    }
}
