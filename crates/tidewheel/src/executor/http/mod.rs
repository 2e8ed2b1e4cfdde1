//! Attempts that are HTTP requests: one attempt in, one outcome out, over a shared client.
//!
//! Nothing here retries. A failure says whether another try could help and when
//! ([`HttpFailure::outcome`]); the core decides.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::Tidewheel;
//! use tidewheel::executor::http::{HttpClient, HttpFailure, HttpRequest};
//!
//! let client = HttpClient::builder().connections_max(4).build()?;
//! let request = HttpRequest::post("https://example.com/builds")
//!     .secret_header("Authorization", "Bearer abc")
//!     .json(serde_json::json!({ "tag": "v1" }));
//!
//! let wheel = Tidewheel::builder().start();
//! let post = wheel.task_with(move |attempt| {
//!     let (client, request) = (client.clone(), request.clone());
//!     async move {
//!         // The key of a request is that of its attempt: no two share one.
//!         let end = client.run_attempt(&attempt, &request).await?;
//!         Ok::<u16, HttpFailure>(end.status)
//!     }
//! });
//! println!("{}", post.retries(3).submit().await?);
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
mod proxies;
mod request;
mod retry_after;
mod tls;

#[cfg(test)]
mod tests;

pub use client::{HttpBuildError, HttpClient, HttpClientBuilder};
pub use end::{Data, HttpEnd, HttpMeta, Warning};
pub use failure::{HttpFailure, HttpFailureKind, RETRIES_DEFAULT};
pub use lookup::{Lookup, LookupFuture};
pub use policy::{AddressPolicy, AddressRule, AddressRuleError};
pub use proxies::Proxies;
pub use request::{HttpRequest, IdempotencyScope};
pub use retry_after::RETRY_AFTER_MAX;
pub use tidewheel_core::id::AttemptId;

pub use crate::error::MayRetry;
