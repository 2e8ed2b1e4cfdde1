//! One attempt at one future: polled with panics caught, ended by time or by request.
//!
//! What the outcome means, and what comes next, is not decided here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tidewheel_core::input::{Failure, Outcome};
use tidewheel_core::task::Reason;
use tokio::time::Sleep;

use super::seat::{Seat, Stopped};
use super::span::AttemptSpan;

/// Time to stop for an attempt that is to take as long as it finds right, and does not end itself.
const GRACE: Duration = Duration::from_secs(10);

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How a future came to its end.
pub(super) enum Ended<T> {
    Returned(T),
    Panicked(String),
    TimedOut,
    Stopped,
}

impl<T> Ended<T> {
    pub fn outcome(self, returned: impl FnOnce(T) -> Outcome) -> Outcome {
        match self {
            Self::Returned(value) => returned(value),
            Self::Panicked(text) => failure_of_panic(&text),
            Self::TimedOut => Outcome::TimedOut,
            Self::Stopped => Outcome::Cancelled,
        }
    }
}

/// Calls user code, catching a panic.
pub(super) fn guard<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(panic_text)
}

/// Drives the future in `slot` to its end and drops it.
///
/// It is polled once before anything is armed: most tasks of a fast graph end there.
pub(super) async fn drive<F: Future>(
    seat: &Arc<Seat>,
    span: &AttemptSpan,
    timeout: Option<Duration>,
    mut slot: Pin<&mut Option<F>>,
) -> Ended<F::Output> {
    let first = std::future::poll_fn(|cx| Poll::Ready(poll_slot(span, slot.as_mut(), cx))).await;
    let ended = match first {
        Poll::Ready(ended) => ended,
        Poll::Pending => {
            // Whoever waits for something is not back soon.
            seat.shared.note_waiting(seat, true);
            let ended = drive_pending(seat, span, timeout, slot.as_mut()).await;
            seat.shared.note_waiting(seat, false);
            ended
        }
    };
    // A future that panics when dropped has had its say already.
    let _ = span.within(|| guard(|| slot.set(None)));
    ended
}

async fn drive_pending<F: Future>(
    seat: &Arc<Seat>,
    span: &AttemptSpan,
    timeout: Option<Duration>,
    mut slot: Pin<&mut Option<F>>,
) -> Ended<F::Output> {
    seat.register();
    seat.shared.launch_spare();
    let mut deadline: Pin<&mut Option<Sleep>> = pin!(timeout.map(tokio::time::sleep));
    let mut grace: Pin<&mut Option<Sleep>> = pin!(None);
    let mut grace_granted: Option<Duration> = None;
    let mut is_late = false;
    // The first poll is over; its waker is this task's and still counts.
    let mut is_polled = true;
    std::future::poll_fn(|cx| {
        if let Some(stopped) = seat.poll_worker(cx)
            && grace_granted.is_none_or(|granted| stopped.grace < granted)
            && !seat.ends_itself()
        {
            if stopped.grace.is_zero() {
                return Poll::Ready(Ended::Stopped);
            }
            grace_granted = Some(stopped.grace);
            // Told later, even less grace may end later; what was granted first is not made longer.
            // Who says nothing of itself has no more than that.
            let given = if stopped.grace == Duration::MAX { GRACE } else { stopped.grace };
            let ending = tokio::time::sleep(given);
            let before = grace.as_ref().as_pin_ref().map(|ending| ending.deadline());
            if before.is_none_or(|before| ending.deadline() < before) {
                grace.set(Some(ending));
            }
        }
        if !std::mem::take(&mut is_polled)
            && let Poll::Ready(ended) = poll_slot(span, slot.as_mut(), cx)
        {
            return Poll::Ready(if is_late { Ended::TimedOut } else { ended });
        }
        if is_over(grace.as_mut(), cx) {
            return Poll::Ready(Ended::Stopped);
        }
        if is_over(deadline.as_mut(), cx) {
            if !seat.ends_itself() {
                return Poll::Ready(Ended::TimedOut);
            }
            // What must not be cut off is told to stop, and then waited for.
            is_late = true;
            deadline.set(None);
            seat.stop(Stopped { grace: Duration::MAX, reason: Reason::AttemptTimeout });
        }
        Poll::Pending
    })
    .await
}

fn is_over(sleep: Pin<&mut Option<Sleep>>, cx: &mut Context<'_>) -> bool {
    sleep.as_pin_mut().is_some_and(|sleep| sleep.poll(cx).is_ready())
}

fn poll_slot<F: Future>(
    span: &AttemptSpan,
    slot: Pin<&mut Option<F>>,
    cx: &mut Context<'_>,
) -> Poll<Ended<F::Output>> {
    let future = slot.as_pin_mut().expect("the future is dropped only after its end");
    match span.within(|| guard(|| future.poll(cx))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(value)) => Poll::Ready(Ended::Returned(value)),
        Err(text) => Poll::Ready(Ended::Panicked(text)),
    }
}

pub(super) fn failure_of_panic(text: &str) -> Outcome {
    let message = Arc::from(text);
    Outcome::Failed(Box::new(Failure { message, panicked: true, ..Failure::default() }))
}

/// The text of a panic, and the end of its payload, whatever that does when dropped.
pub(crate) fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = match payload.downcast_ref::<&'static str>() {
        Some(text) => (*text).to_owned(),
        None => match payload.downcast_ref::<String>() {
            Some(text) => text.clone(),
            None => "panicked with something that is not text".to_owned(),
        },
    };
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        // A payload whose drop panics with another such: better leaked than followed for ever.
        std::mem::forget(second);
    }
    text
}
