//! [`StatusSource`]: who knows the state of the run.
//!
//! How it looks to flowtoy is the client's business.

use tidewheel_client::api::{FlowtoyOutputs, FlowtoyStatus};

/// Knows the state of one run.
///
/// It is asked on a thread where it may wait for a disk, and never twice at once.
pub(crate) trait StatusSource: Send + Sync {
    /// The run and its steps, now.
    fn status(&self) -> FlowtoyStatus;

    /// What the steps have given so far.
    fn outputs(&self) -> FlowtoyOutputs;
}
