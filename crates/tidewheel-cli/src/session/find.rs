//! Runs by a short prefix of their id, their tasks by name.

use anyhow::anyhow;
use tidewheel::store::sqlite::{DataFolder, Reader};
use tidewheel::store::{RunDetail, RunFilter, RunKind, TaskSummary};
use tidewheel_flow::{FlowOrder, nearest};

use crate::data::folder_error;
use crate::error::{CommandError, ErrorKind};

/// Longer lists of candidates help nobody.
const CANDIDATES_MAX: u32 = 5;

/// The run that a word on the command line means: its id, a prefix of it, or `last`.
pub(crate) fn find_run(
    folder: &DataFolder,
    reader: &Reader,
    word: &str,
) -> Result<RunDetail, CommandError> {
    let failed = |error| folder_error(error, folder.path());
    let ids = match word {
        "last" | "latest" => {
            let filter = RunFilter { kind: Some(RunKind::Run), limit: 1, ..RunFilter::default() };
            reader.runs(&filter).map_err(failed)?.into_iter().map(|run| run.id).collect()
        }
        _ => reader.find(word, CANDIDATES_MAX).map_err(failed)?,
    };
    match ids.as_slice() {
        [] => {
            let error = anyhow!("there is no run `{word}` in {}", folder.path().display());
            Err(CommandError::new(ErrorKind::NotFound, error).hint("`tidewheel runs` lists them"))
        }
        [id] => {
            let detail = reader.run(*id).map_err(failed)?;
            detail.ok_or_else(|| {
                CommandError::new(ErrorKind::NotFound, anyhow!("run {id} was removed meanwhile"))
            })
        }
        several => {
            let ids: Vec<String> = several.iter().map(ToString::to_string).collect();
            let error = anyhow!("several runs begin with `{word}`");
            Err(CommandError::usage(error).hint(format!("one of {}", ids.join(", "))))
        }
    }
}

/// What was asked for when the run was started.
pub(crate) fn flow_of(detail: &RunDetail) -> Result<FlowOrder, CommandError> {
    FlowOrder::of_run(detail).map_err(|error| CommandError::new(ErrorKind::Refused, error))
}

/// A task of a run by name.
pub(crate) fn task_of<'a>(
    detail: &'a RunDetail,
    name: &str,
) -> Result<&'a TaskSummary, CommandError> {
    detail.tasks.iter().find(|task| task.name == name).ok_or_else(|| {
        let error = anyhow!("the run has no step `{name}`");
        let error = CommandError::new(ErrorKind::NotFound, error);
        match nearest(name, detail.tasks.iter().map(|task| task.name.as_str())) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    })
}
