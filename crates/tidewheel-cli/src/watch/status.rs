//! The state of a run that is watched, for whoever asks over HTTP.
//!
//! It is read from the store: whatever is shown was kept before.

use serde_json::{Map, Value as Json};
use tidewheel::store::sqlite::DataFolder;
use tidewheel::{RunId, Timestamp};
use tidewheel_client::api::{RunResult, StepResult, StepState};

use crate::data::local_desk;
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

    fn result(&self) -> Option<RunResult> {
        local_desk(self.folder.clone()).ok()?.result(&self.run.to_string()).ok()
    }
}

impl StatusSource for StoredStatus {
    fn status(&self) -> RunStatus {
        let run = self.result();
        let steps = run.iter().flat_map(|run| &run.steps.0).map(|(name, it)| step(name, it));
        RunStatus {
            run_id: self.run.to_string(),
            started_at: run.as_ref().map(|run| seconds(run.accepted_at)),
            ended_at: run.as_ref().and_then(|run| run.ended_at).map(seconds),
            steps: steps.collect(),
        }
    }

    fn outputs(&self) -> Json {
        let outputs = self.result().and_then(|run| serde_json::to_value(run.outputs).ok());
        outputs.unwrap_or_else(|| Json::Object(Map::new()))
    }
}

fn step(name: &str, step: &StepResult) -> StepStatus {
    StepStatus {
        name: name.to_owned(),
        state: step.state.word(),
        started_at: step.started_at.map(seconds),
        ended_at: step.ended_at.map(seconds),
        error: match step.state {
            StepState::Succeeded => None,
            _ => step.error.clone().or_else(|| step.reason.clone()),
        },
        outputs: step.outputs.keys().cloned().collect(),
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_micros() as f64 / 1e6
}
