//! What matters now, who stands in line, who asks, how much is stored: what is looked at all day.
//!
//! Figures for monitoring are in [`super::capacity`].

use axum::response::Response;
use serde::Deserialize;
use tidewheel_client::api::{
    ApprovalList, FlowGrid, FlowSource, Glance, StoreFigures, WaitingLine,
};
use utoipa::ToSchema;

use crate::door::{Call, document};
use crate::problem::Problem;
use crate::settings::PAGE_MAX;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

/// Runs that a grid has at the most.
const RUNS_MAX: u32 = 100;

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "glance",
        about: "Says what matters now: what fails, is late, asks and runs, and how each flow does.",
        verb: Verb::Get,
        path: "/api/v1/glance",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Glance>()),
        changes: false,
        answer: |call| Box::pin(glance(call)),
    },
    Route {
        name: "line",
        about: "Says who has the slots and who waits for one, in the order in which they are expected to start.",
        verb: Verb::Get,
        path: "/api/v1/line",
        permission: Permission::Viewer,
        query: Some(Form::of::<HowMany>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<WaitingLine>()),
        changes: false,
        answer: |call| Box::pin(line(call)),
    },
    Route {
        name: "list-approvals",
        about: "Lists the steps that wait for somebody to say yes or no.",
        verb: Verb::Get,
        path: "/api/v1/approvals",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<ApprovalList>()),
        changes: false,
        answer: |call| Box::pin(approvals(call)),
    },
    Route {
        name: "show-source",
        about: "Shows the files that a flow was read from, and what is wrong with them.",
        verb: Verb::Get,
        path: "/api/v1/flows/{flow}/source",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<FlowSource>()),
        changes: false,
        answer: |call| Box::pin(source(call)),
    },
    Route {
        name: "grid",
        about: "Says how each step of a flow did in its newest runs.",
        verb: Verb::Get,
        path: "/api/v1/flows/{flow}/grid",
        permission: Permission::Viewer,
        query: Some(Form::of::<HowManyRuns>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<FlowGrid>()),
        changes: false,
        answer: |call| Box::pin(grid(call)),
    },
    Route {
        name: "store",
        about: "Says how much is stored. This looks at all of history.",
        verb: Verb::Get,
        path: "/api/v1/store",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<StoreFigures>()),
        changes: false,
        answer: |call| Box::pin(store(call)),
    },
];

/// How many.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct HowMany {
    /// At most so many of each.
    #[serde(default = "usual")]
    #[schema(minimum = 1, maximum = 500, default = 100)]
    limit: u32,
}

fn usual() -> u32 {
    100
}

/// How many runs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct HowManyRuns {
    /// At most so many, the newest.
    #[serde(default = "usual_runs")]
    #[schema(minimum = 1, maximum = 100, default = 40)]
    runs: u32,
}

fn usual_runs() -> u32 {
    40
}

async fn glance(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.glance().await?)
}

async fn line(call: Call) -> Result<Response, Problem> {
    let HowMany { limit } = call.query()?;
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Problem::unfit(format!("a page has 1 to {PAGE_MAX} steps")));
    }
    document(call.server.house()?.line(limit as usize).await?)
}

async fn approvals(call: Call) -> Result<Response, Problem> {
    document(call.server.desk().here(|desk| desk.approvals()).await?)
}

async fn source(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.source(call.param("flow")).await?)
}

async fn grid(call: Call) -> Result<Response, Problem> {
    let HowManyRuns { runs } = call.query()?;
    if !(1..=RUNS_MAX).contains(&runs) {
        return Err(Problem::unfit(format!("a grid has 1 to {RUNS_MAX} runs")));
    }
    document(call.server.house()?.grid(call.param("flow"), runs).await?)
}

async fn store(call: Call) -> Result<Response, Problem> {
    document(call.server.desk().here(|desk| desk.store()).await?)
}
