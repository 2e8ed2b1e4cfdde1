//! What the elements of a run's steps were, for people: tasks say only their numbers.
//!
//! What elements are while a run goes on is found out in `execute`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::compile::{Role, Scope, Segment, TaskName};
use crate::definition::params::resolve_params;
use crate::definition::{Element, Elements, Flow, Work, elements_of};
use crate::execute::{FlowsLookup, Outputs};
use crate::language::template::Context;

impl Flow {
    /// The values of the elements that these tasks are for, or are inside of, by task, as far as they follow from
    /// the params of the run and what its steps left. Of several elements in each other it is the innermost.
    #[must_use]
    pub fn element_values<'t>(
        self: &Arc<Self>,
        params: &BTreeMap<String, Json>,
        outputs: &Arc<Outputs>,
        tasks: impl IntoIterator<Item = &'t str>,
    ) -> HashMap<String, Json> {
        let params = Json::Object(params.clone().into_iter().collect());
        let mut past = Past { flow: self, params, outputs, elements: HashMap::new() };
        let mut values = HashMap::new();
        for task in tasks {
            let Some(name) = TaskName::parse(task) else { continue };
            let found = innermost(&name);
            let value = found.and_then(|(scope, step, element)| past.value(scope, step, element));
            values.extend(value.map(|(_, value)| (task.to_owned(), value)));
        }
        values
    }
}

/// The innermost element of a task: where its step is, and which it is.
fn innermost(name: &TaskName) -> Option<(&[Segment], &str, &Element)> {
    if let Role::Element(element) | Role::Open(Some(element)) = &name.role {
        return Some((&name.scope, &name.step, element));
    }
    let place = name.scope.iter().rposition(|segment| segment.element.is_some())?;
    let Segment { step, element, .. } = &name.scope[place];
    Some((&name.scope[..place], step, element.as_ref()?))
}

/// What is found out about a run, and kept: many tasks ask for the same.
struct Past<'a> {
    flow: &'a Arc<Flow>,
    params: Json,
    outputs: &'a Arc<Outputs>,
    /// By where the step is, and its name.
    elements: HashMap<(Vec<Segment>, String), Option<Arc<Elements>>>,
}

impl Past<'_> {
    /// An element of a step: its number and its value.
    fn value(&mut self, scope: &[Segment], step: &str, element: &Element) -> Option<(usize, Json)> {
        let key = (scope.to_vec(), step.to_owned());
        let elements = match self.elements.get(&key) {
            Some(known) => known.clone(),
            None => {
                let found = self.elements_of(scope, step).map(Arc::new);
                self.elements.insert(key, found.clone());
                found
            }
        };
        elements?.find(element).map(|(index, value)| (index, value.clone()))
    }

    fn elements_of(&mut self, scope: &[Segment], step: &str) -> Option<Elements> {
        let scope = Scope::find(self.flow, scope)?;
        let step = scope.flow.step(step)?;
        let context = self.context(&scope)?;
        elements_of(step, step.foreach.as_deref()?, &context).ok()
    }

    /// What the templates of a flow know of what is known after a run: no secrets, nothing of the environment.
    fn context(&mut self, scope: &Scope) -> Option<Context> {
        let context = match scope.calls.last() {
            None => Context::new().with("params", self.params.clone()),
            Some((segment, step)) => {
                let around = scope.around(self.flow)?;
                let mut context = self.context(&around)?;
                if let (Some(element), Some(foreach)) = (&segment.element, &step.foreach) {
                    let (index, value) = self.value(&around.path(), &step.name, element)?;
                    context = context.with(&foreach.variable, value).with("index", json!(index));
                }
                if scope.is_group() {
                    context
                } else {
                    let Work::Flow(child) = &step.work else { return None };
                    let said = child.params.iter();
                    let said =
                        said.map(|(name, tree)| Some((name.clone(), tree.render(&context).ok()?)));
                    let params = resolve_params(&child.flow, said.collect::<Option<_>>()?).ok()?;
                    Context::new().with("params", Json::Object(params.into_iter().collect()))
                }
            }
        };
        let flows = FlowsLookup::of(scope, self.flow, self.outputs);
        Some(context.with_lookup("flows", Arc::new(flows)))
    }
}
