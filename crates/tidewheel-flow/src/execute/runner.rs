//! [`FlowRunner`]: one attempt at a task of a flow's run, from conditions to outputs.
//!
//! How each kind of work is done is in the files beside this one; when, and what follows, is decided by the
//! scheduler.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value as Json};
use tidewheel::store::{AttemptRecord, RecordedOutcome};
use tidewheel::{Attempt, Outcome, Timestamp};
use tokio::sync::OnceCell;

use super::context::Position;
use super::end::{Success, Trouble};
use super::env_file::EnvFiles;
use super::means::{Means, Progress};
use super::outputs::{Outputs, to_records};
use super::run_folder::{Earlier, RunFolder};
use super::secrets::Secrets;
use super::states::{Trace, Traces};
use crate::compile::{Role, Segment, is_late};
use crate::definition::{Elements, Flow, OutputRule, Step, Work};
use crate::language::template::Context;

/// Carries out the attempts of one run of a flow.
#[derive(Debug)]
pub struct FlowRunner {
    pub(super) flow: Arc<Flow>,
    pub(super) params: BTreeMap<String, Json>,
    pub(super) secrets: Secrets,
    pub(super) env_files: EnvFiles,
    pub(super) outputs: Arc<Outputs>,
    pub(super) traces: Arc<Traces>,
    /// The instant of a schedule that the run was made for.
    pub(super) scheduled_at: Option<Timestamp>,
    pub(super) means: Arc<Means>,
    /// The run whose results are used again.
    pub(super) earlier: Option<Earlier>,
    /// Made when it is needed.
    pub(super) folder: OnceCell<RunFolder>,
    known: Mutex<Known>,
}

/// What was rendered before, by the place of a flow or step in the run.
#[derive(Debug, Default)]
struct Known {
    contexts: HashMap<Vec<Segment>, Context>,
    elements: HashMap<Vec<Segment>, Arc<Elements>>,
}

/// What an attempt that went well leaves.
enum Done {
    Worked(Box<AttemptRecord>, Map<String, Json>),
    /// Tasks, and nothing else: whether they are added, and with that whether the attempt succeeded, is
    /// decided with its outcome.
    Expanded(Outcome),
}

impl FlowRunner {
    /// A runner for one run.
    #[must_use]
    pub fn new(
        flow: Arc<Flow>,
        params: BTreeMap<String, Json>,
        secrets: Secrets,
        outputs: Arc<Outputs>,
        means: Arc<Means>,
    ) -> Self {
        let (traces, known) = (Arc::default(), Mutex::default());
        let (env_files, scheduled_at) = (EnvFiles::default(), None);
        let (earlier, folder) = (None, OnceCell::new());
        Self {
            flow,
            params,
            secrets,
            env_files,
            outputs,
            traces,
            scheduled_at,
            means,
            earlier,
            folder,
            known,
        }
    }

    /// What the files with variables say.
    #[must_use]
    pub fn env_files(mut self, files: EnvFiles) -> Self {
        self.env_files = files;
        self
    }

    /// The instant of a schedule that the run was made for.
    #[must_use]
    pub fn scheduled_at(mut self, instant: Option<Timestamp>) -> Self {
        self.scheduled_at = instant;
        self
    }

    /// The run whose results are used again, and with them what it kept.
    #[must_use]
    pub(crate) fn earlier(mut self, earlier: Option<Earlier>) -> Self {
        self.earlier = earlier;
        self
    }

    /// Notes what a store knows of a task that has ended.
    pub fn recall(&self, task: &str, trace: Trace) {
        self.traces.insert(task, trace);
    }

    /// The flow.
    #[must_use]
    pub fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    /// What tasks have left so far.
    #[must_use]
    pub fn outputs(&self) -> &Arc<Outputs> {
        &self.outputs
    }

    /// Makes one attempt at a task.
    pub async fn attempt(&self, attempt: Attempt) -> Outcome {
        // Whoever was told that the run has ended was told that nothing of it starts.
        if attempt.stop_reason().is_some() {
            return Outcome::Cancelled;
        }
        let task = attempt.task_name().unwrap_or_default();
        // What another run left is used as it is.
        if let Some(outputs) = self.outputs.of(&task) {
            let (outcome, outputs) = (Some(RecordedOutcome::Reused), to_records(&outputs));
            self.keep(&attempt, AttemptRecord { outcome, outputs, ..AttemptRecord::default() });
            return Outcome::Succeeded;
        }
        let clock = attempt.wheel();
        let began = clock.wall_clock();
        let done = self.carry_out(&task, &attempt).await;
        let code = match &done {
            Ok(Done::Worked(record, _)) => record.code,
            Ok(Done::Expanded(_)) => None,
            Err(trouble) => trouble.record.code,
        };
        self.traces.note(&task, began, clock.wall_clock(), code);
        match done {
            Ok(Done::Expanded(outcome)) => outcome,
            Ok(Done::Worked(record, outputs)) => {
                let outputs_kept = to_records(&outputs);
                self.outputs.insert(&task, outputs);
                let outcome = record.outcome.or(Some(RecordedOutcome::Succeeded));
                self.keep(&attempt, AttemptRecord { outcome, outputs: outputs_kept, ..*record });
                Outcome::Succeeded
            }
            Err(trouble) => self.conclude(&attempt, trouble),
        }
    }

    fn conclude(&self, attempt: &Attempt, trouble: Trouble) -> Outcome {
        let Trouble { mut outcome, mut record, .. } = trouble;
        if let Outcome::Failed(failure) = &mut outcome {
            failure.message = self.secrets.mask(&failure.message).into();
            record.error = Some(failure.message.to_string());
            record.outcome = Some(RecordedOutcome::Failed);
        }
        if *record != AttemptRecord::default() {
            self.keep(attempt, *record);
        }
        outcome
    }

    fn keep(&self, attempt: &Attempt, record: AttemptRecord) {
        self.traces.end_looks(attempt.id().index);
        let masked = |text: Option<String>| text.map(|text| self.secrets.mask(&text));
        let record = AttemptRecord {
            task: attempt.id(),
            attempt: attempt.number(),
            error: masked(record.error),
            tail: masked(record.tail),
            warnings: record.warnings.iter().map(|text| self.secrets.mask(text)).collect(),
            ..record
        };
        self.means.leave(attempt, record);
    }

    async fn carry_out(&self, task: &str, attempt: &Attempt) -> Result<Done, Trouble> {
        let position = self.position(task)?;
        let context = self.context(&position, Some(attempt))?;
        if looks(&position) && !holds(&position.step, &context)? {
            return Err(Trouble::skipped());
        }
        let begin = || {
            let progress = Progress::Began { attempt: attempt.number() };
            (self.means.told)(attempt.id(), progress);
        };
        if let Role::Open(element) = &position.name.role {
            begin();
            if position.name.again.is_some() {
                return self.expand_try(&position, attempt).map(Done::Expanded);
            }
            let foreach = position.step.foreach.as_ref().filter(|_| element.is_none());
            return match foreach.is_some_and(|foreach| is_late(&position.scope, foreach)) {
                true => self.expand(&position, attempt).map(Done::Expanded),
                false => Ok(Done::Worked(Box::default(), Map::new())),
            };
        }
        if gathers(&position) {
            begin();
            return Ok(Done::Worked(Box::default(), self.gather(&position, Some(attempt))?));
        }
        let work = self.prepare_cache(&position, &context).await?;
        let found = work.as_ref().and_then(|cache| cache.found.clone());
        // What it should leave must be there too; else it is done again.
        if let Some(outputs) = found
            && self.keep_artifacts(&position, &context, attempt, true).await.is_ok()
        {
            let record = AttemptRecord {
                outcome: Some(RecordedOutcome::Cached),
                ..AttemptRecord::default()
            };
            return Ok(Done::Worked(Box::new(record), outputs));
        }
        begin();
        let success = match self.work(&position, &context, attempt).await {
            Ok(success) => success,
            Err(trouble) => return Err(self.judged(trouble, &position, &context, attempt)),
        };
        if let Some(repeat) = &position.step.repeat {
            self.check_round(task, repeat, &success, &context)?;
        }
        let outputs = self
            .take_outputs(&position.step, &success, &context)
            .map_err(|trouble| trouble.with_record(success.record.clone()))?;
        if let Some(cache) = work {
            let kept = cache.keep(&outputs).await;
            kept.map_err(|trouble| trouble.with_record(success.record.clone()))?;
        }
        Ok(Done::Worked(Box::new(success.record), outputs))
    }

    async fn work(
        &self,
        position: &Position,
        context: &Context,
        attempt: &Attempt,
    ) -> Result<Success, Trouble> {
        let step = &*position.step;
        let input = match &step.input {
            Some(tree) => Some(tree.render(context)?),
            None => None,
        };
        match &step.work {
            Work::Process(process) => {
                self.run_process(position, process, input, context, attempt).await
            }
            Work::Http(request) => self.send(step, request, input, context, attempt).await,
            Work::Env(names) => Ok(Success { data: self.variables(names), ..Success::default() }),
            Work::File(file) => self.read_file(file, position, context).await,
            Work::Wait(wait) => {
                let since = self.waits_since(wait, position, attempt);
                let mut success = self.wait(wait, position, context, attempt).await?;
                success.record.started_at = Some(since);
                Ok(success)
            }
            Work::Flow(_) => Ok(Success::default()),
        }
    }

    fn take_outputs(
        &self,
        step: &Step,
        success: &Success,
        context: &Context,
    ) -> Result<Map<String, Json>, Trouble> {
        let mut outputs = success.written.clone();
        for (name, value) in &outputs {
            self.check_secrets(name, value)?;
        }
        let mut extended = None;
        for output in &step.outputs {
            let value = match &output.value {
                OutputRule::Raw => success.data.clone(),
                OutputRule::Written => match success.written.get(&output.name) {
                    Some(value) => value.clone(),
                    None => return Err(not_written(&output.name)),
                },
                OutputRule::Query(query) => query.search(&success.data).map_err(|error| {
                    Trouble::permanent(format!("output `{}`: {}", output.name, error.message))
                })?,
                OutputRule::Template(tree) => {
                    let context = extended.get_or_insert_with(|| success.names(context.clone()));
                    tree.render(context).map_err(|error| {
                        success.without_json(&error, &self.secrets).unwrap_or_else(|| error.into())
                    })?
                }
            };
            self.check_secrets(&output.name, &value)?;
            outputs.insert(output.name.clone(), value);
        }
        Ok(outputs)
    }

    /// Outputs are stored, and secrets are not.
    fn check_secrets(&self, name: &str, value: &Json) -> Result<(), Trouble> {
        match self.secrets.found_in(&value.to_string()) {
            Some(secret) => Err(Trouble::permanent(format!(
                "output `{name}` holds a secret, `{secret}` or a part of it, and outputs are stored; \
                 leave it out, and use `secrets.{secret}` in the step that needs it"
            ))),
            None => Ok(()),
        }
    }

    pub(super) fn known_context(&self, path: &[Segment]) -> Option<Context> {
        self.known().contexts.get(path).cloned()
    }

    pub(super) fn remember_context(&self, path: Vec<Segment>, context: &Context) {
        self.known().contexts.insert(path, context.clone());
    }

    pub(super) fn known_elements(&self, path: &[Segment]) -> Option<Arc<Elements>> {
        self.known().elements.get(path).cloned()
    }

    pub(super) fn remember_elements(&self, path: Vec<Segment>, elements: &Arc<Elements>) {
        self.known().elements.insert(path, Arc::clone(elements));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder a step runs in: that of the file it stands in, unless it names another.
    pub(super) fn folder_of(
        &self,
        position: &Position,
        context: &Context,
    ) -> Result<PathBuf, Trouble> {
        let folder = folder_of_flow(&position.scope.flow);
        match &position.step.surroundings.cwd {
            Some(tree) => Ok(folder.join(Path::new(&tree.render_text(context)?))),
            None => Ok(folder),
        }
    }
}

fn not_written(name: &str) -> Trouble {
    Trouble::permanent(format!(
        "the step left no `{name}`, which its `outputs` name; a line  {name}=value  in the file \
         $TIDEWHEEL_OUTPUT leaves one"
    ))
}

/// The folder of a flow's file.
pub(super) fn folder_of_flow(flow: &Flow) -> PathBuf {
    std::path::absolute(&flow.folder).unwrap_or_else(|_| flow.folder.clone())
}

impl Success {
    /// What templates of outputs may name.
    pub(super) fn names(&self, context: Context) -> Context {
        let part = |name: &str| self.data.get(name).cloned().unwrap_or(Json::Null);
        let code = self.code.map_or(Json::Null, Json::from);
        let mut context = context
            .with("data", self.data.clone())
            .with("code", code.clone())
            .with("status", code.clone())
            .with("returncode", code)
            .with("headers", Json::Object(self.headers.clone()))
            .with("stdout", part("stdout"))
            .with("stderr", part("stderr"))
            .with("output", Json::Object(self.written.clone()));
        let json = match self.data.get("stdout") {
            Some(_) => self.data.get("json"),
            None => Some(&self.data),
        };
        if let Some(json) = json {
            context = context.with("json", json.clone());
        }
        context
    }
}

/// Whether a task only gathers what others left.
pub(super) fn gathers(position: &Position) -> bool {
    let calls_flow = matches!(position.step.work, Work::Flow(_));
    match &position.name.role {
        Role::Step => calls_flow || position.step.foreach.is_some(),
        Role::Element(_) => calls_flow,
        Role::Open(_) => false,
    }
}

/// Whether it is this task of a step that looks at the step's condition: the one that opens it, or each
/// element for itself where the condition is about the element.
pub(super) fn looks(position: &Position) -> bool {
    let (step, role) = (&*position.step, &position.name.role);
    // It was looked at before the first try.
    if position.name.again.is_some() {
        return false;
    }
    match role {
        Role::Step | Role::Element(_) if gathers(position) => false,
        Role::Step | Role::Open(Some(_)) => true,
        Role::Open(None) => !step.asks_element(),
        Role::Element(_) => step.asks_element(),
    }
}

/// Whether the condition of a step holds.
pub(super) fn holds(step: &Step, context: &Context) -> Result<bool, Trouble> {
    match &step.when {
        Some(when) => Ok(when.is_true(context)?),
        None => Ok(true),
    }
}
