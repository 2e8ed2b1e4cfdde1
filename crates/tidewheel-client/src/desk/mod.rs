//! The desk: what a person or a program may ask about runs and do with them, for every kind of work.
//!
//! All of it goes by what a data folder holds; work that runs is in a [session](crate::session). Nothing here
//! parses arguments or shows anything.

mod again;
#[expect(clippy::module_inception, reason = "the type has the name of the room")]
mod desk;
mod error;
mod explain;
mod find;
mod logs;
mod reuse;
mod start;
mod states;
mod steer;
mod tail;
mod view;

pub use again::Resumption;
pub use desk::{Desk, ListWish, StateWish};
pub use error::{DeskError, FolderProblem, NotStarted};
pub use logs::{LogWish, Logs};
pub use reuse::Reuse;
pub use start::{SAMPLES, WORKERS_DEFAULT, near_step, select, workers_of};
pub use states::{group_words, reason_words, run_state, step_state};
pub use steer::{CancelWish, Cancelled};
pub use tail::{LogTail, Newest, log_path};
pub use view::{Outputs, RunView, StepView};

pub(crate) use states::timeout_words;
