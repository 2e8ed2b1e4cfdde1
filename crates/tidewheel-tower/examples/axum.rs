//! The code of `docs/guide/fitting-in.md` about services: an axum server that sheds load.
//!
//! `cargo run -p tidewheel-tower --example axum`

use std::error::Error;
use std::time::Duration;

use axum::Router;
use axum::error_handling::HandleErrorLayer;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tidewheel::policy::BreakerSpec;
use tidewheel::{Priority, Tidewheel};
use tidewheel_tower::{Admission, AdmissionLayer, Error as AdmissionError};
use tower::ServiceBuilder;

// [snippet: layer]
/// Requests of people go before those of crawlers; both are tasks of the wheel.
fn admit(request: &Request) -> Admission {
    let is_crawler = request.headers().contains_key("x-crawler");
    let admission = Admission::new().limit("database").time_max(Duration::from_secs(2));
    admission.priority(if is_crawler { Priority::LOW } else { Priority::HIGH })
}

/// What was refused is told as 503, with when to come back.
async fn refused<E: Into<axum::BoxError>>(error: AdmissionError<E>) -> Response {
    let AdmissionError::Refused(refusal) = error else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let status = StatusCode::SERVICE_UNAVAILABLE;
    match refusal.retry_after() {
        Some(wait) => {
            let seconds = wait.as_secs().to_string();
            (status, [(header::RETRY_AFTER, seconds)], refusal.to_string()).into_response()
        }
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn shedding(wheel: Tidewheel, routes: Router) -> Router {
    let admission = AdmissionLayer::new(wheel, admit)
        .failure_if(|response: &Response| response.status().is_server_error());
    let layers = ServiceBuilder::new().layer(HandleErrorLayer::new(refused)).layer(admission);
    routes.layer(layers)
}
// [end]

// [snippet: wheel]
fn wheel() -> Tidewheel {
    // Eight requests are answered at once and a hundred wait; the database is left alone for 30 s once it
    // has failed five times in a row.
    let database = BreakerSpec::new(5, Duration::from_secs(30)).fail_fast();
    Tidewheel::builder().slots(8).queue_capacity(100).breaker("database", database).start()
}
// [end]

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let routes = Router::new().route("/", get(|| async { "hello" }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, shedding(wheel(), routes)).await?;
    Ok(())
}

/// The same around other routes, for tests.
#[cfg(test)]
pub fn app(wheel: Option<Tidewheel>, routes: Router) -> Router {
    shedding(wheel.unwrap_or_else(self::wheel), routes)
}
