//! What the elements of a run's steps were, for people: tasks say only their numbers.
//!
//! What elements are while a run goes on is found out in `execute`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::compile::{Elements, Role, Scope, Segment, TaskName, elements_of};
use crate::definition::Flow;
use crate::execute::{FlowsLookup, Outputs};
use crate::language::template::Context;

impl Flow {
    /// The values of the elements that these tasks are for, by task, as far as they follow from the params of
    /// the run and what its steps left.
    #[must_use]
    pub fn element_values<'t>(
        self: &Arc<Self>,
        params: &BTreeMap<String, Json>,
        outputs: &Arc<Outputs>,
        tasks: impl IntoIterator<Item = &'t str>,
    ) -> HashMap<String, Json> {
        let mut known: HashMap<Vec<Segment>, Option<Elements>> = HashMap::new();
        let mut values = HashMap::new();
        for task in tasks {
            let Some(name) = TaskName::parse(task) else { continue };
            let Role::Element(element) = &name.role else { continue };
            let mut path = name.scope.clone();
            path.push(Segment { step: name.step.clone(), element: None, again: 1 });
            let elements = known.entry(path);
            let elements = elements.or_insert_with(|| self.elements_at(&name, params, outputs));
            if let Some((_, value)) = elements.as_ref().and_then(|it| it.find(element)) {
                values.insert(task.to_owned(), value.clone());
            }
        }
        values
    }

    fn elements_at(
        self: &Arc<Self>,
        name: &TaskName,
        params: &BTreeMap<String, Json>,
        outputs: &Arc<Outputs>,
    ) -> Option<Elements> {
        let scope = Scope::find(self, &name.scope).filter(Scope::has_params_of_run)?;
        let step = scope.flow.step(&name.step)?;
        let params = Json::Object(params.clone().into_iter().collect());
        let flows = FlowsLookup::of(&scope, self, outputs);
        let context = Context::new().with("params", params).with_lookup("flows", Arc::new(flows));
        elements_of(step, step.foreach.as_ref()?, &context).ok()
    }
}
