//! Runs by a short prefix of their id, their tasks by name.
//!
//! What is known of a run that was found is in [`super::view`].

use tidewheel::store::{RunDetail, RunFilter, RunKind, TaskSummary};

use super::desk::Desk;
use super::error::DeskError;
use crate::text::nearest;

/// Longer lists of candidates help nobody.
const CANDIDATES_MAX: u32 = 5;

impl Desk {
    /// The run that a word means: its id, a prefix of it, or `last`.
    ///
    /// # Errors
    ///
    /// When there is none, or more than one.
    pub fn find(&self, word: &str) -> Result<RunDetail, DeskError> {
        let ids = match word {
            "last" | "latest" => {
                let kind = Some(RunKind::Run);
                let filter = RunFilter { kind, limit: 1, ..RunFilter::default() };
                let runs = self.reader.runs(&filter).map_err(|error| self.failed(error))?;
                runs.into_iter().map(|run| run.id).collect()
            }
            _ => {
                let found = self.reader.find(word, CANDIDATES_MAX);
                found.map_err(|error| self.failed(error))?
            }
        };
        match ids.as_slice() {
            [] => {
                let folder = self.folder.path().to_owned();
                Err(DeskError::NoRun { word: word.to_owned(), folder })
            }
            [id] => {
                let detail = self.reader.run(*id).map_err(|error| self.failed(error))?;
                detail.ok_or(DeskError::RunGone { run: *id })
            }
            _ => Err(DeskError::SeveralRuns { word: word.to_owned(), runs: ids }),
        }
    }
}

/// A task of a run by name.
pub(super) fn task_of<'a>(detail: &'a RunDetail, name: &str) -> Result<&'a TaskSummary, DeskError> {
    detail.tasks.iter().find(|task| task.name == name).ok_or_else(|| DeskError::NoStep {
        step: name.to_owned(),
        near: nearest(name, detail.tasks.iter().map(|task| task.name.as_str())).map(str::to_owned),
    })
}
