//! Rules that work is treated by, in all their parts: retries, rates, breakers, and what follows from
//! a failure.
//!
//! The words for every day ([`Priority`](crate::Priority), [`Retry`](crate::Retry),
//! [`Backoff`](crate::Backoff), [`OnError`](crate::OnError)) are at the root. The rules of schedules
//! are in [`crate::schedule`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use tidewheel::policy::{BreakerSpec, Jitter, Rate};
//! use tidewheel::{Retry, Tidewheel};
//!
//! let wheel = Tidewheel::builder()
//!     .rate("api", Rate::new(100, Duration::from_secs(60))?.with_burst(10)?)
//!     .breaker("mirror", BreakerSpec::new(5, Duration::from_secs(30)))
//!     .start();
//! let fetch = wheel
//!     .task(|| async { Ok::<_, std::io::Error>(7) })
//!     .retry(Retry { jitter: Jitter::Equal, ..Retry::times(4) })
//!     .limit("api")
//!     .limit("mirror");
//! assert_eq!(fetch.submit().await?, 7);
//! # Ok(())
//! # }
//! ```

pub use tidewheel_core::policy::{
    BreakerSpec, Factor, Jitter, OnSkip, Rate, RateError, RetryOn, Shape, failure,
};
pub use tidewheel_core::spec::OnStop;
