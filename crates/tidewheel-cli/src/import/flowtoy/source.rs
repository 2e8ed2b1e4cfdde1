//! Sources of flowtoy: by name, of a step's own, or another one with changes.
//!
//! What a step makes of a source is in `step`.

use serde_json::{Map, Value as Json};

use super::keys;
use super::whole::Converter;
use crate::import::document::{Mapping, Tree};

/// Sources that are based on each other are followed so far.
const DEPTH_MAX: usize = 16;
const OVERRIDE: &str = "Only the keys below change here; in flowtoy the configuration below \
                        replaced all of the base's.";

/// The sources of a flow, as they stand in the file.
pub(super) struct Sources {
    pub by_name: Map<String, Json>,
}

/// What a step needs to know of its source.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Nature {
    /// The type, where there is one.
    pub kind: Option<String>,
    /// Whether it is a request that changes something.
    pub is_writing: bool,
}

impl Sources {
    pub fn new(value: Option<Json>) -> Result<Self, String> {
        match value {
            None | Some(Json::Null) => Ok(Self { by_name: Map::new() }),
            Some(Json::Object(by_name)) => Ok(Self { by_name }),
            Some(_) => Err("`sources` must be a mapping of names to sources".to_owned()),
        }
    }

    pub fn nature(&self, source: &Json) -> Nature {
        self.nature_at(source, 0)
    }

    fn nature_at(&self, source: &Json, depth: usize) -> Nature {
        if depth > DEPTH_MAX {
            return Nature::default();
        }
        match source {
            Json::String(name) => match self.by_name.get(name) {
                Some(found) => self.nature_at(found, depth + 1),
                None => Nature { kind: Some(name.clone()), is_writing: false },
            },
            Json::Object(map) => {
                let mut nature = match map.get("base") {
                    Some(base) => self.nature_at(base, depth + 1),
                    None => Nature::default(),
                };
                let over = map.get("override").and_then(Json::as_object).unwrap_or(map);
                if let Some(kind) = over.get("type").and_then(Json::as_str) {
                    nature.kind = Some(kind.to_owned());
                }
                let method = over.get("configuration").and_then(|it| it.get("method"));
                if let Some(method) = method.and_then(Json::as_str) {
                    nature.is_writing = !["GET", "HEAD"].contains(&method.to_uppercase().as_str());
                }
                nature
            }
            _ => Nature::default(),
        }
    }
}

impl Converter {
    pub(super) fn sources(&mut self, sources: &Sources) -> Mapping {
        let mut converted = Mapping::new();
        for (name, source) in &sources.by_name {
            let place = format!("source `{name}`");
            match source {
                Json::Object(map) => {
                    converted.add(name, self.source(map.clone(), sources, &place));
                }
                other => {
                    self.warn(format!("{place}: it is no mapping and cannot be used"));
                    converted.add(name, other.clone());
                }
            }
        }
        converted
    }

    pub(super) fn source(
        &mut self,
        mut map: Map<String, Json>,
        sources: &Sources,
        place: &str,
    ) -> Mapping {
        let kind = sources.nature(&Json::Object(map.clone())).kind;
        self.drop_unknown(&mut map, &keys::SOURCE, place);
        let mut converted = Mapping::new();
        if let Some(base) = map.remove("base") {
            converted.add("base", base);
            if let Some(Json::Object(over)) = map.remove("override") {
                let has_configuration = over.contains_key("configuration");
                let over = self.definition(over, kind.as_deref(), place);
                let comments =
                    if has_configuration { vec![OVERRIDE.to_owned()] } else { Vec::new() };
                converted.add_with(comments, "override", over);
            }
            return converted;
        }
        map.remove("override");
        self.definition(map, kind.as_deref(), place)
    }

    /// A type with its configuration.
    fn definition(
        &mut self,
        mut map: Map<String, Json>,
        kind: Option<&str>,
        place: &str,
    ) -> Mapping {
        let mut converted = Mapping::new();
        if let Some(kind) = map.remove("type") {
            converted.add("type", kind);
        }
        if let Some(configuration) = map.remove("configuration") {
            let tree = match configuration {
                Json::Object(map) => self.configuration(map, kind, place),
                other => Tree::from(other),
            };
            converted.add("configuration", tree);
        }
        converted
    }

    fn configuration(
        &mut self,
        mut map: Map<String, Json>,
        kind: Option<&str>,
        place: &str,
    ) -> Tree {
        match kind {
            Some("process") => {
                self.drop_unknown(&mut map, &keys::PROCESS, place);
                self.pass_to(&mut map, place);
            }
            Some("rest") => self.drop_unknown(&mut map, &keys::REST, place),
            Some("env") => {
                self.drop_unknown(&mut map, &keys::ENV, place);
                if let Some(vars @ Json::String(_)) = map.get_mut("vars") {
                    *vars = Json::Array(vec![vars.take()]);
                    self.warn(format!(
                        "{place}: `vars` was no list; flowtoy took its letters apart"
                    ));
                }
            }
            // Types of ours. flowtoy has none of that name, so a plugin of somebody's has.
            Some(kind @ ("file" | "http")) => self.warn(format!(
                "{place}: `{kind}` is a type of a plugin; Tidewheel has a type of that name, see \
                 that its configuration fits"
            )),
            Some(kind) => {
                self.warn(format!(
                    "{place}: `{kind}` is a type of a plugin, which Tidewheel does not have; use a \
                     process or a request in its place"
                ));
            }
            None => {
                self.warn(format!("{place}: it has no type; flowtoy failed when it came to it"))
            }
        }
        Tree::from(Json::Object(map))
    }

    fn pass_to(&mut self, map: &mut Map<String, Json>, place: &str) {
        let Some(word) = map.get("pass_to") else { return };
        if !["arg", "stdin", "template"].map(Json::from).contains(word) {
            self.warn(format!("{place}: `pass_to: {word}` meant `arg`"));
            map.insert("pass_to".to_owned(), Json::from("arg"));
        }
    }
}
