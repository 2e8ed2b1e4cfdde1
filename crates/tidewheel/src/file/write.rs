//! Files that are there whole or not at all.
//!
//! What may be replaced is for whoever asks to know.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a file so that nobody ever sees a part of it. Links are followed; what is no file, such as
/// a device or a pipe, is written to as it is.
///
/// # Errors
///
/// When it cannot be written: then what was there before still is.
pub fn write_atomically(path: &Path, contents: &[u8]) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
        let mut file = fs::OpenOptions::new().write(true).open(path)?;
        return file.write_all(contents);
    }
    let part = part_of(path)?;
    let written = fs::OpenOptions::new().write(true).create_new(true).open(&part);
    let written = written.and_then(|mut file| {
        if let Ok(there) = fs::metadata(path) {
            file.set_permissions(there.permissions())?;
        }
        file.write_all(contents)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&part, path)).inspect_err(|_| {
        // The first error counts.
        let _ = fs::remove_file(&part);
    })?;
    sync_folder_of(path)
}

/// What a folder says of its files survives a power failure only once it is flushed itself.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder_of(path))?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Finds out whether [`write_atomically`] could write here now.
///
/// # Errors
///
/// Why it could not.
pub fn check_writable(path: &Path) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder"));
        }
        // A device or a pipe. To open one may mean to wait for somebody.
        Ok(there) if !there.is_file() => return Ok(()),
        _ => {}
    }
    let part = part_of(path)?;
    File::create_new(&part)?;
    // It is empty, and in nobody's way.
    let _ = fs::remove_file(&part);
    Ok(())
}

/// Where a file is written before it takes its place. Each call has another one: several threads may
/// write the same file, and a process may have the number of one that died here.
fn part_of(path: &Path) -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name();
    let name = name.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it names no file"))?;
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let id = std::process::id();
        let part = format!(".{}.{id}.{number}.part", name.to_string_lossy());
        let part = folder_of(path).join(part);
        if !part.try_exists()? {
            return Ok(part);
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn devices_stay_devices_and_links_stay_links() {
        write_atomically(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let scratch = temp_folder("write");
        let folder = scratch.path();
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        check_writable(&link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "nothing is left over");
        assert!(check_writable(folder).is_err() && write_atomically(folder, b"x").is_err());
    }

    #[test]
    fn threads_that_write_the_same_file_leave_one_of_their_texts_whole() {
        let scratch = temp_folder("threads");
        let folder = scratch.path();
        let path = folder.join("file");
        let texts: Vec<Vec<u8>> = (0..4_u8).map(|id| vec![id; 100_000]).collect();
        std::thread::scope(|scope| {
            for text in &texts {
                let path = &path;
                scope.spawn(move || (0..20).for_each(|_| write_atomically(path, text).unwrap()));
            }
        });
        assert!(texts.contains(&fs::read(&path).unwrap()));
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn a_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = temp_folder("mode");
        let folder = scratch.path();
        let path = folder.join("file");
        fs::write(&path, "old").unwrap();
        for mode in [0o640, 0o755, 0o600] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            write_atomically(&path, b"new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }
}
