//! The one table of routes: what is served, to whom, and how much of it.
//!
//! The router, the OpenAPI document and the tests of permissions are made from it. What a route does is in
//! `routes`, one file a room.

mod form;
mod header;
mod narrowing;
mod route;
#[expect(clippy::module_inception, reason = "the table has the name of the room")]
mod table;

pub use form::Form;
pub use header::{Header, headers_of};
pub use narrowing::Narrowing;
pub use route::{Gives, Permission, Route, Takes, Verb};
pub use table::routes;

pub(crate) use route::NDJSON;
