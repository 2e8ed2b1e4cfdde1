//! Commands for other processes as they are written.
//!
//! Where they are kept until somebody reads them is the store's business.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel_core::time::Timestamp;

use super::CodecError;
use crate::store::{RunCommand, ScheduleCommand};

/// A [`RunCommand`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommandRecord {
    Drain,
    Cancel { grace: Duration },
    End { grace: Duration },
    CancelTask { task: u32, grace: Duration },
    Replace { grace: Duration },
    Pause,
    Resume,
    SetPriority { task: Option<u32>, priority: u8 },
    PauseSchedule,
    ResumeSchedule,
    FireSchedule { asked_for: u64 },
    BackfillSchedule { nominal: i64, asked_for: u64, at_once: bool },
}

impl CommandRecord {
    pub(super) fn of(command: &RunCommand) -> Self {
        match command {
            RunCommand::Drain => Self::Drain,
            RunCommand::Cancel { grace } => Self::Cancel { grace: *grace },
            RunCommand::End { grace } => Self::End { grace: *grace },
            RunCommand::CancelTask { task, grace } => {
                Self::CancelTask { task: *task, grace: *grace }
            }
            RunCommand::Replace { grace } => Self::Replace { grace: *grace },
            RunCommand::Pause => Self::Pause,
            RunCommand::Resume => Self::Resume,
            RunCommand::SetPriority { task, priority } => {
                Self::SetPriority { task: *task, priority: priority.value() }
            }
            RunCommand::OfSchedule(command) => match *command {
                ScheduleCommand::Pause => Self::PauseSchedule,
                ScheduleCommand::Resume => Self::ResumeSchedule,
                ScheduleCommand::FireNow { asked_for } => Self::FireSchedule { asked_for },
                ScheduleCommand::Backfill { nominal, asked_for, at_once } => {
                    Self::BackfillSchedule { nominal: nominal.as_micros(), asked_for, at_once }
                }
            },
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "all records are read alike")]
    pub(super) fn into_value(self) -> Result<RunCommand, CodecError> {
        Ok(match self {
            Self::Drain => RunCommand::Drain,
            Self::Cancel { grace } => RunCommand::Cancel { grace },
            Self::End { grace } => RunCommand::End { grace },
            Self::CancelTask { task, grace } => RunCommand::CancelTask { task, grace },
            Self::Replace { grace } => RunCommand::Replace { grace },
            Self::Pause => RunCommand::Pause,
            Self::Resume => RunCommand::Resume,
            Self::SetPriority { task, priority } => {
                RunCommand::SetPriority { task, priority: priority.into() }
            }
            Self::PauseSchedule => RunCommand::OfSchedule(ScheduleCommand::Pause),
            Self::ResumeSchedule => RunCommand::OfSchedule(ScheduleCommand::Resume),
            Self::FireSchedule { asked_for } => {
                RunCommand::OfSchedule(ScheduleCommand::FireNow { asked_for })
            }
            Self::BackfillSchedule { nominal, asked_for, at_once } => {
                let nominal = Timestamp::from_micros(nominal);
                RunCommand::OfSchedule(ScheduleCommand::Backfill { nominal, asked_for, at_once })
            }
        })
    }
}
