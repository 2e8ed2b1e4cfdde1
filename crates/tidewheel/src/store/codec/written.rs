//! [`Written`]: what has a written form, and the version around it.
//!
//! The forms themselves are in the files beside this one.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tidewheel_core::row::Wanted;
use tidewheel_core::schedule::{ScheduleSpec, ScheduleState};
use tidewheel_core::spec::{LimitSpec, Profile, QueueSpec, RunSpec, TaskSpec};

use super::run::{RunRecord, TaskRecord};
use super::{capacity, command, preview, profile, schedule};
use crate::store::{Previewed, RunCommand, StoreError};

/// The version this program writes. A change that older programs would misread raises it: version 2
/// knows groups and conditions, which a program that passes over them would run as if they were not
/// there. What older versions say is read as it is.
const VERSION: u32 = 2;

/// Why something cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CodecError {
    /// It was written by a newer program.
    #[error("{what} has version {found}, this program knows up to {VERSION}; upgrade tidewheel")]
    Newer {
        /// What kind of text.
        what: &'static str,
        /// Its version.
        found: u32,
    },
    /// The text is not what it should be.
    #[error("{what} is not readable: {source}")]
    Text {
        /// What kind of text.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// A value is not one this program knows.
    #[error("{what} says `{found}`, which means nothing here")]
    Value {
        /// What kind of value.
        what: &'static str,
        /// The value.
        found: String,
    },
}

impl CodecError {
    pub(super) fn value(what: &'static str, found: impl Into<String>) -> Self {
        Self::Value { what, found: found.into() }
    }
}

impl From<CodecError> for StoreError {
    fn from(error: CodecError) -> Self {
        Self::Corrupt { what: error.to_string() }
    }
}

/// Something with a written form.
pub(crate) trait Written: Sized {
    /// The form, as plain data.
    type Record: Serialize + DeserializeOwned;
    /// What it is called in messages.
    const WHAT: &'static str;

    fn to_record(&self) -> Self::Record;
    fn from_record(record: Self::Record) -> Result<Self, CodecError>;
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    v: u32,
    #[serde(rename = "is")]
    value: &'a T,
}

#[derive(Deserialize)]
struct Opened<T> {
    v: u32,
    #[serde(rename = "is")]
    value: T,
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

/// The text of `value`.
pub(crate) fn write<T: Written>(value: &T) -> Result<String, CodecError> {
    write_record::<T>(&value.to_record())
}

/// The text of a record.
pub(crate) fn write_record<T: Written>(record: &T::Record) -> Result<String, CodecError> {
    serde_json::to_string(&Envelope { v: VERSION, value: record })
        .map_err(|source| CodecError::Text { what: T::WHAT, source })
}

/// What `text` says.
pub(crate) fn read<T: Written>(text: &str) -> Result<T, CodecError> {
    T::from_record(read_record::<T>(text)?)
}

/// The record that `text` says.
pub(crate) fn read_record<T: Written>(text: &str) -> Result<T::Record, CodecError> {
    match serde_json::from_str::<Opened<T::Record>>(text) {
        Ok(Opened { v: 1..=VERSION, value }) => Ok(value),
        Ok(Opened { v, .. }) => Err(CodecError::Newer { what: T::WHAT, found: v }),
        // The version comes first in importance: a newer text need not look like ours at all.
        Err(source) => match serde_json::from_str::<Version>(text) {
            Ok(Version { v }) if v > VERSION => Err(CodecError::Newer { what: T::WHAT, found: v }),
            _ => Err(CodecError::Text { what: T::WHAT, source }),
        },
    }
}

macro_rules! written {
    ($type:ty, $record:ty, $what:literal) => {
        impl Written for $type {
            type Record = $record;
            const WHAT: &'static str = $what;

            fn to_record(&self) -> Self::Record {
                <$record>::of(self)
            }

            fn from_record(record: Self::Record) -> Result<Self, CodecError> {
                record.into_value()
            }
        }
    };
}

written!(Profile, profile::ProfileRecord, "a profile");
written!(QueueSpec, capacity::QueueRecord, "a queue");
written!(LimitSpec, capacity::LimitRecord, "a limit");
written!(RunSpec, RunRecord, "a run");
written!(TaskSpec, TaskRecord, "an added task");
written!(ScheduleSpec, schedule::ScheduleRecord, "a schedule");
written!(RunCommand, command::CommandRecord, "a command");
written!(preview::Supposed, preview::SupposedRecord, "a question");
written!(Previewed, preview::PreviewedRecord, "an order");
written!(ScheduleState, schedule::StateRecord, "the state of a schedule");
written!(Vec<Wanted>, schedule::WantedRecord, "runs that are wanted");
