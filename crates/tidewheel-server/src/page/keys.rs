//! The keys of the page, and its marks.
//!
//! What they do is in its modules.

use askama::Template;
use axum::response::Response;

use super::frame::{Frame, page, page_route};
use super::words::{Markup, mark};
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

/// The marks of states, with what they mean.
const MARKS: [(&str, &str); 14] = [
    ("pending", "has not begun"),
    ("waiting", "waits for its turn"),
    ("running", "has begun"),
    ("succeeded", "went well"),
    ("failed", "did not go well"),
    ("skipped", "was not to be done"),
    ("cancelled", "was told to stop"),
    ("unknown", "nobody knows how it ended"),
    ("approval", "asks somebody"),
    ("paused", "starts nothing until it is resumed"),
    ("interrupted", "its process is gone"),
    ("late", "should have been there"),
    ("missed", "could not be made"),
    ("coming", "will be"),
];

impl Keys {
    fn marks(&self) -> impl Iterator<Item = (Markup, &'static str)> {
        MARKS.iter().map(|(word, about)| (mark(word), *about))
    }
}

async fn keys(call: Call) -> Result<Response, Problem> {
    page(&Keys { frame: Frame::of(&call, "keys") })
}
