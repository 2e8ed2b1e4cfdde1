//! What pages of somebody else's can do: nothing. And how a browser of one's own logs in.
//!
//! Who may what is tried in `permissions`.

use crate::scene;
use crate::scene::{Scene, Wish};
use axum::http::StatusCode;
use tidewheel_server::Peer;
use tidewheel_server::identity::Role;
use tidewheel_server::table::{Verb, routes};

#[tokio::test]
async fn a_foreign_name_leads_nowhere_whatever_is_asked() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Admin);
    for route in routes() {
        for host in ["evil.example", "localhost.evil.example:8080", "192.0.2.1", ""] {
            for wish in
                [Wish::of(route).token(&token), Wish::of(route).header("upgrade", "websocket")]
            {
                let answer = scene.send(wish.header("host", host)).await;
                assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST, "{route:?} {host}");
            }
        }
    }
    let answer = scene.send(Wish::new("GET", "/nothing").header("host", "evil.example")).await;
    assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST, "before routes");
    let mut settings = scene::patient();
    settings.hosts = vec!["tide.example".to_owned()];
    let scene = Scene::with(settings).await;
    let live = Wish::new("GET", "/health/live").header("host", "tide.example");
    assert_eq!(scene.send(live).await.status, StatusCode::OK);
}

#[tokio::test]
async fn another_page_changes_nothing_not_even_with_a_token() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Admin);
    let pages = [
        ("origin", "null"),
        ("origin", "http://evil.example"),
        ("origin", "http://localhost:8081"),
        ("origin", "http://sub.localhost:8080"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("sec-fetch-site", "none"),
    ];
    for route in routes().filter(|route| route.verb != Verb::Get) {
        for (name, value) in pages {
            let answer = scene.send(Wish::of(route).token(&token).header(name, value)).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{route:?} {name}: {value}");
        }
        let ours = Wish::of(route).token(&token).header("origin", "http://localhost:8080");
        assert_ne!(scene.send(ours).await.status, StatusCode::FORBIDDEN, "{route:?}");
    }
}

#[tokio::test]
async fn every_answer_tells_the_browser_to_run_and_keep_nothing() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Admin);
    let mut wishes: Vec<Wish> = routes().map(|route| Wish::of(route).token(&token)).collect();
    wishes.extend(routes().map(Wish::of));
    wishes.push(Wish::new("GET", "/nothing"));
    wishes.push(Wish::new("GET", "/").header("host", "evil.example"));
    wishes.push(Wish::new("OPTIONS", "/api/v1/runs").header("origin", "http://evil.example"));
    for wish in wishes {
        let path = format!("{} {}", wish.method, wish.path);
        let answer = scene.send(wish).await;
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert_eq!(answer.header("cache-control"), "no-store", "{path}");
        let cors = answer.headers.keys().find(|name| name.as_str().starts_with("access-control"));
        assert_eq!(cors, None, "{path}");
        let is_page = answer.header("content-type").starts_with("text/html");
        if is_page && answer.status.is_client_error() {
            assert!(answer.body.starts_with(b"<!doctype html>"), "{path}");
        } else if answer.status.is_client_error() {
            assert_eq!(answer.header("content-type"), "application/problem+json", "{path}");
            if !answer.body.is_empty() {
                let problem = answer.json();
                assert_eq!(problem["status"], answer.status.as_u16(), "{path}");
                let is_known = problem["type"].as_str().unwrap().starts_with("urn:tidewheel:");
                assert!(is_known && problem["title"].is_string() && problem["detail"].is_string());
            }
        }
    }
}

#[tokio::test]
async fn a_token_in_an_address_is_refused() {
    let scene = Scene::patient().await;
    let token = scene.token(Role::Admin);
    for query in [
        format!("token={token}"),
        format!("access_token={token}"),
        format!("x={token}"),
        "authorization=Bearer%20x".to_owned(),
    ] {
        let path = format!("/api/v1/runs?{query}");
        assert_eq!(scene.send(Wish::new("GET", &path)).await.status, StatusCode::UNAUTHORIZED);
        let answer = scene.send(Wish::new("GET", &path).token(&token)).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{path}");
    }
}

/// Logs in; the cookie.
async fn log_in(scene: &Scene, path: &str) -> Option<String> {
    let page = scene.send(Wish::new("GET", path)).await;
    let code = path.split_once('=').unwrap().1;
    let text = String::from_utf8(page.body).unwrap();
    assert!(text.contains(&format!("value=\"{code}\"")), "{text}");
    let wish = Wish::new("POST", "/login")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .body(&format!("code={code}"));
    let answer = scene.send(wish).await;
    if answer.status != StatusCode::SEE_OTHER {
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        return None;
    }
    assert_eq!(answer.header("location"), "./");
    Some(answer.header("set-cookie").to_owned())
}

#[tokio::test]
async fn a_browser_logs_in_once_with_a_link_and_out_again() {
    let scene = Scene::patient().await;
    let path = scene.server.login_path().unwrap();
    let cookie = log_in(&scene, &path).await.unwrap();
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!(log_in(&scene, &path).await, None, "a link works once");
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let with = |wish: Wish| wish.header("cookie", &cookie);
    let me = scene.send(with(Wish::new("GET", "/api/v1/me"))).await.json();
    assert_eq!((me["name"].as_str(), me["role"].as_str()), (Some("owner"), Some("admin")));
    let csrf = me["csrf"].as_str().unwrap();
    let post = |csrf: &str, site: &str| {
        with(Wish::new("POST", "/api/v1/logout"))
            .header("x-tidewheel-csrf", csrf)
            .header("sec-fetch-site", site)
    };
    for (csrf, site) in
        [("", "same-origin"), ("x", "same-origin"), (csrf, "cross-site"), (csrf, "")]
    {
        let answer = scene.send(post(csrf, site)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{csrf} {site}");
    }
    assert_eq!(scene.send(post(csrf, "same-origin")).await.status, StatusCode::OK);
    let answer = scene.send(with(Wish::new("GET", "/api/v1/me"))).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "it has logged out");
}

#[tokio::test]
async fn a_session_is_no_more_than_its_token_and_ends_with_it() {
    let scene = Scene::patient().await;
    let (viewer, admin) = (scene.token(Role::Viewer), scene.token(Role::Admin));
    let link = scene.send(Wish::new("POST", "/api/v1/login-links").token(&viewer)).await.json();
    let cookie = log_in(&scene, link["path"].as_str().unwrap()).await.unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let me = Wish::new("GET", "/api/v1/me").header("cookie", &cookie);
    assert_eq!(scene.send(me.clone()).await.json()["role"], "viewer");
    let tokens = Wish::new("GET", "/api/v1/tokens").header("cookie", &cookie);
    assert_eq!(scene.send(tokens).await.status, StatusCode::FORBIDDEN);
    let twice = format!("{cookie}; {cookie}");
    let answer = scene.send(me.clone().header("cookie", &twice)).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "which of them?");
    let revoke = Wish::new("DELETE", "/api/v1/tokens/viewer").token(&admin);
    assert_eq!(scene.send(revoke).await.status, StatusCode::OK);
    assert_eq!(scene.send(me).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn behind_a_proxy_the_cookie_is_for_tls_alone() {
    let mut settings = scene::patient();
    settings.is_behind_proxy = true;
    let scene = Scene::with(settings).await;
    let path = scene.server.login_path().unwrap();
    let cookie = log_in(&scene, &path).await.unwrap();
    assert!(cookie.starts_with("__Host-tidewheel-session="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
}

#[tokio::test]
async fn whoever_asks_too_often_is_told_when_to_come_back() {
    let mut settings = tidewheel_server::Settings::default();
    settings.limits.strangers_per_minute = 3;
    settings.limits.requests_per_second = 1;
    settings.limits.requests_at_once = 2;
    let scene = Scene::with(settings).await;
    let token = scene.token(Role::Viewer);
    let stranger = Wish::new("GET", "/api/v1/me");
    for expected in [401, 401, 401, 429] {
        let answer = scene.send(stranger.clone()).await;
        assert_eq!(answer.status.as_u16(), expected);
        let seconds: u64 = answer.header("retry-after").parse().unwrap_or_default();
        assert_eq!((1..=20).contains(&seconds), expected == 429);
    }
    let other = stranger.clone().from(Peer::Address([192, 0, 2, 2].into()));
    assert_eq!(scene.send(other).await.status.as_u16(), 401, "another address");
    let known = stranger.token(&token);
    for expected in [200, 200, 429] {
        assert_eq!(scene.send(known.clone()).await.status.as_u16(), expected);
    }
    let rows = std::fs::read_to_string(scene.path.join("data/server/audit.jsonl")).unwrap();
    assert_eq!(rows, "", "who is turned away does not fill the disk");
}
