//! Files that are there whole or not at all.
//!
//! What may be replaced is for whoever asks to know.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

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
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&part, path)).inspect_err(|_| {
        // The first error counts; what is left over is replaced the next time.
        let _ = fs::remove_file(&part);
    })
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
    File::create(&part)?;
    // If it cannot be removed, then it is replaced later.
    let _ = fs::remove_file(&part);
    Ok(())
}

/// Where a file is written before it takes its place.
fn part_of(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name();
    let name = name.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it names no file"))?;
    let part = format!(".{}.{}.part", name.to_string_lossy(), std::process::id());
    Ok(folder.unwrap_or(Path::new(".")).join(part))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn devices_stay_devices_and_links_stay_links() {
        write_atomically(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let folder = std::env::temp_dir().join(format!("tidewheel-write-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        check_writable(&link).unwrap();
        write_atomically(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "nothing is left over");
        assert!(check_writable(&folder).is_err() && write_atomically(&folder, b"x").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
