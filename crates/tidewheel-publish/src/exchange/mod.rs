//! Speaking to registries: what they list, what they are sent, what they say against it.
//!
//! One request is one try. When another follows is decided by the scheduler; what answers mean is in
//! [`crate::registry`].

mod cargo;
mod census;
mod client;
mod fetch;
mod npm;
mod pace;
mod python;
mod trouble;
mod trusted;

pub use census::census;
pub use client::{Client, Parcel, Said, Who};
pub use pace::Bucket;
pub use trouble::Trouble;
