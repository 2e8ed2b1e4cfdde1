//! Steps of Dagu: their names, what they wait for, what comes out.
//!
//! What they do is in `work`, their words for failures in `policy`.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::values::text_of;
use super::whole::{Converter, seconds, take};
use crate::import::document::{Element, Mapping, Tree};

/// The exit code of a condition that does not hold.
const NO: i32 = 78;

/// What the steps of one list have in common.
#[derive(Debug, Default)]
pub(super) struct Kin {
    /// Whether each waits for the one before it, unless it says otherwise.
    pub is_chain: bool,
    /// What counts for those that do not say it.
    pub shared: Vec<(String, Json)>,
}

impl Converter {
    /// Steps in any of their forms, after those that come first.
    pub(super) fn steps(&mut self, steps: Json, kin: &Kin, first: Vec<Element>) -> Vec<Element> {
        let mut listed: Vec<Vec<Map<String, Json>>> = Vec::new();
        match steps {
            Json::Array(steps) => listed.extend(steps.into_iter().map(side_by_side)),
            Json::Object(steps) => listed.extend(steps.into_iter().map(|(name, step)| {
                let mut steps = side_by_side(step);
                for step in &mut steps {
                    step.entry("name").or_insert_with(|| name.clone().into());
                }
                steps
            })),
            _ => {}
        }
        let named = self.name_all(&mut listed);
        for step in listed.iter().flatten() {
            let name = text_of(&step["name"]);
            self.note_let_by(step, &name, kin);
            if goes_on(step, kin, "failure") {
                self.tolerated.extend(self.behind(&name));
                self.tolerated.insert(name);
            }
            self.values.has_gaps |= goes_on(step, kin, "skipped");
        }
        self.values.steps.extend(named.clone());
        let mut written = first;
        let mut before: Vec<String> = written.last().and_then(name_of).into_iter().collect();
        let entry = before.clone();
        for steps in listed {
            let mut these = Vec::new();
            for step in steps {
                let name = text_of(&step["name"]);
                let after = self.needs(&step, kin, (&before, &entry), &named);
                written.extend(self.step(step, &name, kin, &after));
                these.extend(self.behind(&name));
            }
            before = these;
        }
        written
    }

    /// Gives each step a name that it can have, and notes what it leaves. Old names and ids are found by
    /// what is given back.
    fn name_all(&mut self, listed: &mut [Vec<Map<String, Json>>]) -> BTreeMap<String, String> {
        let mut named = BTreeMap::new();
        for (step, number) in listed.iter_mut().flatten().zip(1..) {
            let said = step.get("name").or(step.get("id")).map(text_of);
            let said = said.filter(|name| !name.is_empty());
            let name = self.names.like(&said.clone().unwrap_or_else(|| format!("step-{number}")));
            named.extend(said.map(|said| (said, name.clone())));
            named.extend(step.remove("id").map(|id| (text_of(&id), name.clone())));
            self.note_output(step, &name);
            self.note_approval(step, &name);
            step.insert("name".to_owned(), name.into());
        }
        named
    }

    /// What a step waits for.
    fn needs(
        &mut self,
        step: &Map<String, Json>,
        kin: &Kin,
        (before, entry): (&[String], &[String]),
        named: &BTreeMap<String, String>,
    ) -> Vec<String> {
        let said: Vec<String> = match step.get("depends") {
            Some(Json::String(name)) => vec![name.clone()],
            Some(Json::Array(names)) => names.iter().map(text_of).collect(),
            _ if kin.is_chain => return before.to_vec(),
            _ => Vec::new(),
        };
        match said.is_empty() {
            true => entry.to_vec(),
            false => said.iter().flat_map(|it| self.behind(named.get(it).unwrap_or(it))).collect(),
        }
    }

    /// A step, and before it the one that looks whether it is to be done.
    pub(super) fn step(
        &mut self,
        step: Map<String, Json>,
        name: &str,
        kin: &Kin,
        after: &[String],
    ) -> Vec<Element> {
        self.step_when(step, name, kin, after, None)
    }

    pub(super) fn step_when(
        &mut self,
        mut map: Map<String, Json>,
        name: &str,
        kin: &Kin,
        after: &[String],
        when: Option<String>,
    ) -> Vec<Element> {
        let name = map.remove("name").map_or_else(|| self.names.like(name), |it| text_of(&it));
        map.remove("depends");
        for (key, value) in &kin.shared {
            map.entry(key.clone()).or_insert_with(|| value.clone());
        }
        let place = format!("step `{name}`");
        let mut written = Vec::new();
        let mut needed: Vec<Json> = after.iter().map(|name| json!(name)).collect();
        let conditions = take(&mut map, "preconditions").or_else(|| take(&mut map, "precondition"));
        if let Some(conditions) = conditions {
            let check = self.names.like(&format!("{name}-if"));
            written.push(self.check(&check, &conditions, after));
            // Its word for skips is for those behind it, and not for what it asks itself.
            needed.push(match goes_on(&map, kin, "skipped") {
                true => json!({ "step": check, "when": "succeeded" }),
                false => json!(check),
            });
        }
        let mut step = Mapping::new();
        step.add("name", name.as_str());
        if let Some(Json::String(text)) = take(&mut map, "description") {
            step.add("description", text.as_str());
        }
        if !needed.is_empty() {
            step.add("depends_on", json!(needed));
        }
        if let Some(when) = when {
            step.add("when", when.as_str());
        }
        let (output, listed) = (take(&mut map, "output"), take(&mut map, "outputs"));
        let approval = take(&mut map, "approval");
        let is_let_by = ["failure", "skipped"].iter().any(|word| goes_on(&map, kin, word));
        let is_tested = self.work(&mut step, &mut map, &place, output.is_some());
        if let Some(output) = output {
            self.output(&mut step, &output, &place);
        }
        if let Some(listed) = listed {
            self.listed_outputs(&mut step, &listed, &place);
        }
        if let Some(time) = take(&mut map, "timeout_sec") {
            step.add("timeout", seconds(&time).as_str());
        }
        let is_all_tolerated = after.iter().all(|name| self.tolerated.contains(name));
        if goes_on(&map, kin, "failure") && !is_all_tolerated {
            // There it is about the failure of the step itself.
            step.add("on_dependency_error", "skip");
        }
        self.policies(&mut step, &mut map, is_tested, &place);
        self.lost_keys(map, &place);
        self.lose_unknown(&place);
        written.push(Element { comments: self.remarks.comments(), value: Tree::from(step) });
        written.extend(approval.and_then(|said| self.gate(said, &name, is_let_by, &place)));
        written
    }

    /// A step that says by its exit code whether others are to be done.
    pub(super) fn check(&mut self, name: &str, conditions: &Json, after: &[String]) -> Element {
        let conditions = match conditions {
            Json::Array(conditions) => conditions.clone(),
            one => vec![one.clone()],
        };
        let lines: Vec<String> = conditions.iter().map(condition_line).collect();
        let text = lines.join("\n") + "\n";
        let mut step = Mapping::new();
        step.add("name", name);
        if !after.is_empty() {
            step.add("depends_on", json!(after));
        }
        let mut env = Mapping::new();
        let text = self.with_paths(&mut env, &text, &format!("step `{name}`"));
        self.ask_for(&mut env, &text);
        if !env.is_empty() {
            step.add("env", env);
        }
        self.shell_text(&mut step, &text, None);
        step.add("skip_codes", json!([NO]));
        Element::from(Tree::from(step))
    }
}

/// Whether what comes after a step goes on although it failed, or was skipped.
pub(super) fn goes_on(step: &Map<String, Json>, kin: &Kin, word: &str) -> bool {
    let shared = kin.shared.iter().find(|(key, _)| is_key(key)).map(|(_, value)| value);
    match step.iter().find(|(key, _)| is_key(key)).map(|(_, value)| value).or(shared) {
        Some(Json::String(said)) => said == word || word == "failure" && said == "failed",
        Some(on) => on.get(word) == Some(&Json::Bool(true)),
        None => false,
    }
}

fn is_key(key: &str) -> bool {
    key == "continue_on" || key == "continueOn"
}

/// One that is a list of steps is for steps side by side.
fn side_by_side(step: Json) -> Vec<Map<String, Json>> {
    match step {
        Json::Object(map) => vec![map],
        Json::Array(steps) => steps.into_iter().flat_map(side_by_side).collect(),
        Json::String(command) => {
            vec![Map::from_iter([("command".to_owned(), Json::from(command))])]
        }
        _ => Vec::new(),
    }
}

/// The name of a step that was written.
fn name_of(step: &Element) -> Option<String> {
    match &step.value {
        Tree::Map(map) => map.text("name"),
        _ => None,
    }
}

/// A line of shell that ends the step if a condition does not hold.
fn condition_line(condition: &Json) -> String {
    let (text, expected, is_negated) = match condition {
        Json::Object(map) => (
            map.get("condition").map(text_of).unwrap_or_default(),
            map.get("expected").map(text_of),
            map.get("negate") == Some(&Json::Bool(true)),
        ),
        other => (text_of(other), None, false),
    };
    let test = test_of(&text, expected.as_deref());
    match is_negated {
        true => format!("! {test} || exit {NO}"),
        false => format!("{test} || exit {NO}"),
    }
}

/// A command that succeeds if a condition holds.
pub(super) fn test_of(text: &str, expected: Option<&str>) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    match expected {
        Some(expected) => {
            // Variables and commands in it are filled in, as between such quotes.
            let value = format!("\"{}\"", text.replace('"', "\\\""));
            match expected.strip_prefix("re:") {
                Some(pattern) => {
                    format!("printf '%s\\n' {value} | grep -Eq -- {}", quoted(pattern))
                }
                None => format!("test {value} = {}", quoted(expected)),
            }
        }
        None => {
            let text = text.trim().trim_matches('`');
            format!("( {text} )")
        }
    }
}
