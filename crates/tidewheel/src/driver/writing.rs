//! Carrying out the errands of [`Books`]: storing batches without the lock, taking the tenure again,
//! and waiting for either.
//!
//! What is to be done next, and what follows from an error, is decided in `books`; what becomes of
//! those who wait when memory was lost is in `recovery`.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::Tenure;
use tidewheel_core::id::AttemptId;
use tidewheel_core::input::Rejection;
use tidewheel_core::row::Snapshot;

use super::books::{Books, Errand, Fate, PAUSE_MIN, TAKES_IN, Ticket, Verdict};
use super::effect::{Effect, End};
use super::engine::{Batch, Engine};
use super::report::Wanted;
use super::shared::Shared;
use super::state::State;
use super::turnstile::Guard;
use crate::error::BoxError;
use crate::store::{Pace, Store, StoreError};

/// So often a store that answers at once is asked again at once.
const INSTANT_TRIES_MAX: u32 = 5;

/// Ends what is left of attempts of an owner that died.
pub(crate) type Reclaim = Box<dyn FnMut(&[AttemptId]) -> Result<(), BoxError> + Send>;

/// The right to write: whoever carries out an errand has it.
pub(super) struct Writer {
    store: Box<dyn Store>,
    reclaim: Option<Reclaim>,
}

impl Writer {
    /// Takes over the store of an engine.
    pub fn of(engine: &mut Engine, reclaim: Option<Reclaim>) -> Self {
        Self { store: engine.take_store(), reclaim }
    }

    /// Takes the tenure again; what is left of attempts that are not ours is ended first.
    fn retake(&mut self, ours: &BTreeSet<AttemptId>) -> Result<(Tenure, Snapshot), StoreError> {
        let (tenure, snapshot) = self.store.retake_tenure()?;
        if let Some(reclaim) = &mut self.reclaim {
            let mut theirs = snapshot.under_way();
            theirs.retain(|attempt| !ours.contains(attempt));
            if !theirs.is_empty() {
                reclaim(&theirs).map_err(|source| StoreError::Unavailable { source })?;
            }
        }
        Ok((tenure, snapshot))
    }
}

/// Whether whoever writes may wait for others who have the store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Its thread has nothing else to do.
    Waits,
    /// It is one of the runtime.
    Leaves,
}

/// What came of a look at the books.
pub(super) enum Writing {
    /// Everything decided so far is stored, or somebody else is at it.
    Done,
    /// There is something to wait for, which whoever looked may not do.
    Left,
    /// The store is in trouble; it should be tried again after this time.
    Trouble(Duration),
    /// The wheel has ended.
    Ended,
}

impl Shared {
    /// Something was decided: somebody should write it down.
    pub(super) fn decided(self: &Arc<Self>) {
        if self.pace == Pace::Instant {
            self.write_now();
        } else {
            self.decided.notify_one();
        }
    }

    /// Writes on the spot; if that does not work now, whoever keeps the books tries again.
    fn write_now(self: &Arc<Self>) {
        if let Writing::Trouble(_) = self.write(Patience::Waits) {
            self.decided.notify_one();
        }
    }

    /// Stores what has been decided and does what follows, unless somebody else is at it.
    pub(super) fn write(self: &Arc<Self>, patience: Patience) -> Writing {
        let mut effects = Vec::new();
        let writing = self.write_into(patience, &mut effects);
        self.perform(&mut effects);
        writing
    }

    fn write_into(self: &Arc<Self>, patience: Patience, effects: &mut Vec<Effect>) -> Writing {
        let _at_work = AtWork(self);
        let mut state = self.turnstile.lock();
        let Some(mut writer) = state.writer.take() else { return Writing::Done };
        writer.store.be_patient(patience == Patience::Waits);
        let writing = loop {
            if matches!(state.end, Some(End::Lost(_))) {
                break Writing::Ended;
            }
            let verdict;
            (state, verdict) = match state.next_errand() {
                Errand::Nothing if state.end.is_some() => break Writing::Ended,
                Errand::Nothing => break Writing::Done,
                Errand::Store(batch) => self.store(state, &mut writer, batch, effects),
                // Much is read, and perhaps something of before is ended first.
                Errand::Restore if patience == Patience::Leaves => break Writing::Left,
                Errand::Restore => self.restore(state, &mut writer, effects),
            };
            match verdict {
                None | Some(Verdict::StepDown) => {}
                Some(Verdict::Again(pause)) => {
                    let tries = state.books.as_ref().map_or(0, Books::tries);
                    if self.pace != Pace::Instant || tries >= INSTANT_TRIES_MAX {
                        break Writing::Trouble(pause);
                    }
                }
                Some(Verdict::Patiently) if patience == Patience::Leaves => break Writing::Left,
                Some(Verdict::Patiently) => break Writing::Trouble(PAUSE_MIN),
                Some(Verdict::Leave | Verdict::End) => break Writing::Ended,
            }
        };
        // When all is over the store is given back, whoever still has a handle: others may want it.
        let over = match writing {
            Writing::Ended => Some(writer),
            Writing::Done | Writing::Left | Writing::Trouble(_) => {
                state.writer = Some(writer);
                None
            }
        };
        drop(state);
        drop(over);
        self.tell_waiting();
        writing
    }

    /// Offers a batch to the store, without the lock.
    fn store<'a>(
        self: &'a Arc<Self>,
        mut state: Guard<'a, State>,
        writer: &mut Writer,
        mut batch: Batch,
        effects: &mut Vec<Effect>,
    ) -> (Guard<'a, State>, Option<Verdict>) {
        state.asked = Some(self.clock.now().monotonic);
        drop(state);
        let number = batch.number();
        let result = batch.commit(&mut *writer.store).map(std::mem::take);
        let mut state = self.turnstile.lock();
        state.asked = None;
        let State { books: Some(books), engine, .. } = &mut *state else { return (state, None) };
        let verdict = match result {
            Ok(mut outputs) => {
                books.stored(number, &outputs);
                state.take_over(&mut outputs);
                state.settle(Wanted::Nothing, effects);
                None
            }
            Err(error) => {
                let verdict = books.not_stored(engine, batch, &error);
                match verdict {
                    Verdict::StepDown => state.note_step_down(self.clock.now()),
                    Verdict::End => state.fail(&error, effects),
                    Verdict::Again(_) | Verdict::Patiently | Verdict::Leave => {}
                }
                Some(verdict)
            }
        };
        (state, verdict)
    }

    /// Takes the tenure again, without the lock, and restores what is stored.
    fn restore<'a>(
        self: &'a Arc<Self>,
        state: Guard<'a, State>,
        writer: &mut Writer,
        effects: &mut Vec<Effect>,
    ) -> (Guard<'a, State>, Option<Verdict>) {
        let alive = state.books.as_ref().map(Books::alive).unwrap_or_default();
        drop(state);
        let taken = writer.retake(&alive);
        let now = self.clock.now_exactly();
        let mut state = self.turnstile.lock();
        let error = match taken {
            Ok((tenure, snapshot)) => {
                state.restore(self, tenure, snapshot, now, effects);
                return (state, None);
            }
            Err(error) => error,
        };
        if matches!(error, StoreError::Held { .. }) {
            state.forsake(effects);
        }
        let verdict = state.books.as_mut().map(|books| books.not_taken(&error));
        match verdict {
            Some(Verdict::Leave) => state.leave(effects),
            Some(Verdict::End) => state.fail(&error, effects),
            Some(Verdict::Again(_) | Verdict::Patiently | Verdict::StepDown) | None => {}
        }
        (state, verdict)
    }

    /// Tells whoever waits for something to be stored that they should look again.
    pub(super) fn tell_waiting(&self) {
        self.turnstile.tell_written();
        self.stored_notice.notify_waiters();
    }

    /// Waits until a decision is stored; writes it down itself if nobody else does.
    pub(super) fn wait_until_stored(self: &Arc<Self>, ticket: Ticket) -> Result<(), Rejection> {
        loop {
            // We do not wait until it can be written: whoever keeps the books tries again.
            if let Writing::Trouble(_) = self.write(Patience::Waits) {
                self.decided.notify_one();
            }
            let state = self.turnstile.lock();
            if let Some(answer) = state.is_stored(ticket) {
                return answer;
            }
            if state.writer.is_none() {
                // Whoever is writing will say when it is done.
                drop(self.turnstile.until_written(state));
            }
        }
    }

    /// Waits until a decision is stored.
    pub async fn until_stored(&self, ticket: Ticket) -> Result<(), Rejection> {
        loop {
            let mut notice = pin!(self.stored_notice.notified());
            notice.as_mut().enable();
            let answer = self.lock().is_stored(ticket);
            if let Some(answer) = answer {
                return answer;
            }
            notice.await;
        }
    }

    /// Waits until everything that was decided so far is stored.
    pub async fn all_stored(&self) -> Result<(), Rejection> {
        let newest = {
            let state = self.lock();
            match &state.books {
                Some(books) if !state.has_stored_all() => books.newest(&state.engine),
                _ => return Ok(()),
            }
        };
        self.until_stored(newest).await
    }
}

impl Shared {
    /// Takes in what somebody else has put into the store: memory is restored from it, and what runs goes on.
    pub async fn take_in(self: &Arc<Self>) -> Result<(), Rejection> {
        self.take_in_soon();
        loop {
            let mut notice = pin!(self.stored_notice.notified());
            notice.as_mut().enable();
            {
                let state = self.lock();
                if state.end.is_some() {
                    return Err(Rejection::ShuttingDown);
                }
                if !state.books.as_ref().is_some_and(Books::is_taking_in) {
                    return Ok(());
                }
            }
            notice.await;
        }
    }

    /// The same, without waiting for it. Gives what to tell those who ask meanwhile.
    pub fn take_in_soon(self: &Arc<Self>) -> Rejection {
        if let State { books: Some(books), engine, .. } = &mut *self.lock() {
            books.take_in(engine);
        }
        self.decided();
        Rejection::Unavailable(Arc::from(TAKES_IN))
    }
}

/// Tells everybody when a store panics: the right to write is gone with it.
struct AtWork<'a>(&'a Arc<Shared>);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up("the store panicked");
        }
    }
}

impl State {
    fn next_errand(&mut self) -> Errand {
        let engine = &mut self.engine;
        self.books.as_mut().map_or(Errand::Nothing, |books| books.next(engine))
    }

    /// Whether nothing is decided that is not stored.
    pub(super) fn has_stored_all(&self) -> bool {
        let Some(books) = &self.books else { return true };
        self.writer.is_some() && books.has_stored_all(&self.engine)
    }

    /// Whether a decision is stored, or why it is not and will perhaps never be.
    fn is_stored(&self, ticket: Ticket) -> Option<Result<(), Rejection>> {
        let Some(books) = &self.books else { return Some(Ok(())) };
        match books.fate(ticket) {
            Fate::Stored => Some(Ok(())),
            Fate::Pending if self.end.is_none() => None,
            Fate::Unavailable(why) if self.end.is_none() => Some(Err(Rejection::Unavailable(why))),
            Fate::Pending | Fate::Unavailable(_) => Some(Err(match &self.end {
                // Nobody asked it to end, so whoever waits is told why it did.
                Some(End::Lost(why)) => Rejection::Unavailable(Arc::clone(why)),
                _ => Rejection::ShuttingDown,
            })),
        }
    }
}

/// Writes down what is decided until the wheel has ended.
pub(super) async fn keep_books(shared: Arc<Shared>) {
    let mut keeper = Keeper { shared, is_done: false };
    let decided = Arc::clone(&keeper.shared.decided);
    loop {
        decided.notified().await;
        if keeper.shared.pace == Pace::Brief {
            // Whatever else is about to end now goes into the same batch.
            tokio::task::yield_now().await;
        }
        loop {
            match keeper.write().await {
                Writing::Done => break,
                // The runtime has ended.
                Writing::Left => return,
                Writing::Trouble(pause) => {
                    // As a task, which is given up when the runtime ends; a thread of our own that
                    // asked its clock then would panic.
                    let waiting = keeper.shared.runtime.spawn(tokio::time::sleep(pause));
                    if waiting.await.is_err() {
                        return;
                    }
                }
                Writing::Ended => {
                    keeper.is_done = true;
                    return;
                }
            }
        }
    }
}

/// Tells everybody when the one who keeps the books is gone before the wheel has ended.
struct Keeper {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Keeper {
    /// Writes here what takes no time; what has to wait for others is done by a thread that may.
    async fn write(&self) -> Writing {
        if self.shared.pace != Pace::Brief {
            return self.shared.write(Patience::Waits);
        }
        match self.shared.write(Patience::Leaves) {
            Writing::Left => {
                let shared = Arc::clone(&self.shared);
                let waiting = move || shared.write(Patience::Waits);
                self.shared.runtime.spawn_blocking(waiting).await.unwrap_or(Writing::Left)
            }
            writing => writing,
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if !self.is_done {
            self.shared.give_up("the runtime ended");
        }
    }
}
