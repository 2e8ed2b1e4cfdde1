//! Tidewheel over HTTP: an axum router over the desk, which an application of one's own can mount as well.
//!
//! A [`Server`] is what is served: a [house](tidewheel_client::house::House) or a desk alone, the [tokens](identity) of whoever may ask,
//! the [audit log](audit). [`Server::router`] makes an axum router of the [table of routes](table), and [`serve`] lets
//! it answer on a socket. There is one way in, `door`: who asks, whether they may, whether it was written down.
//!
//! What may be asked and done, and every rule about it, is in `tidewheel-client`; documents have the form that
//! [`tidewheel_client::api`] gives them. Nothing here reads settings, prints, or handles signals.
#![forbid(unsafe_code)]

pub mod audit;
mod base;
mod door;
mod exposition;
pub mod identity;
mod listen;
mod openapi;
mod page;
mod part;
mod problem;
mod routes;
mod serve;
mod server;
mod settings;
mod stream;
pub mod table;
mod tls;

pub use base::{BasePath, NotABasePath};
pub use door::Peer;
pub use listen::{NotSafe, Surroundings, check_address};
pub use serve::{Listener, serve};
pub use server::{Served, Server, ServerError};
pub use settings::{Limits, Settings};
pub use tls::{Certificate, CertificateError};
