//! Why a task is not running: every rule that holds it, each with the facts.
//!
//! The facts are gathered by the scheduler; turning them into pictures is left to surfaces.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::id::{RunId, TaskId};
use crate::task::{Reason, TaskState};

/// The answer to "why is this task not running?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: Arc<str>,
    /// Its state.
    pub state: TaskState,
    /// Why it is in that state.
    pub reason: Reason,
    /// Everything that holds it, the most decisive first; empty when nothing does.
    pub holds: Vec<Hold>,
    /// Its place in the order, while it is ready.
    pub place: Option<Place>,
}

/// One rule that holds a task.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hold {
    /// It has ended.
    Ended,
    /// It runs already; nothing holds it.
    Running {
        /// The attempt.
        attempt: u32,
        /// For how long.
        elapsed: Duration,
    },
    /// Other tasks must end first.
    Dependencies {
        /// Names and states of those that have not ended, some of many.
        waiting_for: Vec<(Arc<str>, TaskState)>,
        /// How many there are.
        count: u32,
    },
    /// As many tasks of its group are under way as may be at once.
    PlacesTaken {
        /// The end of the group.
        group: Arc<str>,
        /// How many may be.
        max: u32,
        /// Which are, some of many.
        holders: Vec<Arc<str>>,
    },
    /// It waits before its next attempt.
    RetryDelay {
        /// Time left.
        left: Duration,
        /// The number of the attempt to come.
        attempt: u32,
    },
    /// It found that it is not time yet, and looks again later.
    Postponed {
        /// Time left.
        left: Duration,
    },
    /// It waits for its start delay.
    StartDelay {
        /// Time left.
        left: Duration,
    },
    /// The scheduler is paused.
    SchedulerPaused,
    /// Its queue is paused.
    QueuePaused {
        /// The queue.
        queue: Arc<str>,
    },
    /// Its run is paused.
    RunPaused,
    /// Its run waits for a place in its concurrency group.
    GroupTaken {
        /// The group.
        group: Arc<str>,
        /// The runs that have the places, as far as known.
        holders: Vec<RunId>,
    },
    /// The scheduler starts nothing more.
    ShuttingDown,
    /// All slots of the scheduler are taken.
    SchedulerFull {
        /// Attempts running.
        active: u32,
        /// Attempts that may run.
        slots: u32,
    },
    /// All slots of its queue are taken.
    QueueSlotsTaken {
        /// The queue.
        queue: Arc<str>,
        /// Attempts running.
        active: u32,
        /// Attempts that may run.
        slots: u32,
    },
    /// All slots of its run are taken.
    RunSlotsTaken {
        /// Attempts running.
        active: u32,
        /// Attempts that may run.
        slots: u32,
    },
    /// Its queue starts no more than so many per time.
    QueueRate {
        /// The queue.
        queue: Arc<str>,
        /// Time left.
        left: Duration,
    },
    /// Too few units of a limit are free.
    LimitTaken {
        /// The limit.
        limit: Arc<str>,
        /// Units it needs.
        wanted: u32,
        /// Units in use.
        used: u64,
        /// Units there are.
        max: u32,
        /// Who holds them, some of many.
        holders: Vec<Arc<str>>,
    },
    /// Too few units of a limit that other processes use as well are free, or they have been asked
    /// for and are on their way.
    SharedLimitTaken {
        /// The limit.
        limit: Arc<str>,
        /// Units it needs.
        wanted: u32,
        /// Units there are.
        max: u32,
        /// Who holds them, here and elsewhere, as far as known.
        holders: Vec<Arc<str>>,
    },
    /// A wide task that waited too long has the next units of a limit.
    LimitReserved {
        /// The limit.
        limit: Arc<str>,
    },
    /// A limit starts no more than so many per time.
    LimitRate {
        /// The limit.
        limit: Arc<str>,
        /// Time left.
        left: Duration,
    },
    /// A circuit breaker is open, or lets only its probe through.
    BreakerOpen {
        /// The limit.
        limit: Arc<str>,
        /// Time until a probe; `None`: the probe is under way.
        left: Option<Duration>,
    },
    /// Another task of its key is ahead.
    KeyTaken {
        /// The key.
        key: Arc<str>,
    },
    /// Other work goes first.
    Order {
        /// Tasks ahead of it in its queue.
        ahead: u64,
        /// Only so many were counted: there are more.
        is_least: bool,
    },
}

/// A task's place in the order, with each factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its queue.
    pub queue: Arc<str>,
    /// Priority as submitted.
    pub priority: u8,
    /// Priority with what waiting added.
    pub effective: u8,
    /// How long it has been ready.
    pub waited: Duration,
    /// In how long waiting has taken it to the top, if waiting adds anything: what becomes ready later, of another run, then no
    /// longer goes before it in its queue.
    pub unpassed_in: Option<Duration>,
    /// Tasks ahead of it in its queue. Of many, only some ten thousand are counted.
    pub ahead: u64,
    /// The key by which it shares its queue with others.
    pub fair_by: Option<Arc<str>>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.name, self.state)?;
        if self.reason != Reason::Ordinary {
            write!(f, " ({})", self.reason)?;
        }
        for hold in &self.holds {
            match hold {
                Hold::Ended | Hold::Running { .. } => {}
                _ => write!(f, "; {hold}")?,
            }
        }
        if let Some(place) = &self.place {
            write!(
                f,
                "; waited {:.1?} in queue `{}` at priority {}",
                place.waited, place.queue, place.priority
            )?;
            if place.effective != place.priority {
                write!(f, ", now {} by waiting", place.effective)?;
            }
            if let Some(key) = &place.fair_by {
                write!(f, ", sharing it as `{key}`")?;
            }
        }
        Ok(())
    }
}

fn write_holders(f: &mut fmt::Formatter<'_>, holders: &[Arc<str>]) -> fmt::Result {
    if holders.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = holders.iter().map(|name| format!("`{name}`")).collect();
    write!(f, ", held by {}", names.join(", "))
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("it has ended"),
            Self::Running { attempt, elapsed } => {
                write!(f, "attempt {attempt} has been running for {elapsed:.1?}")
            }
            Self::Dependencies { waiting_for, count } => {
                write!(f, "waits for {count} task{}", if *count == 1 { "" } else { "s" })?;
                let names: Vec<String> =
                    waiting_for.iter().map(|(name, state)| format!("`{name}` ({state})")).collect();
                write!(f, ": {}", names.join(", "))?;
                if (waiting_for.len() as u32) < *count {
                    write!(f, " and {} more", count - waiting_for.len() as u32)?;
                }
                Ok(())
            }
            Self::PlacesTaken { group, max: 1, holders } => {
                write!(f, "waits for the one place in `{group}`")?;
                write_holders(f, holders)
            }
            Self::PlacesTaken { group, max, holders } => {
                write!(f, "waits for one of {max} places in `{group}`")?;
                write_holders(f, holders)
            }
            Self::RetryDelay { left, attempt } => {
                write!(f, "attempt {attempt} follows in {left:.1?}")
            }
            Self::Postponed { left } => {
                write!(f, "it is not time yet, it looks again in {left:.1?}")
            }
            Self::StartDelay { left } => write!(f, "its start delay ends in {left:.1?}"),
            Self::SchedulerPaused => f.write_str("the scheduler is paused"),
            Self::QueuePaused { queue } => write!(f, "queue `{queue}` is paused"),
            Self::RunPaused => f.write_str("the run is paused"),
            Self::GroupTaken { group, holders } => {
                write!(f, "the run waits for its concurrency group `{group}`")?;
                let holders: Vec<String> = holders.iter().map(ToString::to_string).collect();
                match holders.is_empty() {
                    true => Ok(()),
                    false => write!(f, ", held by run {}", holders.join(", run ")),
                }
            }
            Self::ShuttingDown => f.write_str("the scheduler is shutting down"),
            Self::SchedulerFull { active, slots } => {
                write!(f, "all slots are taken ({active}/{slots})")
            }
            Self::QueueSlotsTaken { queue, active, slots } => {
                write!(f, "all slots of queue `{queue}` are taken ({active}/{slots})")
            }
            Self::RunSlotsTaken { active, slots } => {
                write!(f, "all slots of the run are taken ({active}/{slots})")
            }
            Self::QueueRate { queue, left } => {
                write!(f, "the rate of queue `{queue}` allows the next start in {left:.1?}")
            }
            Self::LimitTaken { limit, wanted, used, max, holders } => {
                write!(f, "limit `{limit}` has {used} of {max} in use, {wanted} needed")?;
                write_holders(f, holders)
            }
            Self::SharedLimitTaken { limit, wanted, max, holders } => {
                let of = if *wanted == 1 { "a unit" } else { "units" };
                write!(f, "it waits for {of} of the shared limit `{limit}`, {wanted} of {max}")?;
                write_holders(f, holders)
            }
            Self::LimitReserved { limit } => {
                write!(f, "limit `{limit}` is reserved for a wide task that waited longer")
            }
            Self::LimitRate { limit, left } => {
                write!(f, "limit `{limit}` allows the next start in {left:.1?}")
            }
            Self::BreakerOpen { limit, left: Some(left) } => {
                write!(f, "breaker `{limit}` is open, a probe may start in {left:.1?}")
            }
            Self::BreakerOpen { limit, left: None } => {
                write!(f, "breaker `{limit}` waits for its probe")
            }
            Self::KeyTaken { key } => write!(f, "another task of key `{key}` is ahead"),
            Self::Order { ahead, is_least: true } => {
                write!(f, "{ahead} tasks and more are ahead of it")
            }
            Self::Order { ahead, .. } => {
                write!(f, "{ahead} task{} ahead of it", if *ahead == 1 { " is" } else { "s are" })
            }
        }
    }
}
