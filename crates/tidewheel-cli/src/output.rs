//! Files that are there whole or not at all, and files that are never replaced.
//!
//! What is in them is the business of the commands.

use std::fs::{self, File};
use std::io::{ErrorKind as Io, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::error::{CommandError, ErrorKind};

/// Writes a file so that nobody ever sees a part of it. Links are followed; what is no file, such as
/// a device or a pipe, is written to as it is.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), CommandError> {
    let write = || -> anyhow::Result<()> {
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(path).is_ok_and(|file| !file.is_file()) {
            let mut file = fs::OpenOptions::new().write(true).open(path)?;
            return Ok(file.write_all(text.as_bytes())?);
        }
        let part = part_of(path)?;
        let written = File::create(&part).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        if let Err(error) = written.and_then(|()| fs::rename(&part, path)) {
            let _ = fs::remove_file(&part);
            return Err(error.into());
        }
        Ok(())
    };
    write().map_err(|error| {
        let error = error.context(format!("{} cannot be written", path.display()));
        CommandError::new(ErrorKind::Failed, error)
    })
}

/// Finds out whether [`write_atomically`] could write here now.
pub(crate) fn check_writable(path: &Path) -> Result<(), CommandError> {
    let check = || -> anyhow::Result<()> {
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => bail!("it is a folder"),
            // A device or a pipe. To open one may mean to wait for somebody.
            Ok(there) if !there.is_file() => return Ok(()),
            _ => {}
        }
        let part = part_of(path)?;
        File::create(&part)?;
        // If it cannot be removed, then it is replaced later.
        let _ = fs::remove_file(&part);
        Ok(())
    };
    check().map_err(|error| {
        CommandError::usage(error.context(format!("{} cannot be written", path.display())))
            .hint("nothing was started")
    })
}

/// Where a file is written before it takes its place.
fn part_of(path: &Path) -> anyhow::Result<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name().context("it names no file")?.to_string_lossy();
    Ok(folder.unwrap_or(Path::new(".")).join(format!(".{name}.{}.part", std::process::id())))
}

/// Writes a file that must not be there yet; false if it is.
pub(crate) fn write_new(path: &Path, text: &str) -> Result<bool, CommandError> {
    let mut file = match File::create_new(path) {
        Ok(file) => file,
        Err(error) if error.kind() == Io::AlreadyExists => return Ok(false),
        Err(error) => return Err(unwritten(path, error)),
    };
    if let Err(error) = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()) {
        // A part of a file is worse than none. If it cannot be removed, that is no news.
        let _ = fs::remove_file(path);
        return Err(unwritten(path, error));
    }
    Ok(true)
}

fn unwritten(path: &Path, error: std::io::Error) -> CommandError {
    let error = anyhow::Error::new(error).context(format!("{} cannot be written", path.display()));
    CommandError::new(ErrorKind::Failed, error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    #[test]
    fn devices_stay_devices_and_links_stay_links() {
        write_atomically(Path::new("/dev/null"), "x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let folder = std::env::temp_dir().join(format!("tidewheel-output-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_atomically(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(!write_new(&file, "other").unwrap());
        fs::remove_dir_all(&folder).unwrap();
    }
}
