//! [`pass`]: the one way from a request to an answer.
//!
//! Each check is in a file beside; here is their order.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request};
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::AuditRow;

use super::body::read_body;
use super::identify::identify;
use super::origin::check_origin;
use super::{Call, Object, Peer, View, surface_of};
use crate::identity::{Identity, TOKEN_PREFIX};
use crate::page::{packed, refused};
use crate::problem::Problem;
use crate::server::Server;
use crate::table::{Gives, Narrowing, Permission, Route};

/// Letters of a name in a path.
const NAME_MAX: usize = 512;

/// A request on its way in.
pub(super) struct Passing<'a> {
    pub(super) server: &'a Arc<Server>,
    /// What is asked for, if it is there.
    route: Option<&'static Route>,
    /// What could be asked for under this path.
    routes: &'a [&'static Route],
    pub(super) peer: Peer,
    who: Option<Identity>,
    now: Timestamp,
    pub(super) instant: Instant,
    /// What it is about, as far as only its body says that.
    object: Object,
}

/// Whether a request that was refused is written down: one that came too often is not, or whoever
/// is turned away could fill the disk.
pub(super) enum Refused {
    Plainly(Problem),
    ForComingTooOften(Problem),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Plainly(problem)
    }
}

/// Answers a request for one of these routes, which share a path; for a path that is not there, there are none.
pub(crate) async fn pass(
    server: Arc<Server>,
    routes: &[&'static Route],
    request: Request,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let peer = Peer::of(&parts.extensions);
    let (now, instant) = (wall_clock(), Instant::now());
    let passing = Passing {
        server: &server,
        route: routes.iter().copied().find(|route| route.verb.is(&parts.method)),
        routes,
        peer,
        who: identify(&server, &parts.headers, peer, (now, instant)),
        now,
        instant,
        object: Object::default(),
    };
    let surface = surface_of(&parts.headers);
    let params = params(&mut parts).await;
    let object = params.as_ref().map(|params| object_of(params)).unwrap_or_default();
    let answer = match passing.admit(&parts) {
        Ok(route) => passing.answer(route, params, parts.clone(), body).await,
        Err(refused) => Err(refused),
    };
    let refuse = |problem: Problem| match passing.is_for_people(&parts.headers) {
        true => refused(&server, &parts.headers, problem),
        false => problem.into_response(),
    };
    let response = match answer {
        Ok(response) => passing.write_down(&object, response),
        Err(Refused::Plainly(problem)) => passing.write_down(&object, refuse(problem.at(surface))),
        Err(Refused::ForComingTooOften(problem)) => refuse(problem),
    };
    let response = packed(&parts.headers, response).await;
    match parts.method == Method::HEAD {
        true => response.map(|_| Body::empty()),
        false => response,
    }
}

impl Passing<'_> {
    /// Whether they may, and what it is that they may.
    fn admit(&self, parts: &Parts) -> Result<&'static Route, Refused> {
        let permission = self.route.map(|route| route.permission);
        // Who signs what is sent is found out when that has been read.
        if !matches!(permission, Some(Permission::Public | Permission::Signature)) {
            self.check_known(permission)?;
        }
        check_no_token_in(parts.uri.query())?;
        let Some(route) = self.route else { return Err(self.nothing().into()) };
        let role = self.who.as_ref().map(|who| who.role);
        // Where nobody needs to be known, or this machine is enough, it was found out above.
        if let (Some(role), Some(least)) = (role, route.permission.role())
            && role < least
        {
            let detail = format!("this needs the role {least}, and the token has {role}");
            return Err(Problem::new(StatusCode::FORBIDDEN, detail).into());
        }
        let knows_all = self.who.as_ref().is_none_or(|who| who.reach.is_all());
        if !knows_all && Narrowing::of(route) == Narrowing::Whole {
            let detail = "this is about all flows, and the token knows of some only";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail).into());
        }
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            check_origin(&parts.headers, self.who.as_ref())?;
        }
        Ok(route)
    }

    /// Whether it is known who asks, and whether they have not asked too often.
    fn check_known(&self, permission: Option<Permission>) -> Result<(), Refused> {
        let server = self.server;
        let too_often = Refused::too_often;
        if let Some(who) = &self.who {
            let name = who.token.as_deref().unwrap_or(&who.name);
            return server.requests.take(name, self.instant).map_err(too_often);
        }
        let settings = &server.settings;
        let is_open = match permission {
            Some(Permission::Figures) => !settings.metrics_need_token,
            Some(Permission::Flowtoy) => settings.flowtoy_is_open,
            _ => false,
        };
        if is_open && !settings.is_behind_proxy && self.peer.is_here() {
            return Ok(());
        }
        server.strangers.take(&self.peer.to_string(), self.instant).map_err(too_often)?;
        Err(Problem::nobody().into())
    }

    /// Whether a person looks at what comes back: it is a page, or nothing where a browser looks for one.
    fn is_for_people(&self, headers: &HeaderMap) -> bool {
        let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
        match self.route {
            Some(route) => matches!(route.gives, Gives::Page),
            None => accepts.is_some_and(|accept| accept.contains("text/html")),
        }
    }

    /// Nothing is there, or nothing that is asked for like this.
    fn nothing(&self) -> Problem {
        if self.routes.is_empty() {
            return Problem::nothing();
        }
        let words: Vec<&str> = self.routes.iter().map(|route| route.verb.word()).collect();
        let allow = words.join(", ");
        let detail = format!("this can be asked for by {allow} only");
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail).allow(allow)
    }

    async fn answer(
        &self,
        route: &'static Route,
        params: Result<Vec<(String, String)>, Problem>,
        parts: Parts,
        body: Body,
    ) -> Result<Response, Refused> {
        // Who is not known yet does not learn what may be the name of a hook.
        let params = params.map_err(|problem| match route.permission {
            Permission::Signature => Problem::nobody(),
            _ => problem,
        })?;
        if route.changes {
            self.server.check_books(self.now)?;
        }
        let limits = &self.server.settings.limits;
        let body = read_body(route.takes, &parts.headers, body, limits).await?;
        let signed = match route.permission {
            Permission::Signature => {
                Some(self.check_signed(&params, &parts.headers, body.clone()).await?)
            }
            _ => None,
        };
        let call = Call {
            server: View::new(self.server, self.who.as_ref())?,
            who: self.who.clone(),
            params,
            uri: parts.uri,
            headers: parts.headers,
            body,
            object: self.object.clone(),
            signed,
            at: String::new(),
            asking: 0,
        };
        Ok((route.answer)(call).await?)
    }

    /// Writes down what became of a wish to change something.
    fn write_down(&self, object: &str, response: Response) -> Response {
        let Some(route) = self.route.filter(|route| route.changes) else { return response };
        let who = self.who.as_ref();
        let actor = who.map_or("-", |who| who.name.as_str());
        let row = AuditRow {
            token: who.and_then(|who| who.token.clone()),
            address: self.peer.to_string(),
            object: self.object.words(object),
            ..AuditRow::unwritten(self.now, actor, route.name, response.status().as_u16())
        };
        match self.server.write_down(&row) {
            Ok(()) => response,
            Err(problem) => problem.into_response(),
        }
    }
}

/// A token does not belong where addresses are written down.
fn check_no_token_in(query: Option<&str>) -> Result<(), Problem> {
    let query = query.unwrap_or_default().to_ascii_lowercase();
    let names = ["token", "access_token", "api_key", "apikey", "authorization"];
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let is_token = |(name, value): (&str, &str)| {
        names.contains(&name) || value.starts_with(TOKEN_PREFIX) || value.starts_with("bearer")
    };
    match pairs.any(is_token) {
        true => Err(Problem::new(StatusCode::BAD_REQUEST, "a token does not belong in an address")
            .hint("send it in a header: Authorization: Bearer tidewheel_…")),
        false => Ok(()),
    }
}

/// The names in the path. What cannot be the name of anything is refused here, once for all.
async fn params(parts: &mut Parts) -> Result<Vec<(String, String)>, Problem> {
    let Ok(params) = RawPathParams::from_request_parts(parts, &()).await else {
        // None are there, or they are no text.
        return match parts.uri.path().contains('%') {
            true => Err(Problem::nothing()),
            false => Ok(Vec::new()),
        };
    };
    let is_name = |value: &str| {
        !value.is_empty() && value.len() <= NAME_MAX && !value.chars().any(char::is_control)
    };
    let named = params.iter().map(|(name, value)| match is_name(value) {
        true => Ok((name.to_owned(), value.to_owned())),
        false => Err(Problem::nothing()),
    });
    named.collect()
}

/// What a wish is about, in words.
fn object_of(params: &[(String, String)]) -> String {
    let parts: Vec<String> = params.iter().map(|(name, value)| format!("{name} {value}")).collect();
    parts.join(", ")
}
