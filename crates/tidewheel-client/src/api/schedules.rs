//! Schedules, their next instants, and their ledgers.
//!
//! When they fire is decided by the scheduler.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::RunState;
use super::document::documents;
use super::times::{instant, instant_if_any};

/// Schedules, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleList {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The schedules.
    pub schedules: Vec<ScheduleLine>,
}

/// A schedule in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleLine {
    /// Its name.
    pub name: String,
    /// The flow that it runs.
    pub flow: Option<String>,
    /// When it fires, as its file has it.
    pub rule: String,
    /// The time zone of its rule, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// How it stands.
    pub state: ScheduleWord,
    /// What happens while the run before still runs, in one word.
    pub overlap: String,
    /// What happens to instants that were missed, in one word.
    pub misfire: String,
    /// The next instant, if it is known.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub next: Option<Timestamp>,
    /// The newest instant that fired.
    #[serde(default, with = "instant_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last: Option<Timestamp>,
    /// Firings of its rule so far.
    pub fired: u64,
    /// Firings that people asked for.
    pub asked_for: u64,
    /// Firings that failed.
    pub failed: u64,
    /// Instants that did not fire, for whatever reason.
    pub skipped: u64,
    /// Firings that have not ended.
    pub running: u32,
    /// Firings that wait for those.
    pub waiting: u32,
    /// Failures in a row, where the schedule waits longer after each.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub backoff_level: u32,
}

impl ScheduleLine {
    /// How long after its instant a schedule counts as late.
    pub const LATE: Duration = Duration::from_secs(10);

    /// When it counts as late, or has since, if it has not fired by then.
    #[must_use]
    pub fn late_from(&self) -> Option<Timestamp> {
        let next = self.next.filter(|_| self.state == ScheduleWord::Active);
        next.map(|next| next.after(Self::LATE))
    }

    /// Whether it should have fired and has not.
    #[must_use]
    pub fn is_late(&self, now: Timestamp) -> bool {
        self.late_from().is_some_and(|at| at < now)
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// How a schedule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleWord {
    /// It fires.
    Active,
    /// It does not until it is resumed.
    Paused,
    /// Nobody has it: no server runs on its data folder.
    Idle,
    /// It fires no more.
    Ended,
}

/// The next instants of a schedule, or those of the past that a backfill would fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Upcoming {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The schedule.
    pub schedule: String,
    /// When it fires, as its file has it.
    pub rule: String,
    /// The time zone of its rule, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The instants, as far as they are known.
    pub next: Vec<UpcomingFiring>,
}

/// An instant that will fire, or would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UpcomingFiring {
    /// When.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The same in the time zone of the rule, with its offset.
    pub local: String,
    /// Whether the clocks of the zone change on that day.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clock_change: bool,
}

/// What became of the instants of a schedule, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ledger {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The schedule.
    pub schedule: String,
    /// A line for each instant that was decided, and one for each series of skipped ones.
    pub firings: Vec<LedgerLine>,
}

/// What became of an instant, or of a series of skipped ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LedgerLine {
    /// The instant; of a series the first.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub nominal: Timestamp,
    /// Of a series the last.
    #[serde(default, with = "instant_if_any", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last: Option<Timestamp>,
    /// How many instants it stands for.
    pub count: u64,
    /// Who named it: `trigger`, or by asking for it `by-hand` or `backfill`.
    pub origin: String,
    /// What became of it.
    pub fate: LedgerFate,
    /// Why it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// How that stands, if it is still known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<RunState>,
}

/// What became of an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LedgerFate {
    /// It fired, and has a run.
    Ran,
    /// It was skipped by rule.
    Skipped,
    /// It fired, but its run could not be made.
    NotMade,
}

/// A delivery was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivered {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The schedule that fires for it.
    pub schedule: String,
    /// The id of the delivery.
    pub delivery: String,
    /// Whether it was not known before: if it was, this is what became of the first.
    pub created: bool,
    /// Its instant in the ledger of the schedule.
    #[serde(with = "instant")]
    #[schema(value_type = String, format = DateTime)]
    pub nominal: Timestamp,
    /// What became of it.
    pub fate: DeliveryFate,
    /// Its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Why it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryFate {
    /// It has a run.
    Ran,
    /// It is kept, and not decided yet: the schedule is paused, or runs before it have not ended.
    Waiting,
    /// It was skipped by rule.
    Skipped,
    /// It fired, but its run could not be made.
    NotMade,
}

/// A wish about a schedule was followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduleAsked {
    /// The version of this form, where it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The schedule.
    pub schedule: String,
    /// What was asked for: `paused`, `resumed`, `fired`, `backfilled`.
    pub asked: String,
    /// How many firings were asked for, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firings: Option<u32>,
}

documents! {
    ScheduleList: "schedules" 1,
    Upcoming: "upcoming" 1,
    Ledger: "ledger" 1,
    ScheduleAsked: "schedule-asked" 1,
    Delivered: "delivered" 1,
}
