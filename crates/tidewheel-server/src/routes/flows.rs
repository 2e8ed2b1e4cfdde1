//! Flows of a house, and runs that are started of them.
//!
//! What is done with a run that goes on is in [`super::steer`].

use axum::http::HeaderMap;
use axum::response::Response;
use tidewheel_client::api::{
    FlowDetail, FlowList, GoneOn, Plan, Reloaded, ResumeWish, RetryWish, StartWish, StartedRun,
};

use crate::door::{Call, document};
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

/// Params may be long texts.
const WISH_MAX: usize = 1 << 20;

/// A name under which a run is accepted once, as others have it.
const KEY: &str = "idempotency-key";

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "list-flows",
        about: "Lists the flows that can be run, and the files that cannot, with what is wrong.",
        verb: Verb::Get,
        path: "/api/v1/flows",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<FlowList>()),
        changes: false,
        answer: |call| Box::pin(list(call)),
    },
    Route {
        name: "show-flow",
        about: "Says which params and steps a flow has.",
        verb: Verb::Get,
        path: "/api/v1/flows/{flow}",
        permission: Permission::Viewer,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<FlowDetail>()),
        changes: false,
        answer: |call| Box::pin(show(call)),
    },
    Route {
        name: "plan-run",
        about: "Says what a run of a flow would do. Nothing is changed.",
        verb: Verb::Post,
        path: "/api/v1/plan",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Document(Form::of::<StartWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<Plan>()),
        changes: false,
        answer: |call| Box::pin(plan(call)),
    },
    Route {
        name: "start-run",
        about: "Starts a run of a flow with params. With an `Idempotency-Key` it is accepted once, however often it \
                is asked for.",
        verb: Verb::Post,
        path: "/api/v1/runs",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Document(Form::of::<StartWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<StartedRun>()),
        changes: true,
        answer: |call| Box::pin(start(call)),
    },
    Route {
        name: "retry-run",
        about: "Runs again what did not succeed in a run, in a new one; from a step on, if one is named.",
        verb: Verb::Post,
        path: "/api/v1/runs/{run}/retry",
        permission: Permission::Operator,
        query: None,
        takes: Takes::MaybeDocument(Form::of::<RetryWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<StartedRun>()),
        changes: true,
        answer: |call| Box::pin(retry(call)),
    },
    Route {
        name: "resume-run",
        about: "Goes on with a run that was paused, or whose process died; without a body as it was started, whatever has \
                become of its files.",
        verb: Verb::Post,
        path: "/api/v1/runs/{run}/resume",
        permission: Permission::Operator,
        query: None,
        takes: Takes::MaybeDocument(Form::of::<ResumeWish>(), WISH_MAX),
        gives: Gives::Document(Form::of::<GoneOn>()),
        changes: true,
        answer: |call| Box::pin(resume(call)),
    },
    Route {
        name: "reload-flows",
        about: "Reads the files of flows again that have changed, at once.",
        verb: Verb::Post,
        path: "/api/v1/flows",
        permission: Permission::Author,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Reloaded>()),
        changes: true,
        answer: |call| Box::pin(reload(call)),
    },
];

async fn list(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.flows().await)
}

async fn show(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.flow(call.param("flow")).await?)
}

async fn plan(call: Call) -> Result<Response, Problem> {
    let wish: StartWish = call.document()?;
    document(call.server.house()?.plan(&wish).await?)
}

async fn start(call: Call) -> Result<Response, Problem> {
    let mut wish: StartWish = call.document()?;
    if let Some(key) = key_in(&call.headers)? {
        if wish.key.as_ref().is_some_and(|said| *said != key) {
            return Err(Problem::unfit(
                "the key in the header is another one than that in the wish",
            ));
        }
        wish.key = Some(key);
    }
    call.object.add("flow", &wish.flow);
    let started = call.server.open_house()?.start(wish).await?;
    call.object.add("run", &started.run_id);
    document(started)
}

fn key_in(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut keys = headers.get_all(KEY).iter();
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(key), None) => match key.to_str() {
            Ok(key) if !key.is_empty() && key.len() <= 255 => Ok(Some(key.to_owned())),
            _ => Err(Problem::unfit("an Idempotency-Key has 1 to 255 letters of ASCII")),
        },
        (Some(_), Some(_)) => Err(Problem::unfit("there are two of Idempotency-Key")),
    }
}

async fn retry(call: Call) -> Result<Response, Problem> {
    let wish = call.document_or(RetryWish::default())?;
    let started = call.server.open_house()?.retry(call.param("run"), wish).await?;
    call.object.add("as run", &started.run_id);
    document(started)
}

async fn resume(call: Call) -> Result<Response, Problem> {
    let run = call.param("run");
    let wish = call.document_or(ResumeWish { as_started: true, ..ResumeWish::default() })?;
    match call.server.house() {
        Ok(house) => document(house.resume(run, &wish).await?),
        // Without a house a run goes on only where it runs.
        Err(_) => document(call.server.desk().go_on(run).await?),
    }
}

async fn reload(call: Call) -> Result<Response, Problem> {
    document(call.server.open_house()?.reload().await?)
}
