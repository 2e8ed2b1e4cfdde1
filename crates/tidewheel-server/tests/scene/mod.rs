//! A server of a data folder of its own, asked in the same process, and runs of flows that need no processes.
//!
//! What is tried with it is in the files beside.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use serde_json::Value as Json;
use tidewheel::clock::wall_clock;
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel_client::desk::{Desk, LocalDesk};
use tidewheel_client::files::{FlowFiles, RunWish};
use tidewheel_client::session::{Session, SessionOptions, Takeover};
use tidewheel_server::identity::Role;
use tidewheel_server::table::{Route, Takes};
use tidewheel_server::{Peer, Server, Settings};
use tower::ServiceExt as _;

/// A flow that reads a file, and leaves what it found.
const FLOW: &str = "
sources: { data: { type: file, configuration: { path: data.json } } }
flow:
  - { name: read, source: data, outputs: { found: '{{ json.value }}' } }
";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A server and its folder, which is gone with it.
pub struct Scene {
    pub path: PathBuf,
    pub server: Arc<Server>,
    pub router: Router,
}

/// A request, before it is sent.
#[derive(Clone)]
pub struct Wish {
    pub method: String,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub peer: Peer,
}

/// What came back.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Scene {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    /// With limits that a test which asks thousands of times does not meet.
    pub fn patient() -> Self {
        Self::with(patient())
    }

    pub fn with(settings: Settings) -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidewheel-server-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        let desk = LocalDesk::open(folder(&path)).unwrap();
        let server = Server::open(Desk::from(desk), &path.join("data/server"), settings).unwrap();
        Self { router: server.router(), server, path }
    }

    /// A token of this role.
    pub fn token(&self, role: Role) -> String {
        let made = self.server.tokens().make(role.word(), role, None, wall_clock()).unwrap();
        made.secret().to_owned()
    }

    /// Runs a flow to its end; its id.
    pub async fn run(&self) -> String {
        std::fs::write(self.path.join("data.json"), r#"{ "value": 7 }"#).unwrap();
        let file = self.path.join("flow.yaml");
        std::fs::write(&file, FLOW).unwrap();
        let order = FlowFiles::read(&[file]).run(&RunWish::default()).unwrap();
        let options = SessionOptions::new(2);
        let session = Session::open(folder(&self.path), Takeover::Fresh, options).await.unwrap();
        let started = session.start(&order, BTreeMap::new()).await.unwrap();
        started.run.report().await.unwrap();
        session.close().await;
        started.run.id().to_string()
    }

    pub async fn send(&self, wish: Wish) -> Answer {
        let mut request = Request::builder().method(wish.method.as_str()).uri(&wish.path);
        for (name, value) in &wish.headers {
            request = request.header(*name, value);
        }
        let mut request = request.body(Body::from(wish.body)).unwrap();
        request.extensions_mut().insert(wish.peer);
        Answer::of(self.router.clone().oneshot(request).await.unwrap()).await
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What is left in the folder for temporary files is nobody's loss.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

pub fn patient() -> Settings {
    let mut settings = Settings::default();
    settings.limits.strangers_per_minute = 1_000_000;
    settings.limits.requests_at_once = 1_000_000;
    settings
}

fn folder(path: &std::path::Path) -> DataFolder {
    DataFolder::open(path.join("data"), Options::default()).unwrap()
}

impl Wish {
    /// A request from another machine, by a program.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("host", "localhost:8080".to_owned())],
            body: Vec::new(),
            peer: Peer::Address([192, 0, 2, 1].into()),
        }
    }

    /// A request for a route, with something in each of its places.
    pub fn of(route: &Route) -> Self {
        let path = filled(route.path, "nothing");
        let wish = Self::new(route.verb.word(), &path);
        match route.takes {
            Takes::Nothing => wish,
            Takes::Fields(_) => wish
                .header("content-type", "application/x-www-form-urlencoded")
                .body(&format!("code={}", "0".repeat(64))),
            Takes::Document(form, _) | Takes::MaybeDocument(form, _) => {
                wish.header("content-type", "application/json").body(example(&form.name()))
            }
        }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn body(mut self, body: &str) -> Self {
        self.body = body.as_bytes().to_vec();
        self
    }

    pub fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub fn from(mut self, peer: Peer) -> Self {
        self.peer = peer;
        self
    }
}

/// A path with this in all of its places.
pub fn filled(path: &str, with: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { with.to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<String>>().join("/")
}

/// A document that is as it must be.
fn example(form: &str) -> &'static str {
    match form {
        "AnswerWish" => r#"{ "approved": true, "by": "me" }"#,
        "TokenWish" => r#"{ "name": "made", "role": "viewer" }"#,
        "CancelWish" | "RetryWish" => "{}",
        other => panic!("no example of {other}: write one"),
    }
}

impl Answer {
    async fn of(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, 64 << 20).await.unwrap().to_vec();
        Self { status: parts.status, headers: parts.headers, body }
    }

    pub fn json(&self) -> Json {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
