//! What publishing a workspace would come to, before anything leaves the machine.
//!
//! Nothing is asked or packed here: what registries list and what was packed comes in, a [`Plan`] comes out.

mod class;
#[expect(clippy::module_inception, reason = "the type has the name of the room")]
mod plan;
mod rate;
#[cfg(test)]
mod tests;
mod unmet;

pub use class::Class;
pub use plan::{Plan, Planned, Situation};
pub use rate::{Pace, Rate};
pub use unmet::{Unmet, unmet};
