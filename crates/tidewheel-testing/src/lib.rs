//! Fixtures that tests of several crates share: waiting ([`wait_until`], [`until`], [`bounded`], [`Gate`]), folders
//! ([`temp_folder`], [`shared_data`]), ports ([`ClosedPort`], [`ReservedPort`]), terminals ([`Pty`], [`Tmux`]), and
//! [`skipped`].
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
mod tmux;
mod wait;

pub use data::shared_data;
pub use gate::Gate;
pub use limit::limit_address_space;
pub use port::{ClosedPort, ReservedPort};
pub use pty::{Pty, is_same};
pub use skip::skipped;
pub use temp::{TempDir, temp_folder};
pub use tmux::{Program, Seen, Tmux};
pub use wait::{bounded, patience, until, wait_until};
