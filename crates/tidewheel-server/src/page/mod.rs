//! The page: what people look at, made on the server from the documents that programs get.
//!
//! Each file is one page: its routes, what it asks for, and the values of its template in the folder `page`, where the
//! style sheet and the modules are that enliven it. No rule is here; what may be done is done through the routes of
//! the interface.

mod access;
mod approvals;
mod assets;
mod axis;
mod bars;
mod calendar;
mod flow;
mod form;
mod frame;
mod gantt;
mod grid;
mod keys;
mod link;
mod overview;
mod packed;
mod queues;
mod refused;
mod rooms;
mod run;
mod runs;
mod schedules;
mod slots;
mod step;
mod story;
mod strip;
mod system;
mod tabs;
mod words;

pub(crate) use packed::packed;
pub(crate) use refused::refused;
pub(crate) use rooms::PAGES;
