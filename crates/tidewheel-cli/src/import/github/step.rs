//! Steps of jobs: commands, and actions as far as there is an equal.
//!
//! Conditions are in `group`.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::artifacts::UPLOAD;
use super::condition::Before;
use super::environment::OUTPUT_FILE;
use super::values::{key_of, text_of, tolerates};
use super::whole::Converter;
use crate::import::document::{Element, Mapping, Tree};
use crate::import::shell::{SHELLS, base_name};
use crate::import::step_names::slug;
use crate::import::text::{as_shell_text, as_template};

/// Actions that only prepare a fresh machine; what they bring is here already, or it is not.
const PREPARATIONS: [&str; 3] = ["actions/checkout", "actions/cache", "actions/setup-"];
/// Files by which steps there leave something for those behind them; nobody reads them here.
const LEFT_FILES: [&str; 2] = ["GITHUB_ENV", "GITHUB_PATH"];
/// How steps of old workflows leave an output: by a line of what they write. Nobody reads it here.
const OLD_OUTPUT: &str = "::set-output";
/// A file that is only looked at.
const SUMMARY: &str = "GITHUB_STEP_SUMMARY";

impl Converter {
    /// Gives each step of a job a name, before anybody asks for what it leaves.
    pub(super) fn name_steps(&mut self, job: &str, steps: &[Json]) {
        let mut named = Vec::new();
        for (step, number) in steps.iter().zip(1..) {
            let text = |key: &str| step.get(key).and_then(Json::as_str);
            let title = ["name", "uses", "run"].iter().find_map(|key| text(key));
            let wanted = text("id").map_or_else(|| slug(title.unwrap_or_default()), str::to_owned);
            let wanted = if wanted.is_empty() { format!("step-{number}") } else { wanted };
            let name = self.names.like(&wanted);
            if let Some(id) = text("id") {
                let of_job = self.names_here.outputs.iter_mut().filter(|((it, _), _)| it == job);
                for (_, (step, _)) in of_job.filter(|(_, (step, _))| step == id) {
                    name.clone_into(step);
                }
            }
            named.push(name);
        }
        self.named.insert(job.to_owned(), named);
    }

    pub(super) fn steps(&mut self, steps: Vec<Json>, job: &str, place: &str) -> Vec<Element> {
        let mut asked = asked_outputs(&Json::Array(steps.clone()));
        let named = self.named.remove(job).unwrap_or_default();
        self.names_here.steps.clear();
        self.names_here.excused.retain(|name| !name.starts_with("steps."));
        for (step, name) in steps.iter().zip(&named).filter(|(step, _)| !is_preparation(step)) {
            let Some(id) = step.get("id").and_then(Json::as_str) else { continue };
            self.names_here.steps.insert(id.to_owned(), name.clone());
            if tolerates(step.get("continue-on-error")) == Some(true) {
                self.names_here.excused.insert(format!("steps.{id}"));
            }
        }
        let of_job = self.names_here.outputs.iter().filter(|((it, _), _)| it == job);
        asked.extend(of_job.map(|(_, output)| output.clone()));
        let mut written: Vec<Element> = Vec::new();
        let (mut earlier, mut failing): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for (step, name) in steps.into_iter().zip(named) {
            let is_preparation = is_preparation(&step);
            let Json::Object(map) = step else {
                self.remarks.lose(place, format!("the step {step}"));
                continue;
            };
            if is_preparation {
                let uses = map.get("uses").map(text_of).unwrap_or_default();
                let with = map.get("with").map(|it| format!(" {it}")).unwrap_or_default();
                self.remarks
                    .lose(&format!("{place}, step `{name}`"), format!("`uses: {uses}`{with}"));
                continue;
            }
            let id = map.get("id").and_then(Json::as_str).unwrap_or_default();
            let own = asked.iter().filter(|(step, _)| step == id || *step == name);
            let outputs: BTreeSet<String> = own.map(|(_, output)| output.clone()).collect();
            let is_tolerated = tolerates(map.get("continue-on-error")) == Some(true);
            let before = Before { needs: &[], all: &earlier, failing: &failing, is_job: false };
            let step = self.step(map, &name, (&before, outputs), place);
            written.push(Element { comments: self.remarks.comments(), value: Tree::from(step) });
            if !is_tolerated {
                failing.push(name.clone());
            }
            earlier.push(name);
        }
        if written.is_empty() {
            let mut step = Mapping::new();
            step.add("name", self.names.like("nothing").as_str());
            step.add("run", ":");
            written.push(Element { comments: self.remarks.comments(), value: Tree::from(step) });
        }
        written
    }

    /// Where a step runs: in a folder, or in the container of its job.
    fn place(&self, step: &mut Mapping, folder: Option<Json>) {
        match (self.container.clone(), folder) {
            (Some(mut container), folder) => {
                if let Some(folder) = folder.as_ref().and_then(Json::as_str) {
                    container["workdir"] = format!("/work/{folder}").into();
                }
                step.add("container", container);
            }
            (None, Some(folder)) => step.add("cwd", folder),
            (None, None) => {}
        }
    }

    /// A step. Those of a job are a sequence, so that it says what it waits for only if it is about failures.
    fn step(
        &mut self,
        mut map: Map<String, Json>,
        name: &str,
        (before, outputs): (&Before<'_>, BTreeSet<String>),
        place: &str,
    ) -> Mapping {
        let place = format!("{place}, step `{name}`");
        let mut step = Mapping::new();
        step.add("name", name);
        map.remove("id");
        if let Some(Json::String(title)) = map.remove("name").filter(|it| it != name) {
            step.add("description", title.replace("${{", "").replace("}}", "").as_str());
        }
        let condition = map.remove("if");
        if self.condition(&mut step, condition, before, &place) {
            // What comes after it there does not care whether it was done.
            step.add("on_skip", "continue");
        }
        let known = self.names_here.known();
        let mut env: Vec<(String, Json)> = match map.remove("env") {
            Some(Json::Object(env)) => self.env_map(&env, &place),
            _ => Vec::new(),
        };
        match (map.remove("run"), map.remove("uses")) {
            (Some(text), _) => {
                let shell = map.remove("shell");
                self.run(&mut step, &text_of(&text), shell, &mut env, &place);
            }
            (None, Some(Json::String(uses))) if uses.starts_with(UPLOAD) => {
                self.upload(&mut step, map.remove("with"), &place);
            }
            (None, uses) => {
                let what = uses.as_ref().and_then(Json::as_str).unwrap_or("nothing").to_owned();
                let with = map.remove("with").map(|it| format!(" {it}")).unwrap_or_default();
                self.remarks.lose(&place, format!("`uses: {what}`{with}"));
                let said = format!("echo 'the action {what} has no equal' >&2; exit 1");
                step.add("run", as_shell_text(&said).as_str());
            }
        }
        if !env.is_empty() {
            step.add("env", Json::Object(env.into_iter().collect()));
        }
        let folder = map.remove("working-directory").map(|it| self.value(&it, &place));
        if !step.has("artifacts") {
            self.place(&mut step, folder);
        }
        if !outputs.is_empty() {
            step.add("outputs", written_outputs(outputs));
        }
        if let Some(time) = map.remove("timeout-minutes") {
            self.minutes(&mut step, &time, &place);
        }
        let tolerated = map.remove("continue-on-error");
        self.note_half_tolerated(tolerated.as_ref(), &place);
        if tolerates(tolerated.as_ref()) == Some(true) {
            step.add("on_error", "continue");
        }
        self.names_here.forget(known);
        for (key, value) in map {
            self.remarks.lose(&place, format!("`{key}: {value}`"));
        }
        step
    }

    fn run(
        &mut self,
        step: &mut Mapping,
        text: &str,
        shell: Option<Json>,
        env: &mut Vec<(String, Json)>,
        place: &str,
    ) {
        for file in LEFT_FILES.iter().filter(|file| text.contains(**file)) {
            let text = format!("`${file}`, so it fails; leave values by `$TIDEWHEEL_OUTPUT`");
            self.remarks.lose(place, text);
            self.names_here.unset.insert((*file).to_owned());
        }
        if text.contains(SUMMARY) {
            self.remarks.lose(place, format!("`${SUMMARY}`, which nobody sees"));
            env.push((SUMMARY.to_owned(), "/dev/null".into()));
        }
        let text = &with_output_file(text);
        if text.contains(OLD_OUTPUT) {
            let said = format!("`{OLD_OUTPUT}`, so it fails; leave values by `$TIDEWHEEL_OUTPUT`");
            self.remarks.lose(place, said);
            step.add("run", "echo 'outputs by what is written have no equal' >&2; exit 1");
            return;
        }
        let said = shell.as_ref().and_then(Json::as_str);
        match (said, said.and_then(shell_of)) {
            (None, _) => {
                let text = self.shell_text(text, env, place);
                step.add("run", as_shell_text(&text).as_str());
            }
            (_, Some(shell)) => {
                let text = self.shell_text(text, env, place);
                step.add("run", as_shell_text(&text).as_str());
                step.add("shell", shell);
            }
            (Some("python"), _) => self.python(step, text, env, place),
            (Some(other), _) => {
                self.remarks.lose(place, format!("`shell: {other}`"));
                step.add("run", "echo 'the shell of this step has no equal' >&2; exit 1");
            }
        }
    }

    /// A program of Python, which fails where it names a variable that only is there.
    fn python(
        &mut self,
        step: &mut Mapping,
        text: &str,
        env: &mut Vec<(String, Json)>,
        place: &str,
    ) {
        if text.contains("${{") {
            let said = "`${{ … }}` in a program of Python, so it fails; give values by `env`";
            self.remarks.lose(place, said);
            step.add("run", "echo 'values in a program have no equal' >&2; exit 1");
            return;
        }
        let mut first = String::new();
        for name in self.named_in_program(text, env) {
            match self.equal(&name) {
                Some(value) => env.push((name, value)),
                None => {
                    let said = format!("`{name}`, so it fails unless `{name}` is set");
                    self.remarks.lose(place, said);
                    first.push_str(&format!("import os; os.environ['{name}']\n"));
                }
            }
        }
        let text = format!("{first}{}", text.replace(OUTPUT_FILE, "TIDEWHEEL_OUTPUT"));
        step.add("argv", json!(["python3", "-"]));
        step.add("stdin", as_template(&text).as_str());
    }
}

/// A shell as ours: a word, or `bash -l {0}` with its options. Nothing if the program is no shell.
pub(super) fn shell_of(said: &str) -> Option<Json> {
    if ["bash", "sh"].contains(&said) {
        return Some(said.into());
    }
    let mut words: Vec<&str> = said.split_whitespace().collect();
    let is_shell = words.first().is_some_and(|program| SHELLS.contains(&base_name(program)));
    if !is_shell || words.pop() != Some("{0}") {
        return None;
    }
    words.push("-c");
    Some(json!(words))
}

/// A text in which `echo "::set-output name=x::1"` writes to the file of outputs.
fn with_output_file(text: &str) -> String {
    let mut written = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(OLD_OUTPUT) {
        let (before, after) = rest.split_at(at);
        let quote = ["\"", "'", ""].into_iter().find(|quote| before.ends_with(quote)).unwrap_or("");
        let command = before[..before.len() - quote.len()].strip_suffix("echo ");
        let named =
            after[OLD_OUTPUT.len()..].strip_prefix(" name=").and_then(|it| it.split_once("::"));
        match (command, named) {
            (Some(command), Some((name, value))) if is_output(name) => {
                written.push_str(&format!("{command}>> \"${OUTPUT_FILE}\" echo {quote}{name}="));
                rest = value;
            }
            _ => {
                let (known, after) = rest.split_at(at + OLD_OUTPUT.len());
                written.push_str(known);
                rest = after;
            }
        }
    }
    written.push_str(rest);
    written
}

fn is_output(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    !name.is_empty() && name.chars().all(is_letter)
}

/// Whether a step only prepares a fresh machine.
pub(super) fn is_preparation(step: &Json) -> bool {
    let uses = step.get("uses").and_then(Json::as_str).unwrap_or_default();
    PREPARATIONS.iter().any(|known| uses.starts_with(known))
}

/// The outputs of steps that the steps of a job ask for, by id.
fn asked_outputs(steps: &Json) -> BTreeSet<(String, String)> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let mut asked = BTreeSet::new();
    for after in steps.to_string().split("steps.").skip(1) {
        let Some((id, rest)) = after.split_once(".outputs.") else { continue };
        let end = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
        if id.chars().all(is_letter) && end > 0 {
            asked.insert((id.to_owned(), rest[..end].to_owned()));
        }
    }
    asked
}

/// What a step leaves; there one that is not written is empty.
fn written_outputs(names: BTreeSet<String>) -> Mapping {
    let mut written = Mapping::new();
    for name in names {
        let value = format!("{{{{ output{} | default('') }}}}", key_of(&name));
        written.add(&name, value.as_str());
    }
    written
}
