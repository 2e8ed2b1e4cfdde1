//! The rows of the first screen: what asks, fails and is late, what runs, and the flows.
//!
//! How they look is in [`crate::view`].

use tidewheel_client::api::Glance;

use super::app::Model;

/// Something on the first screen, by its place among its like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// A step that waits for somebody.
    Asks(usize),
    /// A flow whose newest run did not go well.
    Fails(usize),
    /// A schedule that should have fired.
    Late(usize),
    /// A run that goes on.
    Runs(usize),
    /// A flow.
    Flow(usize),
}

/// The rows that are shown, in their order.
#[must_use]
pub fn rows(model: &Model) -> Vec<Row> {
    let Some(glance) = &model.glance else { return Vec::new() };
    let list = &model.overview;
    let all = (0..glance.approvals.len())
        .map(Row::Asks)
        .chain((0..glance.failing.len()).map(Row::Fails))
        .chain((0..glance.late.len()).map(Row::Late))
        .chain((0..glance.now.len()).map(Row::Runs))
        .chain((0..glance.flows.len()).map(Row::Flow));
    all.filter(|row| list.filter.is_empty() || list.takes(&words(glance, *row))).collect()
}

/// What a row is found by.
fn words(glance: &Glance, row: Row) -> String {
    let flow = |flow: &Option<String>| flow.clone().unwrap_or_default();
    match row {
        Row::Asks(place) => {
            let it = &glance.approvals[place];
            format!("{} {}", flow(&it.flow), it.step)
        }
        Row::Fails(place) => {
            let it = &glance.failing[place];
            format!("{} {}", flow(&it.flow), it.run_id)
        }
        Row::Late(place) => glance.late[place].name.clone(),
        Row::Runs(place) => {
            let it = &glance.now[place].run;
            format!("{} {}", flow(&it.flow), it.run_id)
        }
        Row::Flow(place) => glance.flows[place].name.clone(),
    }
}
