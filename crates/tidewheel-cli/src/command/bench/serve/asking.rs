//! [`Asking`]: one connection to a server, and requests on it one after the other.
//!
//! It is written by hand, on a blocking socket: a client with a runtime of its own would take the processors from the server
//! that is measured. It understands what that server says, and nothing else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use serde_json::Value as Json;

use crate::command::bench::dag::failed;
use crate::error::CommandError;

/// Longer than anything takes that is measured.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that stays.
pub(super) struct Asking {
    stream: BufReader<TcpStream>,
    head: String,
}

/// What is answered.
pub(super) struct Answer {
    pub status: u16,
    pub body: Json,
}

/// Something that happened, and when it was heard of.
#[derive(Debug)]
pub(super) struct Heard {
    pub at: Instant,
    pub what: String,
    pub run: String,
}

impl Asking {
    pub fn new(address: SocketAddr, token: &str) -> Result<Self, CommandError> {
        let stream = TcpStream::connect(address).and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        let stream = stream.map_err(|error| failed(error.into()))?;
        let head = format!("Host: localhost\r\nAuthorization: Bearer {token}\r\n");
        Ok(Self { stream: BufReader::new(stream), head })
    }

    pub fn get(&mut self, path: &str) -> Result<Answer, CommandError> {
        self.ask("GET", path, "").map_err(failed)
    }

    /// What is there, which must be given.
    pub fn document(&mut self, path: &str) -> Result<Json, CommandError> {
        let Answer { status, body } = self.get(path)?;
        match status {
            200 => Ok(body),
            _ => Err(failed(anyhow!("{path}: {status}: {body}"))),
        }
    }

    /// Starts a run of a flow, unless it comes too soon.
    pub fn try_start(&mut self, flow: &str) -> Result<Option<String>, CommandError> {
        let wish = format!("{{\"flow\":\"{flow}\"}}");
        let Answer { status, body } = self.ask("POST", "/api/v1/runs", &wish).map_err(failed)?;
        match (status, body["run_id"].as_str()) {
            (200, Some(run)) => Ok(Some(run.to_owned())),
            (429, _) => Ok(None),
            _ => Err(failed(anyhow!("a run was not started: {status}: {body}"))),
        }
    }

    /// Starts a run of a flow.
    pub fn start(&mut self, flow: &str) -> Result<String, CommandError> {
        let started = self.try_start(flow)?;
        started.ok_or_else(|| failed(anyhow!("a run was not started: it came too soon")))
    }

    fn ask(&mut self, verb: &str, path: &str, body: &str) -> anyhow::Result<Answer> {
        self.send(verb, path, body)?;
        let (status, length) = self.head()?;
        let mut bytes = vec![0; length.context("an answer does not say how long it is")?];
        self.stream.read_exact(&mut bytes)?;
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Json::String(String::from_utf8_lossy(&bytes).into_owned()));
        Ok(Answer { status, body })
    }

    fn send(&mut self, verb: &str, path: &str, body: &str) -> anyhow::Result<()> {
        let (head, length) = (&self.head, body.len());
        let about_body = match body.is_empty() {
            true => String::new(),
            false => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
        };
        let request = format!("{verb} {path} HTTP/1.1\r\n{head}{about_body}\r\n{body}");
        Ok(self.stream.get_mut().write_all(request.as_bytes())?)
    }

    /// The status of an answer, and how long its body is.
    fn head(&mut self) -> anyhow::Result<(u16, Option<usize>)> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.context("this is not HTTP")?;
        let mut length = None;
        loop {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                return Ok((status, length));
            }
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().ok();
            }
        }
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line)? {
            0 => Err(anyhow!("the server has hung up")),
            _ => Ok(line.trim_end().to_owned()),
        }
    }

    /// Tells what happens to `tell`, until it says that it has heard enough or the server ends.
    pub fn listen(mut self, mut tell: impl FnMut(Heard) -> bool) -> Result<(), CommandError> {
        self.send("GET", "/api/v1/events", "").map_err(failed)?;
        let (status, _) = self.head().map_err(failed)?;
        if status != 200 {
            return Err(failed(anyhow!("what happens is not told: {status}")));
        }
        // Events are whole lines of pieces; what stands between is nobody's business.
        while let Ok(line) = self.line() {
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let at = Instant::now();
            let data: Json = serde_json::from_str(data).unwrap_or_default();
            let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
            if !tell(Heard { at, what: text("what"), run: text("run_id") }) {
                break;
            }
        }
        Ok(())
    }
}
