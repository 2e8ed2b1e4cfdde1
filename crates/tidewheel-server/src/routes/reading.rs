//! Logs as people read them: numbered lines with their colours, searched on the server.
//!
//! Their bytes are in [`super::logs`].

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Bytes;
use serde::Deserialize;
use tidewheel_client::api::{
    Document as _, LinesWish, LogErrorLine, LogFound, LogLines, LogStream, SearchWish,
};
use tidewheel_client::desk::LogOf;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use crate::door::{Call, document};
use crate::problem::Problem;
use crate::stream::Chunks;
use crate::table::{Form, Gives, NDJSON, Permission, Route, Takes, Verb};

/// Pieces that wait for a slow reader.
const PIECES_MAX: usize = 4;

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "read-log-lines",
        about: "Gives some lines of a log, of both streams in the order in which they were written, with colours and without anything \
                that a terminal would obey.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/log/lines",
        permission: Permission::Viewer,
        query: Some(Form::of::<LinesWish>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<LogLines>()),
        changes: false,
        answer: |call| Box::pin(lines(call)),
    },
    Route {
        name: "search-log",
        about: "Searches a log for a text, a regular expression or errors, and tells what was found as it is found, one document \
                a line; the last one has the sum.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/log/search",
        permission: Permission::Viewer,
        query: Some(Form::of::<SearchWish>()),
        takes: Takes::Nothing,
        gives: Gives::Lines(Form::of::<LogFound>()),
        changes: false,
        answer: |call| Box::pin(search(call)),
    },
    Route {
        name: "find-log-error",
        about: "Says which line of a log to look at first if something failed.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/log/error",
        permission: Permission::Viewer,
        query: Some(Form::of::<Which>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<LogErrorLine>()),
        changes: false,
        answer: |call| Box::pin(error(call)),
    },
];

/// Which log.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// The step.
    #[serde(default)]
    step: Option<String>,
    /// The number of the step in the run, instead.
    #[serde(default)]
    task: Option<u32>,
    /// This attempt instead of the newest.
    #[serde(default)]
    attempt: Option<u32>,
    /// Only this stream.
    #[serde(default)]
    stream: Option<LogStream>,
}

async fn lines(call: Call) -> Result<Response, Problem> {
    let wish: LinesWish = call.query()?;
    let run = call.param("run").to_owned();
    document(call.server.desk().here(move |desk| desk.log_lines(&run, &wish)).await?)
}

async fn error(call: Call) -> Result<Response, Problem> {
    let Which { step, task, attempt, stream } = call.query()?;
    let run = call.param("run").to_owned();
    let find = move |desk: &tidewheel_client::desk::LocalDesk| {
        desk.log_error(&run, LogOf { step: step.as_deref(), task, attempt, stream })
    };
    document(call.server.desk().here(find).await?)
}

/// Searches for as long as somebody reads what is found.
async fn search(call: Call) -> Result<Response, Problem> {
    let wish: SearchWish = call.query()?;
    let run = call.param("run").to_owned();
    let place = call.server.take_stream(call.who.as_ref())?;
    let (pieces, chunks) = mpsc::channel(PIECES_MAX);
    let desk = call.server.desk().clone();
    let mut searching = tokio::spawn(async move {
        let tell = move |found: LogFound| {
            let piece = line(found);
            pieces.blocking_send(Ok(piece)).is_ok()
        };
        let done = desk.here(move |desk| desk.search_log(&run, &wish, tell)).await;
        drop(place);
        done
    });
    let mut chunks = Chunks::new(chunks);
    // Whether it can be searched is known with the first piece, or the end.
    tokio::select! {
        biased;
        () = chunks.first() => {}
        done = &mut searching => if let Ok(Err(error)) = done { return Err(error.into()) },
    }
    chunks.first().await;
    if chunks.is_over() {
        return match searching.await {
            Ok(Err(error)) => Err(error.into()),
            _ => Err(Problem::failed("the log cannot be searched")),
        };
    }
    Ok(([(CONTENT_TYPE, NDJSON)], Body::new(chunks)).into_response())
}

fn line(found: LogFound) -> Bytes {
    // It is made of texts and numbers, which can always be written, and JSON has no line ends.
    let mut line = serde_json::to_vec(&found.versioned()).unwrap_or_default();
    line.push(b'\n');
    line.into()
}
