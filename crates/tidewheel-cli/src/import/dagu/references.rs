//! Values of Dagu that say where they are from: `${params.x}`, `${steps.a.outputs.b}`, `${run.id}`.
//!
//! Unlike variables they are filled in before anybody reads the text, between quotes of any kind too. What
//! variables stand for is in `values`.

use super::values::{Values, key_of};
use super::whole::Converter;
use crate::import::document::Mapping;
use crate::import::shell::filled;
use crate::import::variables::{Part, parts};

/// Where they can be from.
const ROOTS: [&str; 14] = [
    "attempt", "consts", "context", "dag", "env", "foreach", "params", "paths", "profile",
    "pushback", "run", "step", "steps", "trigger",
];

impl Values {
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
