//! Sources: work by name, of its own, or another with changes.
//!
//! What a step adds to a source is in `step`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value as Json;

use super::{Decoder, fields};
use crate::definition::keys::TYPES;
use crate::definition::shape::{Kind, check};
use crate::definition::{FileFormat, FileWork, SourceView, Surroundings, Work};
use crate::language::problem::Problem;
use crate::language::tree::Tree;
use crate::language::yaml::{Map, Node, Value, merge};

/// How many sources may be based on each other.
const DEPTH_MAX: usize = 16;
/// How much of a file is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What a source comes to.
pub(super) struct SourceWork {
    pub work: Work,
    /// What it says about its process.
    pub surroundings: Surroundings,
    /// Time for one attempt.
    pub timeout: Option<Duration>,
}

impl SourceWork {
    /// Work that says nothing else.
    pub fn of(work: Work) -> Self {
        Self { work, surroundings: Surroundings::default(), timeout: None }
    }
}

impl Decoder<'_> {
    /// Checks the sources that no step uses.
    pub(super) fn check_unused(&mut self, sources: &BTreeMap<String, Node>) {
        let used = self.used_sources.clone();
        for (_, node) in sources.iter().filter(|(name, _)| !used.contains(*name)) {
            self.source_work(node, sources);
        }
    }

    /// What a step with this source does, and what the source says about its process.
    pub(super) fn source_work(
        &mut self,
        node: &Node,
        sources: &BTreeMap<String, Node>,
    ) -> Option<SourceWork> {
        let source = self.resolve(node, sources, 0)?;
        let map = fields::as_mapping(&source)?;
        let Some(kind) = fields::word(map, "type") else {
            let text = "the source has no `type`";
            let hint = format!("types: {}", types().collect::<Vec<_>>().join(", "));
            self.problems.push(Problem::error("missing-key", text).at(source.span).hint(hint));
            return None;
        };
        let empty = Map::default();
        let configuration = fields::mapping(map, "configuration").unwrap_or(&empty);
        let (_, shape) = TYPES.iter().find(|(name, _)| *name == kind)?;
        let at = map.get("configuration").unwrap_or(&source);
        let checked = Node { value: Value::Map(configuration.clone()), span: at.span };
        check(&checked, &Kind::Object(shape), format_args!("`configuration`"), self.problems);
        let mut surroundings = Surroundings::default();
        let mut timeout = None;
        let work = match kind.as_str() {
            "process" => {
                let (work, around) = self.process_source(configuration);
                (surroundings, timeout) = (around, fields::duration(configuration, "timeout"));
                work
            }
            "rest" | "http" => {
                let mut request = self.request(configuration, "configuration");
                request.takes_any_json = kind == "rest";
                Work::Http(Box::new(request))
            }
            "env" => Work::Env(fields::texts(configuration, "vars")),
            _ => Work::File(self.file(configuration)),
        };
        Some(SourceWork { work, surroundings, timeout })
    }

    /// The definition of a source, with what it is based on merged in.
    fn resolve(
        &mut self,
        node: &Node,
        sources: &BTreeMap<String, Node>,
        depth: usize,
    ) -> Option<Node> {
        if depth > DEPTH_MAX {
            let text = "sources are based on each other in a circle";
            self.problems.push(Problem::error("cycle", text).at(node.span));
            return None;
        }
        match &node.value {
            Value::Text(name) => match sources.get(name.as_str()) {
                Some(found) => {
                    self.used_sources.insert(name.as_str().to_owned());
                    self.resolve(found, sources, depth + 1)
                }
                None if types().any(|known| known == name.as_str()) => Some(plain(node)),
                None => {
                    self.unknown_source(node, name.as_str(), sources);
                    None
                }
            },
            Value::Map(map) => {
                let Some(base) = map.get("base") else {
                    self.check_override(map);
                    return Some(node.clone());
                };
                self.check_based(map);
                if base.is_null() {
                    let text = "`base` must name a source";
                    self.problems.push(Problem::error("wrong-type", text).at(base.span));
                    return None;
                }
                let base = self.resolve(base, sources, depth + 1)?;
                Some(match map.get("override").filter(|it| !it.is_null()) {
                    Some(over) => overridden(base, over),
                    None => base,
                })
            }
            _ => None,
        }
    }

    /// An `override` changes something.
    fn check_override(&mut self, map: &Map) {
        if let Some(node) = map.get("override") {
            let text = "`override` needs a `base` that it changes";
            let problem = Problem::error("contradiction", text).at(node.span);
            self.problems.push(problem.hint("write its keys beside `type`, or say `base: NAME`"));
        }
    }

    /// What stands beside `base` would have no effect.
    fn check_based(&mut self, map: &Map) {
        for key in ["type", "configuration"] {
            if let Some(entry) = map.entry(key).filter(|entry| !entry.value.is_null()) {
                let text = format!("`{key}` has no effect beside `base`");
                let problem = Problem::error("contradiction", text).at(entry.key_span);
                self.problems.push(problem.hint(format!("put it under override: {{ {key}: … }}")));
            }
        }
    }

    fn unknown_source(&mut self, node: &Node, name: &str, sources: &BTreeMap<String, Node>) {
        let text = format!("there is no source `{name}`");
        let problem = Problem::error("unknown-source", text).at(node.span);
        let known = || sources.keys().map(String::as_str).chain(types());
        self.problems.push(match self.problems.nearest(name, known()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint(format!("known: {}", known().collect::<Vec<_>>().join(", "))),
        });
    }

    fn file(&mut self, map: &Map) -> FileWork {
        let format = match fields::word(map, "format").as_deref() {
            Some("json") => Some(FileFormat::Json),
            Some("yaml") => Some(FileFormat::Yaml),
            Some("lines") => Some(FileFormat::Lines),
            Some("text") => Some(FileFormat::Text),
            _ => None,
        };
        let path = map.get("path").map(|node| self.tree(node, "path"));
        FileWork {
            path: path.unwrap_or(Tree::Value(Json::Null)),
            format,
            bytes_max: fields::size(map, "max_bytes").unwrap_or(FILE_BYTES_MAX),
            is_optional: fields::boolean(map, "optional").unwrap_or_default(),
        }
    }
}

/// The types that can be named without being defined.
fn types<'a>() -> impl Iterator<Item = &'a str> {
    TYPES.iter().map(|(name, _)| *name)
}

/// A source with what differs from it. Work of another type has nothing of its configuration.
fn overridden(base: Node, over: &Node) -> Node {
    let kind = |node: &Node| fields::as_mapping(node).and_then(|map| fields::word(map, "type"));
    match kind(over) {
        Some(other) if Some(&other) != kind(&base).as_ref() => over.clone(),
        _ => merge(base, over.clone()),
    }
}

/// A type that is named where a source could be.
fn plain(node: &Node) -> Node {
    let mut map = Map::default();
    map.insert("type".to_owned(), node.span, node.clone());
    Node { value: Value::Map(map), span: node.span }
}

/// What templates see of a source.
pub(super) fn view(node: &Node) -> SourceView {
    let map = fields::as_mapping(node);
    let is_env = map.is_some_and(|map| fields::word(map, "type").as_deref() == Some("env"));
    let configuration = map.and_then(|map| fields::mapping(map, "configuration"));
    match configuration {
        Some(configuration) if is_env => {
            SourceView::Variables(fields::texts(configuration, "vars"))
        }
        _ => SourceView::Definition(node.to_json()),
    }
}
