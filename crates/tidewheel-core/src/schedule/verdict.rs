//! What a schedule says: facts to store and requests to carry out.
//!
//! How it comes to say so is in [`super::schedule`].

use std::time::Duration;

use crate::time::Timestamp;

/// One thing a schedule decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Start the work.
    Fire(Firing),
    /// Instants that will not fire.
    Skipped {
        /// How many.
        count: u64,
        /// The first of them.
        first: Timestamp,
        /// The last of them.
        last: Timestamp,
        /// Why.
        reason: SkipReason,
        /// Where they come from; several are always the trigger's.
        origin: Origin,
    },
    /// Cancel the work that runs; the firing that displaces it starts when it has ended.
    CancelRunning,
    /// Ask the custom trigger for the instant after `last`, then call
    /// [`Schedule::answer`](super::Schedule::answer).
    AskTrigger {
        /// The last instant it named that was decided, if any.
        last: Option<Timestamp>,
    },
    /// The pending instant changed because the clock or the rules of the time zone did.
    Rescheduled {
        /// What it was.
        from: Option<Timestamp>,
        /// What it is now.
        to: Option<Timestamp>,
    },
    /// No firing will follow. Work that runs is not touched.
    Ended(EndReason),
}

/// One nominal instant that fires; unique by (schedule, instant, number of its origin).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Firing {
    /// The instant the trigger named, without jitter.
    pub nominal: Timestamp,
    /// Its number among the firings of the schedule, from 1.
    pub ordinal: u64,
    /// How long after it was due (jitter included) it fires.
    pub due_lag: Duration,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a firing comes from.
///
/// What the trigger names, it names once. What people ask for they may ask for again, so that is
/// numbered, by a count that is the schedule's and only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Origin {
    /// The trigger named the instant.
    #[default]
    Trigger,
    /// Somebody asked for an instant of the past, be it missed or fired before.
    Backfill(u64),
    /// Somebody asked for a firing now, outside the trigger.
    ByHand(u64),
}

impl Origin {
    /// What tells apart the firings of one instant: 0 for the trigger's own.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::Trigger => 0,
            Self::Backfill(number) | Self::ByHand(number) => number,
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trigger => "trigger",
            Self::Backfill(_) => "backfill",
            Self::ByHand(_) => "by hand",
        }
    }

    /// The origin that [`Origin::word`] and [`Origin::number`] tell of.
    #[must_use]
    pub fn from_parts(word: &str, number: u64) -> Option<Self> {
        let all = [Self::Trigger, Self::Backfill(number), Self::ByHand(number)];
        all.into_iter().find(|origin| origin.word() == word && origin.number() == number)
    }
}

/// Why an instant does not fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// It was late, or several were due at once, and the misfire policy drops it.
    Misfire,
    /// The firing before still runs.
    Overlap,
    /// It passed while the schedule was paused, and the misfire policy drops it.
    Paused,
    /// It lies in an exclusion.
    Excluded,
    /// It lies before the window.
    Window,
    /// The firing before still runs and as many wait as may, or the queue that firings wait in is full.
    QueueFull,
    /// It came too soon after a failure.
    Backoff,
}

impl SkipReason {
    /// The reason in one or two words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Misfire => "misfire",
            Self::Overlap => "overlap",
            Self::Paused => "paused",
            Self::Excluded => "excluded",
            Self::Window => "outside window",
            Self::QueueFull => "queue full",
            Self::Backoff => "backoff",
        }
    }
}

/// Why a schedule ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndReason {
    /// The trigger names no further instant.
    Exhausted,
    /// It fired as often as it may.
    MaxFirings,
    /// No further instant lies in the window.
    WindowClosed,
    /// The custom trigger named an instant again that was already decided.
    TriggerStuck,
    /// It was cancelled.
    Cancelled,
}
