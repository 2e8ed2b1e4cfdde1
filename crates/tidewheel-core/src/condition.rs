//! Conditions over other tasks of a run: what must have become of them for a task to run.
//!
//! Plain data and its value for given ends; when it is asked, and what follows, is decided in
//! `scheduler/`. A dependency that a condition speaks of is not judged by the words for failures and
//! skips: the condition is all that is said about it.

use std::fmt;
use std::str::FromStr;

use crate::task::{Reason, TaskState};

/// Ways in which a task may have ended, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ends(u8);

impl Ends {
    /// It succeeded.
    pub const SUCCEEDED: Self = Self(1);
    /// It failed, or nobody can say whether it took effect.
    pub const FAILED: Self = Self(2);
    /// It was skipped by a condition.
    pub const DECLINED: Self = Self(4);
    /// It was skipped because something failed.
    pub const PREVENTED: Self = Self(8);
    /// It was cancelled.
    pub const CANCELLED: Self = Self(16);
    /// It was skipped, for whatever reason.
    pub const SKIPPED: Self = Self(4 | 8);
    /// It ended.
    pub const ANY: Self = Self(31);

    /// The single ways with their words.
    const WORDS: [(Self, &str); 5] = [
        (Self::SUCCEEDED, "succeeded"),
        (Self::FAILED, "failed"),
        (Self::DECLINED, "declined"),
        (Self::PREVENTED, "prevented"),
        (Self::CANCELLED, "cancelled"),
    ];

    /// One of these ways or of those.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// None of these ways.
    #[must_use]
    pub const fn not(self) -> Self {
        Self(Self::ANY.0 & !self.0)
    }

    /// The words of the single ways.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::WORDS.into_iter().filter(move |(way, _)| self.0 & way.0 != 0).map(|(_, word)| word)
    }

    /// Whether a task that is in this state for this reason has ended in one of these ways.
    #[must_use]
    pub const fn contains(self, state: TaskState, reason: Reason) -> bool {
        let way = match state {
            TaskState::Succeeded => Self::SUCCEEDED,
            TaskState::Failed | TaskState::Unknown => Self::FAILED,
            TaskState::Skipped if reason.is_declined() => Self::DECLINED,
            TaskState::Skipped => Self::PREVENTED,
            TaskState::Cancelled => Self::CANCELLED,
            _ => return false,
        };
        self.0 & way.0 != 0
    }
}

impl fmt::Debug for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.words()).finish()
    }
}

/// Text that is no way for a task to end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not one of succeeded, failed, declined, prevented, cancelled, skipped and ended"
)]
pub struct ParseEndsError {
    text: String,
}

/// One of the words, or `skipped` or `ended`.
impl FromStr for Ends {
    type Err = ParseEndsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known =
            Self::WORDS.into_iter().chain([(Self::SKIPPED, "skipped"), (Self::ANY, "ended")]);
        let mut found = known.filter(|(_, word)| *word == text).map(|(way, _)| way);
        found.next().ok_or_else(|| ParseEndsError { text: text.to_owned() })
    }
}

/// How many tasks of a clause must have ended as it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// All of them. Of no tasks it is true.
    All,
    /// At least one of them. It decides as soon as one has. Of no tasks it is false.
    Any,
}

/// Something said about some tasks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Clause {
    /// How many of them.
    pub quantifier: Quantifier,
    /// The tasks, by index; each must be a dependency of the task that has the condition.
    pub tasks: Vec<u32>,
    /// How they must have ended.
    pub ends: Ends,
}

impl Clause {
    /// All of these tasks ended in one of these ways.
    #[must_use]
    pub fn all(tasks: impl Into<Vec<u32>>, ends: Ends) -> Self {
        Self { quantifier: Quantifier::All, tasks: tasks.into(), ends }
    }

    /// At least one of these tasks ended in one of these ways.
    #[must_use]
    pub fn any(tasks: impl Into<Vec<u32>>, ends: Ends) -> Self {
        Self { quantifier: Quantifier::Any, tasks: tasks.into(), ends }
    }

    /// Its value, once that cannot change any more.
    fn value(&self, state_of: &impl Fn(u32) -> (TaskState, Reason)) -> Option<bool> {
        let decides = self.quantifier == Quantifier::Any;
        let mut is_open = false;
        for &task in &self.tasks {
            let (state, reason) = state_of(task);
            if !state.is_terminal() {
                is_open = true;
            } else if self.ends.contains(state, reason) == decides {
                return Some(decides);
            }
        }
        (!is_open).then_some(!decides)
    }
}

/// How a run, or a group, stands as a whole when all of it has ended but what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Nothing failed but what was tolerated, nothing was cancelled, and nothing stopped it.
    Succeeded,
    /// The contrary.
    Failed,
    /// Either way.
    Ended,
}

impl Standing {
    /// The word used in rows and scenarios.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Ended => "ended",
        }
    }
}

/// Under which condition a task runs. If it does not hold, the task is skipped without being started,
/// with [`Reason::Condition`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Condition {
    /// All of this is true of tasks that the task needs. It is decided as soon as it can be, which
    /// may be before all of them have ended.
    OfTasks(Vec<Clause>),
    /// The run stands so, or the innermost group that the task is in. The task *follows* it: it
    /// waits for all tasks of it that do not follow it as well, and a stop does not hold it up.
    OfWhole(Standing),
}

impl Condition {
    /// The tasks it speaks of, each once, in order.
    #[must_use]
    pub fn tasks(&self) -> Vec<u32> {
        let Self::OfTasks(clauses) = self else { return Vec::new() };
        let mut tasks: Vec<u32> = clauses.iter().flat_map(|it| it.tasks.iter().copied()).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    /// The same of other tasks: of those that `find` gives for its own.
    pub(crate) fn with_tasks<E>(&self, find: impl Fn(u32) -> Result<u32, E>) -> Result<Self, E> {
        let Self::OfTasks(clauses) = self else { return Ok(self.clone()) };
        let clauses = clauses.iter().map(|clause| {
            let tasks = clause.tasks.iter().map(|task| find(*task)).collect::<Result<_, E>>()?;
            Ok(Clause { tasks, ..clause.clone() })
        });
        Ok(Self::OfTasks(clauses.collect::<Result<_, E>>()?))
    }

    /// Whether its value may be known now that one of the tasks it speaks of has ended so, and others
    /// have not. It need not be asked for each of very many.
    pub(crate) fn is_moved_by(&self, state: TaskState, reason: Reason) -> bool {
        match self {
            Self::OfTasks(clauses) => match &clauses[..] {
                [one] => one.ends.contains(state, reason) == (one.quantifier == Quantifier::Any),
                _ => true,
            },
            Self::OfWhole(_) => false,
        }
    }

    /// Its value for tasks in these states, once that cannot change any more. What it says of the
    /// whole is not asked here.
    pub(crate) fn value(&self, state_of: impl Fn(u32) -> (TaskState, Reason)) -> Option<bool> {
        let Self::OfTasks(clauses) = self else { return None };
        let mut value = Some(true);
        for clause in clauses {
            match clause.value(&state_of) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => value = None,
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: (TaskState, Reason) = (TaskState::Running, Reason::Ordinary);
    const GOOD: (TaskState, Reason) = (TaskState::Succeeded, Reason::Ordinary);
    const BAD: (TaskState, Reason) = (TaskState::Failed, Reason::Error);
    const DECLINED: (TaskState, Reason) = (TaskState::Skipped, Reason::Condition);
    const PREVENTED: (TaskState, Reason) = (TaskState::Skipped, Reason::DependencyFailed(9));

    fn value(clauses: &[Clause], states: &[(TaskState, Reason)]) -> Option<bool> {
        Condition::OfTasks(clauses.to_vec()).value(|task| states[task as usize])
    }

    /// The rules by which other schedulers say when a task runs, over two tasks.
    #[test]
    fn the_usual_trigger_rules_can_be_said() {
        let bad = Ends::FAILED.or(Ends::PREVENTED);
        let both = || vec![0, 1];
        let min_one = Clause::any(both(), Ends::SUCCEEDED);
        let rules: [(&str, Vec<Clause>); 11] = [
            ("all_success", vec![Clause::all(both(), Ends::SUCCEEDED)]),
            ("all_failed", vec![Clause::all(both(), bad)]),
            ("all_done", vec![Clause::all(both(), Ends::ANY)]),
            ("all_skipped", vec![Clause::all(both(), Ends::DECLINED)]),
            ("one_failed", vec![Clause::any(both(), bad)]),
            ("one_success", vec![Clause::any(both(), Ends::SUCCEEDED)]),
            ("one_done", vec![Clause::any(both(), Ends::SUCCEEDED.or(Ends::FAILED))]),
            ("none_failed", vec![Clause::all(both(), bad.not())]),
            ("none_failed_min_one_success", vec![Clause::all(both(), bad.not()), min_one]),
            ("none_skipped", vec![Clause::all(both(), Ends::DECLINED.not())]),
            ("always", vec![]),
        ];
        let cases = [
            (
                [GOOD, GOOD],
                "all_success all_done one_success one_done none_failed none_failed_min_one_success none_skipped always",
            ),
            ([GOOD, BAD], "all_done one_failed one_success one_done none_skipped always"),
            ([BAD, BAD], "all_failed all_done one_failed one_done none_skipped always"),
            ([PREVENTED, BAD], "all_failed all_done one_failed one_done none_skipped always"),
            (
                [GOOD, DECLINED],
                "all_done one_success one_done none_failed none_failed_min_one_success always",
            ),
            ([DECLINED, DECLINED], "all_done all_skipped none_failed always"),
            ([DECLINED, BAD], "all_done one_failed one_done always"),
        ];
        for (states, true_ones) in cases {
            for (name, rule) in &rules {
                let expected = true_ones.split(' ').any(|one| one == *name);
                assert_eq!(value(rule, &states), Some(expected), "{name} of {states:?}");
            }
        }
        // Before all have ended: what one task decides is decided, the rest is open.
        let early = [
            ("one_failed", BAD, Some(true)),
            ("one_failed", GOOD, None),
            ("one_success", GOOD, Some(true)),
            ("one_done", GOOD, Some(true)),
            ("all_success", BAD, Some(false)),
            ("all_success", GOOD, None),
            ("all_failed", GOOD, Some(false)),
            ("none_failed", BAD, Some(false)),
            ("none_failed_min_one_success", GOOD, None),
            ("none_failed_min_one_success", BAD, Some(false)),
            ("none_skipped", DECLINED, Some(false)),
            ("all_done", BAD, None),
            ("always", OPEN, Some(true)),
        ];
        for (name, first, expected) in early {
            let (_, rule) = rules.iter().find(|(known, _)| *known == name).unwrap();
            assert_eq!(value(rule, &[first, OPEN]), expected, "{name} with {first:?} first");
            assert_eq!(value(rule, &[OPEN, first]), expected, "{name} with {first:?} second");
        }
    }

    #[test]
    fn of_no_tasks_all_is_true_and_any_is_false() {
        assert_eq!(value(&[Clause::all([], Ends::FAILED)], &[]), Some(true));
        assert_eq!(value(&[Clause::any([], Ends::ANY)], &[]), Some(false));
    }

    #[test]
    fn ways_to_end_are_read_by_their_words() {
        for word in ["succeeded", "failed", "declined", "prevented", "cancelled"] {
            assert_eq!(word.parse::<Ends>().unwrap().words().collect::<Vec<_>>(), [word]);
        }
        assert_eq!("skipped".parse(), Ok(Ends::DECLINED.or(Ends::PREVENTED)));
        assert_eq!("ended".parse(), Ok(Ends::ANY));
        assert!("done".parse::<Ends>().unwrap_err().to_string().contains("`done`"));
        assert_eq!(Ends::ANY.not().words().count(), 0);
    }
}
