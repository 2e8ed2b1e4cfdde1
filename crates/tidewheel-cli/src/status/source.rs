//! [`StatusSource`]: who knows the state of the run, and what it says.
//!
//! How it is written for flowtoy is in [`super::document`].

use serde_json::Value as Json;

/// Knows the state of one run.
///
/// It is asked on a thread where it may wait for a disk, and never twice at once.
pub(crate) trait StatusSource: Send + Sync {
    /// The run and its steps, now.
    fn status(&self) -> RunStatus;

    /// What the steps have given so far: an object by step, then by name of the output.
    fn outputs(&self) -> Json;
}

/// A run at one moment. Times are seconds since the epoch.
#[derive(Debug, Clone)]
pub(crate) struct RunStatus {
    pub run_id: String,
    pub started_at: Option<f64>,
    /// Set when the run is over; that is how flowtoy tells.
    pub ended_at: Option<f64>,
    /// In the order of the flow.
    pub steps: Vec<StepStatus>,
}

/// A step at the same moment.
#[derive(Debug, Clone)]
pub(crate) struct StepStatus {
    pub name: String,
    /// pending, running, succeeded, failed, skipped, cancelled or unknown.
    pub state: &'static str,
    pub started_at: Option<f64>,
    pub ended_at: Option<f64>,
    pub error: Option<String>,
    /// The names of its outputs, not what they are.
    pub outputs: Vec<String>,
}
