//! [`Started`]: a run that was started or taken over here, with what is needed to tell how it goes.
//!
//! Telling it is in [`crate::progress`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::observe::NoticeStream;
use tidewheel::store::sqlite::DataFolder;
use tidewheel::store::{RunDetail, StoreError};
use tidewheel::{Run, RunId, Tidewheel, Timestamp};

use super::opening::{Opening, Phase};
use super::options::{SessionOptions, Takeover};
use super::session::Session;
use super::shard::take_shard;
use super::turn::RetryTurn;
use crate::desk::{Desk, DeskError, RunView, blocking};
use crate::kind::{Definition, Startable};

/// A run that goes on here.
pub struct Started {
    /// The run, steered without waiting for the disk.
    pub run: Run,
    /// Its notices, and those of others, from before anything could happen.
    pub notices: NoticeStream,
    /// When that was.
    pub since: Timestamp,
    /// The name of what is run.
    pub name: String,
    /// What is known of its tasks.
    pub definition: Arc<dyn Definition>,
    /// How long its tasks took before, by name.
    pub expected: BTreeMap<String, Duration>,
    /// Tasks that had ended before, by index.
    pub ended: BTreeSet<u32>,
}

impl Session {
    /// Starts a run in a session of its own, on the folder of this desk.
    ///
    /// # Errors
    ///
    /// When the folder cannot be used, or as [`Session::start`].
    pub async fn begin(
        desk: &Desk,
        run: &dyn Startable,
        options: SessionOptions,
    ) -> Result<(Self, Started), DeskError> {
        run.set_off(&options);
        let (folder, expected) = known(desk, run, None).await?;
        let session = if desk.is_inline() {
            Self::open_inline(folder, &Takeover::Fresh, options)?
        } else {
            Self::open(folder, Takeover::Fresh, options).await?
        };
        run.prepare(&session);
        match session.start(run, expected).await {
            Ok(started) => Ok((session, started)),
            Err(error) => {
                session.close().await;
                Err(error)
            }
        }
    }

    /// Goes on with a run whose process died, in a session of its own that takes over all that process had, with so many
    /// tasks of the run at once. `None` if there was nothing left to do.
    ///
    /// # Errors
    ///
    /// When somebody runs it after all, something that it needs is not here, or that it goes on cannot be stored.
    pub async fn go_on(
        desk: &Desk,
        left: &RunView,
        run: &dyn Startable,
        workers: u32,
        mut options: SessionOptions,
        tell: impl FnOnce(Opening),
    ) -> Result<Option<(Self, Started)>, DeskError> {
        let id = left.detail.summary.id;
        let shard = left.detail.summary.shard.clone().ok_or(DeskError::RunGone { run: id })?;
        run.check().await?;
        // Whoever paused it wants it to go on now.
        let (folder, expected) = known(desk, run, Some(id)).await?;
        let since = wall_clock();
        run.hand_over(id, &mut options);
        run.set_off(&options);
        let session = Self::open_telling(folder, Takeover::Shard(shard), options, tell).await?;
        run.prepare(&session);
        match session.take_over(&left.detail, run, workers, expected, since).await {
            Ok(Some(started)) => Ok(Some((session, started))),
            nothing => {
                session.close().await;
                nothing.map(|_| None)
            }
        }
    }

    /// Starts a run. `expected` says how long its tasks took before. Secrets are fetched first.
    ///
    /// # Errors
    ///
    /// When it is refused, or makes a run again that somebody else makes again already.
    pub async fn start(
        &self,
        run: &dyn Startable,
        expected: BTreeMap<String, Duration>,
    ) -> Result<Started, DeskError> {
        // Held until the run is stored, so that whoever comes next sees it.
        let turn = match run.makes_again() {
            Some(again) => {
                let (folder, name) = (self.folder.clone(), run.name().to_owned());
                Some(blocking(move || RetryTurn::take(&folder, name, &again)).await??)
            }
            None => None,
        };
        // Asked for first, so that nothing is missed.
        let (notices, since) = (self.wheel.notices(), wall_clock());
        let started = run.start(self, &expected).await?.without_waiting();
        drop(turn);
        let (name, definition) = (run.name().to_owned(), run.definition());
        let ended = BTreeSet::new();
        Ok(Started { run: started, notices, since, name, definition, expected, ended })
    }

    /// Takes a run over from a shard whose holder died to the one that this session has, `own`: from there on it is one among
    /// its others. Should this process die on the way, the run is in the one or in the other.
    ///
    /// # Errors
    ///
    /// When somebody has that shard after all, or it contradicts what is in force here.
    pub(crate) async fn take_in(
        &self,
        shard: String,
        own: &'static str,
        run: RunId,
        of: &dyn Startable,
    ) -> Result<(), DeskError> {
        let mut handed_over = SessionOptions::new(1);
        of.hand_over(run, &mut handed_over);
        for (run, secrets) in handed_over.secrets {
            self.flows.know_secrets(run, secrets);
        }
        // A task of its own: whoever asked may go away meanwhile, and what was moved must not stay unknown here.
        let moving = move_here(self.folder.clone(), self.wheel.clone(), shard, own, run);
        tokio::spawn(moving).await.map_err(|error| DeskError::System(error.into()))?
    }

    /// Goes on with a run whose shard this session has taken over, with so many tasks at once; `None` if
    /// there was nothing left to do. `before` is the run as it was left, `since` an instant before the session
    /// was opened.
    ///
    /// # Errors
    ///
    /// When that it goes on cannot be stored.
    pub async fn take_over(
        &self,
        before: &RunDetail,
        of: &dyn Startable,
        workers: u32,
        expected: BTreeMap<String, Duration>,
        since: Timestamp,
    ) -> Result<Option<Started>, DeskError> {
        // What was started before is said by the attempts themselves.
        let notices = self.wheel.notices();
        let wheel = self.wheel.without_waiting();
        let Some(run) = wheel.find_run(before.summary.id) else { return Ok(None) };
        run.set_concurrency(workers);
        run.resume();
        run.stored().await?;
        let ended = before.tasks.iter().filter(|task| task.state.is_terminal());
        let ended = ended.map(|task| task.index).collect();
        let (name, definition) = (of.name().to_owned(), of.definition());
        Ok(Some(Started { run, notices, since, name, definition, expected, ended }))
    }
}

/// The folder of a desk, and how long tasks of such runs took before. A run may be let go on there first.
async fn known(
    desk: &Desk,
    run: &dyn Startable,
    unpaused: Option<RunId>,
) -> Result<(DataFolder, BTreeMap<String, Duration>), DeskError> {
    let name = run.name().to_owned();
    desk.here(move |desk| {
        unpaused.map_or(Ok(()), |run| desk.unpause(run))?;
        Ok((desk.folder().clone(), desk.expectations(&name)?))
    })
    .await
}

/// Moves what is in a shard whose holder died, and lets the wheel know.
async fn move_here(
    folder: DataFolder,
    wheel: Tidewheel,
    shard: String,
    own: &'static str,
    run: RunId,
) -> Result<(), DeskError> {
    let path = folder.path().to_owned();
    let moved = blocking(move || {
        let (phase, _) = Phase::new();
        let mut left = take_shard(&folder, &Takeover::Shard(shard), &phase)?;
        Ok::<_, DeskError>(left.move_to(own))
    });
    let moved = moved.await??;
    if let Err(StoreError::Conflict { what }) = moved {
        return Err(DeskError::NotTakenOver(run, what));
    }
    // Also where nobody can say whether it was moved.
    wheel.take_in().await?;
    moved.map_err(|error| DeskError::folder(error.into(), &path))
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (run, name) = (self.run.id(), &self.name);
        f.debug_struct("Started").field("run", &run).field("name", name).finish_non_exhaustive()
    }
}
