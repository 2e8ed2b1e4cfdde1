//! What surfaces ask about flows and steps.
//!
//! Answers only; nothing is decided by them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::policy::{Jitter, failure};
use tidewheel::schedule::{Anchor, Trigger};
use tidewheel::{Retry, Timestamp};

use crate::compile::plan::kind;
use crate::compile::{Role, Scope, Segment, TaskName};
use crate::definition::{
    Flow, FlowSchedule, OutputRule, Place, Step, StepOutput, Wait, WaitFor, Work,
};
use crate::language::tree::starts_with;

impl Flow {
    /// Whether some step, of a called flow too, starts a process.
    #[must_use]
    pub fn has_processes(&self) -> bool {
        self.steps.iter().any(|step| match &step.work {
            Work::Process(_) => true,
            Work::Flow(child) => child.flow.has_processes(),
            _ => false,
        })
    }

    /// Whether some step, of a called flow too, has tags.
    #[must_use]
    pub fn has_tagged_steps(&self) -> bool {
        self.steps.iter().any(|step| match &step.work {
            _ if !step.tags.is_empty() => true,
            Work::Flow(child) => child.flow.has_tagged_steps(),
            _ => false,
        })
    }

    /// Whether no step, of a called flow neither, waits, is done or tried again, or may fail: then the rows of its tasks say
    /// all there is to say of them while they run.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.steps.iter().all(|step| {
            let does_more = step.retries().is_some()
                || step.waits_for().is_some()
                || failure::is_tolerated(step.treatment.on_error, false);
            match &step.work {
                _ if does_more => false,
                Work::Flow(child) => child.flow.is_plain(),
                _ => true,
            }
        })
    }

    /// A step and everything that comes after it.
    #[must_use]
    pub fn descendants(&self, name: &str) -> BTreeSet<String> {
        self.descendants_of([name])
    }

    /// Several steps and everything that they need, and what follows the run and needs nothing else.
    #[must_use]
    pub fn ancestors_of<'a>(
        &'a self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = names.into_iter().collect();
        while let Some(name) = open.pop() {
            if let Some(step) = self.step(name).filter(|_| found.insert(name.to_owned())) {
                open.extend(step.after.iter().map(|needed| needed.step.as_str()));
            }
        }
        // They can wait for each other, in any order.
        loop {
            let follows = self.steps.iter().find(|step| {
                let has_all = step.after.iter().all(|needed| found.contains(&needed.step));
                step.follows_run() && has_all && !found.contains(&step.name)
            });
            match follows {
                Some(step) => found.insert(step.name.clone()),
                None => return found,
            };
        }
    }

    /// Several steps and everything that comes after one of them.
    #[must_use]
    pub fn descendants_of<'a>(
        &'a self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> BTreeSet<String> {
        let mut after: HashMap<&str, Vec<&str>> = HashMap::new();
        for step in &self.steps {
            for needed in &step.after {
                after.entry(&needed.step).or_default().push(&step.name);
            }
        }
        let mut found = BTreeSet::new();
        let mut open: Vec<&str> = names.into_iter().collect();
        while let Some(name) = open.pop() {
            if found.insert(name.to_owned()) {
                open.extend(after.get(name).into_iter().flatten());
            }
        }
        let following = self.steps.iter().filter(|step| step.follows_run());
        found.extend(following.map(|step| step.name.clone()));
        found
    }

    /// The groups around a task, or that it stands for a try of, which may be done several times: in which try the
    /// task is, from 1, and how many there may be.
    pub(crate) fn tried_ends(self: &Arc<Self>, task: &str) -> Vec<(String, u32, u32)> {
        let Some(name) = TaskName::parse(task) else { return Vec::new() };
        let mut path = name.scope.clone();
        if let Some(again) = name.again {
            let element = match &name.role {
                Role::Element(element) | Role::Open(Some(element)) => Some(element.clone()),
                _ => None,
            };
            path.push(Segment { step: name.step.clone(), element, again });
        }
        let ends = (1..=path.len()).filter_map(|length| {
            let (around, last) = path[..length].split_at(length - 1);
            let step = Arc::clone(Scope::find(self, around)?.flow.step(&last[0].step)?);
            let around: String = around.iter().map(|segment| format!("{segment}/")).collect();
            let end = Segment { again: 1, ..last[0].clone() };
            (step.tries() > 1).then(|| (format!("{around}{end}"), last[0].again, step.tries()))
        });
        ends.collect()
    }

    /// The step that a task of a run belongs to, of a called flow too.
    #[must_use]
    pub fn step_of_task(self: &Arc<Self>, task: &str) -> Option<Arc<Step>> {
        self.place_of_task(task).map(|(_, step)| step)
    }

    /// What a task does, in the words of a plan: `process`, `http`, `gather`.
    #[must_use]
    pub fn kind_of_task(self: &Arc<Self>, task: &str) -> Option<&'static str> {
        self.place_of_task(task).map(|(name, step)| kind(&step, &name))
    }

    /// Whether a task waits for something itself, and does not only gather what others leave.
    #[must_use]
    pub fn is_wait(self: &Arc<Self>, task: &str) -> bool {
        let place = self.worker(task);
        place.is_some_and(|(_, step)| matches!(step.work, Work::Wait(_)))
    }

    /// Whether a task looks again and again for something of which nobody knows when it comes.
    #[must_use]
    pub fn looks_outside(self: &Arc<Self>, task: &str) -> bool {
        let worker = self.worker(task);
        match worker.as_ref().map(|(_, step)| &step.work) {
            Some(Work::Wait(wait)) => !matches!(wait.what, WaitFor::Time(_) | WaitFor::Instant(_)),
            _ => false,
        }
    }

    /// The time that passes before the attempt of a task that waits for it, which is part of what it does.
    #[must_use]
    pub fn waited_before(self: &Arc<Self>, task: &str) -> Duration {
        let worker = self.worker(task);
        match worker.as_ref().map(|(_, step)| &step.work) {
            Some(Work::Wait(Wait { what: WaitFor::Time(time), .. })) => *time,
            _ => Duration::ZERO,
        }
    }

    /// Whether a task waits for somebody's approval.
    #[must_use]
    pub fn asks(self: &Arc<Self>, task: &str) -> bool {
        self.worker(task).is_some_and(|(_, step)| step.waits_for_approval())
    }

    /// The tasks that call the flows which a task follows instead of being part of them. The flow of
    /// the run itself is called by none: its name is empty.
    #[must_use]
    pub fn followed_by(self: &Arc<Self>, task: &str) -> Vec<String> {
        let Some((name, step)) = self.place_of_task(task) else { return Vec::new() };
        let mut followed = Vec::new();
        for length in 0..=name.scope.len() {
            let around = &name.scope[..length];
            let inner = match name.scope.get(length) {
                Some(segment) => {
                    let scope = Scope::find(self, around);
                    scope.and_then(|scope| scope.flow.step(&segment.step).cloned())
                }
                None => Some(Arc::clone(&step)),
            };
            if inner.is_some_and(|inner| inner.follows_run()) {
                let path: Vec<String> = around.iter().map(ToString::to_string).collect();
                followed.push(path.join("/"));
            }
        }
        followed
    }

    /// How often a task is tried at most, if that may be more than once.
    #[must_use]
    pub fn attempts_of_task(self: &Arc<Self>, task: &str) -> Option<u32> {
        let (_, step) = self.worker(task)?;
        step.retries().map(|retries| retries.saturating_add(1))
    }

    /// Whether a task does nothing but stand for others: the elements of a step, or what is in a group or called flow.
    #[must_use]
    pub fn stands_for_others(self: &Arc<Self>, task: &str) -> bool {
        let place = self.place_of_task(task);
        place.is_some_and(|(name, step)| match &name.role {
            Role::Open(_) => false,
            Role::Step if step.foreach.is_some() => true,
            _ => matches!(step.work, Work::Flow(_)),
        })
    }

    /// The time for an attempt of a task, and for all of what it does. A group has only the second: as a whole, and if it
    /// may be tried again, in each try.
    #[must_use]
    pub fn times_of_task(self: &Arc<Self>, task: &str) -> (Option<Duration>, Option<Duration>) {
        let Some((name, step)) = self.place_of_task(task) else { return (None, None) };
        let said = &step.treatment;
        match &step.work {
            Work::Flow(_) if name.again.is_some() => (None, said.attempt_timeout),
            Work::Flow(_) if step.tries() > 1 => (None, said.step_timeout),
            Work::Flow(_) => (None, said.step_timeout.or(said.attempt_timeout)),
            _ => (said.attempt_timeout, said.step_timeout),
        }
    }

    fn place_of_task(self: &Arc<Self>, task: &str) -> Option<(TaskName, Arc<Step>)> {
        let name = TaskName::parse(task)?;
        let scope = Scope::find(self, &name.scope)?;
        let step = Arc::clone(scope.flow.step(&name.step)?);
        Some((name, step))
    }

    /// The same of a task that does what its step says.
    fn worker(self: &Arc<Self>, task: &str) -> Option<(TaskName, Arc<Step>)> {
        let (name, step) = self.place_of_task(task)?;
        match &name.role {
            Role::Step => step.foreach.is_none().then_some((name, step)),
            Role::Element(_) => Some((name, step)),
            Role::Open(_) => None,
        }
    }
}

/// How often requests are tried again where nothing is said.
const REQUEST_RETRIES: u32 = 3;

impl Step {
    /// How often it is tried again, if at all.
    #[must_use]
    pub fn retries(&self) -> Option<u32> {
        let by_default = match self.work {
            Work::Http(_) => Some(REQUEST_RETRIES),
            _ => None,
        };
        self.treatment.retry.map(|retry| retry.retries).or(by_default).filter(|count| *count > 0)
    }

    /// How often it is done at most, if it is a group or calls a flow.
    pub(crate) fn tries(&self) -> u32 {
        match (&self.work, self.treatment.retry) {
            (Work::Flow(_), Some(retry)) => retry.retries.saturating_add(1),
            _ => 1,
        }
    }

    /// How long it is waited before one of the tries of a group, from 2. Groups are not spread by chance.
    pub(crate) fn wait_before(&self, again: u32) -> Duration {
        let retry = self.treatment.retry.unwrap_or_default();
        let retry = Retry { jitter: Jitter::None, ..retry };
        retry.delay(0, 0, 0, again.saturating_sub(2))
    }

    /// Whether it follows the run instead of being part of it.
    #[must_use]
    pub fn follows_run(&self) -> bool {
        self.place != Place::Flow
    }

    /// Whether it waits for somebody's approval.
    #[must_use]
    pub fn waits_for_approval(&self) -> bool {
        matches!(&self.work, Work::Wait(wait) if matches!(wait.what, WaitFor::Approval(_)))
    }

    /// Whether something is made of what it prints: outputs, or the question whether it is done again.
    pub(crate) fn takes_results(&self) -> bool {
        let is_taken = |output: &StepOutput| !matches!(output.value, OutputRule::Written);
        self.repeat.is_some() || self.outputs.iter().any(is_taken)
    }

    /// What it waits for, in words, if it is one that waits, or is done again.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        if self.repeat.is_some() {
            return Some("waits for its next round".to_owned());
        }
        let Work::Wait(wait) = &self.work else { return None };
        Some(match &wait.what {
            WaitFor::Time(_) => "waits".to_owned(),
            WaitFor::Instant(_) => "waits for an instant".to_owned(),
            WaitFor::File(_) => "waits for a file".to_owned(),
            WaitFor::Run(_) => "waits for a command to succeed".to_owned(),
            WaitFor::Http(_) => "waits for an answer".to_owned(),
            WaitFor::Approval(None) => "waits for approval".to_owned(),
            WaitFor::Approval(Some(question)) => format!("waits for approval: {question}"),
        })
    }

    /// When it is done, for one that was not: what its place and its `when` ask for.
    #[must_use]
    pub fn condition_words(&self) -> Option<String> {
        let place = match self.place {
            Place::OnSuccess => Some("it is done only if all of the flow went well"),
            Place::OnFailure => Some("it is done only if something of the flow failed"),
            Place::Flow | Place::Finally => None,
        };
        let when = self.when.as_ref().map(|_| "its `when` did not hold");
        match (place, when) {
            (Some(place), Some(_)) => Some(format!("{place}, and if its `when` holds")),
            (only, other) => only.or(other).map(str::to_owned),
        }
    }

    /// Whether its condition is about one of its elements, and so is looked at for each of them.
    pub(crate) fn asks_element(&self) -> bool {
        let (Some(when), Some(foreach)) = (&self.when, &self.foreach) else { return false };
        let mut references = when.template.references().iter();
        references.any(|it| starts_with(it, &foreach.variable) || starts_with(it, "index"))
    }
}

impl FlowSchedule {
    /// The next instants after now, as far as they are known before anything has run.
    #[must_use]
    pub fn next(&self, count: usize) -> Vec<Timestamp> {
        let now = wall_clock();
        match &self.spec.trigger {
            Trigger::Calendar { cron, zone } => {
                let next = |at: &Timestamp| cron.next_after(*at, zone);
                std::iter::successors(cron.next_after(now, zone), next).take(count).collect()
            }
            Trigger::FixedRate { period, .. } => {
                std::iter::successors(Some(now), |at| Some(at.after(*period))).take(count).collect()
            }
            Trigger::FixedDelay { .. } => vec![now],
            Trigger::Once(Anchor::At(at)) if *at > now => vec![*at],
            _ => Vec::new(),
        }
    }
}
