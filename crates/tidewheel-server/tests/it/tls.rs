//! A server that speaks TLS itself, and one that stands below a path.
//!
//! The certificates are made for these tests and known to nobody else.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::scene;
use crate::scene::{Scene, Wish};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tidewheel_server::identity::Role;
use tidewheel_server::{Certificate, CertificateError, Listener, Settings, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// What a server that is known by this certificate answers; `None`: it is not known by it.
async fn ask(address: SocketAddr, known: &str, request: &str) -> Option<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file(known)).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n")
}

/// A server with these files, which may be changed.
async fn listen(scene: &Scene, chain: &Path, key: &Path) -> (SocketAddr, Arc<Certificate>) {
    let certificate = Arc::new(Certificate::read(chain, key).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let listener = Listener::Tls(listener, Arc::clone(&certificate));
    tokio::spawn(serve(listener, Arc::clone(&scene.server), std::future::pending()));
    (address, certificate)
}

fn secure() -> Settings {
    let mut settings = scene::patient();
    settings.has_tls = true;
    settings
}

#[tokio::test]
async fn what_is_asked_over_tls_passes_the_same_door() {
    let scene = Scene::with(secure()).await;
    let token = scene.token(Role::Viewer);
    let (address, _) = listen(&scene, &file("one.crt"), &file("one.key")).await;
    let answer = ask(address, "one.crt", &get("/health/live", "")).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok\n"), "{answer}");
    let answer = ask(address, "one.crt", &get("/api/v1/runs", "")).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    let known = format!("Authorization: Bearer {token}\r\n");
    let answer = ask(address, "one.crt", &get("/api/v1/runs", &known)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(ask(address, "two.crt", &get("/health/live", "")).await, None);
    // Whoever does not speak TLS gets nothing.
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(get("/health/live", "").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "{answer:?}");
}

#[tokio::test]
async fn a_certificate_is_read_again_and_a_broken_one_changes_nothing() {
    let scene = Scene::with(secure()).await;
    let (chain, key) = (scene.path.join("chain"), scene.path.join("key"));
    let put = |name: &str| {
        std::fs::copy(file(&format!("{name}.crt")), &chain).unwrap();
        std::fs::copy(file(&format!("{name}.key")), &key).unwrap();
    };
    put("one");
    let (address, certificate) = listen(&scene, &chain, &key).await;
    put("two");
    let is_known = async |known| ask(address, known, &get("/health/live", "")).await.is_some();
    assert!(is_known("one.crt").await, "nobody has said that it is to be read again");
    certificate.reload().unwrap();
    assert!(is_known("two.crt").await && !is_known("one.crt").await);
    std::fs::copy(file("one.key"), &key).unwrap();
    assert!(matches!(certificate.reload(), Err(CertificateError::Unfit { .. })));
    std::fs::write(&key, "no key").unwrap();
    assert!(matches!(certificate.reload(), Err(CertificateError::NoKey { .. })));
    std::fs::write(&chain, "no certificate").unwrap();
    assert!(matches!(certificate.reload(), Err(CertificateError::NoCertificate { .. })));
    std::fs::remove_file(&chain).unwrap();
    assert!(matches!(certificate.reload(), Err(CertificateError::NotRead { .. })));
    assert!(is_known("two.crt").await, "what was read before stays in force");
}

/// Logs a browser in with a link of the server: where it is sent, and its cookie.
async fn log_in(scene: &Scene, path: &str) -> (String, String) {
    let (path, code) = path.split_once("?code=").unwrap();
    let wish = Wish::new("POST", path)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .body(&format!("code={code}"));
    let answer = scene.send(wish).await;
    assert_eq!(answer.status.as_u16(), 303, "{}", String::from_utf8_lossy(&answer.body));
    (answer.header("location").to_owned(), answer.header("set-cookie").to_owned())
}

#[tokio::test]
async fn a_session_over_tls_belongs_to_the_host() {
    let scene = Scene::with(secure()).await;
    let (_, cookie) = log_in(&scene, &scene.server.login_path().unwrap()).await;
    assert!(cookie.starts_with("__Host-") && cookie.contains("; Path=/; "), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let me = scene.send(Wish::new("GET", "/api/v1/me").header("cookie", pair)).await;
    assert_eq!(me.status.as_u16(), 200);
    // One that anybody could have set without TLS counts for nothing.
    let plain = pair.trim_start_matches("__Host-");
    let me = scene.send(Wish::new("GET", "/api/v1/me").header("cookie", plain)).await;
    assert_eq!(me.status.as_u16(), 401);
}

#[tokio::test]
async fn below_a_path_everything_is_there_and_links_begin_with_it() {
    let mut settings = scene::patient();
    settings.base_path = "/tools/tide".parse().unwrap();
    let scene = Scene::with(settings).await;
    let path = scene.server.login_path().unwrap();
    assert!(path.starts_with("/tools/tide/login?code="), "{path}");
    let (location, cookie) = log_in(&scene, &path).await;
    // From there it is the page of the server, wherever that stands.
    assert_eq!(location, "./");
    assert!(cookie.contains("; Path=/tools/tide/; "), "{cookie}");
    let token = scene.token(Role::Viewer);
    for base in ["/tools/tide", ""] {
        let get = |path: &str| scene.send(Wish::new("GET", &format!("{base}{path}")).token(&token));
        assert_eq!(get("/api/v1/runs?limit=1").await.status.as_u16(), 200, "{base}");
        assert_eq!(get("/api/v1/runs/nothing").await.status.as_u16(), 404, "{base}");
        let document = get("/api/v1/openapi.json").await.json();
        assert_eq!(document["servers"][0]["url"], "/tools/tide/");
        let stranger = scene.send(Wish::new("GET", &format!("{base}/api/v1/runs"))).await;
        assert_eq!(stranger.status.as_u16(), 401, "{base}");
    }
    for other in ["/tools/tides/health/live", "/tools/health/live", "/tools/tide/tools/tide/x"] {
        let answer = scene.send(Wish::new("GET", other)).await;
        assert_eq!(answer.status.as_u16(), 401, "{other}");
    }
    let link = scene.send(Wish::new("POST", "/tools/tide/api/v1/login-links").token(&token)).await;
    assert!(link.json()["path"].as_str().unwrap().starts_with("/tools/tide/login?code="));
}
