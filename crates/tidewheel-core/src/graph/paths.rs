//! Walks over a whole graph: topological order, levels, longest paths, and the search for a cycle.
//!
//! All are loops over flat arrays in time linear in tasks and edges; nothing recurses, so a chain of
//! a million tasks needs no more stack than a single one.

use super::Graph;

impl Graph {
    /// All tasks, each after everything it waits for.
    ///
    /// This is the index order when every edge leads to a greater index. Otherwise the roots come
    /// first, and each other task follows when its last dependency has come.
    #[must_use]
    pub fn topological_order(&self) -> Vec<u32> {
        if self.is_forward() { (0..self.len()).collect() } else { self.peel().0 }
    }

    /// The length of the longest path from any root to each task, counted in edges.
    #[must_use]
    pub fn levels(&self) -> Vec<u32> {
        let mut levels = vec![0; self.len() as usize];
        for index in self.topological_order() {
            let level = levels[index as usize] + 1;
            for &next in self.successors(index) {
                let known = &mut levels[next as usize];
                *known = level.max(*known);
            }
        }
        levels
    }

    /// For each task its estimate plus the longest path after it, in nanoseconds.
    ///
    /// A task without an estimate counts as one nanosecond, so that in a graph without estimates
    /// this is the number of tasks on the longest path.
    #[must_use]
    pub fn remaining_paths(&self) -> Vec<u64> {
        let mut paths = self.tails();
        for (path, index) in paths.iter_mut().zip(0..) {
            *path = path.saturating_add(self.weight(index));
        }
        paths
    }

    /// For each task the longest path after it, in nanoseconds, without the task itself.
    #[must_use]
    pub fn tails(&self) -> Vec<u64> {
        let mut tails = vec![0_u64; self.len() as usize];
        for index in self.topological_order().into_iter().rev() {
            let tail = self
                .successors(index)
                .iter()
                .map(|&next| tails[next as usize].saturating_add(self.weight(next)))
                .max();
            tails[index as usize] = tail.unwrap_or(0);
        }
        tails
    }

    /// One cycle, each task before the next and the last before the first, if there is any.
    pub(super) fn find_cycle(&self) -> Option<Vec<u32>> {
        if self.is_forward() {
            return None;
        }
        let (order, waiting) = self.peel();
        if order.len() == waiting.len() {
            return None;
        }
        // Every task that still waits does so for another such task, so walking backwards from any
        // of them must come round to where it has been.
        let mut cause = vec![None; waiting.len()];
        let is_stuck = |index: u32| waiting[index as usize] > 0;
        for before in (0..self.len()).filter(|&index| is_stuck(index)) {
            for &after in self.successors(before) {
                cause[after as usize].get_or_insert(before);
            }
        }
        let mut place = (0..self.len()).find(|&index| is_stuck(index))?;
        let mut seen = vec![false; waiting.len()];
        while !seen[place as usize] {
            seen[place as usize] = true;
            place = cause[place as usize]?;
        }
        let start = place;
        let mut cycle = vec![start];
        place = cause[place as usize]?;
        while place != start {
            cycle.push(place);
            place = cause[place as usize]?;
        }
        cycle.reverse();
        let least = cycle.iter().enumerate().min_by_key(|(_, index)| **index)?.0;
        cycle.rotate_left(least);
        Some(cycle)
    }

    /// Takes away tasks whose dependencies are all gone, again and again.
    ///
    /// Returns the order in which they went and, for each task, how many dependencies it still has;
    /// only tasks on a cycle or after one have any left.
    fn peel(&self) -> (Vec<u32>, Vec<u32>) {
        let mut waiting = self.dependency_counts().to_vec();
        let mut order = Vec::with_capacity(waiting.len());
        order.extend(self.roots());
        let mut position = 0;
        while let Some(&index) = order.get(position) {
            position += 1;
            for &next in self.successors(index) {
                let count = &mut waiting[next as usize];
                *count -= 1;
                if *count == 0 {
                    order.push(next);
                }
            }
        }
        (order, waiting)
    }
}
