//! [`Server`]: what is served, who may ask for it, and what was asked.
//!
//! How it listens is in [`crate::serve`], how a request comes in in [`crate::door`].

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tidewheel::Timestamp;
use tidewheel_client::api::{AuditRow, Health};
use tidewheel_client::desk::{Desk, Reach};
use tidewheel_client::house::{House, Lately};
use tokio::sync::watch;
use tower_service::Service as _;

use crate::audit::{AuditError, AuditLog};
use crate::door::{Throttle, check_host, harden, pass};
use crate::identity::{Identity, Links, Role, Sessions, TokenError, Tokens, Way};
use crate::problem::Problem;
use crate::settings::Settings;
use crate::table::{Gives, Route, routes};

/// What is served, and the door before it.
#[derive(Debug)]
pub struct Server {
    pub(crate) served: Served,
    pub(crate) settings: Settings,
    pub(crate) tokens: Tokens,
    pub(crate) links: Links,
    pub(crate) sessions: Sessions,
    pub(crate) audit: AuditLog,
    /// Whether the last entry could not be written: nothing is changed before one can.
    is_unwritten: AtomicBool,
    /// How often each token asks.
    pub(crate) requests: Throttle,
    /// How often each address asks without one.
    pub(crate) strangers: Throttle,
    /// How often each webhook is delivered to.
    pub(crate) deliveries: Throttle,
    /// Streams that are open, by who listens.
    streams: Arc<Mutex<HashMap<String, usize>>>,
    /// How things went lately.
    lately: Mutex<Lately>,
    /// Whether it comes to an end.
    closing: watch::Sender<Closing>,
}

/// What is served.
#[derive(Debug)]
#[non_exhaustive]
pub enum Served {
    /// Only what is in a data folder: nothing is started, no schedule fires.
    Desk(Desk),
    /// A house, with everything that may be asked of it.
    House(House),
}

impl Served {
    /// The same for somebody who knows of these flows only.
    pub(crate) fn within(&self, reach: &Reach) -> Result<Self, Problem> {
        Ok(match self {
            Self::Desk(desk) => Self::Desk(desk.within(reach)?),
            Self::House(house) => Self::House(house.within(reach)?),
        })
    }

    /// Where questions about runs are asked, and wishes said.
    pub(crate) fn desk(&self) -> &Desk {
        match self {
            Self::Desk(desk) => desk,
            Self::House(house) => house.desk(),
        }
    }

    /// The house, if one is served.
    pub(crate) fn house(&self) -> Result<&House, Problem> {
        match self {
            Self::House(house) => Ok(house),
            Self::Desk(_) => {
                Err(Problem::new(StatusCode::CONFLICT, "nothing is scheduled by this server"))
            }
        }
    }
}

impl From<Desk> for Served {
    fn from(desk: Desk) -> Self {
        Self::Desk(desk)
    }
}

impl From<House> for Served {
    fn from(house: House) -> Self {
        Self::House(house)
    }
}

/// A stream that is open, for as long as this lives.
#[derive(Debug)]
pub(crate) struct StreamPlace {
    streams: Arc<Mutex<HashMap<String, usize>>>,
    name: String,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = streams.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                streams.remove(&self.name);
            }
        }
    }
}

/// Whether a server comes to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Closing {
    /// It does not.
    No,
    /// Nothing new is taken in.
    Draining,
    /// What is open ends.
    Now,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The audit log cannot be used.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The system has no secrets.
    #[error("no secret can be made")]
    Random(#[source] io::Error),
}

impl Server {
    /// A server of a house, or of a desk alone. Its tokens and its audit log are in `folder`, which is made if it is not there: for
    /// `tidewheel serve`, `server` in the data folder.
    ///
    /// # Errors
    ///
    /// When one of them cannot be used.
    pub fn open(
        served: impl Into<Served>,
        folder: &Path,
        settings: Settings,
    ) -> Result<Arc<Self>, ServerError> {
        let limits = &settings.limits;
        let each = |count: u32, of: Duration| of / count.max(1);
        let requests = Throttle::new(
            each(limits.requests_per_second, Duration::from_secs(1)),
            limits.requests_at_once,
        );
        let strangers = Throttle::new(
            each(limits.strangers_per_minute, Duration::from_secs(60)),
            limits.strangers_per_minute,
        );
        let deliveries = Throttle::new(
            each(limits.deliveries_per_minute, Duration::from_secs(60)),
            limits.deliveries_per_minute,
        );
        Ok(Arc::new(Self {
            served: served.into(),
            tokens: Tokens::open(folder)?,
            links: Links::default(),
            sessions: Sessions::default(),
            audit: AuditLog::open(folder)?,
            is_unwritten: AtomicBool::new(false),
            requests,
            strangers,
            deliveries,
            streams: Arc::default(),
            lately: Mutex::default(),
            closing: watch::Sender::new(Closing::No),
            settings,
        }))
    }

    /// The house, if one is served; that of somebody in particular is their [`View`](crate::door::View)'s.
    pub(crate) fn house(&self) -> Result<&House, Problem> {
        self.served.house()
    }

    /// The house, as long as it takes something new in.
    pub(crate) fn open_house(&self) -> Result<&House, Problem> {
        let house = self.house()?;
        let is_open = *self.closing.borrow() == Closing::No && !house.is_ending();
        let ends = || {
            let detail = "the server comes to an end and takes nothing new in";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail).after(Duration::from_secs(5))
        };
        is_open.then_some(house).ok_or_else(ends)
    }

    /// Looks how things go.
    pub(crate) fn look(&self) {
        let now = Instant::now();
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        if let Served::House(house) = &self.served
            && lately.is_due(now)
        {
            lately.look(now, &house.figures());
        }
    }

    /// Whether things go well.
    pub(crate) fn health(&self) -> Result<Health, Problem> {
        let house = self.house()?;
        self.look();
        let figures = house.figures();
        let lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(lately.health(&figures, house.trouble().as_deref()))
    }

    /// Room for one more stream of whoever asks.
    pub(crate) fn take_stream(&self, who: Option<&Identity>) -> Result<StreamPlace, Problem> {
        let name = who.map(|who| who.token.clone().unwrap_or_else(|| who.name.clone()));
        let name = name.unwrap_or_default();
        let most = self.settings.limits.streams_max;
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let count = streams.entry(name.clone()).or_default();
        if *count >= most {
            let detail = format!("{most} streams are open already");
            let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, detail);
            return Err(problem.after(Duration::from_secs(1)));
        }
        *count += 1;
        Ok(StreamPlace { streams: Arc::clone(&self.streams), name })
    }

    /// The tokens that open it.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// What follows the address of the server in a link that logs its owner in, once and within a minute.
    ///
    /// # Errors
    ///
    /// When the system has no secrets.
    pub fn login_path(&self) -> Result<String, ServerError> {
        let (name, way) = ("owner".to_owned(), Way::Socket);
        let owner = Identity { name, role: Role::Admin, reach: Reach::all(), token: None, way };
        let code = self.links.make(&owner, Instant::now()).map_err(ServerError::Random)?;
        Ok(self.login_path_of(&code.unwrap_or_default()))
    }

    /// What follows the address of the server in a link with this code.
    pub(crate) fn login_path_of(&self, code: &str) -> String {
        format!("{}/login?code={code}", self.settings.base_path)
    }

    /// Takes nothing new in from now on: `/health/ready` says so, and runs are refused.
    pub fn drain(&self) {
        self.close(Closing::Draining);
    }

    /// Ends what is open, such as streams of events.
    pub(crate) fn close(&self, how: Closing) {
        self.closing.send_if_modified(|closing| {
            let is_more = *closing < how;
            *closing = (*closing).max(how);
            is_more
        });
    }

    /// Whether it comes to an end, and how that changes.
    pub(crate) fn closing(&self) -> watch::Receiver<Closing> {
        self.closing.subscribe()
    }

    /// Everything that is served, for axum. It may be nested in a router of one's own; the names under which that is
    /// asked for belong into [`Settings::hosts`].
    pub fn router(self: &Arc<Self>) -> Router {
        let mut paths: BTreeMap<&str, Vec<&'static Route>> = BTreeMap::new();
        let is_served =
            |route: &&Route| !self.settings.is_without_pages || !matches!(route.gives, Gives::Page);
        for route in routes().filter(is_served) {
            paths.entry(route.path).or_default().push(route);
        }
        let mut router = Router::new();
        for (path, routes) in paths {
            let server = Arc::clone(self);
            let answer = move |request: Request| {
                let (server, routes) = (Arc::clone(&server), routes.clone());
                async move { pass(server, &routes, request).await }
            };
            router = router.route(path, axum::routing::any(answer));
        }
        let server = Arc::clone(self);
        let nothing = move |request: Request| pass(Arc::clone(&server), &[], request);
        let server = Arc::clone(self);
        let guard = move |request: Request, next: Next| guard(Arc::clone(&server), request, next);
        let router = router.fallback(nothing).layer(axum::middleware::from_fn(guard));
        match self.settings.base_path.is_empty() {
            true => router,
            false => below(self, router),
        }
    }

    /// Whether somebody who was known is still: their token was not revoked, their session not ended.
    pub(crate) fn is_still(&self, who: &Identity, now: Timestamp, instant: Instant) -> bool {
        let has_token = match &who.token {
            Some(token) => self.tokens.by_id(token, now).is_some_and(|token| {
                token.role == who.role && token.reach().as_ref() == Some(&who.reach)
            }),
            None => true,
        };
        let has_session = match &who.way {
            Way::Session { id, .. } => self.sessions.is_good(id, instant),
            Way::Socket | Way::Token => true,
        };
        has_token && has_session
    }

    /// Refuses to change anything as long as nothing can be written down.
    pub(crate) fn check_books(&self, now: Timestamp) -> Result<(), Problem> {
        if !self.is_unwritten.load(Ordering::Relaxed) {
            return Ok(());
        }
        let ok = StatusCode::OK.as_u16();
        let again = AuditRow {
            object: "entries before this one are missing".to_owned(),
            ..AuditRow::unwritten(now, "server", "audit-log-again", ok)
        };
        self.write_down(&again)
            .map_err(|problem| Problem::new(StatusCode::SERVICE_UNAVAILABLE, problem.detail))
    }

    /// Writes down what became of a wish.
    pub(crate) fn write_down(&self, row: &AuditRow) -> Result<(), Problem> {
        let written = self.audit.add(row);
        self.is_unwritten.store(written.is_err(), Ordering::Relaxed);
        written.map_err(|error| {
            let why = std::error::Error::source(&error).map(|why| format!(": {why}"));
            let why = why.unwrap_or_default();
            Problem::failed(format!("what was done could not be written down: {error}{why}"))
        })
    }
}

/// Everything below a path, and without it as well.
fn below(server: &Arc<Server>, router: Router) -> Router {
    let base = server.settings.base_path.clone();
    Router::new().fallback(move |mut request: Request| {
        let mut router = router.clone();
        if let Some(uri) = base.below(request.uri()) {
            *request.uri_mut() = uri;
        }
        async move { router.call(request).await }
    })
}

/// What holds for every request, wherever it leads.
async fn guard(server: Arc<Server>, request: Request, next: Next) -> Response {
    let named = check_host(request.uri(), request.headers(), &server.settings.hosts);
    harden(match named {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    })
}
