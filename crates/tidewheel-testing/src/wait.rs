//! [`wait_until`] and [`until`]: the one place where a test polls.
//!
//! Waiting for a specific change (a channel, a file descriptor, a frame of a screen) is better where it is possible.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

/// Returns the timeout of [`wait_until`]. Only a hang reaches it, even on a busy machine.
///
/// `TIDEWHEEL_TEST_PATIENCE` sets another number of seconds, for a machine that is slower still.
pub fn patience() -> Duration {
    let seconds = env::var("TIDEWHEEL_TEST_PATIENCE").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(120))
}

/// Polls `condition` until it is true.
///
/// # Panics
///
/// Fails the test with `expected` if the condition is still false after [`patience`].
#[track_caller]
pub fn wait_until(expected: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < patience(), "timed out waiting until {expected}");
        // sleeps: between two polls
        thread::sleep(Duration::from_millis(5));
    }
}

/// Polls `condition` until it is true, without blocking the thread: [`wait_until`] for futures.
///
/// # Panics
///
/// Fails the test with `expected` if the condition is still false after [`patience`].
pub async fn until(expected: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < patience(), "timed out waiting until {expected}");
        // sleeps: between two polls
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Awaits a future that ends unless there is a bug, so that the test fails instead of hanging.
///
/// Not for runtimes with paused time: there the time passes at once.
///
/// # Panics
///
/// Fails the test with `expected` if the future has not ended after [`patience`].
pub async fn bounded<T>(expected: &str, future: impl IntoFuture<Output = T>) -> T {
    let ended = tokio::time::timeout(patience(), future.into_future()).await;
    ended.unwrap_or_else(|_| panic!("timed out waiting until {expected}"))
}
