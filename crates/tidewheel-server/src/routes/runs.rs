//! Runs, looked at: which there are, what they came to, why steps wait.
//!
//! What is done with them is in [`super::steer`], what they wrote in [`super::logs`].

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use tidewheel_client::api::{
    AttemptList, Explained, ListWish, RunList, RunResult, Standing, StepList, StepsWish,
};
use tidewheel_client::files::SvgOptions;
use utoipa::ToSchema;

use crate::door::{Call, document};
use crate::problem::Problem;
use crate::settings::PAGE_MAX;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

const SVG: &str = "image/svg+xml";

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "list-runs",
        about: "Lists runs, newest first.",
        verb: Verb::Get,
        path: "/api/v1/runs",
        permission: Permission::Viewer,
        query: Some(Form::of::<ListWish>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<RunList>()),
        changes: false,
        answer: |call| Box::pin(list(call)),
    },
    Route {
        name: "show-run",
        about: "Says what a run came to, or has come to so far.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<RunResult>()),
        changes: false,
        answer: |call| Box::pin(show(call)),
    },
    Route {
        name: "run-standing",
        about: "Says how a run stands, step by step, for whoever watches it.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/standing",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Standing>()),
        changes: false,
        answer: |call| Box::pin(standing(call)),
    },
    Route {
        name: "explain-run",
        about: "Says why steps of a run are where they are, and when they are expected to start.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/explain",
        permission: Permission::Viewer,
        query: Some(Form::of::<OfStep>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Explained>()),
        changes: false,
        answer: |call| Box::pin(explain(call)),
    },
    Route {
        name: "list-steps",
        about: "Lists steps of a run with when they were tried, and tells in letters how all of them stand.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/steps",
        permission: Permission::Viewer,
        query: Some(Form::of::<StepsWish>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<StepList>()),
        changes: false,
        answer: |call| Box::pin(steps(call)),
    },
    Route {
        name: "draw-run",
        about: "Draws a run: its steps, what they wait for, and how they stand.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/picture",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Text(SVG),
        changes: false,
        answer: |call| Box::pin(picture(call)),
    },
    Route {
        name: "list-attempts",
        about: "Lists the attempts at a step of a run.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/steps/{step}/attempts",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<AttemptList>()),
        changes: false,
        answer: |call| Box::pin(attempts(call)),
    },
];

/// Of which step.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OfStep {
    /// Only of this step.
    #[serde(default)]
    pub step: Option<String>,
}

async fn list(call: Call) -> Result<Response, Problem> {
    let wish: ListWish = call.query()?;
    if !(1..=PAGE_MAX).contains(&wish.limit) {
        return Err(Problem::unfit(format!("a page has 1 to {PAGE_MAX} runs")));
    }
    document(call.server.desk().list(wish).await?)
}

async fn show(call: Call) -> Result<Response, Problem> {
    let (run, at) = (call.param("run"), call.surface());
    document(call.server.desk().show_for(run, at).await?)
}

async fn standing(call: Call) -> Result<Response, Problem> {
    document(call.server.desk().standing(call.param("run")).await?)
}

async fn explain(call: Call) -> Result<Response, Problem> {
    let of: OfStep = call.query()?;
    document(call.server.desk().explain(call.param("run"), of.step.as_deref()).await?)
}

async fn steps(call: Call) -> Result<Response, Problem> {
    let wish: StepsWish = call.query()?;
    if wish.limit > PAGE_MAX {
        return Err(Problem::unfit(format!("a page has at most {PAGE_MAX} steps")));
    }
    document(call.server.desk().steps(call.param("run"), wish).await?)
}

async fn picture(call: Call) -> Result<Response, Problem> {
    let run = call.param("run").to_owned();
    let picture = call.server.desk().here(move |desk| desk.picture(&run)).await?;
    Ok(([(CONTENT_TYPE, SVG)], picture.svg(&SvgOptions::default())).into_response())
}

async fn attempts(call: Call) -> Result<Response, Problem> {
    document(call.server.desk().attempts(call.param("run"), call.param("step")).await?)
}
