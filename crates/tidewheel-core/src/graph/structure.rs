//! [`Graph`]: who waits for whom, in compressed rows, and the questions a scheduler asks of it.
//!
//! Walks over the whole graph (orders, levels, longest paths) live in `paths`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::time::duration_nanos;

use super::names::{NameTable, Names};
use super::{GraphBuilder, GraphError};

/// Tasks and their dependencies: immutable, without cycles, and small (a task of a numbered graph
/// takes 8 bytes, an edge 4).
///
/// Tasks are numbered from 0 in the order they were declared or first mentioned.
///
/// ```
/// # use tidewheel_core::graph::Graph;
/// // Each pair is (before, after): `test` and `lint` wait for `build`.
/// let graph = Graph::from_edges([("build", "test"), ("build", "lint")])?;
/// assert_eq!(graph.len(), 3);
/// assert_eq!(graph.name(0), "build");
/// assert_eq!(graph.successors(0), [1, 2]);
/// assert_eq!(graph.dependency_count(2), 1);
/// # Ok::<(), tidewheel_core::graph::GraphError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Graph {
    /// The successors of task `i` are `successors[offsets[i]..offsets[i + 1]]`.
    offsets: Vec<u32>,
    successors: Vec<u32>,
    dependency_counts: Vec<u32>,
    /// Every edge leads to a greater index, so the index order is topological.
    is_forward: bool,
    names: Names,
    estimates: Estimates,
}

/// How long tasks are expected to take, in nanoseconds; zero means nothing is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Estimates {
    None,
    Uniform(u64),
    Each(Vec<u64>),
}

impl Graph {
    /// Starts a graph whose tasks have names.
    #[must_use]
    pub fn builder() -> GraphBuilder {
        GraphBuilder::default()
    }

    /// Builds a graph from pairs of names `(before, after)`: the second waits for the first.
    ///
    /// Tasks are numbered in order of first mention. Repeated pairs count once. A task without any
    /// edge cannot be expressed; use [`Graph::builder`] for that.
    ///
    /// # Errors
    ///
    /// When a task waits for itself, directly or around a cycle, or the graph is too large.
    pub fn from_edges<A: AsRef<str>, B: AsRef<str>>(
        edges: impl IntoIterator<Item = (A, B)>,
    ) -> Result<Self, GraphError> {
        let mut names = NameTable::default();
        let mut indices = Vec::new();
        for (before, after) in edges {
            let (before, _) = names.intern(before.as_ref())?;
            let (after, _) = names.intern(after.as_ref())?;
            indices.push((before, after));
        }
        let task_count = names.len();
        Self::assemble(task_count, indices, Names::Interned(names), Estimates::None)
    }

    /// Builds a graph of `task_count` tasks named by their numbers, from pairs `(before, after)`.
    ///
    /// Repeated pairs count once.
    ///
    /// # Errors
    ///
    /// When a pair names a number that is not a task, a task waits for itself, directly or around a
    /// cycle, or the graph is too large.
    pub fn numbered(
        task_count: u32,
        edges: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<Self, GraphError> {
        let edges: Vec<(u32, u32)> = edges.into_iter().collect();
        for &(before, after) in &edges {
            let index = before.max(after);
            if index >= task_count {
                return Err(GraphError::UnknownIndex { index, task_count });
            }
        }
        Self::assemble(task_count, edges, Names::Numbered, Estimates::None)
    }

    /// The same graph with the expected duration of each task.
    ///
    /// A duration of zero means that nothing is known about the task.
    #[must_use]
    pub fn with_estimates(mut self, estimate: impl Fn(u32) -> Duration) -> Self {
        let nanos = (0..self.len()).map(|index| duration_nanos(estimate(index))).collect();
        self.estimates = Estimates::Each(nanos);
        self
    }

    /// The same graph with one expected duration for all tasks.
    #[must_use]
    pub fn with_uniform_estimate(mut self, estimate: Duration) -> Self {
        self.estimates = Estimates::Uniform(duration_nanos(estimate));
        self
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> u32 {
        // No truncation: the builders count tasks in 32 bits.
        self.dependency_counts.len() as u32
    }

    /// Whether there are no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dependency_counts.is_empty()
    }

    /// The number of distinct edges.
    #[must_use]
    pub fn edge_count(&self) -> u32 {
        self.successors.len() as u32
    }

    /// The name of a task.
    ///
    /// # Panics
    ///
    /// When `index` is not a task. The same holds for every question about one task.
    #[must_use]
    pub fn name(&self, index: u32) -> Cow<'_, str> {
        assert!(index < self.len(), "task {index} of a graph of {} tasks", self.len());
        self.names.name(index)
    }

    /// The task called `name`.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<u32> {
        self.names.find(name, self.len())
    }

    /// The tasks that wait for this one, in index order.
    #[must_use]
    pub fn successors(&self, index: u32) -> &[u32] {
        let index = index as usize;
        &self.successors[self.offsets[index] as usize..self.offsets[index + 1] as usize]
    }

    /// How many tasks this one waits for.
    #[must_use]
    pub fn dependency_count(&self, index: u32) -> u32 {
        self.dependency_counts[index as usize]
    }

    /// The number of dependencies of every task, by index: where the counters of a new run start.
    #[must_use]
    pub fn dependency_counts(&self) -> &[u32] {
        &self.dependency_counts
    }

    /// The tasks this one waits for, in index order.
    ///
    /// Only successors are stored, so this looks at the whole graph, in O(tasks + edges). It is
    /// meant for explanations, not for scheduling.
    #[must_use]
    pub fn dependencies(&self, index: u32) -> Vec<u32> {
        let count = self.dependency_count(index) as usize;
        (0..self.len())
            .filter(|&before| self.successors(before).binary_search(&index).is_ok())
            .take(count)
            .collect()
    }

    /// The tasks that each task waits for, in index order, in O(tasks + edges) for all of them.
    ///
    /// ```
    /// # use tidewheel_core::graph::Graph;
    /// let graph = Graph::from_edges([("build", "test"), ("lint", "test")])?;
    /// assert_eq!(graph.all_dependencies(), [vec![], vec![0, 2], vec![]]);
    /// # Ok::<(), tidewheel_core::graph::GraphError>(())
    /// ```
    #[must_use]
    pub fn all_dependencies(&self) -> Vec<Vec<u32>> {
        let counts = self.dependency_counts.iter();
        let mut all: Vec<Vec<u32>> =
            counts.map(|&count| Vec::with_capacity(count as usize)).collect();
        for before in 0..self.len() {
            for &after in self.successors(before) {
                all[after as usize].push(before);
            }
        }
        all
    }

    /// How long a task is expected to take, zero when nothing is known.
    #[must_use]
    pub fn estimate(&self, index: u32) -> Duration {
        Duration::from_nanos(self.estimate_nanos(index))
    }

    /// The tasks that wait for nothing, in index order.
    pub fn roots(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter(|&index| self.dependency_count(index) == 0)
    }

    /// The graph of the tasks for which `keep` is true, and the old index of each of them.
    ///
    /// Tasks left out count as done: edges from and to them are dropped, not joined. Names,
    /// estimates and order stay.
    #[must_use]
    pub fn subset(&self, keep: impl Fn(u32) -> bool) -> (Self, Vec<u32>) {
        let kept: Vec<u32> = (0..self.len()).filter(|&index| keep(index)).collect();
        let mut new_index = vec![None; self.dependency_counts.len()];
        for (new, &old) in kept.iter().enumerate() {
            new_index[old as usize] = Some(new as u32);
        }
        let mut edges = Vec::new();
        let mut names = NameTable::default();
        for (new, &old) in kept.iter().enumerate() {
            let kept_after =
                self.successors(old).iter().filter_map(|&next| new_index[next as usize]);
            edges.extend(kept_after.map(|next| (new as u32, next)));
            names
                .intern(&self.name(old))
                .expect("fewer names than the graph they come from, which has 32-bit sizes");
        }
        names.shrink();
        let estimates = match &self.estimates {
            Estimates::Each(nanos) => {
                Estimates::Each(kept.iter().map(|&old| nanos[old as usize]).collect())
            }
            other => other.clone(),
        };
        let graph = Self::assemble(kept.len() as u32, edges, Names::Interned(names), estimates)
            .expect("a part of a graph without cycles has none");
        (graph, kept)
    }

    pub(super) fn is_forward(&self) -> bool {
        self.is_forward
    }

    /// What a task adds to a path: its estimate, and at least one, so that of two chains of
    /// unknown tasks the longer counts more.
    pub(super) fn weight(&self, index: u32) -> u64 {
        self.estimate_nanos(index).max(1)
    }

    fn estimate_nanos(&self, index: u32) -> u64 {
        assert!(index < self.len(), "task {index} of a graph of {} tasks", self.len());
        match &self.estimates {
            Estimates::None => 0,
            Estimates::Uniform(nanos) => *nanos,
            Estimates::Each(nanos) => nanos[index as usize],
        }
    }

    /// Sorts the edges into rows and checks the result. All indices must be below `task_count`.
    pub(super) fn assemble(
        task_count: u32,
        edges: Vec<(u32, u32)>,
        names: Names,
        estimates: Estimates,
    ) -> Result<Self, GraphError> {
        if u32::try_from(edges.len()).is_err() || task_count == u32::MAX {
            return Err(GraphError::TooLarge);
        }
        if let Some(&(task, _)) = edges.iter().find(|(before, after)| before == after) {
            return Err(GraphError::SelfDependency { task: names.name(task).into_owned() });
        }
        let is_forward = edges.iter().all(|(before, after)| before < after);
        let (offsets, successors) = rows(task_count, edges);
        let mut dependency_counts = vec![0; task_count as usize];
        for &after in &successors {
            dependency_counts[after as usize] += 1;
        }
        let graph = Self { offsets, successors, dependency_counts, is_forward, names, estimates };
        match graph.find_cycle() {
            None => Ok(graph),
            Some(cycle) => Err(GraphError::Cycle {
                path: cycle.into_iter().map(|index| graph.name(index).into_owned()).collect(),
            }),
        }
    }
}

/// Only the sizes: a graph may have a million tasks.
/// A copy, for whoever has only a reference; an `Arc<Graph>` is shared without one.
impl From<&Graph> for Arc<Graph> {
    fn from(graph: &Graph) -> Self {
        Self::new(graph.clone())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("tasks", &self.len())
            .field("edges", &self.edge_count())
            .finish_non_exhaustive()
    }
}

/// Counting sort of edges by their first task; each row then ascending and free of repetitions.
fn rows(task_count: u32, edges: Vec<(u32, u32)>) -> (Vec<u32>, Vec<u32>) {
    let task_count = task_count as usize;
    let mut offsets = vec![0_u32; task_count + 1];
    for &(before, _) in &edges {
        offsets[before as usize + 1] += 1;
    }
    for index in 0..task_count {
        offsets[index + 1] += offsets[index];
    }
    let mut successors = vec![0_u32; edges.len()];
    let mut cursors = offsets.clone();
    for (before, after) in edges {
        let cursor = &mut cursors[before as usize];
        successors[*cursor as usize] = after;
        *cursor += 1;
    }
    drop(cursors);

    let mut kept = 0;
    let mut start = 0;
    for index in 0..task_count {
        let end = offsets[index + 1] as usize;
        successors[start..end].sort_unstable();
        let row_start = kept;
        for position in start..end {
            let after = successors[position];
            if kept == row_start || successors[kept - 1] != after {
                successors[kept] = after;
                kept += 1;
            }
        }
        offsets[index + 1] = kept as u32;
        start = end;
    }
    if kept < successors.len() {
        successors.truncate(kept);
        successors.shrink_to_fit();
    }
    (offsets, successors)
}
