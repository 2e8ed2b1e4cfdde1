//! Questions about other priorities and the orders that would come of them, as they are written.
//!
//! Where they are kept until somebody reads them is the store's business.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::policy::Priority;
use tidewheel_core::{Preview, Prospect};

use super::CodecError;
use crate::store::Previewed;

/// What is asked about a run: a priority for it, or for one of its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Supposed {
    pub task: Option<u32>,
    pub priority: Priority,
}

/// A [`Supposed`]. It is told from other questions by its name.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SupposedRecord {
    Priority { task: Option<u32>, value: u8 },
}

impl SupposedRecord {
    pub(super) fn of(supposed: &Supposed) -> Self {
        Self::Priority { task: supposed.task, value: supposed.priority.value() }
    }

    #[allow(clippy::unnecessary_wraps, reason = "all records are read alike")]
    pub(super) fn into_value(self) -> Result<Supposed, CodecError> {
        let Self::Priority { task, value } = self;
        Ok(Supposed { task, priority: value.into() })
    }
}

/// A [`Previewed`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PreviewedRecord {
    Order { before: Vec<ProspectRecord>, after: Vec<ProspectRecord>, more: u64 },
    Refused { why: String },
}

/// A [`Prospect`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProspectRecord {
    run: String,
    task: u32,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_name: Option<String>,
    queue: String,
    priority: u8,
    effective: u8,
    is_changed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected_start: Option<Duration>,
}

impl PreviewedRecord {
    pub(super) fn of(previewed: &Previewed) -> Self {
        match previewed {
            Ok(Preview { before, after, more }) => Self::Order {
                before: before.iter().map(ProspectRecord::of).collect(),
                after: after.iter().map(ProspectRecord::of).collect(),
                more: *more,
            },
            Err(why) => Self::Refused { why: why.clone() },
        }
    }

    pub(super) fn into_value(self) -> Result<Previewed, CodecError> {
        let read = |records: Vec<ProspectRecord>| {
            records.into_iter().map(ProspectRecord::into_value).collect::<Result<Vec<_>, _>>()
        };
        Ok(match self {
            Self::Order { before, after, more } => {
                Ok(Preview { before: read(before)?, after: read(after)?, more })
            }
            Self::Refused { why } => Err(why),
        })
    }
}

impl ProspectRecord {
    fn of(prospect: &Prospect) -> Self {
        Self {
            run: prospect.task.run.to_string(),
            task: prospect.task.index,
            name: prospect.name.to_string(),
            run_name: prospect.run.as_deref().map(str::to_owned),
            queue: prospect.queue.to_string(),
            priority: prospect.priority,
            effective: prospect.effective,
            is_changed: prospect.is_changed,
            expected_start: prospect.expected_start,
        }
    }

    fn into_value(self) -> Result<Prospect, CodecError> {
        let run: RunId =
            self.run.parse().map_err(|_| CodecError::value("an order", self.run.as_str()))?;
        Ok(Prospect {
            task: TaskId { run, index: self.task },
            name: Arc::from(self.name),
            run: self.run_name.map(Arc::from),
            queue: Arc::from(self.queue),
            priority: self.priority,
            effective: self.effective,
            is_changed: self.is_changed,
            expected_start: self.expected_start,
        })
    }
}
