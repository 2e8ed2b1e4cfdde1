//! What waits, in the order in which it is expected to start, with why; and who has the slots.
//!
//! The order is the scheduler's.

use std::time::Duration;

use askama::Template;
use axum::response::Response;
use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{LimitLine, QueueLine, SlotHolder, WaitingStep};

use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::words::{Markup, expected, going_on, moment, quoting, step_address};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::Route;

/// Steps that are shown, of those that have slots and of those that wait.
const MOST: usize = 200;

/// Slots that are drawn.
const SLOTS_MAX: u32 = 64;

pub(super) const ROUTES: &[Route] = &[page_route!(
    "page-queues",
    "/queues",
    "What waits, in its order, each with why; who has the slots; queues and limits.",
    None,
    queues
)];

#[derive(Template)]
#[template(path = "queues.html")]
struct Queues {
    frame: Frame,
    slots: Option<u32>,
    holders: Vec<Holder>,
    waiting: Vec<Waiting>,
    more: u64,
    /// When the next of those that wait is expected to start, of which no event tells.
    due: Option<Timestamp>,
    queues: Vec<QueueLine>,
    limits: Vec<Limit>,
}

struct Holder {
    step: Link,
    flow: String,
    attempt: u32,
    time: Markup,
}

struct Waiting {
    place: usize,
    run: String,
    name: String,
    /// Whether it is a step of a run, and no task on its own.
    is_of_flow: bool,
    step: Link,
    flow: String,
    queue: String,
    priority: u8,
    effective: u8,
    gained: u8,
    waited: Markup,
    why: Vec<Markup>,
    expected: Option<Markup>,
    unpassed: Option<Markup>,
}

struct Limit {
    name: String,
    what: String,
}

impl Queues {
    /// Whether each slot is taken, of many only some.
    fn lamps(&self) -> impl Iterator<Item = bool> {
        let shown = self.slots.unwrap_or_default().min(SLOTS_MAX) as usize;
        (0..shown).map(|place| place < self.holders.len())
    }
}

async fn queues(call: Call) -> Result<Response, Problem> {
    let house = call.server.house()?;
    let (line, now) = (house.line(MOST).await?, wall_clock());
    let waiting = line.waiting.iter().enumerate();
    let expected = line.waiting.iter().filter_map(|it| it.expected_start_seconds);
    page(&Queues {
        frame: Frame::of(&call, "queues"),
        slots: line.slots,
        holders: line.holders.iter().map(|it| holder(it, now)).collect(),
        waiting: waiting.map(|(place, it)| self::waiting(place + 1, it, now)).collect(),
        more: line.more,
        due: expected.map(|seconds| now.after(span(seconds))).min(),
        queues: house.queues().await?.queues,
        limits: house.limits().await?.limits.iter().map(limit).collect(),
    })
}

fn span(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(0.0, 1e9))
}

fn holder(it: &SlotHolder, now: Timestamp) -> Holder {
    Holder {
        step: Link::of(step_address(&it.run_id, &it.step), &it.step),
        flow: it.flow.clone().unwrap_or_default(),
        attempt: it.attempt,
        time: going_on(now.before(span(it.seconds)), now),
    }
}

fn waiting(place: usize, it: &WaitingStep, now: Timestamp) -> Waiting {
    Waiting {
        place,
        run: it.run_id.clone(),
        name: it.step.clone(),
        is_of_flow: it.flow.is_some(),
        step: Link::of(step_address(&it.run_id, &it.step), &it.step),
        flow: it.flow.clone().unwrap_or_default(),
        queue: it.queue.clone(),
        priority: it.priority,
        effective: it.effective,
        gained: it.effective.saturating_sub(it.priority),
        waited: going_on(now.before(span(it.waited_seconds)), now),
        why: it.why.iter().map(|why| quoting(why)).collect(),
        expected: it.expected_start_seconds.map(|seconds| expected(now.after(span(seconds)), now)),
        unpassed: it.unpassed_in_seconds.map(|seconds| moment(now.after(span(seconds)))),
    }
}

fn limit(it: &LimitLine) -> Limit {
    let what = match (it.kind.as_str(), it.units, it.per_second) {
        ("shared-units", Some(units), _) => format!("{units} at once, with other processes"),
        (_, Some(units), _) => format!("{units} at once"),
        (_, _, Some(rate)) => format!("{rate} a second"),
        (kind, ..) => kind.to_owned(),
    };
    Limit { name: it.name.clone(), what }
}
