//! Turns the tree of a flow file into a [`Flow`](super::Flow), collecting every problem on the way.
//!
//! Types and unknown keys were checked against the tables before; what is of the wrong type is
//! passed over here without a second complaint. What cannot be understood is replaced by something
//! harmless, so that the rest can be checked; see [`Gaps`]. What steps say of each other is checked in
//! `crate::definition::connect`.

mod arrival;
mod decoder;
mod defaults;
mod dependency;
mod elsewhere;
mod fields;
mod flow;
mod foreach;
mod group;
mod http;
mod params;
mod process;
mod program;
mod schedule;
mod source;
mod step;
mod treatment;
mod wait;

use decoder::Decoder;
pub(crate) use decoder::FindFlow;
pub(crate) use flow::decode;
