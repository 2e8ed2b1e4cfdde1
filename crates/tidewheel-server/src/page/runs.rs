//! Runs: those that match, newest first.
//!
//! Filters stand in the address, so that a view can be kept and sent.

use askama::Template;
use axum::response::Response;
use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer};
use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{ListWish, RunLine, StateWish};
use tidewheel_client::text::{sentence, short_id};
use utoipa::ToSchema;

use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::words::{Markup, going_on, in_address, moment, named, run_mark, took};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::{Form, Route};

/// Runs that are shown at once.
const ROWS: u32 = 50;

pub(super) const ROUTES: &[Route] = &[page_route!(
    "page-runs",
    "/runs",
    "Runs, newest first: all, or those that match.",
    Some(Form::of::<Wish>()),
    runs
)];

/// Which runs.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// Only of this flow.
    #[serde(default)]
    flow: Option<String>,
    /// Only in this state. Nothing is any, as the form says it.
    #[serde(default, deserialize_with = "state_if_any")]
    state: Option<StateWish>,
    /// Only with this tag.
    #[serde(default)]
    tag: Option<String>,
    /// Those after this place in the list.
    #[serde(default)]
    cursor: Option<String>,
}

/// A state, if a word for one is there.
fn state_if_any<'de, D: Deserializer<'de>>(said: D) -> Result<Option<StateWish>, D::Error> {
    let word = String::deserialize(said)?;
    let state = || StateWish::deserialize(word.as_str().into_deserializer());
    (!word.is_empty()).then(state).transpose()
}

#[derive(Template)]
#[template(path = "runs.html")]
struct Runs {
    frame: Frame,
    rows: Vec<RunRow>,
    next: Option<String>,
    flow: String,
    tag: String,
    state: &'static str,
    is_filtered: bool,
}

/// A run in a list.
pub(super) struct RunRow {
    pub mark: Markup,
    pub name: Markup,
    pub run: Link,
    pub id: String,
    pub began: Markup,
    pub took: Markup,
    pub steps: u32,
    pub says: String,
    pub tags: Vec<String>,
    pub goes_on: bool,
}

impl RunRow {
    pub fn of(run: &RunLine, now: Timestamp) -> Self {
        let began = run.started_at.unwrap_or(run.accepted_at);
        Self {
            mark: run_mark(run.state),
            name: named(run.flow.as_deref().unwrap_or("–")),
            run: Link::of(super::words::run_address(&run.run_id), &short_id(&run.run_id)),
            id: run.run_id.clone(),
            began: moment(run.accepted_at),
            took: match run.ended_at {
                Some(end) => Markup(took(end.since(began))),
                None => going_on(began, now),
            },
            steps: run.steps,
            says: run.error.as_deref().map(sentence).unwrap_or_default(),
            tags: run.tags.clone(),
            goes_on: run.ended_at.is_none(),
        }
    }
}

impl Runs {
    /// The states that can be chosen.
    fn states(&self) -> impl Iterator<Item = &'static str> {
        StateWish::ALL.into_iter().map(StateWish::word)
    }

    fn is_state(&self, word: &str) -> bool {
        self.state == word
    }

    /// Whether nothing else is asked for.
    fn is_only(&self, word: &str) -> bool {
        self.state == word && self.flow.is_empty() && self.tag.is_empty()
    }
}

async fn runs(call: Call) -> Result<Response, Problem> {
    let wish: Wish = call.query()?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (flow, tag) = (given(&wish.flow), given(&wish.tag));
    let list = ListWish {
        name: flow.clone(),
        state: wish.state,
        tag: tag.clone(),
        limit: ROWS,
        cursor: wish.cursor.clone(),
        ..ListWish::default()
    };
    let list = call.server.desk().list(list).await?;
    let state = wish.state.map_or("", StateWish::word);
    let (flow, tag) = (flow.unwrap_or_default(), tag.unwrap_or_default());
    let here = |cursor: &str| {
        let (flow, tag) = (in_address(&flow), in_address(&tag));
        let state = if state.is_empty() { String::new() } else { format!("&state={state}") };
        format!("/runs?flow={flow}&tag={tag}{state}&cursor={}", in_address(cursor))
    };
    let now = wall_clock();
    page(&Runs {
        frame: Frame::of(&call, "runs"),
        rows: list.runs.iter().map(|run| RunRow::of(run, now)).collect(),
        next: list.next.as_deref().map(here),
        is_filtered: !state.is_empty()
            || !flow.is_empty()
            || !tag.is_empty()
            || wish.cursor.is_some(),
        flow,
        tag,
        state,
    })
}
