//! Flows as a kind of work.
//!
//! What a flow is, and what of a run of it is run again, is found out by `tidewheel-flow`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value as Json};
use tidewheel::store::RunDetail;
use tidewheel::{Run, RunId, TaskState};
use tidewheel_flow::{
    AgainError, AgainWith, Disk, FLOW_KIND, Flow, FlowOrder, Outputs, PastRun, ReadText, STDIN,
    Secrets, Step, resolve_params, says_the_same, tolerated,
};

use super::definition::{Definition, Timeouts};
use super::kinds::{Doing, Kind, MadeAgain, Retry, Startable};
use crate::api::{FileChange, RetryWish};
use crate::desk::{DeskError, RunView, near_step};
use crate::files::FlowFiles;
use crate::session::{Session, SessionOptions};
use crate::text::difference;

/// Runs of flow files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Flows;

impl Kind for Flows {
    fn word(&self) -> &'static str {
        FLOW_KIND
    }

    fn read(&self, run: &RunDetail) -> Result<Arc<dyn Definition>, DeskError> {
        Ok(Arc::new(FlowDefinition::new(order_of(run)?)))
    }

    fn tags(&self, payload: &[u8]) -> Vec<String> {
        FlowOrder::tags_in(payload)
    }

    fn may_ask(&self, payload: &[u8]) -> bool {
        !FlowOrder::is_plain_in(payload)
    }

    fn retry(&self, past: &RunView, wish: &RetryWish) -> Result<Retry, DeskError> {
        let id = past.detail.summary.id;
        let then = order_of(&past.detail)?;
        let mut order = then.clone();
        let mut files = None;
        if wish.new_files && !order.is_of_files() {
            return Err(DeskError::NoFiles { run: id });
        }
        if wish.new_files {
            let now = FlowFiles::read_with(&order.paths, &DiskAt(order.base.clone()));
            order.texts = match now.runnable() {
                Ok(_) => now.loaded.texts.clone(),
                Err(_) => return Err(DeskError::Problems(Box::new(now))),
            };
            files = Some(now);
        }
        let flow = order.flow()?;
        if wish.new_files {
            order.params = params_again(&flow, &order.params)?;
            order.tags = flow.tags.clone();
            order.has_tagged_steps = flow.has_tagged_steps();
            order.is_plain = flow.is_plain();
        }
        let changed_files = match wish.new_files {
            false => changes_since(&then).into_iter().map(|change| change.file).collect(),
            true => Vec::new(),
        };
        let outputs = |index| past.outputs_of(index);
        let with = AgainWith {
            changed: order.changed_since(&then),
            from: wish.from.clone(),
            skip: wish.skip.clone(),
        };
        let has_succeeded = past.has_succeeded();
        let past = PastRun { run: &past.detail, order: &order, outputs: &outputs };
        let again = past.again(&flow, &with).map_err(|error| {
            let near = match &error {
                AgainError::NoStep { step } => near_step(&flow, step),
                _ => None,
            };
            DeskError::Again { run: id, error, near }
        })?;
        let is_asked = with.from.is_some() || !with.changed.is_empty();
        if has_succeeded && !is_asked && !again.mends(past.run) {
            return Err(DeskError::NothingLeft { run: id, changed_files });
        }
        order.again = Some(id.to_string());
        order.reused = again.reused.clone();
        order.passed_over = again.passed_over.clone();
        if let Some(workers) = wish.max_workers {
            order.max_workers = workers;
        }
        Ok(Retry {
            run_again: again.run_again,
            reused: again.reused.into_keys().filter(|it| !again.passed_over.contains(it)).collect(),
            passed_over: again.passed_over.into_iter().collect(),
            run: Box::new(FlowRun::new(flow, order)),
            files,
            changed_files,
        })
    }

    fn check_resume(&self, past: &RunView, is_as_started: bool) -> Result<(), DeskError> {
        let order = order_of(&past.detail)?;
        let changes = if is_as_started { Vec::new() } else { changes_since(&order) };
        match changes.is_empty() {
            true => Ok(()),
            false => Err(DeskError::Changed { run: past.detail.summary.id, changes }),
        }
    }

    fn resume(&self, past: &RunView) -> Result<Box<dyn Startable>, DeskError> {
        let order = order_of(&past.detail)?;
        Ok(Box::new(FlowRun::new(order.flow()?, order)))
    }
}

/// Whether a task is for one of the elements of a step, or inside one.
fn is_of_element(task: &str) -> bool {
    task.trim_end_matches("[]").contains('[')
}

/// What was asked for when a run was started.
fn order_of(run: &RunDetail) -> Result<FlowOrder, DeskError> {
    Ok(FlowOrder::of_run(run)?)
}

/// Files, by paths from a folder.
pub(crate) struct DiskAt(pub PathBuf);

impl ReadText for DiskAt {
    fn read(&self, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        Disk.read(&self.0.join(path), bytes_max)
    }
}

/// The params of a run for a flow whose files have changed: those it has no longer are left out.
fn params_again(
    flow: &Flow,
    before: &BTreeMap<String, Json>,
) -> Result<BTreeMap<String, Json>, DeskError> {
    let kept = flow.params.iter().filter_map(|param| before.get_key_value(&param.name));
    let kept = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    resolve_params(flow, kept).map_err(|error| DeskError::param(flow, error))
}

/// The files that do not say any more what they said when the run was started.
fn changes_since(order: &FlowOrder) -> Vec<FileChange> {
    let texts = order.texts.iter().filter(|(path, _)| path.as_path() != Path::new(STDIN));
    let changed = texts.filter_map(|(path, before)| {
        let now = std::fs::read_to_string(order.base.join(path)).ok();
        if now.as_deref().is_some_and(|now| says_the_same(before, now)) {
            return None;
        }
        let change = match now {
            Some(now) => difference(before, &now),
            None => "it cannot be read any more\n".to_owned(),
        };
        Some(FileChange { file: path.display().to_string(), change })
    });
    changed.collect()
}

/// A run of a flow that can be started.
#[derive(Debug, Clone)]
pub struct FlowRun {
    pub(crate) flow: Arc<Flow>,
    pub(crate) order: FlowOrder,
    /// The name under which it is accepted once.
    once: Option<String>,
    /// Fetched to see that they are there.
    secrets: Arc<OnceLock<Secrets>>,
}

impl FlowRun {
    /// A run of this flow, as it was asked for.
    pub(crate) fn new(flow: Arc<Flow>, order: FlowOrder) -> Self {
        Self { flow, order, once: None, secrets: Arc::default() }
    }

    /// The same, accepted once under this name, if there is one.
    #[must_use]
    pub fn once(mut self, name: Option<String>) -> Self {
        self.once = name;
        self
    }
}

impl Startable for FlowRun {
    fn name(&self) -> &str {
        &self.flow.name
    }

    fn workers(&self) -> u32 {
        self.order.max_workers
    }

    fn definition(&self) -> Arc<dyn Definition> {
        Arc::new(FlowDefinition {
            order: self.order.clone(),
            flow: OnceLock::from(Some(Arc::clone(&self.flow))),
        })
    }

    fn makes_again(&self) -> Option<MadeAgain> {
        Some(MadeAgain { run: self.order.again.clone()?, read: FlowOrder::again_in })
    }

    fn set_off(&self, options: &SessionOptions) {
        if self.flow.has_processes() {
            options.spawner.start_ahead();
        }
    }

    fn check(&self) -> Doing<'_, ()> {
        Box::pin(async {
            let secrets = Secrets::fetch_here(&self.flow).await?;
            // Whoever was first has fetched the same.
            let _ = self.secrets.set(secrets);
            Ok(())
        })
    }

    fn hand_over(&self, run: RunId, options: &mut SessionOptions) {
        options.secrets.extend(self.secrets.get().map(|secrets| (run, secrets.clone())));
    }

    fn start<'a>(
        &'a self,
        session: &'a Session,
        expected: &'a BTreeMap<String, Duration>,
    ) -> Doing<'a, Run> {
        let (wheel, once) = (&session.wheel, self.once.as_deref());
        let start = session.flows.start_once(wheel, &self.flow, &self.order, expected, once);
        Box::pin(async move { Ok(start.await?) })
    }
}

/// What a flow says of the tasks of its run.
#[derive(Debug)]
pub struct FlowDefinition {
    order: FlowOrder,
    /// To read a flow again takes its time, and few questions need it.
    flow: OnceLock<Option<Arc<Flow>>>,
}

impl FlowDefinition {
    /// From what is kept with a run.
    #[must_use]
    pub fn new(order: FlowOrder) -> Self {
        Self { order, flow: OnceLock::new() }
    }

    fn flow(&self) -> Option<&Arc<Flow>> {
        self.flow.get_or_init(|| self.order.flow().ok()).as_ref()
    }

    /// The same for questions to which a plain flow has only the usual answers.
    fn unusual(&self) -> Option<&Arc<Flow>> {
        if self.order.is_plain { None } else { self.flow() }
    }

    fn step_of(&self, task: &str) -> Option<Arc<Step>> {
        self.flow()?.step_of_task(task)
    }
}

impl Definition for FlowDefinition {
    fn is_wait(&self, task: &str) -> bool {
        self.unusual().is_some_and(|flow| flow.is_wait(task))
    }

    fn looks_outside(&self, task: &str) -> bool {
        self.unusual().is_some_and(|flow| flow.looks_outside(task))
    }

    fn waited_before(&self, task: &str) -> Duration {
        self.unusual().map_or(Duration::ZERO, |flow| flow.waited_before(task))
    }

    fn waits_for(&self, task: &str) -> Option<String> {
        self.unusual()?.step_of_task(task)?.waits_for()
    }

    fn asks(&self, task: &str) -> bool {
        self.unusual().is_some_and(|flow| flow.asks(task))
    }

    fn work_of(&self, task: &str) -> Option<&'static str> {
        self.flow()?.kind_of_task(task)
    }

    fn timeouts(&self, task: &str) -> Timeouts {
        let (attempt, whole) = self.flow().map(|flow| flow.times_of_task(task)).unwrap_or_default();
        Timeouts { attempt, task: whole }
    }

    fn attempts_max(&self, task: &str) -> Option<u32> {
        self.unusual()?.attempts_of_task(task)
    }

    fn tolerates(&self, task: &str) -> bool {
        self.unusual().is_some_and(|flow| flow.tolerates_task(task))
    }

    fn tolerated(&self, run: &RunDetail) -> BTreeSet<u32> {
        let has_failed =
            run.tasks.iter().any(|it| matches!(it.state, TaskState::Failed | TaskState::Unknown));
        let flow = if has_failed { self.unusual() } else { None };
        tolerated(run, flow)
    }

    fn reused(&self, task: &str) -> Option<Map<String, Json>> {
        self.order.reused.get(task).cloned()
    }

    fn is_passed_over(&self, task: &str) -> bool {
        self.order.passed_over.contains(task)
    }

    fn needs_outputs(&self, run: &RunDetail) -> bool {
        run.tasks.iter().any(|task| is_of_element(&task.name))
    }

    fn elements(
        &self,
        run: &RunDetail,
        outputs: &dyn Fn(u32) -> Map<String, Json>,
    ) -> HashMap<String, Json> {
        let names =
            || run.tasks.iter().map(|task| task.name.as_str()).filter(|it| is_of_element(it));
        // To read the flow takes its time.
        let Some(flow) = names().next().and_then(|_| self.flow()) else { return HashMap::new() };
        let left = Arc::new(Outputs::default());
        for task in run.tasks.iter().filter(|task| task.state == TaskState::Succeeded) {
            left.insert(&task.name, outputs(task.index));
        }
        flow.element_values(&self.order.params, &left, names())
    }

    fn elements_now(&self, tasks: &[String], left: &Arc<Outputs>) -> HashMap<String, Json> {
        let names = || tasks.iter().map(String::as_str).filter(|it| is_of_element(it));
        let Some(flow) = names().next().and_then(|_| self.flow()) else { return HashMap::new() };
        flow.element_values(&self.order.params, left, names())
    }

    fn params(&self) -> BTreeMap<String, Json> {
        self.order.params.clone()
    }

    fn makes_again(&self) -> Option<String> {
        self.order.again.clone()
    }

    fn tags(&self) -> Vec<String> {
        self.order.tags.clone()
    }

    fn tags_of(&self, task: &str) -> Vec<String> {
        let step = self.order.has_tagged_steps.then(|| self.step_of(task)).flatten();
        step.map(|step| step.tags.clone()).unwrap_or_default()
    }

    fn condition(&self, task: &str) -> Option<String> {
        self.step_of(task)?.condition_words()
    }

    fn stands_for_others(&self, task: &str) -> bool {
        self.flow().is_some_and(|flow| flow.stands_for_others(task))
    }

    fn has_clean_up(&self) -> bool {
        let is_clean_up = |step: &Arc<Step>| step.follows_run() || step.treatment.always;
        self.flow().is_some_and(|flow| flow.steps.iter().any(is_clean_up))
    }
}
