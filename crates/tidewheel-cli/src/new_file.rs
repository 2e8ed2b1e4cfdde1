//! Files that are made, and never replaced.

use std::fs::{self, File};
use std::io::{ErrorKind as Io, Write as _};
use std::path::Path;

use crate::error::{CommandError, ErrorKind};

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
