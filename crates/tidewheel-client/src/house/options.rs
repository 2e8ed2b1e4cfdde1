//! How a house is set up.
//!
//! Where settings come from is the surface's business.

use std::path::PathBuf;
use std::time::Duration;

use tidewheel::store::sqlite::Retention;

use crate::kind::Kinds;
use crate::session::SessionOptions;

/// Tasks at once, unless something else is said.
pub(super) const SLOTS: u32 = 16;

/// How often it is looked whether files have changed, unless something else is said.
const LOOK: Duration = Duration::from_secs(1);

/// How often it is looked what other processes do, unless something else is said.
const BESIDE: Duration = Duration::from_millis(250);

/// How a house is set up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HouseOptions {
    /// The folder whose files are its flows: those that end in `.yaml` or `.yml`, not in folders inside.
    pub flows: Option<PathBuf>,
    /// Files that are its flows besides.
    pub files: Vec<PathBuf>,
    /// How often it is looked whether files have changed; `None`: only when it is asked to.
    pub look: Option<Duration>,
    /// How often it is looked what other processes do in the data folder; `None`: never.
    pub beside: Option<Duration>,
    /// How much of the work that has ended is kept.
    pub retention: Retention,
    /// The wheel.
    pub session: SessionOptions,
    /// The kinds of work that are understood in its data folder: flows, unless more are named.
    pub kinds: Kinds,
}

impl HouseOptions {
    /// For sixteen tasks at once, and files that are looked at every second.
    #[must_use]
    pub fn new() -> Self {
        Self {
            flows: None,
            files: Vec::new(),
            look: Some(LOOK),
            beside: Some(BESIDE),
            retention: Retention::default(),
            session: SessionOptions::new(SLOTS),
            kinds: Kinds::default(),
        }
    }
}

impl Default for HouseOptions {
    fn default() -> Self {
        Self::new()
    }
}
