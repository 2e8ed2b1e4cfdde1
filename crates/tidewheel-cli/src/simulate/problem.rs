//! [`Problem`]: tasks with durations, what they wait for and need, and how much there is of it.
//!
//! Reading one from JSON is in `input`, running it in `play`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use clap::ValueEnum;
use tidewheel_core::graph::{Graph, GraphError};
use tidewheel_core::policy::Priority;

use tidewheel_client::text::nearest;

use crate::error::CommandError;

/// A graph of tasks with durations, and the resources they share.
#[derive(Debug, Clone, Default)]
pub struct Problem {
    /// The tasks, in the order of declaration.
    pub tasks: Vec<Task>,
    /// Units of each resource.
    pub capacity: BTreeMap<String, u32>,
}

/// A task of known duration.
#[derive(Debug, Clone, Default)]
pub struct Task {
    /// Its name; unique in the problem.
    pub name: String,
    /// How long it takes.
    pub duration: Duration,
    /// Names of the tasks it waits for.
    pub after: Vec<String>,
    /// Its priority; counts in the order [`Order::Priority`] only.
    pub priority: Priority,
    /// Units of resources it holds while it runs.
    pub resources: BTreeMap<String, u32>,
    /// When it should have ended, from the start.
    pub deadline: Option<Duration>,
}

/// Which ready task goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Order {
    /// The longest path to the end first (with `capacity`: the least time to spare)
    #[default]
    CriticalPath,
    /// The one that became ready first
    Fifo,
    /// The earliest deadline first
    Edf,
    /// The highest priority first
    Priority,
}

impl Order {
    /// The word used on the command line and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::CriticalPath => "critical-path",
            Self::Fifo => "fifo",
            Self::Edf => "edf",
            Self::Priority => "priority",
        }
    }
}

/// The longest a whole problem may last: a virtual clock of nanoseconds ends after 584 years.
const TOTAL_MAX: Duration = Duration::from_secs(300 * 365 * 86_400);

/// Faults shown at once.
const FAULTS_SHOWN_MAX: usize = 10;

impl Problem {
    /// The graph, once the whole problem has been found to make sense.
    ///
    /// # Errors
    ///
    /// With every fault found: names used twice, unknown dependencies and resources, cycles, needs
    /// that can never be met, more time than there is.
    pub fn graph(&self) -> Result<Arc<Graph>, CommandError> {
        self.check()?;
        let mut builder = Graph::builder();
        for task in &self.tasks {
            builder.task(&task.name).after(&task.after).estimate(task.duration);
        }
        builder.build().map(Arc::new).map_err(graph_error)
    }

    /// Whether any task shares a resource with others.
    #[must_use]
    pub fn has_resources(&self) -> bool {
        self.tasks.iter().any(|task| !task.resources.is_empty())
    }

    fn check(&self) -> Result<(), CommandError> {
        let mut faults = Faults::default();
        let mut total = Duration::ZERO;
        for task in &self.tasks {
            total = total.saturating_add(task.duration);
            for (resource, units) in &task.resources {
                self.check_need(task, resource, *units, &mut faults);
            }
        }
        if total > TOTAL_MAX {
            faults.add(
                "the durations add up to more than 300 years",
                "durations are seconds: is something given in milliseconds?",
            );
        }
        faults.into_result()
    }

    fn check_need(&self, task: &Task, resource: &str, units: u32, faults: &mut Faults) {
        let name = &task.name;
        match self.capacity.get(resource) {
            Some(capacity) if units <= *capacity => {}
            Some(capacity) => faults.add(
                format!(
                    "task `{name}` needs {units} of `{resource}`, but there are only {capacity}"
                ),
                format!("raise `capacity.{resource}` or lower what the task needs"),
            ),
            None => {
                let hint = match nearest(resource, self.capacity.keys().map(String::as_str)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("say how much there is: \"capacity\": {{ \"{resource}\": … }}"),
                };
                faults
                    .add(format!("task `{name}` needs `{resource}`, which has no capacity"), hint);
            }
        }
    }
}

/// What is wrong with a problem, all of it.
#[derive(Debug, Default)]
pub(super) struct Faults {
    found: Vec<String>,
    hints: Vec<String>,
}

impl Faults {
    pub fn add(&mut self, fault: impl Into<String>, hint: impl Into<String>) {
        self.found.push(fault.into());
        let hint = hint.into();
        if !self.hints.contains(&hint) {
            self.hints.push(hint);
        }
    }

    pub fn into_result(mut self) -> Result<(), CommandError> {
        let count = self.found.len();
        if count == 0 {
            return Ok(());
        }
        self.found.truncate(FAULTS_SHOWN_MAX);
        self.hints.truncate(FAULTS_SHOWN_MAX);
        let mut text = self.found.join("\n       ");
        if count > self.found.len() {
            text.push_str(&format!("\n       and {} more", count - self.found.len()));
        }
        let error = CommandError::input(anyhow!(text));
        Err(self.hints.into_iter().fold(error, CommandError::hint))
    }
}

fn graph_error(error: GraphError) -> CommandError {
    let hint = match &error {
        GraphError::DuplicateTask { .. } => "give each task a name of its own",
        GraphError::UnknownDependencies { .. } => "`after` names tasks of the same file",
        GraphError::SelfDependency { .. } => "take its own name out of its `after`",
        GraphError::Cycle { .. } => "take one of these dependencies out",
        _ => return CommandError::input(error),
    };
    CommandError::input(error).hint(hint)
}
