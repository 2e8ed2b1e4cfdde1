//! Whether the server lives, and whether it takes work.
//!
//! How well it goes is said by its figures.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};

use crate::door::Call;
use crate::problem::Problem;
use crate::server::Closing;
use crate::table::{Gives, Permission, Route, Takes, Verb};

const TEXT: &str = "text/plain; charset=utf-8";

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "health-live",
        about: "Says `ok` as long as the server answers at all.",
        verb: Verb::Get,
        path: "/health/live",
        permission: Permission::Public,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Text(TEXT),
        changes: false,
        answer: |_| Box::pin(async { Ok(ok()) }),
    },
    Route {
        name: "health-ready",
        about: "Says `ok` if the server takes work; 503 while it comes to an end.",
        verb: Verb::Get,
        path: "/health/ready",
        permission: Permission::Public,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Text(TEXT),
        changes: false,
        answer: |call| Box::pin(ready(call)),
    },
];

fn ok() -> Response {
    ([(CONTENT_TYPE, TEXT)], "ok\n").into_response()
}

async fn ready(call: Call) -> Result<Response, Problem> {
    match *call.server.closing().borrow() {
        Closing::No => Ok(ok()),
        Closing::Draining | Closing::Now => {
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server comes to an end"))
        }
    }
}
