//! Runs, and tasks added to them, as they are written.
//!
//! Payloads and their kinds are not part of the text: they have columns of their own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidewheel_core::policy::OnSkip;
use tidewheel_core::spec::{
    Attachment, Busy, OnStop, OnceKey, RunGroup, RunOptions, RunOrder, RunSpec, TaskSpec,
};

use super::CodecError;
use super::graph::GraphRecord;
use super::group::{ConditionRecord, GroupRecord, MembershipRecord};
use super::profile::{ProfileRecord, is_false, on_error_of, on_skip_of};

/// A [`RunSpec`], without its payload and its kind.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunRecord {
    pub(crate) graph: GraphRecord,
    options: OptionsRecord,
    profiles: Vec<ProfileRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    profile_of: Vec<u16>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    deadlines: BTreeMap<u32, Duration>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<u32, Arc<str>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    conditions: BTreeMap<u32, ConditionRecord>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    groups: BTreeMap<u32, GroupRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    already_done: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    once: Option<OnceRecord>,
}

impl RunRecord {
    pub(super) fn of(spec: &RunSpec) -> Self {
        let profiles = spec.profiles.iter().map(|profile| ProfileRecord::of(profile));
        Self {
            graph: GraphRecord::of(&spec.graph),
            options: OptionsRecord::of(&spec.options),
            profiles: profiles.collect(),
            profile_of: spec.profile_of.clone(),
            deadlines: spec.deadlines.clone(),
            keys: spec.keys.clone(),
            conditions: spec
                .conditions
                .iter()
                .map(|(index, condition)| (*index, ConditionRecord::of(condition)))
                .collect(),
            groups: spec.groups.iter().map(|(end, it)| (*end, GroupRecord::of(it))).collect(),
            already_done: spec.already_done.clone(),
            once: spec.attachment.once.as_ref().map(OnceRecord::of),
        }
    }

    pub(super) fn into_value(self) -> Result<RunSpec, CodecError> {
        let profiles = self.profiles.into_iter().map(|record| record.into_value().map(Arc::new));
        Ok(RunSpec {
            graph: Arc::new(self.graph.into_value()?),
            options: self.options.into_value()?,
            profiles: profiles.collect::<Result<_, _>>()?,
            profile_of: self.profile_of,
            deadlines: self.deadlines,
            keys: self.keys,
            conditions: self
                .conditions
                .into_iter()
                .map(|(index, record)| Ok((index, Arc::new(record.into_value()?))))
                .collect::<Result<_, CodecError>>()?,
            groups: self
                .groups
                .into_iter()
                .map(|(end, record)| Ok((end, record.into_value()?)))
                .collect::<Result<_, CodecError>>()?,
            already_done: self.already_done,
            attachment: Attachment {
                payload: None,
                kind: None,
                once: self.once.map(OnceRecord::into_value).transpose()?,
            },
            // They have rows of their own.
            defines: Vec::new(),
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct OptionsRecord {
    name: Arc<str>,
    queue: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Duration>,
    on_error: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_skip: Option<String>,
    /// The grace with which running attempts are told to stop; none: they finish.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop_grace: Option<Duration>,
    order: OrderRecord,
    #[serde(default, skip_serializing_if = "is_false")]
    keep_open: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    paused: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<RunGroupRecord>,
}

/// A [`RunGroup`].
#[derive(Debug, Serialize, Deserialize)]
struct RunGroupRecord {
    name: Arc<str>,
    max: u32,
    busy: String,
}

impl RunGroupRecord {
    fn of(group: &RunGroup) -> Self {
        let busy = stored_word(group.busy).to_owned();
        Self { name: group.name.clone(), max: group.max, busy }
    }

    fn into_value(self) -> Result<RunGroup, CodecError> {
        let busy = Busy::ALL.into_iter().find(|busy| stored_word(*busy) == self.busy);
        let busy = busy.ok_or_else(|| CodecError::value("what a busy group means", &self.busy))?;
        Ok(RunGroup { name: self.name, max: self.max, busy })
    }
}

/// The word in rows. What keeps the newest was once called as what keeps the first is now, and rows of then mean it.
const fn stored_word(busy: Busy) -> &'static str {
    match busy {
        Busy::QueueOne => "queue-first",
        Busy::QueueNewest => "queue-one",
        other => other.word(),
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OrderRecord {
    CriticalPath,
    LatestFinish,
    Deadline,
    Fifo,
}

impl OptionsRecord {
    fn of(options: &RunOptions) -> Self {
        Self {
            name: options.name.clone(),
            queue: options.queue.clone(),
            slots: options.slots,
            timeout: options.timeout,
            on_error: options.on_error.to_string(),
            on_skip: (options.on_skip != OnSkip::default()).then(|| options.on_skip.to_string()),
            stop_grace: match options.on_stop {
                OnStop::Finish => None,
                OnStop::Cancel { grace } => Some(grace),
            },
            order: match options.order {
                RunOrder::CriticalPath => OrderRecord::CriticalPath,
                RunOrder::LatestFinish => OrderRecord::LatestFinish,
                RunOrder::Deadline => OrderRecord::Deadline,
                RunOrder::Fifo => OrderRecord::Fifo,
            },
            keep_open: options.keep_open,
            paused: options.paused,
            group: options.group.as_ref().map(RunGroupRecord::of),
        }
    }

    fn into_value(self) -> Result<RunOptions, CodecError> {
        Ok(RunOptions {
            name: self.name,
            queue: self.queue,
            slots: self.slots,
            timeout: self.timeout,
            on_error: on_error_of(&self.on_error)?,
            on_skip: self.on_skip.as_deref().map(on_skip_of).transpose()?.unwrap_or_default(),
            on_stop: match self.stop_grace {
                None => OnStop::Finish,
                Some(grace) => OnStop::Cancel { grace },
            },
            order: match self.order {
                OrderRecord::CriticalPath => RunOrder::CriticalPath,
                OrderRecord::LatestFinish => RunOrder::LatestFinish,
                OrderRecord::Deadline => RunOrder::Deadline,
                OrderRecord::Fifo => RunOrder::Fifo,
            },
            keep_open: self.keep_open,
            paused: self.paused,
            group: self.group.map(RunGroupRecord::into_value).transpose()?,
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct OnceRecord {
    key: Arc<str>,
    /// In hexadecimal: JSON has no numbers of this size.
    digest: String,
}

impl OnceRecord {
    fn of(once: &OnceKey) -> Self {
        Self { key: once.key.clone(), digest: format!("{:032x}", once.digest) }
    }

    fn into_value(self) -> Result<OnceKey, CodecError> {
        let digest = u128::from_str_radix(&self.digest, 16)
            .map_err(|_| CodecError::value("a digest", self.digest))?;
        Ok(OnceKey { key: self.key, digest })
    }
}

/// A [`TaskSpec`], without its payload.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskRecord {
    pub(crate) name: Arc<str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) after: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) before: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    condition: Option<ConditionRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    membership: Option<MembershipRecord>,
    profile: ProfileRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimate: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<Duration>,
}

impl TaskRecord {
    pub(super) fn of(spec: &TaskSpec) -> Self {
        Self {
            name: spec.name.clone(),
            after: spec.after.clone(),
            before: spec.before.clone(),
            condition: spec.condition.as_deref().map(ConditionRecord::of),
            membership: MembershipRecord::of(spec.membership),
            profile: ProfileRecord::of(&spec.profile),
            estimate: spec.estimate,
            key: spec.key.clone(),
            deadline: spec.deadline,
        }
    }

    pub(super) fn into_value(self) -> Result<TaskSpec, CodecError> {
        Ok(TaskSpec {
            name: self.name,
            after: self.after,
            before: self.before,
            condition: self.condition.map(ConditionRecord::into_value).transpose()?.map(Arc::new),
            membership: self.membership.unwrap_or_default().into_value()?,
            profile: Arc::new(self.profile.into_value()?),
            estimate: self.estimate,
            key: self.key,
            deadline: self.deadline,
            payload: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_was_stored_before_keeps_the_newest() {
        let stored = r#"{"name":"deploy","max":1,"busy":"queue-one"}"#;
        let record: RunGroupRecord = serde_json::from_str(stored).unwrap();
        let group = record.into_value().unwrap();
        assert_eq!(group.busy, Busy::QueueNewest);
        assert_eq!(serde_json::to_string(&RunGroupRecord::of(&group)).unwrap(), stored);
        for busy in Busy::ALL {
            let group = RunGroup { busy, ..group.clone() };
            assert_eq!(RunGroupRecord::of(&group).into_value().unwrap(), group);
        }
    }
}
