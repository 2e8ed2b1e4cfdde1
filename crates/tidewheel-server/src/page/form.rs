//! The form that starts a run of a flow: a field for each of its params.
//!
//! A script sends it, and shows beforehand what would be done; what is wrong with a value is said by the house.

use askama::Template;
use axum::response::Response;
use serde_json::Value as Json;
use tidewheel_client::api::ParamLine;
use tidewheel_client::text::sentence;

use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::words::{argument, run_command};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::Route;

pub(super) const ROUTES: &[Route] = &[page_route!(
    "page-form",
    "/flows/{flow}/run",
    "The form that starts a run of a flow.",
    None,
    form
)];

#[derive(Template)]
#[template(path = "form.html")]
struct FormPage {
    frame: Frame,
    name: String,
    flow: Link,
    description: Option<String>,
    fields: Vec<Field>,
    fingerprint: String,
    /// What starts it from a shell, and the params of it that must be said.
    command: String,
    needed: String,
}

struct Field {
    name: String,
    kind: String,
    input: &'static str,
    is_required: bool,
    value: String,
    is_on: bool,
    choices: Vec<(String, bool)>,
    description: Option<String>,
    min: Option<String>,
    max: Option<String>,
    /// The same in words.
    bounds: String,
}

async fn form(call: Call) -> Result<Response, Problem> {
    let detail = call.server.house()?.flow(call.param("flow")).await?;
    let flow = detail.flow;
    let said: Vec<String> = detail
        .params
        .iter()
        .filter(|param| param.required)
        .map(|param| format!(" --param {}=…", argument(&param.name)))
        .collect();
    page(&FormPage {
        frame: Frame::of(&call, "flows"),
        flow: Link::of_flow(&flow.name),
        description: flow.description.as_deref().map(sentence),
        fields: detail.params.iter().map(field).collect(),
        fingerprint: flow.fingerprint,
        command: run_command(&flow.name),
        needed: said.concat(),
        name: flow.name,
    })
}

fn field(param: &ParamLine) -> Field {
    let text = |value: &Json| match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    };
    let default = param.default.as_ref().map(text).unwrap_or_default();
    let choice = |value: &Json| {
        let value = text(value);
        let is_default = value == default;
        (value, is_default)
    };
    let bound = |bound: Option<f64>| bound.map(|bound| bound.to_string());
    let (min, max) = (bound(param.min), bound(param.max));
    Field {
        name: param.name.clone(),
        kind: param.kind.clone(),
        input: match param.kind.as_str() {
            _ if !param.choices.is_empty() => "select",
            "bool" => "checkbox",
            "int" | "number" => "number",
            "list" | "map" | "any" => "area",
            _ if default.contains('\n') => "area",
            _ => "text",
        },
        is_required: param.required,
        is_on: param.default == Some(Json::Bool(true)),
        choices: param.choices.iter().map(choice).collect(),
        description: param.description.as_deref().map(sentence),
        bounds: match (&min, &max, &param.pattern) {
            (Some(min), Some(max), _) => format!("{min} to {max}"),
            (Some(min), None, _) => format!("at least {min}"),
            (None, Some(max), _) => format!("at most {max}"),
            (None, None, Some(pattern)) => format!("like {}", sentence(pattern)),
            (None, None, None) => String::new(),
        },
        min,
        max,
        value: default,
    }
}
