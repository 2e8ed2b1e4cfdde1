//! Approvals of Dagu: somebody looks at what a step did before others go on.
//!
//! They are steps of their own here; what waits for the step waits for them.

use serde_json::{Map, Value as Json, json};

use super::step::{Kin, goes_on};
use super::values::text_of;
use super::whole::{Converter, take};
use crate::import::document::{Element, Mapping, Tree};
use crate::import::text::has_template;
use crate::import::variables::{Part, parts};

/// The step that waits for an approval.
#[derive(Debug, Clone)]
pub(super) struct Gate {
    pub name: String,
    /// Whether others may go on although the step before it did not succeed; then nobody is asked.
    pub is_let_by: bool,
}

impl Converter {
    /// Notes that a step is approved, and what that would have told others.
    pub(super) fn note_approval(&mut self, step: &Map<String, Json>, name: &str) {
        let Some(said) = step.get("approval").filter(|said| is_asked(said)) else { return };
        let told = said.get("input").and_then(Json::as_array).into_iter().flatten();
        self.values.unset.extend(told.map(text_of));
        let gate = Gate { name: self.names.like(&format!("{name}-approval")), is_let_by: false };
        self.gates.insert(name.to_owned(), gate);
    }

    pub(super) fn note_let_by(&mut self, step: &Map<String, Json>, name: &str, kin: &Kin) {
        if let Some(gate) = self.gates.get_mut(name) {
            gate.is_let_by = ["failure", "skipped"].iter().any(|word| goes_on(step, kin, word));
        }
    }

    /// What is waited for by who comes behind a step.
    pub(super) fn behind(&self, name: &str) -> Vec<String> {
        match self.gates.get(name) {
            None => vec![name.to_owned()],
            Some(gate) if gate.is_let_by => vec![name.to_owned(), gate.name.clone()],
            Some(gate) => vec![gate.name.clone()],
        }
    }

    /// The step that waits for the approval of another one, which must have succeeded.
    pub(super) fn gate(
        &mut self,
        said: Json,
        name: &str,
        is_let_by: bool,
        place: &str,
    ) -> Option<Element> {
        if !is_asked(&said) {
            return None;
        }
        let mut said = match said {
            Json::Object(said) => said,
            prompt @ Json::String(_) => Map::from_iter([("prompt".to_owned(), prompt)]),
            _ => Map::new(),
        };
        let place = format!("{place}, approval");
        let mut gate = Mapping::new();
        let known = self.gates.get(name).map(|gate| gate.name.clone());
        let own = known.unwrap_or_else(|| self.names.like(&format!("{name}-approval")));
        gate.add("name", own.as_str());
        match is_let_by {
            true => gate.add("depends_on", json!({ "step": name, "when": "succeeded" })),
            false => gate.add("depends_on", json!([name])),
        }
        let prompt = take(&mut said, "prompt").map(|it| text_of(&it)).filter(|it| !it.is_empty());
        let is_variable = |part: &Part<'_>| matches!(part, Part::Variable { .. });
        let has_values = prompt.as_ref().is_some_and(|it| parts(it, false).iter().any(is_variable));
        if let Some(prompt) = prompt.as_ref().filter(|it| has_values || has_template(it)) {
            self.remarks.lose(&place, format!("values in the question `{prompt}`"));
        }
        let question = prompt.filter(|it| !has_template(it));
        gate.add("wait", json!({ "approval": question.map_or(json!(true), Json::from) }));
        if let Some(input) = take(&mut said, "input") {
            take(&mut said, "required");
            let text = format!("`input: {input}`, so who asks for one of them fails");
            self.remarks.lose(&place, text);
        }
        self.lost_keys(said, &place);
        if is_let_by {
            gate.add("on_skip", "continue");
        }
        Some(Element { comments: self.remarks.comments(), value: Tree::from(gate) })
    }
}

fn is_asked(said: &Json) -> bool {
    !matches!(said, Json::Null | Json::Bool(false))
}
