//! Making a picture of a large graph small: groups and crowded ranks become one vertex each.
//!
//! Small pictures pass through unchanged.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::labels::harmless;
use super::model::{Edge, Picture, Shape, State, Vertex};
use super::ranks::levels;
use super::skeleton::Skeleton;

/// How many of a group that is drawn as one are drawn beside it, because they have failed or are running.
const URGENT_MAX: usize = 4;
/// How many names of steps that are not drawn a tooltip lists.
const NAMES_MAX: usize = 12;
/// How long such a name may be.
const LETTERS_MAX: usize = 60;

impl Picture {
    /// The picture with at most about so many vertices.
    ///
    /// Groups become one vertex each, beside the few of them that matter most (what is critical, has failed or is running),
    /// unless that would make cycles. If that is not enough, every crowded rank keeps what matters most (the same, then what
    /// comes first) and the rest becomes `… 312 more`.
    pub fn collapsed(&self, vertices_max: usize) -> Cow<'_, Self> {
        let vertices_max = vertices_max.max(2);
        if self.vertices.len() <= vertices_max {
            return Cow::Borrowed(self);
        }
        let groups: Vec<Vec<usize>> = self.by_group().into_iter().map(|group| group.1).collect();
        let parts = |is_kept: &dyn Fn(usize) -> bool| -> Vec<Vec<usize>> {
            groups.iter().flat_map(|group| self.parts_of(group, is_kept)).collect()
        };
        let urgent = parts(&|index| self.is_urgent(index));
        let weighty = parts(&|index| self.is_urgent(index) || self.vertices[index].is_critical);
        let is_better = |by_group: &Self| {
            by_group.vertices.len() < self.vertices.len()
                && !Skeleton::new(by_group.vertices.len(), &by_group.edges).has_cycles()
        };
        let by_group =
            [weighty, urgent, groups].into_iter().map(|parts| self.merged(&parts)).find(is_better);
        let picture = by_group.map_or(Cow::Borrowed(self), Cow::Owned);
        if picture.vertices.len() <= vertices_max {
            return picture;
        }
        Cow::Owned(picture.merged(&picture.parts_by_level(vertices_max)))
    }

    /// A group as one part, and those of it that matter most each as one of its own, behind it.
    fn parts_of(&self, group: &[usize], is_kept: &dyn Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut urgent: Vec<usize> =
            group.iter().copied().filter(|index| is_kept(*index)).collect();
        urgent.sort_by_key(|index| self.weight(*index));
        urgent.truncate(URGENT_MAX.min(group.len() - 1));
        urgent.sort_unstable();
        let rest = group.iter().copied().filter(|index| !urgent.contains(index)).collect();
        [rest].into_iter().chain(urgent.iter().map(|index| vec![*index])).collect()
    }

    fn parts_by_level(&self, vertices_max: usize) -> Vec<Vec<usize>> {
        let levels = levels(&Skeleton::new(self.vertices.len(), &self.edges));
        let count = levels.iter().max().map_or(0, |last| last + 1);
        // Of a very long graph several levels become one vertex.
        let levels_each = count.div_ceil((vertices_max / 2).max(1)).max(1);
        let mut bands: Vec<Vec<usize>> = vec![Vec::new(); count.div_ceil(levels_each)];
        for (index, level) in levels.iter().enumerate() {
            bands[level / levels_each].push(index);
        }
        if levels_each > 1 {
            return bands;
        }
        let kept_max = kept_each(&bands, vertices_max);
        let mut parts = Vec::new();
        for mut band in bands {
            if band.len() > kept_max {
                band.sort_by_key(|index| self.weight(*index));
                let rest = band.split_off(kept_max - 1);
                band.sort_unstable();
                parts.extend(band.into_iter().map(|index| vec![index]));
                parts.push(rest);
            } else {
                parts.extend(band.into_iter().map(|index| vec![index]));
            }
        }
        parts
    }

    /// What matters most comes first.
    fn weight(&self, index: usize) -> impl Ord + use<> {
        (!self.vertices[index].is_critical, !self.is_urgent(index), index)
    }

    /// Whether it has failed or is running.
    fn is_urgent(&self, index: usize) -> bool {
        self.vertices[index].state.is_some_and(|state| state >= State::Running)
    }

    /// The picture in which each part is one vertex.
    fn merged(&self, parts: &[Vec<usize>]) -> Self {
        let mut part_of = vec![0; self.vertices.len()];
        for (part, members) in parts.iter().enumerate() {
            members.iter().for_each(|index| part_of[*index] = part);
        }
        let vertices = parts.iter().map(|members| self.merged_vertex(members)).collect();
        let mut known = BTreeSet::new();
        let mut edges = Vec::new();
        let ends = |edge: &Edge| Some((*part_of.get(edge.from)?, *part_of.get(edge.to)?));
        for edge in &self.edges {
            let Some((from, to)) = ends(edge) else { continue };
            if from != to && known.insert((from, to, edge.kind, edge.is_critical)) {
                edges.push(Edge { from, to, ..*edge });
            }
        }
        // In the order of the vertices, so that the rest of a rank is drawn behind what it keeps.
        edges.sort_by_key(|edge| (edge.from, edge.to));
        Self { title: self.title.clone(), vertices, edges }
    }

    fn merged_vertex(&self, members: &[usize]) -> Vertex {
        if let [index] = members {
            return self.vertices[*index].clone();
        }
        let members: Vec<&Vertex> = members.iter().map(|index| &self.vertices[*index]).collect();
        let group = members.first().and_then(|first| first.group.clone());
        let group = group.filter(|_| members.iter().all(|other| other.group == members[0].group));
        let mut names: Vec<String> =
            members.iter().take(NAMES_MAX).map(|one| harmless(&one.name, LETTERS_MAX)).collect();
        if members.len() > NAMES_MAX {
            names.push("…".to_owned());
        }
        // A group among them counts as one.
        let (name, detail) = match group {
            Some(group) => (group, Some(format!("{} steps", members.len()))),
            None => (format!("… {} more", members.len()), None),
        };
        let mut vertex = Vertex::new(name).shaped(Shape::More).explained(names.join(", "));
        vertex.detail = state_counts(members.iter().filter_map(|one| one.state)).or(detail);
        vertex.state = members.iter().filter_map(|one| one.state).max();
        vertex.is_critical = members.iter().any(|one| one.is_critical);
        vertex
    }
}

/// `2 failed, 310 succeeded`, the worst first; none where there are no states.
pub(super) fn state_counts(states: impl Iterator<Item = State>) -> Option<String> {
    let mut counts: BTreeMap<Reverse<State>, usize> = BTreeMap::new();
    states.for_each(|state| *counts.entry(Reverse(state)).or_default() += 1);
    let words = counts.iter().map(|(state, count)| format!("{count} {}", state.0.word()));
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The greatest number of vertices each band may keep, at least 2.
fn kept_each(bands: &[Vec<usize>], vertices_max: usize) -> usize {
    let fits =
        |each: usize| bands.iter().map(|band| band.len().min(each)).sum::<usize>() <= vertices_max;
    let (mut low, mut high) = (2, vertices_max);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}
