//! Shards: taken for a session, or only to end what was left there.
//!
//! What a shard is, and who may have it, is the store's business.

use std::time::Duration;

use tidewheel::executor::process::Processes;
use tidewheel::store::StoreError;
use tidewheel::store::sqlite::{DataFolder, SqliteStore};
use tidewheel::{BuildError, Cancel, RunId, Shutdown, Tidewheel};

use super::opening::{Opening, Phase};
use super::options::Takeover;
use crate::desk::{DeskError, NotStarted};

/// How long the processes of a dead holder are waited for; they have less time than this to end.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn take_shard(
    folder: &DataFolder,
    takeover: &Takeover,
    phase: &Phase,
) -> Result<SqliteStore, DeskError> {
    let name = match takeover {
        Takeover::Shard(name) => name.clone(),
        Takeover::Fresh => {
            folder.fresh_shard().map_err(|error| DeskError::folder(error, folder.path()))?
        }
    };
    let taken = match folder.shard(&name) {
        // What cannot be asked is as if somebody lived there.
        Err(StoreError::Held { .. }) if folder.is_left(&name).unwrap_or_default() => {
            phase.waits(Opening::LeftBehind);
            let taken = folder.shard_when_left(&name, PATIENCE);
            phase.goes_on();
            taken
        }
        taken => taken,
    };
    taken.map_err(|error| match error {
        // Its lock is held by what it has started.
        StoreError::Held { .. } if matches!(takeover, Takeover::Shard(_)) && is_dead(&error) => {
            DeskError::LeftBehind { patience: PATIENCE }
        }
        StoreError::Held { .. } => DeskError::Held(error),
        error => DeskError::folder(error.into(), folder.path()),
    })
}

/// Whether the process that is said to hold a shard is no more.
fn is_dead(error: &StoreError) -> bool {
    let StoreError::Held { pid, .. } = error else { return false };
    pid.is_some_and(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
}

/// Ends a run that nobody runs any more, without doing anything of it. It blocks, on a runtime of its own.
///
/// # Errors
///
/// When somebody runs it after all, or the folder cannot be used.
pub(crate) fn end_left(folder: &DataFolder, shard: &str, id: RunId) -> Result<(), DeskError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(DeskError::System)?;
    let (phase, _) = Phase::new();
    let store = take_shard(folder, &Takeover::Shard(shard.to_owned()), &phase)?;
    let shard = store.share().map_err(DeskError::System)?;
    let reclaim = super::flows::end_left(Processes::builder().of_shard(shard).reclaim(), folder);
    runtime.block_on(async {
        let wheel = Tidewheel::builder()
            .reclaim(reclaim)
            // Nothing of it is started.
            .paused()
            .adopt(|_| async {})
            .store(store)
            .try_start()
            .map_err(|error| not_started(error, folder))?;
        if let Some(run) = wheel.find_run(id) {
            run.cancel(Cancel::everything(Duration::ZERO));
            // It has ended one way or the other; what it came to is in the store.
            let _ = run.report().await;
        }
        wheel.shutdown(Shutdown::persist()).await;
        Ok(())
    })
}

pub(super) fn not_started(error: BuildError, folder: &DataFolder) -> DeskError {
    DeskError::NotStarted(Box::new(NotStarted { error, path: folder.path().to_owned() }))
}
