//! [`Session`]: a wheel on a shard of a data folder, ready to run flows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::anyhow;
use tidewheel::executor::http::AddressPolicy;
use tidewheel::executor::process::Processes;
use tidewheel::store::sqlite::{DataFolder, Reader, SqliteStore};
use tidewheel::store::{AttemptRecord, StoreError};
use tidewheel::{Attempt, BuildError, Cancel, RunId, Shutdown, TaskId, TaskState, Tidewheel};
use tidewheel_flow::{Answer, Answers, FLOW_KIND, Flow, FlowHost, Means, ThisMachine, World};
use tokio::runtime::Runtime;

use super::progress::Sayings;
use crate::data::folder_error;
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// Notices kept for the view. They take their memory from the beginning; a view that falls behind
/// catches up without them.
const NOTICES: usize = 1 << 10;

/// How a wheel is set up.
#[derive(Debug, Clone)]
pub(crate) struct SessionOptions {
    slots: u32,
    starvation_timeout: Option<Duration>,
    grace: Duration,
    output_max: u64,
    policy: AddressPolicy,
}

impl SessionOptions {
    /// For so many steps at once, as far as the configuration allows.
    pub fn new(ui: &Ui, workers: u32) -> Self {
        let config = ui.config();
        // Switched off, the scheduler has no ageing of its own. Steps are processes, and those are
        // always bounded.
        let is_enabled = config.scheduler_enabled();
        let most = config.scheduler_max_concurrency();
        Self {
            slots: workers.min(most.unwrap_or(u32::MAX)),
            starvation_timeout: config.scheduler_starvation_timeout().filter(|_| is_enabled),
            grace: config.process_grace(),
            output_max: config.process_output_max(),
            policy: match config.http_allow_private() {
                true => AddressPolicy::open(),
                false => AddressPolicy::public_only(),
            },
        }
    }
}

/// Whose runs the wheel is for.
#[derive(Debug, Clone)]
pub(crate) enum Takeover {
    /// New ones.
    Fresh,
    /// Those of a shard whose holder died.
    Shard(String),
}

/// What executors said of the newest attempts, for the view.
pub(crate) type Records = Arc<Mutex<HashMap<TaskId, AttemptRecord>>>;

/// A wheel on a data folder.
pub(crate) struct Session {
    pub folder: DataFolder,
    pub wheel: Tidewheel,
    pub host: FlowHost,
    pub records: Records,
    pub sayings: Arc<Sayings>,
    world: Arc<dyn World>,
    /// Last, so that everything that needs it is gone before.
    pub runtime: Runtime,
}

impl Session {
    pub fn open(
        folder: DataFolder,
        takeover: &Takeover,
        options: SessionOptions,
    ) -> Result<Self, CommandError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(16)
            .enable_all()
            .build()
            .map_err(|error| CommandError::internal(anyhow!(error)))?;
        let store = take_shard(&folder, takeover)?;
        let (records, sayings) = (Records::default(), Arc::<Sayings>::default());
        let processes = Processes::builder()
            .grace(options.grace)
            .output_max(options.output_max)
            .of_shard(&store)?;
        let reclaim = processes.reclaim();
        let world: Arc<dyn World> = Arc::new(ThisMachine::new(processes).policy(options.policy));
        let means = means(&folder, &store, &records, Arc::clone(&world))?;
        let told = Arc::clone(&sayings);
        let means = Arc::new(means.told(move |task, progress| told.say(task, progress)));
        let host = FlowHost::new(means, recall(&folder));
        let (adopted, admitted) = (host.clone(), Arc::clone(&sayings));
        let code = move |attempt: Attempt| {
            admitted.admit(attempt.id(), attempt.number());
            let host = adopted.clone();
            async move { host.attempt(attempt).await }
        };
        let builder = Tidewheel::builder()
            .slots(options.slots)
            .starvation_timeout(options.starvation_timeout)
            .notices(NOTICES)
            .runtime(runtime.handle().clone())
            .reclaim(reclaim)
            .adopt_kind(FLOW_KIND, code.clone())
            // Runs from before there were kinds.
            .adopt_kind(None, code)
            .store(store);
        let wheel = builder.try_start().map_err(|error| not_started(error, &folder))?;
        Ok(Self { folder, wheel, host, records, sayings, world, runtime })
    }

    /// Sets up what a flow's steps will need while other things are done. If that fails, the first
    /// step that needs it says so.
    pub fn prepare(&self, flow: &Flow) {
        if flow.has_processes() {
            let world = Arc::clone(&self.world);
            self.runtime.spawn(async move { world.prepare().await });
        }
    }

    /// Ends the wheel when nothing runs any more.
    pub fn close(self) {
        self.runtime.block_on(self.wheel.shutdown(Shutdown::drain()));
        drop((self.wheel, self.host));
        self.runtime.shutdown_timeout(Duration::from_secs(5));
    }
}

/// Ends a run that nobody runs any more, without doing anything of it.
pub(crate) fn end_left(folder: DataFolder, shard: &str, id: RunId) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::internal(anyhow!(error)))?;
    let store = take_shard(&folder, &Takeover::Shard(shard.to_owned()))?;
    let reclaim = Processes::builder().of_shard(&store)?.reclaim();
    runtime.block_on(async {
        let wheel = Tidewheel::builder()
            .reclaim(reclaim)
            // Nothing of it is started.
            .paused()
            .adopt(|_| async {})
            .store(store)
            .try_start()
            .map_err(|error| not_started(error, &folder))?;
        if let Some(run) = wheel.find_run(id) {
            run.cancel(Cancel::everything(Duration::ZERO));
            // It has ended one way or the other; what it came to is in the store.
            let _ = run.report().await;
        }
        wheel.shutdown(Shutdown::persist()).await;
        Ok(())
    })
}

fn take_shard(folder: &DataFolder, takeover: &Takeover) -> Result<SqliteStore, CommandError> {
    let name = match takeover {
        Takeover::Shard(name) => name.clone(),
        Takeover::Fresh => {
            folder.fresh_shard().map_err(|error| folder_error(error, folder.path()))?
        }
    };
    folder.shard_when_left(&name, PATIENCE).map_err(|error| match error {
        StoreError::Held { .. } => CommandError::new(ErrorKind::Conflict, error)
            .hint("the run is alive: watch it where it runs"),
        error => folder_error(error.into(), folder.path()),
    })
}

/// How long the processes of a dead holder are waited for; they have less time than this to end.
const PATIENCE: Duration = Duration::from_secs(60);

fn means(
    folder: &DataFolder,
    store: &SqliteStore,
    records: &Records,
    world: Arc<dyn World>,
) -> Result<Means, CommandError> {
    let (recorder, records) = (store.recorder(), Arc::clone(records));
    let reader = folder.reader().map_err(|error| folder_error(error, folder.path()))?;
    Ok(Means::new(world)
        .record(move |record| {
            let mut known = records.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(record.task, AttemptRecord { outputs: Vec::new(), ..record.clone() });
            recorder.record(record);
        })
        .cache(folder.path().join("cache"))
        .answers(Arc::new(StoredAnswers { reader: Mutex::new(reader) })))
}

/// What people said, as others left it in the data folder.
struct StoredAnswers {
    reader: Mutex<Reader>,
}

impl Answers for StoredAnswers {
    fn answer(&self, task: TaskId) -> Option<Answer> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        // What cannot be read now is read at the next look.
        reader.answer(task).ok().flatten()
    }
}

/// What tasks that have succeeded left, from the store.
fn recall(
    folder: &DataFolder,
) -> impl Fn(RunId) -> Vec<(String, serde_json::Map<String, serde_json::Value>)> + Send + Sync + use<>
{
    let folder = folder.clone();
    move |run| {
        let read = || -> Option<_> {
            let reader = folder.reader().ok()?;
            let detail = reader.run(run).ok()??;
            let view = super::result::result_of(&folder, &reader, detail).ok()?;
            let done = view.detail.tasks.iter().filter(|task| task.state == TaskState::Succeeded);
            Some(done.map(|task| (task.name.clone(), view.outputs_of(task.index))).collect())
        };
        read().unwrap_or_default()
    }
}

fn not_started(error: BuildError, folder: &DataFolder) -> CommandError {
    let path = folder.path().display();
    CommandError::new(ErrorKind::Failed, anyhow::Error::new(error))
        .hint(format!("the data folder is {path}"))
}
