//! [`NewTask`]: a task to be added to a live run, and many of them as the scheduler takes them.
//!
//! Adding them is in `handle`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::group::Membership;
use tidewheel_core::input::Rejection;
use tidewheel_core::spec::{Addition, TaskSpec};

use super::RunCell;
use crate::options::{
    Grouping, Said, TaskOptions, graph_option_methods, option_methods, single_option_methods,
};

/// A task to be added to a live run.
///
/// ```
/// use tidewheel::{NewTask, Priority};
///
/// let task = NewTask::new("publish").after(["build", "test"]).priority(Priority::HIGH).retries(2);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct NewTask {
    name: String,
    after: Vec<String>,
    before: Vec<String>,
    estimate: Option<Duration>,
    ignores_unknown: bool,
    said: Said,
}

impl NewTask {
    /// A task that waits for nothing.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            after: Vec::new(),
            before: Vec::new(),
            estimate: None,
            ignores_unknown: false,
            said: Said::default(),
        }
    }

    /// Makes the task wait for others, by name.
    pub fn after<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.after.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Makes others, by name, wait for this task as well. Each of them must still wait for another
    /// task: what could start already, runs or has ended is not held up.
    pub fn before<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.before.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Ignores names of [`after`](Self::after) and [`before`](Self::before) that are not in the run,
    /// instead of refusing the task.
    pub fn ignore_unknown(mut self) -> Self {
        self.ignores_unknown = true;
        self
    }

    /// How long it is expected to take.
    pub fn estimate(mut self, estimate: Duration) -> Self {
        self.estimate = Some(estimate);
        self
    }

    /// Says how the task is treated.
    pub fn options(mut self, options: TaskOptions) -> Self {
        self.said = options.into_said();
        self
    }

    option_methods!(said);
    single_option_methods!(said);
    graph_option_methods!(said);

    fn resolve(
        &self,
        cell: &RunCell,
        places: &HashMap<&str, u32>,
        name: &Arc<str>,
    ) -> Result<TaskSpec, Rejection> {
        let find = |others: &[String], relation: &str| {
            let mut indices = Vec::with_capacity(others.len());
            for other in others {
                let index = cell.index_of(other);
                match index.or_else(|| places.get(other.as_str()).copied()) {
                    Some(index) => indices.push(index),
                    None if self.ignores_unknown => {}
                    None => {
                        let text =
                            format!("task `{name}` {relation} `{other}`, which is not in the run");
                        return Err(Rejection::Invalid(Arc::from(text)));
                    }
                }
            }
            Ok(indices)
        };
        let named = |other: &str, relation: &str| {
            let found = find(&[other.to_owned()], relation)?;
            Ok(found.first().copied())
        };
        let Grouping { when, ends, at_once, inside, opens } = self.said.any_grouping();
        let condition = when.map(|when| when.resolve(|task| named(task, "runs by")));
        let group = inside.as_deref().map(|end| named(end, "is inside")).transpose()?;
        Ok(TaskSpec {
            name: Arc::clone(name),
            after: find(&self.after, "waits for")?,
            before: find(&self.before, "goes before")?,
            condition: condition.transpose()?.flatten().map(Arc::new),
            membership: Membership { group: group.flatten(), opens, ends, at_once },
            profile: Arc::new(self.said.apply(&cell.profile)),
            estimate: self.estimate,
            key: self.said.key.clone(),
            deadline: self.said.deadline,
            payload: self.said.payload.clone(),
        })
    }
}

/// The tasks as the scheduler takes them. They may name each other.
pub(super) fn addition(
    cell: &RunCell,
    tasks: &[NewTask],
    passes_over_known: bool,
) -> Result<Addition, Rejection> {
    let places = tasks.iter().map(|task| &*task.name).zip(Addition::FIRST..).collect();
    let resolve = |task: &NewTask| task.resolve(cell, &places, &Arc::from(&*task.name));
    let tasks = tasks.iter().map(resolve).collect::<Result<_, _>>()?;
    Ok(Addition { tasks, passes_over_known })
}
