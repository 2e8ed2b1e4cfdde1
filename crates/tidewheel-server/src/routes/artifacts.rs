//! Files that steps left with their run.
//!
//! They are asked for by name, and found among those that there are: a name is never a path.

use std::io::{self, Write};

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::Response;
use hyper::body::Bytes;
use serde::Deserialize;
use tidewheel_client::api::ArtifactList;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use super::runs::OfStep;
use crate::door::{Call, document};
use crate::part::Part;
use crate::problem::Problem;
use crate::stream::Chunks;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

/// Pieces that wait for a slow reader.
const PIECES_MAX: usize = 4;

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "list-artifacts",
        about: "Lists the files that steps left with a run.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/artifacts",
        permission: Permission::Viewer,
        query: Some(Form::of::<OfStep>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<ArtifactList>()),
        changes: false,
        answer: |call| Box::pin(list(call)),
    },
    Route {
        name: "read-artifact",
        about: "Gives what is in such a file, or with `Range` that part of it.",
        verb: Verb::Get,
        path: "/api/v1/runs/{run}/artifact",
        permission: Permission::Viewer,
        query: Some(Form::of::<Wanted>()),
        takes: Takes::Nothing,
        gives: Gives::Bytes,
        changes: false,
        answer: |call| Box::pin(read(call)),
    },
];

/// Which file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Its name, as the list says it.
    name: String,
    /// The step that left it, if several left one of this name.
    #[serde(default)]
    step: Option<String>,
}

async fn list(call: Call) -> Result<Response, Problem> {
    let of: OfStep = call.query()?;
    document(call.server.desk().artifacts(call.param("run"), of.step.as_deref()).await?)
}

async fn read(call: Call) -> Result<Response, Problem> {
    let Wanted { name, step } = call.query()?;
    let run = call.param("run").to_owned();
    let known = known(&call, &name, step.as_deref()).await?;
    let part =
        known.as_ref().map_or(Part::Whole, |(size, tag)| Part::of(&call.headers, *size, tag));
    let (skip, end) = part.bytes(known.as_ref().map_or(u64::MAX, |(size, _)| *size));
    let (pieces, chunks) = mpsc::channel(PIECES_MAX);
    let (copied, desk) = (name.clone(), call.server.desk().clone());
    let mut copying = tokio::spawn(async move {
        let mut to = Pieces { to: pieces.clone(), skip, left: end - skip };
        let copy = desk.here(move |desk| desk.artifact(&run, step.as_deref(), &copied, &mut to));
        let done = copy.await;
        if done.is_err() {
            // Whoever reads must not take what came for the whole. Nobody may read any more.
            let _ = pieces.send(Err(io::Error::other("the file cannot be read to its end"))).await;
        }
        done
    });
    let mut chunks = Chunks::new(chunks);
    // Whether there is such a file is known with its first piece, or its end.
    tokio::select! {
        biased;
        () = chunks.first() => {}
        done = &mut copying => if let Ok(Err(error)) = done { return Err(error.into()) },
    }
    if chunks.is_broken() {
        return match copying.await {
            Ok(Err(error)) => Err(error.into()),
            _ => Err(Problem::failed("the file cannot be read")),
        };
    }
    let plain = name.rsplit('/').next().unwrap_or_default().to_owned();
    let answer = attachment(&plain, Body::new(chunks));
    Ok(match known {
        Some((size, tag)) => part.told(answer, size, &tag),
        None => answer,
    })
}

/// How long an artifact is, and what it is known by; nothing if it is not the only one of its name.
async fn known(
    call: &Call,
    name: &str,
    step: Option<&str>,
) -> Result<Option<(u64, String)>, Problem> {
    let list = call.server.desk().artifacts(call.param("run"), step).await?;
    let mut same = list.artifacts.iter().filter(|line| line.name == name);
    Ok(match (same.next(), same.next()) {
        (Some(line), None) => Some((line.bytes, format!("\"{}\"", line.sha256))),
        _ => None,
    })
}

/// Bytes that nobody looks into: they are kept, not shown, and run nothing.
pub(super) fn attachment(name: &str, body: Body) -> Response {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let name: String = name.chars().map(|it| if is_plain(it) { it } else { '_' }).collect();
    let disposition = format!("attachment; filename=\"{name}\"");
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    let policy = "default-src 'none'; sandbox; frame-ancestors 'none'";
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    response
}

/// Hands what is written on to whoever reads the answer, or a part of it.
struct Pieces {
    to: mpsc::Sender<io::Result<Bytes>>,
    /// Bytes before the part, and in it.
    skip: u64,
    left: u64,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        let rest = &bytes[skipped..];
        let some = &rest[..usize::try_from(self.left).unwrap_or(usize::MAX).min(rest.len())];
        self.left -= some.len() as u64;
        if !some.is_empty() {
            let sent = self.to.blocking_send(Ok(Bytes::copy_from_slice(some)));
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
