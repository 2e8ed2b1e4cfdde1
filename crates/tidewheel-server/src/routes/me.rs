//! Who asks, and what a browser does about it: links to log in, and logging out.
//!
//! How a link is used is in [`super::login`].

use std::time::Instant;

use axum::response::Response;
use tidewheel_client::api::{Asker, LoginLink};

use crate::door::{Call, document};
use crate::identity::{Identity, Way};
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "me",
        about: "Says who asks, what they may do, and the word against forged requests.",
        verb: Verb::Get,
        path: "/api/v1/me",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Asker>()),
        changes: false,
        answer: |call| Box::pin(me(call)),
    },
    Route {
        name: "make-login-link",
        about: "Makes a link that logs a browser in as whoever asks, once and within a minute.",
        verb: Verb::Post,
        path: "/api/v1/login-links",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<LoginLink>()),
        changes: true,
        answer: |call| Box::pin(link(call)),
    },
    Route {
        name: "log-out",
        about: "Ends the session of a browser.",
        verb: Verb::Post,
        path: "/api/v1/logout",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Asker>()),
        changes: true,
        answer: |call| Box::pin(log_out(call)),
    },
];

/// Who asks. The door lets nobody in here who is not known.
fn who(call: &Call) -> Result<&Identity, Problem> {
    call.who.as_ref().ok_or_else(Problem::nobody)
}

fn asker(who: &Identity) -> Asker {
    let csrf = match &who.way {
        Way::Session { csrf, .. } => Some(csrf.clone()),
        Way::Socket | Way::Token => None,
    };
    let (name, flows) = (who.name.clone(), who.reach.patterns());
    Asker { version: None, name, role: who.role, flows, csrf }
}

async fn me(call: Call) -> Result<Response, Problem> {
    document(asker(who(&call)?))
}

async fn link(call: Call) -> Result<Response, Problem> {
    let made = call.server.links.make(who(&call)?, Instant::now());
    let code = made.map_err(|error| Problem::failed(error.to_string()))?;
    let many =
        || Problem::new(axum::http::StatusCode::TOO_MANY_REQUESTS, "too many links are open");
    let code = code.ok_or_else(|| many().after(std::time::Duration::from_secs(60)))?;
    let path = call.server.login_path_of(&code);
    let url = call.server.settings.home.as_ref().map(|home| format!("{home}{path}"));
    document(LoginLink { version: None, path, seconds: 60, url })
}

async fn log_out(call: Call) -> Result<Response, Problem> {
    let who = who(&call)?;
    if let Way::Session { id, .. } = &who.way {
        call.server.sessions.end(id);
    }
    document(Asker { csrf: None, ..asker(who) })
}
