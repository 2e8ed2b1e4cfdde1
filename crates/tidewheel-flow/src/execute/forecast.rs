//! What would become of steps with a cache, before anything is done.
//!
//! It goes by what is there now: steps that would be done may change what later ones read.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use super::context::Position;
use super::end::Trouble;
use super::env_file::EnvFiles;
use super::means::Means;
use super::outputs::Outputs;
use super::runner::{FlowRunner, gathers, holds, looks};
use super::secrets::Secrets;
use super::world::World;
use crate::compile::Role;
use crate::compile::order::FlowOrder;
use crate::definition::connect::{KnownElements, file_between};
use crate::definition::{Flow, Step};

/// What would become of a task with a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheForecast {
    /// Its work is passed over.
    Cached,
    /// Its work is done, and why.
    Done(String),
    /// That is known only when it runs, and why.
    Unknown(String),
}

impl CacheForecast {
    /// What would become of these tasks, which stand in an order in which they could be done, and of which
    /// each that is not among the answers has no cache. `folder` is that of the cache.
    pub async fn of_run(
        flow: &Arc<Flow>,
        order: &FlowOrder,
        tasks: &[String],
        world: Arc<dyn World>,
        folder: PathBuf,
    ) -> BTreeMap<String, Self> {
        let outputs = Arc::new(Outputs::default());
        for (task, values) in &order.reused {
            outputs.insert(task, values.clone());
        }
        let means = Arc::new(Means::new(world).cache(folder));
        let (params, secrets) = (order.params.clone(), Secrets::default());
        let runner = FlowRunner::new(Arc::clone(flow), params, secrets, outputs, means);
        // If they cannot be read, no variable of theirs is known.
        let runner = runner.env_files(EnvFiles::read(flow).await.unwrap_or_default());
        let (mut found, mut makers) = (BTreeMap::new(), Makers::default());
        for task in tasks {
            if let Some(forecast) = runner.forecast(task, &mut makers).await {
                found.insert(task.clone(), forecast);
            }
        }
        found
    }
}

impl FlowRunner {
    async fn forecast(&self, task: &str, makers: &mut Makers) -> Option<CacheForecast> {
        let position = self.position(task).ok()?;
        if matches!(position.name.role, Role::Open(_)) {
            return None;
        }
        if position.name.is_of_each() {
            makers.add(&position);
            return None;
        }
        if gathers(&position) {
            self.gather_known(task, &position);
            return None;
        }
        position.step.cache.as_ref()?;
        let forecast = match makers.of(&position) {
            Some(why) => CacheForecast::Unknown(why),
            None => self.look_ahead(task, &position).await.unwrap_or_else(|trouble| {
                let why = trouble.message().unwrap_or_default();
                CacheForecast::Unknown(format!("it depends on what is not known yet: {why}"))
            }),
        };
        if forecast != CacheForecast::Cached {
            makers.add(&position);
        }
        Some(forecast)
    }

    async fn look_ahead(&self, task: &str, position: &Position) -> Result<CacheForecast, Trouble> {
        let context = self.context(position, None)?;
        if looks(position) && !holds(&position.step, &context)? {
            return Ok(CacheForecast::Unknown(
                "as things are, its condition does not hold".to_owned(),
            ));
        }
        let from = self.folder_of(position, &context)?;
        let prepared = match self.prepare_cache(position, &context).await {
            Ok(prepared) => prepared,
            // A file that it reads is not there. Everything else is about values.
            Err(trouble) => {
                let why = trouble.message().unwrap_or_default();
                let Some(why) = why.strip_prefix("cache: ") else { return Err(trouble) };
                return Ok(CacheForecast::Done(why.to_owned()));
            }
        };
        let Some(prepared) = prepared else {
            return Ok(CacheForecast::Done("it was not done before".to_owned()));
        };
        if let Some(outputs) = &prepared.found {
            self.outputs.insert(task, outputs.clone());
        }
        Ok(prepared.why_done(&from).map_or(CacheForecast::Cached, CacheForecast::Done))
    }

    /// What a step with elements, or one that calls a flow, leaves, if all that is in it is known.
    fn gather_known(&self, task: &str, position: &Position) {
        let Ok(left) = self.gather(position, None) else { return };
        let is_known = |value: &serde_json::Value| match value {
            serde_json::Value::Array(values) => !values.iter().any(serde_json::Value::is_null),
            _ => true,
        };
        if !left.is_empty() && left.values().all(is_known) {
            self.outputs.insert(task, left);
        }
    }
}

/// Steps that would be done, or may be: what they make may be made anew. They stand at their place in the run, without
/// elements and tries: the files of all of those are told by the same words.
#[derive(Default)]
struct Makers {
    steps: BTreeMap<String, (Arc<Step>, PathBuf, KnownElements)>,
    /// What was found out of a maker and a reader.
    known: HashMap<(String, String), Option<Arc<str>>>,
}

impl Makers {
    fn add(&mut self, position: &Position) {
        if position.step.cache.is_some() {
            let maker = || {
                let folder = position.scope.flow.folder.clone();
                (Arc::clone(&position.step), folder, elements_around(position))
            };
            self.steps.entry(place_of(position)).or_insert_with(maker);
        }
    }

    /// Why what a step reads is not known yet: somebody else makes it, and would do so.
    fn of(&mut self, position: &Position) -> Option<String> {
        let place = place_of(position);
        let around = elements_around(position);
        let reader = (&*position.step, position.scope.flow.folder.as_path(), &around);
        let known = &mut self.known;
        let others = self.steps.iter().filter(|(maker, _)| **maker != place);
        others.into_iter().find_map(|(maker, (step, folder, elements))| {
            let file = known
                .entry((maker.clone(), place.clone()))
                .or_insert_with(|| file_between((step, folder, elements), reader));
            file.as_ref().map(|file| format!("it reads {file}, which `{maker}` may make anew"))
        })
    }
}

/// What is known of the elements that a task is inside of.
fn elements_around(position: &Position) -> KnownElements {
    let calls = position.scope.calls.iter();
    calls.fold(KnownElements::default(), |known, (_, step)| known.inside(step))
}

/// The steps that lead to a task, and its own.
fn place_of(position: &Position) -> String {
    let calls = position.scope.calls.iter().map(|(call, _)| call.step.as_str());
    calls.chain([position.step.name.as_str()]).collect::<Vec<_>>().join("/")
}
