//! Tests of `tidewheel`, in one program: each is linked once.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod books;
mod capacity;
mod common;
mod docs;
mod firings;
mod groups;
mod handles;
#[cfg(feature = "http")]
mod http_answers;
#[cfg(feature = "http")]
mod http_connections;
#[cfg(feature = "http")]
mod http_fixture;
#[cfg(feature = "http")]
mod http_repeats;
#[cfg(feature = "http")]
mod http_targets;
mod lifecycle;
mod live_run;
#[cfg(feature = "metrics")]
mod metrics;
mod not_begun;
mod observe;
mod priorities;
mod records;
mod recovery;
mod run;
mod schedule;
mod schedule_names;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "sqlite")]
mod shared_limits;
#[cfg(feature = "sqlite")]
mod sqlite_arrivals;
#[cfg(feature = "sqlite")]
mod sqlite_common;
#[cfg(feature = "sqlite")]
mod sqlite_firings;
#[cfg(feature = "sqlite")]
mod sqlite_folder;
#[cfg(feature = "sqlite")]
mod sqlite_measure;
#[cfg(feature = "sqlite")]
mod sqlite_moving;
#[cfg(feature = "sqlite")]
mod sqlite_processes;
#[cfg(feature = "sqlite")]
mod sqlite_store;
#[cfg(feature = "sqlite")]
mod sqlite_upkeep;
#[cfg(feature = "sqlite")]
mod sqlite_wheel;
mod store;
mod submit;
mod told;
#[cfg(feature = "tracing")]
mod tracing;
