//! Groups of tasks: a called flow, or the parts of one step, within a run.
//!
//! What callers say of them. How groups of a live run stand is in `level`, what follows from that is
//! decided in `scheduler/`.

use crate::policy::{OnError, OnSkip};

/// A group: tasks that one task, its *end*, stands for.
///
/// The end is not in the group but beside it. What the end needs, the whole group waits for; what is
/// said of the end (words, condition, clean-up) is said of the whole; what becomes of the group is
/// what becomes of the end. The end itself starts when all of its group has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSpec {
    /// How failures inside are judged.
    pub kind: GroupKind,
    /// How many of its tasks are under way at once; `None`: no bound of its own. A group inside counts as
    /// one, from its beginning until all of it has ended. The opener has no part in it.
    pub at_once: Option<u32>,
    /// A task of the group that must succeed before the others begin. Its failure is that of the end;
    /// if it is skipped by a condition, so is the whole.
    pub opener: Option<u32>,
    /// The tasks in it, the opener too, by index; those of groups inside it not.
    pub members: Vec<u32>,
}

/// How failures inside a group are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GroupKind {
    /// A run within the run, with words of its own. A failure inside may stop the group; it fails the
    /// end when all of the group has ended, unless it is tolerated.
    Call {
        /// The word for failures inside where neither task has one.
        on_error: OnError,
        /// The word for skips by a condition inside where neither task has one.
        on_skip: OnSkip,
    },
    /// Parts of one step. The failure of a part is that of the end, and is judged as such at once.
    Parts,
}

/// The part of a task in groups, for tasks that are added to a live run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Membership {
    /// The end of the group that the task is in.
    pub group: Option<u32>,
    /// Whether it is the opener of that group.
    pub opens: bool,
    /// For the end of a new group: its kind.
    pub ends: Option<GroupKind>,
    /// For the end of a new group: how many of its tasks are under way at once.
    pub at_once: Option<u32>,
}
