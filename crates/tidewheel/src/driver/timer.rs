//! Keeping time: one task a wheel that tells the scheduler when something is due.
//!
//! When that is, the scheduler says; timeouts of attempts are kept by their workers.

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::input::Event;
use tidewheel_core::time::Moment;

use super::effect::{Effect, End};
use super::shared::Shared;

/// Runs until the wheel has ended.
pub(super) fn keep_time(shared: Arc<Shared>) -> impl Future<Output = ()> + Send + 'static {
    let jumps = shared.clock.jumps();
    let mut timer = Timer { shared, effects: Vec::new(), jumps, is_wanted: false, is_done: false };
    // The timer exists before its first poll, so that dropping it unpolled is noticed too.
    async move {
        loop {
            match timer.look() {
                // Whole crowds of timers may be due one after the other.
                Look::Due => tokio::task::yield_now().await,
                Look::Nothing => timer.shared.timer.notified().await,
                Look::In(left) => {
                    let stretch =
                        timer.shared.clock.stretch_max().map_or(left, |most| left.min(most));
                    let signal = timer.shared.timer.notified();
                    // Either way it is time to look again. After a long stretch the scheduler looks
                    // too: the wall clock may have been set, or the machine have slept.
                    let is_told = tokio::time::timeout(stretch, signal).await.is_ok();
                    timer.is_wanted = !is_told && stretch < left;
                }
                Look::Ended => return,
            }
        }
    }
}

/// How often spare work is looked after.
const WATCH_PERIOD: Duration = Duration::from_millis(1);

/// Sees to it that spare work is not forgotten when the worker that was to take it is held up.
pub(super) async fn watch_spare(shared: Arc<Shared>) {
    let mut watch = shared.turnstile.watch();
    loop {
        tokio::time::sleep(WATCH_PERIOD).await;
        if !shared.look_after_spare(&mut watch) {
            return;
        }
    }
}

struct Timer {
    shared: Arc<Shared>,
    effects: Vec<Effect>,
    /// How often the wall clock was moved by hand when last looked at.
    jumps: u64,
    /// The scheduler should look at the time although nothing is known to be due.
    is_wanted: bool,
    is_done: bool,
}

/// What a look at the clock came to.
enum Look {
    /// Something was due and is dealt with.
    Due,
    /// Something will be due.
    In(Duration),
    Nothing,
    Ended,
}

impl Timer {
    fn look(&mut self) -> Look {
        let now = self.shared.clock.now_exactly();
        let mut state = self.shared.lock();
        if let Some(end) = &state.end {
            // Whatever was lost, those who wait for it are told.
            self.is_done = !matches!(end, End::Lost(_));
            return Look::Ended;
        }
        let wakeup = state.next_wakeup().unwrap_or(Moment::MAX);
        let jumps = std::mem::replace(&mut self.jumps, self.shared.clock.jumps());
        // The scheduler may move its wish into the future again and again; what was once asked for
        // counts.
        let is_due = state.armed.min(wakeup) <= now.monotonic
            || jumps != self.jumps
            || std::mem::take(&mut self.is_wanted);
        state.armed = if is_due { Moment::MAX } else { wakeup };
        drop(state);
        if is_due {
            self.shared.tell(now, Event::TimePassed, &mut self.effects);
            self.shared.perform(&mut self.effects);
            return Look::Due;
        }
        match wakeup {
            Moment::MAX => Look::Nothing,
            wakeup => Look::In(wakeup.since(now.monotonic)),
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.give_up("the runtime ended");
        }
    }
}
