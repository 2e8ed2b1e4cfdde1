//! Where requests go: redirects, address policies, names and proxies.
//!
//! What answers become is in `http_answers.rs`, limits are in `http_connections.rs`.

use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::http_fixture::{Fixture, Names, answer, bounded, client, run};
use tidewheel::executor::http::{
    AddressPolicy, AddressRule, HttpClient, HttpFailure, HttpFailureKind, HttpRequest, MayRetry,
};
use tokio::task::JoinSet;

const LOCAL: [u8; 4] = [127, 0, 0, 1];

async fn hello() -> Fixture {
    Fixture::start(|_| answer("200 OK", &["connection: close"], b"hello")).await
}

/// A server that redirects everything to one place.
async fn redirecting(to: String) -> Fixture {
    Fixture::start(move |_| answer("302 Found", &[&format!("location: {to}")], b"")).await
}

fn public_and(rule: &str) -> AddressPolicy {
    AddressPolicy::public_only().allow(rule.parse::<AddressRule>().unwrap())
}

fn assert_refused(failure: &HttpFailure) {
    assert_eq!(
        (failure.kind, failure.retry),
        (HttpFailureKind::Refused, MayRetry::No),
        "{failure}"
    );
}

#[tokio::test]
async fn redirects_are_followed_five_times() {
    let server = Fixture::start(|received| match received.target[1..].parse::<u32>() {
        Ok(0) => answer("200 OK", &[], b"there"),
        Ok(left) => answer("307 Temporary", &[&format!("location: /{}", left - 1)], b"go on"),
        Err(_) => answer("302 Found", &["location: http://[bad"], b""),
    })
    .await;
    let client = client();
    let request = HttpRequest::post(server.url("/5")).body("text/plain", "body");
    let end = run(&client, &request).await.unwrap();
    assert_eq!((end.meta.redirects, end.meta.url), (5, server.url("/0")));
    assert!(server.requests().iter().all(|r| r.method == "POST" && r.body == b"body"));
    let failure = run(&client, &HttpRequest::get(server.url("/6"))).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Redirect, MayRetry::No));
    assert!(failure.message.contains("more than 5 redirects"), "{failure}");
    assert_eq!(server.requests().len(), 12);
    let failure = run(&client, &HttpRequest::get(server.url("/x"))).await.unwrap_err();
    assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Redirect, MayRetry::No));
    let once = HttpRequest::get(server.url("/2")).redirects_max(1);
    assert_eq!(run(&client, &once).await.unwrap_err().kind, HttpFailureKind::Redirect);
    let as_answer = HttpRequest::get(server.url("/1")).redirects_max(0).accept_status(307..=307);
    assert_eq!(run(&client, &as_answer).await.unwrap().header("location"), Some("/0"));
}

#[tokio::test]
async fn secrets_do_not_follow_to_another_origin() {
    let other = hello().await;
    let same = Fixture::start(|received| match received.target.as_str() {
        "/" => answer("302 Found", &["location: /there"], b""),
        _ => answer("200 OK", &[], b""),
    })
    .await;
    let server = redirecting(other.url("/there")).await;
    let request = |url: String| {
        HttpRequest::get(url)
            .header("Authorization", "Bearer t")
            .header("Cookie", "a=b")
            .header("Proxy-Authorization", "Basic x")
            .header("Host", "virtual.test")
            .secret_header("X-Token", "t")
            .header("X-Plain", "1")
    };
    let client = client();
    run(&client, &request(server.url("/"))).await.unwrap();
    let secret = ["authorization", "cookie", "proxy-authorization", "x-token"];
    assert!(secret.iter().all(|name| server.last().header(name).is_some()));
    let received = other.last();
    assert!(secret.iter().all(|name| received.header(name).is_none()), "{received:?}");
    assert_eq!(received.header("x-plain"), Some("1"));
    assert_eq!(received.header("host"), Some(other.address.to_string().as_str()));
    assert!(received.header("referer").is_none());
    assert!(received.header("idempotency-key").is_some());
    run(&client, &request(same.url("/"))).await.unwrap();
    let received = same.last();
    assert_eq!(received.target, "/there");
    assert!(secret.iter().all(|name| received.header(name).is_some()), "{received:?}");
}

#[tokio::test]
async fn a_redirect_is_checked_like_a_request() {
    let hidden = hello().await;
    let port = hidden.port();
    for target in [
        hidden.url("/"),
        format!("http://localhost:{port}/"),
        format!("http://2130706433:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://0x7f.1:{port}/"),
        format!("//127.1:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ] {
        let server = redirecting(target.clone()).await;
        let policy = public_and(&server.address.to_string());
        let client = HttpClient::builder().policy(policy).build().unwrap();
        let failure = run(&client, &HttpRequest::get(server.url("/"))).await.unwrap_err();
        assert_refused(&failure);
        assert_eq!(server.requests().len(), 1, "{target}");
    }
    for target in ["ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1/"] {
        let server = redirecting(target.to_owned()).await;
        let failure = run(&client(), &HttpRequest::get(server.url("/"))).await.unwrap_err();
        assert_eq!((failure.kind, failure.retry), (HttpFailureKind::Redirect, MayRetry::No));
    }
    assert_eq!(hidden.connections(), 0);
}

#[tokio::test]
async fn names_are_checked_by_their_addresses() {
    let server = hello().await;
    let port = server.port();
    let url = |host: &str| format!("http://{host}:{port}/");
    // The resolver of the system.
    let public = HttpClient::builder().policy(AddressPolicy::public_only()).build().unwrap();
    for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.1"] {
        assert_refused(&run(&public, &HttpRequest::get(url(host))).await.unwrap_err());
    }
    let denied = AddressPolicy::open().deny("127.0.0.0/8".parse().unwrap());
    let denied = denied.deny("::1".parse().unwrap());
    let denied = HttpClient::builder().policy(denied).build().unwrap();
    assert_refused(&run(&denied, &HttpRequest::get(url("localhost"))).await.unwrap_err());
    assert_eq!(server.connections(), 0);
    // Rules for a port hold for names too, whether they name it or its address.
    let through = async |rule: String, host: &str| {
        let local = Names(|| vec![LOCAL.into()]);
        let client = HttpClient::builder().policy(public_and(&rule)).lookup(local);
        run(&client.build().unwrap(), &HttpRequest::get(url(host))).await
    };
    assert!(through(format!("name.test:{port}"), "name.test").await.is_ok());
    assert!(through(format!("name.test:{port}"), "NAME.test.").await.is_ok());
    assert!(through("name.test".to_owned(), "name.test").await.is_ok());
    assert!(through(format!("127.0.0.1:{port}"), "name.test").await.is_ok());
    assert!(through("127.0.0.0/8".to_owned(), "name.test").await.is_ok());
    let before = server.connections();
    for rule in ["other.test".to_owned(), "name.test:1".to_owned(), "127.0.0.1:1".to_owned()] {
        assert_refused(&through(rule, "name.test").await.unwrap_err());
    }
    assert_eq!(server.connections(), before);
}

/// The port of a rule is known wherever a connection is made, however many are.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rules_with_ports_hold_for_many_requests_at_once() {
    let server = Fixture::start(|received| match received.target.as_str() {
        "/close" => answer("200 OK", &["connection: close"], b"hello"),
        _ => answer("200 OK", &[], b"hello"),
    })
    .await;
    let policy = public_and(&format!("name.test:{}", server.port()));
    let local = Names(|| vec![LOCAL.into()]);
    let client = HttpClient::builder().policy(policy).lookup(local).build().unwrap();
    let mut requests = JoinSet::new();
    for number in 0..200 {
        let path = if number % 3 == 0 { "close" } else { "" };
        let url = format!("http://name.test:{}/{path}", server.port());
        let client = client.clone();
        requests.spawn(async move { run(&client, &HttpRequest::get(url)).await.map(|_| ()) });
    }
    for result in bounded(requests.join_all()).await {
        assert_eq!(result, Ok(()));
    }
}

#[tokio::test]
async fn a_name_whose_address_changes_gains_nothing() {
    let server = hello().await;
    let asked = AtomicUsize::new(0);
    // The first answer is allowed, all further ones are not.
    let rebinding = Names(move || -> Vec<IpAddr> {
        match asked.fetch_add(1, Ordering::SeqCst) {
            0 => vec![LOCAL.into()],
            1 => vec![[127, 0, 0, 2].into()],
            2 => vec![[10, 0, 0, 1].into(), [169, 254, 169, 254].into()],
            _ => vec!["::1".parse().unwrap(), "::ffff:127.0.0.2".parse().unwrap()],
        }
    });
    let policy = public_and(&server.address.to_string());
    let client = HttpClient::builder().policy(policy).lookup(rebinding).build().unwrap();
    let request = HttpRequest::get(format!("http://rebind.test:{}/", server.port()));
    assert!(run(&client, &request).await.is_ok());
    for _ in 0..4 {
        assert_refused(&run(&client, &request).await.unwrap_err());
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_proxy_that_is_asked_for_is_used() {
    let proxy = hello().await;
    let client = HttpClient::builder().proxy(proxy.url("/")).build().unwrap();
    run(&client, &HttpRequest::get("http://name.invalid/path")).await.unwrap();
    assert_eq!(proxy.last().target, "http://name.invalid/path");
    let deny = AddressPolicy::open().deny("name.invalid".parse().unwrap());
    let client = HttpClient::builder().proxy(proxy.url("/")).policy(deny).build().unwrap();
    let failure = run(&client, &HttpRequest::get("http://name.invalid/path")).await.unwrap_err();
    assert_refused(&failure);
}

/// Runs the test below with an environment that would send it to nowhere.
#[test]
fn proxies_of_the_environment_are_ignored() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "http_targets::a_request_in_another_environment", "--ignored"]);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
        command.env(name.to_lowercase(), "http://127.0.0.1:1");
    }
    let output = command.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "run by the test above"]
async fn a_request_in_another_environment() {
    let server = hello().await;
    assert!(run(&client(), &HttpRequest::get(server.url("/"))).await.is_ok());
}
