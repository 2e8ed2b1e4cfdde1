//! How a browser logs in with a link that works once.
//!
//! The link only shows a button: whoever looks at links before people do, such as a mail program, does not use it up.
//! What a session is, is in [`crate::identity`].

use std::time::Instant;

use axum::extract::Form;
use axum::extract::FromRequest as _;
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::door::{Call, cookie_name};
use crate::problem::Problem;
use crate::table::{Gives, Permission, Route, Takes, Verb};

/// More than a code is not sent.
const BYTES_MAX: usize = 1024;

pub(super) const ROUTES: &[Route] = &[Route {
    name: "log-in",
    about: "Logs a browser in with the code of a link, which is used up.",
    verb: Verb::Post,
    path: "/login",
    permission: Permission::Public,
    query: None,
    takes: Takes::Fields(BYTES_MAX),
    gives: Gives::Elsewhere,
    changes: true,
    answer: |call| Box::pin(log_in(call)),
}];

/// What a link has behind its question mark.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Code {
    /// The code of the link.
    pub code: String,
}

impl Code {
    pub fn is_plain(&self) -> bool {
        self.code.len() <= 128 && self.code.bytes().all(|it| it.is_ascii_hexdigit())
    }
}

async fn log_in(call: Call) -> Result<Response, Problem> {
    let mut request = Request::post("/").body(call.body.clone().into());
    if let Ok(request) = &mut request {
        *request.headers_mut() = call.headers.clone();
    }
    let request = request.map_err(|error| Problem::failed(error.to_string()))?;
    let form = Form::<Code>::from_request(request, &()).await;
    let Form(code) = form.map_err(|error| Problem::unfit(error.body_text()))?;
    let (server, now) = (&call.server, Instant::now());
    let used = Problem::new(StatusCode::UNAUTHORIZED, "the link was used, or is too old")
        .hint("ask for a new one: tidewheel login");
    let who = server.links.take(&code.code, now).ok_or(used)?;
    let begun = server.sessions.begin(&who, now);
    let cookie = begun.map_err(|error| Problem::failed(error.to_string()))?;
    let is_secure = server.settings.is_secure();
    let (secure, base) = match is_secure {
        // Browsers take a cookie of this name for the whole host only.
        true => ("; Secure", ""),
        false => ("", server.settings.base_path.as_str()),
    };
    let name = cookie_name(is_secure);
    let cookie = format!("{name}={cookie}; Path={base}/; HttpOnly; SameSite=Strict{secure}");
    // Nowhere but here: where to go is not for the link to say.
    let to = [(LOCATION, "./".to_owned()), (SET_COOKIE, cookie)];
    Ok((StatusCode::SEE_OTHER, to).into_response())
}
