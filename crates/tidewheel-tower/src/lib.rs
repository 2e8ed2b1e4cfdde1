//! Admits the requests of a [tower](https://docs.rs/tower) service through a
//! [`Tidewheel`](tidewheel::Tidewheel): by priority, limits, breakers and time.
//!
//! [`AdmissionLayer`] makes each request a task of a wheel. So requests wait in the order of their
//! priority, beside all other work of the wheel and under the same limits; and where waiting is of no
//! use, they are refused at once: the queue is full, a breaker that fails fast is open, the wheel shuts
//! down. A [`Refusal`] says which, and when to come back.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use tidewheel::{Priority, Tidewheel};
//! use tidewheel_tower::{Admission, AdmissionLayer};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! let wheel = Tidewheel::builder().slots(8).queue_capacity(100).limit("database", 4).start();
//! let layer = AdmissionLayer::new(wheel, |request: &String| {
//!     let is_health = request == "/health";
//!     let admission = Admission::new().limit("database").time_max(Duration::from_secs(1));
//!     admission.priority(if is_health { Priority::CRITICAL } else { Priority::NORMAL })
//! });
//! let service = ServiceBuilder::new()
//!     .layer(layer)
//!     .service(service_fn(|path: String| async move { Ok::<_, std::io::Error>(path.len()) }));
//! assert_eq!(service.oneshot("/orders".to_owned()).await?, 7);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod admission;
mod error;
mod service;

pub use admission::Admission;
pub use error::{Error, Refusal};
pub use service::{AdmissionLayer, AdmissionService, FailsIf, Judge, NeverFails, ResponseFuture};
