//! Notifications as a server sends them: a real letter by SMTP, a real request, a real command.
//!
//! Which news are told to whom is tried in `tidewheel-client`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use crate::common::{Scratch, stderr, wait_until};
use tidewheel_testing::ClosedPort;

/// A server for mail that takes one letter, after it has put off as many as this; what was said to it.
fn mail_server(put_off: usize) -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let mut said = Vec::new();
        for _ in 0..=put_off {
            let (stream, _) = listener.accept().unwrap();
            let is_put_off = said.iter().filter(|line| *line == "(connected)").count() < put_off;
            said.push("(connected)".to_owned());
            talk(stream, is_put_off, &mut said);
        }
        said
    });
    (port, serving)
}

/// One conversation, as RFC 5321 has it.
fn talk(stream: std::net::TcpStream, is_put_off: bool, said: &mut Vec<String>) {
    let mut answer = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut say = |text: &str| answer.write_all(format!("{text}\r\n").as_bytes()).unwrap();
    say("220 mail.example.org");
    let mut is_letter = false;
    while let Some(Ok(line)) = lines.next() {
        said.push(line.clone());
        match line.split([' ', ':']).next().unwrap() {
            _ if is_letter && line == "." => {
                is_letter = false;
                say("250 taken");
            }
            _ if is_letter => {}
            "EHLO" => say("250-mail.example.org\r\n250 AUTH PLAIN"),
            "AUTH" => say("235 welcome"),
            "MAIL" if is_put_off => say("451 later, please"),
            "MAIL" | "RCPT" | "RSET" => say("250 good"),
            "DATA" => {
                is_letter = true;
                say("354 go on");
            }
            "QUIT" => {
                say("221 bye");
                return;
            }
            _ => say("500 what?"),
        }
    }
}

/// A server for requests that answers one; what it was sent.
fn receiver() -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut text, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let count = stream.read(&mut piece).unwrap();
            text.extend_from_slice(&piece[..count]);
            let whole = String::from_utf8_lossy(&text).into_owned();
            if count == 0 || whole.ends_with('}') {
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
                stream.write_all(answer.as_bytes()).unwrap();
                return whole;
            }
        }
    });
    (port, serving)
}

#[test]
fn a_failure_is_told_by_mail_by_request_and_by_command_with_retries() {
    let scratch = Scratch::new("notify");
    let (mail, letters) = mail_server(1);
    let (chat, requests) = receiver();
    std::fs::create_dir_all(scratch.path("flows")).unwrap();
    let tidewheel = env!("CARGO_BIN_EXE_tidewheel");
    scratch.file("mail.secret", "a password of the mail server");
    let alert = format!(
        r#"
name: alert
secrets: {{ mail: {{ file: ../mail.secret }} }}
params: {{ text: {{ type: text }}, body: {{ type: map }}, run: {{ type: text }} }}
schedule:
  events: {{ on: failure }}
  params: {{ text: "{{{{ event.text }}}}", body: "{{{{ event.slack }}}}", run: "{{{{ event.run }}}}" }}
defaults: {{ retry: {{ attempts: 3, delay: 10ms }} }}
flow:
  - name: chat
    http: {{ method: POST, url: "http://127.0.0.1:{chat}/hook", json: "{{{{ params.body }}}}" }}
  - name: mail
    argv: [{tidewheel}, mail, --server, "smtp://127.0.0.1:{mail}", --from, tide@example.org,
           --to, ops@example.org, --subject, "{{{{ params.text }}}}", --text, "see run {{{{ params.run }}}}",
           --user, tide]
    env: {{ TIDEWHEEL_MAIL_PASSWORD: "{{{{ secrets.mail }}}}" }}
  - name: command
    argv: [sh, -c, 'printf %s "$TEXT" > ../told']
    env: {{ TEXT: "{{{{ params.text }}}}" }}
"#
    );
    scratch.file("flows/alert.yaml", &alert);
    scratch.file("flows/nightly.yaml", "flow: [{ name: one, run: 'exit 3' }]\n");
    let server = scratch.start_heard(&[
        "serve",
        "--flows",
        "flows",
        "--listen",
        "off",
        &scratch.file("fails.yaml", "name: fails\nflow: [{ name: one, run: 'exit 3' }]\n"),
    ]);
    let request = requests.join().unwrap();
    assert!(request.starts_with("POST /hook "), "{request}");
    let body = request.split("\r\n\r\n").nth(1).unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let text = body["text"].as_str().unwrap();
    assert!(text.starts_with("fails failed: ") && text.contains("(run "), "{text}");
    let said = letters.join().unwrap();
    assert_eq!(said.iter().filter(|line| *line == "(connected)").count(), 2, "{said:?}");
    for line in ["MAIL FROM:<tide@example.org>", "RCPT TO:<ops@example.org>"] {
        assert!(said.iter().any(|it| it.starts_with(line)), "{line}: {said:?}");
    }
    assert!(said.iter().any(|line| line.starts_with("Subject: fails failed")), "{said:?}");
    assert!(said.iter().any(|line| line.starts_with("see run ")), "{said:?}");
    let runs = || scratch.json(&["runs", "--flow", "alert"])["runs"].clone();
    wait_until("it is told", || runs()[0]["state"] == "succeeded");
    assert_eq!(runs().as_array().unwrap().len(), 1, "once, and none about itself");
    assert_eq!(scratch.read("told"), text);
    let run = runs()[0]["run_id"].as_str().unwrap().to_owned();
    let shown = scratch.json(&["show", &run]).to_string();
    assert!(!shown.contains("a password of the mail server"), "{shown}");
    server.signal("TERM");
    assert_eq!(server.ended().0, Some(0));
}

#[test]
fn a_letter_that_cannot_be_sent_says_why() {
    let scratch = Scratch::new("mail");
    let letter = |server: &str, to: &str| {
        let from = ["--from", "a@example.org", "--subject", "x", "--text", "y"];
        let arguments = [&["mail", "--server", server, "--to", to][..], &from].concat();
        scratch.run(&arguments)
    };
    let closed = ClosedPort::new();
    for (server, to, code, why) in [
        (format!("smtp://{}", closed.address()), "b@example.org", 1, "does not take it"),
        ("smtp://localhost".to_owned(), "nobody", 2, "`nobody` is no address"),
        ("localhost".to_owned(), "b@example.org", 2, "no server for mail"),
    ] {
        let output = letter(&server, to);
        assert_eq!(output.status.code(), Some(code), "{server}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    }
}
