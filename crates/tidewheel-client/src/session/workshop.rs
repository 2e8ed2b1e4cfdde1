//! [`Workshop`]: runs that a surface carries out itself, where no server has the data folder.
//!
//! Each has a session of its own, as if `tidewheel run` had been called for it. What may be run is known at the
//! [desk](crate::desk).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidewheel::{Cancel, Run, RunId};
use tokio::task::JoinHandle;

use super::options::SessionOptions;
use super::session::Session;
use crate::api::{GoneOn, RetryWish, StartWish, StartedRun};
use crate::desk::{Desk, DeskError, Resumption};
use crate::kind::Startable;

/// Runs that are carried out here. Clones are the same workshop.
#[derive(Clone)]
pub struct Workshop {
    desk: Desk,
    /// How a session is set up for so many tasks at once.
    options: Arc<dyn Fn(u32) -> SessionOptions + Send + Sync>,
    /// Who hears what becomes of runs.
    tell: Arc<dyn Fn(Carried) + Send + Sync>,
    runs: Arc<Mutex<Vec<Kept>>>,
}

/// A run and the task that waits for its end.
type Kept = (Run, JoinHandle<()>);

/// What becomes of a run that is carried out here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// It has begun, or goes on.
    Began(RunId),
    /// It is over.
    Over(RunId),
}

impl Workshop {
    /// A workshop for runs of the folder of a desk, in which nothing runs yet.
    #[must_use]
    pub fn new(
        desk: Desk,
        options: impl Fn(u32) -> SessionOptions + Send + Sync + 'static,
        tell: impl Fn(Carried) + Send + Sync + 'static,
    ) -> Self {
        let (options, tell) = (Arc::new(options), Arc::new(tell));
        Self { desk, options, tell, runs: Arc::default() }
    }

    /// Starts a run of a flow that is known by its runs.
    ///
    /// # Errors
    ///
    /// When there is no such flow, it cannot be run, a param is missing or wrong, or the run is refused.
    pub async fn start(&self, wish: StartWish) -> Result<StartedRun, DeskError> {
        let run = self.desk.here(move |desk| desk.run_of(wish)).await?;
        self.begin(&run).await
    }

    /// Runs again what did not succeed in a run, in a new one.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has not ended, it cannot be made again so, or the new one is refused.
    pub async fn retry(&self, word: &str, wish: RetryWish) -> Result<StartedRun, DeskError> {
        let word = word.to_owned();
        let (_, retry) = self.desk.here(move |desk| desk.retry(&word, &wish)).await?;
        self.begin(&*retry.run).await
    }

    /// Goes on with a run: where it runs if it is paused, here if the process that ran it died.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has ended without success, or it cannot go on as it was started.
    pub async fn resume(&self, word: &str) -> Result<GoneOn, DeskError> {
        let word = word.to_owned();
        let (view, run) = match self.desk.here(move |desk| desk.resume(&word, true)).await? {
            Resumption::Elsewhere(gone_on) => return Ok(gone_on),
            Resumption::Here { view, run } => (view, run),
        };
        let options = (self.options)(run.workers());
        let going =
            Session::go_on(&self.desk, &view, &*run, run.workers(), options, |_| ()).await?;
        if let Some((session, started)) = going {
            self.carry(session, started.run);
        }
        let id = view.detail.summary.id;
        let (run_id, state) = (id.to_string(), "resumed".to_owned());
        Ok(GoneOn { version: None, run_id, state, taken_over: true })
    }

    /// Starts a run.
    ///
    /// # Errors
    ///
    /// When it is refused, or makes a run again that somebody else makes again already.
    pub async fn begin(&self, run: &dyn Startable) -> Result<StartedRun, DeskError> {
        let options = (self.options)(run.workers());
        let (session, started) = Session::begin(&self.desk, run, options).await?;
        let started = started.run;
        let (run_id, flow) = (started.id().to_string(), run.name().to_owned());
        self.carry(session, started);
        Ok(StartedRun { version: None, run_id, flow, fingerprint: None, created: true })
    }

    /// Ends all that runs here, so.
    pub fn end(&self, how: Cancel) {
        for (run, _) in self.runs().iter() {
            // One that has just ended can be ended no more.
            let _ = run.cancel(how);
        }
    }

    /// Waits until nothing runs here any more.
    pub async fn settled(&self) {
        loop {
            let Some((_, carried)) = self.runs().pop() else { return };
            // What it came to is in the store.
            let _ = carried.await;
        }
    }

    /// Carries a run to its end.
    fn carry(&self, session: Session, run: Run) {
        let id = run.id();
        (self.tell)(Carried::Began(id));
        let (carried, tell) = (run.clone(), Arc::clone(&self.tell));
        let task = tokio::spawn(async move {
            let _ = carried.report().await;
            drop(carried);
            session.close().await;
            tell(Carried::Over(id));
        });
        let mut runs = self.runs();
        runs.retain(|(_, task)| !task.is_finished());
        runs.push((run, task));
    }

    fn runs(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Workshop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workshop").field("runs", &self.runs().len()).finish_non_exhaustive()
    }
}
