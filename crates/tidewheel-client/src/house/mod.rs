//! A house: a session that lasts, with a catalogue of flows whose schedules are live.
//!
//! It is what a server keeps and does. How it is reached (routes, tokens, arguments) is the surface's business;
//! what is known of runs and schedules without a house is asked at the [desk](crate::desk).

mod arrivals;
mod arriving_files;
mod asking;
mod beside;
mod catalogue;
mod entry;
mod events;
mod figures;
mod firings;
mod flows;
mod glance;
mod happenings;
mod hooks;
#[expect(clippy::module_inception, reason = "the type has the name of the room")]
mod house;
mod look;
mod options;
mod runs;
mod schedules;
mod setting;
mod signature;
mod sketch;

pub(crate) use entry::Version;
pub use figures::Lately;
pub(crate) use firings::{InForce, Maker, maker};
pub use happenings::{Happenings, Seen};
pub use hooks::{Delivery, Signed};
pub use house::House;
pub use options::HouseOptions;
pub(crate) use setting::schedule_of;
pub use tidewheel::observe::{Histogram, Overview, Statistics};
