//! The state of a run that is watched, for whoever asks over HTTP.
//!
//! It is read from the store: whatever is shown was kept before.

use tidewheel::RunId;
use tidewheel::store::sqlite::DataFolder;
use tidewheel_client::api::{FlowtoyOutputs, FlowtoyStatus, RunResult};

use crate::data::local_desk;
use crate::status::StatusSource;

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
    fn status(&self) -> FlowtoyStatus {
        let run = self.result();
        let nothing = || FlowtoyStatus { run_id: self.run.to_string(), ..FlowtoyStatus::default() };
        run.as_ref().map_or_else(nothing, FlowtoyStatus::from)
    }

    fn outputs(&self) -> FlowtoyOutputs {
        self.result().map(|run| FlowtoyOutputs(run.outputs)).unwrap_or_default()
    }
}
