//! The ready tasks of one run that share a priority and a class, in the run's own order.
//!
//! Tasks come in by rank (deadline, then longest path), first in first out within a rank. A task
//! that leaves the ready state in another way than by being taken stays linked until it is met.

use std::collections::{BTreeMap, VecDeque};

use super::rank_set::RankSet;
use crate::task::{NO_TASK, Task, TaskState};
use crate::time::Moment;

#[derive(Debug, Clone)]
pub(crate) struct ReadySet {
    /// The class its tasks belong to: queue and limits.
    pub class: u32,
    pub priority: u8,
    /// The party that its tasks belong to.
    pub party: u32,
    /// Whether the set stands in its lane.
    pub listed: bool,
    /// Whether its tasks stand in another set: it is there for as long as its lane knows it.
    pub is_retired: bool,
    /// Tasks in it that are ready.
    len: u32,
    ranks: Ranks,
    /// Tasks in the order in which they became ready; those taken since are left in until met.
    by_age: VecDeque<(u64, u32)>,
}

/// The tasks of each rank, linked one to the next: the first and the last of them.
#[derive(Debug, Clone)]
enum Ranks {
    /// A place for each rank that there is.
    Dense { occupied: RankSet, heads: Vec<u32>, tails: Vec<u32> },
    /// Those that have tasks.
    Sparse(Sparse),
}

impl Ranks {
    fn dense(ranks: usize) -> Self {
        let ranks = ranks.max(1);
        let (heads, tails) = (vec![NO_TASK; ranks], vec![NO_TASK; ranks]);
        Self::Dense { occupied: RankSet::new(ranks), heads, tails }
    }

    /// Puts a task behind the others of its rank.
    #[inline(always)]
    fn push(&mut self, tasks: &mut [Task], rank: u32, index: u32) {
        match self {
            Self::Dense { occupied, heads, tails } => {
                let place = rank as usize;
                if heads[place] == NO_TASK {
                    heads[place] = index;
                    occupied.insert(rank);
                } else {
                    tasks[tails[place] as usize].next = index;
                }
                tails[place] = index;
            }
            Self::Sparse(sparse) => sparse.push(tasks, rank, index),
        }
    }

    /// The first rank that has tasks, and the first of them.
    #[inline(always)]
    fn first(&self) -> Option<(u32, u32)> {
        match self {
            Self::Dense { occupied, heads, .. } => {
                occupied.first().map(|rank| (rank, heads[rank as usize]))
            }
            Self::Sparse(sparse) => sparse.first(),
        }
    }

    /// Lets the first task of the first rank go; `next` comes after it.
    #[inline(always)]
    fn advance(&mut self, rank: u32, next: u32) {
        match self {
            Self::Dense { occupied, heads, .. } => {
                heads[rank as usize] = next;
                if next == NO_TASK {
                    occupied.remove(rank);
                }
            }
            Self::Sparse(sparse) => sparse.advance(rank, next),
        }
    }
}

/// Ranks that have tasks, each with the first and the last of them. Few sets are so: it is kept out of the way of the others.
#[derive(Debug, Clone, Default)]
struct Sparse(BTreeMap<u32, (u32, u32)>);

impl Sparse {
    #[cold]
    #[inline(never)]
    fn push(&mut self, tasks: &mut [Task], rank: u32, index: u32) {
        let (_, last) = self.0.entry(rank).or_insert((index, index));
        if *last != index {
            tasks[*last as usize].next = index;
            *last = index;
        }
    }

    #[cold]
    #[inline(never)]
    fn first(&self) -> Option<(u32, u32)> {
        self.0.first_key_value().map(|(rank, (head, _))| (*rank, *head))
    }

    #[cold]
    #[inline(never)]
    fn advance(&mut self, rank: u32, next: u32) {
        if next == NO_TASK {
            self.0.remove(&rank);
        } else if let Some((head, _)) = self.0.get_mut(&rank) {
            *head = next;
        }
    }
}

impl ReadySet {
    /// A set of a run with so many ranks.
    pub fn new(class: u32, priority: u8, party: u32, ranks: usize) -> Self {
        Self::with(class, priority, party, Ranks::dense(ranks))
    }

    /// One of very many sets of a run, that must not each have a place for every rank.
    pub fn sparse(class: u32, priority: u8, party: u32) -> Self {
        Self::with(class, priority, party, Ranks::Sparse(Sparse::default()))
    }

    fn with(class: u32, priority: u8, party: u32, ranks: Ranks) -> Self {
        let (listed, is_retired, len, by_age) = (false, false, 0, VecDeque::new());
        Self { class, priority, party, listed, is_retired, len, ranks, by_age }
    }

    /// How its tasks are treated: class, priority and party.
    pub fn treatment(&self) -> (u32, u8, u32) {
        (self.class, self.priority, self.party)
    }

    /// Leaves the set without tasks, which stand in another one. What stands for it in its lane goes when it is met.
    pub fn retire(&mut self) {
        let emptied = Self::sparse(self.class, self.priority, self.party);
        *self = Self { listed: self.listed, is_retired: true, ..emptied };
    }

    /// Whether nobody knows it any more, so that its number can be given out again.
    pub fn is_spare(&self) -> bool {
        self.is_retired && !self.listed
    }

    /// Tasks in the order in which they became ready, by sequence and index; some are ready no longer.
    pub fn by_age(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.by_age.iter().copied()
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub fn push(&mut self, tasks: &mut [Task], index: u32) {
        let task = &mut tasks[index as usize];
        let (rank, sequence) = (task.rank, task.ready_sequence);
        task.next = NO_TASK;
        self.ranks.push(tasks, rank, index);
        self.by_age.push_back((sequence, index));
        self.len += 1;
    }

    /// The rank of the task that goes first inside the run, and when it became ready.
    pub fn first(&mut self, tasks: &[Task]) -> Option<(u32, u64)> {
        while let Some((rank, index)) = self.ranks.first() {
            let task = &tasks[index as usize];
            if task.state == TaskState::Ready {
                return Some((rank, task.ready_sequence));
            }
            self.ranks.advance(rank, task.next);
        }
        None
    }

    /// Takes the task that goes first inside the run.
    pub fn pop(&mut self, tasks: &[Task]) -> Option<u32> {
        while let Some((rank, index)) = self.ranks.first() {
            let task = &tasks[index as usize];
            self.ranks.advance(rank, task.next);
            if task.state == TaskState::Ready {
                self.len -= 1;
                if self.len == 0 {
                    self.by_age.clear();
                }
                return Some(index);
            }
        }
        None
    }

    /// A task of the set left the ready state without being taken.
    pub fn forget(&mut self) {
        self.len -= 1;
    }

    /// When the oldest of the ready tasks became ready.
    pub fn oldest(&mut self, tasks: &[Task]) -> Option<(u64, Moment)> {
        if self.len == 0 {
            return None;
        }
        while let Some(&(sequence, index)) = self.by_age.front() {
            let task = &tasks[index as usize];
            if task.state == TaskState::Ready && task.ready_sequence == sequence {
                self.compact(tasks);
                return Some((sequence, task.ready_at));
            }
            self.by_age.pop_front();
        }
        None
    }

    /// Keeps the list of ages from growing with tasks taken long ago.
    fn compact(&mut self, tasks: &[Task]) {
        if self.by_age.len() > 64 && self.by_age.len() / 4 > self.len as usize {
            self.by_age.retain(|&(sequence, index)| {
                let task = &tasks[index as usize];
                task.state == TaskState::Ready && task.ready_sequence == sequence
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ProfileId;

    const RANKS: u32 = 97;

    #[test]
    fn a_sparse_set_gives_its_tasks_in_the_order_of_a_dense_one() {
        let (mut dense, mut sparse) =
            (ReadySet::new(0, 50, 0, RANKS as usize), ReadySet::sparse(0, 50, 0));
        let mut tasks: Vec<Task> = (0..5_000).map(|_| Task::new(ProfileId(0), 50)).collect();
        // Places behind each other are kept in the tasks: each set has its own.
        let mut others = tasks.clone();
        let (mut state, mut waiting) = (1_u64, Vec::new());
        for index in 0..5_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let chance = state >> 33;
            for task in [&mut tasks[index as usize], &mut others[index as usize]] {
                (task.state, task.rank) = (TaskState::Ready, chance as u32 % RANKS);
                task.ready_sequence = u64::from(index) + 1;
            }
            dense.push(&mut tasks, index);
            sparse.push(&mut others, index);
            waiting.push(index);
            if chance.is_multiple_of(5) {
                // One leaves without being taken.
                let left = waiting.swap_remove(chance as usize / 5 % waiting.len());
                tasks[left as usize].state = TaskState::Cancelled;
                others[left as usize].state = TaskState::Cancelled;
                dense.forget();
                sparse.forget();
            }
            assert_eq!(dense.first(&tasks), sparse.first(&others));
            if chance.is_multiple_of(2)
                && let Some(taken) = dense.pop(&tasks)
            {
                assert_eq!(sparse.pop(&others), Some(taken));
                tasks[taken as usize].state = TaskState::Running;
                others[taken as usize].state = TaskState::Running;
                waiting.retain(|index| *index != taken);
            }
            assert_eq!((dense.len(), dense.oldest(&tasks)), (sparse.len(), sparse.oldest(&others)));
        }
        while let Some(taken) = dense.pop(&tasks) {
            assert_eq!(sparse.pop(&others), Some(taken));
            tasks[taken as usize].state = TaskState::Running;
            others[taken as usize].state = TaskState::Running;
        }
        assert_eq!((sparse.pop(&others), sparse.len(), sparse.first(&others)), (None, 0, None));
    }
}
