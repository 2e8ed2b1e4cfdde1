//! The state of a run that is watched, for whoever asks over HTTP.
//!
//! It is read from the store: whatever is shown was kept before.

use serde_json::{Map, Value as Json};
use tidewheel::store::TaskSummary;
use tidewheel::store::sqlite::DataFolder;
use tidewheel::{RunId, TaskState, Timestamp};
use tidewheel_client::desk::{Desk, RunView, step_state};
use tidewheel_flow::listed;

use crate::status::{RunStatus, StatusSource, StepStatus};

/// A run in a data folder.
pub(crate) struct StoredStatus {
    folder: DataFolder,
    run: RunId,
}

impl StoredStatus {
    pub fn new(folder: DataFolder, run: RunId) -> Self {
        Self { folder, run }
    }

    fn view(&self) -> Option<RunView> {
        Desk::open(self.folder.clone()).ok()?.show_run(self.run).ok()?
    }
}

impl StatusSource for StoredStatus {
    fn status(&self) -> RunStatus {
        let view = self.view();
        let summary = view.as_ref().map(|view| &view.detail.summary);
        RunStatus {
            run_id: self.run.to_string(),
            started_at: summary.map(|summary| seconds(summary.accepted_at)),
            ended_at: summary.and_then(|summary| summary.ended_at).map(seconds),
            steps: view.as_ref().map(steps).unwrap_or_default(),
        }
    }

    fn outputs(&self) -> Json {
        let outputs = self.view().and_then(|view| serde_json::to_value(view.outputs()).ok());
        outputs.unwrap_or_else(|| Json::Object(Map::new()))
    }
}

fn steps(view: &RunView) -> Vec<StepStatus> {
    let step = |task: &TaskSummary| {
        let ended = task.at.filter(|_| task.state.is_terminal());
        let reason = || view.reason(task);
        StepStatus {
            name: task.name.clone(),
            state: step_state(task.state).word(),
            started_at: task.started_at.map(seconds),
            ended_at: ended.map(seconds),
            error: match task.state {
                TaskState::Succeeded => None,
                _ => task.error.clone().or_else(reason),
            },
            outputs: view.outputs_of(task.index).keys().cloned().collect(),
        }
    };
    listed(&view.detail.tasks).into_iter().map(step).collect()
}

fn seconds(at: Timestamp) -> f64 {
    at.as_micros() as f64 / 1e6
}
