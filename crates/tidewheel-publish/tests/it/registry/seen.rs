//! What a registry notes of what it was asked: [`Request`]s and [`Upload`]s.
//!
//! What follows from it is for tests to say.

use std::time::Duration;

use super::fault::Fault;
use super::protocol::Asked;

/// A request, and what became of it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Since the registry was started.
    pub at: Duration,
    pub asked: Asked,
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// `None` if there was no answer, or not all of it.
    pub status: Option<u16>,
    /// What went wrong on purpose.
    pub fault: Option<Fault>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// A file that arrived whole, whatever became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    pub package: String,
    pub version: String,
    pub file: String,
    /// Of what arrived.
    pub sha256: String,
    /// Whether it is kept since.
    pub is_stored: bool,
    /// Whether a file of its name was there already: it need not have been sent.
    pub was_there: bool,
    /// When it had arrived, since the registry was started.
    pub at: Duration,
}
