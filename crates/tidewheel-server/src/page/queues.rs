//! What waits, in the order in which it is expected to start, with why; and who has the slots.
//!
//! The order is the scheduler's.

use std::time::Duration;

use askama::Template;
use axum::response::Response;
use tidewheel_client::api::{LimitLine, QueueLine, SlotHolder, WaitingStep};

use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::words::{step_address, took};
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
    queues: Vec<QueueLine>,
    limits: Vec<Limit>,
}

struct Holder {
    step: Link,
    flow: String,
    attempt: u32,
    time: String,
}

struct Waiting {
    place: usize,
    step: Link,
    flow: String,
    queue: String,
    priority: u8,
    effective: u8,
    gained: u8,
    waited: String,
    why: Vec<String>,
    expected: Option<String>,
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
    let line = house.line(MOST).await?;
    let waiting = line.waiting.iter().enumerate();
    page(&Queues {
        frame: Frame::of(&call, "queues"),
        slots: line.slots,
        holders: line.holders.iter().map(holder).collect(),
        waiting: waiting.map(|(place, it)| self::waiting(place + 1, it)).collect(),
        more: line.more,
        queues: house.queues().await?.queues,
        limits: house.limits().await?.limits.iter().map(limit).collect(),
    })
}

fn seconds(seconds: f64) -> String {
    took(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
}

fn holder(it: &SlotHolder) -> Holder {
    Holder {
        step: Link::of(step_address(&it.run_id, &it.step), &it.step),
        flow: it.flow.clone().unwrap_or_default(),
        attempt: it.attempt,
        time: seconds(it.seconds),
    }
}

fn waiting(place: usize, it: &WaitingStep) -> Waiting {
    Waiting {
        place,
        step: Link::of(step_address(&it.run_id, &it.step), &it.step),
        flow: it.flow.clone().unwrap_or_default(),
        queue: it.queue.clone(),
        priority: it.priority,
        effective: it.effective,
        gained: it.effective.saturating_sub(it.priority),
        waited: seconds(it.waited_seconds),
        why: it.why.clone(),
        expected: it.expected_start_seconds.map(seconds),
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
