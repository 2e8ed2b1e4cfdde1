//! Who may: tests made from the table of routes, so that a new route is tried on the day it is added.
//!
//! What routes do is tried in the files beside.

use std::collections::BTreeMap;

use crate::scene;
use crate::scene::{Scene, Wish, filled};
use axum::http::StatusCode;
use tidewheel_server::Peer;
use tidewheel_server::identity::Role;
use tidewheel_server::table::{Gives, Permission, Route, Takes, Verb, routes};

const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "PROPFIND"];

/// Ways to write a path that some server somewhere has taken for it, or for one that needs nobody.
fn tricks(path: &str) -> Vec<String> {
    let last = path.rfind('/').unwrap();
    let (before, after) = path.split_at(last);
    let mut tricks = vec![
        path.to_owned(),
        format!("{path}/"),
        format!("/{path}"),
        path.replace('/', "//"),
        path.replace('/', "/./"),
        format!("{before}/x/..{after}"),
        format!("{before}%2f{}", &after[1..]),
        format!("{before}/%2e{after}"),
        format!("{before}%252f{}", &after[1..]),
        format!("{path}%00"),
        path.to_uppercase(),
        format!("{path};x"),
        format!("{path};/health/live"),
        format!("{path}/configs"),
        format!("{path}/health/live"),
        format!("{path}.json"),
        format!("{path}?x=/health/live"),
        format!("{path}?"),
        format!("/health/live/..{path}"),
        format!("/health/live%2f..{path}"),
        format!("/login/..;{path}"),
        format!("/x{path}"),
    ];
    // What does not begin with a slash does not come this far.
    tricks.retain(|path| path.starts_with('/'));
    tricks.sort();
    tricks.dedup();
    tricks
}

#[tokio::test]
async fn nobody_gets_anything_whatever_the_path_looks_like() {
    let scene = Scene::patient().await;
    let mut tried = 0;
    for route in routes() {
        let path = filled(route.path, "nothing");
        for path in tricks(&path) {
            for method in METHODS {
                let plain = path.trim_end_matches('?').split("?x=").next().unwrap();
                let is_public = routes().any(|it| {
                    let is_it =
                        it.verb.word() == method || (it.verb == Verb::Get && method == "HEAD");
                    let path = filled(it.path, "nothing");
                    it.permission == Permission::Public && path == plain && is_it
                });
                if is_public {
                    continue;
                }
                let answer = scene.send(Wish::new(method, &path)).await;
                // Of what is open to everybody, whatever its name, there may be nothing.
                if route.name == "page-asset" && answer.status == StatusCode::NOT_FOUND {
                    continue;
                }
                assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path}");
                assert_eq!(answer.header("www-authenticate"), "Bearer");
                tried += 1;
            }
        }
    }
    assert!(tried > 3000, "only {tried}");
}

#[tokio::test]
async fn streams_upgrades_and_wrong_credentials_are_nobody_too() {
    let scene = Scene::patient().await;
    let good = scene.token(Role::Admin);
    let other = Scene::patient().await.token(Role::Admin);
    let headers: Vec<(&'static str, String)> = vec![
        ("accept", "text/event-stream".to_owned()),
        ("upgrade", "websocket".to_owned()),
        ("authorization", String::new()),
        ("authorization", "Bearer".to_owned()),
        ("authorization", "Bearer ".to_owned()),
        ("authorization", good.clone()),
        ("authorization", format!("Basic {good}")),
        ("authorization", format!("Bearer  {good}")),
        ("authorization", format!("Bearer {good}x")),
        ("authorization", format!("Bearer {}", good.to_uppercase())),
        ("authorization", format!("Bearer {other}")),
        ("cookie", "tidewheel-session=".to_owned()),
        ("cookie", format!("tidewheel-session={good}")),
        ("cookie", format!("authorization={good}")),
        ("x-forwarded-for", "127.0.0.1".to_owned()),
        ("forwarded", "for=127.0.0.1".to_owned()),
        ("x-original-url", "/health/live".to_owned()),
        ("x-http-method-override", "GET".to_owned()),
    ];
    for route in routes().filter(|route| route.permission != Permission::Public) {
        for (name, value) in &headers {
            let answer = scene.send(Wish::of(route).header(name, value)).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{route:?} {name}: {value}");
        }
        // Two tokens are none, even if both are good.
        let mut twice = Wish::of(route).token(&good);
        twice.headers.push(("authorization", format!("Bearer {good}")));
        assert_eq!(scene.send(twice).await.status, StatusCode::UNAUTHORIZED, "{route:?}");
    }
}

fn may(role: Role, route: &Route) -> bool {
    match route.permission {
        Permission::Public => true,
        // No role has the secret.
        Permission::Signature => false,
        Permission::Figures | Permission::Flowtoy | Permission::Viewer => true,
        Permission::Operator => role != Role::Viewer,
        Permission::Author => matches!(role, Role::Author | Role::Admin),
        Permission::Admin => role == Role::Admin,
    }
}

#[tokio::test]
async fn every_role_may_what_the_table_says_and_no_more() {
    let scene = Scene::patient().await;
    for role in Role::ALL {
        let token = scene.token(role);
        for route in routes() {
            // Without a link nobody logs in, whatever else they have.
            if route.name == "log-in" {
                continue;
            }
            let answer = scene.send(Wish::of(route).token(&token)).await;
            let is_refused =
                matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
            assert_eq!(is_refused, !may(role, route), "{role} {route:?}: {}", answer.status);
            assert!(answer.status.as_u16() < 500, "{role} {route:?}: {}", answer.status);
        }
    }
}

#[tokio::test]
async fn only_what_the_settings_say_is_open_to_this_machine() {
    let here = Peer::Address([127, 0, 0, 1].into());
    let mut closed = scene::patient();
    closed.metrics_need_token = true;
    let mut flowtoy = closed.clone();
    flowtoy.flowtoy_is_open = true;
    let mut proxy = scene::patient();
    (proxy.is_behind_proxy, proxy.flowtoy_is_open) = (true, true);
    let scenes = [
        (Scene::patient().await, Some(Permission::Figures)),
        (Scene::with(closed).await, None),
        (Scene::with(flowtoy).await, Some(Permission::Flowtoy)),
        (Scene::with(proxy).await, None),
    ];
    for (scene, open) in scenes {
        for route in routes().filter(|route| route.permission != Permission::Public) {
            let answer = scene.send(Wish::of(route).from(here)).await;
            let is_known = answer.status != StatusCode::UNAUTHORIZED;
            assert_eq!(is_known, open == Some(route.permission), "{route:?}");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_only_to_those_who_are_known() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Viewer);
    let answer = scene.send(Wish::new("GET", "/api/v1/nothing").token(&token)).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    let answer = scene.send(Wish::new("PATCH", "/api/v1/runs").token(&token)).await;
    assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, "POST, GET"));
    let answer = scene.send(Wish::new("HEAD", "/api/v1/runs").token(&token)).await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 0));
}

/// Strings that lead elsewhere where somebody takes a name for a path.
const TRAVERSALS: [&str; 34] = [
    "..",
    ".",
    "../..",
    "../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "%252e%252e%252fetc%252fpasswd",
    "..%5c..%5cetc%5cpasswd",
    "..\\..\\etc\\passwd",
    "%c0%ae%c0%ae%c0%afetc%c0%afpasswd",
    "..%c0%af..%c0%afetc",
    "%ff%fe",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "file:%2f%2f%2fetc%2fpasswd",
    "....//....//etc",
    "..;/..;/etc/passwd",
    "%00",
    "a%00b",
    "tidewheel.db%00.txt",
    "%0d%0aSet-Cookie:x=1",
    "%0a",
    "%1b[2J",
    "CON",
    "nul",
    "COM1",
    "~root",
    "$HOME",
    "@%2fetc%2fpasswd",
    "-rf",
    "'%20OR%201=1--",
    "%25s%25n",
    "a%2f..%2f..%2fb",
];

#[tokio::test]
async fn a_name_never_leads_elsewhere() {
    let scene = Scene::patient().await;
    scene.run().await;
    let token = scene.token(Role::Admin);
    let long = "a".repeat(600);
    let strings: Vec<&str> = TRAVERSALS.into_iter().chain([long.as_str()]).collect();
    for route in routes().filter(|route| route.permission != Permission::Public) {
        let queries = ["step", "name", "tag", "cursor", "state", "stream", "task", "attempt"];
        for string in &strings {
            let mut paths: Vec<String> = Vec::new();
            if route.path.contains('{') {
                paths.push(filled(route.path, string));
                // A run that there is, and a step, file or log that there is not.
                paths.push(filled(&route.path.replace("{run}", "last"), string));
            }
            if route.verb == Verb::Get && route.query.is_some() {
                let path = filled(route.path, "last");
                let escaped = string.replace('&', "%26").replace('#', "%23").replace('\\', "%5c");
                let tried = queries.map(|name| format!("{path}?{name}={escaped}"));
                let is_page = matches!(route.gives, Gives::Page);
                paths
                    .extend(tried.into_iter().filter(|path| !is_page || !passes_over(route, path)));
            }
            for path in paths {
                if path.parse::<axum::http::Uri>().is_err() {
                    continue;
                }
                let wish = Wish { path, ..Wish::of(route).token(&token) };
                let path = wish.path.clone();
                let answer = scene.send(wish).await;
                let text = String::from_utf8_lossy(&answer.body);
                let is_page = matches!(route.gives, Gives::Page);
                let is_list = match is_page {
                    // A page of a list in which nothing is.
                    true => route.path == "/runs" && text.contains("No run matches"),
                    false => {
                        route.path.ends_with("/runs")
                            && answer.json()["runs"] == serde_json::json!([])
                    }
                };
                let has_no_place = !route.path.contains('{') && !is_list && route.query.is_none();
                let is_plain = filled(route.path, "last") == path || has_no_place;
                let is_refused = answer.status.is_client_error();
                assert!(
                    is_refused || is_list || is_plain || passes_over(route, &path),
                    "{path}: {text}"
                );
                assert!(
                    !text.contains("root:") && answer.header("set-cookie").is_empty(),
                    "{path}"
                );
            }
        }
    }
}

/// Whether what stands behind the question mark is nothing that the route knows.
fn passes_over(route: &Route, path: &str) -> bool {
    let known = |name: &str| {
        let query = route.query.unwrap().schemas();
        let own = serde_json::to_value(&query[0].1).unwrap();
        own["properties"].get(name).is_some()
    };
    let Some((_, query)) = path.split_once('?') else { return false };
    !known(query.split('=').next().unwrap())
}

#[tokio::test]
async fn looking_changes_nothing() {
    let scene = Scene::patient().await;
    let run = scene.run().await;
    // Whoever has a run is asked why its steps wait, and what another priority would do.
    let waiting = scene.fail_for_an_hour().await;
    let token = scene.token(Role::Admin);
    // When a token was used is written down once an hour.
    scene.send(Wish::new("GET", "/api/v1/me").token(&token)).await;
    let before = files(&scene.path);
    assert!(before.keys().any(|name| name.ends_with("tidewheel.db")), "{:?}", before.keys());
    let looks = routes().filter(|route| !route.changes && route.name != "health-live");
    let mut tried = 0;
    for route in looks {
        for with in ["nothing", "last", &run, &waiting] {
            for method in [route.verb.word(), "HEAD"] {
                let path = route.path.replace("{step}", "read").replace("{flow}", "reads");
                let path = filled(&path.replace("{schedule}", "asks%2Fasks-daily"), with);
                scene
                    .send(Wish { path, method: method.to_owned(), ..Wish::of(route).token(&token) })
                    .await;
                tried += 1;
            }
        }
    }
    assert!(tried > 50, "only {tried}");
    let after = files(&scene.path);
    let changed = |name: &&String| before.get(*name) != after.get(*name);
    let names: Vec<&String> = before.keys().chain(after.keys()).filter(changed).collect();
    assert_eq!(names, Vec::<&String>::new());
}

/// All files with what is in them, but for the index of SQLite, which readers take notes in.
fn files(folder: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            match path.is_dir() {
                true => folders.push(path),
                false if name.ends_with("-shm") => {}
                false => {
                    files.insert(name, std::fs::read(path).unwrap());
                }
            }
        }
    }
    files
}

#[tokio::test]
async fn every_wish_to_change_something_is_written_down_once() {
    let scene = Scene::patient().await;
    let (admin, viewer) = (scene.token(Role::Admin), scene.token(Role::Viewer));
    let log = || std::fs::read_to_string(scene.path.join("data/server/audit.jsonl")).unwrap();
    let rows = || log().lines().count();
    for route in routes() {
        let wishes = [
            ("nobody", Wish::of(route)),
            ("viewer", Wish::of(route).token(&viewer)),
            ("admin", Wish::of(route).token(&admin)),
            ("foreign", Wish::of(route).token(&admin).header("origin", "http://evil.example")),
            ("type", Wish::of(route).token(&admin).header("content-type", "text/plain").body("x")),
        ];
        for (who, wish) in wishes {
            let before = rows();
            let answer = scene.send(wish).await;
            assert_eq!(rows() - before, usize::from(route.changes), "{who} {route:?}");
            if route.changes {
                let row: serde_json::Value =
                    serde_json::from_str(log().lines().next_back().unwrap()).unwrap();
                assert_eq!(row["action"], route.name);
                assert_eq!(row["result"], answer.status.as_u16(), "{who} {route:?}");
                let actor = if who == "nobody" {
                    "-"
                } else if who == "viewer" {
                    who
                } else {
                    "admin"
                };
                assert_eq!(row["actor"], actor, "{who} {route:?}");
            }
        }
    }
    let secrets = [&admin, &viewer].map(|token| token.rsplit('_').next().unwrap().to_owned());
    assert!(!secrets.iter().any(|secret| log().contains(secret)));
    let answer = scene.send(Wish::new("GET", "/api/v1/audit/verify").token(&admin)).await;
    assert_eq!(answer.json()["rows"], rows());
    let forged = "/api/v1/runs/x%0A%7B%22number%22:1%7D%1B%5B2J/pause";
    scene.send(Wish::new("POST", forged).token(&admin)).await;
    let answer = scene.send(Wish::new("GET", "/api/v1/audit/verify").token(&admin)).await;
    assert_eq!(answer.json()["rows"], rows());
    assert!(!log().contains('\u{1b}'));
}

#[tokio::test]
async fn a_changed_audit_log_is_told() {
    let scene = Scene::patient().await;
    let admin = scene.token(Role::Admin);
    for _ in 0..3 {
        scene.send(Wish::new("POST", "/api/v1/runs/x/pause").token(&admin)).await;
    }
    let path = scene.path.join("data/server/audit.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("pause-run", "other-run", 1)).unwrap();
    let answer = scene.send(Wish::new("GET", "/api/v1/audit/verify").token(&admin)).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.json()["detail"].as_str().unwrap().ends_with("row 1 was changed"));
}

#[tokio::test]
async fn bodies_have_exactly_the_type_that_is_asked_for_and_a_length() {
    let scene = Scene::patient().await;
    let admin = scene.token(Role::Admin);
    let types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "application/json, text/plain",
        "application/jsonx",
        "text/json",
        "application/json; x=y",
        "application/problem+json",
    ];
    for route in routes().filter(|route| route.verb != Verb::Get && route.name != "log-in") {
        let wish = Wish::of(route).token(&admin);
        let most = match route.takes {
            Takes::Nothing => {
                let answer =
                    scene.send(wish.header("content-type", "application/json").body("{}")).await;
                assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{route:?}");
                continue;
            }
            Takes::Document(_, most) | Takes::MaybeDocument(_, most) | Takes::Fields(most) => most,
            // It may be of any type; its length is tried where it is signed.
            Takes::Signed(_) => continue,
        };
        for kind in types {
            let answer = scene.send(wish.clone().header("content-type", kind)).await;
            assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{route:?} {kind}");
        }
        let answer = scene.send(wish.clone().header("content-encoding", "gzip")).await;
        assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{route:?}");
        let answer = scene.send(wish.clone().body(&" ".repeat(most + 1))).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE, "{route:?}");
        let answer = scene.send(wish.body("{\"unfinished\": ")).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{route:?}");
    }
}
