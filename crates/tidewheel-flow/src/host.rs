//! [`FlowHost`]: runs flows on a wheel, and goes on with those that a store brought back.
//!
//! It knows which run needs which runner, and nothing about when anything is started.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value as Json};
use tidewheel::{Attempt, Failure, Graph, LimitSpec, Outcome, Rejection, Run, RunId, Tidewheel};

use crate::compile::order::{FLOW_KIND, FlowOrder, OrderError};
use crate::compile::{Blueprint, CompileError, Estimates};
use crate::definition::Flow;
use crate::execute::{FlowRunner, Means, Outputs, SecretError, Secrets};

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
    /// It makes no graph.
    #[error("{0}")]
    Flow(String),
    /// The scheduler refused it.
    #[error("not accepted: {0}")]
    Rejected(#[from] Rejection),
}

impl From<CompileError> for StartError {
    fn from(error: CompileError) -> Self {
        Self::Flow(error.to_string())
    }
}

/// What tasks of a stored run left, by name.
type Recall = dyn Fn(RunId) -> Vec<(String, Map<String, Json>)> + Send + Sync;

/// The runner of each run, or why there can be none.
type Runners = HashMap<RunId, Result<Arc<FlowRunner>, Arc<str>>>;

/// Runs flows on a wheel. Clones share everything.
#[derive(Clone)]
pub struct FlowHost {
    shared: Arc<Shared>,
}

struct Shared {
    means: Arc<Means>,
    recall: Box<Recall>,
    runners: Mutex<Runners>,
}

impl FlowHost {
    /// A host with these means. `recall` says what tasks of a stored run have left.
    #[must_use]
    pub fn new(
        means: Arc<Means>,
        recall: impl Fn(RunId) -> Vec<(String, Map<String, Json>)> + Send + Sync + 'static,
    ) -> Self {
        let runners = Mutex::default();
        Self { shared: Arc::new(Shared { means, recall: Box::new(recall), runners }) }
    }

    /// Starts a run. Limits and queues of the flow are defined on the wheel.
    ///
    /// # Errors
    ///
    /// When a secret cannot be had, the flow makes no graph, or the run is refused.
    pub fn start(
        &self,
        wheel: &Tidewheel,
        flow: &Arc<Flow>,
        order: &FlowOrder,
        estimates: &Estimates,
    ) -> Result<Run, StartError> {
        let secrets = Secrets::fetch(flow)?;
        let blueprint = Blueprint::new(flow, &order.params, estimates)?;
        for (name, spec) in &flow.queues {
            wheel.define_queue(name, spec.clone())?;
        }
        let shared = flow.limits.iter().map(|(name, spec)| (name, spec.clone()));
        let own = blueprint.limits.iter().map(|(name, units)| (name, LimitSpec::Units(*units)));
        for (name, spec) in shared.chain(own) {
            wheel.define_limit(name, spec)?;
        }
        let outputs = Arc::new(Outputs::default());
        for (task, values) in &order.reused {
            outputs.insert(task, values.clone());
        }
        let runner = Arc::new(FlowRunner::new(
            Arc::clone(flow),
            order.params.clone(),
            secrets,
            outputs,
            Arc::clone(&self.shared.means),
        ));
        let code = {
            let runner = Arc::clone(&runner);
            move |task: tidewheel::Task| {
                let (runner, attempt) = (Arc::clone(&runner), task.as_attempt());
                async move { runner.attempt(attempt).await }
            }
        };
        let chosen = chosen_tasks(&blueprint.graph, order);
        let is_there = |task: &&String| match &chosen {
            Some(chosen) => chosen.contains(*task),
            None => blueprint.graph.index_of(task).is_some(),
        };
        let done: Vec<&String> = order.reused.keys().filter(is_there).collect();
        let mut builder = wheel
            .run(blueprint.graph, code)
            .name(&flow.name)
            .concurrency(order.max_workers)
            .attempt_timeout(None)
            .on_error(flow.runner.on_error)
            .on_stop(flow.runner.on_stop)
            .order(flow.runner.order)
            .configure_by_index(blueprint.options)
            .already_done(done)
            .payload(order.to_payload())
            .kind(FLOW_KIND);
        if let Some(timeout) = flow.runner.timeout {
            builder = builder.run_timeout(timeout);
        }
        if let Some(chosen) = &chosen {
            builder = builder.only(chosen);
        }
        let run = builder.start()?;
        self.runners().insert(run.id(), Ok(runner));
        Ok(run)
    }

    /// Makes one attempt at a task of a run that the store brought back: for
    /// [`tidewheel::Builder::adopt_kind`] with [`FLOW_KIND`].
    pub async fn attempt(&self, attempt: Attempt) -> Outcome {
        match self.runner_of(&attempt) {
            Ok(runner) => runner.attempt(attempt).await,
            Err(why) => Outcome::Failed(Box::new(Failure {
                message: why,
                permanent: true,
                ..Failure::default()
            })),
        }
    }

    /// The runner of a run that is known here.
    #[must_use]
    pub fn runner(&self, run: RunId) -> Option<Arc<FlowRunner>> {
        self.runners().get(&run).and_then(|runner| runner.as_ref().ok().cloned())
    }

    fn runner_of(&self, attempt: &Attempt) -> Result<Arc<FlowRunner>, Arc<str>> {
        let run = attempt.id().run;
        if let Some(known) = self.runners().get(&run) {
            return known.clone();
        }
        let made = self.restore(run, attempt);
        let made = made.map_err(|error| Arc::from(error.to_string()));
        self.runners().insert(run, made.clone());
        made
    }

    fn restore(&self, run: RunId, attempt: &Attempt) -> Result<Arc<FlowRunner>, StartError> {
        let (kind, payload) = (attempt.kind(), attempt.payload());
        let order = FlowOrder::from_payload(kind.as_deref(), payload.as_deref())?;
        let flow = order.flow()?;
        let secrets = Secrets::fetch(&flow)?;
        let outputs = Arc::new(Outputs::default());
        for (task, values) in &order.reused {
            outputs.insert(task, values.clone());
        }
        for (task, values) in (self.shared.recall)(run) {
            outputs.insert(&task, values);
        }
        let means = Arc::clone(&self.shared.means);
        Ok(Arc::new(FlowRunner::new(flow, order.params, secrets, outputs, means)))
    }

    fn runners(&self) -> MutexGuard<'_, Runners> {
        self.shared.runners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tasks of the chosen steps, if not all are: elements and called flows come with their step.
fn chosen_tasks(graph: &Graph, order: &FlowOrder) -> Option<BTreeSet<String>> {
    order.only.as_ref()?;
    let names = (0..graph.len()).map(|index| graph.name(index).into_owned());
    Some(names.filter(|name| order.is_chosen(name)).collect())
}

impl fmt::Debug for FlowHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowHost").field("runs", &self.runners().len()).finish_non_exhaustive()
    }
}
