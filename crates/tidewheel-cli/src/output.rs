//! Files that are there whole or not at all, and files that are never replaced: what is said when they
//! cannot be written.
//!
//! How a file is replaced at once is in the library.

use std::fs::{self, File};
use std::io::{ErrorKind as Io, Write as _};
use std::path::Path;

use tidewheel::file;

use crate::error::{CommandError, ErrorKind};

/// Writes a file so that nobody ever sees a part of it.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), CommandError> {
    file::write_atomically(path, text.as_bytes()).map_err(|error| unwritten(path, error))
}

/// Finds out whether [`write_atomically`] could write here now.
pub(crate) fn check_writable(path: &Path) -> Result<(), CommandError> {
    file::check_writable(path).map_err(|error| {
        let error = anyhow::Error::new(error);
        CommandError::usage(error.context(format!("{} cannot be written", path.display())))
            .hint("nothing was started")
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn what_is_there_is_not_written_as_new() {
        let folder = temp_folder("output");
        let path = folder.path().join("result");
        assert!(write_new(&path, "first").unwrap());
        assert!(!write_new(&path, "second").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }
}
