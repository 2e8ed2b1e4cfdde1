//! The pages that there are.
//!
//! What is on them is in the files beside.

use super::{
    access, approvals, assets, flow, form, keys, overview, queues, run, runs, schedules, step,
    story, system,
};
use crate::table::Route;

/// The routes of all pages.
pub(crate) const PAGES: [&[Route]; 14] = [
    assets::ROUTES,
    overview::ROUTES,
    flow::ROUTES,
    form::ROUTES,
    runs::ROUTES,
    run::ROUTES,
    step::ROUTES,
    story::ROUTES,
    queues::ROUTES,
    schedules::ROUTES,
    approvals::ROUTES,
    system::ROUTES,
    access::ROUTES,
    keys::ROUTES,
];
