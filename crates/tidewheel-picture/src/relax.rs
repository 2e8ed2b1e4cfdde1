//! Drawing together what [`super::align`] has spread too far: edges pull like springs.
//!
//! Dense graphs have few places where edges can be straight, and straight ones there push
//! everything apart. The order of the cells stays, and so do the distances.

use super::layers::Layers;

/// How often everything may be pulled, as far as the effort allows.
const ROUNDS_MAX: usize = 60;
const EFFORT_MAX: usize = 1_500_000;
/// How hard an edge pulls by how many of its ends are bends, and on the critical path.
const PULLS: [f64; 3] = [1.0, 2.0, 8.0];
const CRITICAL_PULL: f64 = 16.0;

/// Pulls connected cells together, then makes long edges straight where there is room.
pub(super) fn relax(layers: &Layers, centres: &mut [f64], distance: &dyn Fn(usize, usize) -> f64) {
    let size = layers.vertices.len() + layers.above.iter().map(Vec::len).sum::<usize>();
    let rounds = (EFFORT_MAX / size.max(1)).clamp(4, ROUNDS_MAX);
    let count = layers.rows.len();
    for round in 0..rounds {
        for step in 0..count {
            let rank = if round % 2 == 0 { step } else { count - 1 - step };
            settle(layers, &layers.rows[rank], centres, distance);
        }
    }
    for run in runs(layers) {
        straighten(layers, &run, centres, distance);
    }
}

/// Puts the cells of a row as near as can be to where their edges pull them.
///
/// Cells that would come too near to each other are joined into a pool that moves as one, which
/// gives the least sum of squares.
fn settle(
    layers: &Layers,
    row: &[usize],
    centres: &mut [f64],
    distance: &dyn Fn(usize, usize) -> f64,
) {
    // Without the distances before it, each cell only has to be not less than the one before.
    let mut offsets = Vec::with_capacity(row.len());
    let mut offset = 0.0;
    let mut pools: Vec<Pool> = Vec::with_capacity(row.len());
    for (at, cell) in row.iter().enumerate() {
        if at > 0 {
            offset += distance(row[at - 1], *cell);
        }
        offsets.push(offset);
        let (wanted, weight) = pull(layers, *cell, centres);
        let mut pool = Pool { sum: (wanted - offset) * weight, weight, count: 1 };
        while let Some(last) = pools.pop_if(|last| last.place() > pool.place()) {
            pool.sum += last.sum;
            pool.weight += last.weight;
            pool.count += last.count;
        }
        pools.push(pool);
    }
    let places = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.place(), pool.count));
    for ((cell, offset), place) in row.iter().zip(offsets).zip(places) {
        centres[*cell] = place + offset;
    }
}

/// Neighbours that move as one.
struct Pool {
    sum: f64,
    weight: f64,
    count: usize,
}

impl Pool {
    fn place(&self) -> f64 {
        self.sum / self.weight
    }
}

/// Where a cell is pulled to, and how hard.
fn pull(layers: &Layers, cell: usize, centres: &[f64]) -> (f64, f64) {
    let (mut sum, mut weight) = (0.0, 0.0);
    for other in layers.above[cell].iter().chain(&layers.below[cell]) {
        let is_critical = layers.critical_above[cell] == Some(*other)
            || layers.critical_below[cell] == Some(*other);
        let bends = [cell, *other].iter().filter(|one| layers.vertices[**one].is_none()).count();
        let pull = if is_critical { CRITICAL_PULL } else { PULLS[bends] };
        sum += centres[*other] * pull;
        weight += pull;
    }
    if weight == 0.0 { (centres[cell], 0.01) } else { (sum / weight, weight) }
}

/// The cells that should be in line: the critical path, then the bends of each long edge.
fn runs(layers: &Layers) -> Vec<Vec<usize>> {
    let mut runs = Vec::new();
    for cell in layers.rows.iter().flatten() {
        if layers.critical_above[*cell].is_some() {
            continue;
        }
        let next = |cell: &usize| layers.critical_below[*cell];
        let run: Vec<usize> = std::iter::successors(Some(*cell), next).collect();
        if run.len() > 1 {
            runs.push(run);
        }
    }
    for chain in &layers.chains {
        let is_bend = |cell: &usize| layers.vertices[*cell].is_none();
        let run: Vec<usize> = chain.cells.iter().copied().filter(is_bend).collect();
        let is_critical = run.iter().any(|cell| layers.critical_below[*cell].is_some());
        if run.len() > 1 && !is_critical {
            runs.push(run);
        }
    }
    runs
}

/// Puts as many consecutive cells as can be onto one line each.
fn straighten(
    layers: &Layers,
    run: &[usize],
    centres: &mut [f64],
    distance: &dyn Fn(usize, usize) -> f64,
) {
    let mut start = 0;
    while start < run.len() {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut end = start;
        let mut sum = 0.0;
        while end < run.len() {
            let room = room(layers, run[end], centres, distance);
            if low.max(room.0) > high.min(room.1) {
                break;
            }
            (low, high) = (low.max(room.0), high.min(room.1));
            sum += centres[run[end]];
            end += 1;
        }
        // Rounding may have left a cell without any room; it stays where it is.
        let end = end.max(start + 1);
        if end - start > 1 {
            let line = (sum / (end - start) as f64).clamp(low, high);
            run[start..end].iter().for_each(|cell| centres[*cell] = line);
        }
        start = end;
    }
}

/// How far a cell can move without its neighbours.
fn room(
    layers: &Layers,
    cell: usize,
    centres: &[f64],
    distance: &dyn Fn(usize, usize) -> f64,
) -> (f64, f64) {
    let rank = layers.ranks[cell];
    let row = &layers.rows[rank];
    let at = layers.positions[cell];
    let low = match at {
        0 => f64::NEG_INFINITY,
        _ => centres[row[at - 1]] + distance(row[at - 1], cell),
    };
    let high = match row.get(at + 1) {
        None => f64::INFINITY,
        Some(next) => centres[*next] - distance(cell, *next),
    };
    (low, high)
}
