//! The desk: what a person or a program may ask about runs and do with them, for every kind of work.
//!
//! Surfaces ask a [`Desk`]. What it says goes by what a data folder holds, which a [`LocalDesk`] reads; work that
//! runs is in a [session](crate::session). Nothing here parses arguments or shows anything.

mod again;
mod artifacts;
mod calendar;
#[expect(clippy::module_inception, reason = "the type has the name of the room")]
mod desk;
mod error;
mod explain;
mod find;
mod flows;
mod glance;
mod grid;
mod hints;
mod local;
mod logs;
mod look;
mod priority;
mod reach;
mod readers;
mod reading;
mod refused;
mod reuse;
mod schedules;
mod standing;
mod start;
mod states;
mod steer;
mod step;
mod steps;
mod surface;
mod tail;
mod unforeseen;
mod view;

pub use again::Resumption;
pub use calendar::ScheduleDays;
pub use desk::Desk;
pub use error::{DeskError, FolderProblem, NotStarted};
pub use local::LocalDesk;
pub use look::Changes;
pub use reach::{Reach, ReachError};
pub use reading::{LogOf, RawLog};
pub use reuse::Reuse;
pub use schedules::ScheduleWish;
pub use start::{SAMPLES, WORKERS_DEFAULT};
pub use states::{attempt_state, group_words, reason_words, run_state, step_state};
pub use step::WholeStep;
pub use steps::{Beside, WholeRun};
pub use surface::Surface;
pub use tail::{LogTail, Newest, log_path};
pub use view::{RunView, StepView};

pub(crate) use artifacts::{choose, new_file, plain};
pub(crate) use desk::blocking;
pub(crate) use glance::KnownFlow;
pub(crate) use reach::HELD_BY;
pub(crate) use schedules::{BACKFILL_MAX, near_schedule};
pub(crate) use start::{near_step, workers_of};
pub(crate) use states::{done_before, ended_by_itself, skip_words, timeout_words};
