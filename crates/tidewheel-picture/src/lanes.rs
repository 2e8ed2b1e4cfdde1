//! A drawing for terminals: one row for each step, with lines on the left of the names.
//!
//! Lines enter a step from above or from the left and leave it downwards or to the right, so that
//! every line can be followed without doubt:
//!
//! ```text
//! ○      checkout
//! ├─○─╮  build
//! ├─○─┤  lint
//! ╰─○─┤  test
//!     ○  publish
//! ```
//!
//! A lane is a column that carries what one step, or several with the same dependents, lead to.
//! Where a line only passes a lane, the lane is drawn through. Names are put beside the drawing
//! in [`super::text`].

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::arms::{Arms, Weight};
use super::skeleton::Skeleton;

/// One line of a drawing.
pub(super) struct Row {
    /// The step of this row; none for a row of lines only.
    pub(super) vertex: Option<usize>,
    /// The column of the step.
    pub(super) column: usize,
    /// What is in each column.
    cells: Cells,
}

/// The lines of one row.
#[derive(Default)]
struct Cells {
    arms: Vec<Arms>,
    /// The line between a column and the next.
    joints: Vec<Weight>,
}

impl Row {
    /// The characters of the row, two for each column; the step itself is `marker`.
    pub(super) fn characters(&self, marker: char) -> Vec<char> {
        let mut characters = Vec::with_capacity(self.cells.arms.len() * 2);
        for (column, (arms, joint)) in self.cells.arms.iter().zip(&self.cells.joints).enumerate() {
            let is_step = self.vertex.is_some() && column == self.column;
            characters.push(if is_step { marker } else { arms.character() });
            characters.push(Arms { left: *joint, right: *joint, ..Arms::default() }.character());
        }
        while characters.last() == Some(&' ') {
            characters.pop();
        }
        characters
    }
}

impl Cells {
    /// A row in which all lanes go on.
    fn passing(lanes: &[Option<Lane>]) -> Self {
        let mut cells = Self::default();
        cells.widen(lanes.len());
        for (arms, lane) in cells.arms.iter_mut().zip(lanes) {
            if let Some(lane) = lane {
                let weight = Weight::of(lane.critical_target.is_some());
                (arms.up, arms.down) = (weight, weight);
            }
        }
        cells
    }

    fn widen(&mut self, count: usize) {
        if self.arms.len() < count {
            self.arms.resize(count, Arms::default());
            self.joints.resize(count, Weight::None);
        }
    }

    /// Draws a line from one column to another. It connects with the lanes of `stops` and passes
    /// beneath all others.
    fn lay(&mut self, from: usize, to: usize, weight: Weight, stops: &[usize]) {
        for column in from..=to {
            if column < to {
                self.joints[column] = self.joints[column].max(weight);
            }
            let arms = &mut self.arms[column];
            let is_lane = arms.up != Weight::None && arms.down != Weight::None;
            if is_lane && !stops.contains(&column) {
                continue;
            }
            if column > from {
                arms.left = arms.left.max(weight);
            }
            if column < to {
                arms.right = arms.right.max(weight);
            }
        }
    }
}

/// The rows of one connected part; none where it needs more than `columns_max` columns.
pub(super) fn draw(
    skeleton: &Skeleton,
    component: &[usize],
    columns_max: usize,
) -> Option<Vec<Row>> {
    let mut loom = Loom::new(skeleton, component);
    for _ in component {
        let vertex = loom.next_vertex()?;
        loom.weave(vertex);
        if loom.lanes.len() > columns_max {
            return None;
        }
    }
    Some(loom.rows)
}

/// A column that leads to steps further down.
struct Lane {
    /// What it leads to, in ascending order.
    targets: Vec<usize>,
    /// How many of them are still to come.
    rest: usize,
    /// Until which step the lane is critical.
    critical_target: Option<usize>,
}

struct Loom<'a> {
    skeleton: &'a Skeleton,
    lanes: Vec<Option<Lane>>,
    rows: Vec<Row>,
    /// Steps of which everything they wait for has a row, with the row of the latest of that.
    ready: Vec<(usize, usize)>,
    waits_for: BTreeMap<usize, usize>,
    /// How many steps to come lead to exactly these.
    sharers: BTreeMap<Vec<usize>, usize>,
}

impl<'a> Loom<'a> {
    fn new(skeleton: &'a Skeleton, component: &[usize]) -> Self {
        let mut sharers = BTreeMap::new();
        for vertex in component {
            *sharers.entry(targets(skeleton, *vertex)).or_default() += 1;
        }
        let count = |vertex: usize| skeleton.above[vertex].len();
        let waits_for = component.iter().map(|vertex| (*vertex, count(*vertex))).collect();
        let ready = component.iter().filter(|vertex| count(**vertex) == 0);
        let ready = ready.map(|vertex| (*vertex, 0)).collect();
        Self { skeleton, lanes: Vec::new(), rows: Vec::new(), ready, waits_for, sharers }
    }

    /// Takes the step that keeps the fewest lanes open, then the one that goes on where the last
    /// row ended, then the first.
    fn next_vertex(&mut self) -> Option<usize> {
        let best = self.ready.iter().enumerate().min_by_key(|(_, (vertex, row))| {
            let ends = self.inputs(*vertex).filter(|column| self.is_last(*column)).count();
            let targets = targets(self.skeleton, *vertex);
            let begins = !targets.is_empty() && self.lane_to(&targets, 0).is_none();
            let growth = i64::from(begins) - ends as i64;
            (growth, Reverse(*row), *vertex)
        });
        let at = best?.0;
        Some(self.ready.remove(at).0)
    }

    /// The columns that lead to a step.
    fn inputs(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        self.lanes.iter().enumerate().filter_map(move |(column, lane)| {
            lane.as_ref()?.targets.binary_search(&vertex).ok().map(|_| column)
        })
    }

    fn is_last(&self, column: usize) -> bool {
        self.lanes[column].as_ref().is_some_and(|lane| lane.rest == 1)
    }

    fn lane_to(&self, targets: &[usize], from: usize) -> Option<usize> {
        (from..self.lanes.len())
            .find(|column| self.lanes[*column].as_ref().is_some_and(|lane| lane.targets == targets))
    }

    fn is_free(&self, column: usize) -> bool {
        self.lanes.get(column).is_none_or(Option::is_none)
    }

    fn first_free(&self, from: usize) -> usize {
        (from..).find(|column| self.is_free(*column)).unwrap_or(from)
    }

    /// Adds the row of a step.
    fn weave(&mut self, vertex: usize) {
        let targets = targets(self.skeleton, vertex);
        let inputs: Vec<usize> = self.inputs(vertex).collect();
        let (column, joined) = self.column_for(&inputs, &targets);
        let is_below_step = self.rows.last().is_some_and(|row| {
            row.vertex.is_some() && row.column == column && inputs.contains(&column)
        });
        if is_below_step {
            self.rows.push(Row { vertex: None, column: 0, cells: Cells::passing(&self.lanes) });
        }
        let mut cells = Cells::passing(&self.lanes);
        cells.widen(column + 1);
        self.enter(vertex, column, &inputs, &mut cells);
        if let Some(rest) = self.sharers.get_mut(&targets) {
            *rest -= 1;
        }
        self.leave(vertex, column, joined, targets, &mut cells);
        self.rows.push(Row { vertex: Some(vertex), column, cells });
        while matches!(self.lanes.last(), Some(None)) {
            self.lanes.pop();
        }
        for target in self.skeleton.targets_of(vertex) {
            let rest = self.waits_for.entry(target).or_default();
            *rest = rest.saturating_sub(1);
            if *rest == 0 {
                self.ready.push((target, self.rows.len()));
            }
        }
    }

    /// Where a step goes, and which lane on its right it joins.
    fn column_for(&self, inputs: &[usize], targets: &[usize]) -> (usize, Option<usize>) {
        let last = inputs.last().copied();
        let from = last.map_or(0, |last| last + 1);
        let below = last.filter(|last| self.is_last(*last));
        if !targets.is_empty()
            && let Some(joined) = self.lane_to(targets, from)
        {
            let near = (from..joined).rev().find(|column| self.is_free(*column));
            if let Some(column) = near.or(below) {
                return (column, Some(joined));
            }
        }
        (below.unwrap_or_else(|| self.first_free(from)), None)
    }

    /// Draws the lines from what a step waits for, and ends the lanes that led to it only.
    fn enter(&mut self, vertex: usize, column: usize, inputs: &[usize], cells: &mut Cells) {
        for input in inputs {
            let Some(lane) = self.lanes[*input].as_mut() else { continue };
            lane.rest -= 1;
            let is_heavy = lane.critical_target == Some(vertex);
            if is_heavy {
                lane.critical_target = None;
            }
            cells.arms[*input].down = match lane.rest {
                0 => Weight::None,
                _ => Weight::of(lane.critical_target.is_some()),
            };
            if lane.rest == 0 {
                self.lanes[*input] = None;
            }
            if *input < column {
                cells.lay(*input, column, Weight::of(is_heavy), inputs);
            }
        }
    }

    /// Draws the line to what waits for a step: in a lane that is there already, in one on the
    /// right that others will join, or straight down.
    fn leave(
        &mut self,
        vertex: usize,
        column: usize,
        joined: Option<usize>,
        targets: Vec<usize>,
        cells: &mut Cells,
    ) {
        if targets.is_empty() {
            return;
        }
        let critical = self.skeleton.below[vertex].iter().map(|link| self.skeleton.links[*link]);
        let critical = critical.filter(|link| link.is_critical).map(|link| link.to).next_back();
        let is_shared = self.sharers.get(&targets).is_some_and(|rest| *rest > 0);
        let at = match joined {
            Some(joined) => joined,
            None if is_shared => self.first_free(column + 1),
            None => column,
        };
        if self.lanes.len() <= at {
            self.lanes.resize_with(at + 1, || None);
        }
        cells.widen(at + 1);
        let rest = targets.len();
        let lane = self.lanes[at].get_or_insert(Lane { targets, rest, critical_target: None });
        lane.critical_target = lane.critical_target.or(critical);
        cells.arms[at].down = Weight::of(lane.critical_target.is_some());
        if at > column {
            cells.lay(column, at, Weight::of(critical.is_some()), &[column, at]);
        }
    }
}

fn targets(skeleton: &Skeleton, vertex: usize) -> Vec<usize> {
    let mut targets: Vec<usize> = skeleton.targets_of(vertex).collect();
    targets.sort_unstable();
    targets
}
