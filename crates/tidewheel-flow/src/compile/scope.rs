//! Flows inside each other: whose steps a task's templates mean, with which params, and what these decide.
//!
//! What templates are given in the end is put together in `execute`.

use std::sync::Arc;

use super::name::{Segment, try_name};
use crate::definition::{ChildFlow, Element, Flow, Foreach, Step, Work};
use crate::language::template::Reference;
use crate::language::tree::starts_with;

/// A flow at its place in a run.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub flow: Arc<Flow>,
    /// The calls that lead here, outermost first: the scope around, by what is called.
    pub calls: Vec<(Segment, Arc<Step>)>,
}

impl Scope {
    /// The flow of the run itself.
    pub fn outermost(flow: Arc<Flow>) -> Self {
        Self { flow, calls: Vec::new() }
    }

    /// The scope at the end of a path, if the path leads somewhere.
    pub fn find(flow: &Arc<Flow>, path: &[Segment]) -> Option<Self> {
        let mut scope = Self::outermost(Arc::clone(flow));
        for segment in path {
            let step = Arc::clone(scope.flow.step(&segment.step)?);
            scope = scope.inside(&step, segment.element.clone(), segment.again)?;
        }
        Some(scope)
    }

    /// The scope inside a step that calls a flow, in one of its tries.
    pub fn inside(&self, step: &Arc<Step>, element: Option<Element>, again: u32) -> Option<Self> {
        let Work::Flow(ChildFlow { flow, .. }) = &step.work else { return None };
        let mut calls = self.calls.clone();
        let segment = Segment { step: step.name.clone(), element, again };
        calls.push((segment, Arc::clone(step)));
        Some(Self { flow: Arc::clone(flow), calls })
    }

    /// The scope around this one.
    pub fn around(&self, outermost: &Arc<Flow>) -> Option<Self> {
        let path: Vec<Segment> = self.path();
        Self::find(outermost, path.split_last()?.1)
    }

    /// Whether it is a group, whose templates know what is around it.
    pub fn is_group(&self) -> bool {
        self.calls.last().is_some_and(|(_, step)| is_group(step))
    }

    /// Whether its params are those of the run: there are only groups around it.
    pub fn has_params_of_run(&self) -> bool {
        self.calls.iter().all(|(_, step)| is_group(step))
    }

    pub fn path(&self) -> Vec<Segment> {
        self.calls.iter().map(|(segment, _)| segment.clone()).collect()
    }

    /// The task that stands for all of this flow; none for that of the run itself.
    pub fn end(&self) -> Option<String> {
        let ((last, step), around) = self.calls.split_last()?;
        let around: String = around.iter().map(|(call, _)| format!("{call}/")).collect();
        Some(match step.tries() {
            0 | 1 => format!("{around}{last}"),
            _ => {
                let first = Segment { again: 1, ..last.clone() };
                try_name(&format!("{around}{first}"), last.again)
            }
        })
    }

    pub fn prefix(&self) -> String {
        self.calls.iter().map(|(segment, _)| format!("{segment}/")).collect()
    }
}

/// Whether the elements of a step are found out while the run goes on.
pub(crate) fn is_late(scope: &Scope, foreach: &Foreach) -> bool {
    let knows_params = scope.has_params_of_run();
    let is_known = |it: &Reference| knows_params && starts_with(it, "params");
    let mut is_late = false;
    foreach.list.visit(&mut |leaf| {
        is_late |= leaf.template.references().iter().any(|it| !is_known(it));
    });
    let of_label = foreach.label.iter().flat_map(|leaf| leaf.template.references());
    is_late || of_label.into_iter().any(|it| starts_with(it, "params") && !knows_params)
}

fn is_group(step: &Step) -> bool {
    matches!(&step.work, Work::Flow(child) if child.is_group)
}
