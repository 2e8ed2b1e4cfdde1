//! [`Pins`]: manifests that say something else for a while, and are put back as they were, however it ends.
//!
//! ```text
//!   as it was ──── original kept, record kept ────> pinned ──── put back ────> as it was, nothing kept
//!                                                     │
//!                    the process dies: whoever is next puts back first
//! ```
//!
//! What is written into them is made by each ecosystem.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest as _, Sha256};
use tidewheel::file::{make_private_folder, write_atomically};

/// Manifests that are pinned, until this is dropped. Several threads may pin, and put back in any order.
#[derive(Debug)]
pub struct Pins {
    /// Where originals are kept.
    folder: PathBuf,
    held: Mutex<BTreeMap<PathBuf, Record>>,
}

/// Why a manifest is not pinned, or not put back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// It cannot be read.
    #[error("{} cannot be read: {error}", file.display())]
    Unreadable {
        /// The manifest.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It cannot be understood.
    #[error("{} cannot be understood: {why}", file.display())]
    Unparsable {
        /// The manifest.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// It cannot be written, or what it was cannot be kept.
    #[error("{} cannot be written: {error}", file.display())]
    Unwritable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is pinned already.
    #[error("{} is pinned already", file.display())]
    Twice {
        /// The manifest.
        file: PathBuf,
    },
    /// Somebody has changed it while it was pinned.
    #[error("{} was changed while it was pinned; what it was before is in {}", file.display(), kept.display())]
    Edited {
        /// The manifest.
        file: PathBuf,
        /// What it was before.
        kept: PathBuf,
    },
}

/// What is kept of one manifest, beside what it was.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
struct Record {
    file: PathBuf,
    /// The digest of what it was.
    before: String,
    /// That of what it says meanwhile.
    pinned: String,
    /// Where either is written before it takes its place.
    part: PathBuf,
}

impl Pins {
    /// Keeps originals in this folder, which nobody else uses now. What a process that died has left there is put back
    /// first.
    ///
    /// # Errors
    ///
    /// When that cannot be put back.
    pub fn new(folder: &Path) -> Result<Self, PinError> {
        Self::put_back_left(folder)?;
        Ok(Self { folder: folder.to_owned(), held: Mutex::default() })
    }

    /// Puts back what a process that died has left pinned, and gives which files that were.
    ///
    /// # Errors
    ///
    /// When somebody has changed one of them meanwhile, or one cannot be written; the others are put back.
    pub fn put_back_left(folder: &Path) -> Result<Vec<PathBuf>, PinError> {
        let mut done = Vec::new();
        let mut first = None;
        for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            if path.extension().is_none_or(|it| it != "json") {
                continue;
            }
            // One that was not written whole belongs to a manifest that was never touched.
            let record = fs::read(&path).ok().and_then(|it| serde_json::from_slice(&it).ok());
            let Some(record): Option<Record> = record else { continue };
            match put_back(folder, &record) {
                Ok(()) => done.push(record.file),
                Err(error) => first = first.or(Some(error)),
            }
        }
        match first {
            Some(error) => Err(error),
            None => {
                // Originals without a record were never needed.
                let _ = fs::remove_dir_all(folder);
                Ok(done)
            }
        }
    }

    /// Lets a manifest say something else. `edit` makes that of what it says; nothing is written if it makes nothing.
    ///
    /// # Errors
    ///
    /// When it cannot be read, understood or written: then it is as it was, and nothing is kept of it.
    pub fn pin(
        &self,
        file: &Path,
        edit: impl FnOnce(&str) -> Result<Option<String>, String>,
    ) -> Result<bool, PinError> {
        let unreadable = |error| PinError::Unreadable { file: file.to_owned(), error };
        // A link stays one.
        let file = &fs::canonicalize(file).map_err(unreadable)?;
        let mut held = self.held();
        if held.contains_key(file) {
            return Err(PinError::Twice { file: file.clone() });
        }
        let before = fs::read_to_string(file).map_err(unreadable)?;
        let edited = edit(&before);
        let edited = edited.map_err(|why| PinError::Unparsable { file: file.clone(), why })?;
        let Some(pinned) = edited.filter(|pinned| *pinned != before) else { return Ok(false) };
        let record = Record {
            file: file.clone(),
            before: digest(before.as_bytes()),
            pinned: digest(pinned.as_bytes()),
            part: part_of(file),
        };
        let written = self.keep(&record, before.as_bytes()).and_then(|()| {
            replace(&record, pinned.as_bytes()).inspect_err(|_| forget(&self.folder, &record))
        });
        written.map_err(|error| PinError::Unwritable { file: file.clone(), error })?;
        held.insert(file.clone(), record);
        Ok(true)
    }

    /// Puts one manifest back, before the others.
    ///
    /// # Errors
    ///
    /// As [`Pins::put_back`].
    pub fn put_back_one(&self, file: &Path) -> Result<(), PinError> {
        let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        match self.held().remove(&file) {
            Some(record) => put_back(&self.folder, &record),
            None => Ok(()),
        }
    }

    /// Puts all of them back.
    ///
    /// # Errors
    ///
    /// The first that was changed meanwhile or cannot be written: what it was is kept.
    pub fn put_back(self) -> Result<(), PinError> {
        self.put_back_all()
    }

    fn put_back_all(&self) -> Result<(), PinError> {
        let mut first = None;
        for record in std::mem::take(&mut *self.held()).values() {
            first = first.or(put_back(&self.folder, record).err());
        }
        // It stays if something is kept in it.
        let _ = fs::remove_dir(&self.folder);
        first.map_or(Ok(()), Err)
    }

    /// Keeps what a manifest was: first its content, then what says whose it is.
    fn keep(&self, record: &Record, before: &[u8]) -> io::Result<()> {
        make_private_folder(&self.folder)?;
        write_atomically(&original_of(&self.folder, record), before)?;
        write_atomically(&record_of(&self.folder, record), &serde_json::to_vec(record)?)
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Record>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        // What cannot be put back now is by whoever is next, who says what is wrong.
        let _ = self.put_back_all();
    }
}

/// Puts a manifest back, unless somebody has made something else of it.
fn put_back(folder: &Path, record: &Record) -> Result<(), PinError> {
    let unwritable = |error| PinError::Unwritable { file: record.file.clone(), error };
    let kept = original_of(folder, record);
    let now = fs::read(&record.file).ok().map(|content| digest(&content));
    let _ = fs::remove_file(&record.part);
    if now.as_ref() == Some(&record.before) {
        forget(folder, record);
        return Ok(());
    }
    let original = match fs::read(&kept) {
        Ok(original) if digest(&original) == record.before => original,
        // Whoever has taken it away has seen to the manifest.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && now.as_ref() != Some(&record.pinned) =>
        {
            forget(folder, record);
            return Ok(());
        }
        Ok(_) => {
            return Err(unwritable(io::Error::other(format!(
                "{} is not what was kept",
                kept.display()
            ))));
        }
        Err(error) => return Err(unwritable(error)),
    };
    if now.is_some_and(|now| now != record.pinned) {
        return Err(PinError::Edited { file: record.file.clone(), kept });
    }
    replace(record, &original).map_err(unwritable)?;
    forget(folder, record);
    Ok(())
}

/// Writes a manifest so that nobody ever sees a part of it, with the rights that it has.
fn replace(record: &Record, content: &[u8]) -> io::Result<()> {
    let write = || {
        let mut part = File::create(&record.part)?;
        if let Ok(there) = fs::metadata(&record.file) {
            part.set_permissions(there.permissions())?;
        }
        part.write_all(content)?;
        part.sync_all()?;
        fs::rename(&record.part, &record.file)
    };
    write().inspect_err(|_| {
        // The first error counts.
        let _ = fs::remove_file(&record.part);
    })?;
    match record.file.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Nothing is kept of a manifest any more: first it is nobody's, then it is gone.
fn forget(folder: &Path, record: &Record) {
    let _ = fs::remove_file(record_of(folder, record));
    let _ = fs::remove_file(original_of(folder, record));
}

fn original_of(folder: &Path, record: &Record) -> PathBuf {
    folder.join(format!("{}.original", mark(&record.file)))
}

fn record_of(folder: &Path, record: &Record) -> PathBuf {
    folder.join(format!("{}.json", mark(&record.file)))
}

/// Beside the manifest: a file takes the place of another one only in the same folder.
fn part_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.tidewheel-pin"))
}

fn mark(file: &Path) -> String {
    digest(file.to_string_lossy().as_bytes())[..16].to_owned()
}

fn digest(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use tidewheel_testing::{TempDir, temp_folder};

    use super::*;

    fn folder(name: &str) -> TempDir {
        let folder = temp_folder(&format!("pin-{name}"));
        fs::create_dir_all(folder.path().join("ws")).unwrap();
        folder
    }

    fn manifests(folder: &Path, count: usize) -> Vec<PathBuf> {
        let file = |number: usize| folder.join("ws").join(format!("{number}.toml"));
        (0..count).map(file).inspect(|file| fs::write(file, "as it was\n").unwrap()).collect()
    }

    fn pinned(text: &str) -> Result<Option<String>, String> {
        Ok(Some(text.replace("as it was", "pinned")))
    }

    fn texts(folder: &Path) -> Vec<String> {
        let mut names: Vec<PathBuf> =
            fs::read_dir(folder.join("ws")).unwrap().map(|it| it.unwrap().path()).collect();
        names.sort();
        names.iter().map(|it| fs::read_to_string(it).unwrap()).collect()
    }

    #[test]
    fn manifests_are_put_back_in_any_order_by_any_thread_and_when_it_panics() {
        let folder = folder("order");
        let folder = folder.path();
        let files = manifests(folder, 5);
        let kept = folder.join("kept");
        let pins = Pins::new(&kept).unwrap();
        std::thread::scope(|scope| {
            for file in &files {
                scope.spawn(|| assert!(pins.pin(file, pinned).unwrap()));
            }
        });
        assert_eq!(texts(folder), ["pinned\n"; 5]);
        assert!(matches!(pins.pin(&files[0], pinned), Err(PinError::Twice { .. })));
        pins.put_back_one(&files[2]).unwrap();
        pins.put_back_one(&files[0]).unwrap();
        assert_eq!(texts(folder).iter().filter(|it| *it == "pinned\n").count(), 3);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _pins = pins;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(texts(folder), ["as it was\n"; 5]);
        assert!(!kept.exists(), "nothing is kept");
    }

    #[test]
    fn what_the_dead_have_left_is_put_back_first_and_originals_are_never_lost() {
        let folder = folder("dead");
        let folder = folder.path();
        let (files, kept) = (manifests(folder, 3), folder.join("kept"));
        let pins = Pins::new(&kept).unwrap();
        assert!(files.iter().all(|file| pins.pin(file, pinned).unwrap()));
        // Killed: nothing of it runs any more. It was writing another one.
        std::mem::forget(pins);
        fs::write(part_of(&files[0]), "as it").unwrap();
        fs::write(kept.join("half.json"), "{ \"file\"").unwrap();
        let next = Pins::new(&kept).unwrap();
        assert_eq!(texts(folder), ["as it was\n"; 3]);
        next.pin(&files[0], pinned).unwrap();
        next.put_back().unwrap();
        assert_eq!(texts(folder), ["as it was\n"; 3]);
        assert_eq!(Pins::put_back_left(&kept).unwrap(), Vec::<PathBuf>::new());
        assert!(!kept.exists());
    }

    #[test]
    fn what_somebody_wrote_meanwhile_is_not_written_over() {
        let folder = folder("edited");
        let folder = folder.path();
        let (files, kept) = (manifests(folder, 2), folder.join("kept"));
        let pins = Pins::new(&kept).unwrap();
        assert!(files.iter().all(|file| pins.pin(file, pinned).unwrap()));
        fs::write(&files[0], "pinned\nand more\n").unwrap();
        let error = pins.put_back().unwrap_err();
        let PinError::Edited { kept: original, .. } = &error else { panic!("{error}") };
        assert_eq!(texts(folder), ["pinned\nand more\n", "as it was\n"]);
        assert_eq!(fs::read_to_string(original).unwrap(), "as it was\n");
        // Whoever comes next is told the same, until somebody has seen to it.
        assert!(matches!(Pins::new(&kept), Err(PinError::Edited { .. })));
        fs::remove_file(original).unwrap();
        Pins::new(&kept).unwrap();
        assert_eq!(texts(folder), ["pinned\nand more\n", "as it was\n"]);
    }

    #[cfg(unix)]
    #[test]
    fn rights_and_links_stay_as_they_are() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder("rights");
        let folder = folder.path();
        let (files, kept) = (manifests(folder, 1), folder.join("kept"));
        fs::set_permissions(&files[0], fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.join("link.toml");
        std::os::unix::fs::symlink(&files[0], &link).unwrap();
        let pins = Pins::new(&kept).unwrap();
        pins.pin(&link, pinned).unwrap();
        assert_eq!(texts(folder), ["pinned\n"]);
        pins.put_back().unwrap();
        assert_eq!(texts(folder), ["as it was\n"]);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn what_cannot_be_read_understood_or_written_is_said_apart_and_leaves_nothing() {
        let folder = folder("errors");
        let folder = folder.path();
        let (files, kept) = (manifests(folder, 1), folder.join("kept"));
        let pins = Pins::new(&kept).unwrap();
        let error = pins.pin(&folder.join("ws/none.toml"), pinned).unwrap_err();
        assert!(matches!(error, PinError::Unreadable { .. }), "{error}");
        let error = pins.pin(&files[0], |_| Err("line 1: no".to_owned())).unwrap_err();
        assert!(matches!(error, PinError::Unparsable { .. }), "{error}");
        // A folder where the file is written first.
        fs::create_dir(part_of(&files[0])).unwrap();
        let error = pins.pin(&files[0], pinned).unwrap_err();
        assert!(matches!(error, PinError::Unwritable { .. }), "{error}");
        fs::remove_dir(part_of(&files[0])).unwrap();
        assert!(!pins.pin(&files[0], |_| Ok(None)).unwrap());
        pins.put_back().unwrap();
        assert_eq!(texts(folder), ["as it was\n"]);
        assert!(!kept.exists());
    }
}
