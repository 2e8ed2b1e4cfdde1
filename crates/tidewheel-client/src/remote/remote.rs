//! [`RemoteDesk`]: what may be asked of a server and wished for there, one request each.
//!
//! How a request travels is in [`super::wire`].

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::wire::{Pieces, RemoteError, ServerAddress, Wire};
use crate::api::{
    AnswerWish, Answered, ArtifactList, Asked, Asker, AttemptList, AuditList, AuditVerified,
    BackfillWish, CancelWish, Explained, FlowDetail, FlowList, FlowSource, GoneOn, Ledger,
    LedgerWish, ListWish, LogList, LogWanted, LogWish, LoginLink, OrderPreview, Plan, Preview,
    PriorityChanged, PriorityWish, ResumeWish, RetryWish, RunList, RunResult, ScheduleAsked,
    ScheduleList, Standing, StartWish, StartedRun, StepList, StepsWish, TokenList, TokenMade,
    TokenWish, Upcoming,
};
use crate::desk::{DeskError, ScheduleWish};

/// The desk of a server.
#[derive(Debug)]
pub struct RemoteDesk {
    pub(super) wire: Wire,
}

/// Nothing is said.
const NOTHING: Json = Json::Null;

/// Nothing is sent along.
const NO_WISH: Option<&Json> = None;

impl RemoteDesk {
    /// The desk of the server at this address. On the socket of a data folder its owner needs no token.
    ///
    /// # Errors
    ///
    /// When the address is none, or the token would pass in the clear.
    pub fn new(address: &ServerAddress, token: Option<&str>) -> Result<Self, RemoteError> {
        Ok(Self { wire: Wire::new(address, token)? })
    }

    /// What the server is called in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        self.wire.name()
    }

    /// The flows that the server knows.
    ///
    /// # Errors
    ///
    /// When it cannot be asked, or says no; so for every question and wish.
    pub async fn flows(&self) -> Result<FlowList, DeskError> {
        self.wire.get(&["flows"], &NOTHING).await
    }

    /// One of them.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flows`], and when there is no such flow.
    pub async fn flow(&self, name: &str) -> Result<FlowDetail, DeskError> {
        self.wire.get(&["flows", name], &NOTHING).await
    }

    /// The files of a flow, and what is wrong with them.
    ///
    /// # Errors
    ///
    /// When there is no such flow, or the server cannot be asked.
    pub async fn source(&self, name: &str) -> Result<FlowSource, DeskError> {
        self.wire.get(&["flows", name, "source"], &NOTHING).await
    }

    /// What a run of a flow would do.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::start`].
    pub async fn plan(&self, wish: &StartWish) -> Result<Plan, DeskError> {
        self.wish(&["plan"], wish).await
    }

    /// Starts a run of a flow that the server knows.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flow`], and when a param is missing or wrong, or the run is refused.
    pub async fn start(&self, wish: &StartWish) -> Result<StartedRun, DeskError> {
        self.wish(&["runs"], wish).await
    }

    /// Runs again what did not succeed in a run.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has not ended, or it cannot be made again so.
    pub async fn retry(&self, run: &str, wish: &RetryWish) -> Result<StartedRun, DeskError> {
        self.wish(&["runs", run, "retry"], wish).await
    }

    /// Goes on with a run: where it runs if it is paused, at the server if the process that ran it died.
    ///
    /// # Errors
    ///
    /// When there is no such run, it has ended without success, or it cannot go on as it was started.
    pub async fn resume(&self, run: &str, wish: &ResumeWish) -> Result<GoneOn, DeskError> {
        self.wish(&["runs", run, "resume"], wish).await
    }

    /// Who asks, as the server knows them.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flows`].
    pub async fn me(&self) -> Result<Asker, DeskError> {
        self.wire.get(&["me"], &NOTHING).await
    }

    /// A link that logs a browser in as whoever asks.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flows`].
    pub async fn login_link(&self) -> Result<LoginLink, DeskError> {
        self.wire.post(&["login-links"], NO_WISH).await
    }

    /// The tokens that are good.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flows`].
    pub async fn tokens(&self) -> Result<TokenList, DeskError> {
        self.wire.get(&["tokens"], &NOTHING).await
    }

    /// Makes a token.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flows`].
    pub async fn make_token(&self, wish: &TokenWish) -> Result<TokenMade, DeskError> {
        self.wish(&["tokens"], wish).await
    }

    /// Ends a token, by its id or its name.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flows`], and when there is no such token.
    pub async fn revoke_token(&self, token: &str) -> Result<TokenList, DeskError> {
        self.wire.delete(&["tokens", token]).await
    }

    /// The newest rows of the audit log.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flows`].
    pub async fn audit(&self, limit: u32) -> Result<AuditList, DeskError> {
        self.wire.get(&["audit"], &json!({ "limit": limit })).await
    }

    /// Finds out whether the audit log is whole.
    ///
    /// # Errors
    ///
    /// As for [`RemoteDesk::flows`], and when it is not.
    pub async fn verify_audit(&self) -> Result<AuditVerified, DeskError> {
        self.wire.get(&["audit", "verify"], &NOTHING).await
    }

    /// What happens, as it happens: to a run, or at all.
    pub(super) async fn events(&self, run: Option<&str>) -> Result<Pieces<'_>, DeskError> {
        self.wire.stream(&["events"], &json!({ "run": run })).await
    }

    pub(crate) async fn standing(&self, run: &str) -> Result<Standing, DeskError> {
        self.wire.get(&["runs", run, "standing"], &NOTHING).await
    }

    pub(crate) async fn list(&self, wish: &ListWish) -> Result<RunList, DeskError> {
        self.wire.get(&["runs"], wish).await
    }

    pub(crate) async fn show(&self, run: &str) -> Result<RunResult, DeskError> {
        self.wire.get(&["runs", run], &NOTHING).await
    }

    pub(crate) async fn attempts(&self, run: &str, step: &str) -> Result<AttemptList, DeskError> {
        self.wire.get(&["runs", run, "steps", step, "attempts"], &NOTHING).await
    }

    pub(crate) async fn steps(&self, run: &str, wish: &StepsWish) -> Result<StepList, DeskError> {
        self.wire.get(&["runs", run, "steps"], wish).await
    }

    pub(crate) async fn explain(
        &self,
        run: &str,
        step: Option<&str>,
    ) -> Result<Explained, DeskError> {
        self.wire.get(&["runs", run, "explain"], &json!({ "step": step })).await
    }

    pub(crate) async fn logs(&self, run: &str, wish: &LogWish) -> Result<LogList, DeskError> {
        self.wire.get(&["runs", run, "logs"], wish).await
    }

    pub(crate) async fn log(&self, wanted: &LogWanted) -> Result<Vec<u8>, DeskError> {
        let LogWanted { run_id, task, attempt, stream, from, .. } = wanted;
        let piece = json!({ "task": task, "attempt": attempt, "stream": stream, "from": from });
        self.wire.bytes(&["runs", run_id, "log"], &piece).await
    }

    pub(crate) async fn artifacts(
        &self,
        run: &str,
        step: Option<&str>,
    ) -> Result<ArtifactList, DeskError> {
        self.wire.get(&["runs", run, "artifacts"], &json!({ "step": step })).await
    }

    pub(crate) async fn pause(&self, run: &str) -> Result<Asked, DeskError> {
        self.wire.post(&["runs", run, "pause"], NO_WISH).await
    }

    pub(crate) async fn go_on(&self, run: &str) -> Result<GoneOn, DeskError> {
        let wish = ResumeWish { as_started: true, ..ResumeWish::default() };
        self.resume(run, &wish).await
    }

    pub(crate) async fn cancel(&self, run: &str, wish: &CancelWish) -> Result<Asked, DeskError> {
        self.wish(&["runs", run, "cancel"], wish).await
    }

    pub(crate) async fn set_priority(
        &self,
        run: &str,
        wish: &PriorityWish,
    ) -> Result<PriorityChanged, DeskError> {
        self.wish(&["runs", run, "priority"], wish).await
    }

    pub(crate) async fn preview_priority(
        &self,
        run: &str,
        wish: &PriorityWish,
    ) -> Result<OrderPreview, DeskError> {
        self.wish(&["runs", run, "priority", "preview"], wish).await
    }

    pub(crate) async fn answer(
        &self,
        run: &str,
        step: &str,
        wish: &AnswerWish,
    ) -> Result<Answered, DeskError> {
        self.wish(&["runs", run, "steps", step, "answer"], wish).await
    }

    pub(crate) async fn preview(&self, run: &str, wish: &RetryWish) -> Result<Preview, DeskError> {
        self.wish(&["runs", run, "retry", "preview"], wish).await
    }

    pub(crate) async fn schedules(&self, ended_too: bool) -> Result<ScheduleList, DeskError> {
        self.wire.get(&["schedules"], &json!({ "ended": ended_too })).await
    }

    pub(crate) async fn upcoming(&self, schedule: &str, count: u32) -> Result<Upcoming, DeskError> {
        self.wire.get(&["schedules", schedule, "next"], &json!({ "count": count })).await
    }

    pub(crate) async fn ledger(
        &self,
        schedule: &str,
        wish: &LedgerWish,
    ) -> Result<Ledger, DeskError> {
        self.wire.get(&["schedules", schedule, "ledger"], wish).await
    }

    pub(crate) async fn ask_schedule(
        &self,
        schedule: &str,
        wish: ScheduleWish,
    ) -> Result<ScheduleAsked, DeskError> {
        let word = match wish {
            ScheduleWish::Pause => "pause",
            ScheduleWish::Resume => "resume",
            ScheduleWish::Fire => "run",
        };
        self.wire.post(&["schedules", schedule, word], NO_WISH).await
    }

    pub(crate) async fn backfill(
        &self,
        schedule: &str,
        wish: &BackfillWish,
    ) -> Result<ScheduleAsked, DeskError> {
        self.wish(&["schedules", schedule, "backfill"], wish).await
    }

    pub(crate) async fn preview_backfill(
        &self,
        schedule: &str,
        wish: &BackfillWish,
    ) -> Result<Upcoming, DeskError> {
        self.wish(&["schedules", schedule, "backfill", "preview"], wish).await
    }

    async fn wish<T, W>(&self, path: &[&str], wish: &W) -> Result<T, DeskError>
    where
        T: crate::api::Document + serde::de::DeserializeOwned,
        W: Serialize,
    {
        self.wire.post(path, Some(wish)).await
    }
}
