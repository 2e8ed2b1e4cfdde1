//! [`Volatile`]: the store that keeps nothing.
//!
//! What is really kept, for tests and takeovers, is in [`super::Memory`].

use std::sync::Arc;

use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::row::Snapshot;

use super::{AttemptRecord, Store, StoreError};

/// Keeps nothing: what waits is gone with the wheel. The default.
///
/// Decisions make no rows for it at all, which is what makes it the fastest.
#[derive(Debug, Clone, Copy, Default)]
pub struct Volatile;

impl Store for Volatile {
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        Ok((Tenure::default(), Snapshot::default()))
    }

    fn commit<'c>(
        &mut self,
        _: Tenure,
        changes: ChangeSet<'c>,
        _: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError> {
        Ok(changes.stored())
    }

    fn keeps_rows(&self) -> bool {
        false
    }
}
