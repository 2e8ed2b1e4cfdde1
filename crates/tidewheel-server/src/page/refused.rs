//! What a person is shown when something is not there, or not for them.
//!
//! Programs get the same as a document.

use askama::Template;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};

use super::frame::{Frame, page};
use crate::problem::Problem;
use crate::server::Server;

#[derive(Template)]
#[template(path = "refused.html")]
struct Refused {
    frame: Frame,
    status: u16,
    title: &'static str,
    detail: String,
    hint: Option<String>,
    is_nobody: bool,
}

/// A problem as a page, with the status and the headers it has anyway.
pub(crate) fn refused(server: &Server, headers: &HeaderMap, problem: Problem) -> Response {
    let (status, detail, hint) = (problem.status(), problem.detail.clone(), problem.hint_text());
    let is_nobody = status == StatusCode::UNAUTHORIZED;
    let title = match status {
        StatusCode::UNAUTHORIZED => "Log in",
        StatusCode::FORBIDDEN => "Not for this role",
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::SERVICE_UNAVAILABLE => "Not now",
        StatusCode::UNPROCESSABLE_ENTITY => "This makes no sense",
        _ => "Something went wrong",
    };
    let frame = Frame::plain(server, headers);
    let shown = Refused { frame, status: status.as_u16(), title, detail, hint, is_nobody };
    let mut response = problem.into_response();
    if let Ok(made) = page(&shown) {
        let (parts, body) = made.into_parts();
        *response.body_mut() = body;
        response.headers_mut().extend(parts.headers);
    }
    response
}
