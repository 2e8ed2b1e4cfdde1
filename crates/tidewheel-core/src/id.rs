//! Identities: durable ones that stores keep, and keys that live only as long as memory does.
//!
//! Nothing here makes random numbers; the driver supplies fresh ids.

use std::fmt;

use slotmap::{DefaultKey, Key};

/// The durable identity of a run (a single submission is a run of one task).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RunId(pub u128);

/// Printed in the form of a UUID.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(f, self.0)
    }
}

/// The durable identity of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ScheduleId(pub u128);

/// Printed in the form of a UUID.
impl fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_uuid(f, self.0)
    }
}

fn write_uuid(f: &mut fmt::Formatter<'_>, value: u128) -> fmt::Result {
    let hex = format!("{value:032x}");
    write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The durable identity of a task: its run and its place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TaskId {
    /// The run the task belongs to.
    pub run: RunId,
    /// Its index in the run's graph; zero for a single submission.
    pub index: u32,
}

/// The durable identity of one try at a task. Numbers start at 1 and are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AttemptId {
    /// The task tried.
    pub task: TaskId,
    /// The number of the try.
    pub number: u32,
}

/// A run or single submission in memory. It carries a generation: a stale key finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RunKey(pub(crate) DefaultKey);

impl RunKey {
    /// Its place in memory: small, and used again by another run once this one is gone.
    #[must_use]
    pub fn slot(self) -> u32 {
        self.0.data().as_ffi() as u32
    }
}

/// A task in memory: a [`RunKey`] and an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TaskKey {
    /// The run or single submission.
    pub run: RunKey,
    /// The index in the run's graph; zero for a single submission.
    pub index: u32,
}

/// A schedule in memory: a slot and a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ScheduleKey(pub(crate) DefaultKey);

/// A [`crate::spec::Profile`] that the scheduler has seen and given a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProfileId(pub(crate) u32);
