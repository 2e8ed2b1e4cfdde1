//! A server of a data folder of its own, asked in the same process, and runs of flows that need no processes.
//!
//! What is tried with it is in the files beside.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use serde_json::Value as Json;
use tidewheel::Shutdown;
use tidewheel::clock::wall_clock;
use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel_client::api::{RunState, StartWish, What};
use tidewheel_client::files::{FlowFiles, RunWish};
use tidewheel_client::house::{House, HouseOptions, Seen};
use tidewheel_client::session::{Session, SessionOptions, Takeover};
use tidewheel_server::identity::Role;
use tidewheel_server::table::{Route, Takes};
use tidewheel_server::{Peer, Server, Settings};
use tidewheel_testing::{TempDir, patience, temp_folder};
use tower::ServiceExt as _;

/// A flow that reads a file, and leaves what it found.
const READS: &str = "
name: reads
sources: { data: { type: file, configuration: { path: data.json } } }
flow:
  - { name: read, source: data, outputs: { found: '{{ json.value }}' } }
";

/// A flow that waits for somebody, with a param and a schedule.
const ASKS: &str = "
name: asks
params: { who: { default: me } }
schedule: [{ name: asks-daily, cron: '0 5 * * *', zone: Europe/Berlin }]
flow:
  - { name: ask, wait: { approval: 'now?', every: 10ms } }
";

/// A flow that reads a file which is not there, and looks again in an hour.
const FAILS: &str = "
name: fails
sources: { gone: { type: file, configuration: { path: gone.json } } }
flow:
  - { name: read, source: gone, retry: { attempts: 2, delay: 1h } }
";

/// A server and its folder.
pub struct Scene {
    pub path: PathBuf,
    pub house: House,
    pub server: Arc<Server>,
    pub router: Router,
    // Removed after what uses it.
    _temp: TempDir,
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
    pub async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    /// With limits that a test which asks thousands of times does not meet.
    pub async fn patient() -> Self {
        Self::with(patient()).await
    }

    pub async fn with(settings: Settings) -> Self {
        let temp = temp_folder("server");
        let path = temp.path().to_owned();
        let flows = path.join("flows");
        std::fs::create_dir_all(&flows).unwrap();
        std::fs::write(flows.join("data.json"), r#"{ "value": 7 }"#).unwrap();
        std::fs::write(flows.join("reads.yaml"), READS).unwrap();
        std::fs::write(flows.join("asks.yaml"), ASKS).unwrap();
        let mut options = HouseOptions::new();
        (options.flows, options.look) = (Some(flows), None);
        let folder = DataFolder::open(path.join("data"), Options::default()).unwrap();
        let house = House::open(folder, options).await.unwrap();
        assert_eq!(house.flows().await.broken, []);
        let server = Server::open(house.clone(), &path.join("data/server"), settings).unwrap();
        Self { house, router: server.router(), server, path, _temp: temp }
    }

    /// A token of this role.
    pub fn token(&self, role: Role) -> String {
        let made = self.server.tokens().make(role.word(), role, None, wall_clock()).unwrap();
        made.secret().to_owned()
    }

    /// Runs a flow to its end; its id.
    pub async fn run(&self) -> String {
        let mut happenings = self.house.happenings(None);
        let wish = StartWish { flow: "reads".to_owned(), ..StartWish::default() };
        let started = self.house.start(wish).await.unwrap();
        while self.house.desk().show(&started.run_id).await.unwrap().state == RunState::Running {
            assert!(matches!(happenings.next().await, Some(Seen::Happened(_))));
        }
        started.run_id
    }

    /// Starts a run whose only step has failed and is tried again in an hour; its id.
    pub async fn fail_for_an_hour(&self) -> String {
        std::fs::write(self.path.join("flows/fails.yaml"), FAILS).unwrap();
        self.house.reload().await.unwrap();
        let mut happenings = self.house.happenings(None);
        let wish = StartWish { flow: "fails".to_owned(), ..StartWish::default() };
        let started = self.house.start(wish).await.unwrap();
        loop {
            let Some(Seen::Happened(told)) = happenings.next().await else { panic!("it ended") };
            if told.what == What::StepRetries {
                return started.run_id;
            }
        }
    }

    /// Starts a flow in a session beside the house, and leaves it there as if its process had died; its id.
    pub async fn leave(&self, flow: &str) -> String {
        let file = self.path.join(format!("flows/{flow}.yaml"));
        let run = FlowFiles::read(&[file]).run(&RunWish::default()).unwrap();
        let folder = self.house.folder().clone();
        let session = Session::open(folder.clone(), Takeover::Fresh, SessionOptions::new(1));
        let session = session.await.unwrap();
        let started = session.start(&run, BTreeMap::new()).await.unwrap();
        let id = started.run.id();
        session.wheel.shutdown(Shutdown::persist()).await;
        drop((started, session));
        // Who wrote for the wheel may hold the shard a moment longer.
        let left = tokio::task::spawn_blocking(move || {
            let shard = folder.reader().unwrap().run(id).unwrap().unwrap().summary.shard.unwrap();
            drop(folder.shard_when_left(&shard, patience()).unwrap());
        });
        left.await.unwrap();
        id.to_string()
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

pub fn patient() -> Settings {
    let mut settings = Settings::default();
    settings.limits.strangers_per_minute = 1_000_000;
    settings.limits.requests_at_once = 1_000_000;
    settings
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
            Takes::Signed(_) => wish.body("{}"),
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
        "CancelWish" | "ResumeWish" | "RetryWish" => "{}",
        "StartWish" => r#"{ "flow": "nothing" }"#,
        "BackfillWish" => r#"{ "missed": true }"#,
        "PriorityWish" => r#"{ "priority": 80 }"#,
        other => panic!("no example of {other}: write one"),
    }
}

impl Answer {
    async fn of(response: Response<Body>) -> Self {
        let (parts, body) = response.into_parts();
        let kind = parts.headers.get("content-type");
        // A stream has no end to be waited for.
        let is_stream = kind.is_some_and(|kind| kind == "text/event-stream");
        let body = match is_stream {
            true => Vec::new(),
            false => axum::body::to_bytes(body, 64 << 20).await.unwrap().to_vec(),
        };
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
