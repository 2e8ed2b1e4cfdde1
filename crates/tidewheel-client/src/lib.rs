//! What a person or a program may ask of Tidewheel and do with it, once for all surfaces.
//!
//! A [`Desk`](desk::Desk) answers questions about runs and takes wishes about them, here or elsewhere;
//! [`FlowFiles`](files::FlowFiles) become runs, and a [`Session`](session::Session) is a wheel on a data folder, on
//! which runs are started or taken over;
//! a [`House`](house::House) is one that lasts, with flows whose schedules fire.
//! [`Progress`](progress::Progress) tells how a run goes on. All that leaves a process is in [`api`], the one
//! serialised contract; [`kind`] says what is known of different kinds of work, [`log`] reads what steps wrote as
//! numbered lines, however long it is, and [`text`] makes foreign text fit to be shown.
//!
//! How anything looks on a surface (colours, tables, screens, pages) and how it is asked for (arguments,
//! routes, keys) is the surface's business.
#![forbid(unsafe_code)]

pub mod api;
pub mod desk;
pub mod files;
pub mod house;
pub mod kind;
pub mod log;
pub mod progress;
pub mod remote;
pub mod session;
pub mod text;
pub mod traces;

/// What other kinds of work need of files: their text as data, and graphs drawn.
pub use tidewheel_flow::{parse_yaml, picture};
