//! The firings of all schedules around now: what comes, and what became of what came, for a calendar.
//!
//! What is known of one schedule is in [`super::schedules`].

use std::collections::BTreeMap;

use tidewheel::Timestamp;
use tidewheel::calendar::Zone;
use tidewheel::schedule::Trigger;
use tidewheel::store::ScheduleSummary;

use super::error::DeskError;
use super::local::LocalDesk;
use crate::api::{LedgerLine, UpcomingFiring};

/// A schedule, and its firings around now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleDays {
    /// Its name.
    pub schedule: String,
    /// The time zone of its rule; UTC, if it has none.
    pub zone: String,
    /// What comes, the next one first; nothing, while it is paused or nobody has it.
    pub next: Vec<UpcomingFiring>,
    /// Whether more comes than is told.
    pub comes_more: bool,
    /// What became of what came, the newest first, each with its instant as people in the zone read it.
    pub past: Vec<(String, LedgerLine)>,
}

impl LocalDesk {
    /// The firings around now, of at most `schedules_max` schedules by name and of each at most `firings_max` that come and
    /// as many that were.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn calendar(
        &self,
        schedules_max: usize,
        firings_max: u32,
    ) -> Result<Vec<ScheduleDays>, DeskError> {
        let known = self.schedules_within(true)?;
        let mut named: BTreeMap<&str, Vec<&ScheduleSummary>> = BTreeMap::new();
        for schedule in &known {
            let Some(name) = schedule.spec.name.as_deref() else { continue };
            named.entry(name).or_default().push(schedule);
        }
        // Of those that were set again under their name the ledger goes on.
        let lasting = named.into_iter().filter(|(_, all)| all.iter().any(|it| !it.is_ended));
        let days =
            lasting.take(schedules_max).map(|(name, all)| self.days(name, &all, firings_max));
        days.collect()
    }

    fn days(
        &self,
        name: &str,
        all: &[&ScheduleSummary],
        firings_max: u32,
    ) -> Result<ScheduleDays, DeskError> {
        let now = all.iter().find(|it| !it.is_ended);
        let zone = now.map_or_else(Zone::utc, |it| zone_of(it));
        let is_left = |shard: &str| self.folder.is_left(shard).map_err(|error| self.failed(error));
        let fires = match now {
            Some(it) if !it.state.paused && !is_left(&it.shard)? => Some(it),
            _ => None,
        };
        let mut next = fires.map(|it| it.upcoming(firings_max as usize + 1)).unwrap_or_default();
        let comes_more = next.len() > firings_max as usize;
        next.truncate(firings_max as usize);
        let mut past = Vec::new();
        for schedule in all {
            past.extend(self.read(|it| it.firings(schedule.id, None, firings_max))?);
        }
        past.sort_by_key(|firing| std::cmp::Reverse(firing.nominal));
        past.truncate(firings_max as usize);
        let past = past.into_iter().map(|firing| {
            let line = self.ledger_line(firing)?;
            Ok((zone.local(line.nominal), line))
        });
        Ok(ScheduleDays {
            schedule: name.to_owned(),
            zone: zone.name().to_owned(),
            next: next.into_iter().map(|at| upcoming_firing(&zone, at)).collect(),
            comes_more,
            past: past.collect::<Result<_, DeskError>>()?,
        })
    }
}

/// The time zone of the rule of a schedule; UTC, if it has none.
pub(super) fn zone_of(schedule: &ScheduleSummary) -> Zone {
    match &schedule.spec.trigger {
        Trigger::Calendar { zone, .. } => zone.clone(),
        _ => Zone::utc(),
    }
}

/// An instant to come, as people in the zone read it.
pub(super) fn upcoming_firing(zone: &Zone, at: Timestamp) -> UpcomingFiring {
    UpcomingFiring { at, local: zone.local(at), clock_change: zone.changes_on_day_of(at) }
}
