//! What a picture is of: vertices with names and states, and edges between them.
//!
//! Where everything goes is in [`super::layout`]; every way of writing it down has its own file.

use std::collections::BTreeMap;

/// A graph of steps that can be drawn.
///
/// Names may be anything, also hostile; every format makes them harmless in its own way. Edges
/// that lead nowhere are left out, and a graph with cycles is drawn with some edges backwards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// Stands above the picture.
    pub title: Option<String>,
    /// The steps, in the order of the file.
    pub vertices: Vec<Vertex>,
    /// What waits for what.
    pub edges: Vec<Edge>,
}

impl Picture {
    /// A picture of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same picture with a title.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds a vertex and says which index edges know it by.
    pub fn add(&mut self, vertex: Vertex) -> usize {
        self.vertices.push(vertex);
        self.vertices.len() - 1
    }

    /// Adds a declared edge: `to` waits for `from`.
    pub fn connect(&mut self, from: usize, to: usize) {
        self.edges.push(Edge::new(from, to));
    }

    /// Adds an edge of any kind.
    pub fn add_edge(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// Whether any vertex has a state.
    pub fn has_states(&self) -> bool {
        self.vertices.iter().any(|vertex| vertex.state.is_some())
    }

    /// The edges that connect two vertices of the picture.
    pub(super) fn known_edges(&self) -> impl Iterator<Item = &Edge> {
        let count = self.vertices.len();
        self.edges.iter().filter(move |edge| edge.from < count && edge.to < count)
    }

    /// The vertices of each group and, each on its own, those without one, in their order.
    pub(super) fn by_group(&self) -> Vec<(Option<&str>, Vec<usize>)> {
        let mut groups: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, vertex) in self.vertices.iter().enumerate() {
            let group = vertex.group.as_deref();
            let at = match group {
                Some(group) => *known.entry(group).or_insert(groups.len()),
                None => groups.len(),
            };
            match groups.get_mut(at) {
                Some((_, members)) => members.push(index),
                None => groups.push((group, vec![index])),
            }
        }
        groups
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vertex {
    /// What the step is called.
    pub name: String,
    /// A second, quieter line: `http · retry 3 · ~12 s`.
    pub detail: Option<String>,
    /// How far the step has come, where the picture is of a run.
    pub state: Option<State>,
    /// What kind of step it is.
    pub shape: Shape,
    /// Whether the step is on the critical path.
    pub is_critical: bool,
    /// What a pointer that rests on the step is told besides the name.
    pub tooltip: Option<String>,
    /// What the step belongs to, such as a stage. Large pictures draw a group as one vertex.
    pub group: Option<String>,
}

impl Vertex {
    /// A plain step.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            detail: None,
            state: None,
            shape: Shape::Step,
            is_critical: false,
            tooltip: None,
            group: None,
        }
    }

    /// The same step with a second line.
    pub fn detailed(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same step in a state.
    pub fn in_state(mut self, state: State) -> Self {
        self.state = Some(state);
        self
    }

    /// The same step in another shape.
    pub fn shaped(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// The same step on the critical path.
    pub fn critical(mut self) -> Self {
        self.is_critical = true;
        self
    }

    /// The same step with a tooltip.
    pub fn explained(mut self, tooltip: impl Into<String>) -> Self {
        self.tooltip = Some(tooltip.into());
        self
    }

    /// The same step in a group.
    pub fn grouped(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }
}

/// `to` waits for `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edge {
    /// Index of the vertex that is waited for.
    pub from: usize,
    /// Index of the vertex that waits.
    pub to: usize,
    /// Who said so.
    pub kind: EdgeKind,
    /// Whether the edge is on the critical path.
    pub is_critical: bool,
}

impl Edge {
    /// A declared edge.
    pub fn new(from: usize, to: usize) -> Self {
        Self { from, to, kind: EdgeKind::Declared, is_critical: false }
    }

    /// The same edge, inferred; drawn dashed.
    pub fn inferred(mut self) -> Self {
        self.kind = EdgeKind::Inferred;
        self
    }

    /// The same edge on the critical path.
    pub fn critical(mut self) -> Self {
        self.is_critical = true;
        self
    }
}

/// Who said that a step waits for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// Follows from what the steps use of each other.
    Inferred,
    /// Written in the file.
    Declared,
}

impl EdgeKind {
    /// The word for it in output for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Declared => "declared",
            Self::Inferred => "inferred",
        }
    }
}

/// How far a step has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Ended well.
    Succeeded,
    /// Will not run.
    Skipped,
    /// Waits.
    Pending,
    /// Nobody knows.
    Unknown,
    /// Was stopped on request.
    Cancelled,
    /// Has an attempt under way.
    Running,
    /// Ended badly.
    Failed,
}

impl State {
    /// Every state, the ones that matter most last.
    pub const ALL: [Self; 7] = [
        Self::Succeeded,
        Self::Skipped,
        Self::Pending,
        Self::Unknown,
        Self::Cancelled,
        Self::Running,
        Self::Failed,
    ];

    /// The word for it; classes are called `state-` and the word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

/// What kind of step a vertex is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// An ordinary step.
    Step,
    /// Waits for an instant, a signal or somebody's approval.
    Wait,
    /// Becomes several tasks, one for each value.
    FanOut,
    /// Runs another flow.
    ChildFlow,
    /// Runs however the others ended.
    CleanUp,
    /// Stands for several steps that are not drawn one by one.
    More,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 6] =
        [Self::Step, Self::Wait, Self::FanOut, Self::ChildFlow, Self::CleanUp, Self::More];

    /// The word for it; classes are called `shape-` and the word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Wait => "wait",
            Self::FanOut => "fan-out",
            Self::ChildFlow => "child-flow",
            Self::CleanUp => "clean-up",
            Self::More => "more",
        }
    }
}
