//! What names in a workflow stand for here.
//!
//! How expressions are put together is in `expression`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::expression::{STATE_KEYS, quoted, translate};
use super::whole::Converter;
use crate::import::text::as_template;

/// What is known where a job is converted.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Steps of the job by their ids.
    pub steps: BTreeMap<String, String>,
    /// Variables whose values are known.
    pub env: BTreeMap<String, String>,
    /// Outputs of jobs: the step that leaves each, and what it is called there.
    pub outputs: BTreeMap<(String, String), (String, String)>,
    /// Whether values of the matrix may be missing.
    pub has_include: bool,
    /// What is asked for of whoever runs it.
    pub secrets: BTreeSet<String>,
}

impl Names {
    /// What a name stands for; the error is the name.
    pub fn template(&self, name: &str) -> Result<String, String> {
        let parts: Vec<&str> = name.split('.').collect();
        let unknown = || Err(name.to_owned());
        match parts[..] {
            ["matrix", key] => Ok(match self.has_include {
                true => format!("(matrix{} | default(''))", key_of(key)),
                false => format!("matrix{}", key_of(key)),
            }),
            ["inputs", key] | ["github", "event", "inputs", key] => {
                Ok(format!("params{}", key_of(key)))
            }
            ["secrets", key] => Ok(format!("secrets{}", key_of(key))),
            ["env", key] => self.env.get(key).map(|value| quoted(value)).ok_or(name.to_owned()),
            ["needs", job, "result"] => Ok(format!("steps{}.state", key_of(job))),
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
            ["steps", id, "outcome" | "conclusion"] => match self.steps.get(id) {
                Some(step) => Ok(format!("steps{}.state", key_of(step))),
                None => unknown(),
            },
            ["github", "run_id"] => Ok("run.id".to_owned()),
            ["github", "workflow"] => Ok("run.flow".to_owned()),
            ["github", "workspace"] => Ok("run.folder".to_owned()),
            ["runner", "os"] => Ok("'Linux'".to_owned()),
            _ => unknown(),
        }
    }
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
    /// An expression as ours, if all in it is known here.
    pub(super) fn expression(&mut self, text: &str, place: &str) -> Option<String> {
        let names = |name: &str| self.names_here.template(name);
        match translate(text, &names) {
            Ok(translated) => {
                self.note_secrets(text);
                let state = translated.text;
                // Scripts compare it with the words that they know.
                let words = "{'succeeded': 'success', 'failed': 'failure'}";
                Some(match is_state(text) {
                    true => format!("{words}[{state}] | default({state})"),
                    false => state,
                })
            }
            Err(unknown) => {
                self.remarks.lose(place, format!("`{unknown}` in `${{{{ {text} }}}}`"));
                None
            }
        }
    }

    /// A value with expressions in it, as a template.
    pub(super) fn value(&mut self, value: &Json, place: &str) -> Json {
        let Json::String(text) = value else { return value.clone() };
        let mut written = String::new();
        for (is_expression, piece) in pieces(text) {
            match is_expression {
                false => written.push_str(&as_template(piece)),
                true => {
                    if let Some(expression) = self.expression(piece, place) {
                        written.push_str(&format!("{{{{ {expression} }}}}"));
                    }
                }
            }
        }
        written.into()
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

    /// A text for a shell: expressions come in as variables.
    pub(super) fn shell_text(
        &mut self,
        text: &str,
        env: &mut Vec<(String, Json)>,
        place: &str,
    ) -> String {
        let mut written = String::new();
        for (is_expression, piece) in pieces(text) {
            if !is_expression {
                written.push_str(piece);
                continue;
            }
            let is_literal = is_in_quotes(&written);
            let name = match piece.strip_prefix("env.") {
                Some(name) if !name.contains(' ') => name.to_owned(),
                _ => {
                    let Some(expression) = self.expression(piece, place) else { continue };
                    let template: Json = format!("{{{{ {expression} }}}}").into();
                    variable(env, piece, template)
                }
            };
            match is_literal {
                true => written.push_str(&format!("'\"${{{name}}}\"'")),
                false => written.push_str(&format!("${{{name}}}")),
            }
        }
        written.replace("GITHUB_OUTPUT", "TIDEWHEEL_OUTPUT")
    }
}

/// The variable that stands for an expression; one that says the same is used again.
fn variable(env: &mut Vec<(String, Json)>, expression: &str, template: Json) -> String {
    let known = env.iter().find(|(_, value)| *value == template);
    if let Some((name, _)) = known {
        return name.clone();
    }
    let letter = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' };
    let base: String = expression.chars().map(letter).take(40).collect();
    let base = base.trim_matches('_').to_owned();
    let base = if base.is_empty() || base.starts_with(|it: char| it.is_ascii_digit()) {
        format!("VALUE_{base}")
    } else {
        base
    };
    let mut name = base.clone();
    let mut count = 1;
    while env.iter().any(|(known, _)| *known == name) {
        count += 1;
        name = format!("{base}_{count}");
    }
    env.push((name.clone(), template));
    name
}

/// Whether a text of shell ends inside quotes in which nothing is filled in.
fn is_in_quotes(text: &str) -> bool {
    let (mut is_literal, mut is_quoted, mut is_escaped) = (false, false, false);
    for letter in text.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if !is_literal => is_escaped = true,
            '\'' if !is_quoted => is_literal = !is_literal,
            '"' if !is_literal => is_quoted = !is_quoted,
            _ => {}
        }
    }
    is_literal
}
