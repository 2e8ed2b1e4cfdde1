//! Groups and conditions as they are written.
//!
//! Whether they make sense was checked before they were accepted.

use serde::{Deserialize, Serialize};
use tidewheel_core::condition::{Clause, Condition, Ends, Quantifier, Standing};
use tidewheel_core::group::{GroupKind, GroupSpec, Membership};
use tidewheel_core::policy::OnSkip;

use super::CodecError;
use super::profile::{is_false, on_error_of, on_skip_of};

/// A [`Condition`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConditionRecord {
    Tasks(Vec<ClauseRecord>),
    Whole(StandingRecord),
}

/// A [`Clause`]: the tasks, and the words of how they must have ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClauseRecord {
    All(Vec<u32>, Vec<String>),
    Any(Vec<u32>, Vec<String>),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StandingRecord {
    Succeeded,
    Failed,
    Ended,
}

impl ConditionRecord {
    pub(super) fn of(condition: &Condition) -> Self {
        match condition {
            Condition::OfTasks(clauses) => {
                Self::Tasks(clauses.iter().map(ClauseRecord::of).collect())
            }
            Condition::OfWhole(standing) => Self::Whole(match standing {
                Standing::Succeeded => StandingRecord::Succeeded,
                Standing::Failed => StandingRecord::Failed,
                Standing::Ended => StandingRecord::Ended,
            }),
        }
    }

    pub(super) fn into_value(self) -> Result<Condition, CodecError> {
        Ok(match self {
            Self::Tasks(clauses) => Condition::OfTasks(
                clauses.into_iter().map(ClauseRecord::into_value).collect::<Result<_, _>>()?,
            ),
            Self::Whole(standing) => Condition::OfWhole(match standing {
                StandingRecord::Succeeded => Standing::Succeeded,
                StandingRecord::Failed => Standing::Failed,
                StandingRecord::Ended => Standing::Ended,
            }),
        })
    }
}

impl ClauseRecord {
    fn of(clause: &Clause) -> Self {
        let words = clause.ends.words().map(str::to_owned).collect();
        match clause.quantifier {
            Quantifier::All => Self::All(clause.tasks.clone(), words),
            Quantifier::Any => Self::Any(clause.tasks.clone(), words),
        }
    }

    fn into_value(self) -> Result<Clause, CodecError> {
        let (quantifier, tasks, words) = match self {
            Self::All(tasks, words) => (Quantifier::All, tasks, words),
            Self::Any(tasks, words) => (Quantifier::Any, tasks, words),
        };
        let mut ends = Ends::ANY.not();
        for word in words {
            let way = word.parse().map_err(|_| CodecError::value("the end of a task", word))?;
            ends = ends.or(way);
        }
        Ok(Clause { quantifier, tasks, ends })
    }
}

/// A [`GroupKind`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KindRecord {
    Call {
        on_error: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_skip: Option<String>,
    },
    Parts,
}

impl KindRecord {
    fn of(kind: GroupKind) -> Self {
        match kind {
            GroupKind::Call { on_error, on_skip } => Self::Call {
                on_error: on_error.to_string(),
                on_skip: (on_skip != OnSkip::default()).then(|| on_skip.to_string()),
            },
            GroupKind::Parts => Self::Parts,
        }
    }

    fn into_value(self) -> Result<GroupKind, CodecError> {
        Ok(match self {
            Self::Call { on_error, on_skip } => GroupKind::Call {
                on_error: on_error_of(&on_error)?,
                on_skip: on_skip.as_deref().map(on_skip_of).transpose()?.unwrap_or_default(),
            },
            Self::Parts => GroupKind::Parts,
        })
    }
}

/// A [`GroupSpec`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GroupRecord {
    kind: KindRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_once: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    opener: Option<u32>,
    members: Vec<u32>,
}

impl GroupRecord {
    pub(super) fn of(group: &GroupSpec) -> Self {
        let (at_once, opener, members) = (group.at_once, group.opener, group.members.clone());
        Self { kind: KindRecord::of(group.kind), at_once, opener, members }
    }

    pub(super) fn into_value(self) -> Result<GroupSpec, CodecError> {
        let Self { kind, at_once, opener, members } = self;
        Ok(GroupSpec { kind: kind.into_value()?, at_once, opener, members })
    }
}

/// A [`Membership`].
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct MembershipRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    #[serde(default, skip_serializing_if = "is_false")]
    opens: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ends: Option<KindRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_once: Option<u32>,
}

impl MembershipRecord {
    pub(super) fn of(membership: Membership) -> Option<Self> {
        let Membership { group, opens, ends, at_once } = membership;
        let record = Self { group, opens, ends: ends.map(KindRecord::of), at_once };
        (membership != Membership::default()).then_some(record)
    }

    pub(super) fn into_value(self) -> Result<Membership, CodecError> {
        let Self { group, opens, ends, at_once } = self;
        let ends = ends.map(KindRecord::into_value).transpose()?;
        Ok(Membership { group, opens, ends, at_once })
    }
}
