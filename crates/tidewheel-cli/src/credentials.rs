//! [`Credentials`]: tokens that are kept for servers, in a file of the user's configuration that nobody else reads.
//!
//! How tokens are made, and what they allow, is the server's business.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde::{Deserialize, Serialize};

use crate::config::user_folder;
use crate::error::{CommandError, ErrorKind};

const FILE: &str = "credentials.json";

/// The tokens of a user, by the address of their server.
#[derive(Debug)]
pub(crate) struct Credentials {
    path: PathBuf,
    kept: Kept,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    servers: BTreeMap<String, String>,
}

impl Credentials {
    /// Those of whoever runs this; `None` if nothing is configured here, for want of a home.
    pub fn of_this_user() -> Result<Option<Self>, CommandError> {
        user_folder().map(|folder| Self::open(folder.join(FILE))).transpose()
    }

    fn open(path: PathBuf) -> Result<Self, CommandError> {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, kept: Kept::default() });
            }
            Err(error) => return Err(failed(&path, "read", error)),
        };
        if fs::metadata(&path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0) {
            let error = anyhow!("{} can be read by others, and has tokens in it", path.display());
            let error = CommandError::new(ErrorKind::Refused, error);
            return Err(error.hint(format!("chmod 600 {}", path.display())));
        }
        let kept = serde_json::from_str(&text).map_err(|error| {
            let error = anyhow!(error).context(format!("{} makes no sense", path.display()));
            CommandError::input(error).hint("remove it, and log in again")
        })?;
        Ok(Self { path, kept })
    }

    /// The token for a server.
    pub fn token(&self, url: &str) -> Option<&str> {
        self.kept.servers.get(&plain(url)).map(String::as_str)
    }

    /// Keeps a token for a server.
    pub fn keep(&mut self, url: &str, token: &str) -> Result<(), CommandError> {
        self.kept.servers.insert(plain(url), token.to_owned());
        self.write()
    }

    /// Keeps none for it any more; whether there was one.
    pub fn forget(&mut self, url: &str) -> Result<bool, CommandError> {
        let had_one = self.kept.servers.remove(&plain(url)).is_some();
        if had_one {
            self.write()?;
        }
        Ok(had_one)
    }

    /// Where they are kept.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&self) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(&self.kept).map_err(CommandError::internal)?;
        let write = || {
            if let Some(folder) = self.path.parent() {
                fs::create_dir_all(folder)?;
            }
            // Beside it and then in its place: it is never half there, and never read by others.
            let new = self.path.with_extension(format!("new-{}", std::process::id()));
            let mut file = private(&new)?;
            file.write_all(format!("{text}\n").as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        write().map_err(|error| failed(&self.path, "written", error))
    }
}

fn private(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// An address as it is kept: a slash at its end makes no difference.
fn plain(url: &str) -> String {
    url.trim_end_matches('/').to_owned()
}

fn failed(path: &Path, what: &str, error: io::Error) -> CommandError {
    let error = anyhow!(error).context(format!("{} cannot be {what}", path.display()));
    CommandError::new(ErrorKind::Failed, error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn what_is_kept_is_for_its_owner_only_and_found_again() {
        let folder = temp_folder("login");
        let path = folder.path().join("tidewheel").join(FILE);
        let mut kept = Credentials::open(path.clone()).unwrap();
        assert_eq!(kept.token("https://tide.example"), None);
        kept.keep("https://tide.example/", "tidewheel_0123").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut again = Credentials::open(path.clone()).unwrap();
        assert_eq!(again.token("https://tide.example"), Some("tidewheel_0123"));
        assert_eq!(again.token("https://other.example"), None);
        assert!(again.forget("https://tide.example").unwrap());
        assert!(!again.forget("https://tide.example").unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Credentials::open(path).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Refused, "{:?}", error.error);
    }
}
