//! What the commands about flows and runs share: files that are read, a wheel on a data folder, a
//! run that is watched, results that are shown.
//!
//! Each command is in its own file under `command/`; no rule of scheduling lives here.

mod files;
mod find;
mod logs;
mod progress;
mod result;
mod states;
mod status;
mod watch;
mod wheel;

pub(crate) use files::{known_params_of, load_files, params_again, params_of, report_problems};
pub(crate) use find::{find_run, flow_of, task_of};
pub(crate) use logs::{LogTail, STREAMS, log_path};
pub(crate) use result::{RunResultView, StepView, result_of};
pub(crate) use states::{run_state, task_state, timeout_words, words_of};
pub(crate) use status::StoredStatus;
pub(crate) use watch::{Beginning, Ending, Watch};
pub(crate) use wheel::{Session, SessionOptions, Takeover, end_left};
