//! A queue, and the classes of work in it: what shares a queue and a set of limits waits together.
//!
//! Choosing between queues and classes is the scheduler's business, in `scheduler/fill.rs`.

use std::sync::Arc;

use crate::policy::Bucket;
use crate::ready::Lanes;
use crate::spec::QueueSpec;
use crate::statistics::Statistics;
use crate::timer::TimerKey;

/// A lane with weight, slots and rate.
#[derive(Debug)]
pub(crate) struct Queue {
    pub name: Arc<str>,
    pub spec: QueueSpec,
    pub paused: bool,
    /// Attempts running.
    pub active: u32,
    /// Tasks that are ready.
    pub waiting: u64,
    /// Classes with ready work and no closed limit, in the order in which they opened.
    pub open: Vec<u32>,
    pub bucket: Bucket,
    /// Fires when the rate allows the next start.
    pub timer: Option<TimerKey>,
    /// Virtual time at which its next start is charged (start-time fair queueing).
    pub finish_tag: u64,
    /// What an attempt is expected to cost, in nanoseconds.
    pub cost_estimate: u64,
    pub statistics: Statistics,
}

impl Queue {
    pub fn new(name: Arc<str>, spec: QueueSpec) -> Self {
        Self {
            name,
            spec,
            paused: false,
            active: 0,
            waiting: 0,
            open: Vec::new(),
            bucket: Bucket::default(),
            timer: None,
            finish_tag: 0,
            cost_estimate: 1_000_000,
            statistics: Statistics::default(),
        }
    }
}

/// Work of one queue that needs the same limits. It is passed over as a whole while one is closed,
/// so what cannot start never hides what can.
#[derive(Debug)]
pub(crate) struct Class {
    pub queue: u32,
    /// Limits by index, with units, in ascending order.
    pub needs: Vec<(u32, u32)>,
    pub lanes: Lanes,
    /// The limit it waits for.
    pub blocked_by: Option<u32>,
    /// Whether it stands in its queue's list of open classes.
    pub is_open: bool,
}
