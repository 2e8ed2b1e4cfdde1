//! [`Store`]: what keeps decisions, how it is waited for, and what can go wrong.
//!
//! What readers see is in `read`, what executors leave in `record`.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::row::Snapshot;
use tidewheel_core::time::Timestamp;

use super::{AttemptRecord, CommandSource, Commons};

/// Keeps what the scheduler decided.
///
/// Nothing a decision asks for is done before [`Store::commit`] has returned its proof, so
/// "accepted" always means "kept by the store". [`Volatile`](super::Volatile) keeps nothing and [`Memory`](super::Memory) keeps
/// rows for as long as the process lives.
pub trait Store: Send {
    /// How long names of work must be known, said before the right to decide is taken. One that is known for longer does no
    /// harm.
    fn keep_names(&mut self, _kept: Duration) {}

    /// Takes the right to decide away from whoever has it, and gives back all that is unfinished.
    ///
    /// # Errors
    ///
    /// When the store cannot be reached or what it holds cannot be read.
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError>;

    /// Takes the right to decide again after it was lost, unless somebody else has it who lives.
    ///
    /// # Errors
    ///
    /// As [`Store::take_tenure`]; [`StoreError::Held`] when somebody else has it.
    fn retake_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.take_tenure()
    }

    /// Keeps the rows of one decision, and the records of the attempts whose ends it took in: all of
    /// it or nothing.
    ///
    /// The same number within one tenure is the same change set with the same records: keeping it twice
    /// is harmless and gives the proof again.
    ///
    /// # Errors
    ///
    /// [`StoreError::StaleTenure`] when somebody else decides by now; otherwise what went wrong.
    fn commit<'c>(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'c>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError>;

    /// How a commit is waited for.
    fn pace(&self) -> Pace {
        Pace::Instant
    }

    /// Whether the commits that follow wait for others who have the store at that moment; they do until it is said that they
    /// do not. One that does not wait says [`StoreError::Busy`], and is offered again by somebody who has time.
    fn be_patient(&mut self, _patient: bool) {}

    /// Where commands of other processes arrive, if they can.
    fn inbox(&mut self) -> Option<Box<dyn CommandSource>> {
        None
    }

    /// The way to what is shared with others who use the same store, if there can be any.
    fn commons(&mut self) -> Option<Box<dyn Commons>> {
        None
    }

    /// Whether rows are kept at all. If not, they are not even made.
    fn keeps_rows(&self) -> bool {
        true
    }
}

/// How long a commit takes, which decides who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// No time worth speaking of: whoever decides commits on the spot.
    Instant,
    /// Some microseconds, if nobody else has the store: decisions are gathered for as long as others are about to be made.
    /// A thread of the runtime commits, and is [not to wait](Store::be_patient).
    Brief,
    /// As long as a disk takes: decisions are gathered while a thread of its own waits for it.
    Slow,
}

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else holds the tenure by now.
    #[error("tenure {} is over, the store is at {}", held.0, current.0)]
    StaleTenure {
        /// The tenure of whoever asked.
        held: Tenure,
        /// The newest tenure.
        current: Tenure,
    },
    /// A living process holds it.
    #[error("`{shard}` is held by {}", holder(*pid, *since))]
    Held {
        /// The part of the store that was asked for.
        shard: String,
        /// The process, where it left its number.
        pid: Option<u32>,
        /// Since when.
        since: Option<Timestamp>,
    },
    /// Nobody can say whether the change set was kept.
    #[error("it is unknown whether the changes were stored")]
    Ambiguous {
        /// What happened.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The store did not answer, or could not for now.
    #[error("the store is not available")]
    Unavailable {
        /// What happened.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The changes contradict what is stored.
    #[error("the changes contradict what is stored: {what}")]
    Conflict {
        /// The contradiction.
        what: String,
    },
    /// What is stored cannot be understood.
    #[error("what is stored cannot be read: {what}")]
    Corrupt {
        /// Where and why.
        what: String,
    },
    /// Others have the store at this moment, and they were not waited for: nothing was kept.
    #[error("others have the store")]
    Busy,
}

impl StoreError {
    /// Whether the same change set may be offered again.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Ambiguous { .. } | Self::Unavailable { .. } | Self::Busy)
    }
}

fn holder(pid: Option<u32>, since: Option<Timestamp>) -> String {
    let process =
        pid.map_or_else(|| String::from("another process"), |pid| format!("process {pid}"));
    since.map_or_else(|| process.clone(), |since| format!("{process} since {since}"))
}
