//! The bare graph behind a picture: every pair of vertices linked once, and no cycles.
//!
//! What vertices look like is not known here, and neither is where they go.

use std::collections::BTreeMap;

use super::model::Edge;

/// A graph without cycles, doubles and dead ends.
pub(super) struct Skeleton {
    pub(super) links: Vec<Link>,
    /// For every vertex the links that lead to it, in the order of the edges.
    pub(super) above: Vec<Vec<usize>>,
    /// For every vertex the links that lead away from it, in the order of the edges.
    pub(super) below: Vec<Vec<usize>>,
    /// Every vertex, after all that lead to it.
    pub(super) order: Vec<usize>,
}

/// Two vertices that one edge or more connect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The edge that speaks for all of them.
    pub(super) edge: usize,
    pub(super) is_critical: bool,
    /// Some edge leads from `from` to `to`.
    pub(super) is_forward: bool,
    /// Some edge leads from `to` to `from`: it would have closed a cycle.
    pub(super) is_backward: bool,
}

impl Skeleton {
    pub(super) fn new(count: usize, edges: &[Edge]) -> Self {
        let order = order_without_cycles(count, edges);
        let mut place = vec![0; count];
        for (at, vertex) in order.iter().enumerate() {
            place[*vertex] = at;
        }
        let mut links: Vec<Link> = Vec::with_capacity(edges.len());
        let mut known = BTreeMap::new();
        for (index, edge) in usable(count, edges) {
            let is_forward = place[edge.from] < place[edge.to];
            let (from, to) = if is_forward { (edge.from, edge.to) } else { (edge.to, edge.from) };
            let at = *known.entry((from, to)).or_insert(links.len());
            if at == links.len() {
                links.push(Link {
                    from,
                    to,
                    edge: index,
                    is_critical: false,
                    is_forward: false,
                    is_backward: false,
                });
            }
            let link = &mut links[at];
            link.is_critical |= edge.is_critical;
            link.is_forward |= is_forward;
            link.is_backward |= !is_forward;
            if edge.kind > edges[link.edge].kind {
                link.edge = index;
            }
        }
        let mut above = vec![Vec::new(); count];
        let mut below = vec![Vec::new(); count];
        for (index, link) in links.iter().enumerate() {
            below[link.from].push(index);
            above[link.to].push(index);
        }
        Self { links, above, below, order }
    }

    pub(super) fn len(&self) -> usize {
        self.above.len()
    }

    pub(super) fn has_cycles(&self) -> bool {
        self.links.iter().any(|link| link.is_backward)
    }

    pub(super) fn sources_of(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        self.above[vertex].iter().map(|link| self.links[*link].from)
    }

    pub(super) fn targets_of(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        self.below[vertex].iter().map(|link| self.links[*link].to)
    }

    /// The parts that are not connected with each other, each in the order of the vertices.
    ///
    /// Vertices that are connected with nothing come last.
    pub(super) fn components(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.len()];
        let mut components = Vec::new();
        for start in 0..self.len() {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let mut component = vec![start];
            let mut next = 0;
            while let Some(vertex) = component.get(next).copied() {
                next += 1;
                for other in self.sources_of(vertex).chain(self.targets_of(vertex)) {
                    if !std::mem::replace(&mut seen[other], true) {
                        component.push(other);
                    }
                }
            }
            component.sort_unstable();
            components.push(component);
        }
        components.sort_by_key(|component| component.len() == 1);
        components
    }
}

/// The edges that connect two vertices that exist, with their indices.
fn usable(count: usize, edges: &[Edge]) -> impl Iterator<Item = (usize, &Edge)> {
    edges
        .iter()
        .enumerate()
        .filter(move |(_, edge)| edge.from != edge.to && edge.from < count && edge.to < count)
}

/// Every vertex after those that lead to it, as far as there are no cycles.
///
/// The reverse of the order in which a walk into the depth leaves the vertices.
fn order_without_cycles(count: usize, edges: &[Edge]) -> Vec<usize> {
    let mut below = vec![Vec::new(); count];
    let mut is_source = vec![true; count];
    for (_, edge) in usable(count, edges) {
        below[edge.from].push(edge.to);
        is_source[edge.to] = false;
    }
    let mut seen = vec![false; count];
    let mut left = Vec::with_capacity(count);
    // Backwards, so that the result is as near to the order of the vertices as it can be.
    let sources = (0..count).rev().filter(|vertex| is_source[*vertex]);
    for start in sources.chain((0..count).filter(|vertex| !is_source[*vertex])) {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut path = vec![(start, below[start].len())];
        while let Some((vertex, rest)) = path.last_mut() {
            if *rest == 0 {
                left.push(*vertex);
                path.pop();
                continue;
            }
            *rest -= 1;
            let next = below[*vertex][*rest];
            if !std::mem::replace(&mut seen[next], true) {
                path.push((next, below[next].len()));
            }
        }
    }
    left.reverse();
    left
}
