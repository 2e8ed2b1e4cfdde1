//! How far along each vertex stands: after everything it waits for, and near to it.
//!
//! The order within a rank is in [`super::layers`].

use super::skeleton::Skeleton;

/// Rounds after which edges are short enough.
const ROUNDS_MAX: usize = 8;

/// The number of links on the longest way to each vertex.
pub(super) fn levels(skeleton: &Skeleton) -> Vec<usize> {
    let mut levels = vec![0; skeleton.len()];
    for vertex in &skeleton.order {
        levels[*vertex] =
            skeleton.sources_of(*vertex).map(|source| levels[source] + 1).max().unwrap_or(0);
    }
    levels
}

/// Ranks that lengthen no path and shorten edges: a step that only a late one waits for stands
/// before that.
pub(super) fn ranks(skeleton: &Skeleton) -> Vec<usize> {
    let mut ranks = levels(skeleton);
    for _ in 0..ROUNDS_MAX {
        let mut has_moved = false;
        for vertex in skeleton.order.iter().rev() {
            has_moved |= pull_down(skeleton, &mut ranks, *vertex);
        }
        for vertex in &skeleton.order {
            has_moved |= pull_up(skeleton, &mut ranks, *vertex);
        }
        if !has_moved {
            break;
        }
    }
    ranks
}

/// Moves a vertex next to what waits for it, where that makes its edges no longer in all.
fn pull_down(skeleton: &Skeleton, ranks: &mut [usize], vertex: usize) -> bool {
    if skeleton.below[vertex].len() < skeleton.above[vertex].len() {
        return false;
    }
    let Some(nearest) = skeleton.targets_of(vertex).map(|target| ranks[target]).min() else {
        return false;
    };
    std::mem::replace(&mut ranks[vertex], nearest - 1) != nearest - 1
}

/// Moves a vertex next to what it waits for, where that makes its edges shorter in all.
fn pull_up(skeleton: &Skeleton, ranks: &mut [usize], vertex: usize) -> bool {
    if skeleton.above[vertex].len() < skeleton.below[vertex].len() {
        return false;
    }
    let Some(nearest) = skeleton.sources_of(vertex).map(|source| ranks[source]).max() else {
        return false;
    };
    std::mem::replace(&mut ranks[vertex], nearest + 1) != nearest + 1
}
