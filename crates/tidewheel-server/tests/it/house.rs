//! What a house does, over HTTP: runs by name, schedules, figures, and what happens as it happens.
//!
//! Who may is tried in `permissions`; what a house does, in `tidewheel-client`.

use crate::scene;
use crate::scene::{Answer, Scene, Wish};
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value as Json, json};
use tidewheel_server::Peer;
use tidewheel_server::identity::Role;
use tidewheel_testing::patience;
use tokio::time::timeout;
use tower::ServiceExt as _;

async fn get(scene: &Scene, path: &str) -> Json {
    let answer = scene.send(Wish::new("GET", path).from(Peer::Owner)).await;
    assert_eq!(answer.status.as_u16(), 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

async fn post(scene: &Scene, path: &str, body: &Json) -> Answer {
    let wish = Wish::new("POST", path).from(Peer::Owner);
    scene
        .send(match body {
            Json::Null => wish,
            body => wish.header("content-type", "application/json").body(&body.to_string()),
        })
        .await
}

#[tokio::test]
async fn a_flow_is_started_by_name_once_for_a_key() {
    let scene = Scene::new().await;
    let flows = get(&scene, "/api/v1/flows").await;
    assert_eq!(flows["flows"][0]["name"], "asks");
    assert_eq!(get(&scene, "/api/v1/flows/asks").await["params"][0]["name"], "who");
    let wish = json!({ "flow": "asks", "params": { "who": "you" }, "priority": 80, "tags": ["x"] });
    let keyed = |key: &str| {
        Wish::new("POST", "/api/v1/runs")
            .from(Peer::Owner)
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(&wish.to_string())
    };
    let first = scene.send(keyed("one")).await.json();
    let again = scene.send(keyed("one")).await.json();
    assert_eq!((first["created"].as_bool(), again["created"].as_bool()), (Some(true), Some(false)));
    assert_eq!(first["run_id"], again["run_id"]);
    let other = scene.send(keyed("two")).await.json();
    assert_ne!(first["run_id"], other["run_id"]);
    let run = get(&scene, &format!("/api/v1/runs/{}", first["run_id"].as_str().unwrap())).await;
    assert_eq!((run["flow"].as_str(), run["tags"][0].as_str()), (Some("asks"), Some("x")));
    let path = format!("/api/v1/runs/{}", first["run_id"].as_str().unwrap());
    let answer =
        post(&scene, &format!("{path}/steps/ask/answer"), &json!({ "approved": true, "by": "" }))
            .await;
    assert_eq!(answer.json()["answer"], "approved");
    assert_eq!(post(&scene, &format!("{path}/retry"), &Json::Null).await.status.as_u16(), 409);
    for (wish, status) in [
        (json!({ "flow": "aks" }), 404),
        (json!({ "flow": "asks", "params": { "whom": 1 } }), 422),
        (json!({ "flow": "asks", "fingerprint": "other" }), 409),
        (json!({}), 422),
        (json!([]), 422),
    ] {
        let answer = post(&scene, "/api/v1/runs", &wish).await;
        assert_eq!(answer.status.as_u16(), status, "{wish}: {}", answer.json());
    }
    let answer = scene.send(keyed("")).await;
    assert_eq!(answer.status.as_u16(), 422);
}

#[tokio::test]
async fn a_server_that_comes_to_an_end_takes_nothing_new_in() {
    let scene = Scene::new().await;
    scene.server.drain();
    for path in ["/api/v1/runs", "/api/v1/schedules/asks%2Fasks-daily/run"] {
        let body = if path.ends_with("runs") { json!({ "flow": "reads" }) } else { Json::Null };
        let answer = post(&scene, path, &body).await;
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, "5"), "{path}");
    }
    assert_eq!(get(&scene, "/api/v1/runs").await["runs"], json!([]), "looking still goes");
}

#[tokio::test]
async fn schedules_are_seen_paused_fired_and_have_a_ledger() {
    let scene = Scene::new().await;
    let schedule = |list: &Json| list["schedules"][0].clone();
    let line = schedule(&get(&scene, "/api/v1/schedules").await);
    assert_eq!(
        (line["name"].as_str(), line["state"].as_str()),
        (Some("asks/asks-daily"), Some("active"))
    );
    let next = get(&scene, "/api/v1/schedules/asks%2Fasks-daily/next?count=3").await;
    assert_eq!(next["next"].as_array().unwrap().len(), 3);
    let path = "/api/v1/schedules/asks%2Fasks-daily";
    assert_eq!(post(&scene, &format!("{path}/pause"), &Json::Null).await.json()["asked"], "paused");
    assert_eq!(schedule(&get(&scene, "/api/v1/schedules").await)["state"], "paused");
    assert_eq!(post(&scene, &format!("{path}/resume"), &Json::Null).await.status.as_u16(), 200);
    assert_eq!(post(&scene, &format!("{path}/run"), &Json::Null).await.json()["firings"], 1);
    let ledger = get(&scene, &format!("{path}/ledger")).await;
    assert_eq!(ledger["firings"][0]["origin"], "by-hand", "{ledger}");
    let answer = post(&scene, "/api/v1/schedules/nothing/pause", &Json::Null).await;
    assert_eq!(answer.status.as_u16(), 404);
    let answer = post(&scene, &format!("{path}/backfill"), &json!({})).await;
    assert_eq!(answer.status.as_u16(), 422, "from when?");
    let range = json!({ "from": "2026-01-01T00:00:00Z", "until": "2026-01-04T00:00:00Z" });
    let seen = post(&scene, &format!("{path}/backfill/preview"), &range).await.json();
    assert_eq!(seen["next"].as_array().unwrap().len(), 3, "{seen}");
    let past = get(&scene, &format!("{path}/ledger")).await;
    assert_eq!(past["firings"].as_array().unwrap().len(), 1, "nothing was fired: {past}");
}

#[tokio::test]
async fn figures_are_those_that_others_know_and_ours_beside_them() {
    let scene = Scene::new().await;
    scene.run().await;
    let metrics = get(&scene, "/metrics").await;
    let keys: Vec<&String> = metrics["scheduler"].as_object().unwrap().keys().collect();
    let mut expected = [
        "enabled",
        "activeCount",
        "queuedCount",
        "totalSubmitted",
        "totalCompleted",
        "highPriorityCompleted",
        "lowPriorityCompleted",
        "starvationPromotions",
    ];
    expected.sort_unstable();
    let mut keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(metrics["scheduler"]["enabled"], true);
    assert_eq!(metrics["scheduler"]["totalCompleted"], 1);
    assert_eq!(metrics["queues"][0]["queue"], "default");
    assert_eq!(metrics["queues"][0]["run_time"]["count"], 1);
    let wish = Wish::new("GET", "/metrics").from(Peer::Owner).header("accept", "text/plain");
    let answer = scene.send(wish).await;
    assert!(answer.header("content-type").starts_with("text/plain"));
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.contains("tidewheel_tasks_completed_total{queue=\"default\"} 1\n"), "{text}");
    assert_eq!(get(&scene, "/api/v1/stats").await["version"], 1);
    let health = get(&scene, "/health/detail").await;
    assert_eq!((health["state"].as_str(), &health["why"]), (Some("healthy"), &json!([])));
    assert_eq!(get(&scene, "/api/v1/queues").await["slots"], 16);
    assert_eq!(get(&scene, "/api/v1/limits").await["limits"], json!([]));
}

/// A stream of events.
struct Listening {
    body: Body,
    rest: String,
}

impl Listening {
    async fn begin(scene: &Scene, query: &str, last: Option<&str>, token: Option<&str>) -> Self {
        let mut request =
            Request::get(format!("/api/v1/events{query}")).header("host", "localhost");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(Peer::Owner);
        let response = scene.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), rest: String::new() }
    }

    /// The next event: its id, its name and what it tells; `None` when the stream has ended.
    async fn next(&mut self) -> Option<(String, String, Json)> {
        while !self.rest.contains("\n\n") {
            let frame = timeout(patience(), self.body.frame()).await.unwrap()?;
            self.rest += std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap();
        }
        let (event, rest) = self.rest.split_once("\n\n").unwrap();
        let (event, rest) = (event.to_owned(), rest.to_owned());
        self.rest = rest;
        let field = |name: &str| {
            let found = event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            found.unwrap_or_default().to_owned()
        };
        Some((field("id"), field("event"), serde_json::from_str(&field("data")).unwrap()))
    }
}

#[tokio::test]
async fn a_stream_goes_on_where_it_broke_off_and_says_what_it_cannot_tell() {
    let scene = Scene::new().await;
    let mut listening = Listening::begin(&scene, "", None, None).await;
    let run = scene.run().await;
    let mut ids = Vec::new();
    let mut told = Vec::new();
    while told.last().is_none_or(|what| what != "run-ended") {
        let (id, name, data) = listening.next().await.unwrap();
        assert_eq!(name, "happened");
        assert_eq!(data["run_id"], run.as_str());
        assert_eq!(id, format!("{}:{}", data["epoch"].as_str().unwrap(), data["sequence"]));
        told.push(data["what"].as_str().unwrap().to_owned());
        ids.push(id);
    }
    assert_eq!(told, ["run-accepted", "step-started", "step-ended", "run-ended"]);
    let mut again = Listening::begin(&scene, "", Some(&ids[1]), None).await;
    assert_eq!(again.next().await.unwrap().0, ids[2]);
    let mut again = Listening::begin(&scene, &format!("?after={}", ids[2]), None, None).await;
    assert_eq!(again.next().await.unwrap().0, ids[3]);
    let mut stranger = Listening::begin(&scene, "", Some("other:7"), None).await;
    assert_eq!(stranger.next().await.unwrap().1, "gap");
    assert_eq!(stranger.next().await.unwrap().0, ids[0], "all that there is may be news");
    let mut other = Listening::begin(&scene, "?flow=other", Some(&ids[0]), None).await;
    drop(other.next());
    let wish = Wish::new("GET", "/api/v1/events").from(Peer::Owner).header("last-event-id", "x");
    assert_eq!(scene.send(wish).await.status.as_u16(), 422);
}

#[tokio::test]
async fn a_stream_ends_with_its_token_and_with_the_server() {
    let scene = Scene::new().await;
    let token = scene.token(Role::Viewer);
    let mut listening = Listening::begin(&scene, "", None, Some(&token)).await;
    scene.server.tokens().revoke("viewer").unwrap();
    assert_eq!(listening.next().await, None);
    let mut listening = Listening::begin(&scene, "", None, None).await;
    scene.house.close(patience()).await;
    assert_eq!(listening.next().await, None);
}

#[tokio::test]
async fn only_so_many_streams_are_open_at_once() {
    let mut settings = scene::patient();
    settings.limits.streams_max = 2;
    let scene = Scene::with(settings).await;
    let first = Listening::begin(&scene, "", None, None).await;
    let _second = Listening::begin(&scene, "", None, None).await;
    let wish = Wish::new("GET", "/api/v1/events").from(Peer::Owner);
    assert_eq!(scene.send(wish.clone()).await.status.as_u16(), 429);
    drop(first);
    let is_freed = async {
        while scene.send(wish.clone()).await.status.as_u16() != 200 {
            tokio::task::yield_now().await;
        }
    };
    timeout(patience(), is_freed).await.expect("the place of the dropped stream is free");
}
