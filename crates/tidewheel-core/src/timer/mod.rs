//! Deadlines: the timing wheel and the parts it is made of.
//!
//! No clock lives here: the driver reads one and passes the [`Moment`](crate::time::Moment) in.
//! Calendars, which turn wall-clock rules into deadlines, are in [`crate::calendar`].

mod ready;
mod store;
mod wheel;

#[cfg(test)]
mod heap;
#[cfg(test)]
mod measure;
#[cfg(test)]
mod tests;

pub use store::TimerKey;
pub use wheel::Wheel;
