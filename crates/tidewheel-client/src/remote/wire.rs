//! One request to a server and its answer.
//!
//! Which requests there are is in [`super::remote`].

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::api::{Document, Problem};
use crate::desk::DeskError;

/// How long a server may take to be reached.
const CONNECT: Duration = Duration::from_secs(5);

/// How long it may take to answer: some wishes are waited for.
const ANSWER: Duration = Duration::from_secs(60);

/// More is not read of an answer that says why not.
const PROBLEM_MAX: usize = 1 << 20;

/// How long something that comes in pieces may take.
const LONG: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The header that says what is preferred (RFC 7240), and what that is here.
const PREFER: &str = "prefer";
const HINTS: &str = "hints=command";

/// Where a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerAddress {
    /// At an address of the network.
    Url(String),
    /// At the socket of a data folder.
    Socket(PathBuf),
}

/// Why a server cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// It is no address.
    #[error("`{0}` is no address of a server: it begins with http:// or https://")]
    Address(String),
    /// The token would pass in the clear.
    #[error("`{0}` is on another machine, and the token would pass in the clear: use https://")]
    InTheClear(String),
    /// The token has letters that no token has.
    #[error("the token has letters that no token has")]
    Token,
    /// There is no way to send requests.
    #[error("no requests can be sent: {0}")]
    Client(String),
}

/// A way to a server.
#[derive(Debug)]
pub(super) struct Wire {
    client: Client,
    base: Url,
    /// How it is called in messages.
    name: String,
    token: Option<HeaderValue>,
}

impl Wire {
    pub fn new(address: &ServerAddress, token: Option<&str>) -> Result<Self, RemoteError> {
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .connect_timeout(CONNECT)
            .timeout(ANSWER)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        let (base, name) = match address {
            ServerAddress::Url(text) => (url_of(text, token.is_some())?, text.clone()),
            ServerAddress::Socket(path) => {
                #[cfg(unix)]
                {
                    builder = builder.unix_socket(path.clone());
                }
                (url_of("http://localhost", false)?, path.display().to_string())
            }
        };
        let token = token.map(|token| {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
                .map_err(|_| RemoteError::Token)?;
            value.set_sensitive(true);
            Ok(value)
        });
        let client = builder.build().map_err(|error| RemoteError::Client(error.to_string()))?;
        Ok(Self { client, base, name, token: token.transpose()? })
    }

    /// What the server is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Asks for a document.
    pub async fn get<T: Document + DeserializeOwned>(
        &self,
        path: &[&str],
        query: &impl Serialize,
    ) -> Result<T, DeskError> {
        self.read(self.send::<()>(Method::GET, path, query, None).await?).await
    }

    /// Asks for bytes.
    pub async fn bytes(&self, path: &[&str], query: &impl Serialize) -> Result<Vec<u8>, DeskError> {
        let answer = self.send::<()>(Method::GET, path, query, None).await?;
        let bytes = answer.bytes().await.map_err(|error| self.unreachable(&error))?;
        Ok(bytes.to_vec())
    }

    /// Wishes for something.
    pub async fn post<T: Document + DeserializeOwned>(
        &self,
        path: &[&str],
        wish: Option<&impl Serialize>,
    ) -> Result<T, DeskError> {
        self.read(self.send(Method::POST, path, &Json::Null, wish).await?).await
    }

    /// Has something removed.
    pub async fn delete<T: Document + DeserializeOwned>(
        &self,
        path: &[&str],
    ) -> Result<T, DeskError> {
        self.read(self.send::<()>(Method::DELETE, path, &Json::Null, None).await?).await
    }

    /// Asks for something that comes in pieces, however long that takes.
    pub async fn stream(
        &self,
        path: &[&str],
        query: &impl Serialize,
    ) -> Result<Pieces<'_>, DeskError> {
        let request = self.request(Method::GET, path, query).timeout(LONG);
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        Ok(Pieces { wire: self, answer: self.admitted(answer).await? })
    }

    async fn send<W: Serialize>(
        &self,
        method: Method,
        path: &[&str],
        query: &impl Serialize,
        wish: Option<&W>,
    ) -> Result<Response, DeskError> {
        let mut request = self.request(method, path, query);
        if let Some(wish) = wish {
            let body = serde_json::to_vec(wish).map_err(|error| self.strange(&error))?;
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        self.admitted(answer).await
    }

    /// An answer that is no refusal.
    async fn admitted(&self, answer: Response) -> Result<Response, DeskError> {
        match answer.status().is_success() {
            true => Ok(answer),
            false => Err(self.refused(answer).await),
        }
    }

    fn request(&self, method: Method, path: &[&str], query: &impl Serialize) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["api", "v1"]).extend(path);
        }
        let pairs = pairs_of(query);
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let request = self.client.request(method, url);
        // What can be done about a refusal is to be said in the words of the command.
        let request = request.header(ACCEPT, "application/json, */*").header(PREFER, HINTS);
        match &self.token {
            Some(token) => request.header(AUTHORIZATION, token.clone()),
            None => request,
        }
    }

    /// The document of an answer, as it is where the runs are.
    async fn read<T: Document + DeserializeOwned>(&self, answer: Response) -> Result<T, DeskError> {
        let bytes = answer.bytes().await.map_err(|error| self.unreachable(&error))?;
        let mut document: T =
            serde_json::from_slice(&bytes).map_err(|error| self.strange(&error))?;
        *document.version() = None;
        Ok(document)
    }

    /// Why it was not done: what the desk there said, or the server itself.
    async fn refused(&self, answer: Response) -> DeskError {
        let status = answer.status().as_u16();
        let body = answer.bytes().await.unwrap_or_default();
        let problem = serde_json::from_slice::<Problem>(&body[..body.len().min(PROBLEM_MAX)]);
        let server = self.name.clone();
        match problem {
            Ok(Problem { refusal: Some(refusal), .. }) => DeskError::OfKind(Box::new(refusal)),
            Ok(problem) => {
                DeskError::Server { server, status, why: problem.detail, hint: problem.hint }
            }
            Err(_) => {
                let why = "it does not answer like a Tidewheel server".to_owned();
                DeskError::Server { server, status, why, hint: None }
            }
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> DeskError {
        let mut why = String::new();
        let mut source: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = source {
            why = error.to_string();
            source = error.source();
        }
        DeskError::Unreachable { server: self.name.clone(), why }
    }

    fn strange(&self, error: &serde_json::Error) -> DeskError {
        let why = format!("its answer is not as it must be: {error}");
        DeskError::Server { server: self.name.clone(), status: 200, why, hint: None }
    }
}

/// An answer that comes in pieces.
pub(super) struct Pieces<'a> {
    wire: &'a Wire,
    answer: Response,
}

impl Pieces<'_> {
    /// The next piece; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, DeskError> {
        let piece = self.answer.chunk().await;
        let piece = piece.map_err(|error| self.wire.unreachable(&error))?;
        Ok(piece.map(|piece| piece.to_vec()))
    }
}

fn url_of(text: &str, has_token: bool) -> Result<Url, RemoteError> {
    let wrong = || RemoteError::Address(text.to_owned());
    let url = Url::parse(text).map_err(|_| wrong())?;
    let is_plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    if !matches!(url.scheme(), "http" | "https") || !is_plain || url.cannot_be_a_base() {
        return Err(wrong());
    }
    let host = url.host_str().unwrap_or_default();
    let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    match url.scheme() == "http" && has_token && !is_here {
        true => Err(RemoteError::InTheClear(text.to_owned())),
        false => Ok(url),
    }
}

/// The fields of a wish that are said, as they stand behind a question mark.
fn pairs_of(query: &impl Serialize) -> Vec<(String, String)> {
    let Ok(Json::Object(fields)) = serde_json::to_value(query) else { return Vec::new() };
    let pair = |(name, value): (String, Json)| match value {
        Json::Null => None,
        Json::String(text) => Some((name, text)),
        other => Some((name, other.to_string())),
    };
    fields.into_iter().filter(|(name, _)| name != "version").filter_map(pair).collect()
}

/// Trusts what the platform trusts; nothing is installed for the process.
pub(crate) fn tls() -> Result<ClientConfig, RemoteError> {
    let failed = |error: rustls::Error| RemoteError::Client(error.to_string());
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    Ok(builder.with_platform_verifier().map_err(failed)?.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;
    use crate::api::{ListWish, StateWish};

    #[test]
    fn a_token_passes_in_the_clear_on_this_machine_alone() {
        for good in [
            "http://localhost:8080",
            "http://127.0.0.1",
            "http://[::1]:1",
            "https://a.example/base",
        ] {
            assert!(url_of(good, true).is_ok(), "{good}");
        }
        assert!(matches!(url_of("http://a.example", true), Err(RemoteError::InTheClear(_))));
        assert!(url_of("http://a.example", false).is_ok(), "without a token nothing is given away");
        for wrong in
            ["a.example", "ftp://a.example", "http://me@a.example", "http://a.example?x=1", ""]
        {
            assert!(matches!(url_of(wrong, false), Err(RemoteError::Address(_))), "{wrong}");
        }
    }

    #[test]
    fn a_wish_stands_behind_the_question_mark() {
        let wish = ListWish {
            state: Some(StateWish::Failed),
            name: Some("a&b".to_owned()),
            ..ListWish::default()
        };
        let pairs = pairs_of(&wish.versioned());
        let said =
            |name: &str| pairs.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str());
        assert_eq!(
            (said("state"), said("name"), said("limit")),
            (Some("failed"), Some("a&b"), Some("20"))
        );
        assert_eq!((said("version"), said("cursor")), (None, None));
    }
}
