//! What names in a workflow stand for here.
//!
//! How expressions are put together is in `expression`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::condition::{state_of, states};
use super::environment::{FOLDER, OUTPUT_FILE};
use super::expression::{STATE_KEYS, quoted, translate};
use super::matrix::Matrix;
use super::whole::Converter;
use crate::import::shell::filled;
use crate::import::text::as_template;
use crate::import::variables::guarded;

/// Variables that every process has.
const INHERITED: [&str; 5] = ["PATH", "HOME", "USER", "LANG", "TMPDIR"];

/// What is known where a job is converted.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Steps of the job by their ids.
    pub steps: BTreeMap<String, String>,
    /// Variables whose values are known.
    pub env: BTreeMap<String, String>,
    /// Outputs of jobs: the step that leaves each, and what it is called there.
    pub outputs: BTreeMap<(String, String), (String, String)>,
    /// Variables that are set, whatever their values.
    pub declared: BTreeSet<String>,
    /// Variables that were set there to something that is not known here.
    pub unset: BTreeSet<String>,
    /// What can be said when it is run.
    pub inputs: BTreeSet<String>,
    /// What the job is called.
    pub job: String,
    /// What the job needs.
    pub needs: Vec<String>,
    /// Jobs, and steps of the job, that count as done there although they failed: `needs.lint`, `steps.lint`.
    pub excused: BTreeSet<String>,
    /// What each element of the job is.
    pub matrix: Matrix,
    /// What is asked for of whoever runs it.
    pub secrets: BTreeSet<String>,
}

/// What is known of variables, to be forgotten again.
pub(super) struct Known {
    env: BTreeMap<String, String>,
    declared: BTreeSet<String>,
    unset: BTreeSet<String>,
}

impl Names {
    pub fn known(&self) -> Known {
        let (env, declared) = (self.env.clone(), self.declared.clone());
        Known { env, declared, unset: self.unset.clone() }
    }

    /// Forgets the variables that came after this.
    pub fn forget(&mut self, known: Known) {
        self.env = known.env;
        self.declared = known.declared;
        self.unset = known.unset;
    }

    /// What a name stands for; the error is the name.
    pub fn template(&self, name: &str) -> Result<String, String> {
        let parts: Vec<&str> = name.split('.').collect();
        let unknown = || Err(name.to_owned());
        match parts[..] {
            ["matrix", key, ref path @ ..] => {
                self.matrix.template(key, path).ok_or(name.to_owned())
            }
            ["inputs", key] | ["github", "event", "inputs", key] => {
                Ok(match self.inputs.contains(key) {
                    true => format!("params{}", key_of(key)),
                    // There one that nobody knows is empty.
                    false => "''".to_owned(),
                })
            }
            ["secrets", key] => Ok(format!("secrets{}", key_of(key))),
            ["env", key] => self.env.get(key).map(|value| quoted(value)).ok_or(name.to_owned()),
            ["needs", "*", "result"] => {
                let state = |job: &String| self.counted_state("needs", job, job);
                Ok(list(self.needs.iter().map(state)))
            }
            ["steps", "*", "outcome"] => {
                Ok(states(&self.steps.values().cloned().collect::<Vec<_>>()))
            }
            ["steps", "*", "conclusion"] => {
                let state = |(id, step): (&String, &String)| self.counted_state("steps", id, step);
                Ok(list(self.steps.iter().map(state)))
            }
            [_, "*", ..] => unknown(),
            ["needs", job, "result"] => Ok(self.counted_state("needs", job, job)),
            ["needs", job, "outputs", key] => {
                let known = self.outputs.get(&(job.to_owned(), key.to_owned()));
                match known {
                    Some((step, output)) => {
                        let path = format!("{}{}{}", key_of(job), key_of(step), key_of(output));
                        Ok(output_at(&path))
                    }
                    None => unknown(),
                }
            }
            ["steps", id, "outputs", key] => match self.steps.get(id) {
                Some(step) => Ok(output_at(&format!("{}{}", key_of(step), key_of(key)))),
                None => unknown(),
            },
            ["steps", id, about @ ("outcome" | "conclusion")] => match self.steps.get(id) {
                Some(step) if about == "conclusion" => Ok(self.counted_state("steps", id, step)),
                Some(step) => Ok(state_of(step)),
                None => unknown(),
            },
            ["github", "run_id"] => Ok("run.id".to_owned()),
            ["github", "workflow"] => Ok("run.flow".to_owned()),
            ["github", "workspace"] => Ok("run.folder".to_owned()),
            ["github", "job"] if !self.job.is_empty() => Ok(quoted(&self.job)),
            ["runner", "os"] => Ok("'Linux'".to_owned()),
            _ => unknown(),
        }
    }

    /// How something counts as ended for who asks: there one whose failure does not matter has succeeded.
    fn counted_state(&self, root: &str, name: &str, step: &str) -> String {
        let state = state_of(step);
        match self.excused.contains(&format!("{root}.{name}")) {
            true => format!("('succeeded' if {state} == 'failed' else {state})"),
            false => state,
        }
    }
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// An output; there one that is missing is empty.
fn output_at(path: &str) -> String {
    format!("(flows{path} | default(''))")
}

/// Whether an expression is how something ended, and nothing else.
fn is_state(text: &str) -> bool {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    text.chars().all(is_name) && STATE_KEYS.iter().any(|end| text.ends_with(end))
}

/// A name behind a dot, or in brackets.
pub(super) fn key_of(name: &str) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    match name.chars().all(is_letter) && !name.starts_with(|letter: char| letter.is_ascii_digit()) {
        true => format!(".{name}"),
        false => format!("['{name}']"),
    }
}

/// The pieces of a text: as it stands, or an expression.
pub(super) fn pieces(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("${{") {
        let Some((expression, after)) = inside.split_once("}}") else { break };
        pieces.push((false, before));
        pieces.push((true, expression.trim()));
        rest = after;
    }
    pieces.push((false, rest));
    pieces.retain(|(is_expression, text)| *is_expression || !text.is_empty());
    pieces
}

impl Converter {
    /// An expression as ours; the error is what is not known here.
    fn expression(&mut self, text: &str) -> Result<String, String> {
        let names = |name: &str| self.names_here.template(name);
        let state = translate(text, &names)?;
        self.note_secrets(text);
        // Scripts compare it with the words that they know.
        let words = "{'succeeded': 'success', 'failed': 'failure'}";
        Ok(match is_state(text) {
            true => format!("{words}[{state}] | default({state})"),
            false => state,
        })
    }

    /// A value with expressions in it, as a template. One that is not known here fails who asks for it.
    pub(super) fn value(&mut self, value: &Json, place: &str) -> Json {
        let (value, unknown) = self.rendered(value);
        for (name, text) in unknown {
            let text = format!("`{name}` in `${{{{ {text} }}}}`, so it fails");
            self.remarks.lose(place, text);
        }
        value
    }

    /// A value as a template, and what in it is not known here, with where it stands.
    fn rendered(&mut self, value: &Json) -> (Json, Vec<(String, String)>) {
        let Json::String(text) = value else { return (value.clone(), Vec::new()) };
        let (mut written, mut unknown) = (String::new(), Vec::new());
        for (is_expression, piece) in pieces(text) {
            if !is_expression {
                written.push_str(&as_template(piece));
                continue;
            }
            match self.expression(piece) {
                Ok(expression) => written.push_str(&format!("{{{{ {expression} }}}}")),
                Err(name) => {
                    written.push_str(&format!("{{{{ {{}}[{}] }}}}", quoted(&name)));
                    unknown.push((name, piece.to_owned()));
                }
            }
        }
        (written.into(), unknown)
    }

    /// Variables. One whose value is not known here is not set, and who asks for it fails.
    pub(super) fn env_map(&mut self, map: &Map<String, Json>, place: &str) -> Vec<(String, Json)> {
        let mut variables = Vec::new();
        for (name, value) in map {
            let (value, unknown) = self.rendered(value);
            if unknown.is_empty() {
                self.names_here.declared.insert(name.clone());
                self.names_here.unset.remove(name);
                variables.push((name.clone(), value));
                continue;
            }
            for (unknown, text) in unknown {
                let text = format!("`{unknown}` in `{name}: ${{{{ {text} }}}}`, so it is not set");
                self.remarks.lose(place, text);
            }
            self.names_here.env.remove(name);
            self.names_here.unset.insert(name.clone());
        }
        variables
    }

    /// Values with expressions in them.
    pub(super) fn value_map(
        &mut self,
        map: &Map<String, Json>,
        place: &str,
    ) -> Vec<(String, Json)> {
        map.iter().map(|(key, value)| (key.clone(), self.value(value, place))).collect()
    }

    /// Notes the secrets that a text asks for.
    pub(super) fn note_secrets(&mut self, text: &str) {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        for after in text.split("secrets.").skip(1) {
            let end = after.find(|letter| !is_letter(letter)).unwrap_or(after.len());
            if end > 0 {
                self.names_here.secrets.insert(after[..end].to_owned());
            }
        }
    }

    /// A text for a shell: expressions come in as variables. One that is not known here fails the step.
    pub(super) fn shell_text(
        &mut self,
        text: &str,
        env: &mut Vec<(String, Json)>,
        place: &str,
    ) -> String {
        self.take_for_granted(text, env, place);
        let written = filled(text, &mut |piece| format!("${{{}}}", self.named(piece, env, place)));
        let written = self.with_folder(written, env);
        let written = guarded(&written, &self.names_here.unset);
        written.replace(OUTPUT_FILE, "TIDEWHEEL_OUTPUT")
    }

    /// The variable that an expression comes in as.
    fn named(&mut self, piece: &str, env: &mut Vec<(String, Json)>, place: &str) -> String {
        let own = piece.strip_prefix("env.").filter(|name| is_variable(name));
        let is_there = |name: &&str| {
            self.names_here.declared.contains(*name)
                || self.names_here.unset.contains(*name)
                || INHERITED.contains(name)
        };
        if let Some(name) = own.filter(is_there) {
            return name.to_owned();
        }
        if piece == "runner.temp" {
            return FOLDER.to_owned();
        }
        let (unknown, name) = match self.expression(piece) {
            Ok(expression) => {
                let template: Json = format!("{{{{ {expression} }}}}").into();
                return variable(env, piece, template);
            }
            Err(unknown) => (unknown, own.map_or_else(|| name_for(piece), str::to_owned)),
        };
        let text =
            format!("`{unknown}` in `${{{{ {piece} }}}}`, so it fails unless `{name}` is set");
        self.remarks.lose(place, text);
        self.names_here.unset.insert(name.clone());
        name
    }
}

/// The variable that stands for an expression; one that says the same is used again.
fn variable(env: &mut Vec<(String, Json)>, expression: &str, template: Json) -> String {
    let known = env.iter().find(|(_, value)| *value == template);
    if let Some((name, _)) = known {
        return name.clone();
    }
    let base = name_for(expression);
    let mut name = base.clone();
    let mut count = 1;
    while env.iter().any(|(known, _)| *known == name) {
        count += 1;
        name = format!("{base}_{count}");
    }
    env.push((name.clone(), template));
    name
}

/// A variable that is called like an expression.
fn name_for(expression: &str) -> String {
    let letter = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' };
    let base: String = expression.chars().map(letter).take(40).collect();
    let base = base.trim_matches('_').to_owned();
    match base.is_empty() || base.starts_with(|it: char| it.is_ascii_digit()) {
        true => format!("VALUE_{base}"),
        false => base,
    }
}

fn is_variable(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && name.chars().all(is_letter)
}

/// Whether failures are tolerated; nothing if that depends on something.
pub(super) fn tolerates(said: Option<&Json>) -> Option<bool> {
    match said {
        None | Some(Json::Null) => Some(false),
        Some(Json::Bool(said)) => Some(*said),
        Some(other) => {
            let text = text_of(other);
            let text = text.trim().trim_start_matches("${{").trim_end_matches("}}");
            text.trim().parse().ok()
        }
    }
}

pub(super) fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}
