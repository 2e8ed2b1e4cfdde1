//! [`Outputs`]: what the tasks of a run have left for each other.
//!
//! It is a copy of what the store keeps, for templates to read.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use serde_json::{Map, Value as Json};
use tidewheel::store::{OutputRecord, OutputValue};

use crate::compile::Scope;
use crate::definition::Flow;
use crate::language::template::{Data, Lookup};

/// What tasks of a run have left, by the name of the task.
#[derive(Debug, Default)]
pub struct Outputs {
    by_task: RwLock<HashMap<String, Kept>>,
    /// What most tasks leave: nothing.
    nothing: OnceLock<Kept>,
}

#[derive(Debug, Clone)]
struct Kept {
    values: Arc<Map<String, Json>>,
    /// The same, as templates read it.
    data: Data,
}

impl Outputs {
    /// Keeps what a task left.
    pub fn insert(&self, task: &str, values: Map<String, Json>) {
        let kept = match values.is_empty() {
            true => self.nothing.get_or_init(|| Kept::new(values)).clone(),
            false => Kept::new(values),
        };
        self.by_task.write().unwrap_or_else(PoisonError::into_inner).insert(task.to_owned(), kept);
    }

    /// What a task left, if it has succeeded.
    #[must_use]
    pub fn of(&self, task: &str) -> Option<Arc<Map<String, Json>>> {
        let kept = self.by_task.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(task).map(|kept| Arc::clone(&kept.values))
    }

    fn data(&self, task: &str) -> Option<Data> {
        let kept = self.by_task.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(task).map(|kept| kept.data.clone())
    }
}

impl Kept {
    fn new(values: Map<String, Json>) -> Self {
        let data = Data::from(Json::Object(values.clone()));
        Self { values: Arc::new(values), data }
    }
}

/// The outputs of one flow's steps, as templates know them: `flows`.
pub(crate) struct FlowsLookup {
    pub outputs: Arc<Outputs>,
    pub prefix: String,
    pub flow: Arc<Flow>,
    /// Of a group, those of what is around it.
    pub around: Option<Arc<FlowsLookup>>,
}

impl FlowsLookup {
    /// What the steps of a flow left; for a group, those around it too.
    pub fn of(scope: &Scope, whole: &Arc<Flow>, outputs: &Arc<Outputs>) -> Self {
        let around = scope.around(whole).filter(|_| scope.is_group());
        Self {
            outputs: Arc::clone(outputs),
            prefix: scope.prefix(),
            flow: Arc::clone(&scope.flow),
            around: around.map(|around| Arc::new(Self::of(&around, whole, outputs))),
        }
    }
}

impl Lookup for FlowsLookup {
    fn value(&self, name: &str) -> Option<Data> {
        match (self.flow.step(name), &self.around) {
            (None, Some(around)) => around.value(name),
            _ => self.outputs.data(&format!("{}{name}", self.prefix)),
        }
    }

    fn names(&self) -> Vec<String> {
        let is_there = |name: &&String| self.value(name).is_some();
        let mut names: Vec<String> = self.flow.names.iter().filter(is_there).cloned().collect();
        names.extend(self.around.iter().flat_map(|around| around.names()));
        names
    }
}

/// Outputs as a store keeps them: each as JSON.
pub(super) fn to_records(values: &Map<String, Json>) -> Vec<OutputRecord> {
    values
        .iter()
        .map(|(name, value)| OutputRecord {
            name: name.clone(),
            value: OutputValue::Bytes(value.to_string().into_bytes()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_leave_nothing_share_it() {
        let outputs = Outputs::default();
        outputs.insert("a", Map::new());
        outputs.insert("b", Map::new());
        let [a, b] = ["a", "b"].map(|task| outputs.of(task).expect("it has succeeded"));
        assert!(Arc::ptr_eq(&a, &b) && a.is_empty());
        assert!(outputs.of("c").is_none());
    }
}
