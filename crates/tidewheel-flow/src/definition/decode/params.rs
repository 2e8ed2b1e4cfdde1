//! Params and secrets.
//!
//! Values for them are checked where a run is started; secrets are fetched only then.

use super::{Decoder, fields};
use crate::definition::keys::ORIGINS;
use crate::definition::params::{fits, kind_of};
use crate::definition::{Param, ParamKind, Secret, SecretOrigin};
use crate::language::problem::Problem;
use crate::language::yaml::{Map, Node, Value};

impl Decoder<'_> {
    pub(super) fn params(&mut self, map: &Map) -> Vec<Param> {
        let Some(map) = fields::mapping(map, "params") else { return Vec::new() };
        map.iter().map(|entry| self.param(&entry.key, &entry.value)).collect()
    }

    /// A mapping says everything about a param; any other value is its default.
    fn param(&mut self, name: &str, node: &Node) -> Param {
        let Value::Map(map) = &node.value else {
            let default = node.to_json();
            return Param {
                name: name.to_owned(),
                kind: kind_of(&default),
                default: Some(default),
                choices: Vec::new(),
                description: None,
                min: None,
                max: None,
                pattern: None,
            };
        };
        let default = map.get("default").map(Node::to_json);
        let choices: Vec<_> = fields::list(map, "choices").iter().map(Node::to_json).collect();
        let kind = match fields::word(map, "type").as_deref() {
            Some("text" | "string") => ParamKind::Text,
            Some("int") => ParamKind::Int,
            Some("number") => ParamKind::Number,
            Some("bool") => ParamKind::Bool,
            Some("list") => ParamKind::List,
            Some("map") => ParamKind::Map,
            Some("any") => ParamKind::Any,
            _ => default.as_ref().or(choices.first()).map_or(ParamKind::Text, kind_of),
        };
        let param = Param {
            name: name.to_owned(),
            kind,
            default,
            choices,
            description: fields::owned(map, "description"),
            min: fields::number(map, "min"),
            max: fields::number(map, "max"),
            pattern: fields::owned(map, "pattern"),
        };
        if let (Some(default), Some(at)) = (&param.default, map.get("default"))
            && let Err(error) = fits(&param, default)
        {
            let text = format!("the default of `{name}`: {error}");
            self.problems.push(Problem::error("bad-default", text).at(at.span));
        }
        param
    }

    pub(super) fn secrets(&mut self, map: &Map) -> Vec<Secret> {
        let Some(map) = fields::mapping(map, "secrets") else { return Vec::new() };
        let secrets = map.iter().map(|entry| {
            let (name, map) = (entry.key.clone(), fields::as_mapping(&entry.value));
            let origin = map.and_then(|map| self.origin(&name, &entry.value, map));
            let is_optional = map.and_then(|map| fields::boolean(map, "optional"));
            Secret {
                name,
                origin: origin.unwrap_or(SecretOrigin::Variable(String::new())),
                is_optional: is_optional.unwrap_or_default(),
            }
        });
        secrets.collect()
    }

    fn origin(&mut self, name: &str, node: &Node, map: &Map) -> Option<SecretOrigin> {
        match fields::said(map, &ORIGINS)[..] {
            ["env"] => fields::owned(map, "env").map(SecretOrigin::Variable),
            ["file"] => Some(SecretOrigin::File(self.folder.join(fields::text(map, "file")?))),
            ["command"] => {
                let [words, inherit] = ["command", "inherit"].map(|key| fields::texts(map, key));
                Some(SecretOrigin::Command { words, inherit })
            }
            _ => {
                let text = format!("secret `{name}` needs exactly one of env, file, command");
                self.problems.push(Problem::error("contradiction", text).at(node.span));
                None
            }
        }
    }
}
