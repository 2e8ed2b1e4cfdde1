//! Schedules: when something fires, what it makes of instants that come too early or too late, and how
//! to steer it.
//!
//! [`Tidewheel::every`], [`Tidewheel::cron`] and their siblings make a [`ScheduleBuilder`]; setting it
//! gives a [`ScheduleHandle`]. Cron expressions and time zones are in [`crate::calendar`]. Which
//! instants fire is decided in the core.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use tidewheel::Tidewheel;
//! use tidewheel::clock::Clock;
//! use tidewheel::schedule::{Misfire, Overlap};
//!
//! let wheel = Tidewheel::builder().clock(Clock::virtual_at("2026-01-01T00:00:00Z".parse()?)).start();
//! let backup = wheel
//!     .cron("30 2 * * *", "Europe/Zurich")?
//!     .name("backup")
//!     .overlap(Overlap::Skip)
//!     .misfire(Misfire::Latest)
//!     .run(|| async { /* copy */ })?;
//! assert_eq!(backup.next(), Some("2026-01-01T01:30:00Z".parse()?));
//! backup.fire_now()?;
//! # tokio::time::sleep(Duration::from_secs(1)).await;
//! let same = wheel.find_schedule("backup").expect("it has not ended");
//! assert_eq!(same.counters().map(|counters| counters.asked_for), Some(1));
//! # Ok(())
//! # }
//! ```
//!
//! [`Tidewheel::every`]: crate::Tidewheel::every
//! [`Tidewheel::cron`]: crate::Tidewheel::cron

mod builder;
mod firing;
mod handle;

pub use tidewheel_core::schedule::{
    Anchor, Counters, Misfire, Origin, Overlap, ScheduleSpec, SkipCounts, Span, Trigger,
};

pub use builder::ScheduleBuilder;
pub(crate) use firing::maker;
pub use firing::{Backfill, Firing, MadeRun};
pub use handle::{ScheduleHandle, ScheduleHold};
