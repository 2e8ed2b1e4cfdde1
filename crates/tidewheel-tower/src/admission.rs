//! [`Admission`]: how one request is to be treated.
//!
//! What the words mean is the wheel's business.

use std::time::Duration;

use tidewheel::{Priority, TaskOptions};

/// How a request is treated while it waits for its turn, and while it is answered.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Admission {
    pub(crate) options: TaskOptions,
}

impl Admission {
    /// Normal priority, the queue `default`, no limits, no bound on time.
    pub fn new() -> Self {
        Self::default()
    }

    /// The priority, 0 to 100; higher goes first.
    pub fn priority(mut self, priority: impl Into<Priority>) -> Self {
        self.options = self.options.priority(priority);
        self
    }

    /// The queue it waits in. What a queue takes is bounded by its `waiting_max`.
    pub fn queue(mut self, queue: &str) -> Self {
        self.options = self.options.queue(queue);
        self
    }

    /// Takes one unit of a limit while it is answered, or passes through a breaker.
    pub fn limit(mut self, limit: &str) -> Self {
        self.options = self.options.limit(limit);
        self
    }

    /// Takes several units of a limit while it is answered, such as the memory that the answer will need.
    pub fn units(mut self, limit: &str, units: u32) -> Self {
        self.options = self.options.units(limit, units);
        self
    }

    /// Whose request it is, a tenant or a user, say: whoever is named so gets as much of the slots of the queue as any
    /// other, however many requests each has waiting. It holds among requests of one priority.
    pub fn fair_by(mut self, key: &str) -> Self {
        self.options = self.options.fair_by(key);
        self
    }

    /// Requests of one key are answered one at a time, in order.
    pub fn key(mut self, key: &str) -> Self {
        self.options = self.options.key(key);
        self
    }

    /// Time from now to the answer. The request that has the least left goes first among those of its
    /// priority; one whose time is over while it waits, or is answered, is given up.
    pub fn time_max(mut self, time: Duration) -> Self {
        self.options = self.options.deadline(time).task_timeout(time);
        self
    }
}
