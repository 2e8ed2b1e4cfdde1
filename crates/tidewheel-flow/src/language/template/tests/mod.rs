//! Templates as people write them, and as attackers do.

mod language;
mod limits;
mod references;
mod sharing;
mod undefined;
mod values;

use serde_json::{Value, json};

use super::{Context, Engine, Limits, Template, TemplateError};

fn engine() -> Engine {
    Engine::new(Limits::default())
}

fn template(text: &str) -> Template {
    engine().template(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What most of the tests fill in.
fn context() -> Context {
    let values = values().as_object().expect("a map").clone();
    values.iter().fold(Context::new(), |context, (name, value)| context.with(name, value))
}

fn values() -> Value {
    json!({
        "n": 7,
        "pi": 3.5,
        "yes": true,
        "nothing": null,
        "name": "Hello World",
        "numbers": [3, 1, 2, 3],
        "words": ["bob", "Alice", "carol"],
        "map": {"b": 1, "a": 2, "c": [1, 2]},
        "rows": [
            {"k": "x", "v": 1, "in": {"d": 1}},
            {"k": "y", "v": 2, "in": {"d": 2}},
            {"k": "x", "v": 3, "in": {"d": 0}},
        ],
        "empty": [],
        "tree": [{"n": "a", "c": [{"n": "b", "c": []}]}, {"n": "d", "c": []}],
        "flows": {"fetch": {"total": 12, "rows": [{"id": 1}]}, "fetch-all": {"total": 0}},
    })
}

fn text(source: &str) -> Result<String, TemplateError> {
    engine().template(source)?.render_text(&context())
}

fn value(source: &str) -> Result<Value, TemplateError> {
    engine().template(source)?.render(&context())
}
