//! [`Bound`]: what no schedule can beat, to hold a plan against.
//!
//! Only the plain bounds are here; the exact optimum is a search of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel_core::graph::Graph;

use super::problem::Problem;

/// Lower bounds on the makespan of a [`Problem`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The longest path through the graph.
    pub critical_path: Duration,
    /// The sum of all durations.
    pub work: Duration,
    /// The sum of all durations over the slots.
    pub per_slot: Duration,
    /// For each resource, the time all its units are taken at the least.
    pub per_resource: BTreeMap<String, Duration>,
}

impl Bound {
    /// The bounds of `problem`, whose graph is `graph`, on so many slots.
    #[must_use]
    pub fn of(problem: &Problem, graph: &Graph, slots: Option<u32>) -> Self {
        let mut earliest_end = vec![Duration::ZERO; problem.tasks.len()];
        for index in graph.topological_order() {
            let end = earliest_end[index as usize] + problem.tasks[index as usize].duration;
            earliest_end[index as usize] = end;
            for &next in graph.successors(index) {
                let start = &mut earliest_end[next as usize];
                *start = end.max(*start);
            }
        }
        let work = problem.tasks.iter().map(|task| task.duration).sum::<Duration>();
        let mut held: BTreeMap<String, Duration> = BTreeMap::new();
        for task in &problem.tasks {
            for (resource, units) in &task.resources {
                *held.entry(resource.clone()).or_default() += task.duration * *units;
            }
        }
        for (resource, held) in &mut held {
            *held /= problem.capacity.get(resource).copied().unwrap_or(1).max(1);
        }
        Self {
            critical_path: earliest_end.into_iter().max().unwrap_or_default(),
            work,
            per_slot: slots.map_or(Duration::ZERO, |slots| work / slots.max(1)),
            per_resource: held,
        }
    }

    /// The greatest of them.
    #[must_use]
    pub fn lower(&self) -> Duration {
        let most_wanted = self.per_resource.values().copied().max().unwrap_or_default();
        self.critical_path.max(self.per_slot).max(most_wanted)
    }
}
