//! [`RunBuilder`]: a run about to be started, with its options.
//!
//! The handle of a started one is in `handle`.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::{MakeRun, Start};
use tidewheel_core::graph::Graph;
use tidewheel_core::group::GroupSpec;
use tidewheel_core::id::RunId;
use tidewheel_core::input::{Command, Rejection, Reply};
use tidewheel_core::policy::{OnError, OnSkip};
use tidewheel_core::report::{self, Counts};
use tidewheel_core::spec::{
    Definition, LimitSpec, OnStop, Profile, QueueSpec, RunGroup, RunOptions, RunOrder, RunSpec,
};
use tidewheel_core::task::TaskState;
use tidewheel_core::time::Now;

use super::cell::About;
use super::{Run, RunCell, RunReport, Task};
use crate::driver::span::WorkSpan;
use crate::driver::{Announced, End, Launch, Shared, State, Until, brings_shared, run_worker};
use crate::error::RunError;
use crate::options::{Grouping, Said, TaskOptions, durable_option_methods, option_methods};
use crate::output::{TaskOutput, Value};
use crate::store::{RunDetail, TaskSummary};

/// Tasks of one run at once, unless something else is said.
const CONCURRENCY_DEFAULT: u32 = 5;
/// Time for one attempt, unless something else is said.
const ATTEMPT_TIMEOUT_DEFAULT: Duration = Duration::from_secs(600);

/// A run about to be started; made by [`crate::Tidewheel::run`]. Awaiting it starts it and waits
/// for the report; [`RunBuilder::start`] gives a handle instead.
///
/// A future owns its work: if it is dropped before the report is there, as by a timeout around it, the
/// run is cancelled ([`Cancel::now`](crate::Cancel::now)). What should go on whoever waits is started
/// with [`RunBuilder::start`], whose handles own nothing, or [`RunBuilder::detach`].
///
/// Unless something else is said: at most 5 tasks at once, no retries (1 s before the first if
/// there are any, doubling up to 60 s, spread by chance), 600 s for one attempt, and after a
/// failure the tasks that need the failed one are skipped while other branches go on.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tidewheel::{Graph, OnError, Tidewheel};
///
/// let wheel = Tidewheel::builder().start();
/// let graph = Graph::from_edges([("core", "client"), ("core", "server"), ("client", "cli")])?;
/// let report = wheel
///     .run(graph, |task| async move {
///         if task.name() == "client" { Err("registry says no") } else { Ok(()) }
///     })
///     .concurrency(2)
///     .retries(1)
///     .base_delay(Duration::from_millis(1))
///     .on_error(OnError::Skip)
///     .await?;
/// assert!(!report.is_success());
/// assert_eq!(report.failed().next().unwrap().attempts(), 2);
/// assert_eq!(report.skipped().next().unwrap().name(), "cli");
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is run before it is started or awaited"]
pub struct RunBuilder<F> {
    shared: Arc<Shared>,
    until: Until,
    graph: Arc<Graph>,
    code: F,
    run: RunOptions,
    said: Said,
    configure: Option<Configure>,
    only: Option<Vec<String>>,
    already_done: Vec<String>,
    /// What tasks returned that were done before.
    values: Vec<(String, Value)>,
    defines: Vec<Definition>,
    /// Others know of the limits it brings.
    announced: Option<Announced>,
}

type Configure = Box<dyn Fn(u32, &str) -> TaskOptions + Send>;

impl<F> RunBuilder<F> {
    pub(crate) fn new(shared: Arc<Shared>, until: Until, graph: Arc<Graph>, code: F) -> Self {
        let run = RunOptions {
            slots: Some(CONCURRENCY_DEFAULT),
            on_error: OnError::Skip,
            ..RunOptions::default()
        };
        Self {
            shared,
            until,
            graph,
            code,
            run,
            said: Said::default(),
            configure: None,
            only: None,
            already_done: Vec::new(),
            values: Vec::new(),
            defines: Vec::new(),
            announced: None,
        }
    }

    option_methods!(said);
    durable_option_methods!(said);

    /// A name for people.
    pub fn name(mut self, name: &str) -> Self {
        self.run.name = Arc::from(name);
        self
    }

    /// Brings a queue along. If there is one of this name that says the same, it is shared; if one says
    /// something else, the run is refused while that one is in use, or if the wheel itself was given it
    /// since it was started. `default` is the wheel's own.
    pub fn with_queue(mut self, name: &str, spec: QueueSpec) -> Self {
        self.defines.push(Definition::Queue { name: Arc::from(name), spec });
        self
    }

    /// Brings a limit along, as [`RunBuilder::with_queue`] does a queue.
    pub fn with_limit(mut self, name: &str, spec: LimitSpec) -> Self {
        self.defines.push(Definition::Limit { name: Arc::from(name), spec });
        self
    }

    /// The queue of tasks that name no other.
    pub fn queue(mut self, queue: &str) -> Self {
        self.run.queue = Arc::from(queue);
        self
    }

    /// Tasks of this run at once; `None`: as many as the wheel allows.
    pub fn concurrency(mut self, tasks_max: impl Into<Option<u32>>) -> Self {
        self.run.slots = tasks_max.into();
        self
    }

    /// Time for the whole run. When it is over, what has not ended is ended.
    pub fn run_timeout(mut self, timeout: Duration) -> Self {
        self.run.timeout = Some(timeout);
        self
    }

    /// What a failure means for the tasks that need the failed one, and for the run.
    pub fn on_error(mut self, word: OnError) -> Self {
        self.run.on_error = word;
        self
    }

    /// What a skip by a condition means for the tasks that need the skipped one, where neither has a
    /// word of its own. Unless said, they run all the same.
    pub fn on_skip(mut self, word: OnSkip) -> Self {
        self.run.on_skip = word;
        self
    }

    /// What happens to running tasks when a failure stops the run.
    pub fn on_stop(mut self, on_stop: OnStop) -> Self {
        self.run.on_stop = on_stop;
        self
    }

    /// The order among the tasks of the run that could start.
    pub fn order(mut self, order: RunOrder) -> Self {
        self.run.order = order;
        self
    }

    /// Does not end when all tasks have, so that more can be added, until [`Run::close`].
    pub fn keep_open(mut self) -> Self {
        self.run.keep_open = true;
        self
    }

    /// Starts nothing until [`Run::resume`].
    pub fn paused(mut self) -> Self {
        self.run.paused = true;
        self
    }

    /// The concurrency group of the run: of all runs in the data folder that name it, only so many go
    /// on at once. Until it has a place the run is accepted, and nothing of it starts. Its timeout
    /// counts from the beginning all the same.
    pub fn group(mut self, group: RunGroup) -> Self {
        self.run.group = Some(group);
        self
    }

    /// Runs only these tasks; dependencies on others count as met.
    pub fn only<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(|name| name.as_ref().to_owned());
        self.only.get_or_insert_default().extend(names);
        self
    }

    /// Goes on with what an earlier run of the same graph left undone: tasks that succeeded there are taken
    /// as done, with the values they returned; all others are run, those that were skipped or
    /// cancelled too. Tasks that were added to that run are not known here.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    /// use tidewheel::{Graph, Tidewheel};
    ///
    /// let wheel = Tidewheel::builder().start();
    /// let graph = Arc::new(Graph::from_edges([("fetch", "parse"), ("parse", "print")])?);
    /// let code = |is_well: bool| {
    ///     move |task: tidewheel::Task| async move {
    ///         match task.name() {
    ///             "fetch" => Ok(20),
    ///             "parse" if !is_well => Err("no such field"),
    ///             _ => Ok(*task.input::<i32>("fetch").unwrap() + 1),
    ///         }
    ///     }
    /// };
    /// let first = wheel.run(Arc::clone(&graph), code(false)).await?;
    /// assert_eq!(first.to_string(), "failed: 1 succeeded, 1 failed, 1 skipped");
    /// let second = wheel.run(graph, code(true)).retry_of(&first).await?.into_result()?;
    /// assert_eq!(second.task("fetch").unwrap().attempts(), 0);
    /// assert_eq!(*second.value::<i32>("print").unwrap(), 21);
    /// # Ok(())
    /// # }
    /// ```
    pub fn retry_of(mut self, report: &RunReport) -> Self {
        for line in report.succeeded().filter(|line| self.graph.index_of(&line.name()).is_some()) {
            let name = line.name();
            self.values.extend(report.any_value(line.index()).map(|value| (name.clone(), value)));
            self.already_done.push(name);
        }
        self
    }

    /// The same of a run that was read from a store, as after a restart. **What its tasks returned is not kept there**:
    /// a task that asks for a value of one that is not run again is told that there is none. Whoever has it elsewhere,
    /// in files or outputs, takes it from there.
    pub fn retry_of_stored(self, detail: &RunDetail) -> Self {
        let graph = Arc::clone(&self.graph);
        let has_succeeded = |task: &&TaskSummary| task.state == TaskState::Succeeded;
        let names = detail.tasks.iter().filter(has_succeeded).map(|task| &task.name);
        self.already_done(names.filter(|name| graph.index_of(name).is_some()))
    }

    /// Takes these tasks as done before, as after an interrupted run; they are not run again.
    pub fn already_done<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.already_done.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Says of each task, by name, how it is treated where it differs.
    pub fn configure(mut self, options: impl Fn(&str) -> TaskOptions + Send + 'static) -> Self {
        self.configure = Some(Box::new(move |_, name| options(name)));
        self
    }

    /// Says of each task, by its index in the graph, how it is treated. Tasks beyond the list are treated
    /// like all others.
    pub fn configure_by_index(mut self, options: Vec<TaskOptions>) -> Self {
        self.configure = Some(Box::new(move |index, _| {
            options.get(index as usize).cloned().unwrap_or_default()
        }));
        self
    }

    /// The run as the scheduler takes it, and what the handle must know.
    fn spec(&self) -> Result<(RunSpec, About), Rejection> {
        if self.run.slots == Some(0) {
            return Err(invalid("a run needs a concurrency of at least 1"));
        }
        let (graph, kept) = self.cut()?;
        let base = Profile { attempt_timeout: Some(ATTEMPT_TIMEOUT_DEFAULT), ..Profile::default() };
        let profile = self.said.apply(&base);
        let mut spec = RunSpec::new(Arc::clone(&graph), self.run.clone(), profile.clone());
        spec.attachment = self.said.attachment().unwrap_or_default();
        spec.defines.clone_from(&self.defines);
        for name in &self.already_done {
            match graph.index_of(name) {
                Some(index) => spec.already_done.push(index),
                // Left out of this run.
                None if self.graph.index_of(name).is_some() => {}
                None => return Err(unknown(name)),
            }
        }
        if let Some(configure) = &self.configure {
            let groups = configure_tasks(&mut spec, &profile, |index, name| {
                let declared = kept.as_ref().map_or(index, |kept| kept[index as usize]);
                configure(declared, name)
            })?;
            let is_left_out = |name: &str| kept.is_some() && self.graph.index_of(name).is_some();
            resolve_groups(&mut spec, groups, is_left_out)?;
        }
        let name = Arc::clone(&self.run.name);
        Ok((spec, About { name, graph, kept, profile }))
    }

    fn cut(&self) -> Result<(Arc<Graph>, Option<Vec<u32>>), Rejection> {
        let Some(only) = &self.only else { return Ok((Arc::clone(&self.graph), None)) };
        let mut is_kept = vec![false; self.graph.len() as usize];
        for name in only {
            let index = self.graph.index_of(name).ok_or_else(|| unknown(name))?;
            is_kept[index as usize] = true;
        }
        let (graph, kept) = self.graph.subset(|index| is_kept[index as usize]);
        Ok((Arc::new(graph), Some(kept)))
    }
}

impl<F, R> RunBuilder<F>
where
    F: Fn(Task) -> R + Send + Sync + 'static,
    R: Future + Send + 'static,
    R::Output: TaskOutput,
{
    /// Starts the run, and waits on the calling thread until it is stored, unless it was asked for
    /// [without waiting](crate::Tidewheel::without_waiting). Awaiting the builder instead blocks no thread.
    ///
    /// # Errors
    ///
    /// When the run is refused: an option makes no sense, a name is unknown, a queue is full, there
    /// is no data folder for its concurrency group, the wheel is shutting down.
    ///
    /// [`Rejection::Unavailable`] says that the store cannot be written. If the trouble began just
    /// then, the run may still be stored, and run, later: with [`once`](Self::once) it can be asked
    /// for again without harm.
    pub fn start(self) -> Result<Run, Rejection> {
        let fresh = |state: &mut State, now, spec| {
            let id = state.fresh_run_id(now);
            (id, Command::SubmitRun { id, spec })
        };
        self.submit(WorkSpan::of_run, fresh)
    }

    /// Tells other processes of the limits it brings and that they share, where a disk may be waited for.
    /// [`start`](Self::start) does so on the calling thread, if this was not done before.
    ///
    /// # Errors
    ///
    /// When a limit has other units elsewhere, there is nobody to share it with, or they cannot be told.
    pub async fn announce(mut self) -> Result<Self, Rejection> {
        if self.announced.is_none() && brings_shared(&self.defines) {
            let (defines, name) = (self.defines.clone(), Arc::clone(&self.run.name));
            let is_named = self.said.once.is_some();
            let tell = move |shared: &_| Shared::announce_limits(shared, &defines, &name, is_named);
            self.announced = Some(self.shared.announce(tell).await?);
        }
        Ok(self)
    }

    /// Starts the run and lets it go on without anybody waiting for it.
    ///
    /// # Errors
    ///
    /// As [`RunBuilder::start`].
    pub fn detach(self) -> Result<RunId, Rejection> {
        self.start().map(|run| run.id())
    }

    /// Starts the run as that of a firing.
    pub(crate) fn start_firing(mut self, wanted: MakeRun) -> Result<Run, Rejection> {
        let MakeRun { schedule, run: id, .. } = wanted;
        // Should it be lost with memory, the scheduler asks for it again.
        self.until = Until::Later;
        let command = |_: &mut State, _, spec| (id, Command::SubmitFiring { schedule, id, spec });
        self.submit(WorkSpan::of_own_run, command)
    }

    fn submit(
        self,
        span: fn(&str) -> WorkSpan,
        command: impl FnOnce(&mut State, Now, Arc<RunSpec>) -> (RunId, Command),
    ) -> Result<Run, Rejection> {
        let (spec, about) = self.spec()?;
        self.shared.check_group(spec.options.group.as_ref())?;
        // Until it is decided about the run.
        let _announced = match self.announced {
            Some(announced) => announced,
            None => {
                let is_named = self.said.once.is_some();
                self.shared.announce_limits(&spec.defines, &about.name, is_named)?
            }
        };
        let (shared, spec, mut values) = (self.shared, Arc::new(spec), self.values);
        let id = Cell::new(RunId::default());
        let span = span(&about.name);
        let mut parts = Some((self.code, about));
        let mut cell = None;
        let reply = shared.command_with(
            self.until,
            |state, now| {
                let (run, command) = command(state, now, spec);
                id.set(run);
                Ok(command)
            },
            |state, reply, _| {
                let (Reply::Accepted(key), Some((code, about))) = (reply, parts.take()) else {
                    return;
                };
                let work = state.engine.run_ref(id.get(), *key);
                let made = Arc::new(RunCell::new(Arc::clone(&shared), work, about));
                for (name, value) in values.drain(..) {
                    if let Some(index) = made.index_of(&name) {
                        made.keep_value(index, value);
                    }
                }
                cell = Some(Arc::clone(&made));
                state.insert_run(*key, Arc::new(RunCode::new(made, span.clone(), code)));
            },
        );
        reply?;
        span.accepted(id.get());
        let cell = cell.expect("an accepted run was bound to its code");
        Ok(Run::new(cell, self.until))
    }
}

impl<F, R> IntoFuture for RunBuilder<F>
where
    F: Fn(Task) -> R + Send + Sync + 'static,
    R: Future + Send + 'static,
    R::Output: TaskOutput,
{
    type Output = Result<RunReport, RunError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(mut self) -> Self::IntoFuture {
        self.until = Until::Later;
        Box::pin(async move {
            let run = Owned(self.announce().await?.start()?);
            run.0.stored().await?;
            run.0.report().await
        })
    }
}

/// A run that is cancelled when nobody waits for it any more.
struct Owned(Run);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<F> fmt::Debug for RunBuilder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBuilder")
            .field("graph", &self.graph)
            .field("options", &self.run)
            .finish_non_exhaustive()
    }
}

/// Gives each task a profile, sharing equal ones.
fn configure_tasks(
    spec: &mut RunSpec,
    base: &Profile,
    options: impl Fn(u32, &str) -> TaskOptions,
) -> Result<Vec<(u32, Grouping)>, Rejection> {
    let mut groups = Vec::new();
    let graph = Arc::clone(&spec.graph);
    let mut profile_of = Vec::with_capacity(graph.len() as usize);
    let mut places: HashMap<Arc<Profile>, usize> = spec.profiles.iter().cloned().zip(0..).collect();
    for index in 0..graph.len() {
        let options = options(index, &graph.name(index));
        let said = options.said();
        let profile = said.apply(base);
        let place = match places.get(&profile) {
            Some(&place) => place,
            None => {
                let profile = Arc::new(profile);
                places.insert(Arc::clone(&profile), spec.profiles.len());
                spec.profiles.push(profile);
                spec.profiles.len() - 1
            }
        };
        let place = u16::try_from(place)
            .map_err(|_| invalid("a run takes at most 65536 different task options"))?;
        profile_of.push(place);
        spec.deadlines.extend(said.deadline.map(|deadline| (index, deadline)));
        spec.keys.extend(said.key.clone().map(|key| (index, key)));
        groups.extend(said.grouping().map(|grouping| (index, grouping)));
    }
    if spec.profiles.len() > 1 {
        spec.profile_of = profile_of;
    }
    Ok(groups)
}

/// Puts tasks into groups and gives them their conditions. Names that are left out of the run are
/// passed over.
fn resolve_groups(
    spec: &mut RunSpec,
    groups: Vec<(u32, Grouping)>,
    is_left_out: impl Fn(&str) -> bool,
) -> Result<(), Rejection> {
    let graph = Arc::clone(&spec.graph);
    let find = |name: &str| match graph.index_of(name) {
        Some(index) => Ok(Some(index)),
        None if is_left_out(name) => Ok(None),
        None => Err(unknown(name)),
    };
    for (index, grouping) in &groups {
        let at_once = grouping.at_once;
        if let Some(kind) = grouping.ends {
            let group = GroupSpec { kind, at_once, opener: None, members: Vec::new() };
            spec.groups.insert(*index, group);
        } else if at_once.is_some() {
            let name = graph.name(*index);
            return Err(invalid(&format!(
                "`{name}` is not the end of a group: nothing is under way at once in it"
            )));
        }
    }
    for (index, Grouping { when, inside, opens, .. }) in groups {
        if let Some(when) = when {
            let condition = when.resolve(find)?;
            spec.conditions.extend(condition.map(|it| (index, Arc::new(it))));
        }
        let Some(end) = inside.as_deref().map(find).transpose()?.flatten() else { continue };
        let name = graph.name(end);
        let group = spec.groups.get_mut(&end);
        let group = group.ok_or_else(|| invalid(&format!("`{name}` is not the end of a group")))?;
        group.members.push(index);
        if opens && group.opener.replace(index).is_some() {
            return Err(invalid(&format!("the group of `{name}` has two openers")));
        }
    }
    Ok(())
}

fn unknown(name: &str) -> Rejection {
    invalid(&format!("there is no task `{name}` in the graph"))
}

fn invalid(text: &str) -> Rejection {
    Rejection::Invalid(Arc::from(text))
}

/// The code of a run, with what its tasks share.
pub(crate) struct RunCode<F> {
    cell: Arc<RunCell>,
    pub span: WorkSpan,
    code: F,
}

impl<F> RunCode<F> {
    pub fn cell(&self) -> &Arc<RunCell> {
        &self.cell
    }

    pub fn new(cell: Arc<RunCell>, span: WorkSpan, code: F) -> Self {
        Self { cell, span, code }
    }

    pub fn call<R>(&self, task: Task) -> R
    where
        F: Fn(Task) -> R,
    {
        (self.code)(task)
    }
}

impl<F, R> Launch for RunCode<F>
where
    F: Fn(Task) -> R + Send + Sync + 'static,
    R: Future + Send + 'static,
    R::Output: TaskOutput,
{
    fn launch(self: Arc<Self>, start: Start) {
        self.cell.shared.runtime.clone().spawn(run_worker(self, start));
    }

    fn cell(&self) -> &Arc<RunCell> {
        &self.cell
    }

    fn count(&self, counts: Counts) {
        // A run ends once.
        let _ = self.cell.last_counts.set(counts);
    }

    fn ended(&self, report: Option<report::RunReport>, end: End) {
        self.cell.end(report, end);
    }
}
