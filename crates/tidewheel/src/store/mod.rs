//! Where decisions are kept: the [`Store`] trait, its errors, and two stores in memory.
//!
//! A store never chooses, orders or skips work; it keeps rows and gives them back.

#[cfg(feature = "sqlite")]
pub(crate) mod codec;
mod commons;
pub mod conformance;
mod conformance_firings;
mod inbox;
mod keep;
mod memory;
mod question;
mod read;
mod record;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod volatile;

pub use commons::{Commons, Placement, Settled};
pub use inbox::{CommandSource, RunCommand, SentCommand};
pub use keep::{Pace, Store, StoreError};
pub use memory::Memory;
pub use question::{Question, TaskAnswer};
pub use read::{
    FiringFate, FiringSummary, LimitSummary, QueueSummary, RunDetail, RunFilter, RunKind,
    RunSummary, ScheduleSummary, StoreCounts, TaskSummary,
};
#[cfg(unix)]
pub use record::SharedShard;
pub use record::{
    Answer, AttemptRecord, LogFile, OutputRecord, OutputValue, RecordedOutcome, TaskResult,
    log_file, log_folder,
};
pub use volatile::Volatile;

pub use crate::driver::{HeldId, HeldWork};
