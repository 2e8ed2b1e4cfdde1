//! Jobs: groups of steps, with what they wait for and for what they are done.
//!
//! Their steps are in `step`.

use serde_json::{Map, Value as Json, json};

use super::expression::translate;
use super::whole::Converter;
use crate::import::document::{Element, Mapping, Tree};

impl Converter {
    pub(super) fn groups(&mut self, jobs: Map<String, Json>) -> Vec<Element> {
        // Names of jobs are asked for by others; those of steps are not.
        for name in jobs.keys() {
            self.names.like(name);
        }
        for (name, job) in &jobs {
            let steps = job.get("steps").and_then(Json::as_array);
            self.name_steps(name, steps.map_or(&[], Vec::as_slice));
            if job.get("continue-on-error") == Some(&Json::Bool(true)) {
                self.tolerated.insert(name.clone());
            }
        }
        let mut written = Vec::new();
        for (name, job) in jobs {
            let Json::Object(job) = job else { continue };
            let job = self.group(&name, job);
            written.push(Element { comments: self.remarks.comments(), value: Tree::from(job) });
        }
        written
    }

    fn group(&mut self, name: &str, mut map: Map<String, Json>) -> Mapping {
        let place = format!("job `{name}`");
        let mut job = Mapping::new();
        job.add("name", name);
        if let Some(Json::String(title)) = map.remove("name").filter(|it| !is_dynamic(it)) {
            job.add("description", title.as_str());
        }
        let needs: Vec<String> = match map.remove("needs") {
            Some(Json::String(name)) => vec![name],
            Some(Json::Array(names)) => {
                names.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        self.names_here.has_include =
            map.get("strategy").and_then(|it| it.pointer("/matrix/include")).is_some();
        if let Some(strategy) = map.remove("strategy") {
            self.strategy(&mut job, strategy, &place);
        }
        let condition = map.remove("if");
        self.condition(&mut job, condition, (&needs, &needs), &place);
        if let Some(time) = map.remove("timeout-minutes") {
            self.minutes(&mut job, &time, &place);
        }
        map.remove("continue-on-error");
        if self.tolerated.contains(name) {
            self.go_on(&mut job, &needs);
        }
        let known = self.names_here.env.clone();
        if let Some(Json::Object(env)) = map.remove("env") {
            let mut written = Mapping::new();
            for (name, value) in self.value_map(&env, &place) {
                self.know(&name, &value);
                written.add(&name, value);
            }
            job.add("env", written);
        }
        let run = map.remove("defaults").and_then(|it| it.get("run").cloned()).unwrap_or_default();
        if let Some(word @ ("bash" | "sh")) = run.get("shell").and_then(Json::as_str) {
            job.add("shell", word);
        }
        if let Some(folder) = run.get("working-directory") {
            let folder = self.value(folder, &place);
            job.add("cwd", folder);
        }
        map.remove("outputs");
        self.container = map.remove("container").and_then(|it| self.container_of(it, &place));
        match (map.remove("uses"), map.remove("steps")) {
            (Some(called), _) => self.called(&mut job, &called, map.remove("with"), &place),
            (None, Some(Json::Array(steps))) => {
                self.note_lost(map, &place);
                let comments = self.remarks.comments();
                let steps = self.steps(steps, name, &place);
                // What is said of the job stands above it.
                comments.into_iter().for_each(|comment| self.remarks.say(comment));
                job.add("sequence", Json::Bool(true));
                job.add("steps", steps);
                self.names_here.env = known;
                return job;
            }
            _ => {
                self.remarks.lose(&place, "a job without steps");
                job.add("run", "echo 'this job has no steps' >&2; exit 1");
            }
        }
        self.note_lost(map, &place);
        self.names_here.env = known;
        job
    }

    /// The failure of a job does not matter; there that says nothing about those that it needs.
    fn go_on(&self, job: &mut Mapping, needs: &[String]) {
        job.add("on_error", "continue");
        if !needs.iter().all(|name| self.tolerated.contains(name)) {
            job.add("on_dependency_error", "skip");
        }
    }

    /// The container of a job, which sees the folder of the flow.
    fn container_of(&mut self, said: Json, place: &str) -> Option<Json> {
        let mut said = match said {
            Json::Object(said) => said,
            image => Map::from_iter([("image".to_owned(), image)]),
        };
        let image = said.remove("image").map(|it| self.value(&it, place))?;
        let mut container = json!({ "image": image, "mounts": [".:/work"], "workdir": "/work" });
        if let Some(Json::Object(env)) = said.remove("env") {
            let env: Map<String, Json> = self.value_map(&env, place).into_iter().collect();
            container["env"] = Json::Object(env);
        }
        for (key, value) in said {
            self.remarks.lose(place, format!("`{key}: {value}` of its container"));
        }
        Some(container)
    }

    /// A workflow that is called.
    fn called(&mut self, job: &mut Mapping, called: &Json, with: Option<Json>, place: &str) {
        let called = called.as_str().unwrap_or_default();
        let file = called.rsplit('/').next().unwrap_or(called).split('@').next().unwrap_or(called);
        if !called.starts_with("./") {
            self.remarks.lose(place, format!("`uses: {called}`, which is not of this repository"));
        }
        let stem = file.trim_end_matches(".yml").trim_end_matches(".yaml");
        self.remarks.say(format!("Import {file} as {stem}.yaml beside this file."));
        job.add("flow", format!("{stem}.yaml").as_str());
        if let Some(Json::Object(with)) = with {
            let mut written = Mapping::new();
            for (name, value) in self.value_map(&with, place) {
                written.add(&name, value);
            }
            job.add("with", written);
        }
    }

    fn strategy(&mut self, job: &mut Mapping, strategy: Json, place: &str) {
        match strategy.get("matrix") {
            Some(Json::Object(matrix)) => {
                let mut written = Mapping::new();
                for (axis, values) in matrix {
                    match values {
                        Json::String(text) => match self.expression(text, place) {
                            Some(expression) => {
                                written.add(axis, format!("{{{{ {expression} }}}}").as_str());
                            }
                            None => written.add(axis, json!([])),
                        },
                        values => written.add(axis, values.clone()),
                    }
                }
                job.add("matrix", written);
            }
            Some(other) => self.remarks.lose(place, format!("`matrix: {other}`")),
            None => {}
        }
        if let Some(most) = strategy.get("max-parallel") {
            job.add("parallel", most.clone());
        }
    }

    /// What must hold, and what became of what it needs; of those before it, if one must have failed.
    pub(super) fn condition(
        &mut self,
        step: &mut Mapping,
        condition: Option<Json>,
        (needs, earlier): (&[String], &[String]),
        place: &str,
    ) {
        let text = match &condition {
            None | Some(Json::Null) => {
                if !needs.is_empty() {
                    step.add("depends_on", json!(needs));
                }
                return;
            }
            Some(Json::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        let names = |name: &str| self.names_here.template(name);
        let translated = translate(&text, &names);
        match &translated {
            Ok(it) if it.is_failure && !earlier.is_empty() => {
                step.add("depends_on", json!({ "any": earlier, "when": "failed" }));
            }
            _ if !needs.is_empty() => step.add("depends_on", json!(needs)),
            _ => {}
        }
        match translated {
            Ok(it) => {
                if it.is_always {
                    step.add("always", Json::Bool(true));
                }
                if it.text != "true" {
                    step.add("when", it.text.as_str());
                }
            }
            Err(unknown) => {
                self.remarks.lose(place, format!("`{unknown}` in `if: {text}`, so it is not done"));
                step.add("when", Json::Bool(false));
            }
        }
    }

    pub(super) fn minutes(&mut self, step: &mut Mapping, time: &Json, place: &str) {
        match time {
            Json::Number(minutes) => step.add("timeout", format!("{minutes}m").as_str()),
            other => self.remarks.lose(place, format!("`timeout-minutes: {other}`")),
        }
    }

    fn note_lost(&mut self, map: Map<String, Json>, place: &str) {
        for (key, value) in map {
            self.remarks.lose(place, format!("`{key}: {value}`"));
        }
    }

    /// Notes which steps leave the outputs of jobs: `${{ steps.ID.outputs.NAME }}`.
    pub(super) fn note_outputs(&mut self, jobs: &Map<String, Json>) {
        for (job, about) in jobs {
            let Some(Json::Object(outputs)) = about.get("outputs") else { continue };
            for (name, value) in outputs {
                let text = value.as_str().unwrap_or_default().trim();
                let inside = text.trim_start_matches("${{").trim_end_matches("}}").trim();
                let parts: Vec<&str> = inside.split('.').collect();
                if let ["steps", id, "outputs", output] = parts[..] {
                    let place = (job.clone(), name.clone());
                    self.names_here.outputs.insert(place, (id.to_owned(), output.to_owned()));
                }
            }
        }
    }
}

fn is_dynamic(value: &Json) -> bool {
    value.as_str().is_some_and(|text| text.contains("${{"))
}
