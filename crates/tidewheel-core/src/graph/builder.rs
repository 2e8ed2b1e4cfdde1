//! [`GraphBuilder`]: declares named tasks one by one, in any order.
//!
//! Sorting the edges and looking for cycles is left to `structure` and `paths`.

use std::time::Duration;

use crate::time::duration_nanos;

use super::names::{NameTable, Names, Suggestions};
use super::structure::Estimates;
use super::{Graph, GraphError, MissingDependency};

/// Collects tasks by name; made by [`Graph::builder`].
///
/// ```
/// # use std::time::Duration;
/// # use tidewheel_core::graph::Graph;
/// let mut builder = Graph::builder();
/// builder.task("publish").after(["test", "build"]); // neither is declared yet
/// builder.task("build").estimate(Duration::from_secs(40));
/// builder.task("test").after(["build"]);
/// let graph = builder.build()?;
/// assert_eq!(graph.dependencies(0), [1, 2]);
/// # Ok::<(), tidewheel_core::graph::GraphError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct GraphBuilder {
    names: NameTable,
    /// Empty until the first task has an estimate.
    estimates: Vec<u64>,
    /// (before, after), where the dependency was already declared.
    edges: Vec<(u32, u32)>,
    /// (name of the dependency, task that waits), where it was not.
    unresolved: Vec<(Box<str>, u32)>,
    /// The first fault found; told when the graph is built, so that declaring needs no `?`.
    fault: Option<GraphError>,
}

impl GraphBuilder {
    /// Declares a task. Its index is the number of tasks declared before it.
    ///
    /// A name used twice is reported by [`GraphBuilder::build`].
    pub fn task(&mut self, name: impl AsRef<str>) -> TaskBuilder<'_> {
        let index = match self.names.intern(name.as_ref()) {
            Ok((index, true)) => index,
            Ok((index, false)) => {
                let name = name.as_ref().to_owned();
                self.fault.get_or_insert(GraphError::DuplicateTask { name });
                index
            }
            Err(error) => {
                self.fault.get_or_insert(error);
                0
            }
        };
        TaskBuilder { graph: self, index }
    }

    /// The number of tasks declared so far.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.names.len()
    }

    /// Whether no task has been declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks what was declared and makes the graph.
    ///
    /// # Errors
    ///
    /// When a name is declared twice, a dependency is not declared (all such are listed), a task
    /// waits for itself, directly or around a cycle, or the graph is too large.
    pub fn build(mut self) -> Result<Graph, GraphError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut suggestions = Suggestions::new(&self.names);
        let mut missing = Vec::new();
        for (dependency, task) in self.unresolved {
            match self.names.find(&dependency) {
                Some(before) => self.edges.push((before, task)),
                None => missing.push(MissingDependency {
                    task: self.names.name(task).to_owned(),
                    suggestion: suggestions.nearest(&dependency),
                    dependency: dependency.into_string(),
                }),
            }
        }
        if !missing.is_empty() {
            return Err(GraphError::UnknownDependencies { missing });
        }
        self.names.shrink();
        let task_count = self.names.len();
        let estimates = if self.estimates.is_empty() {
            Estimates::None
        } else {
            self.estimates.resize(task_count as usize, 0);
            Estimates::Each(self.estimates)
        };
        Graph::assemble(task_count, self.edges, Names::Interned(self.names), estimates)
    }
}

/// One task being declared; made by [`GraphBuilder::task`].
#[derive(Debug)]
pub struct TaskBuilder<'a> {
    graph: &'a mut GraphBuilder,
    index: u32,
}

impl TaskBuilder<'_> {
    /// The index the task will have in the graph.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Makes the task wait for others, by name. They may be declared later.
    pub fn after<S: AsRef<str>>(self, dependencies: impl IntoIterator<Item = S>) -> Self {
        for dependency in dependencies {
            let dependency = dependency.as_ref();
            match self.graph.names.find(dependency) {
                Some(before) => self.graph.edges.push((before, self.index)),
                None => self.graph.unresolved.push((dependency.into(), self.index)),
            }
        }
        self
    }

    /// Says how long the task is expected to take.
    pub fn estimate(self, duration: Duration) -> Self {
        let index = self.index as usize;
        let estimates = &mut self.graph.estimates;
        if estimates.len() <= index {
            estimates.resize(index + 1, 0);
        }
        estimates[index] = duration_nanos(duration);
        self
    }
}
