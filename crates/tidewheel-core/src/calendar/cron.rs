//! A cron expression and the instants it names.
//!
//! The syntax is read in [`super::parse`], clock changes are handled in [`super::search`]; which
//! missed instants are made up for is not decided here.

use std::fmt;
use std::str::FromStr;

use crate::time::Timestamp;

use super::error::CronError;
use super::fields::Fields;
use super::search::Search;
use super::zone::Zone;

/// A cron expression: five fields, six with seconds first, seven with the year last, or a nickname
/// such as `@daily`.
///
/// The dialect is OCPS 1.4. When both day fields are restricted either is enough; a field that
/// begins with a star counts as unrestricted, and a `+` before the day of week asks for both.
///
/// ```
/// use tidewheel_core::calendar::{Cron, Zone};
///
/// let cron = Cron::parse("30 9 * * mon-fri").expect("a valid expression");
/// let friday = "2026-11-13T12:00:00Z".parse().expect("an instant");
/// let next = cron.next_after(friday, &Zone::utc()).expect("it goes on for ever");
/// assert_eq!(next.to_string(), "2026-11-16T09:30:00Z");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    text: Box<str>,
    /// `None` for `@reboot`.
    fields: Option<Fields>,
    clock_changes: ClockChanges,
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// When it is not one; the error says where and why. An expression that can never match, such
    /// as one for 30 February, is not an error here: see [`Cron::has_instants`].
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let fields = super::parse::expression(text)?;
        Ok(Self { text: text.into(), fields, clock_changes: ClockChanges::default() })
    }

    /// The same expression with another treatment of clock changes.
    #[must_use]
    pub fn with_clock_changes(mut self, clock_changes: ClockChanges) -> Self {
        self.clock_changes = clock_changes;
        self
    }

    /// How it treats clock changes.
    #[must_use]
    pub fn clock_changes(&self) -> ClockChanges {
        self.clock_changes
    }

    /// The first instant strictly after `after`.
    ///
    /// `None` when there is none: the expression never matches, its years have passed, or it is
    /// `@reboot`. The search ends after one cycle of the calendar.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &Zone) -> Option<Timestamp> {
        self.search(zone)?.next(second_of(after) + 1).map(Timestamp::from_seconds)
    }

    /// The last instant strictly before `before`, if there is one.
    #[must_use]
    pub fn previous_before(&self, before: Timestamp, zone: &Zone) -> Option<Timestamp> {
        let until = second_of(Timestamp::from_micros(before.as_micros().saturating_sub(1)));
        self.search(zone)?.previous(until).map(Timestamp::from_seconds)
    }

    /// How many instants lie after `after` and not after `until`.
    ///
    /// Counts days, not instants, so the time it takes depends on the number of months.
    #[must_use]
    pub fn count_between(&self, after: Timestamp, until: Timestamp, zone: &Zone) -> u64 {
        match self.search(zone) {
            Some(search) => search.count(second_of(after) + 1, second_of(until)),
            None => 0,
        }
    }

    /// Whether `at` is one of its instants.
    #[must_use]
    pub fn matches(&self, at: Timestamp, zone: &Zone) -> bool {
        at.as_micros().rem_euclid(1_000_000) == 0
            && self.search(zone).is_some_and(|search| search.matches(second_of(at)))
    }

    /// Its instants strictly after `after`, in order.
    pub fn upcoming<'a>(
        &'a self,
        after: Timestamp,
        zone: &'a Zone,
    ) -> impl Iterator<Item = Timestamp> + 'a {
        std::iter::successors(self.next_after(after, zone), |last| self.next_after(*last, zone))
    }

    /// Whether it is `@reboot`, which names an event and no instant.
    #[must_use]
    pub fn is_reboot(&self) -> bool {
        self.fields.is_none()
    }

    /// Whether any instant, past or future, matches: false for 30 February and for `@reboot`.
    #[must_use]
    pub fn has_instants(&self) -> bool {
        self.fields.as_ref().is_some_and(|fields| fields.next_local(0).is_some())
    }

    fn search<'a>(&'a self, zone: &'a Zone) -> Option<Search<'a>> {
        let fields = self.fields.as_ref()?;
        Some(Search {
            fields,
            zone,
            fires_after_gap: !fields.interval && self.clock_changes.gap == Gap::Next,
            fires_once_in_fold: !fields.interval && self.clock_changes.fold == Fold::First,
        })
    }
}

/// The expression as it was written.
impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Cron {
    type Err = CronError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// What an expression that names times of day does when the clocks are changed.
///
/// Expressions whose second, minute or hour field begins with a star describe a rhythm and follow
/// the wall clock whatever is set here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClockChanges {
    /// For times that the clocks leave out.
    pub gap: Gap,
    /// For times that come twice.
    pub fold: Fold,
}

/// What becomes of times that the clocks leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gap {
    /// They fire, together and once, at the first instant after the gap.
    #[default]
    Next,
    /// They do not fire.
    Skip,
}

/// What becomes of times that come twice because the clocks are set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// They fire once, the first time.
    #[default]
    First,
    /// They fire both times.
    Both,
}

/// The second that `instant` lies in.
fn second_of(instant: Timestamp) -> i64 {
    instant.as_micros().div_euclid(1_000_000)
}
