//! The OpenAPI 3.1 document, made from the table and the types of the documents.
//!
//! Nothing is described here that is not in the [table](crate::table).

use serde_json::{Map, Value as Json, json};
use tidewheel_client::api::Problem;

use crate::base::BasePath;
use crate::table::{Form, Gives, Header, NDJSON, Permission, Route, Takes, headers_of, routes};

/// What can be asked for below a path, in the words of OpenAPI.
pub(crate) fn openapi(base: &BasePath) -> Json {
    let mut schemas = Map::new();
    let mut paths = Map::new();
    describe(Form::of::<Problem>(), &mut schemas);
    for route in routes().filter(|route| !matches!(route.gives, Gives::Page)) {
        let operation = operation(route, &mut schemas);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.word().to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tidewheel",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What may be asked of Tidewheel and done with it.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": format!("{base}/") }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer" },
            },
        },
    })
}

/// Describes a form and its parts; gives what refers to it.
fn describe(form: Form, schemas: &mut Map<String, Json>) -> Json {
    for (name, schema) in form.schemas() {
        // It is made of texts and numbers, which can always be written.
        let schema = serde_json::to_value(schema).unwrap_or_default();
        schemas.entry(name).or_insert(schema);
    }
    json!({ "$ref": format!("#/components/schemas/{}", form.name()) })
}

fn operation(route: &Route, schemas: &mut Map<String, Json>) -> Json {
    let mut parameters: Vec<Json> = names_in(route.path).map(of_path).collect();
    if let Some(query) = route.query {
        parameters.extend(of_query(query, schemas));
    }
    parameters.extend(headers_of(route).map(of_header));
    let refusal = json!({
        "description": "It was not done.",
        "content": {
            "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } },
        },
    });
    let (status, answer) = answer(route, schemas);
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.about,
        "parameters": parameters,
        "responses": { status: answer, "default": refusal },
        "x-tidewheel-permission": format!("{:?}", route.permission).to_ascii_lowercase(),
    });
    match route.permission {
        Permission::Public | Permission::Signature => operation["security"] = json!([]),
        // On the same machine none may be needed.
        Permission::Figures | Permission::Flowtoy => {
            operation["security"] = json!([{ "token": [] }, {}])
        }
        _ => {}
    }
    let (content, is_required) = match route.takes {
        Takes::Nothing => return operation,
        Takes::Document(form, _) => {
            (json!({ "application/json": { "schema": describe(form, schemas) } }), true)
        }
        Takes::MaybeDocument(form, _) => {
            (json!({ "application/json": { "schema": describe(form, schemas) } }), false)
        }
        Takes::Signed(_) => (json!({ "*/*": {} }), false),
        Takes::Fields(_) => {
            let fields = json!({
                "type": "object",
                "required": ["code"],
                "properties": { "code": { "type": "string" } },
            });
            (json!({ "application/x-www-form-urlencoded": { "schema": fields } }), true)
        }
    };
    operation["requestBody"] = json!({ "content": content, "required": is_required });
    operation
}

fn answer(route: &Route, schemas: &mut Map<String, Json>) -> (&'static str, Json) {
    let text = json!({ "type": "string" });
    let content = match route.gives {
        Gives::Document(form) => {
            json!({ "application/json": { "schema": describe(form, schemas) } })
        }
        Gives::Text(kind) => {
            let kind = kind.split(';').next().unwrap_or(kind);
            json!({ kind: { "schema": text } })
        }
        Gives::Bytes => json!({ "application/octet-stream": {} }),
        Gives::Lines(form) => {
            // Each line is this document.
            let line = describe(form, schemas);
            json!({ NDJSON: { "schema": text, "x-tidewheel-line": line } })
        }
        Gives::Events(form) => {
            // Each event is text; what stands behind `data:` is this document.
            let event = describe(form, schemas);
            json!({ "text/event-stream": { "schema": text, "x-tidewheel-event": event } })
        }
        // Pages are for people, and not described.
        Gives::Page => json!({}),
        Gives::Elsewhere => return ("303", json!({ "description": "It is done; go there." })),
    };
    ("200", json!({ "description": "It is so.", "content": content }))
}

/// The names in braces.
fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn of_path(name: &str) -> Json {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "schema": { "type": "string", "minLength": 1, "maxLength": 512 },
    })
}

fn of_header(header: &Header) -> Json {
    json!({
        "name": header.name,
        "in": "header",
        "required": false,
        "description": header.about,
        "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": header.pattern },
    })
}

/// The fields of a form, each as a parameter of its own.
fn of_query(form: Form, schemas: &mut Map<String, Json>) -> Vec<Json> {
    let mut forms = form.schemas().into_iter().map(|(name, schema)| {
        // As above.
        (name, serde_json::to_value(schema).unwrap_or_default())
    });
    let own = forms.next().map(|(_, own)| own).unwrap_or_default();
    for (name, schema) in forms {
        schemas.entry(name).or_insert(schema);
    }
    let required: Vec<&str> = own["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    let fields = own["properties"].as_object().cloned().unwrap_or_default();
    let parameter = |(name, mut schema): (String, Json)| {
        let about = schema["description"].take();
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("description");
        }
        json!({
            "name": name,
            "in": "query",
            "required": required.contains(&name.as_str()),
            "description": about,
            "schema": schema,
        })
    };
    fields.into_iter().map(parameter).collect()
}
