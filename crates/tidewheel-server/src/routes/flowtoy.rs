//! Runs as flowtoy 0.4 tells of them, for its own screen and page.
//!
//! Their form is in `tidewheel_client::api`. It is asked for without a token only where the settings say so: flowtoy has none to send.

use axum::response::Response;
use tidewheel_client::api::{FlowtoyOutputs, FlowtoyStatus};

use crate::door::{Call, json};
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "flowtoy-status",
        about: "Says how a run stands, in the form of flowtoy's `/status`; `latest` is the newest run.",
        verb: Verb::Get,
        path: "/flowtoy/{run}/status",
        permission: Permission::Flowtoy,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<FlowtoyStatus>()),
        changes: false,
        answer: |call| Box::pin(status(call)),
    },
    Route {
        name: "flowtoy-outputs",
        about: "Says what the steps of a run have left so far, in the form of flowtoy's `/outputs`.",
        verb: Verb::Get,
        path: "/flowtoy/{run}/outputs",
        permission: Permission::Flowtoy,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<FlowtoyOutputs>()),
        changes: false,
        answer: |call| Box::pin(outputs(call)),
    },
];

async fn status(call: Call) -> Result<Response, Problem> {
    let run = call.server.desk().show(call.param("run")).await?;
    json(&FlowtoyStatus::from(&run))
}

async fn outputs(call: Call) -> Result<Response, Problem> {
    let run = call.server.desk().show(call.param("run")).await?;
    json(&FlowtoyOutputs(run.outputs))
}
