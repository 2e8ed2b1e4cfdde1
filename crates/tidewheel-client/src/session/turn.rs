//! [`RetryTurn`]: of each run one retry at a time, whoever asks.
//!
//! What a retry does is found out by its [kind](crate::kind::Kind).

use std::time::Duration;

use tidewheel::RunId;
use tidewheel::file::FileLock;
use tidewheel::store::sqlite::{DataFolder, FolderError};
use tidewheel::store::{RunFilter, RunKind};

use crate::desk::DeskError;
use crate::kind::MadeAgain;

/// How long others who start a retry are waited for. It takes them as long as their secrets.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs that have not ended and are looked at, newest first.
const RUNS_MAX: u32 = 1_000;

/// The right to start a retry in a data folder. Whoever has it sees every retry that was started before.
#[derive(Debug)]
pub(super) struct RetryTurn {
    _lock: FileLock,
}

impl RetryTurn {
    /// Waits for it, and makes sure that nobody else makes this run again, of this name. It blocks.
    pub fn take(folder: &DataFolder, name: String, again: &MadeAgain) -> Result<Self, DeskError> {
        let turn = Self { _lock: wait(folder)? };
        let by = made_by(folder, name, again);
        match by.map_err(|error| DeskError::folder(error, folder.path()))? {
            Some(by) => Err(DeskError::Retried { run: again.run.clone(), by }),
            None => Ok(turn),
        }
    }
}

fn wait(folder: &DataFolder) -> Result<FileLock, DeskError> {
    let failed = |error: FolderError| DeskError::folder(error, folder.path());
    let path = folder.path().join("locks").join(".retry");
    let taken = FileLock::wait(&path, PATIENCE).map_err(|error| failed(error.into()))?;
    taken.map_err(|holder| {
        failed(FolderError::InUse { path: folder.path().to_owned(), by: holder.to_string() })
    })
}

/// The run that makes the same run again and has not ended, if there is one.
fn made_by(
    folder: &DataFolder,
    name: String,
    again: &MadeAgain,
) -> Result<Option<RunId>, FolderError> {
    let reader = folder.reader()?;
    let filter = RunFilter {
        name: Some(name),
        live: Some(true),
        kind: Some(RunKind::Run),
        limit: RUNS_MAX,
        ..RunFilter::default()
    };
    for other in reader.runs(&filter)? {
        let payload = reader.payload(&other)?;
        let made = payload.and_then(|(payload, _)| (again.read)(&payload));
        if made.as_deref() == Some(&*again.run) {
            return Ok(Some(other.id));
        }
    }
    Ok(None)
}
