//! [`Settings`]: how a server is called and how much it takes, with a default and a unit for everything.
//!
//! Where they come from (arguments, files, variables) is the business of whoever serves.

use std::time::Duration;

use crate::base::BasePath;

/// How a server is called, what it trusts, and how much it takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Names under which it may be asked, besides those of the loopback interface; without a port.
    pub hosts: Vec<String>,
    /// Where people reach it, as an address without a slash at its end: for links that log in.
    pub home: Option<String>,
    /// Whether somebody stands before it who ends TLS: then everybody seems to come from this machine.
    pub is_behind_proxy: bool,
    /// Whether it speaks TLS itself.
    pub has_tls: bool,
    /// The path below which it stands: links begin with it. It answers without it as well, for proxies that take it away and for
    /// whoever asks on the same machine.
    pub base_path: BasePath,
    /// Whether whoever asks from this machine needs a token for the figures of `/metrics` too.
    pub metrics_need_token: bool,
    /// Whether there is only what programs ask for, and no pages for people.
    pub is_without_pages: bool,
    /// Whether whoever asks from this machine needs no token for what flowtoy's screen and page read: how runs stand, and what
    /// their steps have left.
    pub flowtoy_is_open: bool,
    /// How much it takes.
    pub limits: Limits,
}

impl Settings {
    /// Whether browsers speak TLS, to the server or to whoever stands before it.
    pub(crate) fn is_secure(&self) -> bool {
        self.has_tls || self.is_behind_proxy
    }
}

/// How much a server takes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections at once; more wait.
    pub connections_max: usize,
    /// From the first byte of a request to the end of its headers.
    pub head_time: Duration,
    /// From there to the end of its body.
    pub body_time: Duration,
    /// Bytes of a body, unless its route says less.
    pub body_bytes_max: usize,
    /// Requests a second by one token, on average.
    pub requests_per_second: u32,
    /// Requests by one token at once.
    pub requests_at_once: u32,
    /// Requests without a token that is good, from one address in a minute.
    pub strangers_per_minute: u32,
    /// Deliveries to one webhook in a minute, of those that are signed.
    pub deliveries_per_minute: u32,
    /// Event streams of one token at once.
    pub streams_max: usize,
    /// How long answers under way may take when the server stops.
    pub stop_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            body_bytes_max: 1 << 20,
            requests_per_second: 2000,
            requests_at_once: 4000,
            strangers_per_minute: 60,
            deliveries_per_minute: 60,
            streams_max: 20,
            stop_grace: Duration::from_secs(5),
        }
    }
}

/// The longest page of a list.
pub(crate) const PAGE_MAX: u32 = 500;
