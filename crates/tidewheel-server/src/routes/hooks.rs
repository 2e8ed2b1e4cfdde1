//! Deliveries to webhooks, which fire schedules.
//!
//! Whether one is signed by somebody who may is found out at the door, before anything is read from it.

use axum::response::Response;
use tidewheel_client::api::Delivered;

use crate::door::{Call, document};
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

/// The longest delivery.
const DELIVERY_MAX: usize = 1 << 20;

pub(super) const ROUTES: &[Route] = &[Route {
    name: "deliver",
    about: "Takes in what is delivered to a webhook, by the name of its schedule, and fires it: each id once.",
    verb: Verb::Post,
    path: "/hooks/{hook}",
    permission: Permission::Signature,
    query: None,
    takes: Takes::Signed(DELIVERY_MAX),
    gives: Gives::Document(Form::of::<Delivered>()),
    changes: true,
    answer: |call| Box::pin(deliver(call)),
}];

async fn deliver(mut call: Call) -> Result<Response, Problem> {
    let Some(signed) = call.signed.take() else { return Err(Problem::nobody()) };
    document(call.server.open_house()?.deliver(signed).await?)
}
