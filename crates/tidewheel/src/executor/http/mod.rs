//! Attempts that are HTTP requests: one attempt in, one outcome out, over a shared client.
//!
//! Nothing here retries. A failure says whether another try could help and when
//! ([`HttpFailure::outcome`]); the core decides.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::executor::http::{AttemptId, HttpClient, HttpRequest};
//!
//! let client = HttpClient::builder().connections_max(4).build()?;
//! let request = HttpRequest::post("https://example.com/builds")
//!     .secret_header("Authorization", "Bearer abc")
//!     .json(serde_json::json!({ "tag": "v1" }));
//! let end = client.run(AttemptId::default(), &request).await?;
//! println!("{} {:?}", end.status, end.data);
//! # Ok(())
//! # }
//! ```

mod address;
mod body;
mod client;
mod end;
mod exchange;
mod failure;
mod lookup;
mod policy;
mod request;
mod retry_after;
mod tls;

#[cfg(test)]
mod tests;

pub use client::{HttpBuildError, HttpClient, HttpClientBuilder};
pub use end::{Data, HttpEnd, HttpMeta, Warning};
pub use failure::{HttpFailure, HttpFailureKind, MayRetry, RETRIES_DEFAULT};
pub use lookup::{Lookup, LookupFuture};
pub use policy::{AddressPolicy, AddressRule, AddressRuleError};
pub use request::{HttpRequest, IdempotencyScope};
pub use retry_after::RETRY_AFTER_MAX;
pub use tidewheel_core::id::AttemptId;
