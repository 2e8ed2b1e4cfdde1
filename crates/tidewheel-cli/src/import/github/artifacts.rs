//! `actions/upload-artifact`: files that stay with the run.
//!
//! Other actions are in `step`.

use serde_json::{Map, Value as Json, json};

use super::values::text_of;
use super::whole::Converter;
use crate::import::document::{Element, Mapping, Tree};

/// The action that has an equal.
pub(super) const UPLOAD: &str = "actions/upload-artifact";

impl Converter {
    /// A step that does nothing but keep files.
    pub(super) fn upload(&mut self, step: &mut Mapping, with: Option<Json>, place: &str) {
        let mut with = match with {
            Some(Json::Object(with)) => with,
            _ => Map::new(),
        };
        let paths = with.remove("path").map(|it| text_of(&it)).unwrap_or_default();
        let is_needed = with.remove("if-no-files-found").is_some_and(|word| word == "error");
        if let Some(name) = with.remove("name") {
            let name = text_of(&name);
            self.remarks
                .lose(place, format!("the name `{name}` of artifacts; paths are their names"));
        }
        for (key, value) in with {
            self.remarks.lose(place, format!("`{key}: {value}` of artifacts"));
        }
        let mut written: Vec<Element> = Vec::new();
        for path in paths.lines().map(str::trim).filter(|it| !it.is_empty()) {
            let is_outside = path.starts_with(['/', '~']) || path.split('/').any(|it| it == "..");
            if path.starts_with('!') || is_outside {
                self.remarks.lose(place, format!("the path `{path}` of artifacts"));
                continue;
            }
            let path = match path.trim_start_matches("./") {
                "" => ".",
                path => path,
            };
            let path = self.value(&json!(path), place);
            let mut artifact = Mapping::new();
            artifact.add("path", path);
            if !is_needed {
                artifact.add("optional", Json::Bool(true));
            }
            written.push(Element::from(Tree::from(artifact)));
        }
        if written.is_empty() {
            step.add("run", "echo 'the artifacts of this step have no equal' >&2; exit 1");
            return;
        }
        step.add("run", ":");
        if self.has_folder {
            // Its paths begin where the workflow does.
            step.add("cwd", ".");
        }
        step.add("artifacts", written);
    }
}
