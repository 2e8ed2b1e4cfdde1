//! Watching a wheel: notices of what happens, and figures of what has happened.
//!
//! [`Tidewheel::notices`](crate::Tidewheel::notices) gives notices in order, without ever holding up the
//! work; they cost nothing until somebody listens. [`Tidewheel::stats`](crate::Tidewheel::stats) gives
//! the figures. Why one task waits is another question: [`crate::explain`].
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tidewheel::Tidewheel;
//!
//! let wheel = Tidewheel::builder().start();
//! wheel.submit_normal(async {}).await?;
//! let total = wheel.stats().total;
//! assert_eq!((total.submitted, total.completed), (1, 1));
//! assert!(total.run_time.quantile(0.99).is_some());
//! # Ok(())
//! # }
//! ```

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub use tidewheel_core::decision::Notice;
use tokio::sync::{broadcast, mpsc};

pub use tidewheel_core::decision::Fact;
pub use tidewheel_core::histogram::Histogram;
pub use tidewheel_core::statistics::{Overview, Statistics};
pub use tidewheel_core::{Preview, Prospect};

#[cfg(feature = "metrics")]
pub use crate::metrics::Metrics;

use crate::driver::{Shared, panic_text};
pub use crate::line::{InLine, Line, UnderWay};

/// Where notices go out to whoever listens.
pub(crate) struct Hub {
    capacity: usize,
    /// `None` once the wheel has ended.
    sender: Mutex<Option<broadcast::Sender<Notice>>>,
}

impl Hub {
    pub fn new(capacity: usize) -> Self {
        let (sender, _) = broadcast::channel(capacity);
        Self { capacity, sender: Mutex::new(Some(sender)) }
    }

    pub fn subscribe(&self, shared: &Arc<Shared>) -> NoticeStream {
        let hub = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = shared.lock();
        let Some(sender) = hub.as_ref().filter(|_| state.end.is_none()) else {
            let (_, receiver) = broadcast::channel(self.capacity);
            return NoticeStream { receiver };
        };
        let receiver = sender.subscribe();
        if state.notices.is_none() {
            let (notices, pumped) = mpsc::unbounded_channel();
            state.notices = Some(notices);
            state.engine.set_notices(true);
            drop(state);
            shared.runtime.spawn(pump(Arc::clone(shared), sender.clone(), pumped));
        }
        NoticeStream { receiver }
    }

    /// Nobody listens any more: notices are not made until somebody does again.
    fn fall_silent(&self, shared: &Shared, sender: &broadcast::Sender<Notice>) -> bool {
        let hub = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let is_silent = sender.receiver_count() == 0;
        if is_silent {
            let mut state = shared.lock();
            state.notices = None;
            state.engine.set_notices(false);
        }
        drop(hub);
        is_silent
    }

    fn close(&self) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(sender);
    }
}

/// Carries notices from the scheduler's lock, where they are in order, to the listeners, whose
/// wakers must not be called under it.
async fn pump(
    shared: Arc<Shared>,
    sender: broadcast::Sender<Notice>,
    mut pumped: mpsc::UnboundedReceiver<Notice>,
) {
    while let Some(notice) = pumped.recv().await {
        if sender.send(notice).is_err() && shared.hub.fall_silent(&shared, &sender) {
            return;
        }
    }
    shared.hub.close();
}

/// Notices in order; made by [`crate::Tidewheel::notices`].
///
/// It holds a bounded number of them. Who is too slow loses the oldest and is told how many.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::observe::Fact;
/// use tidewheel::Tidewheel;
///
/// let wheel = Tidewheel::builder().start();
/// let mut notices = wheel.notices();
/// wheel.submit_normal(async {}).await?;
/// while let Some(notice) = notices.recv().await {
///     if let Fact::AttemptStarted(task, 1) = notice?.fact {
///         assert_eq!(task.index, 0);
///         break;
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct NoticeStream {
    receiver: broadcast::Receiver<Notice>,
}

impl NoticeStream {
    /// The next notice; `None` when the wheel has ended.
    ///
    /// # Errors
    ///
    /// [`Lagged`] when notices were lost because this stream was not read fast enough. It goes on
    /// with the oldest that is left.
    pub async fn recv(&mut self) -> Option<Result<Notice, Lagged>> {
        match self.receiver.recv().await {
            Ok(notice) => Some(Ok(notice)),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(Err(Lagged(count))),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

impl fmt::Debug for NoticeStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoticeStream").field("waiting", &self.receiver.len()).finish()
    }
}

/// Somebody who observes a wheel; made by [`Tidewheel::observe`](crate::Tidewheel::observe). Dropping it
/// changes nothing.
#[derive(Debug, Clone)]
pub struct Observer(tokio::task::AbortHandle);

impl Observer {
    pub(crate) fn new(task: tokio::task::AbortHandle) -> Self {
        Self(task)
    }

    /// Ends it: the callback is called no more, but for notices it was given already.
    pub fn end(&self) {
        self.0.abort();
    }
}

/// So many notices were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} notices were lost because nobody read them in time")]
pub struct Lagged(pub u64);

/// So many notices an observer is given at a time.
const BATCH_MAX: usize = 256;

/// Calls `callback` with every notice, until it panics or the wheel ends.
pub(crate) async fn observe(mut stream: NoticeStream, callback: impl Fn(&Notice) + Send + 'static) {
    let mut callback = Some(callback);
    while let (Some(call), Some(received)) = (callback.take(), stream.recv().await) {
        // What was lost shows as a gap in the numbers.
        let Ok(first) = received else {
            callback = Some(call);
            continue;
        };
        // All that is there goes in one batch, on a thread that is made for blocking: a callback
        // that blocks one of the runtime's own would hold up what happens to be queued there.
        let mut batch = vec![first];
        while batch.len() < BATCH_MAX
            && let Ok(notice) = stream.receiver.try_recv()
        {
            batch.push(notice);
        }
        let called = tokio::task::spawn_blocking(move || {
            let all = std::panic::AssertUnwindSafe(|| batch.iter().for_each(&call));
            match std::panic::catch_unwind(all) {
                Ok(()) => Some(call),
                Err(payload) => {
                    panic_text(payload);
                    None
                }
            }
        });
        callback = called.await.unwrap_or(None);
    }
}
