//! Tables: spellings of addresses against policies, rules, bodies by content type, packed bodies.
//!
//! What needs a server is in the tests of the crate.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::input::Outcome;

use super::body::{BodyError, Intake};
use super::end::{Encoding, read_data};
use super::failure::may_retry_status;
use super::request::parse_url;
use super::*;
use crate::error::{BoxError, failure_of};

/// Whether a request to this URL passes what is checked before its name, if any, is looked up.
fn passes(policy: &AddressPolicy, url: &str) -> bool {
    parse_url(url).is_ok_and(|url| policy.check_url(&url).is_ok())
}

#[test]
fn no_spelling_of_an_address_that_is_not_public_passes() {
    let refused = [
        // Loopback, in all the ways that C libraries and browsers read.
        "127.0.0.1",
        "127.0.0.1.",
        "127.255.255.254",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0X7F.0.0.1",
        "017700000001",
        "0177.0.0.1",
        "0177.0x0.0.1",
        "00000177.1",
        "127.0.0.1:80",
        "user:password@127.0.0.1",
        "127%2e0%2e0%2e1",
        "%31%32%37.0.0.1",
        "①②⑦.0.0.1",
        "127。0。0。1",
        "127.0.0.1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[0000::0001]",
        "[::1%25lo]",
        "[::1%lo]",
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        // Unspecified and "this network".
        "0",
        "0.0.0.0",
        "0x0",
        "0.1.2.3",
        "[::]",
        "[::ffff:0.0.0.0]",
        // Private.
        "10.0.0.1",
        "10.255.255.255",
        "012.0.0.1",
        "167772161",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "192.168.257",
        "[::ffff:10.0.0.1]",
        "[::ffff:c0a8:1]",
        "[fc00::1]",
        "[fd12:3456:789a::1]",
        "[fdff:ffff::1]",
        "[fec0::1]",
        // Link-local and metadata.
        "169.254.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[febf::1]",
        "168.63.129.16",
        "100.100.100.200",
        // Carrier-grade, documentation, benchmarking, relays, reserved.
        "100.64.0.1",
        "100.127.255.255",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "198.19.255.255",
        "192.88.99.1",
        "240.0.0.1",
        "255.255.255.255",
        "[2001:db8::1]",
        "[3fff::1]",
        "[2001:2::1]",
        "[2001:10::1]",
        "[100::1]",
        "[5f00::1]",
        "[4000::1]",
        // Multicast.
        "224.0.0.1",
        "239.255.255.255",
        "[ff02::1]",
        "[ff0e::1]",
        // Ways to carry an IPv4 address, public or not.
        "[::8.8.8.8]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::8.8.8.8]",
        "[64:ff9b:1:1:1:1:808:808]",
        "[2002:7f00:1::]",
        "[2002:0a00:1::1]",
        "[2002:808:808::1]",
        "[2001:0:4136:e378:8000:63bf:3fff:fdd2]",
        "[2a00:1450::5efe:10.0.0.1]",
        "[2a00:1450::200:5efe:10.0.0.1]",
    ];
    let policy = AddressPolicy::public_only();
    for host in refused {
        assert!(!passes(&policy, &format!("http://{host}/")), "{host}");
    }
    let permitted = [
        "8.8.8.8",
        "134744072",
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "169.253.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "192.0.1.1",
        "192.167.0.1",
        "192.169.0.1",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.255",
        "[2606:4700:4700::1111]",
        "[2a00:1450:4001:80b::200e]",
        "[2001:4860:4860::8888]",
        "[::ffff:8.8.8.8]",
        "[64:ff9b::8.8.8.8]",
        // Names are checked by the addresses they turn out to have.
        "example.com",
        "localhost",
        "127.0.0.1.example.com",
    ];
    for host in permitted {
        assert!(passes(&policy, &format!("http://{host}/")), "{host}");
        assert!(passes(&policy, &format!("https://{host}:8443/path")), "{host}");
    }
}

#[test]
fn only_http_and_https_are_spoken() {
    let policy = AddressPolicy::open();
    for url in [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "data:text/plain,x",
        "javascript:alert(1)",
        "ws://example.com/",
        "unix:/run/docker.sock",
        "//example.com/",
        "/path",
        "",
        "http://",
        "http://exa mple.com/",
        "http://1.2.3.4.5/",
        "http://256.0.0.1/",
        "http://[::1/",
        "http://example.com:99999/",
    ] {
        assert!(!passes(&policy, url), "{url}");
    }
    for url in ["http://localhost/", "HTTPS://127.0.0.1/", "http:\\\\example.com\\"] {
        assert!(passes(&policy, url), "{url}");
    }
}

#[test]
fn rules_deny_before_they_allow() {
    let rule = |text: &str| text.parse::<AddressRule>().unwrap();
    let policy = AddressPolicy::public_only()
        .allow(rule("10.0.0.0/8"))
        .allow(rule("[::1]:8080"))
        .allow(rule("fd00::/8"))
        .deny(rule("10.1.0.0/16"))
        .deny(rule("8.8.8.8:53"))
        .deny(rule("evil.example"))
        .deny(rule("half.example:81"));
    let cases = [
        ("http://10.2.3.4/", true),
        ("http://[::ffff:10.2.3.4]/", true),
        ("http://10.1.2.3/", false),
        ("http://[::ffff:10.1.2.3]/", false),
        ("http://[::10.1.2.3]/", false),
        ("http://[2002:a01:203::]/", false),
        ("http://[64:ff9b::10.1.2.3]/", false),
        ("http://[::1]:8080/", true),
        ("http://[::1]:8081/", false),
        ("http://[fd12::1]/", true),
        ("http://[fc12::1]/", false),
        ("http://8.8.8.8/", true),
        ("http://8.8.8.8:53/", false),
        ("http://evil.example/", false),
        ("http://EVIL.example.:8080/", false),
        ("http://good.evil.example/", true),
        ("http://half.example/", true),
        ("http://half.example:81/", false),
        ("http://192.168.0.1/", false),
    ];
    for (url, expected) in cases {
        assert_eq!(passes(&policy, url), expected, "{url}");
    }
    // Every IPv4 address is in the network of length zero, and a mapped network is one of IPv4.
    let closed = AddressPolicy::open().deny(rule("0.0.0.0/0")).deny(rule("::/0"));
    assert!(!closed.permits([1, 2, 3, 4].into(), 80));
    let mapped = AddressPolicy::open().deny(rule("::ffff:10.0.0.0/104"));
    assert!(!mapped.permits([10, 9, 9, 9].into(), 80));
    assert!(mapped.permits([11, 9, 9, 9].into(), 80));
    // Without a port, a rule for one port denies and does not allow.
    let policy = AddressPolicy::public_only().allow(rule("127.0.0.1:80")).deny(rule("8.8.8.8:53"));
    assert!(policy.check_address(None, [127, 0, 0, 1].into(), None).is_err());
    assert!(policy.check_address(None, [8, 8, 8, 8].into(), None).is_err());
}

#[test]
fn rules_that_mean_nothing_are_refused() {
    for text in [
        "",
        ":80",
        "10.0.0.0/33",
        "fd00::/129",
        "10.0.0.0/x",
        "10.0.0.0/-1",
        "example.com/8",
        "example.com:port",
        "example.com:65536",
        "http://example.com",
        "user@example.com",
        "exa mple.com",
        "example.com/path",
        "[::1]:",
        "*",
        "1.2.3.4.5",
    ] {
        assert!(text.parse::<AddressRule>().is_err(), "{text}");
    }
    let same = |a: &str, b: &str| {
        assert_eq!(a.parse::<AddressRule>().unwrap(), b.parse::<AddressRule>().unwrap());
    };
    same("EXAMPLE.com.", "example.com");
    same("0x7f000001", "127.0.0.1");
    same("127.0.0.1/32:80", "127.0.0.1:80");
    same("[::1]", "::1/128");
    same("[fd00::]/8:443", "[fd00::]/8:443");
}

#[test]
fn statuses_say_whether_to_retry() {
    let retried: Vec<u16> =
        (100..600).filter(|status| may_retry_status(*status) == MayRetry::Yes).collect();
    assert_eq!(retried, [408, 425, 429, 500, 502, 503, 504]);
}

#[test]
fn errors_of_tasks_say_what_their_failures_know_whatever_wraps_them() {
    let lasting = HttpFailure::permanent(HttpFailureKind::Status, "no");
    let passing = HttpFailure::passing(HttpFailureKind::Status, "not now");
    let asked = HttpFailure { retry: MayRetry::After(Duration::from_secs(7)), ..passing.clone() };
    for failure in [lasting, passing, asked] {
        let Outcome::Failed(told) = failure.outcome() else { panic!("{failure}") };
        assert_eq!(told.permanent, failure.retry == MayRetry::No);
        assert_eq!(*told.message, *failure.message);
        let plain = failure_of(&*BoxError::from(failure.clone()));
        assert_eq!(*told, plain);
        let hidden = anyhow::Error::from(failure.clone()).context("cannot publish");
        let hidden = failure_of(&*BoxError::from(hidden));
        assert_eq!((hidden.permanent, hidden.retry_after), (plain.permanent, plain.retry_after));
    }
}

#[test]
fn bodies_are_read_by_their_content_type() {
    let read = |content_type: &str, body: &[u8]| {
        read_data(Some(content_type), Encoding::Plain, body.to_vec())
    };
    let text = |text: &str| (Data::Text(text.to_owned()), None);
    let bytes = |bytes: &[u8]| (Data::Bytes(bytes.to_vec()), None);
    let object = || (Data::Json(json!({ "a": 1 })), None);
    assert_eq!(read("application/json", b"{\"a\":1}"), object());
    assert_eq!(read("Application/JSON; charset=utf-8", b"{\"a\":1}"), object());
    assert_eq!(read("application/problem+json", b"{\"a\":1}"), object());
    assert_eq!(read("application/json", b"\xef\xbb\xbf{\"a\":1}"), object());
    assert_eq!(read("text/plain", b"{\"a\":1}"), text("{\"a\":1}"));
    assert_eq!(read("application/jsonp", b"1"), text("1"));
    assert_eq!(
        read("application/json", b"{\"a\":"),
        (Data::Text("{\"a\":".to_owned()), Some(Warning::InvalidJson))
    );
    assert_eq!(
        read("application/json", b"\xff"),
        (Data::Bytes(vec![0xff]), Some(Warning::InvalidJson))
    );
    assert_eq!(read("application/json", b""), (Data::Empty, None));
    assert_eq!(read("text/plain; charset=\"UTF-8\"", "ä".as_bytes()), text("ä"));
    assert_eq!(read("text/plain; charset=iso-8859-1", b"a"), text("a"));
    assert_eq!(read("text/plain; charset=iso-8859-1", b"\xe4"), text("ä"));
    assert_eq!(read("text/html; charset=Shift_JIS", b"\x83e\x83X\x83g"), text("テスト"));
    assert_eq!(read("text/plain; charset=utf-16le", b"a\0"), text("a"));
    assert_eq!(read("text/plain", b"\xff\xfea\0"), text("a"));
    assert_eq!(read("text/plain", b"\xef\xbb\xbfa"), text("a"));
    assert_eq!(
        read("application/json; charset=latin1", b"{\"a\":\"\xe4\"}"),
        (Data::Json(json!({ "a": "ä" })), None)
    );
    assert_eq!(read("text/plain; charset=utf-8", b"\xe4"), bytes(b"\xe4"));
    assert_eq!(read("text/plain; charset=klingon", b"abc"), text("abc"));
    assert_eq!(
        read("text/plain; charset=klingon", b"\xe4"),
        (Data::Bytes(b"\xe4".to_vec()), Some(Warning::UnknownCharset))
    );
    assert_eq!(read("", b"a"), text("a"));
    assert_eq!(read("image/png", b"\x89PNG"), bytes(b"\x89PNG"));
    assert_eq!(
        read_data(Some("application/json"), Encoding::Unknown, b"1".to_vec()),
        (Data::Bytes(b"1".to_vec()), Some(Warning::UnknownEncoding))
    );
    let deep = "[".repeat(100_000);
    assert_eq!(read("application/json", deep.as_bytes()).1, Some(Warning::InvalidJson));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn inflate(packed: &[u8], piece: usize, body_max: u64) -> Result<Vec<u8>, BodyError> {
    let mut intake = Intake::new(true, body_max);
    for chunk in packed.chunks(piece) {
        intake.take(chunk)?;
    }
    intake.finish()
}

#[test]
fn packed_bodies_are_bounded_by_what_they_inflate_to() {
    let body: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
    let packed = gzip(&body);
    for piece in [1, 7, 1000, packed.len()] {
        assert_eq!(inflate(&packed, piece, 200_000), Ok(body.clone()));
        assert_eq!(inflate(&packed, piece, 199_999), Err(BodyError::TooLarge(199_999)));
    }
    let twice = [packed.clone(), packed.clone()].concat();
    assert_eq!(inflate(&twice, 512, 400_000).map(|bytes| bytes.len()), Ok(400_000));
    let cut = &packed[..packed.len() / 2];
    assert_eq!(inflate(cut, 512, 200_000), Err(BodyError::Corrupt));
    assert_eq!(inflate(b"not gzip at all", 512, 200_000), Err(BodyError::Corrupt));
    assert_eq!(inflate(b"", 512, 200_000), Ok(Vec::new()));
    let bomb = gzip(&vec![0; 50 * 1024 * 1024]);
    assert_eq!(inflate(&bomb, 8192, u64::MAX), Err(BodyError::TooDense));
    // Small bodies may be as dense as they like.
    assert!(inflate(&gzip(&vec![0; 1024 * 1024]), 512, u64::MAX).is_ok());
}

#[test]
fn the_identity_of_an_attempt_goes_with_its_request() {
    let task = TaskId { run: RunId(1), index: 7 };
    let attempt = AttemptId { task, number: 2 };
    let run = "00000000-0000-0000-0000-000000000001";
    let sent = |request: HttpRequest| {
        let prepared = request.prepare(attempt).unwrap();
        let text =
            |name: &str| prepared.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        (text("idempotency-key"), text("tidewheel-attempt"))
    };
    let request = || HttpRequest::get("http://example.com");
    let attempt_text = Some(format!("{run}/7/2"));
    assert_eq!(sent(request()), (Some(format!("{run}/7")), attempt_text.clone()));
    assert_eq!(
        sent(request().idempotency(IdempotencyScope::Attempt)),
        (attempt_text.clone(), attempt_text.clone())
    );
    assert_eq!(sent(request().idempotency(IdempotencyScope::None)), (None, None));
    assert_eq!(
        sent(request().header("Idempotency-Key", "mine")),
        (Some("mine".to_owned()), attempt_text)
    );
}

#[test]
fn requests_that_make_no_sense_are_permanent_failures() {
    let cases = [
        HttpRequest::new("GE T", "http://example.com"),
        HttpRequest::new("GET\r\nX: 1", "http://example.com"),
        HttpRequest::new("CONNECT", "http://example.com"),
        HttpRequest::get("example.com"),
        HttpRequest::get("ftp://example.com"),
        HttpRequest::get("http://example.com").header("a b", "c"),
        HttpRequest::get("http://example.com").header("a", "b\r\nc: d"),
        HttpRequest::get("http://example.com").header("Content-Length", "3"),
        HttpRequest::get("http://example.com").header("Transfer-Encoding", "chunked"),
        HttpRequest::post("http://example.com").body("text/plain\r\n", "x"),
    ];
    let attempt = AttemptId { task: TaskId::default(), number: 1 };
    for request in cases {
        let Err(failure) = request.prepare(attempt) else { panic!("{request:?}") };
        assert_eq!(failure.kind, HttpFailureKind::BadRequest, "{request:?}");
        assert_eq!(failure.retry, MayRetry::No);
        assert!(!failure.message.contains(['\r', '\n']), "{:?}", failure.message);
    }
}

#[test]
fn debug_output_keeps_secrets() {
    let request = HttpRequest::get("http://user:hunter2@example.com/path?token=hunter2")
        .header("Authorization", "hunter2")
        .secret_header("X-Token", "hunter2")
        .header("X-Plain", "shown");
    let text = format!("{request:?}");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains("shown"), "{text}");
    let builder = HttpClient::builder().proxy("http://user:hunter2@proxy.example");
    assert!(!format!("{builder:?}").contains("hunter2"));
}

#[test]
fn settings_that_cannot_hold_are_refused() {
    let proxied = |policy| HttpClient::builder().proxy("http://proxy.example").policy(policy);
    let error = proxied(AddressPolicy::public_only()).build().unwrap_err();
    assert!(matches!(error, HttpBuildError::ProxyHidesAddresses));
    let network = AddressPolicy::open().deny("10.0.0.0/8".parse().unwrap());
    assert!(matches!(proxied(network).build(), Err(HttpBuildError::ProxyHidesAddresses)));
    let name = AddressPolicy::open().deny("evil.example".parse().unwrap());
    assert!(proxied(name).build().is_ok());
    assert!(matches!(HttpClient::builder().proxy("::").build(), Err(HttpBuildError::Proxy(_))));
    for pem in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let error = HttpClient::builder().root_certificate(pem).build().unwrap_err();
        assert!(matches!(error, HttpBuildError::Certificate(_)), "{pem}: {error}");
    }
}
