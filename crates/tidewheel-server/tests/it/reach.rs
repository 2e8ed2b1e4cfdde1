//! Tokens that know of some flows only: tests made from the table of routes, so that a new route is tried on the day it is added.
//!
//! Who may use a route at all is tried in `permissions`.

use crate::scene::{Answer, Scene, Wish, filled};
use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use tidewheel::clock::wall_clock;
use tidewheel_client::api::StartWish;
use tidewheel_client::desk::Reach;
use tidewheel_client::house::Seen;
use tidewheel_server::identity::{Role, TokenError, TokenPlan};
use tidewheel_server::table::{Gives, Narrowing, Permission, Route, routes};

/// A token of this role that knows of these flows.
fn token_of(scene: &Scene, role: Role, flows: &[&str]) -> String {
    let flows: Vec<String> = flows.iter().map(|flow| (*flow).to_owned()).collect();
    let plan = TokenPlan { reach: Reach::of(&flows).unwrap(), ..TokenPlan::new("some", role) };
    scene.server.tokens().make_as(&plan, wall_clock()).unwrap().secret().to_owned()
}

/// A server with a run of `reads` that ended and one of `asks` that waits; the id of the second.
async fn scene() -> (Scene, String) {
    let scene = Scene::patient().await;
    scene.run().await;
    let mut happenings = scene.house.happenings(None);
    let wish = StartWish { flow: "asks".to_owned(), ..StartWish::default() };
    let asks = scene.house.start(wish).await.unwrap().run_id;
    // It asks as soon as it has been tried.
    while scene.house.desk().here(|desk| desk.approvals()).await.unwrap().approvals.is_empty() {
        assert!(matches!(happenings.next().await, Some(Seen::Happened(_))));
    }
    (scene, asks)
}

async fn ask(scene: &Scene, wish: Wish, token: &str) -> Answer {
    scene.send(wish.token(token)).await
}

/// A request for a route about this run, flow and schedule.
fn about(route: &Route, run: &str, flow: &str, schedule: &str) -> Wish {
    let mut wish = Wish::of(route);
    let path = route.path.replace("{run}", run).replace("{flow}", flow);
    wish.path = filled(&path.replace("{schedule}", schedule), "ask");
    let query = match route.name {
        "read-log" => "?task=0&attempt=1&stream=stdout",
        "read-log-lines" | "find-log-error" => "?task=0&attempt=1",
        "search-log" => "?task=0&attempt=1&text=x",
        "read-artifact" => "?name=x",
        _ => "",
    };
    wish.path.push_str(query);
    if ["start-run", "plan-run"].contains(&route.name) {
        wish = wish.body(&json!({ "flow": flow }).to_string());
    }
    wish
}

/// What was said, without what was asked for, which has the same length, and without the number of the newest event: whatever
/// happens between two questions counts it up.
fn said(answer: &Answer, [run, flow, _]: [&str; 3]) -> String {
    let mut text = String::from_utf8_lossy(&answer.body).into_owned();
    if let Some((before, after)) = text.split_once(" data-at=\"")
        && let Some((_, rest)) = after.split_once('"')
    {
        text = format!("{before}{rest}");
    }
    for word in ["/asks-daily", run, flow] {
        text = text.replace(word, &"x".repeat(word.len()));
    }
    text
}

#[tokio::test]
async fn what_is_outside_is_answered_as_what_is_not_there() {
    let (scene, asks) = scene().await;
    let token = token_of(&scene, Role::Operator, &["reads"]);
    // As long as what there is, so that the answers are as long.
    let nothing = ["00000000-0000-7000-8000-000000000000", "nask", "nask%2Fasks-daily"];
    let hidden = [asks.as_str(), "asks", "asks%2Fasks-daily"];
    assert_eq!(nothing.map(str::len), hidden.map(str::len));
    let (mut tried, known) = (0, token_of(&scene, Role::Operator, &["asks"]));
    for route in routes().filter(|route| Narrowing::of(route) == Narrowing::Named) {
        let of = |[run, flow, schedule]: [&str; 3]| about(route, run, flow, schedule);
        let missing = ask(&scene, of(nothing), &token).await;
        let found = ask(&scene, of(hidden), &token).await;
        assert_eq!(found.status, missing.status, "{route:?}");
        assert_eq!(said(&found, hidden), said(&missing, nothing), "{route:?}");
        // It is there for those who know of it.
        let is_file = ["artifact", "/log"].iter().any(|part| route.path.contains(part));
        let looks = route.verb.word() == "GET" && !is_file;
        let there = if looks { Some(ask(&scene, of(hidden), &known).await) } else { None };
        if let Some(there) = there {
            assert_eq!(there.status, StatusCode::OK, "{route:?}: {}", said(&there, hidden));
        }
        tried += 1;
    }
    assert!(tried > 25, "only {tried}");
    let left = scene.house.desk().show(&asks).await.unwrap();
    assert_eq!(left.state, tidewheel_client::api::RunState::Running, "nobody has touched it");
}

#[tokio::test]
async fn lists_leave_out_what_is_outside() {
    let (scene, asks) = scene().await;
    let token = token_of(&scene, Role::Viewer, &["rea*", "nothing"]);
    let all = scene.token(Role::Viewer);
    let lists = routes().filter(|route| Narrowing::of(route) == Narrowing::Listed);
    for route in lists.filter(|route| !matches!(route.gives, Gives::Events(_))) {
        let whole = ask(&scene, Wish::of(route), &all).await;
        let narrowed = ask(&scene, Wish::of(route), &token).await;
        assert_eq!((whole.status, narrowed.status), (StatusCode::OK, StatusCode::OK), "{route:?}");
        let text = |answer: &Answer| String::from_utf8_lossy(&answer.body).into_owned();
        let words = [asks.as_str(), "asks-daily", "\"asks\"", "flows/asks", "now?"];
        let told = |answer: &Answer| words.into_iter().find(|it| text(answer).contains(it));
        // What waits for somebody stands in no line.
        assert!(told(&whole).is_some() || route.name == "line", "{route:?} tells of it");
        assert_eq!(told(&narrowed), None, "{route:?}: {}", text(&narrowed));
    }
    let runs = ask(&scene, Wish::new("GET", "/api/v1/runs"), &token).await.json();
    let flows: Vec<&Json> = runs["runs"].as_array().unwrap().iter().map(|it| &it["flow"]).collect();
    assert_eq!(flows, ["reads"]);
    let of_other = ask(&scene, Wish::new("GET", "/api/v1/runs?name=asks"), &token).await.json();
    assert_eq!(of_other["runs"], json!([]));
    let latest = ask(&scene, Wish::new("GET", "/api/v1/runs/latest"), &token).await.json();
    assert_eq!(latest["flow"], "reads", "the newest that it knows of");
}

#[tokio::test]
async fn what_is_about_all_flows_is_refused() {
    let (scene, _) = scene().await;
    let token = token_of(&scene, Role::Operator, &["reads"]);
    for route in routes().filter(|route| Narrowing::of(route) == Narrowing::Whole) {
        let answer = ask(&scene, Wish::of(route), &token).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{route:?}");
    }
    for route in routes().filter(|route| Narrowing::of(route) == Narrowing::Aside) {
        let is_open = matches!(route.permission, Permission::Public | Permission::Signature);
        let answer = if is_open { None } else { Some(ask(&scene, Wish::of(route), &token).await) };
        let text = answer.map(|answer| String::from_utf8_lossy(&answer.body).into_owned());
        assert!(!text.unwrap_or_default().contains("asks-daily"), "{route:?}");
    }
    let me = ask(&scene, Wish::new("GET", "/api/v1/me"), &token).await.json();
    assert_eq!((&me["role"], &me["flows"]), (&json!("operator"), &json!(["reads"])));
}

#[tokio::test]
async fn events_tell_of_what_is_within() {
    let (scene, asks) = scene().await;
    let narrowed = scene.house.within(&Reach::of(&["reads".to_owned()]).unwrap()).unwrap();
    let mut happenings = narrowed.happenings(Some(("another life", 0)));
    assert_eq!(happenings.next().await, Some(Seen::Gap));
    let wish = tidewheel_client::api::CancelWish { everything: true, ..Default::default() };
    scene.house.desk().cancel(&asks, wish).await.unwrap();
    scene.house.fire_schedule("asks/asks-daily").await.unwrap();
    let last = scene.run().await;
    let mut seen = 0;
    loop {
        let Some(Seen::Happened(happened)) = happenings.next().await else { panic!("no end") };
        assert_eq!(happened.flow.as_deref(), Some("reads"), "{happened:?}");
        seen += 1;
        let is_last = happened.run_id.as_deref() == Some(&last);
        if is_last && happened.what == tidewheel_client::api::What::RunEnded {
            break;
        }
    }
    assert!(seen > 4, "two runs were told of");
}

#[tokio::test]
async fn a_session_and_a_link_know_no_more_than_the_token_behind_them() {
    let (scene, asks) = scene().await;
    let token = token_of(&scene, Role::Viewer, &["reads"]);
    let link = ask(&scene, Wish::new("POST", "/api/v1/login-links"), &token).await.json();
    let code = link["path"].as_str().unwrap().split_once('=').unwrap().1.to_owned();
    let log_in = Wish::new("POST", "/login")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", "http://localhost:8080")
        .body(&format!("code={code}"));
    let answer = scene.send(log_in).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", String::from_utf8_lossy(&answer.body));
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    let with = |path: &str| scene.send(Wish::new("GET", path).header("cookie", &cookie));
    assert_eq!(with(&format!("/api/v1/runs/{asks}")).await.status, StatusCode::NOT_FOUND);
    assert_eq!(with("/api/v1/runs/last").await.json()["flow"], "reads");
    assert_eq!(with("/metrics").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn only_viewers_and_operators_know_of_some_flows_only() {
    let scene = Scene::patient().await;
    for role in [Role::Author, Role::Admin] {
        let reach = Reach::of(&["reads".to_owned()]).unwrap();
        let plan = TokenPlan { reach, ..TokenPlan::new("some", role) };
        let made = scene.server.tokens().make_as(&plan, wall_clock());
        assert!(matches!(made, Err(TokenError::Reach(refused)) if refused == role));
    }
    let admin = scene.token(Role::Admin);
    let make = |flows: Json| {
        let wish = json!({ "name": "some", "role": "viewer", "flows": flows }).to_string();
        let make = Wish::new("POST", "/api/v1/tokens").header("content-type", "application/json");
        scene.send(make.body(&wish).token(&admin))
    };
    for wrong in [json!([]), json!([""]), json!(["a***"])] {
        let answer = make(wrong.clone()).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
    }
    let made = make(json!(["asks", "b-*"])).await.json();
    assert_eq!(made["token"]["flows"], json!(["asks", "b-*"]));
    let secret = made["secret"].as_str().unwrap();
    let flows = ask(&scene, Wish::new("GET", "/api/v1/flows"), secret).await.json();
    assert_eq!(flows["flows"].as_array().unwrap().len(), 1);
    assert_eq!(flows["flows"][0]["name"], "asks");
}
