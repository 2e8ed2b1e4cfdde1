//! Registries that nobody here wrote, each started on a free port of loopback in a folder of its own, and ended.
//!
//! `./test` installs them, and says by a variable where each is. What is tried with them is in the files beside.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tidewheel_testing::{ReservedPort, patience, wait_until};

use crate::tools::{Scratch, succeed};

/// A registry that runs until it is dropped.
pub struct Peer {
    child: Child,
    pub port: u16,
    // Kept until the program has ended.
    _reserved: ReservedPort,
    /// What uploads are let in by.
    pub token: String,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program that a variable names, which `./test` sets if the program is installed.
fn program(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from)
}

impl Peer {
    /// Starts a program that listens on the port that it is given, and waits until it does.
    fn start(scratch: &Scratch, name: &str, command: impl Fn(u16) -> Command) -> Self {
        let reserved = ReservedPort::new();
        let port = reserved.address().port();
        let log = scratch.path(&format!("{name}.log"));
        let (out, errors) = (File::create(&log).unwrap(), File::options().append(true).open(&log));
        let mut child = command(port)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors.unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        wait_until(&format!("{name} listens"), || {
            let ended = child.try_wait().unwrap();
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            assert!(ended.is_none(), "{name} has ended: {said}");
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self { child, port, _reserved: reserved, token: String::new() }
    }

    /// The npm registry verdaccio, with somebody who may publish; `None` if it is not installed.
    pub fn verdaccio(scratch: &Scratch) -> Option<Self> {
        let program = program("TIDEWHEEL_VERDACCIO")?;
        let config = "storage: ./storage\nauth:\n  htpasswd:\n    file: ./htpasswd\nuplinks: {}\n\
                      packages:\n  '**':\n    access: $all\n    publish: $authenticated\n\
                      web:\n  enable: false\n";
        let config = scratch.file("verdaccio/config.yaml", config);
        let mut peer = Self::start(scratch, "verdaccio", |port| {
            let mut command = scratch.command(&program, "verdaccio");
            command.arg("--config").arg(&config);
            command.args(["--listen", &format!("127.0.0.1:{port}")]);
            command
        });
        let who = br#"{"name":"tester","password":"long-enough"}"#;
        let path = "/-/user/org.couchdb.user:tester";
        let (status, answer) = peer.send("PUT", path, &[("content-type", "application/json")], who);
        assert_eq!(status, 201, "{answer}");
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        peer.token = answer["token"].as_str().unwrap().to_owned();
        Some(peer)
    }

    /// The Python registry pypiserver; `tester` may upload, with the token as password. `None` if it is not installed.
    pub fn pypiserver(scratch: &Scratch) -> Option<Self> {
        let server = program("TIDEWHEEL_PYPISERVER")?;
        let token = "a-password-for-tests";
        std::fs::create_dir_all(scratch.path("pypiserver/packages")).unwrap();
        let make = "import sys; from passlib.apache import HtpasswdFile as F\n\
                    file = F(sys.argv[1], new=True); file.set_password('tester', sys.argv[2]); file.save()";
        let passwords = scratch.path("pypiserver/passwords");
        let mut python = scratch.command(server.with_file_name("python"), "pypiserver");
        succeed(python.args(["-c", make]).arg(&passwords).arg(token));
        let mut peer = Self::start(scratch, "pypiserver", |port| {
            let mut command = scratch.command(&server, "pypiserver");
            command.args(["run", "-i", "127.0.0.1", "-p", &port.to_string(), "-a", "update"]);
            command.arg("-P").arg(&passwords).args(["--disable-fallback", "packages"]);
            command
        });
        peer.token = token.to_owned();
        Some(peer)
    }

    /// The cargo registry kellnr; `None` if it is not installed.
    pub fn kellnr(scratch: &Scratch) -> Option<Self> {
        let program = program("TIDEWHEEL_KELLNR")?;
        let token = "abcdefghijklmnopqrstuvwxyz012345";
        std::fs::create_dir_all(scratch.path("kellnr")).unwrap();
        let mut peer = Self::start(scratch, "kellnr", |port| {
            let mut command = scratch.command(&program, "kellnr");
            command
                .arg("start")
                .env("KELLNR_REGISTRY__DATA_DIR", scratch.path("kellnr"))
                .env("KELLNR_LOCAL__IP", "127.0.0.1")
                .env("KELLNR_LOCAL__PORT", port.to_string())
                .env("KELLNR_ORIGIN__HOSTNAME", "127.0.0.1")
                .env("KELLNR_ORIGIN__PORT", port.to_string())
                .env("KELLNR_PROXY__ENABLED", "false")
                .env("KELLNR_DOCS__ENABLED", "false")
                .env("KELLNR_SETUP__ADMIN_TOKEN", token)
                .env("KELLNR_SETUP__ADMIN_PWD", "a-password");
            command
        });
        peer.token = token.to_owned();
        Some(peer)
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, String) {
        ask(self.port, method, path, headers, body)
    }
}

/// One request, in the oldest form there is: the answer is all that comes until the end.
pub fn ask(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(patience())).unwrap();
    let mut head = format!("{method} {path} HTTP/1.0\r\nhost: 127.0.0.1:{port}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("connection: close\r\ncontent-length: {}\r\n\r\n", body.len()));
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    (status, body.to_owned())
}
