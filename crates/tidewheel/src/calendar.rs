//! Cron expressions and time zones.
//!
//! [`Tidewheel::cron`](crate::Tidewheel::cron) takes both as text. Here they are for those who want to
//! know the instants beforehand, or say what happens to those that a change of the clock drops or
//! doubles. What a schedule does with an instant is in [`crate::schedule`].
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::Timestamp;
//! use tidewheel::calendar::{Cron, Zone};
//!
//! let weekdays = Cron::parse("30 2 * * MON-FRI")?;
//! let friday: Timestamp = "2026-01-02T12:00:00Z".parse()?;
//! let next = weekdays.next_after(friday, &Zone::named("Europe/Zurich")?);
//! assert_eq!(next, Some("2026-01-05T01:30:00Z".parse()?));
//! # Ok(())
//! # }
//! ```

pub use tidewheel_core::calendar::{ClockChanges, Cron, CronError, Fold, Gap, Zone, ZoneError};

pub use crate::wheel::CalendarError;
