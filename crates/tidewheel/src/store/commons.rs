//! What several processes share: units of limits, and places in concurrency groups.
//!
//! A store keeps the claims of all and knows who lives; who gets what is decided by the rule in
//! `tidewheel_core::pool`.

use std::sync::Arc;

use tidewheel_core::id::RunId;
use tidewheel_core::spec::RunGroup;

use super::StoreError;

/// A scheduler's way to what it shares with others.
pub trait Commons: Send {
    /// Takes note that this scheduler uses a limit of so many units.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] when another one that lives says that it has more, or fewer.
    fn define(&mut self, limit: &str, units: u32) -> Result<(), StoreError>;

    /// Takes note that this scheduler, which has no units of it, shares a limit no more: others may
    /// define it as they like. Where this is not passed on, its last word counts as long as it lives.
    ///
    /// # Errors
    ///
    /// When the store cannot be reached.
    fn forget(&mut self, _limit: &str) -> Result<(), StoreError> {
        Ok(())
    }

    /// Takes note that this scheduler has so many units of a limit, and asks for so many more, which
    /// it gets all at once or not. What it had is given back as far as it has fewer now.
    ///
    /// Asking again is harmless, and the way to find out whether they are there by now.
    ///
    /// # Errors
    ///
    /// When the store cannot be reached: nothing was granted.
    fn settle(&mut self, limit: &str, held: u32, asked: u32) -> Result<Settled, StoreError>;

    /// Asks for a place for a run that has none. Asking again keeps its place in the line, also after
    /// the death of the process that asked before.
    ///
    /// # Errors
    ///
    /// When the store cannot be reached: it has no place.
    fn place(&mut self, run: RunId, group: &RunGroup) -> Result<Placement, StoreError>;

    /// Gives up the place of a run, or its wish for one.
    ///
    /// # Errors
    ///
    /// When the store cannot be reached.
    fn leave(&mut self, run: RunId) -> Result<(), StoreError>;
}

/// What came of asking for a place in a concurrency group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// It is there.
    Given,
    /// Others have all places.
    Taken {
        /// Which runs.
        holders: Vec<RunId>,
    },
    /// It will not be there: the run was not to wait, or a newer one waits in its stead.
    Refused {
        /// Whether a newer one does.
        replaced: bool,
    },
}

/// What came of asking for units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// They are there.
    Granted,
    /// Others have them, or nothing was asked for.
    Taken {
        /// Who, in words.
        holders: Vec<Arc<str>>,
    },
}
