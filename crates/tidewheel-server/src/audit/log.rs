//! [`AuditLog`]: the rows in a file of the data folder, one line each, only ever added to.
//!
//! A file and no table: whoever may write to the database could write rows anew, tools of every kind can copy lines away
//! while they are written, and the schema of the database belongs to the engine. How rows hang together is in
//! [`super::chain`].

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidewheel_client::api::AuditRow;

use super::chain::{Broken, End, end_of, row_after, verify};
use crate::identity::{make_private, private_file};

/// More of the end of the file is not looked at to find its last row.
const ROW_MAX: u64 = 16 << 10;

/// How long the file is that says where the end is: more than its longest row.
const END_BYTES: usize = 128;

/// More rows at once nobody reads.
const ROWS_MAX: usize = 500;

/// The audit log of a data folder.
///
/// What is written survives the death of the process at once, and that of the machine once it was
/// [flushed](AuditLog::flush), which whoever serves does every second.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    rows: File,
    /// How many rows there are and the last of them, so that it is noticed when the newest are gone.
    end: File,
    /// How long the file was when its end was known.
    length: u64,
    known: End,
    is_dirty: bool,
}

/// Why the audit log cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The file does not do what it is asked.
    #[error("the audit log {} cannot be {doing}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Somebody has meddled with it.
    #[error("the audit log {} was changed: {broken}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where.
        broken: Broken,
    },
}

impl AuditLog {
    /// The log in this folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be opened, or its last row cannot be read.
    pub fn open(folder: &Path) -> Result<Self, AuditError> {
        let path = folder.join("audit.jsonl");
        let fail = |source| failed("opened", &path, source);
        make_private(folder).map_err(fail)?;
        let rows = private_file(&path).map_err(fail)?;
        let end = path.with_extension("end");
        // Made for its owner alone, and then written over: not only added to.
        private_file(&end).map_err(fail)?;
        let end = File::options().read(true).write(true).open(end).map_err(fail)?;
        let open = Open { rows, end, length: 0, known: End::default(), is_dirty: false };
        let log = Self { open: Mutex::new(open), path };
        log.catch_up(&mut log.lock())?;
        Ok(log)
    }

    /// Adds a row, which gets its number and its fingerprints here.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn add(&self, row: &AuditRow) -> Result<(), AuditError> {
        let mut open = self.lock();
        let fail = |source| failed("written", &self.path, source);
        // Commands of another process write to it too.
        open.rows.lock().map_err(fail)?;
        let added = self.add_locked(&mut open, row);
        let unlocked = open.rows.unlock().map_err(fail);
        added.and(unlocked)
    }

    fn add_locked(&self, open: &mut Open, row: &AuditRow) -> Result<(), AuditError> {
        let fail = |source| failed("written", &self.path, source);
        self.catch_up(open)?;
        let row = row_after(&open.known, row);
        let mut line = serde_json::to_vec(&row).map_err(|error| fail(error.into()))?;
        line.push(b'\n');
        if let Err(error) = open.rows.write_all(&line) {
            // Half a row would break the chain.
            let _ = open.rows.set_len(open.length);
            return Err(fail(error));
        }
        open.length += line.len() as u64;
        open.known = end_of(&row);
        open.is_dirty = true;
        let mut end = serde_json::to_vec(&open.known).map_err(|error| fail(error.into()))?;
        // Of one length, so that it is written over in place: a file that is emptied each time is news for the file system, which
        // those who wait for the database on the same disk would have to wait for.
        end.resize(end.len().max(END_BYTES), b' ');
        open.end.seek(SeekFrom::Start(0)).and_then(|_| open.end.write_all(&end)).map_err(fail)
    }

    /// Whether something was written that was not flushed.
    pub(crate) fn is_dirty(&self) -> bool {
        self.lock().is_dirty
    }

    /// Makes what was written survive the death of the machine. It waits for the disk.
    ///
    /// # Errors
    ///
    /// When the disk does not do it.
    pub fn flush(&self) -> Result<(), AuditError> {
        let copy = {
            let mut open = self.lock();
            if !std::mem::take(&mut open.is_dirty) {
                return Ok(());
            }
            open.rows.try_clone()
        };
        copy.and_then(|rows| rows.sync_data()).map_err(|error| failed("flushed", &self.path, error))
    }

    /// The newest rows, newest first, those before `before`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn newest(&self, before: Option<u64>, limit: usize) -> Result<Vec<AuditRow>, AuditError> {
        let text = self.text()?;
        let rows =
            text.lines().rev().filter_map(|line| serde_json::from_str::<AuditRow>(line).ok());
        let rows = rows.filter(|row| before.is_none_or(|before| row.number < before));
        Ok(rows.take(limit.min(ROWS_MAX)).collect())
    }

    /// Finds the first row that was changed, removed or moved; else says how many there are.
    ///
    /// # Errors
    ///
    /// Where somebody has meddled with it.
    pub fn verify(&self) -> Result<u64, AuditError> {
        // In this order: a row that is added meanwhile is in the text and not yet in the count.
        let known = self.written()?;
        let text = self.text()?;
        let broken = |broken| AuditError::Broken { path: self.path.clone(), broken };
        verify(&text, known).map_err(broken)
    }

    fn text(&self) -> Result<String, AuditError> {
        let bytes = fs::read(&self.path).map_err(|error| failed("read", &self.path, error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// How many rows were written, as the file beside says.
    fn written(&self) -> Result<Option<u64>, AuditError> {
        let path = self.path.with_extension("end");
        let bytes = fs::read(&path).map_err(|error| failed("read", &path, error))?;
        // A crash while it is written leaves half of it: then only the chain itself counts.
        Ok(serde_json::from_slice::<End>(&bytes).ok().map(|end| end.rows))
    }

    /// Learns what others have added.
    fn catch_up(&self, open: &mut Open) -> Result<(), AuditError> {
        let fail = |source| failed("read", &self.path, source);
        let length = open.rows.metadata().map_err(fail)?.len();
        if length == open.length {
            return Ok(());
        }
        let from = length.saturating_sub(ROW_MAX);
        open.rows.seek(SeekFrom::Start(from)).map_err(fail)?;
        let mut bytes = Vec::new();
        (&open.rows).take(ROW_MAX).read_to_end(&mut bytes).map_err(fail)?;
        let text = String::from_utf8_lossy(&bytes);
        let last = text.lines().next_back();
        let row = last.map(serde_json::from_str::<AuditRow>).transpose();
        let row = row.map_err(|error| AuditError::Broken {
            path: self.path.clone(),
            broken: Broken::Unreadable { line: 0, why: format!("the last row: {error}") },
        })?;
        open.known = row.as_ref().map(end_of).unwrap_or_default();
        open.length = length;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> AuditError {
    AuditError::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel::Timestamp;
    use tidewheel_testing::temp_folder;

    use super::*;

    fn entry(object: &str) -> AuditRow {
        let at = Timestamp::from_seconds(1_800_000_000);
        AuditRow { object: object.to_owned(), ..AuditRow::unwritten(at, "me", "cancel-run", 200) }
    }

    #[test]
    fn two_processes_write_one_chain() {
        let temp = temp_folder("audit-two");
        let folder = temp.path().join("server");
        let (here, there) = (AuditLog::open(&folder).unwrap(), AuditLog::open(&folder).unwrap());
        for number in 0..10 {
            let log = if number % 3 == 0 { &there } else { &here };
            log.add(&entry(&format!("run {number}"))).unwrap();
        }
        assert_eq!(here.verify().unwrap(), 10);
        let newest = there.newest(None, 2).unwrap();
        assert_eq!(newest.iter().map(|row| row.number).collect::<Vec<_>>(), [10, 9]);
        assert_eq!(there.newest(Some(2), 5).unwrap()[0].object, "run 0");
        here.flush().unwrap();
    }

    #[test]
    fn rows_that_are_taken_from_the_end_are_missed() {
        let temp = temp_folder("audit-end");
        let folder = temp.path().join("server");
        let log = AuditLog::open(&folder).unwrap();
        for object in ["a", "b", "c"] {
            log.add(&entry(object)).unwrap();
        }
        let path = folder.join("audit.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let kept: Vec<&str> = text.lines().take(2).collect();
        fs::write(&path, kept.join("\n") + "\n").unwrap();
        let error = log.verify().unwrap_err();
        let AuditError::Broken { broken, .. } = error else { panic!("{error}") };
        assert_eq!(broken, Broken::CutOff { last: 2, known: 3 });
        assert_eq!(fs::metadata(path.with_extension("end")).unwrap().len(), END_BYTES as u64);
        fs::write(&path, text.replace("\"b\"", "\"x\"")).unwrap();
        let again = AuditLog::open(&folder).unwrap();
        let error = again.verify().unwrap_err();
        let AuditError::Broken { broken, .. } = error else { panic!("{error}") };
        assert_eq!(broken, Broken::Changed { row: 2 });
    }
}
