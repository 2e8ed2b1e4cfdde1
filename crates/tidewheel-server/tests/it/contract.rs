//! What is answered: documents of the contract, and the OpenAPI document that describes them.
//!
//! What they mean is tried with the desk, in `tidewheel-client`.

use std::collections::BTreeSet;

use crate::scene;
use crate::scene::{Scene, Wish};
use serde_json::Value as Json;
use tidewheel_server::identity::Role;
use tidewheel_server::table::{Gives, routes};

#[tokio::test]
async fn the_openapi_document_has_every_route_and_no_other() {
    let scene = Scene::new().await;
    let token = scene.token(Role::Viewer);
    let wish = Wish::new("GET", "/api/v1/openapi.json").token(&token);
    let document = scene.send(wish).await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let mut described = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (verb, operation) in operations.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap().to_owned();
            described.insert((path.clone(), verb.to_uppercase(), name));
        }
    }
    let served = routes()
        .filter(|route| !matches!(route.gives, Gives::Page))
        .map(|route| (route.path.to_owned(), route.verb.word().to_owned(), route.name.to_owned()));
    assert_eq!(described, served.collect());
    let header = |path: &str, verb: &str| {
        let parameters = document["paths"][path][verb]["parameters"].as_array().unwrap();
        let of_header = parameters.iter().find(|it| it["in"] == "header");
        of_header.map_or(Json::Null, |it| it["name"].clone())
    };
    assert_eq!(header("/api/v1/runs", "post"), "Idempotency-Key");
    assert_eq!(header("/api/v1/events", "get"), "Last-Event-ID");
    assert_eq!(header("/api/v1/runs", "get"), Json::Null);
    let text = document.to_string();
    for piece in text.split("\"#/components/schemas/").skip(1) {
        let name = piece.split('"').next().unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "{name} is not described");
    }
}

async fn get(scene: &Scene, token: &str, path: &str) -> Json {
    let answer = scene.send(Wish::new("GET", path).token(token)).await;
    assert_eq!(answer.status.as_u16(), 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

#[tokio::test]
async fn runs_are_listed_page_by_page_and_shown() {
    let scene = Scene::new().await;
    let token = scene.token(Role::Viewer);
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(scene.run().await);
    }
    runs.reverse();
    let mut seen = Vec::new();
    let mut path = "/api/v1/runs?limit=2".to_owned();
    for _ in 0..2 {
        let list = get(&scene, &token, &path).await;
        assert_eq!(list["version"], 1);
        let ids = list["runs"].as_array().unwrap().iter();
        seen.extend(ids.map(|run| run["run_id"].as_str().unwrap().to_owned()));
        if let Some(next) = list["next"].as_str() {
            path = format!("/api/v1/runs?limit=2&cursor={next}");
        }
    }
    assert_eq!(seen, runs);
    let begins = |state: &str| format!("/api/v1/runs?id={}{state}", &runs[1]);
    let found = get(&scene, &token, &begins("&state=succeeded")).await;
    assert_eq!(
        (&found["runs"][0]["run_id"], &found["runs"][1]),
        (&runs[1].as_str().into(), &Json::Null)
    );
    for nothing in [begins("&state=failed"), "/api/v1/runs?id=nothing".to_owned()] {
        assert_eq!(get(&scene, &token, &nothing).await["runs"], serde_json::json!([]));
    }
    let failed = get(&scene, &token, "/api/v1/runs?state=failed").await;
    assert_eq!(failed["runs"], serde_json::json!([]));
    let run = get(&scene, &token, &format!("/api/v1/runs/{}", runs[0])).await;
    assert_eq!(
        (run["state"].as_str(), &run["outputs"]["read"]["found"]),
        (Some("succeeded"), &Json::from(7))
    );
    let attempts = get(&scene, &token, "/api/v1/runs/last/steps/read/attempts").await;
    assert_eq!(attempts["attempts"][0]["outcome"], "succeeded");
    assert_eq!(get(&scene, &token, "/api/v1/runs/last/explain").await["state"], "succeeded");
    assert_eq!(get(&scene, &token, "/api/v1/runs/last/logs").await["over"], true);
    assert_eq!(
        get(&scene, &token, "/api/v1/runs/last/artifacts").await["artifacts"],
        serde_json::json!([])
    );
}

#[tokio::test]
async fn what_the_desk_refuses_has_a_status_and_says_what_to_do() {
    let scene = Scene::new().await;
    let token = scene.token(Role::Operator);
    scene.run().await;
    let cases = [
        ("GET", "/api/v1/runs/nothing", 404),
        ("GET", "/api/v1/runs/last/steps/raed/attempts", 404),
        ("GET", "/api/v1/runs/last/artifact?name=x", 404),
        ("GET", "/api/v1/runs?limit=501", 422),
        ("GET", "/api/v1/runs?limit=0", 422),
        ("GET", "/api/v1/runs?limit=x", 422),
        ("GET", "/api/v1/runs?cursor=zz", 422),
        ("GET", "/api/v1/runs?state=odd", 422),
        ("POST", "/api/v1/runs/last/pause", 409),
        ("POST", "/api/v1/runs/last/cancel", 409),
    ];
    for (method, path, status) in cases {
        let answer = scene.send(Wish::new(method, path).token(&token)).await;
        assert_eq!(
            answer.status.as_u16(),
            status,
            "{path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
        assert_eq!(answer.header("content-type"), "application/problem+json");
    }
    let wish = Wish::new("GET", "/api/v1/runs/last/steps/raed/attempts").token(&token);
    let problem = scene.send(wish).await.json();
    assert_eq!(problem["hint"], "did you mean `read`?");
    assert_eq!(problem["refusal"]["kind"], "not-found");
}

#[tokio::test]
async fn a_list_is_not_taken_for_a_document() {
    let scene = Scene::new().await;
    let token = scene.token(Role::Operator);
    let run = scene.run().await;
    for (path, body) in [
        (format!("/api/v1/runs/{run}/retry"), "[null, null]"),
        (format!("/api/v1/runs/{run}/retry"), "null"),
        ("/api/v1/runs".to_owned(), r#"[1, "reads"]"#),
    ] {
        let wish =
            Wish::new("POST", &path).token(&token).header("content-type", "application/json");
        assert_eq!(scene.send(wish.body(body)).await.status.as_u16(), 422, "{path} {body}");
    }
    assert_eq!(get(&scene, &token, "/api/v1/runs").await["runs"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_word_that_a_wish_does_not_know_is_refused_and_nothing_is_done() {
    let scene = Scene::new().await;
    let token = scene.token(Role::Operator);
    let wish = Wish::new("POST", "/api/v1/runs")
        .token(&token)
        .header("content-type", "application/json")
        .body(r#"{ "flow": "reads", "parms": { "target": "x" } }"#);
    let answer = scene.send(wish).await;
    assert_eq!(answer.status.as_u16(), 422);
    assert!(answer.json()["detail"].as_str().unwrap().contains("`parms`"));
    assert_eq!(get(&scene, &token, "/api/v1/runs").await["runs"], serde_json::json!([]));
    let wish = Wish::new("GET", "/api/v1/runs?flow=reads").token(&token);
    assert_eq!(scene.send(wish).await.status.as_u16(), 422);
}

#[tokio::test]
async fn a_token_is_shown_once_and_works_until_it_is_revoked() {
    let scene = Scene::new().await;
    let admin = scene.token(Role::Admin);
    let wish = Wish::new("POST", "/api/v1/tokens")
        .token(&admin)
        .header("content-type", "application/json")
        .body(r#"{ "name": "laptop", "role": "viewer", "days": 7 }"#);
    let made = scene.send(wish).await.json();
    let secret = made["secret"].as_str().unwrap();
    assert_eq!(get(&scene, secret, "/api/v1/me").await["name"], "laptop");
    let list = get(&scene, &admin, "/api/v1/tokens").await;
    assert!(list.to_string().contains("laptop") && !list.to_string().contains(secret));
    let id = made["token"]["id"].as_str().unwrap();
    let revoke = Wish::new("DELETE", &format!("/api/v1/tokens/{id}")).token(&admin);
    assert_eq!(scene.send(revoke.clone()).await.status.as_u16(), 200);
    assert_eq!(scene.send(revoke).await.status.as_u16(), 404);
    let answer = scene.send(Wish::new("GET", "/api/v1/me").token(secret)).await;
    assert_eq!(answer.status.as_u16(), 401);
}

#[tokio::test]
async fn a_server_that_comes_to_an_end_is_not_ready() {
    let scene = Scene::new().await;
    let token = scene.token(Role::Viewer);
    let ready = Wish::new("GET", "/health/ready").token(&token);
    assert_eq!(scene.send(ready.clone()).await.status.as_u16(), 200);
    scene.server.drain();
    assert_eq!(scene.send(ready).await.status.as_u16(), 503);
    assert_eq!(scene.send(Wish::new("GET", "/health/live")).await.body, b"ok\n");
}

#[tokio::test]
async fn runs_are_told_in_flowtoys_form_to_whoever_is_here_if_so_configured() {
    let mut settings = scene::patient();
    settings.flowtoy_is_open = true;
    let scene = Scene::with(settings).await;
    let here = tidewheel_server::Peer::Address([127, 0, 0, 1].into());
    let ask = |path: &str| scene.send(Wish::new("GET", path).from(here));
    assert_eq!(ask("/flowtoy/latest/status").await.status.as_u16(), 404);
    let run = scene.run().await;
    for word in ["latest", run.as_str()] {
        let status = ask(&format!("/flowtoy/{word}/status")).await.json();
        assert_eq!(status["run_id"], run.as_str());
        assert_eq!((&status["total_steps"], &status["completed_steps"]), (&1.into(), &1.into()));
        assert_eq!(status["steps"]["read"]["state"], "succeeded");
        assert_eq!(status["steps"]["read"]["outputs"], serde_json::json!(["found"]));
        assert!(status["ended_at"].is_f64() && status.get("version").is_none(), "{status}");
        let outputs = ask(&format!("/flowtoy/{word}/outputs")).await.json();
        assert_eq!(outputs, serde_json::json!({ "read": { "found": 7 } }));
    }
    let far = scene.send(Wish::new("GET", "/flowtoy/latest/status")).await;
    assert_eq!(far.status.as_u16(), 401, "from another machine");
}
