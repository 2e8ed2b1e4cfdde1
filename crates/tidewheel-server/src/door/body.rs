//! What comes along with a request: of the right type, not too long, and not too slowly.
//!
//! What it means is for whoever answers.

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Bytes};

use crate::problem::Problem;
use crate::settings::Limits;
use crate::table::Takes;

const JSON: &str = "application/json";
const FIELDS: &str = "application/x-www-form-urlencoded";

/// Takes in what comes along.
pub(super) async fn read_body(
    takes: Takes,
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, Problem> {
    let is_empty = body.is_end_stream();
    let (wanted, most) = match takes {
        Takes::Nothing | Takes::MaybeDocument(..) if is_empty => return Ok(Bytes::new()),
        Takes::Nothing => {
            return Err(Problem::new(StatusCode::BAD_REQUEST, "nothing is to be sent along here"));
        }
        Takes::Document(_, most) | Takes::MaybeDocument(_, most) => (JSON, most),
        Takes::Fields(most) => (FIELDS, most),
        Takes::Signed(most) => ("", most),
    };
    // What is signed may be of any type: no page can make a signature.
    if !matches!(takes, Takes::Signed(_)) {
        check_type(headers, wanted)?;
    }
    let most = most.min(limits.body_bytes_max);
    let reading = Limited::new(body, most).collect();
    match tokio::time::timeout(limits.body_time, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("more than {most} bytes were sent"),
        )),
        Ok(Err(_)) => Err(Problem::new(StatusCode::BAD_REQUEST, "what was sent broke off")),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "what was sent came too slowly")),
    }
}

/// Exactly this type: what a page of somebody else's can send without being asked is not.
fn check_type(headers: &HeaderMap, wanted: &str) -> Result<(), Problem> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let said = match (types.next(), types.next()) {
        (Some(only), None) => only.to_str().unwrap_or_default(),
        _ => "",
    };
    let (kind, rest) = said.split_once(';').unwrap_or((said, ""));
    let is_plain = matches!(rest.trim().to_ascii_lowercase().as_str(), "" | "charset=utf-8");
    let is_right = kind.trim().eq_ignore_ascii_case(wanted) && is_plain;
    if is_right && !headers.contains_key(CONTENT_ENCODING) {
        return Ok(());
    }
    let detail = format!("what is sent here must be {wanted}");
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
        .hint(format!("send Content-Type: {wanted}")))
}
