//! [`Turnstile`]: who gets what lies behind the lock, what the others leave for whoever has it, and how
//! nobody's is forgotten.
//!
//! What lies behind it, and what is said to it, is not known here; nor are threads, runtimes and clocks.
//! Everything shared between threads comes from [`super::sync`], so that tests can drive this file through
//! thousands of schedules (`turnstile` of the simulator's tests).
//!
//! # Leaving a report
//!
//! Two threads that both want the lock after every short task would pass the whole scheduler from
//! one core's cache to the other's each time. So a worker that finds the lock taken leaves its
//! report, and the holder takes it in along with its own; only the small answer travels. A
//! worker that finds it taken again and again by another one leaves: then tasks are so short that
//! one worker alone is faster, and what it would have gone on with is *spare* for the other. A watch sees to
//! it that neither its last report nor spare work is forgotten should that other be held up.
//!
//! # When it is not used
//!
//! A worker that finds the lock free ([`Passed::Alone`]) has nothing to do with any of that, but for one look
//! at whether a report was left meanwhile. Where decisions are kept, what comes next is known only once they are
//! stored: there nobody leaves a report, everybody takes the lock ([`Turnstile::lock`]), and only the end of
//! writing is waited for here ([`Turnstile::until_written`]).
//!
//! # A panic under the lock
//!
//! It is a bug of ours, and nothing behind the lock can be trusted any more. It [breaks](Behind::break_off), once,
//! before anybody else sees it; whoever waits goes on, and finds it broken.

use std::ops::{Deref, DerefMut};

use super::sync::{
    Arc, AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, PoisonError, TryLockError,
    panicking, spin_loop,
};

/// How often a worker looks for its answer before it waits for the lock.
const SPINS_MAX: u32 = 2_000;
/// What finding the lock taken counts against finding it free, which counts one.
const DEFEAT: u32 = 3;
/// A worker that is so much the loser leaves.
const DEFEATS_MAX: u32 = 12;
/// A task that takes no longer costs less than bringing it to another thread.
const SHORT_NANOS: u64 = 1_500;

/// What lies behind the lock.
pub(super) trait Behind: Sized {
    /// What a worker has to say.
    type Word<'a>;
    /// The same, left for whoever has the lock.
    type Report: for<'a> From<Self::Word<'a>>;
    /// What a worker goes on with.
    type Next;
    /// What is to be done once the lock is released.
    type Effects;

    /// So many looks without spare work end the watch.
    const WATCH_IDLE_MAX: u32;

    /// Hears what a worker says, and gives what it goes on with.
    fn hear(&mut self, word: Self::Word<'_>, effects: &mut Self::Effects) -> Option<Self::Next>;
    /// Takes in a report, and gives what its worker goes on with.
    fn take_in(&mut self, report: Self::Report, effects: &mut Self::Effects) -> Option<Self::Next>;
    /// Takes in the last report of a worker that has left: what it would have gone on with is spare.
    fn take_in_last(&mut self, report: Self::Report, effects: &mut Self::Effects);
    /// Whether there is spare work.
    fn has_spare(&self) -> bool;
    /// How often somebody came for spare work.
    fn exchanges(&self) -> u64;
    /// Gives all spare work workers of its own.
    fn launch_spare(&mut self, effects: &mut Self::Effects);
    /// Whether nothing is done any more.
    fn has_ended(&self) -> bool;
    /// A holder panicked: nothing can be trusted any more. Called once, under the lock; must not
    /// panic.
    fn break_off(&mut self);
}

/// The one way to what lies behind a lock.
pub(super) struct Turnstile<B: Behind> {
    inside: Mutex<Inside<B>>,
    post: Post<B>,
    /// Tells whoever waits that something was written, or that nothing will be.
    written: Condvar,
    is_broken: AtomicBool,
    /// The lock is held by a worker, which will be back soon.
    is_driven: AtomicBool,
    has_spare: AtomicBool,
    is_watched: AtomicBool,
    /// Workers that come back for whatever there is, and whether the last one was back soon.
    regulars: AtomicUsize,
    is_brisk: AtomicBool,
}

struct Inside<B: Behind> {
    behind: B,
    /// Reports being taken in; kept for its buffer.
    reports: Vec<Left<B>>,
}

/// The lock, held.
pub(super) struct Guard<'a, B: Behind> {
    // Released first, so that the bell finds what a panic has left.
    inside: MutexGuard<'a, Inside<B>>,
    bell: Bell<'a, B>,
}

impl<B: Behind> Deref for Guard<'_, B> {
    type Target = B;

    fn deref(&self) -> &B {
        &self.inside.behind
    }
}

impl<B: Behind> DerefMut for Guard<'_, B> {
    fn deref_mut(&mut self) -> &mut B {
        &mut self.inside.behind
    }
}

/// Breaks what lies behind the lock off when its holder panics.
struct Bell<'a, B: Behind>(&'a Turnstile<B>);

impl<B: Behind> Drop for Bell<'_, B> {
    #[inline]
    fn drop(&mut self) {
        if panicking() {
            self.0.ring();
        }
    }
}

/// How a worker got rid of what it had to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// The lock was free.
    Alone,
    /// Whoever had the lock took it in.
    Answered,
    /// It is left, and so has the worker.
    Left,
    /// Somebody's panic broke everything off.
    Broken,
}

/// What the last look at spare work showed.
pub(super) struct Watch {
    idle: u32,
    exchanges: u64,
}

impl<B: Behind> Turnstile<B> {
    pub fn new(behind: B) -> Self {
        Self {
            inside: Mutex::new(Inside { behind, reports: Vec::new() }),
            post: Post::new(),
            written: Condvar::new(),
            is_broken: AtomicBool::new(false),
            is_driven: AtomicBool::new(false),
            has_spare: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
            regulars: AtomicUsize::new(0),
            is_brisk: AtomicBool::new(false),
        }
    }

    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> Guard<'_, B> {
        let inside = match self.inside.lock() {
            Ok(inside) => inside,
            Err(poisoned) => self.find_broken(poisoned),
        };
        Guard { inside, bell: Bell(self) }
    }

    /// The lock, if nobody has it.
    #[inline]
    fn try_lock(&self) -> Option<Guard<'_, B>> {
        let inside = match self.inside.try_lock() {
            Ok(inside) => inside,
            Err(TryLockError::WouldBlock) => return None,
            Err(TryLockError::Poisoned(poisoned)) => self.find_broken(poisoned),
        };
        Some(Guard { inside, bell: Bell(self) })
    }

    /// Says something, and gives what the worker goes on with: by itself if the lock is free, else
    /// through whoever has it. The rival knows [which](Rival::passed): wrapped around what the worker goes on
    /// with, it would have that copied once more for every task.
    #[inline]
    pub fn pass(
        &self,
        rival: &mut Rival<B>,
        word: B::Word<'_>,
        effects: &mut B::Effects,
    ) -> Option<B::Next> {
        let is_short = rival.pace <= SHORT_NANOS;
        rival.passed = Passed::Alone;
        if let Some(mut guard) = self.try_lock() {
            rival.defeats = rival.defeats.saturating_sub(1);
            self.is_driven.store(true, Ordering::Relaxed);
            let next = guard.hear(word, effects);
            self.take_in(&mut guard, effects);
            if !is_short {
                // Not so short after all: other threads are of use.
                self.launch(&mut guard, effects);
            }
            self.is_driven.store(false, Ordering::Relaxed);
            if rival.is_regular {
                self.is_brisk.store(is_short, Ordering::Relaxed);
                self.regulars.fetch_sub(usize::from(next.is_none()), Ordering::Relaxed);
            }
            return next;
        }
        self.pass_taken(rival, is_short, word, effects)
    }

    /// The same where somebody has the lock.
    #[cold]
    fn pass_taken(
        &self,
        rival: &mut Rival<B>,
        is_short: bool,
        word: B::Word<'_>,
        effects: &mut B::Effects,
    ) -> Option<B::Next> {
        rival.defeats += DEFEAT;
        if rival.defeats >= DEFEATS_MAX && is_short && self.is_driven.load(Ordering::Relaxed) {
            rival.go(self);
            self.post.leave(Left { report: word.into(), answer: None });
            rival.passed = Passed::Left;
            return None;
        }
        self.post.leave(Left { report: word.into(), answer: Some(Arc::clone(&rival.answer)) });
        let answer = self.until_answered(rival, effects);
        rival.passed = if answer.is_some() { Passed::Answered } else { Passed::Broken };
        let next = answer.flatten();
        if next.is_none() {
            rival.go(self);
        }
        next
    }

    /// The answer to what was left; `None` if it was lost.
    fn until_answered(
        &self,
        rival: &Rival<B>,
        effects: &mut B::Effects,
    ) -> Option<Option<B::Next>> {
        for _ in 0..SPINS_MAX {
            if let Some(next) = rival.answer.take() {
                return Some(next);
            }
            // The holder may have looked at the post just before the report was left.
            match self.try_lock() {
                Some(mut guard) => return self.serve(&mut guard, rival, effects),
                None => spin_loop(),
            }
        }
        self.serve(&mut self.lock(), rival, effects)
    }

    /// With the lock in hand the report is taken in: by whoever had it before, or now.
    fn serve(
        &self,
        guard: &mut Guard<'_, B>,
        rival: &Rival<B>,
        effects: &mut B::Effects,
    ) -> Option<Option<B::Next>> {
        self.take_in(guard, effects);
        // Lost only with a holder that panicked over it.
        rival.answer.take()
    }

    /// Takes in what was left while the lock was held. To be called by whoever has changed something.
    #[inline]
    pub fn take_in(&self, guard: &mut Guard<'_, B>, effects: &mut B::Effects) {
        while !self.post.is_empty() {
            self.take_in_reports(guard, effects);
        }
        self.has_spare.store(guard.has_spare(), Ordering::Relaxed);
    }

    fn take_in_reports(&self, guard: &mut Guard<'_, B>, effects: &mut B::Effects) {
        let Inside { behind, reports } = &mut *guard.inside;
        self.post.collect(reports);
        for Left { report, answer } in reports.drain(..) {
            match answer {
                Some(answer) => answer.give(behind.take_in(report, effects)),
                None => behind.take_in_last(report, effects),
            }
        }
    }

    /// A worker that takes whatever there is begins, or comes back from waiting for something.
    pub fn add_regular(&self) {
        self.regulars.fetch_add(1, Ordering::Relaxed);
    }

    /// Such a worker has ended, or waits for something.
    pub fn remove_regular(&self) {
        self.regulars.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether a worker will be back for spare work sooner than another one could be called.
    pub fn is_brisk(&self) -> bool {
        self.is_brisk.load(Ordering::Relaxed) && self.regulars.load(Ordering::Relaxed) > 0
    }

    /// Gives spare work workers of its own, because the one that was to come for it must wait.
    /// Whether there was any.
    pub fn launch_spare(&self, effects: &mut B::Effects) -> bool {
        if !self.has_spare.load(Ordering::Relaxed) {
            return false;
        }
        self.launch(&mut self.lock(), effects);
        true
    }

    fn launch(&self, guard: &mut Guard<'_, B>, effects: &mut B::Effects) {
        guard.launch_spare(effects);
        self.has_spare.store(false, Ordering::Relaxed);
    }

    /// After something was left or put aside, without the lock: whether the caller must see to it that
    /// somebody watches.
    #[must_use]
    pub fn wants_watch(&self) -> bool {
        !self.is_watched.swap(true, Ordering::SeqCst)
    }

    /// Begins to watch.
    pub fn watch(&self) -> Watch {
        Watch { idle: 0, exchanges: self.lock().exchanges() }
    }

    /// Looks after reports and spare work that nobody has come for since the last look. Whether to go
    /// on.
    pub fn look_after(&self, watch: &mut Watch, effects: &mut B::Effects) -> bool {
        let mut guard = self.lock();
        watch.idle = if guard.has_spare() { 0 } else { watch.idle + 1 };
        self.take_in(&mut guard, effects);
        // As long as somebody comes for it again and again, it is in good hands.
        let seen = std::mem::replace(&mut watch.exchanges, guard.exchanges());
        if seen == watch.exchanges {
            self.launch(&mut guard, effects);
        }
        let goes_on = watch.idle < B::WATCH_IDLE_MAX && !guard.has_ended();
        if !goes_on {
            // A swap, so that either this sees the report or its worker sees that nobody watches.
            self.is_watched.swap(false, Ordering::SeqCst);
            // A report left since, before its worker saw that nobody watches any more.
            self.take_in(&mut guard, effects);
            self.launch(&mut guard, effects);
        }
        goes_on
    }

    /// Waits until whoever writes has said that it is done. Nothing it says is missed: it puts down the
    /// right to write under the lock.
    pub fn until_written<'a>(&'a self, guard: Guard<'a, B>) -> Guard<'a, B> {
        let Guard { inside, bell } = guard;
        let inside = match self.written.wait(inside) {
            Ok(inside) => inside,
            Err(poisoned) => self.find_broken(poisoned),
        };
        Guard { inside, bell }
    }

    /// Something was written, or never will be: whoever waits looks again.
    pub fn tell_written(&self) {
        self.written.notify_all();
    }

    #[cold]
    fn find_broken<'a>(
        &self,
        poisoned: PoisonError<MutexGuard<'a, Inside<B>>>,
    ) -> MutexGuard<'a, Inside<B>> {
        let mut inside = poisoned.into_inner();
        if !self.is_broken.swap(true, Ordering::Relaxed) {
            inside.behind.break_off();
        }
        inside
    }

    /// A panic passes by. If it was under the lock, nobody else need come to find that out.
    #[cold]
    fn ring(&self) {
        if let Err(poisoned) = self.inside.lock() {
            drop(self.find_broken(poisoned));
            self.tell_written();
        }
    }
}

/// What a worker knows of how it fares against others.
pub(super) struct Rival<B: Behind> {
    answer: Arc<Answer<B::Next>>,
    /// Grows when it finds the lock taken, shrinks when it finds it free.
    defeats: u32,
    /// How long its last attempts took, the newest counting most, in nanoseconds.
    pace: u64,
    /// It takes whatever there is, not only what belongs to one run.
    is_regular: bool,
    passed: Passed,
}

impl<B: Behind> Rival<B> {
    /// A worker; a regular one is [added](Turnstile::add_regular) to the others.
    pub fn new(is_regular: bool) -> Self {
        let answer = Arc::new(Answer::new());
        Self { answer, defeats: 0, pace: 0, is_regular, passed: Passed::Alone }
    }

    /// How it got rid of what it said last.
    pub fn passed(&self) -> Passed {
        self.passed
    }

    /// It had something to do for so long, in nanoseconds.
    ///
    /// One long attempt is seen at once; a hiccup of a few microseconds is not taken for one.
    pub fn note_pace(&mut self, took: u64) {
        self.pace = self.pace - self.pace / 8 + took / 8;
    }

    fn go(&self, turnstile: &Turnstile<B>) {
        if self.is_regular {
            turnstile.remove_regular();
        }
    }
}

/// Reports that nobody has taken in yet.
struct Post<B: Behind> {
    count: AtomicUsize,
    reports: Mutex<Vec<Left<B>>>,
}

struct Left<B: Behind> {
    report: B::Report,
    /// Where the worker looks for what it goes on with; `None` when it has left.
    answer: Option<Arc<Answer<B::Next>>>,
}

impl<B: Behind> Post<B> {
    fn new() -> Self {
        Self { count: AtomicUsize::new(0), reports: Mutex::new(Vec::new()) }
    }

    fn leave(&self, left: Left<B>) {
        let mut reports = lock(&self.reports);
        reports.push(left);
        self.count.store(reports.len(), Ordering::SeqCst);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Everything left so far, swapped against an empty list.
    fn collect(&self, into: &mut Vec<Left<B>>) {
        let mut reports = lock(&self.reports);
        std::mem::swap(&mut *reports, into);
        self.count.store(0, Ordering::Release);
    }
}

/// Where a worker finds what to go on with.
struct Answer<N> {
    is_there: AtomicBool,
    next: Mutex<Option<N>>,
}

impl<N> Answer<N> {
    fn new() -> Self {
        Self { is_there: AtomicBool::new(false), next: Mutex::new(None) }
    }

    fn give(&self, next: Option<N>) {
        *lock(&self.next) = next;
        self.is_there.store(true, Ordering::Release);
    }

    /// The answer, once it is there; then it can be given again.
    fn take(&self) -> Option<Option<N>> {
        if !self.is_there.load(Ordering::Acquire) {
            return None;
        }
        let next = lock(&self.next).take();
        self.is_there.store(false, Ordering::Release);
        Some(next)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
