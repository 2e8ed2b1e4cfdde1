//! Values of Dagu that say where they are from: `${params.x}`, `${steps.a.outputs.b}`, `${run.id}`.
//!
//! Unlike variables they are filled in before anybody reads the text, between quotes of any kind too. What
//! variables stand for is in `values`.

use std::collections::BTreeSet;

use super::values::{Values, key_of};
use super::whole::Converter;
use crate::import::document::Mapping;
use crate::import::shell::filled;
use crate::import::variables::{How, Part, asked, parts, sets};

/// Where they can be from.
const ROOTS: [&str; 14] = [
    "attempt", "consts", "context", "dag", "env", "foreach", "params", "paths", "profile",
    "pushback", "run", "step", "steps", "trigger",
];

/// How the names of variables begin that every step has there.
const BEGINNINGS: [&str; 2] = ["DAG_", "DAGU_"];
/// Files and folders of a step there, and ours.
const FILES: [(&str, &str); 2] =
    [("DAGU_OUTPUT_FILE", "TIDEWHEEL_OUTPUT"), ("DAG_RUN_WORK_DIR", "TIDEWHEEL_RUN_DIR")];

/// A text for a shell that asks for our files in the place of those there.
pub(super) fn with_our_files(text: &str) -> String {
    FILES.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
}

impl Values {
    /// A variable that every step has there, where it is the same here.
    pub fn of_run(&self, name: &str) -> Option<&'static str> {
        Some(match name {
            "DAG_RUN_ID" => "{{ run.id }}",
            "DAG_NAME" => "{{ run.flow }}",
            "DAG_RUN_STEP_NAME" => "{{ run.step }}",
            "DAG_RUN_STATUS" if self.is_hook => {
                "{{ 'aborted' if run.state == 'cancelled' else run.state }}"
            }
            _ => return None,
        })
    }

    /// Whether it is said where a value is from. What a flow itself calls so means more.
    pub fn says_where(&self, name: &str, path: &str) -> bool {
        let is_own = self.outputs.contains_key(name) || self.steps.contains_key(name);
        !path.is_empty() && ROOTS.contains(&name) && !is_own
    }

    /// What is asked for: `${env.X}` is the variable `X`.
    pub fn meant<'t>(&self, name: &'t str, path: &'t str) -> (&'t str, &'t str) {
        match name == "env" && self.says_where(name, path) {
            true => (path, ""),
            false => (name, path),
        }
    }

    /// The template for a value that says where it is from.
    pub fn placed(&self, name: &str, path: &str) -> Option<String> {
        let template = match (name, path) {
            ("context", inner) => {
                let (name, path) = inner.split_once('.')?;
                return self.placed(name, path);
            }
            ("params", param) if self.params.iter().any(|(known, _)| known == param) => {
                format!("params{}", key_of(param))
            }
            ("steps", path) => {
                let (step, asked) = path.split_once(".outputs.")?;
                return self.left_by(self.steps.get(step)?, asked);
            }
            ("run", "id" | "started_at" | "scheduled_at") => format!("run.{path}"),
            ("dag", "name") => "run.flow".to_owned(),
            ("step", "name" | "id") => "run.step".to_owned(),
            _ => return None,
        };
        Some(format!("{{{{ {template} }}}}"))
    }
}

impl Converter {
    /// A text for a shell in which a variable stands for each value that says where it is from.
    pub(super) fn with_places(&mut self, env: &mut Mapping, text: &str, place: &str) -> String {
        let mut marked = String::new();
        for part in parts(text, false) {
            match part {
                Part::Variable { name, path, .. }
                    if self.values.says_where(name, path) && !marked.ends_with('\\') =>
                {
                    marked.push_str(&format!("${{{{{name}.{path}}}}}"));
                }
                Part::Variable { whole: text, .. } | Part::Text(text) => marked.push_str(text),
            }
        }
        if marked == text || text.contains("${{") {
            return text.to_owned();
        }
        filled(&marked, &mut |asked| {
            let (name, path) = asked.split_once('.').unwrap_or((asked, ""));
            format!("${{{}}}", self.variable_for(env, name, path, place))
        })
    }

    /// Sees to it that who asks for a variable that every step has there, and none here, fails.
    pub(super) fn take_for_granted(&mut self, env: &Mapping, text: &str, place: &str) {
        for (name, how) in asked(text) {
            let is_theirs = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
            let is_file = FILES.iter().any(|(theirs, _)| *theirs == name);
            let is_set = env.text(name).is_some()
                || self.values.template(name, "").is_some()
                || self.values.env.iter().any(|(known, _)| known == name)
                || sets(text, name);
            if !is_theirs || is_file || is_set || how == How::WithDefault {
                continue;
            }
            if self.values.unset.insert(name.to_owned()) {
                self.remarks.lose(place, format!("`${name}`, so it fails unless it is set"));
            }
        }
    }

    /// Whether values are filled in there in the text of a program that is no shell, which nobody does here.
    pub(super) fn has_values(&mut self, script: &str, place: &str) -> bool {
        let (mut has_any, mut told) = (false, BTreeSet::new());
        for part in parts(script, false) {
            let Part::Variable { name, path, whole } = part else { continue };
            let is_known = self.values.template(name, path).is_some()
                || self.values.env.iter().any(|(known, _)| known == name);
            let is_said = whole.starts_with("${") && told.insert(whole);
            if is_said && self.values.says_where(name, path) {
                let text = "in a program that is no shell, so it fails; it is known to `env`";
                self.remarks.lose(place, format!("`{whole}` {text}"));
                has_any = true;
            } else if is_said && is_known {
                let text = "in a program that is no shell, where it stands as it is";
                self.remarks.lose(place, format!("`{whole}` {text}"));
            }
        }
        has_any
    }

    /// Notes what texts asked for that nobody knows here, so that who renders it fails.
    pub(super) fn lose_unknown(&mut self, place: &str) {
        for whole in std::mem::take(&mut self.values.unknown) {
            self.remarks.lose(place, format!("`{whole}`, so it fails"));
        }
    }

    /// The variable that a value comes in as. Who asks for one that is not known here fails.
    fn variable_for(&mut self, env: &mut Mapping, name: &str, path: &str, place: &str) -> String {
        if let (variable, "") = self.values.meant(name, path) {
            return variable.to_owned();
        }
        let variable =
            format!("{name}_{}", path.replace(|it: char| !it.is_ascii_alphanumeric(), "_"));
        match self.values.placed(name, path) {
            Some(template) if env.text(&variable).is_none() => {
                env.add(&variable, template.as_str())
            }
            Some(_) => {}
            None => {
                if self.values.unset.insert(variable.clone()) {
                    self.remarks.lose(place, format!("`${{{name}.{path}}}`, so it fails"));
                }
            }
        }
        variable
    }
}
