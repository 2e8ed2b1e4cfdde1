//! The turnstile of the driver, under thousands of random and of cunningly chosen schedules.
//!
//! It is the very file of the library, with means of synchronisation whose every use is a chance to go on
//! with another thread. Weak memory orderings are not played: every schedule is sequentially consistent.

mod sync {
    pub use std::sync::{PoisonError, TryLockError};
    pub use std::thread::panicking;

    pub use shuttle::hint::spin_loop;
    pub use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    pub use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
}

#[path = "../../../tidewheel/src/driver/turnstile.rs"]
mod under_shuttle;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use shuttle::thread::{self, JoinHandle};
use under_shuttle::{Behind, Guard, Passed, Rival, Turnstile};

const SCHEDULES: usize = 1_000;
const PREEMPTIONS: usize = 4;

/// What a holder panics with.
const CURSE: &str = "a broken invariant, for the test";

/// Runs it under random schedules, and under those with few preemptions at the worst of places.
fn under_many_schedules(test: impl Fn() + Clone + Send + Sync + 'static) {
    shuttle::check_random(test.clone(), SCHEDULES);
    shuttle::check_pct(test, SCHEDULES, PREEMPTIONS);
}

/// Thousands of panics are meant.
fn keep_quiet_about_curses() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.payload().downcast_ref() != Some(&CURSE) {
            tell(panic);
        }
    }));
}

/// Pieces of work, each of which must be done once.
struct Pieces {
    /// How often each was done.
    done: Vec<u32>,
    /// Not begun yet.
    waiting: VecDeque<usize>,
    spare: VecDeque<usize>,
    exchanges: u64,
    /// Taking in the end of this one panics.
    cursed: Option<usize>,
    is_ended: bool,
    breaks: u32,
    is_occupied: AtomicBool,
    /// Things decided and stored, and the right to store.
    decided: u32,
    stored: u32,
    writer: Option<()>,
}

impl Pieces {
    fn new(count: usize) -> Self {
        Self {
            done: vec![0; count],
            waiting: (0..count).collect(),
            spare: VecDeque::new(),
            exchanges: 0,
            cursed: None,
            is_ended: false,
            breaks: 0,
            is_occupied: AtomicBool::new(false),
            decided: 0,
            stored: 0,
            writer: Some(()),
        }
    }

    /// What every holder does: it must be alone.
    fn occupy(&self) {
        assert!(!self.is_occupied.swap(true, Ordering::Relaxed), "two hold the lock");
        thread::yield_now();
        self.is_occupied.store(false, Ordering::Relaxed);
    }

    fn finish(&mut self, piece: usize) -> Option<usize> {
        self.occupy();
        if self.is_ended {
            return None;
        }
        if self.cursed == Some(piece) {
            std::panic::panic_any(CURSE);
        }
        self.done[piece] += 1;
        self.waiting.pop_front()
    }
}

impl Behind for Pieces {
    type Word<'a> = usize;
    type Report = usize;
    type Next = usize;
    /// Pieces that need workers of their own.
    type Effects = Vec<usize>;

    /// So that it often ends while somebody leaves.
    const WATCH_IDLE_MAX: u32 = 1;

    fn hear(&mut self, word: usize, effects: &mut Vec<usize>) -> Option<usize> {
        self.take_in(word, effects)
    }

    fn take_in(&mut self, report: usize, _: &mut Vec<usize>) -> Option<usize> {
        let next = self.finish(report);
        if self.spare.is_empty() {
            return next;
        }
        self.spare.extend(next);
        self.exchanges += 1;
        self.spare.pop_front()
    }

    fn take_in_last(&mut self, report: usize, _: &mut Vec<usize>) {
        let next = self.finish(report);
        self.spare.extend(next);
    }

    fn has_spare(&self) -> bool {
        !self.spare.is_empty()
    }

    fn exchanges(&self) -> u64 {
        self.exchanges
    }

    fn launch_spare(&mut self, effects: &mut Vec<usize>) {
        effects.extend(self.spare.drain(..));
    }

    fn has_ended(&self) -> bool {
        self.is_ended
    }

    fn break_off(&mut self) {
        self.breaks += 1;
        self.is_ended = true;
    }
}

/// How often each way was taken, over all schedules: a test that never went there shows nothing.
#[derive(Default)]
struct Ways {
    alone: AtomicU64,
    answered: AtomicU64,
    left: AtomicU64,
    broken: AtomicU64,
    launched: AtomicU64,
}

/// A turnstile, and the threads that use it.
#[derive(Clone)]
struct Place {
    turnstile: Arc<Turnstile<Pieces>>,
    /// Of the standard library, and never held where another thread may go on: the panic of one is that of
    /// all, for its mutexes, while all are played on one.
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
    ways: Arc<Ways>,
}

impl Place {
    fn new(pieces: Pieces, ways: &Arc<Ways>) -> Self {
        Self {
            turnstile: Arc::new(Turnstile::new(pieces)),
            threads: Arc::default(),
            ways: Arc::clone(ways),
        }
    }

    /// A thread, which ends when its own panic was under the lock.
    fn spawn(&self, work: impl FnOnce(&Self) + Send + 'static) {
        let place = self.clone();
        let thread = thread::spawn(move || {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&place))) {
                assert_eq!(panic.downcast_ref(), Some(&CURSE));
                place.ways.broken.fetch_add(1, Ordering::Relaxed);
            }
        });
        self.threads.lock().unwrap().push(thread);
    }

    /// Begins with so many workers, of whom every second takes whatever there is.
    fn begin(&self, workers: usize) {
        let first: Vec<_> = self.turnstile.lock().waiting.drain(..workers).collect();
        for piece in first {
            self.launch(piece);
        }
    }

    fn launch(&self, piece: usize) {
        let is_regular = piece.is_multiple_of(2);
        if is_regular {
            self.turnstile.add_regular();
        }
        self.spawn(move |place| place.work(piece, is_regular));
    }

    fn work(&self, piece: usize, is_regular: bool) {
        let mut rival = Rival::new(is_regular);
        let mut effects = Vec::new();
        let mut piece = piece;
        loop {
            if piece % 11 == 5 {
                // It has to wait for something: others are to have what is spare.
                self.turnstile.launch_spare(&mut effects);
                self.perform(&mut effects);
                rival.note_pace(50_000);
            }
            let next = self.turnstile.pass(&mut rival, piece, &mut effects);
            let way = match rival.passed() {
                Passed::Alone => &self.ways.alone,
                Passed::Answered => &self.ways.answered,
                Passed::Left => &self.ways.left,
                Passed::Broken => &self.ways.broken,
            };
            way.fetch_add(1, Ordering::Relaxed);
            self.perform(&mut effects);
            if rival.passed() == Passed::Left {
                self.watch();
            }
            match next {
                Some(next) => piece = next,
                None => return,
            }
        }
    }

    fn perform(&self, effects: &mut Vec<usize>) {
        for piece in effects.drain(..) {
            self.ways.launched.fetch_add(1, Ordering::Relaxed);
            self.launch(piece);
        }
    }

    fn watch(&self) {
        if self.turnstile.wants_watch() {
            self.spawn(|place| {
                let mut watch = place.turnstile.watch();
                let mut effects = Vec::new();
                loop {
                    thread::yield_now();
                    let goes_on = place.turnstile.look_after(&mut watch, &mut effects);
                    place.perform(&mut effects);
                    if !goes_on {
                        return;
                    }
                }
            });
        }
    }

    /// Somebody from outside: submits pieces, which are spare where a worker will be back soon.
    fn submit(&self, pieces: std::ops::Range<usize>) {
        for piece in pieces {
            let mut effects = Vec::new();
            let mut guard = self.turnstile.lock();
            guard.occupy();
            if guard.has_ended() {
                return;
            }
            if self.turnstile.is_brisk() {
                guard.spare.push_back(piece);
            } else {
                effects.push(piece);
            }
            self.turnstile.take_in(&mut guard, &mut effects);
            let is_spare = guard.has_spare();
            drop(guard);
            if is_spare {
                self.watch();
            }
            self.perform(&mut effects);
        }
    }

    /// Waits for every thread, however many there come to be.
    fn until_all_ended(&self) {
        loop {
            let Some(thread) = self.threads.lock().unwrap().pop() else { return };
            thread.join().unwrap();
        }
    }
}

fn all_done_once(guard: &Guard<'_, Pieces>) {
    assert!(guard.done.iter().all(|&times| times == 1), "{:?}", guard.done);
    assert!(guard.waiting.is_empty() && guard.spare.is_empty());
}

#[test]
fn nothing_left_behind_is_lost_and_nobody_runs_beside_the_holder() {
    let ways = Arc::new(Ways::default());
    let seen = Arc::clone(&ways);
    under_many_schedules(move || {
        let mut pieces = Pieces::new(24);
        pieces.waiting.truncate(18);
        let place = Place::new(pieces, &ways);
        place.begin(3);
        place.spawn(|place| place.submit(18..24));
        place.until_all_ended();
        all_done_once(&place.turnstile.lock());
    });
    for way in [&seen.alone, &seen.answered, &seen.left, &seen.launched] {
        assert!(way.load(Ordering::Relaxed) > 100, "too seldom seen");
    }
}

#[test]
fn a_panic_of_the_holder_breaks_it_off_once_and_hangs_nobody() {
    let ways = Arc::new(Ways::default());
    let seen = Arc::clone(&ways);
    keep_quiet_about_curses();
    under_many_schedules(move || {
        let mut pieces = Pieces::new(24);
        pieces.waiting.truncate(18);
        pieces.cursed = Some(7);
        let place = Place::new(pieces, &ways);
        place.begin(3);
        place.spawn(|place| place.submit(18..24));
        place.until_all_ended();
        let guard = place.turnstile.lock();
        assert!(guard.has_ended() && guard.breaks == 1, "{} times", guard.breaks);
        assert!(guard.done.iter().all(|&times| times <= 1));
    });
    assert!(seen.broken.load(Ordering::Relaxed) > 1_000);
}

/// As the books are kept: whoever has the right to write writes everything there is.
fn write(place: &Place) {
    let mut guard = place.turnstile.lock();
    let Some(writer) = guard.writer.take() else { return };
    while guard.stored < guard.decided && !guard.is_ended {
        let newest = guard.decided;
        drop(guard);
        thread::yield_now();
        guard = place.turnstile.lock();
        guard.stored = newest;
    }
    guard.writer = Some(writer);
    drop(guard);
    place.turnstile.tell_written();
}

fn decide_and_wait(place: &Place) {
    let mut guard = place.turnstile.lock();
    guard.occupy();
    guard.decided += 1;
    let ticket = guard.decided;
    drop(guard);
    loop {
        write(place);
        let guard = place.turnstile.lock();
        if guard.stored >= ticket || guard.is_ended {
            return;
        }
        if guard.writer.is_none() {
            drop(place.turnstile.until_written(guard));
        }
    }
}

#[test]
fn whoever_waits_for_the_store_is_woken() {
    let ways = Arc::new(Ways::default());
    under_many_schedules(move || {
        let place = Place::new(Pieces::new(0), &ways);
        for _ in 0..4 {
            place.spawn(|place| (0..3).for_each(|_| decide_and_wait(place)));
        }
        place.until_all_ended();
        assert_eq!(place.turnstile.lock().stored, 12);
    });
}

#[test]
fn whoever_waits_for_the_store_is_woken_by_a_panic_too() {
    let ways = Arc::new(Ways::default());
    keep_quiet_about_curses();
    under_many_schedules(move || {
        let place = Place::new(Pieces::new(0), &ways);
        for _ in 0..3 {
            place.spawn(|place| (0..3).for_each(|_| decide_and_wait(place)));
        }
        place.spawn(|place| {
            // It may have the right to write, and never gives it back.
            let mut guard = place.turnstile.lock();
            guard.writer.take();
            guard.decided += 1;
            drop(guard);
            thread::yield_now();
            let _guard = place.turnstile.lock();
            std::panic::panic_any(CURSE);
        });
        place.until_all_ended();
        assert_eq!(place.turnstile.lock().breaks, 1);
    });
}
