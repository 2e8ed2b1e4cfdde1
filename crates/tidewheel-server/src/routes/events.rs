//! What happens, as it happens: a stream of events that goes on where it broke off.
//!
//! What happened is kept by the house, numbered, whether or not anybody listens.

use std::io;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use hyper::body::Bytes;
use serde::Deserialize;
use tidewheel_client::api::{Document as _, Happened, What};
use tidewheel_client::house::{Happenings, Seen};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout_at};
use utoipa::ToSchema;

use super::growth::Growth;
use crate::door::Call;
use crate::problem::Problem;
use crate::server::Closing;
use crate::stream::Chunks;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

/// Where a stream goes on, as browsers say it.
const LAST: &str = "last-event-id";

/// A stream in which nothing happens says so, or whoever listens, and those between, would think it dead.
const QUIET: Duration = Duration::from_secs(15);

/// How it says so. It is no comment: browsers keep those to themselves.
const NOTHING: &str = "event: quiet\ndata: {}\n\n";

/// How often it is looked whether whoever listens still may.
const LOOK: Duration = Duration::from_secs(2);

/// Pieces that wait for a slow reader; other events wait in the ring of the house.
const PIECES_MAX: usize = 16;

/// Events that have happened by then travel together, up to so many bytes: each piece is sent by itself.
const PIECE_BYTES: usize = 8 << 10;

pub(super) const ROUTES: &[Route] = &[Route {
    name: "events",
    about: "Tells what happens, as it happens. With `Last-Event-ID` it goes on behind that event; an event `gap` says \
            that some before it are not known any more, and `quiet`, every 15 seconds, that nothing has happened.",
    verb: Verb::Get,
    path: "/api/v1/events",
    permission: Permission::Viewer,
    query: Some(Form::of::<Which>()),
    takes: Takes::Nothing,
    gives: Gives::Events(Form::of::<Happened>()),
    changes: false,
    answer: |call| Box::pin(answer(call)),
}];

/// What is to be told.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Only of the run of this id.
    #[serde(default)]
    run: Option<String>,
    /// Only of this flow.
    #[serde(default)]
    flow: Option<String>,
    /// Tell also, as events `log`, when there is more in the log of this step of the run: at once how long it is, then at
    /// most four times a second.
    #[serde(default)]
    log: Option<String>,
    /// Behind this event, for those who cannot send a header.
    #[serde(default)]
    after: Option<String>,
}

impl Which {
    fn has(&self, happened: &Happened) -> bool {
        let is = |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
        // What is not told may be about any of them.
        let is_of_all = happened.what == What::Missed;
        is_of_all || is(&self.run, &happened.run_id) && is(&self.flow, &happened.flow)
    }
}

async fn answer(call: Call) -> Result<Response, Problem> {
    let which: Which = call.query()?;
    let after = match call.headers.get(LAST) {
        Some(last) => Some(last.to_str().unwrap_or_default().to_owned()),
        None => which.after.clone(),
    };
    let after = after.as_deref().map(place_of).transpose()?;
    let happenings = call.server.house()?.happenings(after);
    let growth = match (&which.run, &which.log) {
        (_, None) => None,
        (None, Some(_)) => return Err(Problem::unfit("the log of a step of which run?")),
        (Some(run), Some(step)) => Some(Growth::new(call.server.desk(), run, step).await?),
    };
    let place = call.server.take_stream(call.who.as_ref())?;
    let (events, chunks) = mpsc::channel(PIECES_MAX);
    tokio::spawn(async move {
        tokio::select! {
            () = over(&call) => {}
            () = events.closed() => {}
            () = tell(happenings, &which, growth, call.server.closing(), &events) => {}
        }
        drop(place);
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::new(Chunks::new(chunks))).into_response())
}

/// The place of an event, from its id.
fn place_of(id: &str) -> Result<(&str, u64), Problem> {
    let place = id.split_once(':').and_then(|(epoch, number)| Some((epoch, number.parse().ok()?)));
    place.ok_or_else(|| Problem::unfit("this is not the id of an event"))
}

/// Tells what happens until there is nothing more, or nobody listens.
async fn tell(
    mut happenings: Happenings,
    which: &Which,
    mut growth: Option<Growth>,
    mut closing: watch::Receiver<Closing>,
    to: &mpsc::Sender<io::Result<Bytes>>,
) {
    let mut text = growth.as_ref().map(Growth::event).unwrap_or_default();
    let (mut told, mut is_draining) = (Instant::now(), false);
    loop {
        if !text.is_empty() {
            told = Instant::now();
            if to.send(Ok(text.into())).await.is_err() {
                return;
            }
        }
        let more = async {
            match &mut growth {
                Some(growth) => growth.next().await,
                None => std::future::pending().await,
            }
        };
        let seen = tokio::select! {
            // What others are told of does not count.
            seen = timeout_at(told + QUIET, happenings.next()) => seen,
            more = more => {
                text = more;
                continue;
            }
            _ = closing.wait_for(|closing| *closing != Closing::No), if !is_draining => {
                (is_draining, text) = (true, "event: drain\ndata: {}\n\n".to_owned());
                continue;
            }
        };
        text = match seen {
            Err(_) => NOTHING.to_owned(),
            Ok(None) => return,
            Ok(Some(seen)) => events(seen, &mut happenings, which, growth.as_mut()),
        };
    }
}

/// What has happened, with what has happened since, as far as that is to be told and fits into one piece.
fn events(
    first: Seen,
    happenings: &mut Happenings,
    which: &Which,
    mut growth: Option<&mut Growth>,
) -> String {
    let (mut text, mut next) = (String::new(), Some(first));
    while let Some(seen) = next {
        match seen {
            Seen::Gap => text.push_str("event: gap\ndata: {}\n\n"),
            Seen::Happened(happened) if which.has(&happened) => {
                if let Some(growth) = &mut growth {
                    growth.hear(&happened);
                }
                text.push_str(&event(&happened));
            }
            Seen::Happened(_) => {}
        }
        next = (text.len() < PIECE_BYTES).then(|| happenings.ready()).flatten();
    }
    text
}

fn event(happened: &Happened) -> String {
    let Happened { epoch, sequence, .. } = happened;
    // It is made of texts and numbers, which can always be written, and JSON has no line ends.
    let data = serde_json::to_string(&happened.clone().versioned()).unwrap_or_default();
    format!("id: {epoch}:{sequence}\nevent: happened\ndata: {data}\n\n")
}

/// Waits until the server comes to an end, or whoever listens may no longer.
async fn over(call: &Call) {
    let mut closing = call.server.closing();
    let ends = closing.wait_for(|closing| *closing == Closing::Now);
    let revoked = async {
        loop {
            sleep(LOOK).await;
            let (now, instant) = (tidewheel::clock::wall_clock(), std::time::Instant::now());
            let who = call.who.as_ref();
            if !who.is_some_and(|who| call.server.is_still(who, now, instant)) {
                return;
            }
        }
    };
    tokio::select! {
        _ = ends => {}
        () = revoked => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_hears_of_one_run_hears_that_something_was_not_told() {
        let one = Some("one".to_owned());
        let which = Which { run: one.clone(), flow: one, log: None, after: None };
        let has = |what: &str, run: Option<&str>, flow: Option<&str>| {
            let happened = json!({
                "epoch": "e", "sequence": 1, "at": "2026-11-15T00:00:00Z", "what": what, "run_id": run, "flow": flow,
            });
            which.has(&serde_json::from_value(happened).unwrap())
        };
        assert!(has("run-ended", Some("one"), Some("one")));
        assert!(!has("run-ended", Some("other"), Some("one")));
        assert!(!has("schedule-fired", None, Some("one")));
        assert!(has("missed", None, None));
    }
}
