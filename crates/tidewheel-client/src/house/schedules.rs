//! What may be done with the schedules of a house, and its queues and limits.
//!
//! What is known of schedules is asked at the [desk](crate::desk); when they fire is decided by the scheduler.

use tidewheel::LimitSpec;
use tidewheel::schedule::{Backfill, Overlap, ScheduleHandle};

use super::house::{House, SHARD};
use crate::api::{
    BackfillWish, LimitLine, LimitList, QueueLine, QueueList, ScheduleAsked, ScheduleList,
};
use crate::desk::{BACKFILL_MAX, DeskError, near_schedule};

impl House {
    /// The schedules that there are. One that could not be set has no line: [`House::refused`] says why.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub async fn schedules(&self) -> Result<ScheduleList, DeskError> {
        self.desk().schedules(false).await
    }

    /// Schedules of files that could not be set, in sentences.
    #[must_use]
    pub fn refused(&self) -> Vec<String> {
        self.inner.wanted().sentences(|schedule| self.knows_schedule(schedule))
    }

    /// Lets no instant of a schedule fire until it is resumed.
    ///
    /// # Errors
    ///
    /// When there is no such schedule, or that cannot be stored.
    pub async fn pause_schedule(&self, name: &str) -> Result<ScheduleAsked, DeskError> {
        self.handle(name)?.pause();
        self.asked(name, "paused", None).await
    }

    /// Lets it fire again; what was missed follows its policy.
    ///
    /// # Errors
    ///
    /// As for [`House::pause_schedule`].
    pub async fn resume_schedule(&self, name: &str) -> Result<ScheduleAsked, DeskError> {
        self.handle(name)?.resume();
        self.asked(name, "resumed", None).await
    }

    /// Fires once, now, outside its rule.
    ///
    /// # Errors
    ///
    /// As for [`House::pause_schedule`].
    pub async fn fire_schedule(&self, name: &str) -> Result<ScheduleAsked, DeskError> {
        self.handle(name)?.fire_now()?;
        self.asked(name, "fired", Some(1)).await
    }

    /// Fires instants of the past: those of a range, or only those of it that did not run.
    ///
    /// # Errors
    ///
    /// When there is no such schedule, there are too many, or somebody else asks for firings at the same time.
    pub async fn backfill(
        &self,
        name: &str,
        wish: BackfillWish,
    ) -> Result<ScheduleAsked, DeskError> {
        let handle = self.handle(name)?;
        let max = wish.max.unwrap_or(BACKFILL_MAX);
        let span = wish.span(self.inner.session.wheel.wall_clock())?;
        let overlap = match wish.at_once {
            true => Overlap::Allow,
            false => Overlap::QueueAll { max: max.max(1) },
        };
        let backfill = match wish.missed {
            false => Backfill::between(span).max(max),
            true => {
                let id = handle.id();
                let missed = move |desk: &crate::desk::LocalDesk| desk.missed(id, span, max);
                let (instants, asked_for) = self.desk().here(missed).await?;
                Backfill::at(instants).max(max).if_asked_for(asked_for)
            }
        };
        let count = handle.backfill(backfill.overlap(overlap))?;
        self.asked(name, "backfilled", Some(count)).await
    }

    /// Its queues, with what waits in them.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub async fn queues(&self) -> Result<QueueList, DeskError> {
        let overview = self.overview();
        let defined = self.desk().here(|desk| desk.stored_queues(SHARD)).await?;
        let line = |(name, figures): &(std::sync::Arc<str>, super::Statistics)| {
            let stored = defined.iter().find(|queue| queue.name == **name);
            let spec = stored.map(|queue| queue.spec.clone()).unwrap_or_default();
            QueueLine {
                name: name.to_string(),
                weight: spec.weight,
                slots: spec.slots,
                waiting_max: spec.waiting_max,
                paused: stored.is_some_and(|queue| queue.is_paused),
                active: figures.active,
                queued: figures.queued,
                submitted: figures.submitted,
                completed: figures.completed,
                failed: figures.failed,
                rejected: figures.rejected,
            }
        };
        let queues = overview.queues.iter().map(line).collect();
        Ok(QueueList { version: None, slots: overview.slots, queues })
    }

    /// Its limits.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub async fn limits(&self) -> Result<LimitList, DeskError> {
        let limits = self.desk().here(|desk| desk.stored_limits(SHARD)).await?;
        let line = |limit: tidewheel::store::LimitSummary| {
            let (kind, units, per_second) = match limit.spec {
                LimitSpec::Units(units) => ("units", Some(units), None),
                LimitSpec::SharedUnits(units) => ("shared-units", Some(units), None),
                LimitSpec::Rate(rate) => {
                    ("rate", None, Some(f64::from(rate.count()) / rate.per().as_secs_f64()))
                }
                LimitSpec::Breaker(_) => ("breaker", None, None),
            };
            LimitLine { name: limit.name, kind: kind.to_owned(), units, per_second }
        };
        Ok(LimitList { version: None, limits: limits.into_iter().map(line).collect() })
    }

    /// Whether whoever asks may know of a schedule.
    fn knows_schedule(&self, schedule: &str) -> bool {
        let is_known = || {
            let catalogue = self.inner.catalogue();
            self.reach.has(catalogue.flow_of(schedule).map(|flow| flow.name()))
        };
        self.reach.is_all() || is_known()
    }

    pub(super) fn handle(&self, name: &str) -> Result<ScheduleHandle, DeskError> {
        let wheel = self.inner.session.wheel.without_waiting();
        let is_known = |name: &str| self.knows_schedule(name);
        wheel.find_schedule(name).filter(|_| is_known(name)).ok_or_else(|| {
            let names: Vec<_> = wheel.schedules().iter().filter_map(ScheduleHandle::name).collect();
            let names = names.iter().map(|name| &**name).filter(|name| is_known(name));
            near_schedule(name, names)
        })
    }

    /// Waits until what was asked for is stored.
    async fn asked(
        &self,
        name: &str,
        asked: &str,
        firings: Option<u32>,
    ) -> Result<ScheduleAsked, DeskError> {
        self.inner.session.wheel.stored().await?;
        let (schedule, asked) = (name.to_owned(), asked.to_owned());
        Ok(ScheduleAsked { version: None, schedule, asked, firings })
    }
}
