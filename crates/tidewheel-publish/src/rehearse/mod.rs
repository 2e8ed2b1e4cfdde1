//! Rehearsals: a whole publish to a registry of our own on this machine, which ends with the process.
//!
//! The registry says the truth in three languages; what goes wrong with registries is played in the tests, on the same parts.
//! How it is looked at is the business of surfaces.

mod beyond;
#[doc(hidden)]
pub mod cargo;
mod forget;
#[doc(hidden)]
pub mod http;
#[doc(hidden)]
pub mod listen;
mod local;
#[doc(hidden)]
pub mod npm;
#[doc(hidden)]
pub mod protocol;
#[doc(hidden)]
pub mod python;
mod resolve;
#[doc(hidden)]
pub mod shelf;

pub use forget::forget;
pub use local::LocalRegistry;
pub use resolve::resolve;
