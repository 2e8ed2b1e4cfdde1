//! Questions to the owner of a run and its answers, as they are written.
//!
//! Where they are kept until somebody reads them is the store's business.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel_core::explain::Place;

use super::words::state_of;
use super::{CodecError, Written};
use crate::store::TaskAnswer;

/// The tasks that are asked about.
impl Written for Vec<u32> {
    type Record = Vec<u32>;
    const WHAT: &'static str = "a question";

    fn to_record(&self) -> Self::Record {
        self.clone()
    }

    fn from_record(record: Self::Record) -> Result<Self, CodecError> {
        Ok(record)
    }
}

impl Written for Vec<TaskAnswer> {
    type Record = Vec<AnswerRecord>;
    const WHAT: &'static str = "an answer";

    fn to_record(&self) -> Self::Record {
        self.iter().map(AnswerRecord::of).collect()
    }

    fn from_record(record: Self::Record) -> Result<Self, CodecError> {
        record.into_iter().map(AnswerRecord::into_value).collect()
    }
}

/// A [`TaskAnswer`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AnswerRecord {
    task: u32,
    state: String,
    holds: Vec<String>,
    place: Option<PlaceRecord>,
    expected_start: Option<Duration>,
}

/// A [`Place`].
#[derive(Debug, Serialize, Deserialize)]
struct PlaceRecord {
    queue: String,
    priority: u8,
    effective: u8,
    waited: Duration,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unpassed_in: Option<Duration>,
    ahead: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fair_by: Option<Arc<str>>,
}

impl AnswerRecord {
    fn of(answer: &TaskAnswer) -> Self {
        Self {
            task: answer.task,
            state: answer.state.to_string(),
            holds: answer.holds.clone(),
            place: answer.place.as_ref().map(|place| PlaceRecord {
                queue: place.queue.to_string(),
                priority: place.priority,
                effective: place.effective,
                waited: place.waited,
                unpassed_in: place.unpassed_in,
                ahead: place.ahead,
                fair_by: place.fair_by.clone(),
            }),
            expected_start: answer.expected_start,
        }
    }

    fn into_value(self) -> Result<TaskAnswer, CodecError> {
        Ok(TaskAnswer {
            task: self.task,
            state: state_of(&self.state)?,
            holds: self.holds,
            place: self.place.map(|place| Place {
                queue: Arc::from(place.queue),
                priority: place.priority,
                effective: place.effective,
                waited: place.waited,
                unpassed_in: place.unpassed_in,
                ahead: place.ahead,
                fair_by: place.fair_by,
            }),
            expected_start: self.expected_start,
        })
    }
}
