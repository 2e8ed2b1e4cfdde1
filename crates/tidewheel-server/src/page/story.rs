//! All that a run said: the last lines of each step, in the order in which they began.
//!
//! All that one step said is in [`super::step`].

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use tidewheel_client::api::{LogList, StepRow, StepsOrder, StepsWish};
use utoipa::ToSchema;

use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::step::Logs;
use super::words::{Markup, moment, run_address, step_mark};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::{Form, Route};

/// Steps that are shown at once.
const ROWS: u32 = 20;

/// What is shown of the end of each log: so many bytes, so many lines.
const TAIL: (usize, u32) = (32 << 10, 100);

pub(super) const ROUTES: &[Route] = &[page_route!(
    "page-run-log",
    "/runs/{run}/log",
    "What the steps of a run said, in the order in which they began.",
    Some(Form::of::<Wish>()),
    story
)];

/// Which of them.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// From this step of them on.
    #[serde(default)]
    from: u32,
}

#[derive(Template)]
#[template(path = "story.html")]
struct Story {
    frame: Frame,
    flow: Option<Link>,
    run: Link,
    id: String,
    said: Vec<Said>,
    before: Option<String>,
    after: Option<String>,
}

/// What a step said.
struct Said {
    step: Link,
    mark: Markup,
    began: Option<Markup>,
    text: String,
}

async fn story(call: Call) -> Result<Response, Problem> {
    let Wish { from } = call.query()?;
    let wish = StepsWish { order: StepsOrder::Start, from, limit: ROWS, ..StepsWish::default() };
    let word = call.param("run").to_owned();
    let (steps, logs, flow) = call.server.desk().here(move |desk| desk.story(&word, &wish)).await?;
    let (run, address) = (steps.run_id.as_str(), run_address(&steps.run_id));
    let mut said = Vec::new();
    // Those that have begun come first.
    for step in steps.steps.iter().take_while(|step| !step.attempts.is_empty()) {
        said.push(of_step(&call, &logs, step).await?);
    }
    let at = |from: u32| format!("{address}/log?from={from}");
    let is_full = said.len() == ROWS as usize && from.saturating_add(ROWS) < steps.total;
    page(&Story {
        frame: Frame::of(&call, "runs"),
        flow: flow.as_deref().map(Link::of_flow),
        run: Link::of_run(run),
        id: run.to_owned(),
        said,
        before: (from > 0).then(|| at(from.saturating_sub(ROWS))),
        after: is_full.then(|| at(from + ROWS)),
    })
}

async fn of_step(call: &Call, list: &LogList, step: &StepRow) -> Result<Said, Problem> {
    let text = Logs { list, step: &step.step, attempt: None }.tail(call, TAIL).await?;
    Ok(Said {
        step: Link::of_step(&list.run_id, &step.step),
        mark: step_mark(step.state),
        began: step.attempts.first().and_then(|first| first.started_at).map(moment),
        text,
    })
}
