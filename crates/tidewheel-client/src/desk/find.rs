//! Runs by a short prefix of their id, their tasks by name.
//!
//! What is known of a run that was found is in [`super::view`].

use tidewheel::RunId;
use tidewheel::store::{RunDetail, RunFilter, RunKind, RunSummary, TaskSummary};

use super::error::DeskError;
use super::local::LocalDesk;
use crate::text::nearest;

/// Longer lists of candidates help nobody.
const CANDIDATES_MAX: u32 = 5;

/// So many are looked for where somebody wants a list of them.
const BEGINNING_MAX: u32 = 50;

impl LocalDesk {
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
                let runs = self.runs_within(&filter)?;
                runs.into_iter().map(|run| run.id).collect()
            }
            _ => self.read(|reader| reader.find(word, CANDIDATES_MAX))?,
        };
        let ids = self.within_reach(ids)?;
        match ids.as_slice() {
            [] => Err(self.no_run(word)),
            [id] => {
                let detail = self.read(|reader| reader.run(*id))?;
                detail.ok_or(DeskError::RunGone { run: *id })
            }
            _ => Err(DeskError::SeveralRuns { word: word.to_owned(), runs: ids }),
        }
    }

    /// Runs whose identities begin so, newest first, of as many as are looked for.
    pub(super) fn runs_beginning(&self, prefix: &str) -> Result<Vec<RunSummary>, DeskError> {
        let ids = self.read(|reader| reader.find(prefix, BEGINNING_MAX))?;
        let mut runs = Vec::new();
        for id in ids {
            let found = self.run_within(id)?.map(|detail| detail.summary);
            runs.extend(found.filter(|run| run.kind == RunKind::Run));
        }
        runs.sort_by_key(|run| std::cmp::Reverse(run.place));
        Ok(runs)
    }

    /// Those of them that whoever asks may know of.
    fn within_reach(&self, mut ids: Vec<RunId>) -> Result<Vec<RunId>, DeskError> {
        if self.reach.is_all() {
            return Ok(ids);
        }
        let mut within = Vec::new();
        for id in ids.drain(..) {
            within.extend(self.run_within(id)?.map(|_| id));
        }
        Ok(within)
    }

    pub(super) fn no_run(&self, word: &str) -> DeskError {
        DeskError::NoRun { word: word.to_owned(), folder: self.folder.path().to_owned() }
    }
}

/// The identity of a run from its text.
pub(super) fn run_id_of(text: &str) -> Option<RunId> {
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    (digits.len() == 32).then(|| u128::from_str_radix(&digits, 16).ok().map(RunId))?
}

/// A task of a run by name.
pub(super) fn task_of<'a>(detail: &'a RunDetail, name: &str) -> Result<&'a TaskSummary, DeskError> {
    detail.tasks.iter().find(|task| task.name == name).ok_or_else(|| DeskError::NoStep {
        step: name.to_owned(),
        near: nearest(name, detail.tasks.iter().map(|task| task.name.as_str())).map(str::to_owned),
    })
}
