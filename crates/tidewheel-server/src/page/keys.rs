//! The keys of the page.
//!
//! What they do is in its modules.

use askama::Template;
use axum::response::Response;

use super::frame::{Frame, page, page_route};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::Route;

pub(super) const ROUTES: &[Route] =
    &[page_route!("page-keys", "/keys", "The keys that the page knows.", None, keys)];

#[derive(Template)]
#[template(path = "keys.html")]
struct Keys {
    frame: Frame,
}

async fn keys(call: Call) -> Result<Response, Problem> {
    page(&Keys { frame: Frame::of(&call, "keys") })
}
