//! The forms of values in serde: identities, instants, priorities, words, figures. Feature `serde`.
//!
//! They are for people's own documents, and kept: a form changes only as the interface of `tidewheel`
//! does. What stores keep has forms of its own, in `tidewheel`.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::de::{Error, Visitor};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::histogram::Histogram;
use crate::id::{AttemptId, RunId, ScheduleId, TaskId};
use crate::policy::Priority;
use crate::report::Counts;
use crate::row::RunResult;
use crate::statistics::{Overview, Statistics};
use crate::task::{Reason, TaskState};
use crate::time::Timestamp;

/// As it is printed, read as it is parsed.
macro_rules! as_text {
    ($($type:ty),+) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(D::Error::custom)
            }
        })+
    };
}

as_text!(RunId, ScheduleId, TaskId, AttemptId, Timestamp);

/// The number, 0 to 100.
impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.value())
    }
}

/// A number, clamped, or the name of a level.
impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl Visitor<'_> for Read {
            type Value = Priority;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a priority: 0 to 100, critical, high, normal, low or background")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Priority, E> {
                Ok(value.into())
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Priority, E> {
                Ok(value.into())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Priority, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Read)
    }
}

/// The word of rows and reports.
macro_rules! as_word {
    ($($type:ty),+) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        })+
    };
}

as_word!(TaskState, Reason, RunResult);

impl<'de> Deserialize<'de> for TaskState {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<'de, str>::deserialize(deserializer)?;
        let found = Self::ALL.into_iter().find(|state| state.word() == word);
        found.ok_or_else(|| D::Error::custom(format_args!("`{word}` is not the state of a task")))
    }
}

impl<'de> Deserialize<'de> for RunResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<'de, str>::deserialize(deserializer)?;
        let all = [Self::Succeeded, Self::Failed, Self::Cancelled];
        let found = all.into_iter().find(|result| result.word() == word);
        found.ok_or_else(|| D::Error::custom(format_args!("`{word}` is not the result of a run")))
    }
}

/// By state, those without tasks left out.
impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for state in TaskState::ALL.into_iter().filter(|state| self.of(*state) > 0) {
            map.serialize_entry(state.word(), &self.of(state))?;
        }
        map.end()
    }
}

/// How many there are and what they come to, in seconds.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Histogram", 8)?;
        let seconds = |value: Option<Duration>| value.map(|value| value.as_secs_f64());
        fields.serialize_field("count", &self.count())?;
        fields.serialize_field("sum", &self.sum().as_secs_f64())?;
        fields.serialize_field("min", &seconds(self.min()))?;
        fields.serialize_field("mean", &seconds(self.mean()))?;
        fields.serialize_field("p50", &seconds(self.quantile(0.5)))?;
        fields.serialize_field("p90", &seconds(self.quantile(0.9)))?;
        fields.serialize_field("p99", &seconds(self.quantile(0.99)))?;
        fields.serialize_field("max", &seconds(self.max()))?;
        fields.end()
    }
}

/// Writes a field under its own name, so that a new one cannot be forgotten: the pattern would not match.
macro_rules! struct_of {
    ($serializer:ident, $name:literal, $self:ident, { $($field:ident),+ $(,)? }) => {{
        let Self { $($field),+ } = $self;
        let count = [$(stringify!($field)),+].len();
        let mut fields = $serializer.serialize_struct($name, count)?;
        $(fields.serialize_field(stringify!($field), $field)?;)+
        fields.end()
    }};
}

impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct_of!(serializer, "Statistics", self, {
            active, queued, submitted, restored, completed, high_priority_completed,
            low_priority_completed, promotions, rejected, cancelled, skipped, failed,
            failed_unstarted, already_done, retried, lost, postponed, preempted, late, wait_time,
            run_time, due_lag,
        })
    }
}

/// Queues by name; times in seconds.
impl Serialize for Overview {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Queues<'a>(&'a [(std::sync::Arc<str>, Statistics)]);

        impl Serialize for Queues<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(name, figures)| (&**name, figures)))
            }
        }

        let queues = &Queues(&self.queues);
        let oldest_wait = &self.oldest_wait.as_secs_f64();
        let Self { total, slots, runs, delayed, backoff_level, schedules, timers, paused, .. } =
            self;
        let mut fields = serializer.serialize_struct("Overview", 10)?;
        fields.serialize_field("total", total)?;
        fields.serialize_field("queues", queues)?;
        fields.serialize_field("slots", slots)?;
        fields.serialize_field("runs", runs)?;
        fields.serialize_field("delayed", delayed)?;
        fields.serialize_field("backoff_level", backoff_level)?;
        fields.serialize_field("schedules", schedules)?;
        fields.serialize_field("timers", timers)?;
        fields.serialize_field("paused", paused)?;
        fields.serialize_field("oldest_wait", oldest_wait)?;
        fields.end()
    }
}
