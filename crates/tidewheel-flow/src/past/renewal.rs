//! [`Renewal`]: what of a run is done again although it succeeded, because of something else that is.
//!
//! Whoever asked how a step ended asks again, whatever used what is made anew is made anew, and what was taken
//! down is set up. What comes of it all is put together in `again`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tidewheel::TaskState;
use tidewheel::store::TaskSummary;
use tidewheel::task::Reason;

use super::again::is_settled;
use crate::compile::order::step_of;
use crate::compile::{Scope, Segment, TaskName};
use crate::definition::{Dependency, Flow, Step, Work};
use crate::language::template::Reference;
use crate::language::tree::starts_with;

/// What is done again although it succeeded.
#[derive(Debug)]
pub(super) struct Renewal {
    /// Steps, all of whose tasks are done again, with the calls that lead to them.
    steps: BTreeSet<String>,
    /// Tasks that stand for others, some of which are done again although they succeeded.
    ends: BTreeSet<String>,
}

/// A run, as it is looked at to find that out.
pub(super) struct Seen<'a> {
    pub flow: &'a Arc<Flow>,
    pub tasks: HashMap<&'a str, &'a TaskSummary>,
    pub succeeded: &'a BTreeSet<&'a str>,
    /// Steps of the flow itself that are renewed already.
    pub first: BTreeSet<String>,
    /// Steps of the flow itself that count as done.
    pub passed_over: &'a BTreeSet<String>,
}

impl Renewal {
    /// What is renewed in a run: inside of called flows first, since those who use a call use all that is in it.
    pub fn of(seen: &Seen<'_>) -> Self {
        let mut paths: BTreeMap<usize, BTreeSet<&str>> =
            BTreeMap::from([(0, BTreeSet::from([""]))]);
        for task in seen.tasks.keys() {
            for (depth, (at, _)) in task.match_indices('/').enumerate() {
                paths.entry(depth + 1).or_default().insert(&task[..=at]);
            }
        }
        let mut renewal = Self { steps: seen.first.clone(), ends: BTreeSet::new() };
        for prefix in paths.into_values().rev().flatten() {
            // Any name in there says the path.
            let path = TaskName::parse(&format!("{prefix}_")).map(|name| name.scope);
            if let Some(scope) = path.and_then(|path| Scope::find(seen.flow, &path)) {
                renewal.look(seen, &scope, prefix);
            }
        }
        renewal
    }

    /// Whether a task is one of them.
    pub fn has(&self, task: &str) -> bool {
        let starts = task.match_indices('/').map(|(at, _)| at + 1);
        self.ends.contains(task)
            || std::iter::once(0).chain(starts).any(|start| {
                let step = step_of(&task[start..]).len();
                self.steps.contains(&task[..start + step])
            })
    }

    fn look(&mut self, seen: &Seen<'_>, scope: &Scope, prefix: &str) {
        let mut part = Part::new(seen, scope, prefix, &self.ends);
        part.follow();
        while let Some(setup) = part.taken_down() {
            part.renew(setup);
            part.follow();
        }
        let found: Vec<String> =
            part.renewed.iter().map(|step| format!("{prefix}{step}")).collect();
        let has_any = !found.is_empty();
        self.steps.extend(found);
        if let Some((last, _)) = scope.calls.last().filter(|_| has_any) {
            let around: String = scope.calls[..scope.calls.len() - 1]
                .iter()
                .map(|(it, _)| format!("{it}/"))
                .collect();
            let element = Segment { again: 1, ..last.clone() };
            self.ends.extend(scope.end());
            self.ends.insert(format!("{around}{element}"));
            self.ends.insert(format!("{around}{}", last.step));
        }
    }
}

/// A flow at one place of a run, without what follows it.
struct Part<'a> {
    steps: BTreeMap<&'a str, PartStep<'a>>,
    dependents: HashMap<&'a str, Vec<&'a str>>,
    /// Steps that are done and follow others to take down what those set up, with those.
    teardowns: Vec<(&'a str, Vec<&'a str>)>,
    renewed: BTreeSet<&'a str>,
    /// Those whose dependents are to be looked at.
    open: Vec<&'a str>,
}

struct PartStep<'a> {
    step: &'a Step,
    /// What is left of it did not fail: it succeeded, or was skipped and would be again.
    is_quiet: bool,
    has_succeeded: bool,
    /// It counts as done.
    is_passed_over: bool,
    /// Something in it is done again although it succeeded.
    is_touched: bool,
}

impl<'a> Part<'a> {
    fn new(seen: &Seen<'a>, scope: &'a Scope, prefix: &str, touched: &BTreeSet<String>) -> Self {
        let is_root = prefix.is_empty();
        let (mut steps, mut dependents) = (BTreeMap::new(), HashMap::<_, Vec<_>>::new());
        let mut teardowns = Vec::new();
        for step in scope.flow.steps.iter().map(|step| &**step) {
            let name = format!("{prefix}{}", step.name);
            let Some(task) = seen.tasks.get(name.as_str()) else { continue };
            if (step.treatment.always || step.follows_run()) && task.state != TaskState::Skipped {
                let setups = step.after.iter().filter(|it| step.may_take_down(it));
                teardowns.push((step.name.as_str(), setups.map(|it| it.step.as_str()).collect()));
            }
            if step.follows_run() {
                continue;
            }
            for needed in &step.after {
                dependents.entry(needed.step.as_str()).or_default().push(step.name.as_str());
            }
            let part = PartStep {
                step,
                is_quiet: is_quiet(step, task) || is_settled(seen.flow, &name, seen.succeeded),
                has_succeeded: task.state == TaskState::Succeeded,
                is_passed_over: is_root && seen.passed_over.contains(&step.name),
                is_touched: touched.contains(&name),
            };
            steps.insert(step.name.as_str(), part);
        }
        let is_first = |name: &str| is_root && seen.first.contains(name);
        let renewed: BTreeSet<&str> = steps.keys().copied().filter(|name| is_first(name)).collect();
        let begins = |(name, it): &(&&'a str, &PartStep<'_>)| {
            !it.is_quiet || it.is_touched || renewed.contains(**name)
        };
        let open = steps.iter().filter(begins).map(|(name, _)| *name).collect();
        Self { steps, dependents, teardowns, renewed, open }
    }

    fn renew(&mut self, name: &'a str) {
        let is_there = self.steps.get(name).is_some_and(|it| !it.is_passed_over);
        if is_there && self.renewed.insert(name) {
            self.open.push(name);
        }
    }

    /// Renews all that comes after what is open and asks how that ended, or uses what it made.
    fn follow(&mut self) {
        while let Some(name) = self.open.pop() {
            let is_new = self
                .steps
                .get(name)
                .is_some_and(|it| it.is_quiet && (it.is_touched || self.renewed.contains(name)));
            for dependent in self.dependents.get(name).cloned().unwrap_or_default() {
                let follows = self.steps.get(dependent).is_some_and(|it| {
                    let was_skipped = it.is_quiet && !it.has_succeeded;
                    is_new || was_skipped || it.step.asks_about(name)
                });
                if follows {
                    self.renew(dependent);
                }
            }
        }
    }

    /// A step that was taken down, and that something needs which is done again.
    fn taken_down(&self) -> Option<&'a str> {
        self.teardowns.iter().find_map(|(teardown, setups)| {
            let later = self.later(teardown);
            setups.iter().copied().find(|setup| {
                let was_up =
                    self.steps.get(setup).is_some_and(|it| it.has_succeeded && !it.is_passed_over);
                let mut users = self.later(setup).into_iter().filter(|it| !later.contains(it));
                was_up
                    && !self.renewed.contains(setup)
                    && users.any(|it| it != *setup && self.is_done(it))
            })
        })
    }

    /// Whether something of a step is done again.
    fn is_done(&self, name: &str) -> bool {
        let step = self.steps.get(name);
        step.is_some_and(|it| {
            let is_open = !it.is_quiet || it.is_touched || self.renewed.contains(name);
            is_open && !it.is_passed_over
        })
    }

    /// A step and all that comes after it.
    fn later(&self, name: &'a str) -> BTreeSet<&'a str> {
        let (mut found, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(name) = open.pop() {
            if found.insert(name) {
                open.extend(self.dependents.get(name).into_iter().flatten());
            }
        }
        found
    }
}

/// Whether nothing is to be mended of a task: it succeeded, or a condition skipped it that would do so again.
fn is_quiet(step: &Step, task: &TaskSummary) -> bool {
    match (task.state, task.reason) {
        (TaskState::Succeeded, _) => true,
        (TaskState::Skipped, Reason::DependencyDeclined(_)) => true,
        (TaskState::Skipped, Reason::Condition) => {
            step.skip_codes.is_empty() && step.asks_run_only()
        }
        _ => false,
    }
}

impl Step {
    /// Whether what it does depends on how another step ended: it says so, or names it.
    fn asks_about(&self, other: &str) -> bool {
        let mut named = self.clauses.iter().flat_map(|clause| &clause.steps);
        self.treatment.always || named.any(|name| name == other) || self.names(other)
    }

    fn names(&self, other: &str) -> bool {
        let is_of_other = |it: &Reference| {
            let is_about_step = starts_with(it, "steps") || starts_with(it, "flows");
            is_about_step && it.path.get(1).is_none_or(|name| name == other)
        };
        let mut is_named = false;
        self.visit(&mut |leaf| is_named |= leaf.template.references().iter().any(is_of_other));
        is_named
            || matches!(&self.work, Work::Flow(child)
                if child.is_group && child.flow.steps.iter().any(|step| step.names(other)))
    }

    /// Whether its condition is about what stays as it was as long as no step is done again.
    fn asks_run_only(&self) -> bool {
        const STAYING: [&str; 3] = ["params", "flows", "steps"];
        let references = self.when.iter().flat_map(|when| when.template.references());
        references.into_iter().all(|it| STAYING.iter().any(|root| starts_with(it, root)))
    }

    /// Whether it may take down what a step set up that it waits for. What follows the run waits for everything:
    /// it means a step if it says so.
    fn may_take_down(&self, needed: &Dependency) -> bool {
        let mut chosen = self.clauses.iter().flat_map(|clause| &clause.steps);
        let is_meant = !self.follows_run() || !needed.is_inferred;
        is_meant && !chosen.any(|name| *name == needed.step)
    }
}
