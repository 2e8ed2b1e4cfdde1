//! A panic under the lock, which only a bug of ours can cause, tells everybody and hangs nobody.
//!
//! The ways through the lock are tested with the turnstile; here whole wheels are broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidewheel_core::decision::{ChangeSet, CommitProof, Tenure};
use tidewheel_core::row::Snapshot;
use tidewheel_testing::bounded;

use crate::store::{AttemptRecord, Memory, Pace, Store, StoreError};
use crate::{Shutdown, Tidewheel};

/// Panics with the lock in hand, as a broken invariant would.
fn break_under_lock(wheel: &Tidewheel) {
    let shared = Arc::clone(wheel.shared());
    let broken = std::thread::spawn(move || {
        let _state = shared.lock();
        panic!("a broken invariant, for the test");
    });
    assert!(broken.join().is_err());
}

async fn everybody_is_told(wheel: Tidewheel) {
    let waiting: Vec<_> =
        (0..20).map(|_| wheel.submit_normal(std::future::pending::<()>())).collect();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let running = wheel.submit_normal(async {
        let _ = ended.await;
    });
    let run = wheel.run(crate::Graph::numbered(3, []).unwrap(), |_| std::future::pending::<()>());
    let run = run.start().unwrap();
    tokio::task::yield_now().await;
    break_under_lock(&wheel);
    // What ends now finds it broken.
    drop(end);
    for waiter in waiting.into_iter().chain([running]) {
        let told = bounded("it is told", waiter).await;
        let text = told.unwrap_err().to_string();
        assert!(text.contains("the scheduler broke an invariant"), "{text}");
    }
    assert!(bounded("it is told", run).await.is_err());
    // Nobody who asks afterwards hangs either.
    let _ = wheel.stats();
    assert!(wheel.submit_normal(async {}).await.is_err());
    bounded("the wheel is shut down", wheel.shutdown(Shutdown::drain())).await;
}

#[tokio::test]
async fn a_panic_under_the_lock_tells_everybody_on_one_thread() {
    everybody_is_told(Tidewheel::builder().slots(4).start()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_panic_under_the_lock_tells_everybody_on_many_threads() {
    everybody_is_told(Tidewheel::builder().slots(4).start()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_under_the_lock_tells_everybody_where_decisions_are_kept() {
    let wheel = Tidewheel::builder().slots(4).store(Memory::new()).try_start().unwrap();
    everybody_is_told(wheel).await;
}

/// Workers that report while the lock is broken under them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_in_full_flight_see_that_it_is_broken() {
    let wheel = Tidewheel::builder().slots(4).start();
    let run = wheel.run(crate::Graph::numbered(1_000_000, []).unwrap(), |_| async {});
    let run = run.start().unwrap();
    break_under_lock(&wheel);
    assert!(bounded("it is told", run).await.is_err());
}

/// A store that panics when told to.
struct Panicking {
    memory: Memory,
    is_cursed: Arc<AtomicBool>,
    pace: Pace,
}

impl Store for Panicking {
    fn take_tenure(&mut self) -> Result<(Tenure, Snapshot), StoreError> {
        self.memory.take_tenure()
    }

    fn commit<'c>(
        &mut self,
        tenure: Tenure,
        changes: ChangeSet<'c>,
        records: &[Arc<AttemptRecord>],
    ) -> Result<CommitProof<'c>, StoreError> {
        assert!(!self.is_cursed.load(Ordering::SeqCst), "a bug in a store, for the test");
        self.memory.commit(tenure, changes, records)
    }

    fn pace(&self) -> Pace {
        self.pace
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_panics_hangs_nobody() {
    for pace in [Pace::Instant, Pace::Brief, Pace::Slow] {
        let is_cursed = Arc::new(AtomicBool::new(false));
        let store = Panicking { memory: Memory::new(), is_cursed: is_cursed.clone(), pace };
        let wheel = Tidewheel::builder().slots(1).store(store).try_start().unwrap();
        let first = wheel.submit_normal(std::future::pending::<()>());
        first.accepted().await.unwrap();
        is_cursed.store(true, Ordering::SeqCst);
        let asking: Vec<_> = (0..4)
            .map(|_| {
                let wheel = wheel.clone();
                std::thread::spawn(move || wheel.pause())
            })
            .collect();
        let told = bounded("it is told", first).await;
        assert!(told.is_err());
        for asking in asking {
            // Whoever had the store do it has the panic; nobody waits for ever.
            let _ = tokio::task::spawn_blocking(move || asking.join()).await.unwrap();
        }
    }
}
