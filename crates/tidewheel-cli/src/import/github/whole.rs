//! [`import`]: a workflow, its keys in our order.
//!
//! Jobs are written in `group`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::step::shell_of;
use super::values::Names;
use crate::import::document::Mapping;
use crate::import::imported::{Imported, Remarks};
use crate::import::step_names::StepNames;

/// Differences that concern every workflow.
const HEADER: [&str; 7] = [
    "Imported from GitHub Actions. What is different from there, besides the comments below:",
    "- All of it runs on this machine and in the folder of this file; nothing is checked out.",
    "- A job is a group of steps, each of which waits for the one before it.",
    "- An element of a matrix that fails does not end the others.",
    "- Values come into commands as variables, never as text.",
    "- Processes get PATH, HOME and a few more variables (`inherit` and `env` add others).",
    "- Events start nothing here; `tidewheel run` does, and `schedule` says when it would be run.",
];

/// Makes a flow of a workflow.
///
/// The error says what is wrong.
pub(crate) fn import(workflow: Json) -> Result<Imported, String> {
    let Json::Object(map) = workflow else {
        return Err("a workflow is a mapping with the key `jobs`".to_owned());
    };
    if !map.get("jobs").is_some_and(Json::is_object) {
        return Err("a workflow has jobs: a mapping under the key `jobs`".to_owned());
    }
    let mut converter = Converter::default();
    let (root, steps) = converter.flow(map);
    Ok(Imported::new(&HEADER, &root, steps, converter.remarks.warnings))
}

/// What is known while a workflow is converted.
#[derive(Debug, Default)]
pub(super) struct Converter {
    pub remarks: Remarks,
    pub names: StepNames,
    pub names_here: Names,
    /// The container that the steps of the job run in.
    pub container: Option<Json>,
    /// Whether steps do not run where the workflow does.
    pub has_folder: bool,
    /// Jobs as they are written, and what each needs.
    pub order: Vec<String>,
    pub needs: BTreeMap<String, Vec<String>>,
    /// Jobs whose failure keeps nobody from running.
    pub tolerated: BTreeSet<String>,
    /// The steps of each job, as they are called here.
    pub named: BTreeMap<String, Vec<String>>,
}

impl Converter {
    fn flow(&mut self, mut map: Map<String, Json>) -> (Mapping, usize) {
        let mut root = Mapping::new();
        if let Some(Json::String(name)) = map.remove("name") {
            root.add("name", name.as_str());
        }
        // Readers of YAML 1.1 take the word for a truth value.
        let on = map.remove("on").or_else(|| map.remove("true")).unwrap_or_default();
        let params = self.events(&mut root, on);
        if !params.is_empty() {
            root.add_with(self.remarks.comments(), "params", params);
        }
        let jobs = match map.remove("jobs") {
            Some(Json::Object(jobs)) => jobs,
            _ => Map::new(),
        };
        let mut env = Mapping::new();
        if let Some(Json::Object(variables)) = map.remove("env") {
            for (name, value) in self.env_map(&variables, "the workflow") {
                self.know(&name, &value);
                env.add(&name, value);
            }
        }
        if let Some(group) = map.remove("concurrency") {
            self.concurrency(&mut root, group);
        }
        let mut defaults = Mapping::new();
        let shell = map.get("defaults").and_then(|it| it.pointer("/run/shell")).cloned();
        let folder =
            map.get("defaults").and_then(|it| it.pointer("/run/working-directory")).cloned();
        map.remove("defaults");
        let said = shell.as_ref().and_then(Json::as_str);
        let shell = said.and_then(shell_of);
        if let (Some(said), None) = (said, &shell) {
            self.remarks.lose("defaults", format!("`shell: {said}` of `defaults`"));
        }
        // What a workflow has that says nothing.
        defaults.add("shell", shell.unwrap_or_else(|| json!(["bash", "-ec"])));
        if let Some(folder) = folder {
            let folder = self.value(&folder, "defaults");
            defaults.add("cwd", folder);
            self.has_folder = true;
        }
        for (key, value) in map {
            self.remarks.lose("the workflow", format!("`{key}: {value}`"));
        }
        let comments = self.remarks.comments();
        self.note_outputs(&jobs);
        let steps = self.groups(jobs);
        if !self.names_here.secrets.is_empty() {
            let mut secrets = Mapping::new();
            for name in &self.names_here.secrets {
                secrets.add(name, json!({ "env": name }));
            }
            root.add("secrets", secrets);
        }
        if !env.is_empty() {
            root.add("env", env);
        }
        root.add("defaults", defaults);
        root.add("runner", json!({ "on_error": "skip" }));
        let count = steps.len();
        root.add_with(comments, "flow", steps);
        (root, count)
    }

    /// Remembers a variable, and its value if that is known.
    pub(super) fn know(&mut self, name: &str, value: &Json) {
        self.names_here.declared.insert(name.to_owned());
        self.names_here.unset.remove(name);
        let text = match value {
            Json::String(text) if text.contains("{{") => return,
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.names_here.env.insert(name.to_owned(), text);
    }

    /// What starts it: schedules are kept, inputs are params.
    fn events(&mut self, root: &mut Mapping, on: Json) -> Mapping {
        let events: Map<String, Json> = match on {
            Json::String(event) => Map::from_iter([(event, Json::Null)]),
            Json::Array(events) => {
                let names = events.into_iter().filter_map(|it| it.as_str().map(str::to_owned));
                names.map(|name| (name, Json::Null)).collect()
            }
            Json::Object(events) => events,
            _ => Map::new(),
        };
        let mut params = Mapping::new();
        for (event, about) in events {
            match event.as_str() {
                "schedule" => {
                    let crons = about.as_array().into_iter().flatten();
                    let cron = |entry: &Json| {
                        let mut schedule = Map::new();
                        schedule.insert("cron".to_owned(), entry.get("cron")?.clone());
                        if let Some(zone) = entry.get("timezone") {
                            schedule.insert("zone".to_owned(), zone.clone());
                        }
                        Some(Json::Object(schedule))
                    };
                    let schedules: Vec<Json> = crons.filter_map(cron).collect();
                    root.add("schedule", Json::Array(schedules));
                }
                "workflow_dispatch" | "workflow_call" => {
                    if let Some(Json::Object(inputs)) = about.get("inputs") {
                        for (name, input) in inputs {
                            self.names_here.inputs.insert(name.clone());
                            params.add(name, self.input(input, name));
                        }
                    }
                    for key in ["secrets", "outputs"] {
                        if let Some(value) = about.get(key) {
                            self.remarks.lose(&event, format!("`{key}: {value}`"));
                        }
                    }
                }
                _ => self.remarks.lose("on", format!("the event `{event}` ({about})")),
            }
        }
        params
    }

    fn input(&mut self, input: &Json, name: &str) -> Mapping {
        let mut param = Mapping::new();
        let kind = match input.get("type").and_then(Json::as_str) {
            Some("boolean") => "bool",
            Some("number") => "number",
            None | Some("string" | "choice") => "text",
            Some(other) => {
                self.remarks.lose(&format!("input `{name}`"), format!("the type `{other}`"));
                "text"
            }
        };
        param.add("type", kind);
        let is_required = input.get("required") == Some(&Json::Bool(true));
        let empty = match kind {
            "bool" => Json::Bool(false),
            "number" => Json::from(0),
            _ => Json::from(""),
        };
        match input.get("default") {
            Some(value) => param.add("default", value.clone()),
            None if !is_required => param.add("default", empty),
            None => {}
        }
        if let Some(options) = input.get("options") {
            param.add("choices", options.clone());
        }
        if let Some(Json::String(text)) = input.get("description") {
            param.add("description", text.as_str());
        }
        param
    }

    pub(super) fn concurrency(&mut self, root: &mut Mapping, group: Json) {
        let (name, cancels) = match &group {
            Json::Object(map) => (
                map.get("group").cloned().unwrap_or_default(),
                map.get("cancel-in-progress").cloned().unwrap_or_default(),
            ),
            other => (other.clone(), Json::Null),
        };
        // Its name knows params only.
        let names = |name: &str| match name.starts_with("inputs.") {
            true => self.names_here.template(name),
            false => Err(name.to_owned()),
        };
        let mut written = String::new();
        for (is_expression, piece) in super::values::pieces(name.as_str().unwrap_or_default()) {
            match is_expression.then(|| super::expression::translate(piece, &names)) {
                None => written.push_str(piece),
                Some(Ok(text)) => written.push_str(&format!("{{{{ {text} }}}}")),
                Some(Err(_)) => written.push_str(piece.rsplit('.').next().unwrap_or(piece)),
            }
        }
        if written != name.as_str().unwrap_or_default() {
            self.remarks.lose("concurrency", format!("the group `{name}` as it stands"));
        }
        if !matches!(cancels, Json::Null | Json::Bool(_)) {
            self.remarks.lose("concurrency", format!("`cancel-in-progress: {cancels}`"));
        }
        let busy = if cancels == Json::Bool(true) { "cancel" } else { "queue-newest" };
        let mut concurrency = Mapping::new();
        concurrency.add("group", written.as_str());
        concurrency.add("busy", busy);
        root.add_with(self.remarks.comments(), "concurrency", concurrency);
    }
}
