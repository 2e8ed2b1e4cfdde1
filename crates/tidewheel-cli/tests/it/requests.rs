//! Requests of flows, to servers of the test: what is sent how often, by which way, and what is read.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::common::{Scratch, stderr, stdout, wait_until};
use serde_json::json;

/// A server that keeps the heads of requests, and answers as it is told by the first line of each.
struct Server {
    address: String,
    heads: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Server {
    /// An answer without text closes the connection at once.
    fn start(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let heads = Arc::<Mutex<Vec<Vec<String>>>>::default();
        let kept = Arc::clone(&heads);
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let head = read_head(&mut reader);
                let answer = answer(&head[0]);
                kept.lock().unwrap().push(head);
                let _ = reader.get_mut().write_all(&answer);
            }
        });
        Self { address, heads }
    }

    /// The first lines of all requests.
    fn lines(&self) -> Vec<String> {
        self.heads.lock().unwrap().iter().map(|head| head[0].clone()).collect()
    }

    fn header(&self, name: &str) -> Vec<String> {
        let of = |head: &Vec<String>| {
            let mut pairs = head.iter().filter_map(|line| line.split_once(": "));
            let found = pairs.find(|(own, _)| own.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.to_owned()).unwrap_or_default()
        };
        self.heads.lock().unwrap().iter().map(of).collect()
    }
}

fn read_head(reader: &mut BufReader<TcpStream>) -> Vec<String> {
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
        head.push(line);
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
    head
}

fn text(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn a_post_that_may_have_been_done_is_sent_once() {
    let scratch = Scratch::new("post-once");
    // It does what it is told, and closes the connection.
    let server = Server::start(|_| Vec::new());
    let file = scratch.file(
        "charge.yaml",
        &format!(
            r#"
flow:
  - name: charge
    source:
      type: rest
      configuration: {{ url: "http://{0}/charge", method: POST, input_mode: body }}
    input: {{ amount: 5 }}
"#,
            server.address
        ),
    );
    let output = scratch.run(&["run", &file]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("not tried again: it may have been done already"),
        "{output:?}"
    );
    assert_eq!(server.lines(), ["POST /charge HTTP/1.1"]);
}

#[test]
fn all_attempts_of_a_step_have_one_key_also_after_a_crash() {
    let scratch = Scratch::new("one-key");
    let server = Server::start(|line| match line.contains("/each") {
        true => text("200 OK", "", b""),
        false => text("503 Busy", "retry-after: 0\r\n", b""),
    });
    // The first attempts are made by one process, and the rest by another.
    let file = scratch.file(
        "flow.yaml",
        &format!(
            r#"
flow:
  - name: busy
    http: {{ url: "http://{0}/busy", method: POST }}
    retry: {{ retries: 600, delay: 100ms, backoff: fixed, jitter: none }}
  - {{ name: each, foreach: [1, 2], http: {{ url: "http://{0}/each", method: POST }}, depends_on: [] }}
"#,
            server.address
        ),
    );
    let count = |path: &str| server.lines().iter().filter(|line| line.contains(path)).count();
    let running = scratch.start(&["run", &file]);
    wait_until("it was sent", || count("/busy") > 1 && count("/each") == 2);
    running.signal("KILL");
    drop(running.output());
    let before = count("/busy");
    let resumed = scratch.start(&["resume", "last"]);
    wait_until("it was sent again", || count("/busy") > before + 1);
    resumed.signal("KILL");
    drop(resumed.output());
    let keys = server.header("idempotency-key").into_iter().zip(server.lines());
    let of = |path: &str| -> Vec<String> {
        let mut keys: Vec<String> =
            keys.clone().filter(|it| it.1.contains(path)).map(|it| it.0).collect();
        keys.sort();
        keys.dedup();
        keys
    };
    assert_eq!((of("/busy").len(), of("/each").len()), (1, 2));
    let attempts = server.header("tidewheel-attempt");
    let mut different = attempts.clone();
    different.sort();
    different.dedup();
    assert_eq!(attempts.len(), different.len(), "{attempts:?}");
}

#[test]
fn requests_go_by_the_proxies_of_the_environment() {
    let scratch = Scratch::new("proxies");
    let proxy = Server::start(|line| match line.starts_with("CONNECT") {
        true => text("502 No", "", b""),
        false => text("200 OK", "content-type: text/plain\r\n", b"by proxy"),
    });
    let direct = Server::start(|_| text("200 OK", "content-type: text/plain\r\n", b"direct"));
    let file = scratch.file(
        "flow.yaml",
        &format!(
            r#"
flow:
  - {{ name: far, http: "http://far.invalid/x", outputs: {{ said: "{{{{ data }}}}" }}, retry: 0, on_error: continue }}
  - {{ name: near, http: "http://{0}/y", outputs: {{ said: "{{{{ data }}}}" }}, retry: 0, on_error: continue }}
  - {{ name: safe, http: "https://safe.invalid/z", retry: 0, on_error: continue }}
"#,
            direct.address
        ),
    );
    let run = |variables: &[(&str, &str)]| {
        for server in [&proxy, &direct] {
            server.heads.lock().unwrap().clear();
        }
        let mut command = scratch.command(&["run", &file, "--outputs", "--format", "json"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let outputs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = |step: &str| outputs[step]["said"].as_str().unwrap_or("nothing").to_owned();
        (said("far"), said("near"), proxy.lines())
    };
    let address = format!("http://user:word@{}", proxy.address);
    let (nothing, by_proxy, direct) =
        ("nothing".to_owned(), "by proxy".to_owned(), "direct".to_owned());
    assert_eq!(run(&[]), (nothing.clone(), direct.clone(), Vec::new()));
    for (http, https, except) in
        [("http_proxy", "https_proxy", "no_proxy"), ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")]
    {
        let (far, near, mut lines) =
            run(&[(http, &address), (https, &address), (except, "example.org,127.0.0.0/8")]);
        lines.sort();
        assert_eq!((far, near), (by_proxy.clone(), direct.clone()));
        assert_eq!(
            lines,
            ["CONNECT safe.invalid:443 HTTP/1.1", "GET http://far.invalid/x HTTP/1.1"]
        );
        assert!(proxy.header("proxy-authorization").iter().all(|it| it.starts_with("Basic ")));
    }
    // Without an exception loopback goes there too, as curl does it.
    assert_eq!(run(&[("http_proxy", &address)]).1, by_proxy);
    // What a stranger sends to a web server as `Proxy` is no proxy of ours.
    let web = run(&[("HTTP_PROXY", &address), ("REQUEST_METHOD", "GET")]);
    assert_eq!(web, (nothing, direct, Vec::new()));
    // A proxy that there is no speaking to is not passed over.
    let mut command = scratch.command(&["run", &file]);
    let output = command.env("http_proxy", "socks5://user:word@localhost").output().unwrap();
    let told = stdout(&output) + &stderr(&output);
    assert!(told.contains("the proxy for http requests speaks `socks5`"), "{told}");
    assert!(!told.contains("word"), "{told}");
}

#[test]
fn answers_are_read_as_what_they_are() {
    let scratch = Scratch::new("answers");
    let server = Server::start(|line| {
        let (kind, body): (&str, &[u8]) = match line.split(' ').nth(1).unwrap() {
            "/plain" => ("content-type: text/plain\r\n", b"{\"a\":1}"),
            "/html" => ("content-type: text/html\r\n", b"{\"a\":1}"),
            "/bytes" => ("content-type: application/octet-stream\r\n", b"{\"a\":1}"),
            "/unsaid" => ("", b"{\"a\":1}"),
            "/latin" => ("content-type: text/plain; charset=iso-8859-1\r\n", b"caf\xe9"),
            "/number" => ("content-type: text/plain\r\n", b"1.10"),
            other => panic!("{other}"),
        };
        text("200 OK", kind, body)
    });
    let mut flow = "flow:\n".to_owned();
    for path in ["plain", "html", "bytes", "unsaid"] {
        let url = format!("http://{}/{path}", server.address);
        flow += &format!(
            "  - {{ name: {path}, source: {{ type: rest, configuration: {{ url: '{url}' }} }}, output: [{{ name: a, type: jmespath, value: a }}] }}\n  \
             - {{ name: {path}-native, http: '{url}', outputs: {{ a: '{{{{ json.a }}}}' }} }}\n"
        );
    }
    for path in ["latin", "number"] {
        let url = format!("http://{}/{path}", server.address);
        flow += &format!(
            "  - {{ name: {path}, source: {{ type: rest, configuration: {{ url: '{url}' }} }}, output: [{{ name: a }}] }}\n  \
             - {{ name: {path}-native, http: '{url}', outputs: {{ a: '{{{{ data }}}}' }} }}\n"
        );
    }
    let file = scratch.file("flow.yaml", &flow);
    let output = scratch.run(&["run", &file, "--outputs", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let outputs: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for path in ["plain", "html", "bytes", "unsaid"] {
        assert_eq!(outputs[path]["a"], json!(1), "{path}");
        assert_eq!(outputs[format!("{path}-native")]["a"], json!(1), "{path}");
    }
    assert_eq!(
        (&outputs["latin"]["a"], &outputs["latin-native"]["a"]),
        (&json!("café"), &json!("café"))
    );
    // As in flowtoy, and as it was sent.
    assert_eq!(
        (&outputs["number"]["a"], &outputs["number-native"]["a"]),
        (&json!(1.1), &json!("1.10"))
    );
}
