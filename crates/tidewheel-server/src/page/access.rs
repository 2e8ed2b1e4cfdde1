//! The page with the button that logs a browser in.
//!
//! What the button does is in `routes`.

use askama::Template;
use axum::response::Response;

use super::frame::{Frame, page};
use crate::door::Call;
use crate::problem::Problem;
use crate::routes::Code;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

pub(super) const ROUTES: &[Route] = &[Route {
    name: "login-page",
    about: "Shows the button that logs a browser in.",
    verb: Verb::Get,
    path: "/login",
    permission: Permission::Public,
    query: Some(Form::of::<Code>()),
    takes: Takes::Nothing,
    gives: Gives::Page,
    changes: false,
    answer: |call| Box::pin(login(call)),
}];

#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    frame: Frame,
    code: String,
}

async fn login(call: Call) -> Result<Response, Problem> {
    let code: Code = call.query()?;
    if !code.is_plain() {
        return Err(Problem::unfit("this is no code of a link"));
    }
    let frame = Frame::plain(&call.server, &call.headers);
    page(&Login { frame, code: code.code })
}
