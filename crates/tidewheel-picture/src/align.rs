//! Where the cells of a row go: four times as straight as can be, then what lies in the middle.
//!
//! The method is that of Brandes and Köpf. Cells are aligned with the median of what they are
//! connected with, once for each corner of the picture; blocks of aligned cells are pushed
//! together as far as the distances allow. Critical edges and the inner parts of long edges come
//! out straight. The order of the cells is given and is never changed here.

use std::collections::BTreeSet;

use super::layers::Layers;

/// The centre of every cell across the ranks, with `distance` or more between neighbours.
pub(super) fn centres(layers: &Layers, distance: &dyn Fn(usize, usize) -> f64) -> Vec<f64> {
    let conflicts = conflicts(layers);
    let mut corners = Vec::with_capacity(4);
    for is_upward in [false, true] {
        for is_mirrored in [false, true] {
            let view = View::new(layers, is_upward, is_mirrored);
            let blocks = view.blocks(&conflicts);
            let mut centres = view.compact(&blocks, distance);
            if is_mirrored {
                centres.iter_mut().for_each(|centre| *centre = -*centre);
            }
            corners.push((centres, is_mirrored));
        }
    }
    middle(corners)
}

/// Links that must not be straight because they cross one that should be.
fn conflicts(layers: &Layers) -> BTreeSet<(usize, usize)> {
    let mut conflicts = BTreeSet::new();
    let is_inner = |upper: usize, lower: usize| {
        layers.vertices[upper].is_none() && layers.vertices[lower].is_none()
    };
    let is_critical = |upper: usize, lower: usize| layers.critical_above[lower] == Some(upper);
    mark(layers, &is_critical, &|_, _| false, &mut conflicts);
    mark(layers, &is_inner, &is_critical, &mut conflicts);
    conflicts
}

/// Marks every link that crosses a preferred one and is neither preferred nor exempt itself.
fn mark(
    layers: &Layers,
    is_preferred: &dyn Fn(usize, usize) -> bool,
    is_exempt: &dyn Fn(usize, usize) -> bool,
    conflicts: &mut BTreeSet<(usize, usize)>,
) {
    for pair in layers.rows.windows(2) {
        let (upper_row, row) = (&pair[0], &pair[1]);
        let mut scanned = 0;
        let mut low = 0;
        for (at, cell) in row.iter().enumerate() {
            let partner =
                layers.above[*cell].iter().copied().find(|upper| is_preferred(*upper, *cell));
            if partner.is_none() && at + 1 < row.len() {
                continue;
            }
            let high = partner.map_or(upper_row.len(), |upper| layers.positions[upper]);
            for lower in &row[scanned..=at] {
                for upper in &layers.above[*lower] {
                    let position = layers.positions[*upper];
                    let is_crossing = position < low || position > high;
                    if is_crossing && !is_preferred(*upper, *lower) && !is_exempt(*upper, *lower) {
                        conflicts.insert((*upper, *lower));
                    }
                }
            }
            scanned = at + 1;
            low = low.max(if partner.is_some() { high } else { low });
        }
    }
}

/// The layers as seen from one corner.
struct View<'a> {
    layers: &'a Layers,
    rows: Vec<Vec<usize>>,
    positions: Vec<usize>,
    is_upward: bool,
}

impl<'a> View<'a> {
    fn new(layers: &'a Layers, is_upward: bool, is_mirrored: bool) -> Self {
        let mut rows = layers.rows.clone();
        if is_upward {
            rows.reverse();
        }
        if is_mirrored {
            rows.iter_mut().for_each(|row| row.reverse());
        }
        let mut positions = vec![0; layers.vertices.len()];
        for row in &rows {
            row.iter().enumerate().for_each(|(at, cell)| positions[*cell] = at);
        }
        Self { layers, rows, positions, is_upward }
    }

    /// For every cell the first cell of the block it is aligned with.
    fn blocks(&self, conflicts: &BTreeSet<(usize, usize)>) -> Vec<usize> {
        let mut roots: Vec<usize> = (0..self.layers.vertices.len()).collect();
        let mut partners = Vec::new();
        for row in self.rows.iter().skip(1) {
            let mut free_from = 0;
            for cell in row {
                self.partners(*cell, &mut partners);
                let partner = partners.iter().copied().find(|other| {
                    let link = if self.is_upward { (*cell, *other) } else { (*other, *cell) };
                    self.positions[*other] >= free_from
                        && self.is_for(*cell, *other)
                        && !conflicts.contains(&link)
                });
                if let Some(other) = partner {
                    roots[*cell] = roots[other];
                    free_from = self.positions[other] + 1;
                }
            }
        }
        roots
    }

    /// What a cell wants to be aligned with, the best first.
    fn partners(&self, cell: usize, partners: &mut Vec<usize>) {
        let layers = self.layers;
        let others = if self.is_upward { &layers.below } else { &layers.above };
        partners.clear();
        partners.extend(&others[cell]);
        partners.sort_unstable_by_key(|other| self.positions[*other]);
        let count = partners.len();
        if count > 2 {
            let (low, high) = ((count - 1) / 2, count / 2);
            partners.truncate(high + 1);
            partners.drain(..low);
        }
        let critical = if self.is_upward { &layers.critical_below } else { &layers.critical_above };
        if let Some(critical) = critical[cell] {
            partners.insert(0, critical);
        }
    }

    /// Whether the other cell is not kept for one on the critical path.
    fn is_for(&self, cell: usize, other: usize) -> bool {
        let layers = self.layers;
        let critical = if self.is_upward { &layers.critical_above } else { &layers.critical_below };
        critical[other].is_none_or(|critical| critical == cell)
    }

    /// Pushes blocks to one side as far as they go, then back as far as nothing else moves.
    fn compact(&self, roots: &[usize], distance: &dyn Fn(usize, usize) -> f64) -> Vec<f64> {
        let count = roots.len();
        let mut after: Vec<Vec<(usize, f64)>> = vec![Vec::new(); count];
        let mut waits_for = vec![0_usize; count];
        for row in &self.rows {
            for pair in row.windows(2) {
                let (left, right) = (roots[pair[0]], roots[pair[1]]);
                after[left].push((right, distance(pair[0], pair[1])));
                waits_for[right] += 1;
            }
        }
        let mut centres = vec![0.0_f64; count];
        let mut order: Vec<usize> =
            (0..count).filter(|cell| roots[*cell] == *cell && waits_for[*cell] == 0).collect();
        let mut next = 0;
        while let Some(block) = order.get(next).copied() {
            next += 1;
            for (right, distance) in &after[block] {
                centres[*right] = centres[*right].max(centres[block] + distance);
                waits_for[*right] -= 1;
                if waits_for[*right] == 0 {
                    order.push(*right);
                }
            }
        }
        for block in order.iter().rev() {
            let room = after[*block].iter().map(|(right, distance)| centres[*right] - distance);
            if let Some(room) = room.min_by(f64::total_cmp) {
                centres[*block] = centres[*block].max(room);
            }
        }
        roots.iter().map(|root| centres[*root]).collect()
    }
}

/// The mean of the two middle ones of four places, after the four have been laid together.
fn middle(mut corners: Vec<(Vec<f64>, bool)>) -> Vec<f64> {
    let ends = |centres: &[f64]| {
        let first = centres.iter().copied().fold(f64::INFINITY, f64::min);
        (first, centres.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let narrowest = corners
        .iter()
        .map(|(centres, _)| ends(centres))
        .min_by(|one, other| (one.1 - one.0).total_cmp(&(other.1 - other.0)))
        .unwrap_or((0.0, 0.0));
    for (centres, is_mirrored) in &mut corners {
        let (first, last) = ends(centres);
        let shift = if *is_mirrored { narrowest.1 - last } else { narrowest.0 - first };
        centres.iter_mut().for_each(|centre| *centre += shift);
    }
    let count = corners.first().map_or(0, |(centres, _)| centres.len());
    (0..count)
        .map(|cell| {
            let mut places: Vec<f64> = corners.iter().map(|(centres, _)| centres[cell]).collect();
            places.sort_by(f64::total_cmp);
            f64::midpoint(places[1], places[2])
        })
        .collect()
}
