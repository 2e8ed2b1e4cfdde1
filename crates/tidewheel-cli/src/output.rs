//! Files that are there whole or not at all, and files that are never replaced.

use std::fs::{self, File};
use std::io::{ErrorKind as Io, Write as _};
use std::path::Path;

use anyhow::Context as _;

use crate::error::{CommandError, ErrorKind};

/// Writes a file so that nobody ever sees a part of it.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), CommandError> {
    let write = || -> anyhow::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let name = path.file_name().context("it names no file")?.to_string_lossy();
        let part =
            folder.unwrap_or(Path::new(".")).join(format!(".{name}.{}.part", std::process::id()));
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
