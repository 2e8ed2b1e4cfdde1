//! The rooms that there are.
//!
//! What is in them is in the files beside.

use super::{
    access, artifacts, audit, capacity, events, flows, flowtoy, glance, health, hooks, login, logs,
    me, openapi, reading, runs, schedules, steer,
};
use crate::table::Route;

/// The routes of all rooms.
pub(crate) const ROOMS: [&[Route]; 18] = [
    health::ROUTES,
    login::ROUTES,
    me::ROUTES,
    openapi::ROUTES,
    flows::ROUTES,
    runs::ROUTES,
    steer::ROUTES,
    logs::ROUTES,
    reading::ROUTES,
    artifacts::ROUTES,
    schedules::ROUTES,
    hooks::ROUTES,
    capacity::ROUTES,
    glance::ROUTES,
    events::ROUTES,
    flowtoy::ROUTES,
    access::ROUTES,
    audit::ROUTES,
];
