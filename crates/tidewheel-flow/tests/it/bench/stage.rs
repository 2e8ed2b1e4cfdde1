//! [`Stage`]: a flow, what its steps do, and a wheel to run it on, which can be crashed.
//!
//! Stories are read in `player`; here they are only carried out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde_json::{Map, Value as Json};
use tidewheel::clock::VirtualClock;
use tidewheel::id::TaskId;
use tidewheel::run::TaskLine;
use tidewheel::store::{Answer, Memory, RunDetail, RunKind, RunSummary, Store, TaskSummary};
use tidewheel::task::Reason;
use tidewheel::{Attempt, Run, RunId, RunReport, TaskState, Tidewheel, Timestamp};
use tidewheel_flow::{
    AgainWith, FLOW_KIND, FlowHost, FlowOrder, Means, PastRun, Progress, TaskArtifacts, load,
    resolve_params,
};
use tidewheel_testing::{TempDir, temp_folder};
use tokio::runtime::Runtime;

use super::deed::Deed;
use super::world::StagedWorld;

/// When the clocks of all stories start.
const START: i64 = 1_794_700_800;
/// Longer than anything that ends.
const FOR_EVER: Duration = Duration::from_secs(3_000 * 24 * 3600);

/// A flow with everything around it.
pub struct Stage {
    pub world: Arc<StagedWorld>,
    /// The flows, of which the first is run.
    flows: Vec<(PathBuf, Arc<str>)>,
    folder: PathBuf,
    _scratch: TempDir,
    store: Memory,
    /// Steps at once.
    pub slots: u32,
    /// How long all lives took that have ended.
    passed: Duration,
    life: Option<Life>,
    run: Option<RunId>,
    report: Option<RunReport>,
    order: Option<FlowOrder>,
}

/// How a flow is started.
#[derive(Debug, Clone, Default)]
pub struct Start {
    pub params: BTreeMap<String, Json>,
    pub only: Option<Vec<String>>,
    /// What succeeded in the run before is used as it was left.
    pub again: Option<AgainWith>,
}

/// How a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub state: TaskState,
    pub reason: &'static str,
    /// The task that is the reason.
    pub cause: Option<String>,
    pub error: Option<String>,
}

/// A wheel until it ends or crashes.
struct Life {
    runtime: Runtime,
    began: tokio::time::Instant,
    wheel: Tidewheel,
    host: FlowHost,
    run: Option<Run>,
}

impl Stage {
    pub fn new() -> Self {
        let scratch = temp_folder("stage");
        Self {
            world: Arc::default(),
            flows: Vec::new(),
            folder: scratch.path().join("flows"),
            _scratch: scratch,
            store: Memory::new(),
            slots: 5,
            passed: Duration::ZERO,
            life: None,
            run: None,
            report: None,
            order: None,
        }
    }

    /// Adds a flow; the first is the one that is run. A flow of the same name is replaced.
    pub fn flow(&mut self, name: &str, yaml: &str) -> &mut Self {
        let path = self.folder.join(name);
        match self.flows.iter_mut().find(|(known, _)| *known == path) {
            Some(known) => known.1 = Arc::from(yaml),
            None => self.flows.push((path, Arc::from(yaml))),
        }
        self
    }

    /// Says what a task does, attempt by attempt.
    pub fn does(&mut self, task: &str, deeds: Vec<Deed>) -> &mut Self {
        self.world.staged().deeds.insert(task.to_owned(), deeds);
        self.world.staged().done.remove(task);
        self
    }

    /// Writes a file beside the flows.
    pub fn file(&mut self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
        Ok(std::fs::write(path, text)?)
    }

    pub fn remove_file(&mut self, name: &str) -> Result<()> {
        Ok(std::fs::remove_file(self.folder.join(name))?)
    }

    /// Starts a run of the first flow, and lets happen what happens at once. The refusal is the
    /// problems of the files, or what the host says.
    pub fn start(&mut self, start: &Start) -> Result<()> {
        let (path, _) = self.flows.first().context("there is no flow")?.clone();
        let texts: BTreeMap<PathBuf, Arc<str>> = self.flows.iter().cloned().collect();
        let loaded = load(std::slice::from_ref(&path), &texts);
        let flow = loaded.runnable().ok_or_else(|| {
            let texts = loaded.problems.iter().map(|problem| problem.message.to_string());
            anyhow!(texts.collect::<Vec<_>>().join("; "))
        })?;
        let params = resolve_params(flow, start.params.clone())?;
        let mut order = FlowOrder::new(&loaded, vec![path], params, self.slots);
        order.only.clone_from(&start.only);
        if let Some(with) = &start.again {
            let past = self.past()?;
            let before = self.order.as_ref().context("nothing was run before")?;
            let outputs = |index| self.left_by(TaskId { run: past.summary.id, index });
            let past = PastRun { run: &past, order: before, outputs: &outputs };
            order.reused = past.again(flow, with)?.reused;
            order.again = Some(past.run.summary.id.to_string());
        }
        self.report = None;
        let life = match &mut self.life {
            Some(life) => life,
            None => self.life.insert(self.open()?),
        };
        let none = BTreeMap::new();
        let start = life.host.start(&life.wheel, flow, &order, &none);
        let run = life.runtime.block_on(start)?;
        self.run = Some(run.id());
        life.run = Some(run);
        self.order = Some(order);
        self.pass(Duration::from_millis(1));
        Ok(())
    }

    /// Lets time pass.
    pub fn pass(&mut self, time: Duration) {
        let Some(life) = &self.life else { return };
        // sleeps: in paused time
        life.runtime.block_on(async { tokio::time::sleep(time).await });
        self.look();
    }

    /// Waits for the end of the run.
    pub fn finish(&mut self) -> Result<&RunReport> {
        if let Some(life) = &self.life
            && let Some(run) = &life.run
            && self.report.is_none()
        {
            let ended = async { tokio::time::timeout(FOR_EVER, run.report()).await };
            life.runtime.block_on(ended).map_err(|_| anyhow!("the run never ends"))??;
        }
        self.look();
        self.report.as_ref().context("there is no report")
    }

    /// Whether the host still has something of the run.
    pub fn is_kept(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.host.runs() > 0)
    }

    /// Memory is gone, and everything that ran.
    pub fn crash(&mut self) {
        let Some(life) = self.life.take() else { return };
        self.passed += life.passed();
        if let Some(run) = &life.run {
            let names = (0..).map_while(|index| Some((index, run.task_name(index)?)));
            let id = |index| TaskId { run: run.id(), index };
            let names = names.map(|(index, name)| (id(index), name));
            self.world.staged().names.extend(names);
        }
        // Whoever takes over has the store for itself.
        let _ = self.store.clone().take_tenure();
        let Life { runtime, wheel, host, run, .. } = life;
        runtime.shutdown_background();
        drop((run, host, wheel));
    }

    /// A wheel on what is stored.
    pub fn restart(&mut self) -> Result<()> {
        self.crash();
        let mut life = self.open()?;
        life.run = self.run.and_then(|run| life.wheel.find_run(run));
        self.life = Some(life);
        self.pass(Duration::from_millis(1));
        Ok(())
    }

    /// The run, while its wheel lives.
    pub fn run(&self) -> Result<&Run> {
        self.life.as_ref().and_then(|life| life.run.as_ref()).context("no run is here")
    }

    /// The report of the run, if it has ended.
    pub fn report(&self) -> Option<&RunReport> {
        self.report.as_ref()
    }

    /// How a task stands.
    pub fn standing(&self, task: &str) -> Result<Standing> {
        let text = |text: Option<Arc<str>>| text.map(|it| it.to_string());
        if let Some(report) = &self.report {
            let line = report.task(task).with_context(|| format!("there is no task `{task}`"))?;
            let (state, reason) = (line.state(), line.reason().word());
            return Ok(Standing { state, reason, cause: line.cause(), error: text(line.error()) });
        }
        let (life, run) = (self.life.as_ref().context("nothing runs")?, self.run()?);
        let explained = life.wheel.explain(run.task(task))?;
        let reason = explained.facts.reason;
        let cause = reason.cause().and_then(|index| run.task_name(index));
        let state = explained.facts.state;
        Ok(Standing { state, reason: reason.word(), cause, error: text(explained.error) })
    }

    /// Every task of the run that has ended, with its state.
    pub fn states(&self) -> BTreeMap<String, TaskState> {
        let lines = self.report.iter().flat_map(RunReport::tasks);
        lines.map(|line| (line.name(), line.state())).collect()
    }

    /// The identity of a task.
    pub fn id_of(&self, task: &str) -> Result<TaskId> {
        let run = self.run.context("nothing was started")?;
        let index = match (&self.report, self.run()) {
            (Some(report), _) => report.task(task).map(|line| line.index()),
            (None, Ok(run)) => {
                let mut names = (0..).map_while(|index| run.task_name(index));
                names.position(|name| name == task).map(|index| index as u32)
            }
            (None, Err(error)) => return Err(error),
        };
        Ok(TaskId { run, index: index.with_context(|| format!("there is no task `{task}`"))? })
    }

    /// What a task left.
    pub fn outputs(&self, task: &str) -> Result<Json> {
        Ok(Json::Object(self.left_by(self.id_of(task)?)))
    }

    /// The names of the artifacts of a task.
    pub fn kept(&self, task: &str) -> Result<String> {
        let run = self.run.context("nothing was started")?;
        let left = TaskArtifacts::in_run(&self.folder.join("runs").join(run.to_string()))?;
        let artifacts = left.into_iter().filter(|left| left.task == task);
        let names = artifacts.flat_map(|left| left.artifacts).map(|artifact| artifact.name);
        Ok(names.collect::<Vec<_>>().join(", "))
    }

    /// Somebody answers a step that waits for it.
    pub fn answer(&mut self, task: &str, answer: Answer) -> Result<()> {
        let id = self.id_of(task)?;
        self.world.staged().answers.insert(id, answer);
        Ok(())
    }

    /// The path of a file beside the flows.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn left_by(&self, task: TaskId) -> Map<String, Json> {
        self.world.staged().left_by(task).unwrap_or_default()
    }

    fn look(&mut self) {
        let Some(life) = &self.life else { return };
        let Some(run) = life.run.as_ref().filter(|run| run.is_ended()) else { return };
        if self.report.is_none() {
            self.report = life.runtime.block_on(run.report()).ok();
        }
        life.wheel.check();
    }

    fn open(&self) -> Result<Life> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()?;
        let context = runtime.enter();
        let records = Arc::clone(&self.world);
        let world: Arc<StagedWorld> = Arc::clone(&self.world);
        let means = Means::new(world)
            .told(move |_, progress| {
                if let Progress::Left(record) = progress {
                    records.staged().records.push(record.clone());
                }
            })
            .cache(self.folder.join("cache"))
            .runs(self.folder.join("runs"))
            .answers(Arc::<StagedWorld>::clone(&self.world));
        let past = Arc::clone(&self.world);
        let host = FlowHost::new(Arc::new(means), move |run| past.staged().left_in(run));
        let adopted = host.clone();
        let now = Timestamp::from_seconds(START).after(self.passed);
        let began = tokio::time::Instant::now();
        let wheel = Tidewheel::builder()
            .clock(VirtualClock::at(now))
            .seed(7)
            .store(self.store.clone())
            .adopt_kind(FLOW_KIND, move |attempt: Attempt| {
                let host = adopted.clone();
                async move { host.attempt(attempt).await }
            })
            .try_start()?;
        drop(context);
        Ok(Life { runtime, began, wheel, host, run: None })
    }

    /// The run that has ended, as a store would show it.
    fn past(&self) -> Result<RunDetail> {
        let report = self.report.as_ref().context("no run has ended")?;
        let line = |line: TaskLine<'_>| TaskSummary {
            index: line.index(),
            name: line.name(),
            after: Vec::new(),
            state: line.state(),
            reason: line.reason(),
            attempts: line.attempts(),
            started_at: None,
            at: None,
            until: None,
            error: None,
        };
        let tasks = report.tasks().map(line).collect();
        Ok(RunDetail { summary: summary(report), tasks, payload: None, payload_kind: None })
    }
}

impl Life {
    fn passed(&self) -> Duration {
        let _context = self.runtime.enter();
        self.began.elapsed()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.crash();
    }
}

fn summary(report: &RunReport) -> RunSummary {
    RunSummary {
        id: report.id(),
        place: 0,
        kind: RunKind::Run,
        name: Some(report.name().to_owned()),
        state: if report.is_success() { TaskState::Succeeded } else { TaskState::Failed },
        reason: Reason::Ordinary,
        is_live: false,
        is_paused: false,
        shard: None,
        accepted_at: report.accepted_at(),
        started_at: None,
        ended_at: None,
        tasks: report.len() as u32,
        failed: 0,
        attempts: 0,
        error: None,
        priority: None,
        key: None,
        firing: None,
    }
}
