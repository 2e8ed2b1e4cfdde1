//! [`FlowHost`]: runs flows on a wheel, and goes on with those that a store brought back.
//!
//! It knows which run needs which runner, and nothing about when anything is started.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value as Json};
use tidewheel::run::RunGroup;
use tidewheel::schedule::{Firing, MadeRun};
use tidewheel::task::{BoxError, Failure};
use tidewheel::{
    Attempt, Graph, Outcome, Rejection, Run, RunBuilder, RunId, Task, TaskOptions, Tidewheel,
    Timestamp,
};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use crate::compile::order::{FLOW_KIND, FlowOrder, OrderError};
use crate::compile::{Blueprint, CompileError, Estimates};
use crate::definition::Flow;
use crate::execute::{
    Earlier, EnvFileError, EnvFiles, FlowRunner, Means, Outputs, SecretError, Secrets, Trace,
};
use crate::language::instant;

/// Why a run of a flow was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// What is kept of it cannot be understood.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// A secret could not be fetched.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A file with variables could not be read.
    #[error(transparent)]
    EnvFile(#[from] EnvFileError),
    /// It makes no graph.
    #[error("{0}")]
    Flow(String),
    /// The scheduler refused it.
    #[error("not accepted: {0}")]
    // Its words are said already: as a source they would be said again.
    Rejected(Rejection),
}

impl StartError {
    /// Whether it may be otherwise in a while: what keeps a secret may not be up yet.
    fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::EnvFile(EnvFileError::Interrupted)
                | Self::Secret(SecretError::Unreadable { .. } | SecretError::Command { .. })
        )
    }
}

impl From<Rejection> for StartError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<CompileError> for StartError {
    fn from(error: CompileError) -> Self {
        Self::Flow(error.to_string())
    }
}

/// What is known of the tasks of a stored run that have ended.
pub type Recalled = Vec<RecalledTask>;

/// A task of a stored run that has ended.
#[derive(Debug, Clone, Default)]
pub struct RecalledTask {
    /// Its name.
    pub name: String,
    /// What it left, if it succeeded.
    pub outputs: Option<Map<String, Json>>,
    /// When it was done, and with what code.
    pub trace: Trace,
}

/// Asks for it. It may block, and it may fail.
type Recall = dyn Fn(RunId) -> Result<Recalled, BoxError> + Send + Sync;

/// Where the runner of a run is, as soon as somebody has made it; or why there can be none.
type Place = OnceCell<Result<Arc<FlowRunner>, Arc<str>>>;

/// How soon it is looked again for what cannot be read now.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Runs flows on a wheel. Clones share everything.
#[derive(Clone)]
pub struct FlowHost {
    shared: Arc<Shared>,
}

struct Shared {
    means: Arc<Means>,
    recall: Arc<Recall>,
    /// Those of runs that have not ended.
    places: Mutex<HashMap<RunId, Arc<Place>>>,
    /// Of runs that will be brought back, fetched before.
    secrets: Mutex<HashMap<RunId, Secrets>>,
    /// What waits for the ends of runs, and tidies up after them.
    watchers: Mutex<Vec<JoinHandle<()>>>,
}

impl FlowHost {
    /// A host with these means. `recall` says what tasks of a stored run have left; it is called on a
    /// thread made for blocking. While it fails, no task of the run is carried out: what was left
    /// would count as never been.
    #[must_use]
    pub fn new(
        means: Arc<Means>,
        recall: impl Fn(RunId) -> Result<Recalled, BoxError> + Send + Sync + 'static,
    ) -> Self {
        let (places, secrets, watchers) = (Mutex::default(), Mutex::default(), Mutex::default());
        let recall = Arc::new(recall);
        Self { shared: Arc::new(Shared { means, recall, places, secrets, watchers }) }
    }

    /// Hands over the secrets of a run that the store will bring back, by whoever has fetched them already.
    pub fn know_secrets(&self, run: RunId, secrets: Secrets) {
        self.shared.secrets().insert(run, secrets);
    }

    /// Starts a run. Limits and queues of the flow come with it: those that contradict what is in use are
    /// refused. The run is stored when it is handed out, and whoever steers it
    /// [waits for no disk](Tidewheel::without_waiting).
    ///
    /// # Errors
    ///
    /// When a secret cannot be had, the flow makes no graph, or the run is refused.
    pub async fn start(
        &self,
        wheel: &Tidewheel,
        flow: &Arc<Flow>,
        order: &FlowOrder,
        estimates: &Estimates,
    ) -> Result<Run, StartError> {
        self.start_once(wheel, flow, order, estimates, None).await
    }

    /// The same, of what is accepted [once](tidewheel::RunBuilder::once) under a name, if there is one.
    ///
    /// # Errors
    ///
    /// As [`FlowHost::start`]; and when it was accepted before.
    pub async fn start_once(
        &self,
        wheel: &Tidewheel,
        flow: &Arc<Flow>,
        order: &FlowOrder,
        estimates: &Estimates,
        once: Option<&str>,
    ) -> Result<Run, StartError> {
        let prepared = self.prepare(flow, order, estimates).await?;
        let runner = Arc::clone(&prepared.runner);
        let code = {
            let runner = Arc::clone(&runner);
            move |task: Task| {
                let (runner, attempt) = (Arc::clone(&runner), task.as_attempt());
                async move { runner.attempt(attempt).await }
            }
        };
        // On a thread of the runtime a disk is not waited for.
        let builder = wheel.without_waiting().run(Arc::clone(&prepared.graph), code);
        let mut builder = prepared.configure(builder, flow, order);
        if let Some(name) = once {
            builder = builder.once(name);
        }
        let run = builder.announce().await?.start()?;
        let place = Arc::new(Place::new_with(Some(Ok(Arc::clone(&runner)))));
        self.keep(wheel, &run, place);
        run.stored().await?;
        runner.take_over_folder(run.id()).await;
        Ok(run)
    }

    /// Makes the run of a firing: for [`tidewheel::Builder::make_runs`] with [`FLOW_KIND`], whose
    /// schedules have an order as their payload.
    ///
    /// # Errors
    ///
    /// When a secret cannot be had, the flow makes no graph, or its limits contradict others.
    pub async fn make_firing(
        &self,
        firing: &Firing,
        flow: &Arc<Flow>,
        order: &FlowOrder,
        estimates: &Estimates,
    ) -> Result<MadeRun, StartError> {
        let prepared = self.prepare(flow, order, estimates).await?;
        let (host, runner) = (self.clone(), Arc::clone(&prepared.runner));
        let code = move |task: Task| {
            let (runner, attempt) = (Arc::clone(&runner), task.as_attempt());
            // Nobody has the run before its first attempt.
            host.place_with(&attempt, &runner);
            async move { runner.attempt(attempt).await }
        };
        let builder = firing.run(Arc::clone(&prepared.graph), code);
        Ok(prepared.configure(builder, flow, order).announce().await?.into())
    }

    /// What a run needs before it can be asked for.
    async fn prepare(
        &self,
        flow: &Arc<Flow>,
        order: &FlowOrder,
        estimates: &Estimates,
    ) -> Result<Prepared, StartError> {
        let group = group_of(flow, order)?;
        let secrets = Secrets::fetch(flow, &*self.shared.means.world).await?;
        let env_files = EnvFiles::read(flow).await?;
        let Blueprint { graph, options } = Blueprint::new(flow, &order.params, estimates)?;
        let outputs = reused_outputs(order);
        let (params, means) = (order.params.clone(), Arc::clone(&self.shared.means));
        let runner = FlowRunner::new(Arc::clone(flow), params, secrets, outputs, means);
        let runner = runner.env_files(env_files).scheduled_at(scheduled_at(order));
        let runner = Arc::new(runner.earlier(earlier(order)));
        let chosen = chosen_tasks(&graph, order);
        let is_there = |task: &&String| match &chosen {
            Some(chosen) => chosen.contains(*task),
            None => graph.index_of(task).is_some(),
        };
        let done = order.reused.keys().filter(is_there).cloned().collect();
        Ok(Prepared { runner, graph: Arc::new(graph), options, chosen, done, group })
    }

    /// Makes one attempt at a task of a run that the store brought back: for
    /// [`tidewheel::Builder::adopt_kind`] with [`FLOW_KIND`].
    pub async fn attempt(&self, attempt: Attempt) -> Outcome {
        let place = self.place_of(&attempt);
        let runner = match place.get_or_try_init(|| self.restore(&attempt)).await {
            Ok(runner) => runner,
            Err(error) => {
                self.shared.means.tell_why(&attempt, attempt.number(), error.to_string());
                return Outcome::Postponed(AGAIN_AFTER);
            }
        };
        match runner {
            Ok(runner) => Arc::clone(runner).attempt(attempt).await,
            Err(why) => Outcome::Failed(Box::new(Failure {
                message: Arc::clone(why),
                permanent: true,
                ..Failure::default()
            })),
        }
    }

    /// Waits until everything is tidied up that was left of runs: for whoever has ended the wheel.
    pub async fn settled(&self) {
        let watchers = std::mem::take(&mut *self.shared.watchers());
        for watcher in watchers {
            let _ = watcher.await;
        }
    }

    /// What the tasks of a run have left for each other so far, if it is carried out here.
    #[must_use]
    pub fn outputs(&self, run: RunId) -> Option<Arc<Outputs>> {
        let place = self.places().get(&run).cloned()?;
        let runner = place.get()?.as_ref().ok()?;
        Some(Arc::clone(runner.outputs()))
    }

    /// How many runs it carries out.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.places().len()
    }

    /// The one place for the runner of an attempt's run.
    fn place_of(&self, attempt: &Attempt) -> Arc<Place> {
        if let Some(known) = self.places().get(&attempt.id().run) {
            return Arc::clone(known);
        }
        match attempt.run() {
            Some(run) => self.keep(&attempt.wheel(), &run, Arc::default()),
            // No flow, as its payload will say.
            None => Arc::default(),
        }
    }

    /// Keeps the runner of an attempt's run, unless that was done.
    fn place_with(&self, attempt: &Attempt, runner: &Arc<FlowRunner>) {
        let is_known = self.places().contains_key(&attempt.id().run);
        if let (false, Some(run)) = (is_known, attempt.run()) {
            let place = Arc::new(Place::new_with(Some(Ok(Arc::clone(runner)))));
            self.keep(&attempt.wheel(), &run, place);
        }
    }

    /// Keeps a place until the run has ended. If there is one already, that one counts.
    fn keep(&self, wheel: &Tidewheel, run: &Run, place: Arc<Place>) -> Arc<Place> {
        let (id, run) = (run.id(), run.clone());
        let place = match self.places().entry(id) {
            Entry::Occupied(known) => return Arc::clone(known.get()),
            Entry::Vacant(free) => Arc::clone(free.insert(place)),
        };
        let shared = Arc::downgrade(&self.shared);
        let watcher = wheel.runtime().spawn(async move {
            // Also when the wheel ends before the run.
            let _ = run.report().await;
            let Some(shared) = shared.upgrade() else { return };
            let place = shared.places().remove(&id);
            if let Some(Ok(runner)) = place.as_ref().and_then(|place| place.get()) {
                runner.leave_folder();
            }
        });
        let mut watchers = self.shared.watchers();
        // Not at each run: thousands may be under way.
        if watchers.len() == watchers.capacity() {
            watchers.retain(|watcher| !watcher.is_finished());
            let room = watchers.len() + 1;
            watchers.reserve(room);
        }
        watchers.push(watcher);
        place
    }

    /// Makes the runner of a run that was brought back. The error is that it cannot be made now; the
    /// value may be that it never can.
    async fn restore(
        &self,
        attempt: &Attempt,
    ) -> Result<Result<Arc<FlowRunner>, Arc<str>>, BoxError> {
        let made = self.understand(attempt).await;
        let (order, flow, secrets, env_files) = match made {
            Ok(made) => made,
            Err(error) if error.is_passing() => return Err(error.into()),
            Err(error) => return Ok(Err(Arc::from(error.to_string()))),
        };
        let (recall, run) = (Arc::clone(&self.shared.recall), attempt.id().run);
        let recalled = tokio::task::spawn_blocking(move || recall(run)).await?;
        let recalled =
            recalled.map_err(|error| format!("what earlier steps left cannot be read: {error}"))?;
        let outputs = reused_outputs(&order);
        let (instant, means) = (scheduled_at(&order), Arc::clone(&self.shared.means));
        let again = earlier(&order);
        let runner = FlowRunner::new(flow, order.params, secrets, Arc::clone(&outputs), means);
        let runner = runner.earlier(again);
        for task in recalled {
            runner.recall(&task.name, task.trace);
            if let Some(values) = task.outputs {
                outputs.insert(&task.name, values);
            }
        }
        Ok(Ok(Arc::new(runner.env_files(env_files).scheduled_at(instant))))
    }

    async fn understand(
        &self,
        attempt: &Attempt,
    ) -> Result<(FlowOrder, Arc<Flow>, Secrets, EnvFiles), StartError> {
        let (kind, payload) = (attempt.kind(), attempt.payload());
        let order = FlowOrder::from_payload(kind.as_deref(), payload.as_deref())?;
        let flow = order.flow()?;
        let known = self.shared.secrets().remove(&attempt.id().run);
        let secrets = match known {
            Some(secrets) => secrets,
            None => Secrets::fetch(&flow, &*self.shared.means.world).await?,
        };
        let env_files = EnvFiles::read(&flow).await?;
        Ok((order, flow, secrets, env_files))
    }

    fn places(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Place>>> {
        self.shared.places()
    }
}

impl Shared {
    fn places(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Place>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn secrets(&self) -> MutexGuard<'_, HashMap<RunId, Secrets>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watchers(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that is about to be asked for.
struct Prepared {
    runner: Arc<FlowRunner>,
    graph: Arc<Graph>,
    /// How each task is treated, by its index.
    options: Vec<TaskOptions>,
    /// The only tasks that are run, if not all are.
    chosen: Option<BTreeSet<String>>,
    /// Tasks that were done before.
    done: Vec<String>,
    group: Option<RunGroup>,
}

impl Prepared {
    /// Says on a run of the graph what the flow says of it.
    fn configure<F>(self, builder: RunBuilder<F>, flow: &Flow, order: &FlowOrder) -> RunBuilder<F> {
        let mut builder = builder
            .name(&flow.name)
            .concurrency(order.max_workers)
            .attempt_timeout(None)
            .on_error(flow.runner.on_error)
            .on_skip(flow.runner.on_skip)
            .on_stop(flow.runner.on_stop)
            .order(flow.runner.order)
            .configure_by_index(self.options)
            .already_done(self.done)
            .payload(order.to_payload())
            .kind(FLOW_KIND);
        for (name, spec) in &flow.queues {
            builder = builder.with_queue(name, spec.clone());
        }
        for (name, spec) in &flow.limits {
            builder = builder.with_limit(name, spec.clone());
        }
        if let Some(priority) = order.priority {
            builder = builder.priority(priority);
        }
        if let Some(timeout) = flow.runner.timeout {
            builder = builder.run_timeout(timeout);
        }
        if let Some(group) = self.group {
            builder = builder.group(group);
        }
        if let Some(chosen) = &self.chosen {
            builder = builder.only(chosen);
        }
        builder
    }
}

/// What tasks that are not done again left before.
fn reused_outputs(order: &FlowOrder) -> Arc<Outputs> {
    let outputs = Arc::new(Outputs::default());
    for (task, values) in &order.reused {
        outputs.insert(task, values.clone());
    }
    outputs
}

/// The run whose results are used again.
fn earlier(order: &FlowOrder) -> Option<Earlier> {
    let tasks = order.reused.keys().cloned().collect();
    order.again.clone().map(|run| Earlier { run, tasks })
}

/// The instant of a schedule that a run is made for.
fn scheduled_at(order: &FlowOrder) -> Option<Timestamp> {
    order.scheduled_at.as_deref().and_then(instant::parse)
}

/// The concurrency group of a run.
fn group_of(flow: &Flow, order: &FlowOrder) -> Result<Option<RunGroup>, StartError> {
    let Some(concurrency) = &flow.concurrency else { return Ok(None) };
    let group = concurrency.of(&order.params);
    let group = group.map_err(|error| StartError::Flow(error.to_string()))?;
    if group.name.trim().is_empty() {
        let why = "the name of the concurrency group is empty: its runs would wait for all others that \
                   have none; give it a name, or the param in it a value";
        return Err(StartError::Flow(why.to_owned()));
    }
    Ok(Some(group))
}

/// The tasks of the chosen steps, if not all are: elements and called flows come with their step.
fn chosen_tasks(graph: &Graph, order: &FlowOrder) -> Option<BTreeSet<String>> {
    order.only.as_ref()?;
    let names = (0..graph.len()).map(|index| graph.name(index).into_owned());
    Some(names.filter(|name| order.is_chosen(name)).collect())
}

impl fmt::Debug for FlowHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowHost").field("runs", &self.runs()).finish_non_exhaustive()
    }
}
