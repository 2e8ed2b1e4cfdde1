//! Fixtures that tests of several crates share: [`wait_until`], [`until`], [`temp_folder`], [`ClosedPort`], [`Gate`],
//! [`Pty`], [`shared_data`] and [`skipped`].
//!
//! Fixtures of one crate are in its `tests/it`. Nothing here depends on another crate of the workspace, so every
//! crate may use it in its tests.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod data;
mod gate;
mod limit;
mod port;
mod pty;
mod skip;
mod temp;
mod wait;

pub use data::shared_data;
pub use gate::Gate;
pub use limit::limit_address_space;
pub use port::ClosedPort;
pub use pty::{Pty, is_same};
pub use skip::skipped;
pub use temp::{TempDir, temp_folder};
pub use wait::{bounded, patience, until, wait_until};
