//! [`Pace`]: how fast a registry takes packages, as far as it is known beforehand.
//!
//! What it answers while it is asked counts more; this is for the plan, and to be polite from the start.

use std::time::Duration;

/// So many at once, then one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rate {
    /// How many go at once.
    pub burst: u32,
    /// How long it takes until one more may go.
    pub every: Duration,
}

impl Rate {
    /// How long the last of so many has to wait.
    #[must_use]
    pub fn wait(self, uploads: u32) -> Duration {
        self.every.saturating_mul(uploads.saturating_sub(self.burst))
    }
}

/// How fast a registry takes packages that it has never seen, and versions of those it knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Pace {
    /// For new packages; `None` if nothing is known.
    pub new: Option<Rate>,
    /// For new versions; `None` if nothing is known.
    pub update: Option<Rate>,
}

impl Pace {
    /// That of the public registry of crates: it is said in its documentation, and changes from time to time.
    #[must_use]
    pub fn of_public_crates() -> Self {
        let rate = |burst, seconds| Some(Rate { burst, every: Duration::from_secs(seconds) });
        Self { new: rate(5, 600), update: rate(30, 60) }
    }

    /// The same where nothing else is said.
    #[must_use]
    pub fn unless_said(self, said: Self) -> Self {
        Self { new: said.new.or(self.new), update: said.update.or(self.update) }
    }

    /// How long so many uploads take at least, for the pace alone. Both kinds go side by side.
    #[must_use]
    pub fn wait(self, new: u32, updates: u32) -> Duration {
        let wait = |rate: Option<Rate>, count| rate.map_or(Duration::ZERO, |rate| rate.wait(count));
        wait(self.new, new).max(wait(self.update, updates))
    }
}
