//! The commands, one file each: what they take, and what they do with it.

pub(crate) mod backup;
pub(crate) mod bench;
pub(crate) mod prune;
pub(crate) mod schedule;
pub(crate) mod simulate;
pub(crate) mod torture;
