//! What `tidewheel config show` prints: all settings, for people and for programs.
//!
//! How a single value is written is in [`super::value`].

use serde_json::{Map, Value as Json, json};

use super::layers::Config;
use super::setting::Otherwise;

/// One line for each setting, in the notation of files: what is printed could be kept as one.
///
/// Settings without a value are comments that say what that comes to.
pub(crate) fn as_text(config: &Config, with_origins: bool) -> String {
    let lines: Vec<[String; 3]> = config
        .settings()
        .map(|(definition, value, origin)| {
            let (key, value) = match (value, definition.otherwise) {
                (Some(value), _) => (definition.key.to_owned(), value.to_toml()),
                (None, Otherwise::Words(text) | Otherwise::Value(text)) => {
                    (format!("# {}", definition.key), text.to_owned())
                }
            };
            [key, value, origin.to_string()]
        })
        .collect();
    let width = |column: usize| {
        let lengths = lines.iter().map(|line| line[column].chars().count());
        lengths.max().unwrap_or_default()
    };
    let (key_width, value_width) = (width(0), width(1).min(VALUE_WIDTH_MAX));
    let mut text = String::new();
    for [key, value, origin] in &lines {
        let line = if with_origins {
            format!("{key:key_width$} = {value:value_width$}  # {origin}\n")
        } else {
            format!("{key:key_width$} = {value}\n")
        };
        text.push_str(&line);
    }
    text
}

/// A long path does not push the origins of all the others away.
const VALUE_WIDTH_MAX: usize = 40;

/// `{ "settings": { KEY: { "value", "origin": { "kind", "where" }, "description" } } }`
pub(crate) fn as_json(config: &Config) -> Json {
    let settings: Map<String, Json> = config
        .settings()
        .map(|(definition, value, origin)| {
            let origin = json!({ "kind": origin.kind(), "where": origin.place() });
            let value = value.map_or(Json::Null, |value| value.to_json());
            let description = definition.description;
            let shown = json!({ "value": value, "origin": origin, "description": description });
            (definition.key.to_owned(), shown)
        })
        .collect();
    json!({ "settings": settings })
}
