//! What the opening of a session waits for, told to whoever wants to know when it lasts.
//!
//! The waiting itself is in [`super::shard`] and in the wheel.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// How long it is waited in silence.
const SILENCE: Duration = Duration::from_secs(1);

/// What the opening of a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The processes that a dead holder has left behind are being ended.
    LeftBehind,
}

/// Where it is noted what is waited for.
#[derive(Debug, Clone)]
pub(super) struct Phase(watch::Sender<Option<Opening>>);

impl Phase {
    /// The phase, and whoever sees it.
    pub fn new() -> (Self, watch::Receiver<Option<Opening>>) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), receiver)
    }

    /// Something is waited for from now on.
    pub fn waits(&self, opening: Opening) {
        self.0.send_replace(Some(opening));
    }

    /// Nothing is, any more.
    pub fn goes_on(&self) {
        self.0.send_replace(None);
    }
}

/// Waits until something has been waited for so long that it should be told.
pub(super) async fn lasting(mut phase: watch::Receiver<Option<Opening>>) -> Opening {
    loop {
        let now = *phase.borrow_and_update();
        let changed = match now {
            Some(opening) => match timeout(SILENCE, phase.changed()).await {
                Ok(changed) => changed,
                Err(_) => return opening,
            },
            None => phase.changed().await,
        };
        if changed.is_err() {
            // It is open, or will never be.
            std::future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_what_is_waited_for_is_told_and_only_when_it_lasts() {
        let long = Duration::from_secs(3600);
        let (phase, seen) = Phase::new();
        let mut lasts = Box::pin(lasting(seen));
        // A slow disk is nobody's process.
        assert!(timeout(long, &mut lasts).await.is_err());
        phase.waits(Opening::LeftBehind);
        assert!(timeout(SILENCE / 2, &mut lasts).await.is_err());
        phase.goes_on();
        assert!(timeout(long, &mut lasts).await.is_err());
        phase.waits(Opening::LeftBehind);
        assert_eq!(timeout(SILENCE * 2, &mut lasts).await, Ok(Opening::LeftBehind));
    }
}
