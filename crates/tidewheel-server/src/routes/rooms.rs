//! The rooms that there are.
//!
//! What is in them is in the files beside.

use super::{access, artifacts, audit, health, login, logs, me, openapi, runs, steer};
use crate::table::Route;

/// The routes of all rooms.
pub(crate) const ROOMS: [&[Route]; 10] = [
    health::ROUTES,
    login::ROUTES,
    me::ROUTES,
    openapi::ROUTES,
    runs::ROUTES,
    steer::ROUTES,
    logs::ROUTES,
    artifacts::ROUTES,
    access::ROUTES,
    audit::ROUTES,
];
