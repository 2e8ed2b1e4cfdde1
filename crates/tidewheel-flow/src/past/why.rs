//! [`Why`]: why a task of a run is where it is, as far as that can be told from what is stored.
//!
//! The scheduler that runs it knows more, such as its order among others; it is asked by
//! [`tidewheel::Tidewheel::explain`], where it runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidewheel::store::{RunDetail, TaskSummary};
use tidewheel::task::Reason;
use tidewheel::{LimitSpec, TaskState, Timestamp};

use crate::compile::order::FlowOrder;
use crate::definition::Flow;

/// Why a task is where it is, and what must happen next.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// Nobody runs the run: its process died.
    Interrupted,
    /// The run is paused.
    Paused,
    /// These tasks have not ended, and it needs them.
    Needs(Vec<String>),
    /// Its time has not come.
    StartsAt(Option<Timestamp>),
    /// Its last attempt failed, and it is tried again.
    Retry {
        /// When.
        at: Option<Timestamp>,
        /// Why the last attempt failed.
        error: String,
    },
    /// It waits for something outside, and looks for it again.
    Waits {
        /// What it does, in words.
        what: String,
        /// Whether it is somebody's approval.
        asks: bool,
        /// The next look.
        next: Option<Timestamp>,
    },
    /// A limit of the flow has no room for it.
    Limit {
        /// The limit.
        name: String,
        /// Who holds it.
        holders: Vec<String>,
    },
    /// It needs units of a limit that all runs in the data folder share, and others have some.
    SharedLimit {
        /// The limit.
        name: String,
        /// Units it needs.
        units: u32,
        /// Units there are.
        most: u32,
        /// Who has some: tasks of this run, and others, as far as known.
        holders: Vec<String>,
    },
    /// It counts against a limit of which only the scheduler knows what is left, or it waits for its
    /// turn.
    LimitOrTurn {
        /// The limit.
        name: String,
    },
    /// As many of its queue as may run at once do.
    Queue {
        /// The queue.
        name: String,
        /// How many.
        most: u32,
        /// Which do.
        holders: Vec<String>,
    },
    /// Another task with its key runs.
    Key {
        /// The key.
        name: String,
        /// Who holds it.
        holders: Vec<String>,
    },
    /// Of the elements of its step only so many run at once.
    Elements {
        /// The step.
        step: String,
        /// How many.
        most: u32,
        /// Which do.
        holders: Vec<String>,
    },
    /// As many steps of the run as may run at once do.
    Slots {
        /// How many.
        most: u32,
        /// Which do.
        holders: Vec<String>,
    },
    /// Nothing that is known here keeps it: it is about to start, or waits for room where it runs.
    AboutToStart,
    /// It runs.
    Runs {
        /// The number of the attempt.
        attempt: u32,
        /// Since when.
        since: Option<Timestamp>,
    },
    /// It was told to stop.
    Stopping,
    /// It succeeded.
    Done,
    /// It ended in another way.
    Ended {
        /// In which.
        reason: Reason,
        /// What the last attempt said.
        error: Option<String>,
    },
}

/// What is known of a run without whoever runs it.
#[derive(Debug)]
pub struct Scene<'a> {
    run: &'a RunDetail,
    order: Option<&'a FlowOrder>,
    flow: Option<Arc<Flow>>,
    is_interrupted: bool,
    running: Vec<&'a TaskSummary>,
    /// Who has units of shared limits, outside this run.
    shared: BTreeMap<String, Vec<String>>,
}

impl<'a> Scene<'a> {
    /// A run, what was asked for if it is one of a flow, and whether nobody runs it any more.
    #[must_use]
    pub fn new(run: &'a RunDetail, order: Option<&'a FlowOrder>, is_interrupted: bool) -> Self {
        let flow = order.and_then(|order| order.flow().ok());
        let running = run.tasks.iter().filter(|task| task.state.holds_slot()).collect();
        Self { run, order, flow, is_interrupted, running, shared: BTreeMap::new() }
    }

    /// Says who has units of shared limits outside this run, by limit.
    #[must_use]
    pub fn sharing(mut self, holders: &BTreeMap<String, Vec<String>>) -> Self {
        self.shared.clone_from(holders);
        self
    }

    /// What it waits for that has not ended.
    #[must_use]
    pub fn needs(&self, task: &TaskSummary) -> Vec<String> {
        let needed = task.after.iter().filter_map(|index| self.run.tasks.get(*index as usize));
        let open = needed.filter(|needed| !needed.state.is_terminal());
        open.map(|needed| needed.name.clone()).collect()
    }

    /// Why a task of the run is where it is.
    #[must_use]
    pub fn why(&self, task: &TaskSummary) -> Why {
        match task.state {
            TaskState::Blocked => {
                let needs = self.needs(task);
                if needs.is_empty() { self.turn(task) } else { Why::Needs(needs) }
            }
            TaskState::Delayed if task.reason == Reason::Postponed => self.waits(task),
            TaskState::Delayed => match &task.error {
                Some(error) => Why::Retry { at: task.until, error: error.clone() },
                None => Why::StartsAt(task.until),
            },
            TaskState::Ready => self.turn(task),
            TaskState::Running => Why::Runs { attempt: task.attempts, since: task.started_at },
            TaskState::Cancelling => Why::Stopping,
            TaskState::Succeeded => Why::Done,
            _ => Why::Ended { reason: task.reason, error: task.error.clone() },
        }
    }

    fn waits(&self, task: &TaskSummary) -> Why {
        let what = self.flow.as_ref().and_then(|flow| flow.step_of_task(&task.name)?.waits_for());
        Why::Waits {
            what: what.unwrap_or_else(|| "waits".to_owned()),
            asks: self.flow.as_ref().is_some_and(|flow| flow.asks(&task.name)),
            next: task.until,
        }
    }

    /// What keeps a task that has all it needs.
    fn turn(&self, task: &TaskSummary) -> Why {
        if self.is_interrupted {
            return Why::Interrupted;
        }
        if self.run.summary.is_paused {
            return Why::Paused;
        }
        let flow = self.flow.as_ref();
        flow.and_then(|flow| self.limit(flow, task))
            .or_else(|| flow.and_then(|flow| self.queue(flow, task)))
            .or_else(|| flow.and_then(|flow| self.key(flow, task)))
            .or_else(|| flow.and_then(|flow| self.elements(flow, task)))
            .or_else(|| self.slots())
            .unwrap_or(Why::AboutToStart)
    }

    fn limit(&self, flow: &Arc<Flow>, task: &TaskSummary) -> Option<Why> {
        for (name, units) in flow.limits_of_task(&task.name) {
            let taken = |other: &TaskSummary| flow.limits_of_task(&other.name).get(&name).copied();
            match flow.limits.get(&name) {
                Some(LimitSpec::SharedUnits(most)) => {
                    let mut holders = self.running_where(|other| taken(other).is_some());
                    holders.extend(self.shared.get(&name).into_iter().flatten().cloned());
                    if !holders.is_empty() {
                        return Some(Why::SharedLimit { name, units, most: *most, holders });
                    }
                }
                Some(LimitSpec::Units(most)) => {
                    let used: u32 = self.running.iter().filter_map(|other| taken(other)).sum();
                    if used.saturating_add(units) > *most {
                        let holders = self.running_where(|other| taken(other).is_some());
                        return Some(Why::Limit { name, holders });
                    }
                }
                Some(_) => return Some(Why::LimitOrTurn { name }),
                None => {}
            }
        }
        None
    }

    fn queue(&self, flow: &Arc<Flow>, task: &TaskSummary) -> Option<Why> {
        let name = flow.queue_of_task(&task.name)?;
        let most = flow.queues.get(&name)?.slots?;
        let holders =
            self.running_where(|other| flow.queue_of_task(&other.name).as_ref() == Some(&name));
        (holders.len() >= most as usize).then_some(Why::Queue { name, most, holders })
    }

    fn key(&self, flow: &Arc<Flow>, task: &TaskSummary) -> Option<Why> {
        let key = |name: &str| flow.step_of_task(name)?.treatment.key.clone();
        let name = key(&task.name)?;
        let holders = self.running_where(|other| key(&other.name).as_ref() == Some(&name));
        (!holders.is_empty()).then_some(Why::Key { name, holders })
    }

    fn elements(&self, flow: &Arc<Flow>, task: &TaskSummary) -> Option<Why> {
        let (step, most) = flow.parallel_of_task(&task.name)?;
        let holders = self.running_where(|other| {
            flow.parallel_of_task(&other.name).is_some_and(|(other, _)| other == step)
        });
        (holders.len() >= most as usize).then_some(Why::Elements { step, most, holders })
    }

    fn slots(&self) -> Option<Why> {
        let most = self.order?.max_workers;
        let is_full = self.running.len() >= most as usize;
        is_full.then(|| Why::Slots { most, holders: self.running_where(|_| true) })
    }

    fn running_where(&self, holds: impl Fn(&TaskSummary) -> bool) -> Vec<String> {
        let running = self.running.iter().filter(|task| holds(task));
        running.map(|task| task.name.clone()).collect()
    }
}
