//! A bench for flows: a wheel in memory, a virtual clock, and a world in which every step does what
//! a test says. No process is started and no time passes.
//!
//! [`Stage`] is for tests in Rust, [`play`] for the stories in `scenarios/`.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "each test file uses a part of it")]

mod deed;
mod expect;
mod player;
mod stage;
mod words;
mod world;

pub use deed::{Deed, End};
pub use player::play;
pub use stage::{Stage, Standing, Start};
pub use world::StagedWorld;
