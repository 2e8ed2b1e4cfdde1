//! [`FlowPlan`]: what a run of a flow would do, before anything is done.
//!
//! In the place of elements that are not known yet stands one task for all of them, `step[*]`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tidewheel::Graph;
use tidewheel_picture::{Edge, Picture, Shape, Vertex};

use crate::compile::order::FlowOrder;
use crate::compile::{Blueprint, Role, Scope, TaskName, UnknownElements, estimate_of};
use crate::definition::{Element, Flow, Place, Step, Work};

/// What a step counts as when nothing is known about it.
const UNKNOWN: Duration = Duration::from_secs(1);

/// What a run of a flow would do.
#[derive(Debug)]
#[non_exhaustive]
pub struct FlowPlan {
    /// The name of the flow.
    pub flow: String,
    /// The tasks, in an order in which they could be done one by one.
    pub tasks: Vec<PlannedTask>,
    /// Steps whose elements are not known.
    pub unknown: Vec<UnknownElements>,
    /// The longest path, from its first task to its last.
    pub critical_path: Vec<String>,
    /// How long that path takes, if something is known of each of its tasks.
    pub expected: Option<Duration>,
    /// Limits and the tasks that count against each.
    pub limits: BTreeMap<String, Vec<String>>,
    edges: Vec<(usize, usize, bool)>,
}

/// A task of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedTask {
    /// Its name.
    pub name: String,
    /// What it does, in one word.
    pub kind: &'static str,
    /// How many tasks stand one after another before it, at most.
    pub level: u32,
    /// What it waits for.
    pub after: Vec<String>,
    /// How long it took before, or is said to take.
    pub expected: Option<Duration>,
    /// Whether it is on the longest path.
    pub is_critical: bool,
    /// Whether it stands for as many tasks as there are elements, which are not known: perhaps none.
    pub is_of_each: bool,
    shape: Shape,
    detail: String,
}

/// A flow cannot be planned.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(String);

impl FlowPlan {
    /// The plan of a run, with what is known of past durations by task. Params may be missing.
    ///
    /// # Errors
    ///
    /// When the flow makes no graph with these params.
    pub fn new(
        flow: &Arc<Flow>,
        order: &FlowOrder,
        expected: &BTreeMap<String, Duration>,
    ) -> Result<Self, PlanError> {
        let (blueprint, mut unknown) = Blueprint::planned(flow, &order.params, expected)
            .map_err(|error| PlanError(error.to_string()))?;
        unknown.retain(|elements| order.is_chosen(&elements.step));
        let graph = match &order.only {
            Some(_) => {
                let whole = &blueprint.graph;
                whole.subset(|index| order.is_chosen(&whole.name(index))).0
            }
            None => blueprint.graph,
        };
        let graph = &graph;
        let steps: Vec<Option<(Arc<Step>, TaskName)>> =
            (0..graph.len()).map(|index| find(flow, &graph.name(index))).collect();
        let times: Vec<Option<Duration>> = (0..graph.len())
            .map(|index| {
                let name = graph.name(index);
                let learnt = expected.get(&*name).copied();
                match &steps[index as usize] {
                    Some((step, _)) => estimate_of(step, &name, learnt),
                    None => learnt,
                }
            })
            .collect();
        let path = longest_path(graph, &times);
        let on_path: BTreeSet<u32> = path.iter().copied().collect();
        let dependencies = graph.all_dependencies();
        let levels = graph.levels();
        let order: Vec<u32> = graph.topological_order();
        let mut places = vec![0; order.len()];
        let mut tasks = Vec::with_capacity(order.len());
        for (place, index) in order.iter().enumerate() {
            places[*index as usize] = place;
            let name = graph.name(*index).into_owned();
            let known = steps[*index as usize].as_ref();
            let after = shown_dependencies(graph, *index, &dependencies[*index as usize], &steps);
            let after = after.into_iter().map(|it| graph.name(it).into_owned()).collect();
            tasks.push(PlannedTask {
                kind: known.map_or("task", |(step, name)| kind(step, name)),
                level: levels[*index as usize],
                after,
                expected: times[*index as usize],
                is_critical: on_path.contains(index),
                is_of_each: known.is_some_and(|(_, name)| name.is_of_each()),
                shape: known.map_or(Shape::Step, |(step, name)| shape(step, name)),
                detail: known.map_or_else(String::new, |(step, name)| {
                    detail(step, name, times[*index as usize])
                }),
                name,
            });
        }
        tasks.sort_by_key(|task| task.level);
        let critical_path: Vec<String> =
            path.iter().map(|index| graph.name(*index).into_owned()).collect();
        let known: Option<Vec<Duration>> =
            path.iter().map(|index| times[*index as usize]).collect();
        let mut plan = Self {
            flow: flow.name.clone(),
            tasks,
            unknown,
            critical_path,
            expected: known.map(|times| times.iter().sum()),
            limits: limits(&steps),
            edges: Vec::new(),
        };
        plan.edges = plan.edges_of(&steps);
        Ok(plan)
    }

    /// The names of tasks by level.
    #[must_use]
    pub fn levels(&self) -> Vec<Vec<String>> {
        let mut levels: Vec<Vec<String>> = Vec::new();
        for task in &self.tasks {
            if levels.len() <= task.level as usize {
                levels.resize(task.level as usize + 1, Vec::new());
            }
            levels[task.level as usize].push(task.name.clone());
        }
        levels
    }

    /// How many tasks there are at least: those that stand for elements may be none.
    #[must_use]
    pub fn count_min(&self) -> usize {
        self.tasks.iter().filter(|task| !task.is_of_each).count()
    }

    /// The most tasks that stand on one level; all elements that are not known count as one.
    #[must_use]
    pub fn widest(&self) -> usize {
        self.levels().iter().map(Vec::len).max().unwrap_or_default()
    }

    /// The plan as a picture.
    #[must_use]
    pub fn picture(&self) -> Picture {
        let mut picture = Picture::new().titled(self.flow.clone());
        for task in &self.tasks {
            let mut vertex =
                Vertex::new(task.name.clone()).shaped(task.shape).detailed(task.detail.clone());
            if task.is_critical {
                vertex = vertex.critical();
            }
            picture.add(vertex);
        }
        let path = self.critical_path.windows(2);
        let path: BTreeSet<(&str, &str)> = path.map(|two| (&*two[0], &*two[1])).collect();
        for (from, to, is_inferred) in &self.edges {
            let mut edge = Edge::new(*from, *to);
            if *is_inferred {
                edge = edge.inferred();
            }
            if path.contains(&(&*self.tasks[*from].name, &*self.tasks[*to].name)) {
                edge = edge.critical();
            }
            picture.add_edge(edge);
        }
        picture
    }

    fn edges_of(&self, steps: &[Option<(Arc<Step>, TaskName)>]) -> Vec<(usize, usize, bool)> {
        let places: BTreeMap<&str, usize> =
            self.tasks.iter().enumerate().map(|(place, it)| (it.name.as_str(), place)).collect();
        let inferred: BTreeSet<(&str, &str)> = steps
            .iter()
            .flatten()
            .flat_map(|(step, _)| {
                let needed = step.after.iter().filter(|needed| needed.is_inferred);
                needed.map(|needed| (needed.step.as_str(), step.name.as_str()))
            })
            .collect();
        let mut edges = Vec::new();
        for (to, task) in self.tasks.iter().enumerate() {
            for needed in &task.after {
                let is_inferred = inferred.contains(&(needed.as_str(), task.name.as_str()));
                edges.extend(places.get(needed.as_str()).map(|from| (*from, to, is_inferred)));
            }
        }
        edges
    }
}

/// What a task waits for. What follows the run waits for all of it, of which only the ends matter; what
/// stands for others comes after those, which come after all that it needs.
fn shown_dependencies(
    graph: &Graph,
    index: u32,
    after: &[u32],
    steps: &[Option<(Arc<Step>, TaskName)>],
) -> Vec<u32> {
    let follows = |it: u32| steps[it as usize].as_ref().is_some_and(|(step, _)| step.follows_run());
    let is_end = |it: u32| graph.successors(it).iter().all(|next| follows(*next));
    let own = graph.name(index);
    let inside = |it: u32| {
        let name = graph.name(it);
        let rest = name.strip_prefix(&*own).unwrap_or_default();
        rest.starts_with(['[', '/', '{']) && rest != "[]"
    };
    let stands_for_others = after.iter().any(|it| inside(*it));
    let is_shown = |it: u32| match stands_for_others {
        true => inside(it),
        false => !follows(index) || follows(it) || is_end(it),
    };
    after.iter().copied().filter(|it| is_shown(*it)).collect()
}

fn find(flow: &Arc<Flow>, name: &str) -> Option<(Arc<Step>, TaskName)> {
    let name = TaskName::parse(name)?;
    let scope = Scope::find(flow, &name.scope)?;
    Some((Arc::clone(scope.flow.step(&name.step)?), name))
}

/// What a task does for its step, in one word.
pub(crate) fn kind(step: &Step, name: &TaskName) -> &'static str {
    match &name.role {
        Role::Open(None) if step.foreach.is_some() => "foreach",
        Role::Open(_) => "when",
        Role::Step if step.foreach.is_some() => "gather",
        _ => step.work.word(),
    }
}

fn shape(step: &Step, name: &TaskName) -> Shape {
    match (&name.role, &step.work) {
        (Role::Open(None), _) if step.foreach.is_some() => Shape::FanOut,
        (Role::Open(_), _) => Shape::Step,
        (Role::Step, _) if step.foreach.is_some() => Shape::FanOut,
        _ if name.is_of_each() => Shape::More,
        (_, Work::Wait(_)) => Shape::Wait,
        (_, Work::Flow(_)) => Shape::ChildFlow,
        _ if step.place != Place::Flow || step.treatment.always => Shape::CleanUp,
        _ => Shape::Step,
    }
}

fn detail(step: &Step, name: &TaskName, expected: Option<Duration>) -> String {
    let mut parts = vec![kind(step, name).to_owned()];
    if let (Role::Element(Element::Each), Some(foreach)) = (&name.role, &step.foreach) {
        parts.push(format!("one for each of {}", foreach.list));
    }
    if let Some(retry) = step.treatment.retry {
        parts.push(format!("retry {}", retry.retries));
    }
    if step.when.is_some() {
        parts.push("when".to_owned());
    }
    if let Some(expected) = expected {
        parts.push(match expected.as_secs() {
            0 => format!("~{} ms", expected.as_millis()),
            1..=119 => format!("~{} s", expected.as_secs()),
            seconds => format!("~{} min", seconds / 60),
        });
    }
    parts.join(" · ")
}

fn limits(steps: &[Option<(Arc<Step>, TaskName)>]) -> BTreeMap<String, Vec<String>> {
    let mut limits: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // What finds out elements, gathers or collects takes nothing.
    let takes = |(step, name): &&(Arc<Step>, TaskName)| match &name.role {
        _ if matches!(step.work, Work::Flow(_)) => false,
        Role::Step => step.foreach.is_none(),
        Role::Element(_) => true,
        Role::Open(_) => false,
    };
    for (step, name) in steps.iter().flatten().filter(takes) {
        for limit in step.treatment.limits.keys() {
            limits.entry(limit.clone()).or_default().push(name.to_string());
        }
    }
    limits
}

/// The tasks on the longest path, first to last. What is not known counts like the rest on average.
fn longest_path(graph: &Graph, times: &[Option<Duration>]) -> Vec<u32> {
    let known: Vec<Duration> = times.iter().flatten().copied().collect();
    let usual = match known.len() {
        0 => UNKNOWN,
        count => known.iter().sum::<Duration>() / count as u32,
    };
    let time = |index: u32| times[index as usize].unwrap_or(usual);
    let mut best: Vec<(Duration, Option<u32>)> = vec![(Duration::ZERO, None); graph.len() as usize];
    let order = graph.topological_order();
    for index in order.iter().rev() {
        let next = graph.successors(*index).iter().max_by_key(|next| best[**next as usize].0);
        let rest = next.map_or(Duration::ZERO, |next| best[*next as usize].0);
        best[*index as usize] = (time(*index) + rest, next.copied());
    }
    // Of equals the first, as people read.
    let mut start = None;
    for index in order {
        if start.is_none_or(|known: u32| best[index as usize].0 > best[known as usize].0) {
            start = Some(index);
        }
    }
    let mut path = Vec::new();
    while let Some(index) = start {
        path.push(index);
        start = best[index as usize].1;
    }
    path
}
