//! The cells of each rank and their order, such that few edges cross.
//!
//! A cell is a vertex or a bend: where an edge passes a rank on its way to a later one. Where
//! cells go exactly is in [`super::align`].

use super::skeleton::Skeleton;

/// More bends than this are not worth their time; the longest edges are then drawn without any.
const BENDS_MAX: usize = 40_000;
/// How many cells and links may be looked at in all rounds together.
const EFFORT_MAX: usize = 2_000_000;
const ROUNDS_MAX: usize = 24;
/// Up to this many cells and links, neighbours are exchanged one by one as well.
const EXCHANGE_MAX: usize = 3_000;

/// One connected part of a graph, rank by rank.
pub(super) struct Layers {
    /// The vertex of each cell; none for a bend.
    pub(super) vertices: Vec<Option<usize>>,
    /// The rank of each cell.
    pub(super) ranks: Vec<usize>,
    /// The cells of each rank, in order.
    pub(super) rows: Vec<Vec<usize>>,
    /// Where a cell stands in its row.
    pub(super) positions: Vec<usize>,
    /// For each cell the connected ones one rank before.
    pub(super) above: Vec<Vec<usize>>,
    /// For each cell the connected ones one rank later.
    pub(super) below: Vec<Vec<usize>>,
    /// The cell before this one on the critical path.
    pub(super) critical_above: Vec<Option<usize>>,
    /// The cell after this one on the critical path.
    pub(super) critical_below: Vec<Option<usize>>,
    /// The cells that each link passes, with those at its ends.
    pub(super) chains: Vec<Chain>,
}

/// The way of one link.
pub(super) struct Chain {
    pub(super) link: usize,
    pub(super) cells: Vec<usize>,
}

impl Layers {
    /// The layers of a component, in an order with few crossings.
    pub(super) fn new(skeleton: &Skeleton, ranks: &[usize], component: &[usize]) -> Self {
        let mut layers = Self::unordered(skeleton, ranks, component);
        layers.order_by_walk();
        layers.lessen_crossings();
        layers
    }

    fn unordered(skeleton: &Skeleton, ranks: &[usize], component: &[usize]) -> Self {
        let first = component.iter().map(|vertex| ranks[*vertex]).min().unwrap_or(0);
        let last = component.iter().map(|vertex| ranks[*vertex]).max().unwrap_or(0);
        let mut layers = Self {
            vertices: Vec::new(),
            ranks: Vec::new(),
            rows: vec![Vec::new(); last - first + 1],
            positions: Vec::new(),
            above: Vec::new(),
            below: Vec::new(),
            critical_above: Vec::new(),
            critical_below: Vec::new(),
            chains: Vec::new(),
        };
        // Vertices are in ascending order, so that a cell is found by halving.
        for vertex in component {
            layers.add_cell(Some(*vertex), ranks[*vertex] - first);
        }
        let cell_of = |vertex: usize| component.binary_search(&vertex).unwrap_or(0);
        let links = || component.iter().flat_map(|vertex| skeleton.below[*vertex].iter().copied());
        let length = |link: usize| {
            let link = skeleton.links[link];
            ranks[link.to] - ranks[link.from]
        };
        let length_max = length_with_bends(links().map(length), last - first);
        for link in links() {
            let ends = skeleton.links[link];
            let mut cells = vec![cell_of(ends.from)];
            if length(link) <= length_max {
                for rank in ranks[ends.from] + 1..ranks[ends.to] {
                    cells.push(layers.add_cell(None, rank - first));
                }
                cells.push(cell_of(ends.to));
                layers.connect(&cells, ends.is_critical);
            } else {
                cells.push(cell_of(ends.to));
            }
            layers.chains.push(Chain { link, cells });
        }
        layers
    }

    fn add_cell(&mut self, vertex: Option<usize>, rank: usize) -> usize {
        let cell = self.vertices.len();
        self.vertices.push(vertex);
        self.ranks.push(rank);
        self.positions.push(self.rows[rank].len());
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        self.critical_above.push(None);
        self.critical_below.push(None);
        self.rows[rank].push(cell);
        cell
    }

    fn connect(&mut self, cells: &[usize], is_critical: bool) {
        for pair in cells.windows(2) {
            self.below[pair[0]].push(pair[1]);
            self.above[pair[1]].push(pair[0]);
            if is_critical {
                self.critical_above[pair[1]] = Some(pair[0]);
                self.critical_below[pair[0]] = Some(pair[1]);
            }
        }
    }

    /// Puts cells into the order in which a walk into the depth meets them.
    fn order_by_walk(&mut self) {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); self.rows.len()];
        let mut seen = vec![false; self.vertices.len()];
        let starts: Vec<usize> = self.rows.iter().flatten().copied().collect();
        for start in starts {
            let mut path = vec![start];
            while let Some(cell) = path.pop() {
                if std::mem::replace(&mut seen[cell], true) {
                    continue;
                }
                rows[self.ranks[cell]].push(cell);
                path.extend(self.below[cell].iter().rev());
            }
        }
        self.set_rows(rows);
    }

    fn set_rows(&mut self, rows: Vec<Vec<usize>>) {
        self.rows = rows;
        for rank in 0..self.rows.len() {
            self.note_positions(rank);
        }
    }

    fn note_positions(&mut self, rank: usize) {
        for (position, cell) in self.rows[rank].iter().enumerate() {
            self.positions[*cell] = position;
        }
    }

    /// Sweeps up and down, and keeps the best that was seen.
    fn lessen_crossings(&mut self) {
        let size = self.vertices.len() + self.above.iter().map(Vec::len).sum::<usize>();
        let rounds = (EFFORT_MAX / size.max(1)).clamp(2, ROUNDS_MAX);
        let mut best = self.rows.clone();
        let mut fewest = self.crossings();
        let mut rounds_in_vain = 0;
        for round in 0..rounds {
            if fewest == 0 || rounds_in_vain > 5 {
                break;
            }
            let is_down = round % 2 == 0;
            self.sweep(is_down);
            if size <= EXCHANGE_MAX {
                self.exchange_neighbours();
            }
            let crossings = self.crossings();
            rounds_in_vain += 1;
            if crossings < fewest {
                fewest = crossings;
                best.clone_from(&self.rows);
                rounds_in_vain = 0;
            }
        }
        self.set_rows(best);
    }

    /// Sorts every row by the mean position of what its cells are connected with.
    fn sweep(&mut self, is_down: bool) {
        let count = self.rows.len();
        for step in 1..count {
            let rank = if is_down { step } else { count - 1 - step };
            let others = if is_down { &self.above } else { &self.below };
            let mean = |cell: usize| {
                let sum: usize = others[cell].iter().map(|other| self.positions[*other]).sum();
                (!others[cell].is_empty()).then(|| sum as f64 / others[cell].len() as f64)
            };
            // Cells without a say stay where they are; the others share the rest of the places.
            let row = &self.rows[rank];
            let mut movable: Vec<(f64, usize)> =
                row.iter().filter_map(|cell| mean(*cell).map(|mean| (mean, *cell))).collect();
            movable.sort_by(|left, right| left.0.total_cmp(&right.0));
            let mut next = movable.into_iter();
            let row: Vec<usize> = row
                .iter()
                .map(|cell| match others[*cell].is_empty() {
                    true => *cell,
                    false => next.next().map_or(*cell, |(_, cell)| cell),
                })
                .collect();
            self.rows[rank] = row;
            self.note_positions(rank);
        }
    }

    /// Exchanges neighbours as long as that lessens the crossings.
    fn exchange_neighbours(&mut self) {
        for _ in 0..4 {
            let mut has_moved = false;
            for rank in 0..self.rows.len() {
                for at in 1..self.rows[rank].len() {
                    let (left, right) = (self.rows[rank][at - 1], self.rows[rank][at]);
                    if self.gain(left, right) > 0 {
                        self.rows[rank].swap(at - 1, at);
                        self.positions.swap(left, right);
                        has_moved = true;
                    }
                }
            }
            if !has_moved {
                break;
            }
        }
    }

    /// How many crossings fewer there would be with these two exchanged.
    fn gain(&self, left: usize, right: usize) -> i64 {
        let mut gain = 0;
        for others in [&self.above, &self.below] {
            for one in &others[left] {
                for other in &others[right] {
                    let (one, other) = (self.positions[*one], self.positions[*other]);
                    gain += i64::from(one > other) - i64::from(one < other);
                }
            }
        }
        gain
    }

    /// How often links cross between all ranks.
    fn crossings(&self) -> u64 {
        let mut sum = 0;
        let mut targets = Vec::new();
        for pair in self.rows.windows(2) {
            targets.clear();
            for cell in &pair[0] {
                let start = targets.len();
                targets.extend(self.below[*cell].iter().map(|other| self.positions[*other]));
                targets[start..].sort_unstable();
            }
            sum += inversions(&targets, pair[1].len());
        }
        sum
    }
}

/// How many pairs stand in the wrong order, counted with a tree of partial sums.
fn inversions(values: &[usize], bound: usize) -> u64 {
    let mut tree = vec![0_u64; bound + 1];
    let mut inversions = 0;
    for (seen, value) in values.iter().enumerate() {
        let mut not_greater = 0;
        let mut at = value + 1;
        while at > 0 {
            not_greater += tree[at];
            at &= at - 1;
        }
        inversions += seen as u64 - not_greater;
        let mut at = value + 1;
        while at <= bound {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    inversions
}

/// The greatest length up to which all links together need few enough bends.
fn length_with_bends(lengths: impl Iterator<Item = usize>, length_max: usize) -> usize {
    let mut counts = vec![0_usize; length_max + 1];
    lengths.for_each(|length| counts[length] += 1);
    let mut bends = 0;
    for (length, count) in counts.iter().enumerate().skip(1) {
        bends += count * (length - 1);
        if bends > BENDS_MAX {
            return length - 1;
        }
    }
    length_max
}
