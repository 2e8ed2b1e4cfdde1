//! What one change set comes to: the newest row of each task, and which of them need no row of their own.
//!
//! Pure, and the same for every store that writes rows; how they are written is each store's business.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tidewheel_core::id::{RunId, TaskId};
use tidewheel_core::row::{Change, PriorityRow, RunChange, RunRow, SubmissionRow, TaskRow};
use tidewheel_core::spec::TaskSpec;
use tidewheel_core::task::TaskState;
use tidewheel_core::time::Timestamp;

use super::records::says_attempt_ended;

/// A change set with everything left out that is replaced within it.
#[derive(Debug, Default)]
pub(super) struct Coalesced<'a> {
    /// What was accepted, in order: each takes the next place.
    pub accepted: Vec<Accepted<'a>>,
    /// Tasks that were added to runs.
    pub added: Vec<(TaskId, &'a Arc<TaskSpec>)>,
    /// Attempts that ended without their task, each of which is known by a row.
    pub ended: Vec<EndedAttempt<'a>>,
    /// What became of submissions, in the order in which they first appear.
    pub singles: Vec<Single<'a>>,
    /// The newest row of each task of a run, in the order in which they first appear.
    pub tasks: Vec<RunTask<'a>>,
    /// Priorities that were changed, in order.
    pub priorities: Vec<&'a PriorityRow>,
    /// Runs as a whole, in order.
    pub runs: Vec<&'a RunChange>,
    /// Everything else, in order.
    pub others: Vec<&'a Change>,
    places: HashMap<TaskId, usize>,
    single_places: HashMap<RunId, usize>,
}

/// Something that was accepted.
#[derive(Debug)]
pub(super) enum Accepted<'a> {
    Run(&'a RunRow),
    /// The submission at this place of [`Coalesced::singles`].
    Single(usize),
}

/// What a change set says of a submission.
#[derive(Debug)]
pub(super) struct Single<'a> {
    pub id: RunId,
    /// As accepted, if that was in this change set. If it has ended as well, it goes straight to history.
    pub accepted: Option<&'a SubmissionRow>,
    pub newest: Option<&'a TaskRow>,
    /// When its newest attempt began, if that was in this change set.
    pub started_at: Option<Timestamp>,
}

impl<'a> Single<'a> {
    /// The row with which it ended.
    pub fn ended(&self) -> Option<&'a TaskRow> {
        self.newest.filter(|row| row.state.is_terminal())
    }
}

/// What a change set says of a task of a run.
#[derive(Debug)]
pub(super) struct RunTask<'a> {
    pub newest: &'a TaskRow,
    /// When its newest attempt began, if that was in this change set.
    pub started_at: Option<Timestamp>,
}

/// An attempt that ended without its task.
#[derive(Debug)]
pub(super) struct EndedAttempt<'a> {
    pub row: &'a TaskRow,
    /// When it began, if that was in this change set; else the row that is stored says so.
    pub started_at: Option<Timestamp>,
    /// Whether it is of a submission.
    pub is_single: bool,
}

impl<'a> Coalesced<'a> {
    /// Coalesces a change set. `is_run` says which identities are runs, of those accepted before it.
    pub fn new(changes: &'a [Change], is_run: impl Fn(RunId) -> bool) -> Self {
        let mut coalesced = Self::default();
        let mut fresh = std::collections::HashSet::new();
        for change in changes {
            match change {
                Change::RunAccepted(row) => {
                    fresh.insert(row.id);
                    coalesced.accepted.push(Accepted::Run(row));
                }
                Change::SubmissionAccepted(row) => coalesced.accept_single(row),
                Change::TaskAdded { id, spec } => coalesced.added.push((*id, spec)),
                Change::TaskChanged(row) => {
                    let of_run = fresh.contains(&row.id.run) || is_run(row.id.run);
                    coalesced.change_task(row, of_run);
                }
                Change::PriorityChanged(row) => coalesced.priorities.push(row),
                Change::RunChanged(change) => coalesced.runs.push(change),
                other => coalesced.others.push(other),
            }
        }
        coalesced
    }

    fn accept_single(&mut self, row: &'a SubmissionRow) {
        let place = self.single(row.id);
        self.singles[place].accepted = Some(row);
        self.accepted.push(Accepted::Single(place));
    }

    fn change_task(&mut self, row: &'a TaskRow, of_run: bool) {
        let started_at = if of_run {
            let place = match self.places.entry(row.id) {
                Entry::Occupied(entry) => *entry.get(),
                Entry::Vacant(entry) => {
                    self.tasks.push(RunTask { newest: row, started_at: None });
                    *entry.insert(self.tasks.len() - 1)
                }
            };
            let task = &mut self.tasks[place];
            task.newest = row;
            &mut task.started_at
        } else {
            let place = self.single(row.id.run);
            let single = &mut self.singles[place];
            single.newest = Some(row);
            &mut single.started_at
        };
        let before = *started_at;
        if row.state == TaskState::Running {
            *started_at = Some(row.at);
        }
        if says_attempt_ended(row) {
            self.ended.push(EndedAttempt { row, started_at: before, is_single: !of_run });
        }
    }

    fn single(&mut self, id: RunId) -> usize {
        match self.single_places.entry(id) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let single = Single { id, accepted: None, newest: None, started_at: None };
                self.singles.push(single);
                *entry.insert(self.singles.len() - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tidewheel_core::policy::Priority;
    use tidewheel_core::spec::Profile;
    use tidewheel_core::task::Reason;

    use super::*;

    fn row(run: u128, index: u32, state: TaskState, attempts: u32, at: i64) -> Change {
        let reason = match state {
            TaskState::Delayed => Reason::Error,
            _ => Reason::Ordinary,
        };
        Change::TaskChanged(TaskRow {
            id: TaskId { run: RunId(run), index },
            state,
            reason,
            attempts,
            lost: 0,
            uncounted: 0,
            at: Timestamp::from_seconds(at),
            until: None,
            expires: None,
            released: false,
            error: None,
        })
    }

    fn accepted(id: u128) -> Change {
        Change::SubmissionAccepted(SubmissionRow {
            id: RunId(id),
            profile: Arc::new(Profile::default()),
            priority: Priority::NORMAL,
            deadline: None,
            key: None,
            accepted_at: Timestamp::from_seconds(1),
            firing: None,
            attachment: None,
        })
    }

    #[test]
    fn only_the_newest_row_of_a_task_is_left_with_when_it_began() {
        let changes = [
            row(1, 0, TaskState::Running, 1, 5),
            row(1, 1, TaskState::Ready, 0, 6),
            row(1, 0, TaskState::Succeeded, 1, 7),
        ];
        let coalesced = Coalesced::new(&changes, |run| run == RunId(1));
        let tasks: Vec<_> = coalesced
            .tasks
            .iter()
            .map(|task| (task.newest.id.index, task.newest.state, task.started_at))
            .collect();
        let began = Some(Timestamp::from_seconds(5));
        let expected = [(0, TaskState::Succeeded, began), (1, TaskState::Ready, None)];
        assert_eq!(tasks, expected);
        assert!(coalesced.singles.is_empty() && coalesced.ended.is_empty());
    }

    #[test]
    fn a_submission_that_is_accepted_and_ends_is_seen_whole() {
        let changes = [
            accepted(7),
            row(7, 0, TaskState::Running, 1, 2),
            accepted(8),
            row(7, 0, TaskState::Succeeded, 1, 3),
            row(9, 0, TaskState::Failed, 1, 4),
        ];
        let coalesced = Coalesced::new(&changes, |_| false);
        let singles: Vec<_> = coalesced
            .singles
            .iter()
            .map(|single| (single.id.0, single.accepted.is_some(), single.ended().is_some()))
            .collect();
        assert_eq!(singles, [(7, true, true), (8, true, false), (9, false, true)]);
        let places: Vec<_> = coalesced
            .accepted
            .iter()
            .map(|accepted| match accepted {
                Accepted::Run(_) => panic!("none is"),
                Accepted::Single(place) => coalesced.singles[*place].id.0,
            })
            .collect();
        assert_eq!(places, [7, 8], "in the order in which they came");
        assert_eq!(coalesced.singles[0].started_at, Some(Timestamp::from_seconds(2)));
    }

    #[test]
    fn each_attempt_that_another_follows_is_kept() {
        let changes = [
            row(1, 0, TaskState::Delayed, 1, 3),
            row(1, 0, TaskState::Running, 2, 4),
            row(1, 0, TaskState::Delayed, 2, 5),
            row(1, 0, TaskState::Running, 3, 6),
        ];
        let coalesced = Coalesced::new(&changes, |_| true);
        let ended: Vec<_> = coalesced
            .ended
            .iter()
            .map(|ended| (ended.row.attempts, ended.started_at, ended.is_single))
            .collect();
        // When the first one began is in the row that is stored.
        let expected = [(1, None, false), (2, Some(Timestamp::from_seconds(4)), false)];
        assert_eq!(ended, expected);
        assert_eq!(coalesced.tasks[0].started_at, Some(Timestamp::from_seconds(6)));
    }
}
