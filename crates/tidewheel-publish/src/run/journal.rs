//! [`Journal`]: how far a package has come, as far as it was done here; it outlives a process that dies.
//!
//! Registries say what is out. This only says what nobody can see there yet, and what to tell people.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel::file::write_atomically;

use crate::pack::folder_of;
use crate::package::PackageId;

/// How far a package has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Journal {
    /// What was done last.
    pub phase: Phase,
    /// Since then, in microseconds since 1970.
    pub since: i64,
    /// An upload was begun whose end nobody has seen.
    pub is_open: bool,
    /// It was sent from here, by this run or one before it: what is out of it is ours to take back.
    pub sent: bool,
    /// Uploads that were begun.
    pub uploads: u32,
    /// When the first of them was, in microseconds since 1970.
    pub began: Option<i64>,
    /// How often it was tried again because of trouble.
    pub retries: u32,
    /// How often its registry said that there were too many, one after the other.
    pub limited: u32,
    /// How long was waited for its registry, in milliseconds.
    pub waited_ms: u64,
    /// How it ended, if it did not end well.
    pub end: Option<End>,
    /// What was said about that.
    pub said: Option<String>,
    /// From when on it makes sense to go on, in microseconds since 1970.
    pub until: Option<i64>,
    /// Its registry has said no to it, after an upload whose end nobody saw: that one may be there all the same.
    pub refused: Option<(End, String)>,
    /// Since when its registry wants a one-time code that nobody has said yet, in microseconds since 1970.
    pub code_since: Option<i64>,
    /// One-time codes that somebody has said.
    pub codes: u32,
    /// Whether its hook is to be run.
    pub hook: Hook,
}

/// Whether the hook of a package is to be run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// Nothing was uploaded from here.
    #[default]
    None,
    /// It is, once the package can be had.
    Due,
    /// It was.
    Done,
}

/// What was done last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It is packed.
    #[default]
    Packed,
    /// An upload was begun; whether it took effect nobody knows.
    Uploading,
    /// Its registry said that it has it.
    Uploaded,
    /// Those who resolve can have it.
    Visible,
}

/// How a package ended that is not out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It would have had to wait too long.
    Waiting,
    /// Its registry had trouble, more often than it was tried again.
    Trouble,
    /// It is out with another content, or was taken back.
    Conflict,
    /// There was no leave.
    NotAllowed,
    /// Its registry wants a one-time code.
    CodeWanted,
    /// Its registry does not want it.
    Refused,
    /// It could not be packed when it was time.
    NotPacked,
}

impl Journal {
    /// Where that of a package is, beside what was packed.
    #[must_use]
    pub fn path(packed: &Path, id: &PackageId) -> PathBuf {
        packed.join("journal").join(format!("{}.json", folder_of(id)))
    }

    /// Whether something of a package may be out, as far as it was sent from here.
    #[must_use]
    pub fn may_be_out(packed: &Path, id: &PackageId) -> bool {
        let known = Self::load(&Self::path(packed, id));
        match known.phase {
            Phase::Packed => false,
            Phase::Uploading => known.is_open,
            Phase::Uploaded | Phase::Visible => true,
        }
    }

    /// What is known; nothing if nothing was written, or nobody can read it.
    #[must_use]
    pub fn load(path: &Path) -> Self {
        fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Writes it down.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn store(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        write_atomically(path, &serde_json::to_vec(self)?)
    }

    /// A run begins: how the one before ended counts no more.
    pub(super) fn begin(path: &Path) {
        let known = Self::load(path);
        if known != Self::default() {
            let Self { phase, since, is_open, sent, hook, .. } = known;
            let fresh = Self { phase, since, is_open, sent, hook, ..Self::default() };
            // What is told of it would be poorer.
            let _ = fresh.store(path);
        }
    }

    /// It has come to this.
    pub fn come_to(&mut self, phase: Phase, now: Timestamp) {
        (self.phase, self.since) = (phase, now.as_micros());
        (self.end, self.said, self.until, self.refused) = (None, None, None, None);
    }

    /// How long ago it came to what it is in.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Duration {
        now.since(Timestamp::from_micros(self.since))
    }
}
