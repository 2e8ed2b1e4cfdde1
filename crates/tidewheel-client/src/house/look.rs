//! [`Look`]: the files of a house, read when they have changed.
//!
//! What follows from what they say is decided in [`super::catalogue`].

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tidewheel::Timestamp;

use super::entry::Read;

/// The files of a house, as they were read last.
///
/// They are looked at, again and again, instead of being told about: that works in folders of a network and in
/// containers, where nobody tells, and costs a few microseconds a file.
#[derive(Debug, Default)]
pub(super) struct Look {
    folder: Option<PathBuf>,
    files: Vec<PathBuf>,
    known: BTreeMap<PathBuf, Known>,
    /// How files look that were being written when it was looked last.
    unsettled: BTreeMap<PathBuf, Vec<Mark>>,
}

#[derive(Debug)]
struct Known {
    read: Read,
    /// The file and those that it calls.
    parts: Vec<PathBuf>,
    marks: Vec<Mark>,
}

/// What tells whether a file has changed without reading it; none if there is no such file.
type Mark = Option<[i64; 6]>;

/// When a file that looks different is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// At once.
    Now,
    /// When it has looked the same twice: somebody may be writing it.
    Settled,
}

impl Look {
    /// At a folder and at files, of which none was read.
    pub fn new(folder: Option<&Path>, files: &[PathBuf]) -> io::Result<Self> {
        Ok(Self {
            folder: folder.map(std::path::absolute).transpose()?,
            files: files.iter().map(std::path::absolute).collect::<io::Result<_>>()?,
            ..Self::default()
        })
    }

    /// Reads what has changed; false if nothing has. It waits for the disk.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read: then nothing is gone, only out of sight.
    pub fn look(&mut self, when: When, now: Timestamp) -> io::Result<bool> {
        let paths = self.paths()?;
        let gone = self.known.len();
        self.known.retain(|path, _| paths.contains(path));
        let mut has_changed = self.known.len() < gone;
        let mut unsettled = BTreeMap::new();
        for path in paths {
            let parts = self.known.get(&path).map(|known| known.parts.clone());
            let parts = parts.unwrap_or_else(|| vec![path.clone()]);
            let marks: Vec<Mark> = parts.iter().map(|part| mark(part)).collect();
            if self.known.get(&path).is_some_and(|known| known.marks == marks) {
                continue;
            }
            if when == When::Settled && self.unsettled.get(&path) != Some(&marks) {
                unsettled.insert(path, marks);
                continue;
            }
            // Marks of before it was read: a change that comes between is seen the next time.
            let before = marks;
            let (read, parts) = Read::file(&path, now);
            let marks = match parts.first() == Some(&path) && parts.len() == before.len() {
                true => before,
                false => parts.iter().map(|part| mark(part)).collect(),
            };
            self.known.insert(path, Known { read, parts, marks });
            has_changed = true;
        }
        self.unsettled = unsettled;
        Ok(has_changed)
    }

    /// What was read of each file.
    pub fn read(&self) -> BTreeMap<PathBuf, Read> {
        self.known.iter().map(|(path, known)| (path.clone(), known.read.clone())).collect()
    }

    fn paths(&self) -> io::Result<Vec<PathBuf>> {
        let mut paths = self.files.clone();
        paths.retain(|path| mark(path).is_some());
        if let Some(folder) = &self.folder {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                if is_flow(&entry.path()) && !entry.path().is_dir() {
                    paths.push(entry.path());
                }
            }
        }
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }
}

/// Whether a file of a folder is a flow, by its name. Editors have hidden ones beside it.
fn is_flow(path: &Path) -> bool {
    let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    is_yaml && !is_hidden
}

fn mark(path: &Path) -> Mark {
    let it = std::fs::metadata(path).ok()?;
    let (inode, size) = (it.ino().cast_signed(), it.size().cast_signed());
    Some([inode, size, it.mtime(), it.mtime_nsec(), it.ctime(), it.ctime_nsec()])
}
