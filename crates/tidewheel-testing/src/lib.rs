//! Fixtures that tests of several crates share: [`wait_until`], [`temp_folder`], [`ClosedPort`], [`ReservedPort`],
//! [`Pty`] and [`skipped`].
//!
//! Fixtures of one crate are in its `tests/it`. Nothing here depends on another crate of the workspace, so every
//! crate may use it in its tests.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a fixture that cannot be made fails its test")]

mod port;
mod pty;
mod reserved;
mod skip;
mod temp;
mod wait;

pub use port::ClosedPort;
pub use pty::{Pty, is_same};
pub use reserved::ReservedPort;
pub use skip::skipped;
pub use temp::{TempDir, temp_folder};
pub use wait::{patience, wait_until};
