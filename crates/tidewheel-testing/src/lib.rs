//! Fixtures that tests of several crates share: [`wait_until`], [`until`], [`shared_data`], [`temp_folder`], [`ClosedPort`], [`Pty`] and
//! [`skipped`].
//!
//! Fixtures of one crate are in its `tests/it`. Nothing here depends on another crate of the workspace, so every
//! crate may use it in its tests.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod data;
mod port;
mod pty;
mod skip;
mod temp;
mod wait;

pub use data::shared_data;
pub use port::ClosedPort;
pub use pty::{Pty, is_same};
pub use skip::skipped;
pub use temp::{TempDir, temp_folder};
pub use wait::{bounded, patience, until, wait_until};
