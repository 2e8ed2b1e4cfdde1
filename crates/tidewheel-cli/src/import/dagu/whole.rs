//! [`import`]: a file of Dagu, its keys in our order.
//!
//! Steps are written in `step`, their words for failures in `policy`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::approval::Gate;
use super::step::Kin;
use super::values::{Values, is_variable, text_of};
use crate::import::document::{Element, Mapping, Tree};
use crate::import::imported::{Imported, Remarks};
use crate::import::step_names::StepNames;
use crate::import::text::as_template;

/// Differences that concern every flow.
const HEADER: [&str; 5] = [
    "Imported from Dagu. What is different from there, besides the comments below:",
    "- What needs a step that failed is skipped, and the run has failed; so it is there.",
    "- Processes get PATH, HOME and a few more variables (`inherit` and `env` add others); in Dagu \
     they got everything.",
    "- Values come into commands as variables, never as text; params are variables of all steps.",
    "- `tidewheel run` runs it here and now; `tidewheel schedule` says when it would be run.",
];

/// Makes a flow of the documents of a file: the first one, and those it calls.
///
/// The error says what is wrong.
pub(crate) fn import(documents: Vec<Json>) -> Result<Imported, String> {
    let mut maps = Vec::new();
    for document in documents {
        match document {
            Json::Object(map) => maps.push(map),
            Json::Null => {}
            _ => return Err("a flow of Dagu is a mapping with the key `steps`".to_owned()),
        }
    }
    let mut maps = maps.into_iter();
    let Some(first) = maps.next() else { return Err("there is nothing in it".to_owned()) };
    if !first.contains_key("steps") {
        return Err("a flow of Dagu has the key `steps`".to_owned());
    }
    let named = maps.filter_map(|map| Some((map.get("name")?.as_str()?.to_owned(), map.clone())));
    let mut converter = Converter { locals: named.collect(), ..Converter::default() };
    let (root, steps) = converter.flow(first);
    Ok(Imported::new(&HEADER, &root, steps, converter.remarks.warnings))
}

/// What is known while a flow is converted.
#[derive(Debug, Default)]
pub(super) struct Converter {
    pub remarks: Remarks,
    pub values: Values,
    pub names: StepNames,
    /// Steps whose failure keeps nobody from running.
    pub tolerated: BTreeSet<String>,
    /// What waits for the approval of a step, by its name.
    pub gates: BTreeMap<String, Gate>,
    /// Flows in the same file, by name.
    pub locals: BTreeMap<String, Map<String, Json>>,
    /// How deep in calls of those.
    pub depth: usize,
}

/// Takes a key out, in either spelling: `retry_policy` and `retryPolicy`.
pub(super) fn take(map: &mut Map<String, Json>, key: &str) -> Option<Json> {
    let found = map.remove(key).or_else(|| map.remove(&camel(key)));
    found.filter(|value| !value.is_null())
}

fn camel(key: &str) -> String {
    let mut parts = key.split('_');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        name.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

/// Seconds as a duration.
pub(super) fn seconds(value: &Json) -> String {
    format!("{}s", text_of(value))
}

impl Converter {
    fn flow(&mut self, mut map: Map<String, Json>) -> (Mapping, usize) {
        let mut root = Mapping::new();
        if let Some(Json::String(name)) = take(&mut map, "name") {
            root.add("name", name.as_str());
        }
        if let Some(Json::String(text)) = take(&mut map, "description") {
            root.add("description", text.as_str());
        }
        let tags: Vec<String> =
            ["tags", "group"].iter().filter_map(|key| take(&mut map, key)).flat_map(tags).collect();
        if !tags.is_empty() {
            root.add("tags", json!(tags));
        }
        if let Some(schedule) = take(&mut map, "schedule") {
            self.schedule(&mut root, schedule, &mut map);
        }
        if let Some(params) = take(&mut map, "params") {
            self.params(params);
        }
        let params = self.written_params();
        if !params.is_empty() {
            root.add("params", params);
        }
        if let Some(secrets) = take(&mut map, "secrets") {
            let secrets = self.secrets(&secrets);
            if !secrets.is_empty() {
                root.add("secrets", secrets);
            }
        }
        if let Some(files) = take(&mut map, "dotenv") {
            root.add("env_file", files);
        }
        let env = take(&mut map, "env").unwrap_or_default();
        let env = self.env_of_flow(env);
        self.concurrency(&mut root, &mut map);
        self.runner(&mut root, &mut map);
        let kind = take(&mut map, "type").map(|word| text_of(&word));
        let is_graph = kind.as_deref() == Some("graph");
        let steps = take(&mut map, "steps").unwrap_or_default();
        self.note_order(kind.as_deref(), &steps);
        let mut handlers = match take(&mut map, "handler_on") {
            Some(Json::Object(handlers)) => handlers,
            _ => Map::new(),
        };
        let shared = self.shared_keys(&mut map);
        let conditions = take(&mut map, "preconditions").or_else(|| take(&mut map, "precondition"));
        self.lost_keys(map, "the flow");
        let comments = self.remarks.comments();
        let of_hooks = Kin { is_chain: false, shared: shared.clone() };
        let first = self.first_steps(conditions, handlers.remove("init"), &of_hooks);
        let steps = self.steps(steps, &Kin { is_chain: !is_graph, shared }, first);
        let hooks = self.hooks(handlers, &of_hooks);
        // What variables ask for is known only now.
        if !self.values.ours.is_empty() {
            let names: Vec<&String> = self.values.ours.iter().collect();
            let source = json!({ "ours": { "type": "env", "configuration": { "vars": names } } });
            root.add("sources", source);
        }
        if !env.is_empty() {
            root.add("env", env);
        }
        let count = steps.len();
        root.add_with(comments, "flow", steps);
        for (key, steps) in hooks {
            root.add(key, steps);
        }
        (root, count)
    }

    /// Notes how steps follow each other where the file does not say it as all versions would read it.
    fn note_order(&mut self, kind: Option<&str>, steps: &Json) {
        let steps = steps.as_array().into_iter().flatten().skip(1);
        let is_open = |step: &Json| step.get("depends").is_none();
        match kind {
            Some("graph" | "chain") => {}
            Some(other) => self.remarks.lose("the flow", format!("`type: {other}`")),
            None if steps.into_iter().any(is_open) => self.remarks.say(
                "Nothing says `type`: a step without `depends` waits for the one before it, as in a `chain`.",
            ),
            None => {}
        }
    }

    /// Secrets, which are variables of all steps there.
    fn secrets(&mut self, said: &Json) -> Mapping {
        let mut secrets = Mapping::new();
        for secret in said.as_array().into_iter().flatten() {
            let text = |key: &str| secret.get(key).and_then(Json::as_str);
            let name = text("name").filter(|name| is_variable(name)).unwrap_or_default();
            let key = match (text("provider"), text("key")) {
                (Some("env"), Some(key)) => json!({ "env": key }),
                (Some("file"), Some(key)) => json!({ "file": key }),
                _ => {
                    let text = format!("the secret {secret}, so who asks for `{name}` fails");
                    self.remarks.lose("the flow", text);
                    self.values.unset.insert(name.to_owned());
                    continue;
                }
            };
            secrets.add(name, key);
            self.values.env.push((name.to_owned(), format!("{{{{ secrets.{name} }}}}")));
        }
        secrets
    }

    /// Variables of the flow; params and secrets are variables too.
    fn env_of_flow(&mut self, env: Json) -> Mapping {
        let mut written = Mapping::new();
        for (name, _) in &self.values.params {
            written.add(name, format!("{{{{ params.{name} }}}}").as_str());
        }
        for (name, value) in &self.values.env {
            written.add(name, value.as_str());
        }
        for (name, value) in self.variables(env, "the flow") {
            written.add(&name, value.as_str());
        }
        written
    }

    /// When it is run by itself.
    fn schedule(&mut self, root: &mut Mapping, value: Json, map: &mut Map<String, Json>) {
        let start = match value {
            Json::Object(mut parts) => {
                for key in ["stop", "restart"] {
                    if let Some(value) = parts.remove(key) {
                        self.remarks.lose("schedule", format!("`schedule.{key}: {value}`"));
                    }
                }
                parts.remove("start").unwrap_or(Json::Object(parts))
            }
            other => other,
        };
        let overlap = take(map, "overlap_policy").map_or("skip", |word| match word.as_str() {
            Some("all") => "queue-all",
            Some("latest") => "queue-newest",
            _ => "skip",
        });
        let misfire = match take(map, "catchup_window") {
            // There the policy says it of what is made up for, too.
            Some(window) => {
                let (word, what) = match overlap {
                    "queue-newest" => ("latest", "the newest"),
                    _ => ("all", "all"),
                };
                let lost = format!("`catchup_window: {window}`; {what} is made up for");
                self.remarks.lose("schedule", lost);
                word
            }
            None => "skip",
        };
        let entries = match start {
            Json::Array(entries) => entries,
            Json::Null => Vec::new(),
            one => vec![one],
        };
        let mut schedules = Vec::new();
        for entry in entries {
            let mut schedule = Mapping::new();
            match &entry {
                Json::Object(entry) if entry.contains_key("at") => {
                    schedule.add("at", text_of(&entry["at"]).as_str());
                }
                Json::Object(entry) => {
                    let text = entry.get("expression").map(text_of).unwrap_or_default();
                    self.cron(&mut schedule, &text);
                }
                other => self.cron(&mut schedule, &text_of(other)),
            }
            schedule.add("overlap", overlap);
            schedule.add("misfire", misfire);
            schedules.push(Element::from(Tree::from(schedule)));
        }
        if !schedules.is_empty() {
            root.add_with(self.remarks.comments(), "schedule", schedules);
        }
    }

    fn cron(&mut self, schedule: &mut Mapping, text: &str) {
        let zone = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="));
        match zone.and_then(|rest| rest.split_once(' ')) {
            Some((zone, expression)) => {
                schedule.add("cron", expression.trim());
                schedule.add("zone", zone);
            }
            None => schedule.add("cron", text),
        }
    }

    fn concurrency(&mut self, root: &mut Mapping, map: &mut Map<String, Json>) {
        let most = take(map, "max_active_runs").and_then(|value| value.as_i64());
        let queue = take(map, "queue").map(|queue| text_of(&queue));
        let Some(most) = most.filter(|most| *most > 0) else {
            if let Some(queue) = queue {
                self.remarks.lose("the flow", format!("`queue: {queue}`"));
            }
            return;
        };
        let group = queue.or(root.text("name")).unwrap_or_else(|| "imported".to_owned());
        root.add("concurrency", json!({ "group": as_template(&group), "max": most }));
    }

    fn runner(&mut self, root: &mut Mapping, map: &mut Map<String, Json>) {
        let mut runner = Mapping::new();
        if let Some(count) = take(map, "max_active_steps") {
            runner.add("max_workers", count);
        }
        if let Some(time) = take(map, "timeout_sec") {
            runner.add("timeout", seconds(&time).as_str());
        }
        // There a failure stops nothing but what needs the step.
        runner.add("on_error", "skip");
        root.add("runner", runner);
    }

    /// What is done before everything else: conditions and the handler of the beginning.
    fn first_steps(
        &mut self,
        conditions: Option<Json>,
        init: Option<Json>,
        kin: &Kin,
    ) -> Vec<Element> {
        let mut first = Vec::new();
        let mut after = Vec::new();
        if let Some(conditions) = conditions {
            let name = self.names.like("preconditions");
            first.push(self.check(&name, &conditions, &after));
            after.push(name);
        }
        if let Some(step) = init.and_then(handler) {
            first.extend(self.step(step, "init", kin, &after));
        }
        first
    }

    fn hooks(
        &mut self,
        mut handlers: Map<String, Json>,
        kin: &Kin,
    ) -> Vec<(&'static str, Vec<Element>)> {
        self.values.is_hook = true;
        let mut hooks = Vec::new();
        for (word, key) in [("success", "on_success"), ("failure", "on_failure")] {
            if let Some(step) = handlers.remove(word).and_then(handler) {
                hooks.push((key, self.step(step, key, kin, &[])));
            }
        }
        let mut last = Vec::new();
        for word in ["cancel", "abort"] {
            if let Some(step) = handlers.remove(word).and_then(handler) {
                let condition = Some("run.state == 'cancelled'".to_owned());
                last.extend(self.step_when(step, "on-cancel", kin, &[], condition));
            }
        }
        if let Some(step) = handlers.remove("exit").and_then(handler) {
            last.extend(self.step(step, "on-exit", kin, &[]));
        }
        if !last.is_empty() {
            hooks.push(("finally", last));
        }
        for (word, _) in handlers {
            self.remarks.lose("handler_on", format!("`{word}`"));
        }
        hooks
    }

    /// What the flow says for all of its steps.
    pub(super) fn shared_keys(&mut self, map: &mut Map<String, Json>) -> Vec<(String, Json)> {
        let mut shared = Vec::new();
        if let Some(Json::Object(defaults)) = take(map, "defaults") {
            shared.extend(defaults);
        }
        for key in ["working_dir", "shell", "container"] {
            if let Some(value) = take(map, key) {
                if key == "container" {
                    self.remarks
                        .say("Each step has a container of its own; there all of them shared one.");
                }
                shared.push((key.to_owned(), value));
            }
        }
        shared
    }

    /// Notes each key that nothing was made of.
    pub(super) fn lost_keys(&mut self, map: Map<String, Json>, place: &str) {
        for (key, value) in map.into_iter().filter(|(_, value)| !value.is_null()) {
            self.remarks.lose(place, format!("`{key}: {value}`"));
        }
    }
}

/// A step that follows the run, in either of its forms.
fn handler(value: Json) -> Option<Map<String, Json>> {
    match value {
        Json::Object(step) => Some(step),
        Json::String(command) => Some(Map::from_iter([("command".to_owned(), command.into())])),
        _ => None,
    }
}

/// Words to find it by, in any of their forms.
fn tags(value: Json) -> Vec<String> {
    match value {
        Json::String(text) => {
            let words = text.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        }
        Json::Array(values) => values.into_iter().flat_map(tags).collect(),
        Json::Object(map) => {
            map.into_iter().map(|(key, value)| format!("{key}={}", text_of(&value))).collect()
        }
        _ => Vec::new(),
    }
}
