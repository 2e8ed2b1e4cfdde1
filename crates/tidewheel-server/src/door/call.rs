//! [`Call`]: a request that was let in, as whoever answers it sees it.
//!
//! Whether it is let in is decided in [`super::pass`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::Query;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tidewheel_client::api::Document;
use tidewheel_client::desk::Surface;
use tidewheel_client::house::Signed;

use super::View;
use crate::identity::Identity;
use crate::problem::Problem;

/// The header that says what whoever asks prefers.
const PREFER: &str = "prefer";

/// A request that was let in.
pub(crate) struct Call {
    pub server: View,
    /// Who asks; nobody where everybody may.
    pub who: Option<Identity>,
    pub params: Vec<(String, String)>,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// What it is about, for the audit log.
    pub object: Object,
    /// What was delivered, where a signature lets it in.
    pub signed: Option<Signed>,
    /// The id of the newest event before anything was read for a page: what comes later may not be on it.
    pub at: String,
    /// How many steps ask somebody, for a page.
    pub asking: usize,
}

/// What a wish is about, beside the names in its path: said by whoever answers, as soon as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object(Arc<Mutex<Vec<String>>>);

impl Object {
    /// It is about this as well.
    pub fn add(&self, what: &str, name: &str) {
        self.said().push(format!("{what} {name}"));
    }

    /// All of it, after what its path says.
    pub fn words(&self, of_path: &str) -> String {
        let of_path = (!of_path.is_empty()).then(|| of_path.to_owned());
        let words: Vec<String> = of_path.into_iter().chain(self.said().iter().cloned()).collect();
        words.join(", ")
    }

    fn said(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In whose words hints are to be said. Our own command prefers those of the command (RFC 7240).
pub(crate) fn surface_of(headers: &HeaderMap) -> Surface {
    let said = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let mut wishes = said.flat_map(|value| value.split([',', ';'])).map(str::trim);
    match wishes.any(|wish| wish.eq_ignore_ascii_case("hints=command")) {
        true => Surface::Command,
        false => Surface::Http,
    }
}

impl Call {
    /// What stands in the path at a name.
    pub fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// In whose words hints are to be said.
    pub fn surface(&self) -> Surface {
        surface_of(&self.headers)
    }

    /// What stands behind the question mark.
    pub fn query<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let query = Query::<T>::try_from_uri(&self.uri);
        query.map(|query| query.0).map_err(|error| Problem::unfit(error.body_text()))
    }

    /// The document that came along.
    pub fn document<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let unfit =
            |why: String| Problem::unfit(format!("what was sent is not as it must be: {why}"));
        let value: Json =
            serde_json::from_slice(&self.body).map_err(|error| unfit(error.to_string()))?;
        // Types would take their fields from a list as well, by place.
        if !value.is_object() {
            return Err(unfit("it is no object".to_owned()));
        }
        serde_json::from_value(value).map_err(|error| unfit(error.to_string()))
    }

    /// The document that came along, if one did.
    pub fn document_or<T: DeserializeOwned>(&self, otherwise: T) -> Result<T, Problem> {
        match self.body.is_empty() {
            true => Ok(otherwise),
            false => self.document(),
        }
    }
}

/// A document as an answer, with its version.
pub(crate) fn document<T: Document + Serialize>(document: T) -> Result<Response, Problem> {
    json(&document.versioned())
}

/// Anything as JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<Response, Problem> {
    let body = serde_json::to_vec(value)
        .map_err(|error| Problem::failed(format!("the answer cannot be written: {error}")))?;
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
