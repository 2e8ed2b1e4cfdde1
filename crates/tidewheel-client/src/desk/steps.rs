//! The steps of a run with when each was tried, and a picture of them.
//!
//! What they came to is in [`super::view`]; how a picture looks is the business of `tidewheel-picture`.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value as Json;
use tidewheel::TaskState;
use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel::store::{AttemptTimes, TaskSummary};
use tidewheel_flow::picture::{Edge, Picture, Shape, State, Vertex};

use super::error::DeskError;
use super::find::task_of;
use super::local::LocalDesk;
use super::states::step_state;
use super::step::WholeStep;
use super::view::{RunView, StepView};
use crate::api::{
    AttemptSpan, LogList, RunResult, StepList, StepRow, StepState, StepsOrder, StepsWish,
};
use crate::text::{drawn_state, span};

/// A run as a whole.
#[derive(Debug)]
pub struct WholeRun {
    /// What it came to.
    pub result: RunResult,
    /// The steps that were asked for.
    pub steps: StepList,
    /// Its picture, if one was wanted.
    pub picture: Option<Picture>,
    /// The step beside it.
    pub beside: Option<WholeStep>,
}

/// Which step is shown beside a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Beside {
    /// None.
    Nothing,
    /// The one to look at first: one that failed, else one that runs, else one that could, else the one that ended last.
    First,
    /// This one.
    Step(String),
}

impl LocalDesk {
    /// Steps of a run, some at a time.
    ///
    /// # Errors
    ///
    /// When there is no such run, or the folder cannot be read.
    pub fn steps(&self, word: &str, wish: &StepsWish) -> Result<StepList, DeskError> {
        if wish.limit == 0 {
            // Letters and how many there are, which whoever watches a large run asks for all the time.
            return Ok(self.outline(word)?.steps(wish, &BTreeMap::new()));
        }
        let view = self.show(word)?;
        let run = view.detail.summary.id;
        let tried = self.read(|reader| reader.attempt_times(run))?;
        Ok(view.steps(wish, &tried))
    }

    /// Steps of a run, what those of them that have begun left in logs, and the flow that it is a run of.
    ///
    /// # Errors
    ///
    /// When there is no such run, or the folder cannot be read.
    pub fn story(
        &self,
        word: &str,
        wish: &StepsWish,
    ) -> Result<(StepList, LogList, Option<String>), DeskError> {
        let view = self.show(word)?;
        let run = view.detail.summary.id;
        let tried = self.read(|reader| reader.attempt_times(run))?;
        let list = view.steps(wish, &tried);
        let names: HashSet<&str> = list.steps.iter().map(|step| step.step.as_str()).collect();
        let is_named = |task: &&TaskSummary| names.contains(task.name.as_str());
        let tasks = view.detail.tasks.iter().filter(is_named).map(|task| task.index).collect();
        let logs = self.logs_of(&view, Some(tasks), None);
        Ok((list, logs, view.detail.summary.name))
    }

    /// A run as a whole, read once: what it came to, steps of it, and a picture if one is wanted.
    ///
    /// # Errors
    ///
    /// When there is no such run, or the folder cannot be read.
    pub fn whole(
        &self,
        word: &str,
        wish: &StepsWish,
        has_picture: bool,
        beside: &Beside,
    ) -> Result<WholeRun, DeskError> {
        let view = self.show(word)?;
        let run = view.detail.summary.id;
        let tried = self.read(|reader| reader.attempt_times(run))?;
        let (listed, critical, elements) = (view.listed(), view.critical(), view.elements());
        let chosen = match beside {
            Beside::Nothing => None,
            Beside::First => first_of_interest(&listed),
            Beside::Step(name) => Some(task_of(&view.detail, name)?),
        };
        Ok(WholeRun {
            steps: view.steps_of(&listed, &critical, &elements, wish, &tried),
            picture: has_picture.then(|| view.picture_of(&listed, &critical)),
            beside: chosen.map(|task| self.step_of(&view, task, &elements)).transpose()?,
            result: self.document_of(&view, &listed, elements)?,
        })
    }

    /// A run as a picture: its steps, what they wait for, and how they stand.
    ///
    /// # Errors
    ///
    /// When there is no such run, or the folder cannot be read.
    pub fn picture(&self, word: &str) -> Result<Picture, DeskError> {
        let view = self.show(word)?;
        Ok(view.picture_of(&view.listed(), &view.critical()))
    }
}

/// The tasks because of which a run took as long as it did, or has taken: each with the one before it.
#[derive(Debug, Default)]
pub(super) struct Critical(BTreeMap<u32, Option<u32>>);

impl Critical {
    pub(super) fn has(&self, task: u32) -> bool {
        self.0.contains_key(&task)
    }

    /// Whether the way goes from one to the other: two that are on it may be joined by a short cut beside it.
    fn leads(&self, from: u32, to: u32) -> bool {
        self.0.get(&to) == Some(&Some(from))
    }
}

/// The step to look at first: one that failed, else one that runs, else one that has all it needs and waits, else the one that
/// ended last of those that have run. While none of them has done anything, the first.
fn first_of_interest<'a>(listed: &[StepView<'a>]) -> Option<&'a TaskSummary> {
    let of = |state: StepState| {
        let is_so =
            |step: &&StepView<'_>| step_state(step.task.state) == state && !step.is_tolerated;
        listed.iter().find(is_so).map(|step| step.task)
    };
    let waits =
        |step: &&StepView<'_>| matches!(step.task.state, TaskState::Ready | TaskState::Delayed);
    let waiting = || listed.iter().find(waits).map(|step| step.task);
    let last = || {
        let tasks = listed.iter().map(|step| step.task);
        let has_run = |task: &TaskSummary| task.attempts > 0 && task.state != TaskState::Skipped;
        let ended = tasks.filter_map(|task| Some((has_run(task), ended_at(task)?, task)));
        ended.max_by_key(|(has_run, at, _)| (*has_run, *at)).map(|(_, _, task)| task)
    };
    let first = || listed.first().map(|step| step.task);
    of(StepState::Failed)
        .or_else(|| of(StepState::Unknown))
        .or_else(|| of(StepState::Running))
        .or_else(waiting)
        .or_else(last)
        .or_else(first)
}

impl RunView {
    fn steps(&self, wish: &StepsWish, tried: &BTreeMap<u32, Vec<AttemptTimes>>) -> StepList {
        let (critical, elements) = match wish.limit {
            0 => Default::default(),
            _ => (self.critical(), self.elements()),
        };
        self.steps_of(&self.listed(), &critical, &elements, wish, tried)
    }

    fn steps_of(
        &self,
        listed: &[StepView<'_>],
        critical: &Critical,
        elements: &HashMap<String, Json>,
        wish: &StepsWish,
        tried: &BTreeMap<u32, Vec<AttemptTimes>>,
    ) -> StepList {
        let summary = &self.detail.summary;
        let text = wish.text.as_ref().map(|text| text.to_lowercase());
        let is_meant = |(_, step): &(usize, &StepView<'_>)| {
            let state = step_state(step.task.state);
            wish.state.is_none_or(|wanted| wanted == state)
                && text.as_ref().is_none_or(|text| step.task.name.to_lowercase().contains(text))
        };
        let mut meant: Vec<(usize, &StepView<'_>)> =
            listed.iter().enumerate().filter(is_meant).collect();
        if wish.order == StepsOrder::Start {
            let first = |step: &StepView<'_>| {
                let known = tried.get(&step.task.index).and_then(|all| all.first()?.started_at);
                known.or(step.task.started_at)
            };
            meant.sort_by_key(|(place, step)| (first(step).is_none(), first(step), *place));
        }
        let shown = meant.iter().skip(wish.from as usize).take(wish.limit as usize);
        let steps = shown.map(|(place, step)| {
            let mut row = self.row(*place, step, tried.get(&step.task.index));
            row.critical = critical.has(step.task.index);
            row.element = elements.get(&step.task.name).cloned();
            row
        });
        StepList {
            version: None,
            run_id: summary.id.to_string(),
            state: self.state(),
            accepted_at: summary.accepted_at,
            ended_at: summary.ended_at,
            steps: steps.collect(),
            letters: listed.iter().map(|step| step_state(step.task.state).letter()).collect(),
            total: meant.len() as u32,
            from: wish.from,
        }
    }

    fn row(&self, place: usize, step: &StepView<'_>, tried: Option<&Vec<AttemptTimes>>) -> StepRow {
        let task = step.task;
        StepRow {
            step: task.name.clone(),
            place: place as u32,
            state: step_state(task.state),
            reason: self.reason(task),
            tolerated: step.is_tolerated,
            kind: self.definition.work_of(&task.name).map(str::to_owned),
            element: None,
            error: step.timeout.clone().or_else(|| task.error.clone()),
            critical: false,
            ready_at: self.ready_at(task),
            attempts: attempts(task, tried),
        }
    }

    /// When all that a task waits for had ended.
    pub(super) fn ready_at(&self, task: &TaskSummary) -> Option<Timestamp> {
        let needed = task.after.iter().map(|index| self.detail.tasks.get(*index as usize));
        let ends: Option<Vec<Timestamp>> = needed.map(|needed| ended_at(needed?)).collect();
        Some(ends?.into_iter().max().unwrap_or(self.detail.summary.accepted_at))
    }

    /// What decided how long the run took: from the task that ended last, back through what each of them had to wait for
    /// longest.
    pub(super) fn critical(&self) -> Critical {
        let tasks = &self.detail.tasks;
        let now = wall_clock();
        let end = |task: &TaskSummary| match step_state(task.state) {
            StepState::Running => Some(now),
            StepState::Pending | StepState::Skipped => None,
            _ => ended_at(task).filter(|_| task.started_at.is_some()),
        };
        let last = |among: &mut dyn Iterator<Item = &TaskSummary>| {
            let known = among.filter_map(|task| Some((end(task)?, task.index)));
            known.max().map(|(_, index)| index)
        };
        let mut path = BTreeMap::new();
        let mut next = last(&mut tasks.iter());
        while let Some(index) = next.filter(|index| !path.contains_key(index)) {
            let after = &tasks[index as usize].after;
            next = last(&mut after.iter().filter_map(|before| tasks.get(*before as usize)));
            path.insert(index, next);
        }
        Critical(path)
    }

    fn picture_of(&self, shown: &[StepView<'_>], critical: &Critical) -> Picture {
        let mut picture = Picture::new();
        let mut places: HashMap<u32, usize> = HashMap::new();
        for StepView { task, .. } in shown {
            let mut vertex = Vertex::new(task.name.clone()).in_state(state(task.state));
            vertex = vertex.shaped(self.shape(task));
            if let Some(detail) = self.detail_of(task) {
                vertex = vertex.detailed(detail);
            }
            if let Some(group) = group_of(&task.name) {
                vertex = vertex.grouped(group);
            }
            if critical.has(task.index) {
                vertex = vertex.critical();
            }
            places.insert(task.index, picture.add(vertex));
        }
        for StepView { task, .. } in shown {
            for before in &task.after {
                let (Some(&from), Some(&to)) = (places.get(before), places.get(&task.index)) else {
                    continue;
                };
                let mut edge = Edge::new(from, to);
                if critical.leads(*before, task.index) {
                    edge = edge.critical();
                }
                picture.add_edge(edge);
            }
        }
        picture
    }

    fn shape(&self, task: &TaskSummary) -> Shape {
        match self.definition.work_of(&task.name) {
            _ if task.name.ends_with("[]") => Shape::FanOut,
            _ if self.definition.is_wait(&task.name) => Shape::Wait,
            Some("flow") => Shape::ChildFlow,
            _ => Shape::Step,
        }
    }

    /// What a step does and how long it took.
    fn detail_of(&self, task: &TaskSummary) -> Option<String> {
        let kind = self.definition.work_of(&task.name);
        // What was skipped took no time: that it is not needed was found out by looking.
        let is_done = |_: &(Timestamp, Timestamp)| task.state != TaskState::Skipped;
        let (began, ended) = self.times_of(task);
        let time = began.zip(ended).filter(is_done).map(|(from, to)| span(to.since(from)));
        let known: Vec<&str> = [kind, time.as_deref()].into_iter().flatten().collect();
        (!known.is_empty()).then(|| known.join(" · "))
    }
}

/// When a task ended, if it has.
fn ended_at(task: &TaskSummary) -> Option<Timestamp> {
    task.at.filter(|_| task.state.is_terminal())
}

fn attempts(task: &TaskSummary, tried: Option<&Vec<AttemptTimes>>) -> Vec<AttemptSpan> {
    let span = |it: &AttemptTimes| AttemptSpan {
        attempt: it.attempt,
        started_at: it.started_at,
        ended_at: it.ended_at,
        outcome: it.outcome.map(|outcome| outcome.word().to_owned()),
    };
    let mut spans: Vec<AttemptSpan> = tried.into_iter().flatten().map(span).collect();
    // The newest has no record when nobody left one; its times are those of the task.
    let has_newest = spans.last().is_some_and(|last| last.attempt == task.attempts);
    if !has_newest && task.attempts > 0 && task.state != TaskState::Skipped {
        let (attempt, started_at, ended_at) = (task.attempts, task.started_at, ended_at(task));
        spans.push(AttemptSpan { attempt, started_at, ended_at, outcome: None });
    }
    spans
}

/// The step that this is a part of, or one of the elements.
fn group_of(name: &str) -> Option<String> {
    let end = name.find(['[', '/'])?;
    (end > 0 && !name.ends_with("[]")).then(|| name[..end].to_owned())
}

fn state(state: TaskState) -> State {
    drawn_state(step_state(state))
}
