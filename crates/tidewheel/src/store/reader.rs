//! [`Reader`]: what a store shows of runs, schedules, queues and limits.
//!
//! Nothing is decided by what it shows. What attempts left is in `records`.

use tidewheel_core::id::{RunId, ScheduleId};
use tidewheel_core::time::Timestamp;

use super::{
    FiringSummary, LimitSummary, QueueSummary, RunDetail, RunFilter, RunSummary, ScheduleSummary,
    StoreCounts, StoreError,
};

/// Lists and shows what is stored, for surfaces. Each answer is of one instant.
///
/// Every question fails only when the store cannot be read, and may be asked again.
#[expect(clippy::missing_errors_doc, reason = "said once, above")]
pub trait Reader: Send {
    /// Runs and submissions, newest first.
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, StoreError>;

    /// A run or submission with its tasks.
    fn run(&self, id: RunId) -> Result<Option<RunDetail>, StoreError>;

    /// The runs and submissions whose identities begin with `prefix`, in hexadecimal, with or without
    /// dashes; at most `limit`.
    fn find(&self, prefix: &str, limit: u32) -> Result<Vec<RunId>, StoreError>;

    /// How much there is. This may look at all of history.
    fn counts(&self) -> Result<StoreCounts, StoreError>;

    /// The schedules that have not ended, oldest first, or all that are still known.
    fn schedules(&self, ended_too: bool) -> Result<Vec<ScheduleSummary>, StoreError>;

    /// What became of the instants of a schedule, newest first, those before `before`.
    fn firings(
        &self,
        schedule: ScheduleId,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<FiringSummary>, StoreError>;

    /// All queues, by shard and in the order in which they were defined.
    fn queues(&self) -> Result<Vec<QueueSummary>, StoreError>;

    /// All limits, by shard and in the order in which they were defined.
    fn limits(&self) -> Result<Vec<LimitSummary>, StoreError>;
}

/// The least and the greatest identity that begin with these digits.
pub(super) fn range_of(prefix: &str) -> Option<(RunId, RunId)> {
    let digits: String = prefix.chars().filter(|letter| *letter != '-').collect();
    if digits.is_empty() || digits.len() > 32 {
        return None;
    }
    let bound = |fill: &str| {
        let text = format!("{digits}{}", fill.repeat(32 - digits.len()));
        let is_number = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_number.then(|| u128::from_str_radix(&text, 16).ok()).flatten().map(RunId)
    };
    bound("0").zip(bound("f"))
}
