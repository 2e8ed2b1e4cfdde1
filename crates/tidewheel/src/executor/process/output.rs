//! Takes in what a process prints: to a log file, bounded and masked, and to memory where asked.
//!
//! Reading the pipes is in `run.rs`.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use super::end::Output;
use super::masker::{MaskStream, Masker};

const TAIL_LINES: usize = 20;
const TAIL_BYTES: usize = 8 << 10;

/// One stream of output on its way to where it is kept.
#[derive(Debug)]
pub(super) struct Sink {
    masking: Option<MaskStream>,
    log: Log,
    tail: Vec<u8>,
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
            tail: Vec::new(),
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
            None => keep(&mut self.log, &mut self.tail, piece),
            Some(masking) => keep(&mut self.log, &mut self.tail, masking.push(piece)),
        }
    }

    /// How much of it is in its log.
    pub(super) fn kept(&self) -> u64 {
        self.log.kept
    }

    /// Nothing more follows.
    pub(super) fn finish(&mut self) {
        if let Some(masking) = &mut self.masking {
            keep(&mut self.log, &mut self.tail, masking.finish());
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

fn keep(log: &mut Log, tail: &mut Vec<u8>, piece: &[u8]) {
    if piece.is_empty() {
        return;
    }
    log.write(piece);
    let last = &piece[piece.len().saturating_sub(TAIL_BYTES)..];
    let too_many = (tail.len() + last.len()).saturating_sub(TAIL_BYTES);
    tail.drain(..too_many);
    tail.extend_from_slice(last);
}

/// The last lines of both streams: those of standard error first served, and last shown.
pub(super) fn tail(stdout: &Sink, stderr: &Sink) -> String {
    let errors = last_lines(&stderr.tail, TAIL_LINES, TAIL_BYTES);
    let left = TAIL_LINES - errors.lines().count();
    let mut text = last_lines(&stdout.tail, left, TAIL_BYTES.saturating_sub(errors.len() + 1));
    if !text.is_empty() && !errors.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text + &errors
}

fn last_lines(tail: &[u8], lines: usize, bytes: usize) -> String {
    let text = String::from_utf8_lossy(tail);
    if lines == 0 {
        return String::new();
    }
    let body = text.strip_suffix('\n').unwrap_or(&text);
    let mut start = body.rmatch_indices('\n').nth(lines - 1).map_or(0, |(place, _)| place + 1);
    start = start.max(text.len().saturating_sub(bytes));
    // Replacing bytes that are no text made it longer, and a character may be cut.
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}

/// A log file, made at the first byte and cut at its bound.
#[derive(Debug, Default)]
struct Log {
    path: Option<PathBuf>,
    file: Option<File>,
    most: u64,
    kept: u64,
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
        if let Err(error) = self.append(part) {
            self.problem = Some(error);
        } else {
            self.kept += part.len() as u64;
        }
    }

    fn finish(&mut self) {
        if self.is_cut && self.problem.is_none() {
            let line = format!("\n[tidewheel: output cut after {} bytes]\n", self.kept);
            if let Err(error) = self.append(line.as_bytes()) {
                self.problem = Some(error);
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let path = self.path.as_deref().unwrap_or_else(|| "".as_ref());
                none.insert(create(path)?)
            }
        };
        file.write_all(bytes)
    }
}

pub(super) fn create(path: &std::path::Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(text: &[u8]) -> Sink {
        let mut sink = Sink::new(None, 10, None);
        sink.push(text);
        sink.finish();
        sink
    }

    #[test]
    fn tails_prefer_errors() {
        let many: String = (0..50).map(|line| format!("line {line}\n")).collect();
        let (out, error) = (sink(many.as_bytes()), sink(b"oh\nno"));
        let text = tail(&out, &error);
        assert_eq!(text.lines().count(), 20);
        assert!(text.starts_with("line 32\n") && text.ends_with("line 49\noh\nno"), "{text}");
        let text = tail(&out, &sink(many.as_bytes()));
        assert_eq!((text.lines().count(), text.lines().next()), (20, Some("line 30")));
        assert_eq!(tail(&sink(b""), &sink(b"")), "");
        assert_eq!(tail(&sink(b"no newline"), &sink(b"error")), "no newline\nerror");
    }

    #[test]
    fn tails_are_bounded_and_text() {
        let long = sink(&[0xff; 100_000]);
        let text = tail(&long, &long);
        assert!(text.len() <= TAIL_BYTES && text.chars().all(|letter| letter == '\u{fffd}'));
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
