//! [`WorkspaceLock`]: one publish of a workspace at a time.
//!
//! The kernel's lock on the folder itself is all that counts: it ends with its holder, however that ends, and nothing
//! is written to the workspace. The record beside it is for messages only.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel::file::{network_file_system, write_atomically};

/// The right to publish a workspace, until it is dropped.
#[derive(Debug)]
pub struct WorkspaceLock {
    /// The folder of the workspace, held open.
    folder: File,
    record: PathBuf,
}

/// Who publishes a workspace, as far as the record says.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// Since when, in microseconds since 1970.
    pub since: i64,
    /// What it was asked to do.
    pub command: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = Timestamp::from_micros(self.since);
        write!(f, "process {} on {} since {since}: {}", self.pid, self.host, self.command)
    }
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody publishes the workspace.
    #[error("{} is being published by {}", root.display(), holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    Held {
        /// The workspace.
        root: PathBuf,
        /// Who, as far as it is known.
        holder: Option<Holder>,
    },
    /// It is on a file system of other machines, where a lock of this one keeps nobody out.
    #[error("{} is on a network file system ({kind}), where no lock can be relied on; publish from a checkout on a local disk", root.display())]
    Network {
        /// The workspace.
        root: PathBuf,
        /// Which kind.
        kind: &'static str,
    },
    /// It cannot be locked: where several machines share it, nobody could rely on it.
    #[error("{} cannot be locked: {error}", root.display())]
    Impossible {
        /// The workspace.
        root: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl WorkspaceLock {
    /// Takes the lock of a workspace at once, and writes down who has it in a folder of ours.
    ///
    /// # Errors
    ///
    /// When somebody has it, or nobody can.
    pub fn take(root: &Path, ours: &Path, command: &str) -> Result<Self, LockError> {
        let impossible = |error| LockError::Impossible { root: root.to_owned(), error };
        let folder = File::open(root).map_err(impossible)?;
        local(root, network_file_system(root).map_err(impossible)?)?;
        let record = ours.join("holder.json");
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let holder =
                    fs::read(&record).ok().and_then(|text| serde_json::from_slice(&text).ok());
                return Err(LockError::Held { root: root.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(impossible(error)),
        }
        let holder = Holder {
            pid: std::process::id(),
            host: host(),
            since: wall_clock().as_micros(),
            command: command.to_owned(),
        };
        let text = serde_json::to_vec(&holder).unwrap_or_default();
        // Whatever was there is of somebody who is gone. Only a message would be poorer without it.
        let _ = fs::create_dir_all(ours).and_then(|()| write_atomically(&record, &text));
        Ok(Self { folder, record })
    }
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        // While it is still ours.
        let _ = fs::remove_file(&self.record);
        let _ = self.folder.unlock();
    }
}

/// Whether a lock on a folder counts for everybody who sees it.
fn local(root: &Path, network: Option<&'static str>) -> Result<(), LockError> {
    match network {
        Some(kind) => Err(LockError::Network { root: root.to_owned(), kind }),
        None => Ok(()),
    }
}

/// The name of this machine.
pub(super) fn host() -> String {
    let said = fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| fs::read_to_string("/etc/hostname"));
    let said = said.ok().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    said.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_else(|| "this machine".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_on_a_network_file_system_is_refused_with_advice() {
        let root = Path::new("/mnt/share/ws");
        let error = local(root, Some("NFS")).unwrap_err().to_string();
        assert!(error.contains("/mnt/share/ws") && error.contains("(NFS)"), "{error}");
        assert!(error.contains("local disk"), "{error}");
        assert!(local(root, None).is_ok());
    }
}
