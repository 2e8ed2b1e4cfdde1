//! [`Tally`]: what users and tasks count for themselves, so that the wheel is not its own witness.
//!
//! What the figures must be is in `judge`.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tidewheel::schedule::ScheduleHandle;

/// Tasks that run at once.
pub(super) const SLOTS: u32 = 16;
/// A queue that has fewer slots than the wheel.
pub(super) const BULK: &str = "bulk";
pub(super) const BULK_SLOTS: u32 = 4;
/// A limit that nobody changes.
pub(super) const FEW: &str = "few";
pub(super) const FEW_UNITS: u32 = 3;
/// A limit that users change all the time, and the most it ever is.
pub(super) const MOVING: &str = "moving";
pub(super) const MOVING_UNITS_MAX: u32 = 6;
/// A limit of numbers that are almost too large.
pub(super) const HUGE: &str = "huge";
/// Keys: of each, one task at a time.
pub(super) const KEYS: usize = 8;

/// Everything that is counted.
#[derive(Debug)]
pub(super) struct Tally {
    pub slots: Gauge,
    pub bulk: Gauge,
    pub few: Gauge,
    pub moving: Gauge,
    pub huge: Gauge,
    pub keys: Vec<Gauge>,
    /// Of the tasks that were accepted one by one.
    pub singles: AtomicU64,
    /// Of those, how many somebody waits for, and how many of them were told an end.
    pub awaited: AtomicU64,
    pub told: AtomicU64,
    /// Tasks of runs that were accepted and gave their report.
    pub run_tasks: AtomicU64,
    pub runs: AtomicU64,
    pub reports: AtomicU64,
    /// Tasks of firings, of schedules that have ended.
    pub fired: AtomicU64,
    pub schedules: AtomicU64,
    pub attempts: AtomicU64,
    pub cancels: AtomicU64,
    pub refused: AtomicU64,
    /// Schedules that were set and are not counted yet.
    pub live_schedules: Mutex<Vec<ScheduleHandle>>,
    /// Whether users shall come to rest.
    pub is_resting: AtomicBool,
    breaches: Mutex<Vec<String>>,
}

impl Tally {
    pub fn new() -> Self {
        Self {
            slots: Gauge::new("slots", SLOTS.into()),
            bulk: Gauge::new("slots of the queue", BULK_SLOTS.into()),
            few: Gauge::new("units of the limit", FEW_UNITS.into()),
            moving: Gauge::new("units of the limit that moves", MOVING_UNITS_MAX.into()),
            huge: Gauge::new("units of the huge limit", u32::MAX.into()),
            keys: (0..KEYS).map(|_| Gauge::new("tasks of one key", 1)).collect(),
            singles: AtomicU64::new(0),
            awaited: AtomicU64::new(0),
            told: AtomicU64::new(0),
            run_tasks: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            reports: AtomicU64::new(0),
            fired: AtomicU64::new(0),
            schedules: AtomicU64::new(0),
            attempts: AtomicU64::new(0),
            cancels: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            live_schedules: Mutex::new(Vec::new()),
            is_resting: AtomicBool::new(false),
            breaches: Mutex::new(Vec::new()),
        }
    }

    /// All gauges.
    pub fn gauges(&self) -> impl Iterator<Item = &Gauge> {
        let named = [&self.slots, &self.bulk, &self.few, &self.moving, &self.huge];
        named.into_iter().chain(&self.keys)
    }

    pub fn breach(&self, what: String) {
        let mut breaches = self.breaches.lock().unwrap_or_else(PoisonError::into_inner);
        // One broken rule can break many times; the first ones tell enough.
        if breaches.len() < 20 && !breaches.contains(&what) {
            breaches.push(what);
        }
    }

    pub fn breaches(&self) -> Vec<String> {
        self.breaches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(super) fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::AcqRel);
}

pub(super) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Acquire)
}

/// How much of something is in use, seen by those who use it.
#[derive(Debug)]
pub(super) struct Gauge {
    pub what: &'static str,
    pub bound: u64,
    now: AtomicU64,
    most: AtomicU64,
}

impl Gauge {
    pub fn new(what: &'static str, bound: u64) -> Self {
        Self { what, bound, now: AtomicU64::new(0), most: AtomicU64::new(0) }
    }

    fn enter(&self, units: u64) {
        let now = self.now.fetch_add(units, Ordering::AcqRel) + units;
        self.most.fetch_max(now, Ordering::AcqRel);
    }

    /// The most that was ever in use.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Acquire)
    }
}

/// What one task takes, said where its options are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken {
    pub is_bulk: bool,
    pub few: u32,
    pub moving: u32,
    pub huge: u32,
    pub key: Option<usize>,
}

/// An attempt under way. It gives back what it took when it is dropped, which is before anybody hears
/// of its end.
#[derive(Debug)]
pub(super) struct Inside {
    tally: Arc<Tally>,
    taken: Taken,
    task: Arc<AtomicU32>,
}

impl Inside {
    /// `task` is shared by all attempts of one task.
    pub fn enter(tally: &Arc<Tally>, taken: Taken, task: &Arc<AtomicU32>) -> Self {
        add(&tally.attempts, 1);
        if task.fetch_add(1, Ordering::AcqRel) > 0 {
            tally.breach("two attempts of one task ran at once".to_owned());
        }
        for (gauge, units) in gauges_of(tally, taken) {
            gauge.enter(units);
        }
        Self { tally: Arc::clone(tally), taken, task: Arc::clone(task) }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        for (gauge, units) in gauges_of(&self.tally, self.taken) {
            gauge.now.fetch_sub(units, Ordering::AcqRel);
        }
        self.task.fetch_sub(1, Ordering::AcqRel);
    }
}

fn gauges_of(tally: &Tally, taken: Taken) -> impl Iterator<Item = (&Gauge, u64)> {
    let key = taken.key.map(|key| (&tally.keys[key], 1));
    let named = [
        (&tally.slots, 1),
        (&tally.bulk, u64::from(taken.is_bulk)),
        (&tally.few, taken.few.into()),
        (&tally.moving, taken.moving.into()),
        (&tally.huge, taken.huge.into()),
    ];
    named.into_iter().chain(key).filter(|(_, units)| *units > 0)
}
