//! Jobs: groups of steps, with what they wait for.
//!
//! Their steps are in `step`, their conditions in `condition`.

use serde_json::{Map, Value as Json, json};

use super::condition::Before;
use super::matrix::Matrix;
use super::step::{is_preparation, shell_of};
use super::values::{pieces, text_of, tolerates};
use super::whole::Converter;
use crate::import::document::{Element, Mapping, Tree};

impl Converter {
    pub(super) fn groups(&mut self, jobs: Map<String, Json>) -> Vec<Element> {
        // Names of jobs are asked for by others; those of steps are not.
        for name in jobs.keys() {
            self.names.like(name);
            self.order.push(name.clone());
        }
        for (name, job) in &jobs {
            let steps = job.get("steps").and_then(Json::as_array);
            self.name_steps(name, steps.map_or(&[], Vec::as_slice));
            if tolerates(job.get("continue-on-error")) == Some(true) {
                self.tolerated.insert(name.clone());
                self.names_here.excused.insert(format!("needs.{name}"));
            }
            self.needs.insert(name.clone(), needs_of(job));
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
        let title = map.remove("name");
        map.remove("needs");
        let needs = self.needs.get(name).cloned().unwrap_or_default();
        let known = self.names_here.known();
        self.names_here.needs.clone_from(&needs);
        name.clone_into(&mut self.names_here.job);
        self.names_here.matrix = Matrix::of(map.get("strategy"));
        if let Some(strategy) = map.remove("strategy") {
            self.strategy(&mut job, strategy, &place);
        }
        self.title(&mut job, title, &place);
        let condition = map.remove("if");
        let all = self.ancestors(name);
        let failing: Vec<String> =
            all.iter().filter(|it| !self.tolerated.contains(*it)).cloned().collect();
        let before = Before { needs: &needs, all: &all, failing: &failing, is_job: true };
        self.condition(&mut job, condition, &before, &place);
        if let Some(time) = map.remove("timeout-minutes") {
            self.minutes(&mut job, &time, &place);
        }
        let tolerated = map.remove("continue-on-error");
        self.note_half_tolerated(tolerated.as_ref(), &place);
        if self.tolerated.contains(name) {
            self.go_on(&mut job, &needs);
        }
        self.variables_of(&mut job, map.remove("env"), &place);
        let had_folder = self.has_folder;
        self.defaults_of(&mut job, map.remove("defaults"), &place);
        self.note_lost_outputs(map.remove("outputs"), name, &place);
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
                self.has_folder = had_folder;
                self.names_here.forget(known);
                return job;
            }
            _ => {
                self.remarks.lose(&place, "a job without steps");
                job.add("run", "echo 'this job has no steps' >&2; exit 1");
            }
        }
        self.note_lost(map, &place);
        self.has_folder = had_folder;
        self.names_here.forget(known);
        job
    }

    /// What a job is called. One with a matrix there has a name for each element.
    fn title(&mut self, job: &mut Mapping, title: Option<Json>, place: &str) {
        let Some(Json::String(title)) = title else { return };
        if !title.contains("${{") {
            job.add("description", title.as_str());
            return;
        }
        let is_of_element = pieces(&title).iter().all(|(is_expression, piece)| {
            !is_expression || piece.starts_with("matrix.") || piece.starts_with("inputs.")
        });
        if !is_of_element || !self.names_here.matrix.is_known() {
            self.remarks.lose(place, format!("`name: {title}`"));
            return;
        }
        let label = self.value(&json!(title), place);
        // Here no two elements are called the same.
        let number = if self.names_here.matrix.tells_apart(&title) { "" } else { " {{ index }}" };
        let word = self.names_here.matrix.word_before(&title).unwrap_or_default();
        job.add("label", format!("{word}{}{number}", text_of(&label)).as_str());
    }

    fn variables_of(&mut self, job: &mut Mapping, env: Option<Json>, place: &str) {
        let Some(Json::Object(env)) = env else { return };
        let mut written = Mapping::new();
        for (name, value) in self.env_map(&env, place) {
            self.know(&name, &value);
            written.add(&name, value);
        }
        if !written.is_empty() {
            job.add("env", written);
        }
    }

    /// The shell and the folder of the steps of a job.
    fn defaults_of(&mut self, job: &mut Mapping, defaults: Option<Json>, place: &str) {
        let run = defaults.and_then(|it| it.get("run").cloned()).unwrap_or_default();
        if let Some(said) = run.get("shell").and_then(Json::as_str) {
            match shell_of(said) {
                Some(shell) => job.add("shell", shell),
                None => self.remarks.lose(place, format!("`shell: {said}` of `defaults`")),
            }
        }
        if let Some(folder) = run.get("working-directory") {
            let folder = self.value(folder, place);
            job.add("cwd", folder);
            self.has_folder = true;
        }
    }

    /// Notes that a failure counts which there counts only sometimes.
    pub(super) fn note_half_tolerated(&mut self, said: Option<&Json>, place: &str) {
        if let Some(said) = said.filter(|said| tolerates(Some(said)).is_none()) {
            let said = text_of(said);
            let text = format!("`continue-on-error: {said}`, so its failure always counts");
            self.remarks.lose(place, text);
        }
    }

    /// All that a job needs, and what those need.
    fn ancestors(&self, name: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut next: Vec<String> = self.needs.get(name).cloned().unwrap_or_default();
        while let Some(name) = next.pop() {
            if !all.contains(&name) {
                next.extend(self.needs.get(&name).into_iter().flatten().cloned());
                all.push(name);
            }
        }
        // In the order of the file.
        self.order.iter().filter(|name| all.contains(name)).cloned().collect()
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
        let image = match said.remove("image") {
            Some(image) => self.value(&image, place),
            None => {
                self.remarks.lose(place, "a container without an image");
                return None;
            }
        };
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
                        text @ Json::String(_) => {
                            let list = self.value(text, place);
                            written.add(axis, list);
                        }
                        values => written.add(axis, values.clone()),
                    }
                }
                job.add("matrix", written);
            }
            Some(other) => self.remarks.lose(place, format!("`matrix: {other}`")),
            None => {}
        }
        match strategy.get("max-parallel") {
            Some(most @ Json::Number(_)) => job.add("parallel", most.clone()),
            Some(other) => self.remarks.lose(place, format!("`max-parallel: {other}`")),
            None => {}
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

    /// Notes outputs of a job that no step of it leaves.
    fn note_lost_outputs(&mut self, outputs: Option<Json>, job: &str, place: &str) {
        let Some(Json::Object(outputs)) = outputs else { return };
        for (name, value) in outputs {
            if !self.names_here.outputs.contains_key(&(job.to_owned(), name.clone())) {
                self.remarks.lose(place, format!("the output `{name}: {}`", text_of(&value)));
            }
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
                let steps = about.get("steps").and_then(Json::as_array);
                let leaves = |id: &str| {
                    let mut steps = steps.into_iter().flatten();
                    steps.any(|step| {
                        step.get("id").is_some_and(|it| it == id) && !is_preparation(step)
                    })
                };
                if let ["steps", id, "outputs", output] = parts[..]
                    && leaves(id)
                {
                    let place = (job.clone(), name.clone());
                    self.names_here.outputs.insert(place, (id.to_owned(), output.to_owned()));
                }
            }
        }
    }
}

/// What a job needs, in either form.
fn needs_of(job: &Json) -> Vec<String> {
    match job.get("needs") {
        Some(Json::String(name)) => vec![name.clone()],
        Some(Json::Array(names)) => names.iter().map(text_of).collect(),
        _ => Vec::new(),
    }
}
