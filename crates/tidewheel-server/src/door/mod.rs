//! The one way in: who asks, from where, whether they may, how much, and what is written down of it.
//!
//! Every request comes through [`pass`], also one for something that is not there. What is asked for is in `routes`.

mod body;
mod call;
mod headers;
mod host;
mod identify;
mod origin;
mod pass;
mod peer;
mod signed;
mod throttle;
mod view;

pub(crate) use call::{Call, Object, document, json, surface_of};
pub(crate) use headers::harden;
pub(crate) use host::check_host;
pub(crate) use identify::cookie_name;
pub(crate) use pass::pass;
pub use peer::Peer;
pub(crate) use throttle::Throttle;
pub(crate) use view::View;
