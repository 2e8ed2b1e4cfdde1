//! Variables that every step has there without anybody setting them: `CI`, `GITHUB_…`, `RUNNER_…`.
//!
//! What a workflow sets itself, and expressions, are in `values`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::whole::Converter;
use crate::import::variables::{How, asked, sets};

/// How their names begin.
const BEGINNINGS: [&str; 3] = ["GITHUB_", "RUNNER_", "ACTIONS_"];
/// The file of outputs, which has an equal in texts.
pub(super) const OUTPUT_FILE: &str = "GITHUB_OUTPUT";
/// The folder that each job finds empty.
pub(super) const FOLDER: &str = "RUNNER_TEMP";
/// Makes it in the folder of the run, which all steps share: one for each job, and for each of its elements.
const MAKE_FOLDER: &str = "export RUNNER_TEMP=\"$TIDEWHEEL_RUN_DIR/${TIDEWHEEL_STEP%/*}\"\n\
                           mkdir -p \"$RUNNER_TEMP\"\n";

impl Converter {
    /// Sees to the variables that a text for a shell takes for granted: those that are the same here come in,
    /// and who asks for another one fails.
    pub(super) fn take_for_granted(
        &mut self,
        text: &str,
        env: &mut Vec<(String, Json)>,
        place: &str,
    ) {
        let mut ways: BTreeMap<&str, How> = BTreeMap::new();
        for (name, how) in asked(text).into_iter().filter(|(name, _)| is_theirs(name)) {
            let known = ways.entry(name).or_insert(how);
            *known = how.max(*known);
        }
        for (name, how) in ways {
            if name == FOLDER || self.is_set(name, env) || sets(text, name) {
                continue;
            }
            match self.equal(name) {
                Some(value) => env.push((name.to_owned(), value)),
                None => self.note_not_set(name, how == How::WithDefault, place),
            }
        }
    }

    /// The text behind what makes the folder that it asks for.
    pub(super) fn with_folder(&self, text: String, env: &[(String, Json)]) -> String {
        let is_asked = asked(&text).iter().any(|(name, _)| *name == FOLDER);
        match is_asked && !self.is_set(FOLDER, env) && !sets(&text, FOLDER) {
            true => format!("{MAKE_FOLDER}{text}"),
            false => text,
        }
    }

    /// The variables of this kind that a program names which is no shell, and for which it says nothing to be
    /// taken instead.
    pub(super) fn named_in_program(&self, text: &str, env: &[(String, Json)]) -> BTreeSet<String> {
        let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
        let mut named = BTreeSet::new();
        for start in BEGINNINGS.iter().flat_map(|beginning| text.match_indices(beginning)) {
            let after = &text[start.0..];
            let end = after.find(|it| !is_letter(it)).unwrap_or(after.len());
            let (name, rest) = after.split_at(end);
            let has_default = rest.trim_start_matches(['"', '\'']).trim_start().starts_with(',');
            let is_part = text[..start.0].ends_with(is_letter);
            if !has_default && !is_part && name != OUTPUT_FILE && !self.is_set(name, env) {
                named.insert(name.to_owned());
            }
        }
        named
    }

    /// Whether a variable of theirs has a value here.
    fn is_set(&self, name: &str, env: &[(String, Json)]) -> bool {
        let of_container = self.container.as_ref().and_then(|it| it.get("env"));
        // What is known not to be set was told.
        self.names_here.declared.contains(name)
            || self.names_here.unset.contains(name)
            || env.iter().any(|(known, _)| known == name)
            || of_container.is_some_and(|env| env.get(name).is_some())
    }

    /// The value of a variable of theirs where it is the same here.
    pub(super) fn equal(&self, name: &str) -> Option<Json> {
        let of_names = |name: &str| -> Option<Json> {
            let expression = self.names_here.template(name).ok()?;
            Some(format!("{{{{ {expression} }}}}").into())
        };
        match name {
            "CI" => Some("true".into()),
            "RUNNER_OS" => Some("Linux".into()),
            "GITHUB_WORKSPACE" if self.container.is_some() => Some("/work".into()),
            "GITHUB_WORKSPACE" => of_names("github.workspace"),
            "GITHUB_RUN_ID" => of_names("github.run_id"),
            "GITHUB_WORKFLOW" => of_names("github.workflow"),
            "GITHUB_JOB" => of_names("github.job"),
            _ => None,
        }
    }

    fn note_not_set(&mut self, name: &str, has_default: bool, place: &str) {
        let what = match has_default {
            true => "so what the text says instead counts",
            false => "so it fails",
        };
        self.remarks.lose(place, format!("`${name}`, {what} unless `{name}` is set"));
        self.names_here.unset.insert(name.to_owned());
    }
}

fn is_theirs(name: &str) -> bool {
    let is_known = name == "CI" || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    is_known && name != OUTPUT_FILE
}
