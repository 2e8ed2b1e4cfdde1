//! Books: decisions on their way to a store that makes its callers wait.
//!
//! Inputs are stepped under the lock as they come; whatever has been decided by then is stored as
//! one batch, without the lock, while the next is being decided. Only then is anything done about
//! it. So a store is written once for many inputs, and nobody waits for it who need not.

use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tidewheel_core::decision::Outputs;
use tidewheel_core::input::Rejection;

use super::effect::{Effect, End};
use super::engine::{Batch, Engine};
use super::shared::Shared;
use super::state::{State, Wanted};
use crate::error::describe;
use crate::store::{Pace, Store, StoreError};

/// The wait after a batch was not stored; it doubles up to the longest.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);

pub(crate) struct Books {
    pub pace: Pace,
    /// Not here while somebody is writing.
    store: Option<Box<dyn Store>>,
    /// Offered to the store before, and not stored for certain.
    batch: Option<Batch>,
    /// The newest decision that is stored.
    stored: Option<u64>,
    /// Why the newest batch is not stored, and how long to wait before it is offered again.
    trouble: Option<(Arc<str>, Duration)>,
}

/// What came of a look at the books.
pub(super) enum Writing {
    /// Everything decided so far is stored, or somebody else is at it.
    Done,
    /// The store cannot be written; it should be tried again after this time.
    Trouble(Duration),
    /// The wheel has ended.
    Ended,
}

impl Books {
    /// Takes over the store of an engine, if it is one that makes its callers wait.
    pub fn of(engine: &mut Engine, pace: Pace) -> Option<Self> {
        (pace != Pace::Instant).then(|| Self {
            pace,
            store: Some(engine.take_store()),
            batch: None,
            stored: None,
            trouble: None,
        })
    }

    /// Why nothing can be accepted for now.
    pub fn refusal(&self) -> Option<Rejection> {
        self.trouble.as_ref().map(|(why, _)| Rejection::Unavailable(Arc::clone(why)))
    }

    fn has_stored(&self, number: u64) -> bool {
        self.stored.is_some_and(|stored| stored >= number)
    }
}

impl Shared {
    /// Something was decided: somebody should write it down.
    pub(super) fn decided(&self) {
        self.decided.notify_one();
    }

    /// Stores what has been decided and does what follows, unless somebody else is at it.
    pub(super) fn write(self: &Arc<Self>) -> Writing {
        let mut effects = Vec::new();
        let writing = self.write_into(&mut effects);
        self.perform(&mut effects);
        writing
    }

    fn write_into(self: &Arc<Self>, effects: &mut Vec<Effect>) -> Writing {
        let mut state = self.lock();
        let Some(mut store) = state.books.as_mut().and_then(|books| books.store.take()) else {
            return Writing::Done;
        };
        let writing = loop {
            if matches!(state.end, Some(End::Lost(_))) {
                break Writing::Ended;
            }
            let Some(mut batch) = state.next_batch() else {
                break if state.end.is_some() { Writing::Ended } else { Writing::Done };
            };
            drop(state);
            let number = batch.number();
            let result = batch.commit(&mut *store).map(std::mem::take);
            state = self.lock();
            match result {
                Ok(outputs) => state.note_stored(number, outputs, effects),
                Err(error) if error.is_transient() => {
                    break Writing::Trouble(state.note_trouble(batch, &error));
                }
                Err(error) => {
                    state.end = Some(End::Lost(Arc::from(describe(&error))));
                    state.end_everything(effects);
                    break Writing::Ended;
                }
            }
        };
        if let Some(books) = &mut state.books {
            books.store = Some(store);
        }
        drop(state);
        self.stored.notify_all();
        self.stored_notice.notify_waiters();
        writing
    }

    /// Waits until a decision is stored; writes it down itself if nobody else does.
    pub(super) fn wait_until_stored(self: &Arc<Self>, number: u64) -> Result<(), Rejection> {
        loop {
            match self.write() {
                Writing::Ended => {
                    return self.is_stored(number).unwrap_or(Err(Rejection::ShuttingDown));
                }
                // We do not wait until it can be written: whoever keeps the books tries again.
                Writing::Trouble(_) => self.decided(),
                Writing::Done => {}
            }
            let state = self.lock();
            let Some(books) = &state.books else { return Ok(()) };
            if books.has_stored(number) {
                return Ok(());
            }
            if let Some(refusal) = books.refusal() {
                return Err(refusal);
            }
            if books.store.is_none() {
                // Whoever is writing will say when it is done.
                let waited = self.stored.wait(state);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            }
        }
    }

    /// Waits until a decision is stored.
    pub async fn until_stored(&self, number: u64) -> Result<(), Rejection> {
        loop {
            let mut notice = pin!(self.stored_notice.notified());
            notice.as_mut().enable();
            if let Some(answer) = self.is_stored(number) {
                return answer;
            }
            notice.await;
        }
    }

    /// Whether a decision is stored, or why it is not and will perhaps never be.
    fn is_stored(&self, number: u64) -> Option<Result<(), Rejection>> {
        let state = self.lock();
        let Some(books) = &state.books else { return Some(Ok(())) };
        if books.has_stored(number) {
            return Some(Ok(()));
        }
        if let Some(refusal) = books.refusal() {
            return Some(Err(refusal));
        }
        state.end.is_some().then_some(Err(Rejection::ShuttingDown))
    }
}

impl State {
    /// Whether nothing is decided that is not stored.
    pub(super) fn has_stored_all(&self) -> bool {
        let Some(books) = &self.books else { return true };
        books.store.is_some() && books.batch.is_none() && !self.engine.has_open_decision()
    }

    fn next_batch(&mut self) -> Option<Batch> {
        let offered = self.books.as_mut().and_then(|books| books.batch.take());
        offered.or_else(|| self.engine.close())
    }

    fn note_stored(&mut self, number: u64, mut outputs: Outputs, effects: &mut Vec<Effect>) {
        if let Some(books) = &mut self.books {
            books.stored = Some(number);
            books.trouble = None;
        }
        self.take_over(&mut outputs);
        self.settle(Wanted::Nothing, effects);
    }

    /// The batch is offered again later; until then nothing new is accepted.
    fn note_trouble(&mut self, batch: Batch, error: &StoreError) -> Duration {
        let Some(books) = &mut self.books else { return PAUSE_MIN };
        let pause = match &books.trouble {
            Some((_, pause)) => (*pause * 2).min(PAUSE_MAX),
            None => PAUSE_MIN,
        };
        books.batch = Some(batch);
        books.trouble = Some((Arc::from(describe(error)), pause));
        pause
    }
}

/// Writes down what is decided until the wheel has ended.
pub(super) async fn keep_books(shared: Arc<Shared>, pace: Pace) {
    let mut keeper = Keeper { shared, is_done: false };
    let decided = Arc::clone(&keeper.shared.decided);
    loop {
        decided.notified().await;
        if pace == Pace::Brief {
            // Whatever else is about to end now goes into the same batch.
            tokio::task::yield_now().await;
        }
        loop {
            match keeper.shared.write() {
                Writing::Done => break,
                Writing::Trouble(pause) => tokio::time::sleep(pause).await,
                Writing::Ended => {
                    keeper.is_done = true;
                    return;
                }
            }
        }
    }
}

struct Keeper {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.give_up();
        }
    }
}
