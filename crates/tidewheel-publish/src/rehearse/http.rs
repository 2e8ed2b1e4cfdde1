//! Requests and answers of HTTP/1.1, as bytes: no more of it than official clients use.
//!
//! What is asked and answered is not understood here.

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The beginning of a request.
#[derive(Debug, Clone)]
pub struct Head {
    pub method: String,
    /// Without what follows a `?`, and as it was sent.
    pub path: String,
    /// What follows it.
    pub query: String,
    /// Names in small letters.
    pub headers: Vec<(String, String)>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Whether whoever asks wants nothing more.
    pub fn is_last(&self) -> bool {
        self.header("connection").is_some_and(|it| it.eq_ignore_ascii_case("close"))
    }

    fn length(&self) -> usize {
        self.header("content-length").and_then(|it| it.parse().ok()).unwrap_or(0)
    }

    /// The parts of its path, each with `%2f` and the like read.
    pub fn parts(&self) -> Vec<String> {
        self.path.split('/').filter(|part| !part.is_empty()).map(decoded).collect()
    }
}

/// Text of an address, with its `%` read.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let byte = hex.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: vec![("content-type", kind.to_owned())], body: body.into() }
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    pub fn text(status: u16, text: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text)
    }

    pub fn not_found() -> Self {
        Self::text(404, "not found")
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With its mark, and without its content for those who have it already.
    pub fn marked(self, head: &Head) -> Self {
        let mark = format!("\"{}\"", &super::shelf::sha256(&self.body)[..32]);
        let is_known = head.header("if-none-match").is_some_and(|it| it.contains(&mark));
        let answer = self.with("etag", mark);
        if is_known { Self { status: 304, body: Vec::new(), ..answer } } else { answer }
    }

    /// As it is sent; a question for the beginning alone gets that alone.
    pub fn bytes(&self, method: &str) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.status != 304 {
            text.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        if method != "HEAD" {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        301 => "Moved Permanently",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        409 => "Conflict",
        411 => "Length Required",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Other",
    }
}

/// One end of a connection, from which requests are read piece by piece.
pub struct Connection {
    pub stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// The beginning of the next request, if there is one.
    pub fn head(&mut self) -> Option<Head> {
        loop {
            if let Some(end) = self.read.windows(4).position(|it| it == b"\r\n\r\n") {
                let text: Vec<u8> = self.read.drain(..end + 4).collect();
                return Some(parsed(&String::from_utf8_lossy(&text)));
            }
            self.more()?;
        }
    }

    /// Tells a client that waits for it to send the body.
    pub fn invite(&mut self, head: &Head) -> io::Result<()> {
        let waits = head.header("expect").is_some_and(|it| it.eq_ignore_ascii_case("100-continue"));
        if waits { self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n") } else { Ok(()) }
    }

    /// Reads until so much of the body is there and gives what there is of it.
    pub fn body_up_to(&mut self, head: &Head, bytes: usize) -> Option<&[u8]> {
        let bytes = bytes.min(head.length());
        while self.read.len() < bytes {
            self.more()?;
        }
        Some(&self.read[..self.read.len().min(head.length())])
    }

    /// Reads all of the body, and takes it.
    pub fn body(&mut self, head: &Head) -> Option<Vec<u8>> {
        self.body_up_to(head, usize::MAX)?;
        Some(self.read.drain(..head.length()).collect())
    }

    pub fn body_length(head: &Head) -> usize {
        head.length()
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits until the other side has gone.
    pub fn wait_for_end(&mut self) {
        while self.more().is_some() {}
    }

    fn more(&mut self) -> Option<()> {
        let mut more = [0; 16 * 1024];
        let count = self.stream.read(&mut more).ok().filter(|count| *count > 0)?;
        self.read.extend_from_slice(&more[..count]);
        Some(())
    }
}

fn parsed(text: &str) -> Head {
    let mut lines = text.lines();
    let mut start = lines.next().unwrap_or_default().split(' ');
    let method = start.next().unwrap_or_default().to_owned();
    let target = start.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Head { method, path, query, headers }
}
