//! [`Session`]: a wheel on a shard of a data folder, ready to run flows and work of other kinds.
//!
//! Starting runs on it is in [`super::start`].

use std::fmt;
use std::sync::Arc;

use tidewheel::executor::process::Processes;
use tidewheel::id::AttemptId;
use tidewheel::store::sqlite::DataFolder;
use tidewheel::{Attempt, Shutdown, Tidewheel};
use tidewheel_flow::{FLOW_KIND, FlowHost, ThisMachine};
use tokio::runtime::Handle;

use super::flows::{end_left, means, recall};
use super::learnt::Learnt;
use super::opening::{Opening, Phase, lasting};
use super::options::{SessionOptions, Takeover};
use super::shard::{not_started, take_shard};
use crate::desk::{DeskError, blocking};
use crate::house::{Maker, maker};
use crate::progress::Sayings;

/// Notices kept for views. They take their memory from the beginning; a view that falls behind
/// catches up without them.
const NOTICES: usize = 1 << 10;

/// A wheel on a data folder.
pub struct Session {
    /// The data folder.
    pub folder: DataFolder,
    /// The wheel.
    pub wheel: Tidewheel,
    /// Who runs flows on it.
    pub flows: FlowHost,
    /// What tasks say of themselves.
    pub sayings: Arc<Sayings>,
    /// What makes the runs of its schedules.
    pub(crate) maker: Maker,
    /// How long tasks of flows took before.
    pub(crate) learnt: Arc<Learnt>,
}

impl Session {
    /// Opens a session whose work runs on the runtime it is awaited on. It may take its time: files are read,
    /// and processes of a holder that died are ended.
    ///
    /// # Errors
    ///
    /// When the shard is held by somebody, or cannot be used.
    pub async fn open(
        folder: DataFolder,
        takeover: Takeover,
        options: SessionOptions,
    ) -> Result<Self, DeskError> {
        Self::open_telling(folder, takeover, options, |_| ()).await
    }

    /// As [`Session::open`], on the thread of whoever opens it: for a program that has nothing else to do
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn open_inline(
        folder: DataFolder,
        takeover: &Takeover,
        options: SessionOptions,
    ) -> Result<Self, DeskError> {
        let (phase, _) = Phase::new();
        Self::open_blocking(folder, takeover, options, &Handle::current(), phase)
    }

    /// As [`Session::open`], and tells what is waited for when that takes longer than a second.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub async fn open_telling(
        folder: DataFolder,
        takeover: Takeover,
        options: SessionOptions,
        tell: impl FnOnce(Opening),
    ) -> Result<Self, DeskError> {
        let (runtime, (phase, seen)) = (Handle::current(), Phase::new());
        let open = move || Self::open_blocking(folder, &takeover, options, &runtime, phase);
        let mut opening = std::pin::pin!(blocking(open));
        tokio::select! {
            session = &mut opening => session?,
            waits = lasting(seen) => {
                tell(waits);
                opening.await?
            }
        }
    }

    fn open_blocking(
        folder: DataFolder,
        takeover: &Takeover,
        options: SessionOptions,
        runtime: &Handle,
        phase: Phase,
    ) -> Result<Self, DeskError> {
        let store = take_shard(&folder, takeover, &phase)?;
        let sayings = Arc::<Sayings>::default();
        let processes = Processes::builder().spawner(options.spawner);
        let processes = processes.grace(options.grace).output_max(options.output_max);
        let processes = processes.of_shard(store.share().map_err(DeskError::System)?);
        let mut end_left = end_left(processes.reclaim(), &folder);
        let reclaim = move |attempts: &[AttemptId]| {
            phase.waits(Opening::LeftBehind);
            let ended = end_left(attempts);
            phase.goes_on();
            ended
        };
        let world = Arc::new(ThisMachine::new(processes).policy(options.policy));
        let means = means(&folder, &sayings, world).engine(options.engine);
        let flows = FlowHost::new(Arc::new(means), recall(&folder));
        for (run, secrets) in options.secrets {
            flows.know_secrets(run, secrets);
        }
        let (adopted, admitted) = (flows.clone(), Arc::clone(&sayings));
        let code = move |attempt: Attempt| {
            admitted.admit(attempt.id(), attempt.number());
            let flows = adopted.clone();
            async move { flows.attempt(attempt).await }
        };
        let learnt = Arc::new(Learnt::new(folder.clone()));
        let maker = maker(flows.clone(), folder.clone(), Arc::clone(&learnt), options.in_force);
        let make = Arc::clone(&maker);
        let mut builder = Tidewheel::builder()
            .slots(options.slots)
            .starvation_timeout(options.starvation_timeout)
            .notices(NOTICES)
            .runtime(runtime.clone())
            .reclaim(reclaim)
            .adopt_kind(FLOW_KIND, code.clone())
            // Runs from before there were kinds.
            .adopt_kind(None, code)
            .make_runs(FLOW_KIND, move |firing| make(firing))
            .store(store);
        if let Some(waiting_max) = options.waiting_max {
            builder = builder.queue_capacity(waiting_max);
        }
        if let Some(clock) = options.clock {
            builder = builder.clock(clock);
        }
        for (kind, code) in options.adopted {
            let admitted = Arc::clone(&sayings);
            builder = builder.adopt_kind(kind.as_str(), move |attempt: Attempt| {
                admitted.admit(attempt.id(), attempt.number());
                code(attempt)
            });
        }
        let wheel = builder.try_start().map_err(|error| not_started(error, &folder))?;
        Ok(Self { folder, wheel, flows, sayings, maker, learnt })
    }

    /// Ends the wheel when nothing runs any more.
    pub async fn close(self) {
        self.wheel.shutdown(Shutdown::drain()).await;
        self.flows.settled().await;
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("folder", &self.folder.path()).finish_non_exhaustive()
    }
}
