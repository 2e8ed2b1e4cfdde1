//! What would become of steps with a cache, before anything is done.
//!
//! It goes by what is there now: steps that would be done may change what later ones read.

use std::collections::BTreeMap;
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
use crate::definition::Flow;

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
        let mut found = BTreeMap::new();
        for task in tasks {
            if let Some(forecast) = runner.forecast(task, &found).await {
                found.insert(task.clone(), forecast);
            }
        }
        found
    }
}

impl FlowRunner {
    async fn forecast(
        &self,
        task: &str,
        known: &BTreeMap<String, CacheForecast>,
    ) -> Option<CacheForecast> {
        let position = self.position(task).ok()?;
        if matches!(position.name.role, Role::Open(_)) || position.name.is_of_each() {
            return None;
        }
        if gathers(&position) {
            self.gather_known(task, &position);
            return None;
        }
        position.step.cache.as_ref()?;
        if let Some(maker) = unknown_maker(&position, known) {
            return Some(CacheForecast::Unknown(maker));
        }
        Some(match self.look_ahead(task, &position).await {
            Ok(forecast) => forecast,
            Err(trouble) => {
                let why = trouble.message().unwrap_or_default();
                CacheForecast::Unknown(format!("it depends on what is not known yet: {why}"))
            }
        })
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

/// Why what a step reads is not known yet: somebody else makes it, and would do so.
fn unknown_maker(position: &Position, known: &BTreeMap<String, CacheForecast>) -> Option<String> {
    let prefix = position.scope.prefix();
    let by_file = position.step.after.iter().filter_map(|it| Some((it, it.file.as_deref()?)));
    by_file.into_iter().find_map(|(needed, file)| {
        let task = format!("{prefix}{}", needed.step);
        let is_of_maker = |name: &str| {
            let rest = name.strip_prefix(&*task);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '/']))
        };
        let mut of_maker = known.iter().filter(|(name, _)| is_of_maker(name));
        let is_done = of_maker.any(|(_, forecast)| *forecast != CacheForecast::Cached);
        is_done.then(|| format!("it reads {file}, which `{}` may make anew", needed.step))
    })
}
