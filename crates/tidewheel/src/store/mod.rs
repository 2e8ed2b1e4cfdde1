//! Where decisions are kept: the [`Store`] trait and those beside it ([`Reader`], [`Records`], [`Outbox`],
//! [`Commons`]), its errors, and two stores in memory.
//!
//! A store never chooses, orders or skips work; it keeps rows and gives them back. What a store of your own is
//! given and gives is here too: a [`ChangeSet`] of [`rows`] and a [`Tenure`], a [`CommitProof`] and a [`Snapshot`].

#[cfg(feature = "sqlite")]
mod coalesce;
#[cfg(feature = "sqlite")]
pub(crate) mod codec;
mod commons;
pub mod conformance;
mod conformance_firings;
mod conformance_priorities;
mod conformance_sides;
mod durations;
mod inbox;
mod keep;
mod memory;
mod outbox;
mod question;
mod read;
mod reader;
mod record;
mod records;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod volatile;

pub use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
pub use tidewheel_core::row as rows;
pub use tidewheel_core::row::Snapshot;

pub use commons::{Commons, Placement, Settled};
pub use durations::durations;
pub use inbox::{CommandSource, RunCommand, ScheduleCommand, SentCommand};
pub use keep::{Pace, Store, StoreError};
pub use memory::Memory;
pub use outbox::{Outbox, Sent};
pub use question::{Previewed, Question, TaskAnswer, WhatIf};
pub use read::{
    FiringFate, FiringSummary, LimitSummary, QueueSummary, RunDetail, RunFilter, RunKind,
    RunSummary, ScheduleSummary, StoreCounts, TaskSummary,
};
pub use reader::Reader;
#[cfg(unix)]
pub use record::SharedShard;
pub use record::{
    Answer, AttemptRecord, AttemptTimes, LogFile, OutputRecord, OutputValue, RecordedOutcome,
    TaskResult, log_file, log_folder,
};
pub use records::Records;
pub use volatile::Volatile;

pub use crate::driver::{HeldId, HeldWork};
