//! Reports in serde. Feature `serde`.
//!
//! The forms of states, identities and figures are the core's. Values that tasks returned are not in it:
//! only whoever knows their types can write them.

use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::report::{RunReport, TaskLine};

/// The run and every task of it; times in seconds.
impl Serialize for RunReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Tasks<'a>(&'a RunReport);

        impl Serialize for Tasks<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.0.tasks())
            }
        }

        let mut fields = serializer.serialize_struct("RunReport", 7)?;
        fields.serialize_field("id", &self.id())?;
        fields.serialize_field("name", self.name())?;
        fields.serialize_field("result", &self.result())?;
        fields.serialize_field("accepted_at", &self.accepted_at())?;
        fields.serialize_field("elapsed", &self.elapsed().as_secs_f64())?;
        fields.serialize_field("counts", &self.counts())?;
        fields.serialize_field("tasks", &Tasks(self))?;
        fields.end()
    }
}

/// One task; times in seconds, what there is not is null.
impl Serialize for TaskLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seconds = |value: Option<Duration>| value.map(|value| value.as_secs_f64());
        let mut fields = serializer.serialize_struct("TaskLine", 9)?;
        fields.serialize_field("name", &self.name())?;
        fields.serialize_field("state", &self.state())?;
        fields.serialize_field("reason", &self.reason())?;
        fields.serialize_field("cause", &self.cause())?;
        fields.serialize_field("attempts", &self.attempts())?;
        fields.serialize_field("error", &self.error().as_deref())?;
        fields.serialize_field("started_after", &seconds(self.started_after()))?;
        fields.serialize_field("ended_after", &seconds(self.ended_after()))?;
        fields.serialize_field("elapsed", &seconds(self.elapsed()))?;
        fields.end()
    }
}
