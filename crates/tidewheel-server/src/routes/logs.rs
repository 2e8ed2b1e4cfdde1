//! What steps wrote: which logs there are, and pieces of them.
//!
//! Logs are asked for by numbers, never by a path.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use axum::body::Body;
use axum::http::header::RANGE;
use axum::response::Response;
use hyper::body::Bytes;
use serde::Deserialize;
use tidewheel_client::api::{LogList, LogStream, LogWanted, LogWish};
use tidewheel_client::desk::RawLog;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::artifacts::attachment;
use crate::door::{Call, document};
use crate::part::Part;
use crate::problem::Problem;
use crate::stream::Chunks;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

/// Bytes that are read at once, and pieces of them that wait for a slow reader.
const PIECE: u64 = 64 << 10;
const PIECES_MAX: usize = 4;

type Pieces = mpsc::Sender<io::Result<Bytes>>;

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
                the end of what there is. With `whole` it is everything, and with `Range` that part of it.",
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
    /// All of it, however much that is.
    #[serde(default)]
    whole: bool,
}

async fn list(call: Call) -> Result<Response, Problem> {
    let wish: LogWish = call.query()?;
    document(call.server.desk().logs(call.param("run"), &wish).await?)
}

async fn read(call: Call) -> Result<Response, Problem> {
    let Piece { task, attempt, stream, from, whole } = call.query()?;
    let run_id = call.param("run").to_owned();
    let wanted = LogWanted { version: None, run_id, task, attempt, stream, from };
    if whole || call.headers.contains_key(RANGE) {
        return raw(&call, wanted).await;
    }
    let bytes = call.server.desk().log(wanted).await?;
    Ok(attachment("log.txt", Body::from(bytes)))
}

/// All of a file, or the part of it that is asked for.
async fn raw(call: &Call, wanted: LogWanted) -> Result<Response, Problem> {
    let raw = call.server.desk().here(move |desk| desk.raw_log(&wanted)).await?;
    let RawLog { file, size, tag } = raw;
    let part = Part::of(&call.headers, size, &tag);
    let (from, to) = part.bytes(size);
    let (pieces, chunks) = mpsc::channel(PIECES_MAX);
    if let Some(file) = file.filter(|_| from < to) {
        tokio::task::spawn_blocking(move || {
            if let Err(error) = send(file, from, to, &pieces) {
                // Whoever reads must not take what came for the whole. Nobody may read any more.
                let _ = pieces.blocking_send(Err(error));
            }
        });
    }
    Ok(part.told(attachment("log.txt", Body::new(Chunks::new(chunks))), size, &tag))
}

fn send(mut file: File, from: u64, to: u64, pieces: &Pieces) -> io::Result<()> {
    file.seek(SeekFrom::Start(from))?;
    let mut left = to - from;
    while left > 0 {
        let mut piece = Vec::new();
        (&mut file).take(left.min(PIECE)).read_to_end(&mut piece)?;
        if piece.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= piece.len() as u64;
        if pieces.blocking_send(Ok(piece.into())).is_err() {
            return Ok(());
        }
    }
    Ok(())
}
