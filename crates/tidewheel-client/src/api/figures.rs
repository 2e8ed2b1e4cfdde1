//! How a house does, in figures, and whether that is well.
//!
//! What they are counted by is in the core; what is made of them for other programs is the server's business.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::document::documents;

/// How a house does, in figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Figures {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// What is asked for most, in the words of others who have it.
    pub scheduler: SchedulerFigures,
    /// Attempts that may run at once; none: no bound.
    pub slots: Option<u32>,
    /// Runs that have not ended.
    pub runs: u64,
    /// Tasks that wait for time.
    pub delayed: u64,
    /// Live schedules.
    pub schedules: u64,
    /// The longest series of failures any schedule is in now.
    pub backoff_level: u32,
    /// The longest time any ready task has been waiting.
    pub oldest_wait_seconds: f64,
    /// From the instant a firing was due to the moment it was noticed.
    pub due_lag: TimeFigures,
    /// All queues together.
    pub total: QueueFigures,
    /// Each queue; the first is `default`.
    pub queues: Vec<QueueFigures>,
}

/// What is asked for most.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SchedulerFigures {
    /// Whether the number of attempts at once is bounded.
    pub enabled: bool,
    /// Attempts that run now.
    pub active_count: u64,
    /// Tasks that are ready and wait.
    pub queued_count: u64,
    /// Tasks accepted.
    pub total_submitted: u64,
    /// Tasks that ran and ended.
    pub total_completed: u64,
    /// Of those, the ones with a priority of 75 and more.
    pub high_priority_completed: u64,
    /// Of those, the ones with a priority below 25.
    pub low_priority_completed: u64,
    /// Times that waiting raised a task's priority.
    pub starvation_promotions: u64,
}

/// The figures of a queue, or of all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueFigures {
    /// Its name; none for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Attempts that run now.
    pub active: u64,
    /// Tasks that are ready and wait.
    pub queued: u64,
    /// Tasks accepted.
    pub submitted: u64,
    /// Tasks that ran and ended.
    pub completed: u64,
    /// Of those, the ones that failed.
    pub failed: u64,
    /// Tasks refused.
    pub rejected: u64,
    /// Attempts that failed and are followed by another.
    pub retried: u64,
    /// Tasks cancelled or abandoned.
    pub cancelled: u64,
    /// Tasks that ended after their deadline.
    pub late: u64,
    /// Failed attempts as a share of all that ended, 0 to 1.
    pub failure_rate: f64,
    /// From ready to started.
    pub wait_time: TimeFigures,
    /// From started to ended.
    pub run_time: TimeFigures,
}

/// How long something took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimeFigures {
    /// How often it was measured.
    pub count: u64,
    /// All of it together.
    pub sum_seconds: f64,
    /// Half took no longer.
    pub p50_seconds: f64,
    /// Of a hundred, 99 took no longer.
    pub p99_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
    /// How often it took no longer than each of these, in seconds.
    pub buckets: Vec<TimeBucket>,
}

/// How often something took no longer than this.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimeBucket {
    /// The bound.
    pub seconds: f64,
    /// How often.
    pub count: u64,
}

/// Whether a house does well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// In one word.
    pub state: HealthState,
    /// Why it is not well, in sentences.
    pub why: Vec<String>,
    /// Which program answers.
    pub program: String,
}

/// How well a house does.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum HealthState {
    /// What waits stays bounded.
    Healthy,
    /// What waits keeps growing, or waits too long.
    Warning,
    /// It grows without end, is too late, or cannot be stored.
    Unhealthy,
}

documents! {
    Figures: "figures" 1,
    Health: "health" 1,
}
