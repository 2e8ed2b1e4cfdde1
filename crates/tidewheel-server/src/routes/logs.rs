//! What steps wrote: which logs there are, and pieces of them.
//!
//! Logs are asked for by numbers, never by a path.

use axum::body::Body;
use axum::response::Response;
use serde::Deserialize;
use tidewheel_client::api::{LogList, LogStream, LogWanted, LogWish};
use utoipa::ToSchema;

use super::artifacts::attachment;
use crate::door::{Call, document};
use crate::problem::Problem;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "list-logs",
        about: "Says which logs a run has, how long they are, and what requests were answered.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/logs",
        permission: Permission::Viewer,
        query: Some(Form::of::<LogWish>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<LogList>()),
        changes: false,
        answer: |call| Box::pin(list(call)),
    },
    Route {
        name: "read-log",
        about: "Gives what an attempt wrote to a stream from a byte on, at most 256 KiB; nothing at \
                the end of what there is.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/log",
        permission: Permission::Viewer,
        query: Some(Form::of::<Piece>()),
        takes: Takes::Nothing,
        gives: Gives::Bytes,
        changes: false,
        answer: |call| Box::pin(read(call)),
    },
];

/// Which piece of which log.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Piece {
    /// The number of the step in the run, as the list of logs says it.
    task: u32,
    /// The number of the attempt.
    attempt: u32,
    /// The stream.
    stream: LogStream,
    /// From this byte on.
    #[serde(default)]
    from: u64,
}

async fn list(call: Call) -> Result<Response, Problem> {
    let wish: LogWish = call.query()?;
    document(call.server.desk().logs(call.param("run"), &wish).await?)
}

async fn read(call: Call) -> Result<Response, Problem> {
    let Piece { task, attempt, stream, from } = call.query()?;
    let run_id = call.param("run").to_owned();
    let wanted = LogWanted { version: None, run_id, task, attempt, stream, from };
    let bytes = call.server.desk().log(wanted).await?;
    Ok(attachment("log.txt", Body::from(bytes)))
}
