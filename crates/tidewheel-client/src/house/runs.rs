//! Runs in a house: started by the name of their flow, made again, taken over.
//!
//! What is reused of a run that is made again is found out by its kind.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel::Rejection;
use tidewheel_flow::StartError;

use super::house::{House, SHARD};
use crate::api::{GoneOn, ResumeWish, RetryWish, StartWish, StartedRun};
use crate::desk::{DeskError, Resumption};
use crate::kind::Startable;

impl House {
    /// Starts a run of a flow, at the version that is in force.
    ///
    /// # Errors
    ///
    /// When there is no such flow, or not at the version that was asked for, a param is missing or wrong, or the run
    /// is refused.
    pub async fn start(&self, wish: StartWish) -> Result<StartedRun, DeskError> {
        let version = self.version(&wish.flow)?;
        let run = version.run(wish)?;
        let fingerprint = Some(version.fingerprint.clone());
        self.begin(&run, fingerprint).await
    }

    /// Runs again what did not succeed in a run, in a new one.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has not ended, it cannot be made again so, or the new one is refused.
    pub async fn retry(&self, word: &str, wish: RetryWish) -> Result<StartedRun, DeskError> {
        let word = word.to_owned();
        let retry = self.desk().here(move |desk| desk.retry(&word, &wish)).await?.1;
        self.begin(&*retry.run, None).await
    }

    /// Goes on with a run: where it runs if it is paused, here if the process that ran it died. Then it is one of the house from
    /// there on, in the same queues and under the same limits as all others.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has ended without success, or it cannot go on as it was started.
    pub async fn resume(&self, word: &str, wish: &ResumeWish) -> Result<GoneOn, DeskError> {
        let (word, as_started) = (word.to_owned(), wish.as_started);
        let resumption = self.desk().here(move |desk| desk.resume(&word, as_started)).await?;
        let (view, run) = match resumption {
            Resumption::Elsewhere(gone_on) => return Ok(gone_on),
            Resumption::Here { view, run } => (view, run),
        };
        let summary = &view.detail.summary;
        let id = summary.id;
        let shard = summary.shard.clone().ok_or(DeskError::RunGone { run: id })?;
        run.check().await?;
        self.inner.ring.own(id, summary.name.as_deref());
        self.inner.session.take_in(shard, SHARD, id, &*run).await?;
        self.desk().here(move |desk| desk.unpause(id)).await?;
        if let Some(run) = self.inner.session.wheel.without_waiting().find_run(id) {
            if let Some(workers) = wish.max_workers {
                run.set_concurrency(workers);
            }
            run.resume();
            run.stored().await?;
        }
        let (run_id, state) = (id.to_string(), "resumed".to_owned());
        Ok(GoneOn { version: None, run_id, state, taken_over: true })
    }

    async fn begin(
        &self,
        run: &dyn Startable,
        fingerprint: Option<String>,
    ) -> Result<StartedRun, DeskError> {
        let expected = self.expected(run.name()).await?;
        let started = self.inner.session.start(run, expected).await;
        let (run_id, created) = match started {
            Ok(started) => (started.run.id(), true),
            Err(DeskError::Start(StartError::Rejected(Rejection::AlreadyAccepted(run)))) => {
                (run, false)
            }
            Err(error) => return Err(error),
        };
        let (run_id, flow) = (run_id.to_string(), run.name().to_owned());
        Ok(StartedRun { version: None, run_id, flow, fingerprint, created })
    }

    /// How long the tasks of a flow took before.
    pub(super) async fn expected(
        &self,
        flow: &str,
    ) -> Result<BTreeMap<String, Duration>, DeskError> {
        Ok((*self.inner.session.learnt.of(flow).await?).clone())
    }
}
