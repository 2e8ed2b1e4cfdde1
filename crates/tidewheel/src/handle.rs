//! [`TaskHandle`]: to look at a submitted task, to cancel it and to change its priority, while somebody else awaits it.
//!
//! The future of its value is the [`Submission`](crate::Submission); handles of runs are in
//! [`crate::run`].

use std::fmt;
use std::sync::Arc;

use tidewheel_core::id::{RunId, TaskKey};
use tidewheel_core::policy::Priority;
use tidewheel_core::task::TaskState;

use crate::Cancel;
use crate::driver::engine::RunRef;
use crate::driver::wish::Wish;
use crate::driver::{Shared, Until, Waiter};
use crate::explain::{Explain, Explanation, UnknownTask};
use crate::wheel::Tidewheel;

/// A task that was submitted, to be looked at and cancelled from anywhere; made by
/// [`Submission::handle`](crate::Submission::handle).
///
/// Clones are handles of the same task. Dropping them changes nothing: only the submission itself owns
/// the task.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Cancel, TaskError, Tidewheel};
///
/// let wheel = Tidewheel::builder().start();
/// let forever = wheel.submit_normal(std::future::pending::<()>());
/// let handle = forever.handle();
/// let waiting = tokio::spawn(forever);
/// assert!(!handle.is_finished());
/// handle.cancel(Cancel::now());
/// assert!(matches!(waiting.await?, Err(TaskError::Cancelled(_))));
/// assert!(handle.is_finished());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TaskHandle {
    /// `None` if it was refused, or awaited to its end before.
    task: Option<Known>,
}

#[derive(Clone)]
struct Known {
    shared: Arc<Shared>,
    run: RunRef,
    waiter: Arc<dyn Waiter>,
}

impl TaskHandle {
    pub(crate) fn new(task: Option<(Arc<Shared>, RunRef, Arc<dyn Waiter>)>) -> Self {
        let task = task.map(|(shared, run, waiter)| Known { shared, run, waiter });
        Self { task }
    }

    /// The durable identity of the task; `None` if it was not accepted.
    #[must_use]
    pub fn id(&self) -> Option<RunId> {
        self.task.as_ref().map(|task| task.run.id)
    }

    /// Cancels the task, by force after the time that `mode` says. Whoever awaits it is told. If it has
    /// ended, nothing happens.
    pub fn cancel(&self, mode: Cancel) {
        if let Some(task) = &self.task {
            let _ = task.shared.wish(Until::Later, Wish::Cancel(task.run, mode.into()));
        }
    }

    /// Changes the priority of the task. It has not waited anew; if it runs it goes on, and its next attempt waits with
    /// the new priority. False if it has ended.
    pub fn set_priority(&self, priority: impl Into<Priority>) -> bool {
        let Some(task) = &self.task else { return false };
        let wish = Wish::SetPriority(task.run, None, priority.into());
        task.shared.wish(Until::Later, wish).is_ok()
    }

    /// Whether the task has ended, in whatever way, or was never accepted.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(|task| task.waiter.is_ended())
    }

    /// Its state; `None` once it has ended and is forgotten.
    #[must_use]
    pub fn state(&self) -> Option<TaskState> {
        let task = self.task.as_ref()?;
        let state = task.shared.lock();
        let key = TaskKey { run: state.engine.find_run(task.run)?, index: 0 };
        state.engine.scheduler().task(key).map(|task| task.state)
    }
}

impl Explain for TaskHandle {
    fn explain(&self, wheel: &Tidewheel) -> Result<Explanation, UnknownTask> {
        let explained =
            self.task.as_ref().and_then(|task| wheel.explain_task(&task.shared, task.run, 0));
        explained.ok_or_else(|| UnknownTask { name: String::from("submission") })
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, is_finished) = (self.id(), self.is_finished());
        f.debug_struct("TaskHandle").field("id", &id).field("is_finished", &is_finished).finish()
    }
}
