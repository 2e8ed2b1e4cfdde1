//! The commands, one file each: what they take, and what they do with it.

pub(crate) mod bench;
pub(crate) mod schedule;
pub(crate) mod simulate;
