//! Graphs as they are written: names, who waits for whom, and estimates.
//!
//! A graph whose tasks are named by their numbers is written without names.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel_core::graph::Graph;

use super::CodecError;

/// A [`Graph`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GraphRecord {
    tasks: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    names: Option<Vec<String>>,
    /// By task that others wait for, those with none left out: its index, then theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    edges: Vec<Vec<u32>>,
    #[serde(default, skip_serializing_if = "EstimatesRecord::is_none")]
    estimates: EstimatesRecord,
}

/// Nanoseconds, as the graph itself counts them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EstimatesRecord {
    #[default]
    None,
    Uniform(u64),
    Each(Vec<u64>),
}

impl EstimatesRecord {
    fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    fn of(graph: &Graph) -> Self {
        let nanos = |index| {
            let nanos = graph.estimate(index).as_nanos();
            u64::try_from(nanos).unwrap_or(u64::MAX)
        };
        let first = if graph.is_empty() { 0 } else { nanos(0) };
        match (0..graph.len()).all(|index| nanos(index) == first) {
            true if first == 0 => Self::None,
            true => Self::Uniform(first),
            false => Self::Each((0..graph.len()).map(nanos).collect()),
        }
    }
}

impl GraphRecord {
    pub(super) fn of(graph: &Graph) -> Self {
        let is_numbered = (0..graph.len()).all(|index| matches!(graph.name(index), Cow::Owned(_)));
        let names = || (0..graph.len()).map(|index| graph.name(index).into_owned()).collect();
        let row = |index: u32| {
            let successors = graph.successors(index);
            let row = || std::iter::once(index).chain(successors.iter().copied()).collect();
            (!successors.is_empty()).then(row)
        };
        Self {
            tasks: graph.len(),
            names: (!is_numbered).then(names),
            edges: (0..graph.len()).filter_map(row).collect(),
            estimates: EstimatesRecord::of(graph),
        }
    }

    /// The names of all tasks.
    pub(crate) fn name(&self, index: u32) -> Option<Cow<'_, str>> {
        match &self.names {
            Some(names) => names.get(index as usize).map(|name| Cow::Borrowed(name.as_str())),
            None => (index < self.tasks).then(|| Cow::Owned(index.to_string())),
        }
    }

    /// How many tasks there are.
    pub(crate) fn len(&self) -> u32 {
        self.tasks
    }

    /// Who waits for whom: (before, after).
    pub(crate) fn edges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.edges
            .iter()
            .filter_map(|row| row.split_first())
            .flat_map(|(before, after)| after.iter().map(|after| (*before, *after)))
    }

    pub(super) fn into_value(self) -> Result<Graph, CodecError> {
        let fail = |error: &dyn std::fmt::Display| CodecError::value("a graph", error.to_string());
        let graph = match &self.names {
            None => Graph::numbered(self.tasks, self.edges()).map_err(|error| fail(&error))?,
            Some(names) => {
                if names.len() != self.tasks as usize {
                    return Err(CodecError::value("a graph", "another number of names"));
                }
                self.named(names)?
            }
        };
        Ok(match self.estimates {
            EstimatesRecord::None => graph,
            EstimatesRecord::Uniform(nanos) => {
                graph.with_uniform_estimate(Duration::from_nanos(nanos))
            }
            EstimatesRecord::Each(nanos) if nanos.len() == self.tasks as usize => {
                graph.with_estimates(|index| Duration::from_nanos(nanos[index as usize]))
            }
            EstimatesRecord::Each(_) => {
                return Err(CodecError::value("a graph", "another number of estimates"));
            }
        })
    }

    fn named(&self, names: &[String]) -> Result<Graph, CodecError> {
        let mut before = vec![Vec::new(); names.len()];
        for (first, second) in self.edges() {
            match (before.get_mut(second as usize), names.get(first as usize)) {
                (Some(row), Some(name)) => row.push(name),
                _ => return Err(CodecError::value("a graph", "an edge of no task")),
            }
        }
        let mut builder = Graph::builder();
        for (name, before) in names.iter().zip(before) {
            builder.task(name).after(before);
        }
        builder.build().map_err(|error| CodecError::value("a graph", error.to_string()))
    }
}
