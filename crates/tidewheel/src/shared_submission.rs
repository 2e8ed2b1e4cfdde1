//! [`SharedSubmission`]: one accepted task whose value is for everybody who asks for it.
//!
//! A task that belongs to whoever submitted it is a [`Submission`](crate::Submission).

use std::any::{Any, type_name};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tidewheel_core::id::RunId;
use tidewheel_core::input::Rejection;
use tidewheel_core::spec::Profile;
use tokio::sync::Notify;

use crate::driver::books::Ticket;
use crate::driver::engine::RunRef;
use crate::driver::wish::Wish;
use crate::driver::{Code, End, Shared, SharedValue, Until, Waiter};
use crate::error::{BoxError, TaskError};
use crate::handle::TaskHandle;
use crate::options::Said;
use crate::submission::{Asked, ask, result_of};

/// A task that was submitted, and whose value everybody gets who asks for it; made by
/// [`TaskRequest::submit_shared`](crate::task::TaskRequest::submit_shared).
///
/// Clones are of the same task, and so is what is submitted again under the same name
/// ([`once`](crate::task::TaskRequest::once)), while it runs and for as long as the name is known after it
/// ([`Builder::once_kept`](crate::Builder::once_kept)). Nobody owns the task: dropping a shared submission
/// changes nothing, and [`SharedSubmission::cancel`] ends it for all.
///
/// Each gets a clone of the value; one that is large or cannot be cloned goes into an `Arc`. An error is shared.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::Tidewheel;
///
/// # async fn fetch() -> Result<String, std::io::Error> { Ok(String::from("body")) }
/// let wheel = Tidewheel::builder().start();
/// let ask = || wheel.task(fetch).once("page 7").submit_shared();
/// let (first, second) = (ask(), ask());
/// assert_eq!(first.id(), second.id());
/// assert_eq!(first.await?, "body");
/// assert_eq!(second.await?, "body"); // fetched once
/// assert_eq!(ask().await?, "body"); // also long after
/// # Ok(())
/// # }
/// ```
#[must_use = "await it for the value, or look at its `rejection`"]
pub struct SharedSubmission<T> {
    stage: Stage<T>,
}

enum Stage<T> {
    /// Why there is no value for whoever asks here.
    Without(Arc<TaskError>),
    Accepted {
        shared: Arc<Shared>,
        slot: Arc<SharedSlot<T>>,
        run: RunRef,
        ticket: Ticket,
    },
}

impl<T> SharedSubmission<T> {
    /// The durable identity of the task, if it was accepted, now or before under the same name.
    #[must_use]
    pub fn id(&self) -> Option<RunId> {
        match &self.stage {
            Stage::Accepted { run, .. } => Some(run.id),
            Stage::Without(error) => match &**error {
                TaskError::ValueNotKept(run) | TaskError::OtherType { run, .. } => Some(*run),
                _ => None,
            },
        }
    }

    /// Why the task was not accepted, if it was not. Awaiting it tells the same.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.stage {
            Stage::Without(error) => match &**error {
                TaskError::Rejected(rejection) => Some(rejection),
                _ => None,
            },
            Stage::Accepted { .. } => None,
        }
    }

    /// Waits until the store has the task, and gives its durable identity; see
    /// [`Submission::accepted`](crate::Submission::accepted).
    ///
    /// # Errors
    ///
    /// Why the task was not accepted. After [`Rejection::Unavailable`] it may still have been.
    pub async fn accepted(&self) -> Result<RunId, Rejection> {
        match (&self.stage, self.rejection(), self.id()) {
            (Stage::Accepted { shared, run, ticket, .. }, ..) => {
                shared.until_stored(*ticket).await?;
                Ok(run.id)
            }
            (_, Some(rejection), _) => Err(rejection.clone()),
            (_, None, Some(id)) => Ok(id),
            (_, None, None) => Err(Rejection::Gone("submission")),
        }
    }

    /// Cancels the task, for everybody. If it runs already, `mode` says how long it has to stop by itself.
    pub fn cancel(&self, mode: crate::Cancel) {
        if let Stage::Accepted { shared, run, .. } = &self.stage {
            let _ = shared.wish(Until::Later, Wish::Cancel(*run, mode.into()));
        }
    }

    /// Whether the task has ended, so that its value can be had at once.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.stage {
            Stage::Accepted { slot, .. } => slot.result.get().is_some(),
            Stage::Without(_) => true,
        }
    }
}

impl<T: Clone + Send + Sync + 'static> SharedSubmission<T> {
    /// Waits for the value. Awaiting the submission itself does the same.
    ///
    /// # Errors
    ///
    /// Why there is none: what became of the task, that its value is of another type
    /// ([`TaskError::OtherType`]), or that it was accepted before and its value is not known here
    /// ([`TaskError::ValueNotKept`]).
    pub async fn value(&self) -> Result<T, Arc<TaskError>> {
        match &self.stage {
            Stage::Accepted { slot, .. } => slot.wait().await,
            Stage::Without(error) => Err(Arc::clone(error)),
        }
    }

    /// A handle of the task, which does not know the type of its value.
    #[must_use]
    pub fn handle(&self) -> TaskHandle {
        TaskHandle::new(match &self.stage {
            Stage::Accepted { shared, slot, run, .. } => {
                Some((Arc::clone(shared), *run, Arc::clone(slot) as Arc<dyn Waiter>))
            }
            Stage::Without(_) => None,
        })
    }
}

impl<T> Clone for SharedSubmission<T> {
    fn clone(&self) -> Self {
        let stage = match &self.stage {
            Stage::Without(error) => Stage::Without(Arc::clone(error)),
            Stage::Accepted { shared, slot, run, ticket } => Stage::Accepted {
                shared: Arc::clone(shared),
                slot: Arc::clone(slot),
                run: *run,
                ticket: *ticket,
            },
        };
        Self { stage }
    }
}

impl<T: Clone + Send + Sync + 'static> IntoFuture for SharedSubmission<T> {
    type Output = Result<T, Arc<TaskError>>;
    type IntoFuture = std::pin::Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.value().await })
    }
}

impl<T> fmt::Debug for SharedSubmission<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSubmission").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// Where the value of a task waits for everybody.
pub(crate) struct SharedSlot<T> {
    /// What the newest attempt returned. It counts once the end is known.
    returned: Mutex<Option<Result<T, BoxError>>>,
    result: OnceLock<Result<T, Arc<TaskError>>>,
    ended: Notify,
}

impl<T> SharedSlot<T> {
    pub fn new() -> Self {
        let (result, ended) = (OnceLock::new(), Notify::new());
        Self { returned: Mutex::new(None), result, ended }
    }

    pub fn put(&self, returned: Result<T, BoxError>) {
        let before = self.returned().replace(returned);
        // Dropped only now, without the lock.
        drop(before);
    }

    fn returned(&self) -> std::sync::MutexGuard<'_, Option<Result<T, BoxError>>> {
        // Nothing panics while it is held.
        self.returned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> SharedSlot<T> {
    async fn wait(&self) -> Result<T, Arc<TaskError>> {
        loop {
            let mut told = std::pin::pin!(self.ended.notified());
            told.as_mut().enable();
            if let Some(result) = self.result.get() {
                return result.clone();
            }
            told.await;
        }
    }
}

impl<T: Send + Sync> Waiter for SharedSlot<T> {
    fn is_ended(&self) -> bool {
        self.result.get().is_some()
    }

    fn ended(&self, end: End) {
        let returned = self.returned().take();
        // Nobody is told twice; were it so, the first end would count.
        let _ = self.result.set(result_of(returned, end).map_err(Arc::new));
        self.ended.notify_waiters();
    }
}

/// Submits code whose value is for everybody who asks under its name, or finds what was submitted before.
pub(crate) fn submit_shared<T: Clone + Send + Sync + 'static>(
    shared: &Arc<Shared>,
    profile: &Profile,
    said: &Said,
    code: Code,
    slot: Arc<SharedSlot<T>>,
) -> SharedSubmission<T> {
    let mut forgotten = Vec::new();
    let waiter: Arc<dyn Waiter> = slot.clone();
    let asked =
        Asked { profile: Some(profile), priority: profile.priority, said: Some(said), code };
    let accepted = ask(shared, asked, waiter, |state, run, ticket, now| {
        if said.once.is_some() {
            let slot = Arc::clone(&slot) as Arc<dyn Any + Send + Sync>;
            let value = SharedValue { run, ticket, slot, type_name: type_name::<T>() };
            let kept = state.engine.scheduler().once_kept();
            forgotten = state.values.keep(value, now, kept);
        }
    });
    drop(forgotten);
    let stage = match accepted {
        Ok((run, ticket)) => Stage::Accepted { shared: Arc::clone(shared), slot, run, ticket },
        Err(Rejection::AlreadyAccepted(run)) => found(shared, run),
        Err(rejection) => Stage::Without(Arc::new(TaskError::Rejected(rejection))),
    };
    SharedSubmission { stage }
}

/// What was submitted before under the same name.
fn found<T: Clone + Send + Sync + 'static>(shared: &Arc<Shared>, run: RunId) -> Stage<T> {
    let value = shared.lock().values.get(run).cloned();
    let Some(value) = value else {
        return Stage::Without(Arc::new(TaskError::ValueNotKept(run)));
    };
    let (run, ticket) = (value.run, value.ticket);
    match value.slot.downcast() {
        Ok(slot) => Stage::Accepted { shared: Arc::clone(shared), slot, run, ticket },
        Err(_) => Stage::Without(Arc::new(TaskError::OtherType {
            run: run.id,
            kept: value.type_name,
            wanted: type_name::<T>(),
        })),
    }
}
