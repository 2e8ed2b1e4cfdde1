//! How a browser logs in with a link that works once.
//!
//! The link only shows a button: whoever looks at links before people do, such as a mail program, does not use it up.
//! What a session is, is in [`crate::identity`].

use std::time::Instant;

use axum::extract::Form;
use axum::extract::FromRequest as _;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::door::{Call, cookie_name};
use crate::problem::Problem;
use crate::table::{self, Gives, Permission, Route, Takes, Verb};

/// More than a code is not sent.
const BYTES_MAX: usize = 1024;

const HTML: &str = "text/html; charset=utf-8";

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "login-page",
        about: "Shows the button that logs a browser in.",
        verb: Verb::Get,
        path: "/login",
        permission: Permission::Public,
        query: Some(table::Form::of::<Code>()),
        takes: Takes::Nothing,
        gives: Gives::Text(HTML),
        changes: false,
        answer: |call| Box::pin(page(call)),
    },
    Route {
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
    },
];

/// What a link has behind its question mark.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Code {
    /// The code of the link.
    code: String,
}

impl Code {
    fn is_plain(&self) -> bool {
        self.code.len() <= 128 && self.code.bytes().all(|it| it.is_ascii_hexdigit())
    }
}

async fn page(call: Call) -> Result<Response, Problem> {
    let code: Code = call.query()?;
    if !code.is_plain() {
        return Err(Problem::unfit("this is no code of a link"));
    }
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Tidewheel</title>\n\
         <form method=\"post\" action=\"login\">\n\
         <input type=\"hidden\" name=\"code\" value=\"{}\">\n\
         <button autofocus>Log in to Tidewheel</button>\n</form>\n</html>\n",
        code.code
    );
    let policy = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    Ok(([(CONTENT_TYPE, HTML), (CONTENT_SECURITY_POLICY, policy)], page).into_response())
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
    let is_tls = server.settings.is_behind_proxy;
    let secure = if is_tls { "; Secure" } else { "" };
    let name = cookie_name(is_tls);
    let cookie = format!("{name}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}");
    // Nowhere but here: where to go is not for the link to say.
    let to = [(LOCATION, "./".to_owned()), (SET_COOKIE, cookie)];
    Ok((StatusCode::SEE_OTHER, to).into_response())
}
