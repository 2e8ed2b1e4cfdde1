//! Keeping time: one task a wheel that tells the scheduler when something is due.
//!
//! When that is, the scheduler says; timeouts of attempts are kept by their workers.

use std::sync::Arc;

use tidewheel_core::input::Event;
use tidewheel_core::time::Moment;

use super::shared::Shared;

/// Runs until the wheel has ended.
pub(super) async fn keep_time(shared: Arc<Shared>) {
    let mut timer = Timer { shared, is_done: false };
    let mut effects = Vec::new();
    loop {
        let now = timer.shared.clock.now_exactly();
        let mut state = timer.shared.lock();
        if state.end.is_some() {
            timer.is_done = true;
            return;
        }
        let wakeup = state.engine.scheduler().next_wakeup(now);
        let is_due = wakeup.is_some_and(|wakeup| wakeup <= now.monotonic);
        state.armed = if is_due { Moment::ZERO } else { wakeup.unwrap_or(Moment::MAX) };
        drop(state);
        if is_due {
            timer.shared.tell(now, Event::TimePassed, &mut effects);
            timer.shared.perform(&mut effects);
            // Whole crowds of timers may be due one after the other.
            tokio::task::yield_now().await;
            continue;
        }
        let signal = timer.shared.timer.notified();
        match wakeup {
            None => signal.await,
            Some(wakeup) => {
                let left = wakeup.since(now.monotonic);
                let left = timer.shared.clock.stretch_max().map_or(left, |most| left.min(most));
                // Either way it is time to look again.
                let _ = tokio::time::timeout(left, signal).await;
            }
        }
    }
}

struct Timer {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Drop for Timer {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.give_up();
        }
    }
}
