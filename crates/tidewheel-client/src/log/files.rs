//! [`LogFiles`]: the files of a log, as long as they are now, read through buffers.
//!
//! Where they are is known to whoever opens them.

use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use memchr::memrchr;

/// What is read at once.
const BUFFER: usize = 256 << 10;

/// The files of a log.
#[derive(Debug)]
pub struct LogFiles {
    pub(super) streams: [Reading; 2],
    /// In which order the two were written.
    pub(super) order: Reading,
}

impl LogFiles {
    /// Opens them; what is not there, or not asked for, is empty. Of a single stream there is no order.
    ///
    /// # Errors
    ///
    /// When one cannot be opened.
    pub fn open(streams: [Option<&Path>; 2], order: Option<&Path>) -> io::Result<Self> {
        // The order is looked at last: of what the streams hold by now it may tell, never the other way round.
        let streams = [Reading::open(streams[0])?, Reading::open(streams[1])?];
        Ok(Self { streams, order: Reading::open(order)? })
    }

    /// Bytes of both streams.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.sizes().iter().sum()
    }

    pub(super) fn sizes(&self) -> [u64; 2] {
        [self.streams[0].size, self.streams[1].size]
    }

    /// Which file this is, of those that had its name: the first that there is.
    pub(super) fn identity(&self) -> u64 {
        let there = self.streams.iter().find(|stream| stream.identity != 0);
        there.map_or(0, |stream| stream.identity)
    }
}

/// One file, read through a buffer.
#[derive(Debug)]
pub(super) struct Reading {
    file: Option<File>,
    pub size: u64,
    pub identity: u64,
    buffer: Vec<u8>,
    /// Where the buffer begins in the file.
    from: u64,
}

impl Reading {
    fn open(path: Option<&Path>) -> io::Result<Self> {
        let file = match path.map(File::open) {
            None => None,
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => None,
            Some(file) => Some(file?),
        };
        let metadata = file.as_ref().map(File::metadata).transpose()?;
        Ok(Self {
            file,
            size: metadata.as_ref().map_or(0, Metadata::len),
            identity: metadata.as_ref().map_or(0, file_identity),
            buffer: Vec::new(),
            from: 0,
        })
    }

    /// What is between these places, as far as it is there at once: at least a byte, unless the file became shorter.
    pub fn bytes(&mut self, from: u64, to: u64) -> io::Result<&[u8]> {
        let most = usize::try_from(to.min(self.size).saturating_sub(from)).unwrap_or(usize::MAX);
        if self.buffered(from).len() < most.min(BUFFER) {
            self.fill(from)?;
        }
        let bytes = self.buffered(from);
        Ok(&bytes[..bytes.len().min(most)])
    }

    /// The same, up to the last line end that is there; if there is none, a beginning of a line.
    pub fn lines(&mut self, from: u64, to: u64) -> io::Result<&[u8]> {
        let most = usize::try_from(to.min(self.size).saturating_sub(from)).unwrap_or(usize::MAX);
        let buffered = self.buffered(from);
        let buffered = &buffered[..buffered.len().min(most)];
        let end = match memrchr(b'\n', buffered) {
            Some(last) => last + 1,
            None if buffered.len() == most && most > 0 => most,
            None => {
                self.fill(from)?;
                let buffered = self.buffered(from);
                let end = buffered.len().min(most);
                memrchr(b'\n', &buffered[..end]).map_or(end, |last| last + 1)
            }
        };
        Ok(&self.buffered(from)[..end])
    }

    /// What is between these places, at most so much of it.
    pub fn part(&mut self, from: u64, to: u64, most: usize) -> io::Result<Vec<u8>> {
        let to = to.min(from.saturating_add(most as u64));
        let mut part = Vec::new();
        while from + (part.len() as u64) < to {
            let bytes = self.bytes(from + part.len() as u64, to)?;
            if bytes.is_empty() {
                break;
            }
            part.extend_from_slice(bytes);
        }
        Ok(part)
    }

    fn buffered(&self, from: u64) -> &[u8] {
        let skipped = from.checked_sub(self.from).and_then(|it| usize::try_from(it).ok());
        skipped.and_then(|skipped| self.buffer.get(skipped..)).unwrap_or_default()
    }

    fn fill(&mut self, from: u64) -> io::Result<()> {
        self.buffer.clear();
        self.from = from;
        let Some(file) = &mut self.file else { return Ok(()) };
        file.seek(SeekFrom::Start(from))?;
        let most = self.size.saturating_sub(from).min(BUFFER as u64);
        file.take(most).read_to_end(&mut self.buffer)?;
        Ok(())
    }
}

/// What tells a file from another one that had its name.
#[must_use]
pub fn file_identity(metadata: &Metadata) -> u64 {
    let mut hasher = DefaultHasher::new();
    metadata.created().ok().hash(&mut hasher);
    #[cfg(unix)]
    std::os::unix::fs::MetadataExt::ino(metadata).hash(&mut hasher);
    // 0 is no file.
    hasher.finish() | 1
}
