//! [`HttpClient`]: the connections that requests share, and the settings of all of them.
//!
//! What happens to one request is in [`super::exchange`].

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect;
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use tidewheel_core::id::AttemptId;
use tokio::sync::Semaphore;

use super::end::HttpEnd;
use super::exchange;
use super::failure::{HttpFailure, HttpFailureKind};
use super::lookup::{CheckedLookup, Lookup, SystemLookup};
use super::policy::AddressPolicy;
use super::proxies::Proxies;
use super::request::HttpRequest;
use super::tls;
use crate::attempt::Attempt;

/// The largest headers of an answer.
pub(super) const HEADERS_MAX: u32 = 64 * 1024;

/// How long connections are kept for the next request.
const IDLE_KEPT: Duration = Duration::from_secs(90);

/// Runs requests over shared connections. Clones share them.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<Shared>,
}

impl HttpClient {
    /// A client to be set up.
    #[must_use]
    pub fn builder() -> HttpClientBuilder {
        HttpClientBuilder::default()
    }

    /// Makes one attempt at a request and never a second one. Dropping the future ends it.
    ///
    /// The identity of its task becomes the `Idempotency-Key`, so it must be that of this attempt and no
    /// other: inside a task [`HttpClient::run_attempt`] takes care of it.
    ///
    /// # Errors
    ///
    /// Whatever is not an answer with an accepted status, with a word on whether to retry.
    pub async fn run(
        &self,
        attempt: AttemptId,
        request: &HttpRequest,
    ) -> Result<HttpEnd, HttpFailure> {
        exchange::run(&self.shared, attempt, request).await
    }

    /// As [`HttpClient::run`], as the request of this attempt: its `Idempotency-Key` is the task's.
    ///
    /// # Errors
    ///
    /// As [`HttpClient::run`]. A task returns them with `?`: what they say about another try is heard.
    pub async fn run_attempt(
        &self,
        attempt: &Attempt,
        request: &HttpRequest,
    ) -> Result<HttpEnd, HttpFailure> {
        self.run(attempt.attempt_id(), request).await
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("settings", &self.shared.settings).finish()
    }
}

/// Settings of an [`HttpClient`]. It reads nothing from the environment; its proxies can be
/// [handed over](Proxies::of_variables).
#[derive(Clone)]
pub struct HttpClientBuilder {
    settings: Settings,
    roots_pem: Vec<Vec<u8>>,
    lookup: Arc<dyn Lookup>,
}

impl Default for HttpClientBuilder {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            roots_pem: Vec::new(),
            lookup: Arc::new(SystemLookup),
        }
    }
}

impl HttpClientBuilder {
    /// Requests under way at once, to all hosts together (10); at least one. As many idle
    /// connections are kept for each host, for 90 s.
    #[must_use]
    pub fn connections_max(mut self, connections: usize) -> Self {
        self.settings.connections_max = connections.clamp(1, Semaphore::MAX_PERMITS);
        self
    }

    /// The longest time for a connection, with looking up the name and TLS (10 s).
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.settings.connect_timeout = timeout;
        self
    }

    /// The longest time from a request to the headers of its answer, connecting and sending
    /// included, and between two pieces of the body (30 s).
    #[must_use]
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.settings.read_timeout = timeout;
        self
    }

    /// The longest time for a whole attempt, waiting for a connection included (none: the
    /// scheduler has time limits of its own).
    #[must_use]
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.settings.total_timeout = Some(timeout);
        self
    }

    /// The redirects followed at most (5). With zero, redirects are answers.
    #[must_use]
    pub fn redirects_max(mut self, redirects: u32) -> Self {
        self.settings.redirects_max = redirects;
        self
    }

    /// The largest body in bytes after inflating (10 MiB).
    #[must_use]
    pub fn body_max(mut self, bytes: u64) -> Self {
        self.settings.body_max = bytes;
        self
    }

    /// Where requests may go (everywhere).
    #[must_use]
    pub fn policy(mut self, policy: AddressPolicy) -> Self {
        self.settings.policy = Arc::new(policy);
        self
    }

    /// Trusts the certificates in a PEM text, beside those that the platform trusts.
    #[must_use]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots_pem.push(pem.into());
        self
    }

    /// Sends everything through an HTTP proxy, which looks up names itself.
    ///
    /// Addresses of names are then not seen here, so policies that need them are refused.
    #[must_use]
    pub fn proxy(self, url: impl Into<String>) -> Self {
        self.proxies(Proxies::all(url))
    }

    /// As [`Self::proxy`], for some requests and not for others.
    #[must_use]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.settings.proxies = proxies;
        self
    }

    /// Looks up names in this way instead of the system's.
    #[must_use]
    pub fn lookup(mut self, lookup: impl Lookup) -> Self {
        self.lookup = Arc::new(lookup);
        self
    }

    /// The client.
    ///
    /// # Errors
    ///
    /// If a certificate or the proxy makes no sense, or the policy cannot hold with the proxy.
    pub fn build(self) -> Result<HttpClient, HttpBuildError> {
        let mut roots = Vec::new();
        for pem in &self.roots_pem {
            roots.extend(tls::certificates(pem).map_err(HttpBuildError::Certificate)?);
        }
        if !self.settings.proxies.is_none() && self.settings.policy.needs_addresses() {
            return Err(HttpBuildError::ProxyHidesAddresses);
        }
        let tls = verified(&roots)?;
        let verified = connections(&self.settings, &self.lookup, tls)?;
        let slots = Semaphore::new(self.settings.connections_max);
        let unverified = OnceLock::new();
        let shared =
            Shared { settings: self.settings, lookup: self.lookup, slots, verified, unverified };
        Ok(HttpClient { shared: Arc::new(shared) })
    }
}

impl fmt::Debug for HttpClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClientBuilder").field("settings", &self.settings).finish()
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpBuildError {
    /// A root certificate cannot be used.
    #[error("a root certificate cannot be used: {0}")]
    Certificate(String),
    /// The policy is about addresses that only the proxy will see.
    #[error("behind a proxy the addresses of names are unknown, so this policy cannot hold")]
    ProxyHidesAddresses,
    /// There is no speaking to a proxy.
    #[error("{0}")]
    Proxy(String),
    /// A setting makes no sense.
    #[error("the client cannot be set up")]
    Settings(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What clones of a client share.
pub(super) struct Shared {
    pub(super) settings: Settings,
    lookup: Arc<dyn Lookup>,
    /// One for every request under way.
    pub(super) slots: Semaphore,
    verified: reqwest::Client,
    /// Connections to unverified sides are apart, so that no other request ever finds them. They
    /// are for few, and made at first use.
    unverified: OnceLock<reqwest::Client>,
}

impl Shared {
    pub(super) fn verified(&self) -> &reqwest::Client {
        &self.verified
    }

    pub(super) fn unverified(&self) -> Result<&reqwest::Client, HttpFailure> {
        if let Some(client) = self.unverified.get() {
            return Ok(client);
        }
        let client = tls::unverified()
            .map_err(|error| HttpBuildError::Settings(error.into()))
            .and_then(|tls| connections(&self.settings, &self.lookup, tls))
            .map_err(|error| {
                HttpFailure::permanent(HttpFailureKind::Tls, crate::error::describe(&error))
            })?;
        Ok(self.unverified.get_or_init(|| client))
    }
}

#[derive(Clone)]
pub(super) struct Settings {
    connections_max: usize,
    pub(super) connect_timeout: Duration,
    pub(super) read_timeout: Duration,
    pub(super) total_timeout: Option<Duration>,
    pub(super) redirects_max: u32,
    pub(super) body_max: u64,
    pub(super) policy: Arc<AddressPolicy>,
    proxies: Proxies,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections_max: 10,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            total_timeout: None,
            redirects_max: 5,
            body_max: 10 * 1024 * 1024,
            policy: Arc::new(AddressPolicy::open()),
            proxies: Proxies::default(),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("connections_max", &self.connections_max)
            .field("connect_timeout", &self.connect_timeout)
            .field("read_timeout", &self.read_timeout)
            .field("total_timeout", &self.total_timeout)
            .field("redirects_max", &self.redirects_max)
            .field("body_max", &self.body_max)
            .field("policy", &self.policy)
            .field("proxies", &self.proxies)
            .finish()
    }
}

fn verified(roots: &[CertificateDer<'static>]) -> Result<ClientConfig, HttpBuildError> {
    tls::verified(roots).map_err(|error| HttpBuildError::Certificate(error.to_string()))
}

/// A pool of connections that does nothing by itself: no redirects, retries, cookies, proxies or
/// inflating, whatever features of the client library other crates have switched on.
fn connections(
    settings: &Settings,
    lookup: &Arc<dyn Lookup>,
    tls: ClientConfig,
) -> Result<reqwest::Client, HttpBuildError> {
    // With a proxy, the names looked up here are those of the proxy, which is trusted, and of hosts that
    // are spoken to all the same; the policy is not about addresses then.
    let policy = match settings.proxies.is_none() {
        false => Arc::new(AddressPolicy::open()),
        true => Arc::clone(&settings.policy),
    };
    let lookup = CheckedLookup { lookup: Arc::clone(lookup), policy };
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("tidewheel/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(lookup))
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .connect_timeout(settings.connect_timeout)
        .pool_max_idle_per_host(settings.connections_max)
        .pool_idle_timeout(IDLE_KEPT)
        .http2_max_header_list_size(HEADERS_MAX);
    for proxy in settings.proxies.to_rules().map_err(HttpBuildError::Proxy)? {
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| HttpBuildError::Settings(error.into()))
}
