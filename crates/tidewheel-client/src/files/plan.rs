//! What a run of a flow would do, before anything is done: as a document and as a picture.
//!
//! Tasks and their order are found out by `tidewheel-flow`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::executor::process::Processes;
use tidewheel_flow::{CacheForecast, Flow, FlowPlan, PlannedTask, ThisMachine};

use super::Picture;
use crate::api::{CacheState, NextFirings, Plan, PlannedCache, PlannedStep, UnknownSteps};
use crate::desk::DeskError;
use crate::kind::FlowRun;

/// Firings that are told.
const FIRINGS: usize = 3;

impl FlowRun {
    /// What it would do, with how long its tasks took before.
    ///
    /// # Errors
    ///
    /// When the flow makes no graph with these params.
    pub fn plan(&self, expected: &BTreeMap<String, Duration>) -> Result<Plan, DeskError> {
        let plan = FlowPlan::new(&self.flow, &self.order, expected)?;
        let unknown = plan.unknown.iter().map(|it| UnknownSteps {
            step: it.step.clone(),
            elements_of: it.list.clone(),
            params: it.params.clone(),
        });
        Ok(Plan {
            version: None,
            flow: self.flow.name.clone(),
            description: self.flow.description.clone(),
            max_workers: self.order.max_workers,
            steps: plan.tasks.iter().map(step).collect(),
            complete: plan.unknown.is_empty(),
            unknown: unknown.collect(),
            levels: plan.levels(),
            parallelism: plan.widest(),
            critical_path: plan.critical_path.clone(),
            expected_seconds: plan.expected.map(|it| it.as_secs_f64()),
            limits: plan.limits.clone(),
            schedule: firings(&self.flow),
        })
    }

    /// The same, with what would become of steps that have a cache: this is that of a data folder. Nothing is
    /// run for it, so what depends on secrets is not known.
    ///
    /// # Errors
    ///
    /// As for [`FlowRun::plan`].
    pub async fn plan_with_cache(
        &self,
        expected: &BTreeMap<String, Duration>,
        data: &Path,
    ) -> Result<Plan, DeskError> {
        let mut plan = self.plan(expected)?;
        let tasks: Vec<String> = plan.steps.iter().map(|step| step.step.clone()).collect();
        let world = Arc::new(ThisMachine::new(Processes::builder()));
        let cache = data.join("cache");
        let found = CacheForecast::of_run(&self.flow, &self.order, &tasks, world, cache).await;
        for step in &mut plan.steps {
            step.cache = found.get(&step.step).map(planned_cache);
        }
        Ok(plan)
    }

    /// The same as a picture.
    ///
    /// # Errors
    ///
    /// As for [`FlowRun::plan`].
    pub fn picture(&self, expected: &BTreeMap<String, Duration>) -> Result<Picture, DeskError> {
        Ok(FlowPlan::new(&self.flow, &self.order, expected)?.picture())
    }
}

fn step(task: &PlannedTask) -> PlannedStep {
    PlannedStep {
        step: task.name.clone(),
        kind: task.kind.to_owned(),
        level: task.level,
        after: task.after.clone(),
        expected_seconds: task.expected.map(|it| it.as_secs_f64()),
        critical: task.is_critical,
        many: task.is_of_each,
        cache: None,
    }
}

fn planned_cache(forecast: &CacheForecast) -> PlannedCache {
    let (state, why) = match forecast {
        CacheForecast::Cached => (CacheState::Cached, None),
        CacheForecast::Done(why) => (CacheState::Done, Some(why.clone())),
        CacheForecast::Unknown(why) => (CacheState::Unknown, Some(why.clone())),
    };
    PlannedCache { state, why }
}

fn firings(flow: &Flow) -> Vec<NextFirings> {
    let firings = flow
        .schedules
        .iter()
        .map(|schedule| NextFirings { rule: schedule.text.clone(), next: schedule.next(FIRINGS) });
    firings.collect()
}
