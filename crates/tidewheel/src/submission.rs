//! [`Submission`]: one accepted task and the value it will give; [`TaskRequest`]: asking for one.
//!
//! Graphs of tasks are in [`crate::run`].

use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tidewheel_core::id::RunId;
use tidewheel_core::input::{self, Command, Outcome, Rejection, Reply};
use tidewheel_core::policy::Priority;
use tidewheel_core::spec::Profile;
use tidewheel_core::task::{Reason, TaskState};
use tidewheel_core::time::Timestamp;

use crate::attempt::Attempt;
use crate::driver::books::Ticket;
use crate::driver::engine::RunRef;
use crate::driver::span::WorkSpan;
use crate::driver::wish::Wish;
use crate::driver::{BoxFuture, Code, End, Shared, SingleEntry, State, Until, Waiter};
use crate::error::{BoxError, TaskError, failure_of};
use crate::handle::TaskHandle;
use crate::options::{Said, durable_option_methods, option_methods, single_option_methods};
use crate::shared_submission::{SharedSlot, SharedSubmission, submit_shared};

/// A task that was submitted, and a future of its value.
///
/// The task does not wait to be awaited: it is submitted already. A future owns its work, here as where
/// a run is awaited: dropping the submission abandons the task. If it waits, it leaves its queue and
/// frees its place; if it runs, it is stopped. [`Submission::detach`] lets it go on without anybody
/// waiting. Handles own nothing: with [`Submission::handle`] others look at it, and cancel it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Priority, Tidewheel};
///
/// let wheel = Tidewheel::builder().slots(2).start();
/// let first = wheel.submit(Priority::LOW, async { 1 });
/// let second = wheel.submit(Priority::HIGH, async { 2 });
/// assert_eq!(first.await? + second.await?, 3);
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping a submission abandons it; `detach` lets it go on"]
pub struct Submission<T> {
    stage: Stage<T>,
}

enum Stage<T> {
    Refused(Rejection),
    Accepted { shared: Arc<Shared>, slot: Arc<Slot<T>>, run: RunRef, ticket: Ticket },
    Over,
}

impl<T> Submission<T> {
    /// Lets the task go on although nobody waits for it.
    pub fn detach(mut self) {
        self.stage = Stage::Over;
    }

    /// Why the task was not accepted, if it was not. Awaiting the submission tells the same.
    #[must_use]
    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.stage {
            Stage::Refused(rejection) => Some(rejection),
            _ => None,
        }
    }

    /// The durable identity of the task, if it was accepted, now or before under the same name, and
    /// has not been awaited to its end.
    #[must_use]
    pub fn id(&self) -> Option<RunId> {
        match &self.stage {
            Stage::Accepted { run, .. } => Some(run.id),
            Stage::Refused(Rejection::AlreadyAccepted(id)) => Some(*id),
            _ => None,
        }
    }

    /// Waits until the store has the task, and gives its durable identity. Without a store that
    /// takes its time this is at once; awaiting the submission itself implies it.
    ///
    /// # Errors
    ///
    /// Why the task was not accepted. After [`Rejection::Unavailable`] it may still have been.
    pub async fn accepted(&self) -> Result<RunId, Rejection> {
        match &self.stage {
            Stage::Accepted { shared, run, ticket, .. } => {
                shared.until_stored(*ticket).await?;
                Ok(run.id)
            }
            Stage::Refused(Rejection::AlreadyAccepted(id)) => Ok(*id),
            Stage::Refused(rejection) => Err(rejection.clone()),
            Stage::Over => Err(Rejection::Gone("submission")),
        }
    }

    /// Cancels the task. Whoever awaits the submission is told. If it runs already, `mode` says how long it
    /// has to stop by itself.
    pub fn cancel(&self, mode: crate::Cancel) {
        if let Stage::Accepted { shared, run, .. } = &self.stage {
            let _ = shared.wish(Until::Later, Wish::Cancel(*run, mode.into()));
        }
    }

    /// Whether the task has ended, so that awaiting it gives its value at once.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.stage {
            Stage::Accepted { slot, .. } => slot.has_ended(),
            _ => true,
        }
    }

    /// Whose it is, and which, while it is not over.
    pub(crate) fn task(&self) -> Option<(&Arc<Shared>, RunRef)> {
        match &self.stage {
            Stage::Accepted { shared, run, .. } => Some((shared, *run)),
            _ => None,
        }
    }
}

impl<T: Send + 'static> Submission<T> {
    /// A handle of the task, to look at it and to cancel it while somebody else awaits it.
    #[must_use]
    pub fn handle(&self) -> TaskHandle {
        TaskHandle::new(match &self.stage {
            Stage::Accepted { shared, slot, run, .. } => {
                Some((Arc::clone(shared), *run, Arc::clone(slot) as Arc<dyn Waiter>))
            }
            _ => None,
        })
    }
}

impl<T> Future for Submission<T> {
    type Output = Result<T, TaskError>;

    /// # Panics
    ///
    /// When polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match &self.stage {
            Stage::Accepted { slot, .. } => std::task::ready!(slot.poll(context)),
            Stage::Refused(rejection) => Err(TaskError::Rejected(rejection.clone())),
            Stage::Over => panic!("a submission was polled after it was ready"),
        };
        self.stage = Stage::Over;
        Poll::Ready(result)
    }
}

// Nothing in it is pinned: the task's own future is elsewhere.
impl<T> Unpin for Submission<T> {}

impl<T> Drop for Submission<T> {
    fn drop(&mut self) {
        if let Stage::Accepted { shared, slot, run, .. } = &self.stage
            && !slot.has_ended()
        {
            let _ = shared.wish(Until::Later, Wish::Abandon(*run));
        }
    }
}

impl<T> fmt::Debug for Submission<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submission").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// Where the value of a task waits for whoever awaits it.
pub(crate) struct Slot<T> {
    inner: Mutex<SlotInner<T>>,
}

struct SlotInner<T> {
    /// What the newest attempt returned. It counts once the end is known.
    returned: Option<Result<T, BoxError>>,
    end: Option<End>,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self { inner: Mutex::new(SlotInner { returned: None, end: None, waker: None }) }
    }

    fn has_ended(&self) -> bool {
        self.lock().end.is_some()
    }

    fn put(&self, returned: Result<T, BoxError>) {
        let before = self.lock().returned.replace(returned);
        // Dropped only now, without the lock.
        drop(before);
    }

    fn poll(&self, context: &mut Context<'_>) -> Poll<Result<T, TaskError>> {
        let mut inner = self.lock();
        let Some(end) = inner.end.clone() else {
            inner.waker = Some(context.waker().clone());
            return Poll::Pending;
        };
        let returned = inner.returned.take();
        drop(inner);
        Poll::Ready(result_of(returned, end))
    }

    fn lock(&self) -> MutexGuard<'_, SlotInner<T>> {
        // Nothing panics while it is held.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send> Waiter for Slot<T> {
    fn is_ended(&self) -> bool {
        self.has_ended()
    }

    fn ended(&self, end: End) {
        let mut inner = self.lock();
        inner.end = Some(end);
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

pub(crate) fn result_of<T>(
    returned: Option<Result<T, BoxError>>,
    end: End,
) -> Result<T, TaskError> {
    let (state, reason, error) = match end {
        End::Ended { state, reason, error } => (state, reason, error),
        End::ShutDown => return Err(TaskError::ShutDown),
        End::Refused(why) => return Err(TaskError::Rejected(Rejection::Unavailable(why))),
        End::Lost(why) => return Err(TaskError::Lost(why)),
    };
    let text = || error.clone().unwrap_or_else(|| Arc::from(reason.word()));
    match (state, reason, returned) {
        (TaskState::Succeeded, _, Some(Ok(value))) => Ok(value),
        (_, Reason::Panic, _) => Err(TaskError::Panicked(text())),
        (_, Reason::AttemptTimeout | Reason::TaskTimeout | Reason::RunTimeout, _) => {
            Err(TaskError::TimedOut(reason))
        }
        (_, Reason::ShutDown, _) => Err(TaskError::ShutDown),
        (TaskState::Failed, _, Some(Err(error))) => Err(TaskError::Failed(error)),
        (TaskState::Failed, Reason::Error, _) => Err(TaskError::Failed(text().to_string().into())),
        (TaskState::Cancelled | TaskState::Skipped, ..) => Err(TaskError::Cancelled(reason)),
        _ => Err(TaskError::Lost(text())),
    }
}

/// Submits a future that runs once. What it returns is its value, even if that is an error.
pub(crate) fn submit_once<T: Send + 'static>(
    shared: &Arc<Shared>,
    priority: Priority,
    future: impl Future<Output = T> + Send + 'static,
) -> Submission<T> {
    let slot = Arc::new(Slot::new());
    let kept = Arc::clone(&slot);
    let future: BoxFuture<Outcome> = Box::pin(async move {
        kept.put(Ok(future.await));
        Outcome::Succeeded
    });
    submit(shared, Asked::plain(priority, future), slot)
}

/// Submits a future that runs once and whose error is a failure.
pub(crate) fn submit_fallible<T: Send + 'static, E: Into<BoxError>>(
    shared: &Arc<Shared>,
    priority: Priority,
    future: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Submission<T> {
    let slot = Arc::new(Slot::new());
    let kept = Arc::clone(&slot);
    let future: BoxFuture<Outcome> =
        Box::pin(async move { keep(|returned| kept.put(returned), future.await, false) });
    submit(shared, Asked::plain(priority, future), slot)
}

fn keep<T, E: Into<BoxError>>(
    put: impl FnOnce(Result<T, BoxError>),
    result: Result<T, E>,
    has_seen_stop: bool,
) -> Outcome {
    match result {
        Ok(value) => {
            put(Ok(value));
            Outcome::Succeeded
        }
        Err(error) => {
            let error = error.into();
            let failure = Box::new(failure_of(&*error));
            put(Err(error));
            if has_seen_stop { Outcome::Cancelled } else { Outcome::Failed(failure) }
        }
    }
}

fn submit<T: Send + 'static>(
    shared: &Arc<Shared>,
    asked: Asked<'_>,
    slot: Arc<Slot<T>>,
) -> Submission<T> {
    let waiter: Arc<dyn Waiter> = slot.clone();
    let stage = match ask(shared, asked, waiter, |_, _, _, _| {}) {
        Ok((run, ticket)) => Stage::Accepted { shared: Arc::clone(shared), slot, run, ticket },
        Err(rejection) => Stage::Refused(rejection),
    };
    Submission { stage }
}

/// What is asked for as a single submission.
pub(crate) struct Asked<'a> {
    /// `None`: as plain futures are.
    pub profile: Option<&'a Profile>,
    pub priority: Priority,
    /// `None`: nothing. Of plain futures there may be millions, and what is said is large.
    pub said: Option<&'a Said>,
    pub code: Code,
}

impl Asked<'_> {
    fn plain(priority: Priority, future: BoxFuture<Outcome>) -> Self {
        Self { profile: None, priority, said: None, code: Code::Once(Some(future)) }
    }
}

/// Asks for a single submission. What is accepted is bound under the lock.
pub(crate) fn ask(
    shared: &Arc<Shared>,
    asked: Asked<'_>,
    waiter: Arc<dyn Waiter>,
    bind: impl FnOnce(&mut State, RunRef, Ticket, Timestamp),
) -> Result<(RunRef, Ticket), Rejection> {
    let Asked { profile, priority, said, code } = asked;
    let fresh = Cell::new((RunId::default(), Timestamp::UNIX_EPOCH));
    let mut accepted = None;
    let mut code = Some(code);
    let span = WorkSpan::of_task();
    let reply = shared.command_with(
        Until::Later,
        |state, now| {
            let id = state.fresh_run_id(now);
            fresh.set((id, now.wall));
            let profile = match profile {
                Some(profile) => state.engine.scheduler_mut().profile(profile)?,
                None => state.plain,
            };
            let deadline = said.and_then(|said| said.deadline);
            let key = said.and_then(|said| said.key.clone());
            let attachment = said.and_then(Said::attachment).map(Arc::new);
            let submission = input::Submission { id, profile, priority, deadline, key, attachment };
            Ok(Command::Submit(submission))
        },
        |state, reply, ticket| {
            if let (Reply::Accepted(run), Some(code)) = (reply, code.take()) {
                let (id, now) = fresh.get();
                let stored_as = state.engine.keeps_rows().then(|| Box::new(id));
                let entry = SingleEntry { stored_as, code, span: span.clone(), waiter };
                state.insert_single(*run, entry);
                let run = state.engine.run_ref(id, *run);
                bind(state, run, ticket, now);
                accepted = Some((run, ticket));
            }
        },
    );
    // A refused future is dropped here, without the lock.
    drop(code);
    match (reply, accepted) {
        (Ok(_), Some((run, ticket))) => {
            span.accepted(run.id);
            Ok((run, ticket))
        }
        (Ok(other), None) => unreachable!("a submission was answered with {other:?}"),
        (Err(rejection), _) => Err(rejection),
    }
}

/// Code that can be run again, and whose value goes where those who wait look for it.
fn repeat<F, R, T, E>(
    code: F,
    put: impl Fn(Result<T, BoxError>) + Clone + Send + Sync + 'static,
) -> Code
where
    F: Fn(Attempt) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: Into<BoxError> + 'static,
{
    Code::Repeat(Arc::new(move |attempt: Attempt| -> BoxFuture<Outcome> {
        let put = put.clone();
        let future = code(attempt.clone());
        Box::pin(async move { keep(put, future.await, attempt.has_seen_stop()) })
    }))
}

/// A task about to be submitted; made by [`crate::Tidewheel::task`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use tidewheel::{Priority, Tidewheel};
///
/// # async fn fetch() -> Result<String, std::io::Error> { Ok(String::from("body")) }
/// let wheel = Tidewheel::builder().limit("registry", 2).start();
/// let body = wheel
///     .task(|| async { fetch().await })
///     .priority(Priority::HIGH)
///     .retries(3)
///     .attempt_timeout(Duration::from_secs(10))
///     .limit("registry")
///     .key("user-7")
///     .submit()
///     .await?;
/// assert_eq!(body, "body");
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is submitted before `submit`"]
pub struct TaskRequest<F> {
    shared: Arc<Shared>,
    code: F,
    said: Said,
}

impl<F> TaskRequest<F> {
    pub(crate) fn new(shared: Arc<Shared>, code: F) -> Self {
        Self { shared, code, said: Said::default() }
    }

    option_methods!(said);
    single_option_methods!(said);
    durable_option_methods!(said);

    /// All options at once, in place of those said before; payload, kind and name stay.
    pub fn options(mut self, options: crate::TaskOptions) -> Self {
        let before = std::mem::replace(&mut self.said, options.into_said());
        let own = &mut self.said;
        (own.payload, own.kind, own.once) = (before.payload, before.kind, before.once);
        self
    }

    /// Submits the task.
    pub fn submit<R, T, E>(self) -> Submission<T>
    where
        F: Fn(Attempt) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let slot = Arc::new(Slot::new());
        let kept = Arc::clone(&slot);
        let code = repeat(self.code, move |returned| kept.put(returned));
        let profile = self.said.apply(&Profile::default());
        let (priority, said) = (profile.priority, Some(&self.said));
        submit(&self.shared, Asked { profile: Some(&profile), priority, said, code }, slot)
    }

    /// Submits the task for everybody who asks for it under the same name
    /// ([`once`](TaskRequest::once)): whoever submits it again in this way, while it runs or after it, gets
    /// the same value. All must ask in this way; to others the task is accepted before
    /// ([`Rejection::AlreadyAccepted`](crate::Rejection::AlreadyAccepted)).
    ///
    /// Values are not stored. After a restart the name is still known, and awaiting it tells that the value
    /// is not ([`TaskError::ValueNotKept`]); what must be known then belongs into a store of your own.
    pub fn submit_shared<R, T, E>(self) -> SharedSubmission<T>
    where
        F: Fn(Attempt) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Clone + Send + Sync + 'static,
        E: Into<BoxError> + 'static,
    {
        let slot = Arc::new(SharedSlot::new());
        let kept = Arc::clone(&slot);
        let code = repeat(self.code, move |returned| kept.put(returned));
        let profile = self.said.apply(&Profile::default());
        submit_shared(&self.shared, &profile, &self.said, code, slot)
    }
}

impl<F> fmt::Debug for TaskRequest<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRequest").field("said", &self.said).finish_non_exhaustive()
    }
}
