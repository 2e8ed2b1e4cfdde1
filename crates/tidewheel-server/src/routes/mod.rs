//! What can be asked for, one file a room: each says its part of the table and what is done.
//!
//! Who may is decided at the [door](crate::door); what may be done, at the desk of the client.

mod access;
mod artifacts;
mod audit;
mod capacity;
mod events;
mod flows;
mod flowtoy;
mod glance;
mod growth;
mod health;
mod hooks;
mod login;
mod logs;
mod me;
mod openapi;
mod reading;
mod rooms;
mod runs;
mod schedules;
mod steer;

pub(crate) use login::Code;
pub(crate) use rooms::ROOMS;
