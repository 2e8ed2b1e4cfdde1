//! What arrives from outside for schedules that fire for it: kept in the store, then told to the wheel.
//!
//! ```text
//!   arrived ── keep (store, once by its key) ── tell (wheel) ── decided: fired, skipped (ledger)
//!                  │                              ▲
//!                  └── a restart ─────────────────┘
//! ```
//!
//! Who may deliver is in [`super::hooks`], which files there are in [`super::inbox`]. What becomes of an arrival is
//! decided by the scheduler, by the policies of the schedule.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tidewheel::Timestamp;
use tidewheel::schedule::{ScheduleHandle, Trigger};
use tidewheel::store::sqlite::Kept;
use tidewheel_flow::FlowSchedule;

use super::house::House;
use crate::desk::{DeskError, blocking};

/// What is kept of something that arrived.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Content {
    /// What it says of the params of its run.
    Params(BTreeMap<String, Json>),
    /// Why there can be no run for it.
    Unfit(String),
}

impl Content {
    /// What follows for the params of a run.
    pub fn of(schedule: &FlowSchedule, arrival: &Json) -> Self {
        match schedule.params_of(arrival) {
            Ok(params) => Self::Params(params),
            Err(why) => Self::Unfit(why),
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl House {
    /// Keeps what has arrived for a schedule, and tells it what is new. It is stored when this is done.
    pub(super) async fn arrive(
        &self,
        name: &str,
        handle: &ScheduleHandle,
        arrived: Vec<(String, Vec<u8>)>,
    ) -> Result<Vec<Kept>, DeskError> {
        // Instants are told in their order, so whoever keeps one tells it before the next is kept.
        let _turn = self.inner.arriving.lock().await;
        let folder = self.inner.session.folder.clone();
        let now = self.inner.session.wheel.wall_clock();
        let at = match handle.decided() {
            Some(decided) if decided >= now => {
                Timestamp::from_micros(decided.as_micros().saturating_add(1))
            }
            _ => now,
        };
        let schedule = name.to_owned();
        let path = folder.path().to_owned();
        let keep = move || folder.keep_arrivals(&schedule, at, &arrived);
        let kept = blocking(keep).await?.map_err(|error| DeskError::folder(error, &path))?;
        for kept in kept.iter().filter(|kept| kept.is_new) {
            handle.tell(kept.arrival.nominal);
        }
        Ok(kept)
    }

    /// Tells schedules what has arrived for them and was not decided when the house was left, and lets what is decided
    /// wait no longer.
    pub(super) async fn tell_waiting(&self) -> Result<(), DeskError> {
        let _turn = self.inner.arriving.lock().await;
        for handle in self.inner.session.wheel.schedules() {
            let Some(spec) = handle.spec().filter(|spec| spec.trigger == Trigger::Custom) else {
                continue;
            };
            let (Some(name), Some(decided)) = (spec.name, handle.decided()) else { continue };
            let folder = self.inner.session.folder.clone();
            let path = folder.path().to_owned();
            let waiting = blocking(move || {
                folder.settle_arrivals(&name, decided)?;
                folder.reader()?.waiting_arrivals(&name)
            });
            let waiting = waiting.await?.map_err(|error| DeskError::folder(error, &path))?;
            for (_, nominal) in waiting {
                handle.tell(nominal);
            }
        }
        Ok(())
    }

    /// Lets nothing wait that arrived for a schedule of these names before: there is none yet, and the one that is about
    /// to be set is another.
    pub(super) async fn leave_behind(&self, names: Vec<String>) -> Result<(), DeskError> {
        let folder = self.inner.session.folder.clone();
        let path = folder.path().to_owned();
        let now = self.inner.session.wheel.wall_clock();
        let settle = move || {
            let newest = Timestamp::from_micros(i64::MAX);
            names.iter().try_for_each(|name| {
                // Since when there is one is an arrival that fires nothing.
                let since = String::new();
                folder.forget_arrivals(name, std::slice::from_ref(&since))?;
                folder.keep_arrivals(name, now, &[(since, Vec::new())])?;
                folder.settle_arrivals(name, newest)
            })
        };
        blocking(settle).await?.map_err(|error| DeskError::folder(error, &path))
    }
}
