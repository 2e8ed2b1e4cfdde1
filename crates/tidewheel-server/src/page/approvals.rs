//! Steps that wait for somebody to say yes or no.
//!
//! What an answer does is in the interface.

use askama::Template;
use axum::response::Response;
use tidewheel::clock::wall_clock;

use super::frame::{Frame, page, page_route};
use super::overview::Asking;
use crate::door::Call;
use crate::problem::Problem;
use crate::table::Route;

pub(super) const ROUTES: &[Route] = &[page_route!(
    "page-approvals",
    "/approvals",
    "Steps that wait for somebody to say yes or no.",
    None,
    approvals
)];

#[derive(Template)]
#[template(path = "approvals.html")]
struct Approvals {
    frame: Frame,
    asking: Vec<Asking>,
    has_more: bool,
}

async fn approvals(call: Call) -> Result<Response, Problem> {
    let open = call.server.desk().here(|desk| desk.approvals()).await?;
    let now = wall_clock();
    let mut frame = Frame::of(&call, "approvals");
    frame.approvals = open.approvals.len();
    let asking = open.approvals.iter().map(|it| Asking::of(it, now)).collect();
    page(&Approvals { frame, asking, has_more: open.more })
}
