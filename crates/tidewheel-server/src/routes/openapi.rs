//! The OpenAPI document, served.
//!
//! It is made in [`crate::openapi`].

use axum::response::Response;
use serde_json::Value as Json;

use crate::door::{Call, json};
use crate::openapi::openapi;
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

pub(super) const ROUTES: &[Route] = &[Route {
    name: "openapi",
    about: "Says what can be asked for, as an OpenAPI 3.1 document.",
    verb: Verb::Get,
    path: "/api/v1/openapi.json",
    permission: Permission::Viewer,
    query: None,
    takes: Takes::Nothing,
    gives: Gives::Document(Form::of::<Json>()),
    changes: false,
    answer: |call| Box::pin(answer(call)),
}];

async fn answer(call: Call) -> Result<Response, Problem> {
    json(&openapi(&call.server.settings.base_path))
}
