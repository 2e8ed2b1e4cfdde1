//! What the tests of this crate share: a wheel on virtual time, a log, and gates.

pub mod disturbed;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tidewheel::clock::Clock;
use tidewheel::{Builder, Tidewheel};
use tidewheel_testing::bounded;
use tokio::sync::watch;

pub const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Settings for a wheel on virtual time.
pub fn builder() -> Builder {
    Tidewheel::builder().seed(1).clock(Clock::virtual_at("2026-03-01T00:00:00Z".parse().unwrap()))
}

/// Lets everything happen that can without time passing.
pub async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// Polls `condition` until it is true, with the caller's place in the message if it never is.
#[track_caller]
pub fn until(condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move { tidewheel_testing::until(&format!("the condition at {caller} holds"), condition).await }
}

/// What happened, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub fn add(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    pub fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// A gate that holds tasks until it is opened.
#[derive(Clone)]
pub struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub fn closed() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub fn opened() -> Self {
        Self(Arc::new(watch::Sender::new(true)))
    }

    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub fn close(&self) {
        self.0.send_replace(false);
    }

    pub fn pass(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut receiver = self.0.subscribe();
        async move {
            receiver.wait_for(|open| *open).await.unwrap();
        }
    }
}

/// Runs the test on a runtime with two threads, in real time.
pub fn on_threads(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(bounded("the test ends", test));
}
