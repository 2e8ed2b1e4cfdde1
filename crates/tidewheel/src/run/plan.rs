//! [`Plan`]: a graph in which each task brings its own code.
//!
//! It ends up as a graph and one piece of code like every other run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::graph::{Graph, GraphError};
use tidewheel_core::input::{Failure, Outcome};

use super::Task;
use super::cell::ExtraCode;
use crate::driver::{BoxFuture, conclude};
use crate::options::TaskOptions;
use crate::output::TaskOutput;

/// Tasks with their code and what they wait for, declared one by one.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Plan, Tidewheel};
///
/// let mut plan = Plan::new();
/// plan.task("fetch", |_| async { Ok::<_, String>(String::from("3 4 5")) });
/// plan.task("sum", |task| async move {
///     let text = task.input::<String>("fetch")?;
///     let numbers: Result<Vec<u32>, _> = text.split(' ').map(str::parse).collect();
///     Ok::<u32, Box<dyn std::error::Error + Send + Sync>>(numbers?.iter().sum())
/// })
/// .after(["fetch"]);
///
/// let wheel = Tidewheel::builder().start();
/// let report = wheel.run_plan(plan)?.await?;
/// assert_eq!(*report.value::<u32>("sum").unwrap(), 12);
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Plan {
    tasks: Vec<Entry>,
}

struct Entry {
    name: String,
    after: Vec<String>,
    estimate: Option<Duration>,
    options: TaskOptions,
    code: Arc<ExtraCode>,
}

impl Plan {
    /// An empty plan.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a task. A name used twice is reported when the plan is run.
    pub fn task<F, R>(&mut self, name: impl Into<String>, code: F) -> PlanTask<'_>
    where
        F: Fn(Task) -> R + Send + Sync + 'static,
        R: Future + Send + 'static,
        R::Output: TaskOutput,
    {
        self.tasks.push(Entry {
            name: name.into(),
            after: Vec::new(),
            estimate: None,
            options: TaskOptions::new(),
            code: boxed(code),
        });
        let entry = self.tasks.last_mut().expect("it was pushed just now");
        PlanTask { entry }
    }

    /// The number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there are no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(crate) fn build(self) -> Result<(Graph, PlanCode, Vec<TaskOptions>), GraphError> {
        let mut graph = Graph::builder();
        for entry in &self.tasks {
            let task = graph.task(&entry.name).after(&entry.after);
            if let Some(estimate) = entry.estimate {
                task.estimate(estimate);
            }
        }
        let graph = graph.build()?;
        let (code, options) =
            self.tasks.into_iter().map(|entry| (entry.code, entry.options)).unzip();
        Ok((graph, PlanCode { code }, options))
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("tasks", &self.len()).finish_non_exhaustive()
    }
}

/// One task being declared; made by [`Plan::task`].
pub struct PlanTask<'a> {
    entry: &'a mut Entry,
}

impl PlanTask<'_> {
    /// Makes the task wait for others, by name. They may be declared later.
    pub fn after<S: AsRef<str>>(self, names: impl IntoIterator<Item = S>) -> Self {
        self.entry.after.extend(names.into_iter().map(|name| name.as_ref().to_owned()));
        self
    }

    /// Says how long the task is expected to take.
    pub fn estimate(self, estimate: Duration) -> Self {
        self.entry.estimate = Some(estimate);
        self
    }

    /// Says how the task is treated.
    pub fn options(self, options: TaskOptions) -> Self {
        self.entry.options = options;
        self
    }
}

impl fmt::Debug for PlanTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanTask").field("name", &self.entry.name).finish_non_exhaustive()
    }
}

/// The code of a plan, by index of the task in it.
pub(crate) struct PlanCode {
    code: Vec<Arc<ExtraCode>>,
}

impl PlanCode {
    pub fn call(&self, task: Task) -> BoxFuture<Outcome> {
        match self.code.get(task.declared_index() as usize) {
            Some(code) => code(task),
            None => Box::pin(std::future::ready(Outcome::Failed(Box::new(Failure {
                message: Arc::from("the task was added to a plan without code of its own"),
                permanent: true,
                ..Failure::default()
            })))),
        }
    }
}

/// Code whose future is boxed and whose output is dealt with.
pub(super) fn boxed<F, R>(code: F) -> Arc<ExtraCode>
where
    F: Fn(Task) -> R + Send + Sync + 'static,
    R: Future + Send + 'static,
    R::Output: TaskOutput,
{
    Arc::new(move |task: Task| -> BoxFuture<Outcome> {
        let seat = Arc::clone(task.seat());
        let future = code(task);
        Box::pin(async move { conclude(&seat, future.await) })
    })
}
