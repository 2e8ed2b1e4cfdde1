//! What a user says about a schedule: trigger and policies, and whether they make sense.
//!
//! How the policies are applied is in [`super::schedule`].

use std::sync::Arc;
use std::time::Duration;

use crate::policy::Retry;
use crate::time::{Now, Timestamp};

use super::schedule::Schedule;
use super::trigger::{Anchor, Trigger};

/// The shortest period and delay; shorter ones would only keep the scheduler busy with itself.
const PERIOD_MIN: Duration = Duration::from_millis(1);
/// The longest period, delay, jitter and grace: 100 years.
const SPAN_MAX: Duration = Duration::from_secs(100 * 366 * 86_400);
/// The most firings that may wait in a queue or be caught up with at once.
pub(super) const BATCH_MAX: u32 = 10_000;
/// The most exclusions.
const EXCLUSIONS_MAX: usize = 10_000;

/// A trigger with its policies.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleSpec {
    /// What people call it. No two live schedules of one scheduler have the same name.
    pub name: Option<Arc<str>>,
    /// The rule that yields instants.
    pub trigger: Trigger,
    /// What happens to an instant that comes while the firing before still runs.
    pub overlap: Overlap,
    /// What happens to instants that were not served in time.
    pub misfire: Misfire,
    /// How late an instant may be and still count as served in time. Default: one minute.
    ///
    /// However short or long, an instant is no longer in time when the next one is due as well.
    pub misfire_grace: Duration,
    /// Each firing is put off by a share of this that depends only on seed, schedule and instant.
    ///
    /// A firing is never put off as far as the instant after it. Default: none.
    pub jitter: Duration,
    /// Only instants in here count. It bounds the instants, not when a late or queued one starts.
    pub window: Option<Span>,
    /// Instants in here do not fire; an instant of [`Trigger::FixedDelay`] is put off to the end.
    pub exclusions: Vec<Span>,
    /// The schedule ends after so many firings.
    pub max_firings: Option<u64>,
    /// After a failure no instant fires until this policy's wait has passed.
    ///
    /// Only its waits count, not its number of retries. It never brings a firing forward, and the
    /// instants after the wait are those the trigger would have named anyway.
    pub backoff: Option<Retry>,
    /// What whoever runs the firings must know; nobody here looks inside.
    pub payload: Option<Arc<[u8]>>,
    /// Who understands the payload, in a short word.
    pub kind: Option<Arc<str>>,
}

impl ScheduleSpec {
    /// `trigger` with the default policies.
    #[must_use]
    pub fn new(trigger: Trigger) -> Self {
        Self {
            name: None,
            trigger,
            overlap: Overlap::default(),
            misfire: Misfire::default(),
            misfire_grace: Duration::from_secs(60),
            jitter: Duration::ZERO,
            window: None,
            exclusions: Vec::new(),
            max_firings: None,
            backoff: None,
            payload: None,
            kind: None,
        }
    }

    /// Whether a schedule of this kind, started now, would make sense and fire at all.
    ///
    /// # Errors
    ///
    /// The first thing found wrong with it.
    pub fn check(&self, now: Now) -> Result<(), SpecError> {
        self.check_times()?;
        self.check_amounts()?;
        self.check_spans()?;
        if let Trigger::Once(Anchor::At(instant)) = &self.trigger
            && instant.after(self.misfire_grace) < now.wall
        {
            return Err(SpecError::InThePast { instant: *instant });
        }
        if let Trigger::Calendar { cron, .. } = &self.trigger
            && !cron.has_instants()
        {
            return Err(SpecError::NeverFires);
        }
        if Schedule::start(0, 0, self.clone(), now).is_ended() {
            return Err(SpecError::NeverFires);
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), SpecError> {
        let (name, step) = match &self.trigger {
            Trigger::FixedRate { period, .. } => ("period", *period),
            Trigger::FixedDelay { delay, .. } => ("delay", *delay),
            _ => ("period", PERIOD_MIN),
        };
        if step < PERIOD_MIN {
            return Err(SpecError::Step { name });
        }
        let start = match &self.trigger {
            Trigger::Once(Anchor::After(delay))
            | Trigger::FixedRate { start: Anchor::After(delay), .. }
            | Trigger::FixedDelay { start: Anchor::After(delay), .. } => *delay,
            _ => Duration::ZERO,
        };
        let times = [
            (name, step),
            ("start", start),
            ("jitter", self.jitter),
            ("misfire grace", self.misfire_grace),
        ];
        match times.into_iter().find(|(_, time)| *time > SPAN_MAX) {
            Some((name, _)) => Err(SpecError::TooLong { name }),
            None => Ok(()),
        }
    }

    fn check_amounts(&self) -> Result<(), SpecError> {
        let within = |name, amount| match amount {
            1..=BATCH_MAX => Ok(()),
            _ => Err(SpecError::Amount { name, max: BATCH_MAX }),
        };
        if let Overlap::QueueAll { max } = self.overlap {
            within("queued firings", max)?;
        }
        if let Misfire::All { max } = self.misfire {
            within("misfires to catch up with", max)?;
        }
        if self.max_firings == Some(0) { Err(SpecError::NeverFires) } else { Ok(()) }
    }

    fn check_spans(&self) -> Result<(), SpecError> {
        if self.exclusions.len() > EXCLUSIONS_MAX {
            return Err(SpecError::TooManyExclusions { max: EXCLUSIONS_MAX });
        }
        match self.window.iter().chain(&self.exclusions).find(|span| span.is_empty()) {
            Some(span) => Err(SpecError::EmptySpan { from: span.from, until: span.until }),
            None => Ok(()),
        }
    }

    /// Puts the exclusions in order and joins those that touch, as the arithmetic expects them.
    pub(super) fn in_order(mut self) -> Self {
        self.exclusions.retain(|span| !span.is_empty());
        self.exclusions.sort_unstable_by_key(|span| (span.from, span.until));
        self.exclusions.dedup_by(|next, kept| {
            let touches = next.from <= kept.until;
            if touches {
                kept.until = kept.until.max(next.until);
            }
            touches
        });
        self
    }
}

/// What happens to an instant that comes while the firing before still runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It is skipped.
    #[default]
    Skip,
    /// It waits; while one waits, the ones after it are skipped.
    QueueOne,
    /// It waits, in place of those that have waited, which are skipped.
    QueueNewest,
    /// It waits its turn; while `max` wait, the ones after them are skipped.
    QueueAll {
        /// The most that wait.
        max: u32,
    },
    /// What runs is cancelled; the newest instant starts when that has ended.
    Cancel,
    /// Both run.
    Allow,
}

/// What happens to instants that were not served in time: later than the grace, or several at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Misfire {
    /// They are skipped.
    Skip,
    /// The newest fires, the others are skipped.
    #[default]
    Latest,
    /// The newest `max` fire, oldest first, one after the other (all at once with
    /// [`Overlap::Allow`]); older ones are skipped.
    All {
        /// The most that fire.
        max: u32,
    },
}

/// A stretch of wall-clock time: `from` is in it, `until` is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first instant in it.
    pub from: Timestamp,
    /// The first instant after it.
    pub until: Timestamp,
}

impl Span {
    /// From `from` until just before `until`.
    #[must_use]
    pub const fn new(from: Timestamp, until: Timestamp) -> Self {
        Self { from, until }
    }

    /// From `from` on, without end.
    #[must_use]
    pub const fn since(from: Timestamp) -> Self {
        Self { from, until: Timestamp::from_micros(i64::MAX) }
    }

    /// Until just before `until`, without beginning.
    #[must_use]
    pub const fn before(until: Timestamp) -> Self {
        Self { from: Timestamp::from_micros(i64::MIN), until }
    }

    /// Whether no instant is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.until <= self.from
    }
}

/// Why a schedule makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// A period or delay that cannot be kept.
    #[error("the {name} must be at least 1 ms")]
    Step {
        /// Which.
        name: &'static str,
    },
    /// A time that is out of all bounds.
    #[error("the {name} must be at most 100 years")]
    TooLong {
        /// Which.
        name: &'static str,
    },
    /// An amount that is zero or too large.
    #[error("the number of {name} must be from 1 to {max}")]
    Amount {
        /// Of what.
        name: &'static str,
        /// The largest.
        max: u32,
    },
    /// A window or exclusion that holds no instant.
    #[error("nothing lies from {from} until {until}")]
    EmptySpan {
        /// Its beginning.
        from: Timestamp,
        /// Its end.
        until: Timestamp,
    },
    /// More exclusions than are kept.
    #[error("at most {max} exclusions are possible")]
    TooManyExclusions {
        /// The most.
        max: usize,
    },
    /// The only instant has passed.
    #[error("{instant} has passed")]
    InThePast {
        /// The instant.
        instant: Timestamp,
    },
    /// No instant lies ahead: the expression never matches, or window and exclusions leave none.
    #[error("it would never fire")]
    NeverFires,
}
