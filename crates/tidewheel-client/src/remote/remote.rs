//! [`RemoteDesk`]: what may be asked of a server and wished for there, one request each.
//!
//! How a request travels is in [`super::wire`].

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::wire::{RemoteError, ServerAddress, Wire};
use crate::api::{
    AnswerWish, Answered, ArtifactList, Asked, AttemptList, BackfillWish, CancelWish, Explained,
    GoneOn, Ledger, LedgerWish, ListWish, LogList, LogWanted, LogWish, Preview, RetryWish, RunList,
    RunResult, ScheduleAsked, ScheduleList, StepList, StepsWish, Upcoming,
};
use crate::desk::{DeskError, ScheduleWish};

/// The desk of a server.
#[derive(Debug)]
pub struct RemoteDesk {
    wire: Wire,
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
        self.wire.post(&["runs", run, "resume"], NO_WISH).await
    }

    pub(crate) async fn cancel(&self, run: &str, wish: &CancelWish) -> Result<Asked, DeskError> {
        self.wish(&["runs", run, "cancel"], wish).await
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

    async fn wish<T, W>(&self, path: &[&str], wish: &W) -> Result<T, DeskError>
    where
        T: crate::api::Document + serde::de::DeserializeOwned,
        W: Serialize,
    {
        self.wire.post(path, Some(wish)).await
    }
}
