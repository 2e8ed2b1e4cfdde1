//! The first page: what fails, is late and asks, what runs, and how each flow does.
//!
//! What is on it is told by [`Glance`].

use askama::Template;
use axum::response::Response;
use tidewheel::Timestamp;
use tidewheel_client::api::{FlowGlance, Glance, RunLine, ScheduleLine};
use tidewheel_client::text::{sentence, short_id};

use super::bars::bars;
use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::words::{
    Markup, argument, away, command, going_on, in_address, moment, named, run_address, run_mark,
    step_address, took,
};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::Route;

/// Runs of a flow that are shown as bars.
const BARS: usize = 30;

/// Flows that are shown, and of how many each bar is a link: a page of all that there are would be too much for a browser.
const FLOWS_MAX: usize = 120;
const LINKED_MAX: usize = 10;

/// Lines of a list of things to look at.
const LINES_MAX: usize = 12;

pub(super) const ROUTES: &[Route] = &[page_route!(
    "page-overview",
    "/",
    "The first page: what fails, is late and asks, what runs, and how flows do.",
    None,
    overview
)];

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    frame: Frame,
    glance: Glance,
    /// When the next schedule is late unless it fires, of which no event tells.
    due: Option<Timestamp>,
    failing: Vec<Failing>,
    late: Vec<Late>,
    asking: Vec<Asking>,
    now: Vec<Now>,
    flows: Vec<FlowRow>,
    more_failing: usize,
    more_flows: usize,
}

/// A flow whose newest run did not go well.
struct Failing {
    flow: Markup,
    run: Link,
    error: String,
    when: Markup,
    id: String,
    command: Markup,
}

struct Late {
    name: Link,
    due: Markup,
    since: Markup,
}

/// A step that waits for somebody.
pub(super) struct Asking {
    pub run: Link,
    pub step: Link,
    pub asks: String,
    pub since: Option<Markup>,
    pub id: String,
    pub name: String,
    pub command: Markup,
}

struct Now {
    id: String,
    run: Link,
    mark: Markup,
    share: u32,
    ended: u32,
    steps: u32,
    running: Vec<Link>,
    since: Option<Markup>,
    ends: Option<Markup>,
}

struct FlowRow {
    name: Link,
    bars: Markup,
    ok: Option<u32>,
    median: String,
    trend: Option<(i64, &'static str)>,
    next: Option<(Markup, Markup)>,
    outdated: bool,
    flow: String,
}

async fn overview(call: Call) -> Result<Response, Problem> {
    let glance = call.server.house()?.glance().await?;
    let mut frame = Frame::of(&call, "overview");
    frame.approvals = glance.approvals.len();
    let at = glance.at;
    let failing = glance.failing.iter().take(LINES_MAX).map(|run| Failing::of(run, at)).collect();
    let late = glance.late.iter().map(|it| Late::of(it, at)).collect();
    let asking = glance.approvals.iter().map(|it| Asking::of(it, at)).collect();
    let now = glance
        .now
        .iter()
        .map(|it| {
            let (ended, steps) = (it.ended, it.run.steps.max(it.ended));
            Now {
                id: it.run.run_id.clone(),
                run: Link::of_named_run(&it.run),
                mark: run_mark(it.run.state),
                share: (ended * 100).checked_div(steps).unwrap_or_default(),
                ended,
                steps,
                running: it
                    .running
                    .iter()
                    .map(|step| Link::of_step(&it.run.run_id, step))
                    .collect(),
                since: it.run.started_at.map(|since| going_on(since, at)),
                ends: it.expected_end.filter(|end| *end > at).map(moment),
            }
        })
        .collect();
    let flows = glance.flows.iter().take(FLOWS_MAX).enumerate();
    let flows = flows.map(|(place, flow)| row(flow, place < LINKED_MAX, at)).collect();
    let next = glance.flows.iter().filter_map(|flow| flow.next);
    let due = next.map(|next| next.after(ScheduleLine::LATE)).filter(|due| *due > at).min();
    let more_flows = glance.flows.len().saturating_sub(FLOWS_MAX);
    let more_failing = glance.failing.len().saturating_sub(LINES_MAX);
    page(&Overview {
        frame,
        due,
        failing,
        late,
        asking,
        now,
        flows,
        more_flows,
        more_failing,
        glance,
    })
}

impl Failing {
    fn of(run: &RunLine, now: Timestamp) -> Self {
        let flow = run.flow.clone().unwrap_or_default();
        let short = short_id(&run.run_id);
        Self {
            flow: named(&flow),
            run: Link::of_run(&run.run_id),
            error: run.error.as_deref().map(sentence).unwrap_or_else(|| run.state.to_string()),
            when: away(run.ended_at.unwrap_or(run.accepted_at), now),
            command: command(&format!("tidewheel retry {short}")),
            id: run.run_id.clone(),
        }
    }
}

impl Late {
    fn of(schedule: &ScheduleLine, now: Timestamp) -> Self {
        let due = schedule.next.unwrap_or(now);
        Self {
            name: Link::of_schedule(&schedule.name),
            due: moment(due),
            since: going_on(due, now),
        }
    }
}

impl Asking {
    pub fn of(it: &tidewheel_client::api::ApprovalLine, now: Timestamp) -> Self {
        let short = short_id(&it.run_id);
        Self {
            run: Link::of(run_address(&it.run_id), it.flow.as_deref().unwrap_or(&short)),
            step: Link::of(step_address(&it.run_id, &it.step), &it.step),
            // What a step waits for, said after its name; here only the question is of interest.
            asks: sentence(it.asks.strip_prefix("waits for approval: ").unwrap_or(&it.asks)),
            since: it.since.map(|since| going_on(since, now)),
            command: command(&format!("tidewheel approve {short} {}", argument(&it.step))),
            id: it.run_id.clone(),
            name: it.step.clone(),
        }
    }
}

fn row(flow: &FlowGlance, has_links: bool, now: Timestamp) -> FlowRow {
    let percent = |share: f64| (share * 100.0).round();
    let trend = flow.trend.map(|trend| percent(trend) as i64).filter(|trend| trend.abs() >= 5);
    FlowRow {
        name: Link::of_flow(&flow.name),
        bars: bars(&flow.runs, BARS, has_links),
        ok: flow.ok.map(|ok| percent(ok) as u32),
        median: flow.median.map(took).unwrap_or_default(),
        trend: trend.map(|it| (it, if it > 0 { "slower" } else { "faster" })),
        next: flow.next.map(|next| (moment(next), away(next, now))),
        outdated: flow.outdated,
        flow: in_address(&flow.name),
    }
}
