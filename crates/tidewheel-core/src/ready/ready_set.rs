//! The ready tasks of one run that share a priority and a class, in the run's own order.
//!
//! Tasks come in by rank (deadline, then longest path), first in first out within a rank. A task
//! that leaves the ready state in another way than by being taken stays linked until it is met.

use std::collections::VecDeque;

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
    occupied: RankSet,
    heads: Vec<u32>,
    tails: Vec<u32>,
    /// Tasks in the order in which they became ready; those taken since are left in until met.
    by_age: VecDeque<(u64, u32)>,
}

impl ReadySet {
    pub fn new(class: u32, priority: u8, party: u32, ranks: usize) -> Self {
        let ranks = ranks.max(1);
        Self {
            class,
            priority,
            party,
            listed: false,
            is_retired: false,
            len: 0,
            occupied: RankSet::new(ranks),
            heads: vec![NO_TASK; ranks],
            tails: vec![NO_TASK; ranks],
            by_age: VecDeque::new(),
        }
    }

    /// Leaves the set without tasks, which stand in another one. What stands for it in its lane goes when it is met.
    pub fn retire(&mut self) {
        let emptied = Self::new(self.class, self.priority, self.party, 1);
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
        let rank = tasks[index as usize].rank as usize;
        tasks[index as usize].next = NO_TASK;
        if self.heads[rank] == NO_TASK {
            self.heads[rank] = index;
            self.occupied.insert(rank as u32);
        } else {
            tasks[self.tails[rank] as usize].next = index;
        }
        self.tails[rank] = index;
        self.by_age.push_back((tasks[index as usize].ready_sequence, index));
        self.len += 1;
    }

    /// The rank of the task that goes first inside the run, and when it became ready.
    pub fn first(&mut self, tasks: &[Task]) -> Option<(u32, u64)> {
        while let Some(rank) = self.occupied.first() {
            let task = &tasks[self.heads[rank as usize] as usize];
            if task.state == TaskState::Ready {
                return Some((rank, task.ready_sequence));
            }
            self.heads[rank as usize] = task.next;
            if task.next == NO_TASK {
                self.occupied.remove(rank);
            }
        }
        None
    }

    /// Takes the task that goes first inside the run.
    pub fn pop(&mut self, tasks: &[Task]) -> Option<u32> {
        while let Some(rank) = self.occupied.first() {
            let index = self.heads[rank as usize];
            let task = &tasks[index as usize];
            self.heads[rank as usize] = task.next;
            if task.next == NO_TASK {
                self.occupied.remove(rank);
            }
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
