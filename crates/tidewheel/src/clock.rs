//! The clocks a wheel reads: the system's, or one that tests can move.
//!
//! Waiting is done elsewhere, in the driver; here time is only read.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::time::Duration;
//! use tidewheel::Tidewheel;
//! use tidewheel::clock::Clock;
//!
//! // A day of waiting takes no time where tokio's clock is paused.
//! let wheel = Tidewheel::builder().clock(Clock::virtual_at("2026-01-01T00:00:00Z".parse()?)).start();
//! wheel.submit_normal(tokio::time::sleep(Duration::from_secs(86_400))).await?;
//! # Ok(())
//! # }
//! ```

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tidewheel_core::time::{Moment, Now, Timestamp, duration_nanos};
use tokio::sync::Notify;

/// Where a wheel gets its time from.
///
/// [`Clock::system`] is the default. Intervals, retries and the timeouts of tasks and runs are measured
/// on a monotonic clock that also counts the time a machine sleeps (on Linux), calendars on the wall
/// clock. The timeout of one attempt is kept by its worker and counts only time awake.
#[derive(Debug, Clone)]
pub struct Clock(Kind);

#[derive(Debug, Clone)]
enum Kind {
    System(Arc<SystemClock>),
    Virtual(VirtualClock),
}

impl Clock {
    /// The clocks of the system.
    #[must_use]
    pub fn system() -> Self {
        Self(Kind::System(Arc::new(SystemClock::new())))
    }

    /// A clock that starts at `start` and follows tokio's, which tests can pause: then time passes
    /// only when nothing is left to do, and at once. See [`VirtualClock`].
    #[must_use]
    pub fn virtual_at(start: Timestamp) -> Self {
        Self(Kind::Virtual(VirtualClock::at(start)))
    }

    /// Both clocks, the wall clock to a few milliseconds.
    pub(crate) fn now(&self) -> Now {
        match &self.0 {
            Kind::System(clock) => clock.now(),
            Kind::Virtual(clock) => clock.now(),
        }
    }

    /// Both clocks, each read anew.
    pub(crate) fn now_exactly(&self) -> Now {
        match &self.0 {
            Kind::System(clock) => clock.now_exactly(),
            Kind::Virtual(clock) => clock.now(),
        }
    }

    /// How long one may sleep without looking at the clock again.
    ///
    /// Tokio's timers do not count the time a machine sleeps, and nobody tells when the wall clock
    /// is set; so a system clock is looked at often.
    pub(crate) fn stretch_max(&self) -> Option<Duration> {
        match &self.0 {
            Kind::System(_) => Some(Duration::from_secs(1)),
            Kind::Virtual(_) => None,
        }
    }

    /// How often the wall clock was moved by hand.
    pub(crate) fn jumps(&self) -> u64 {
        match &self.0 {
            Kind::System(_) => 0,
            Kind::Virtual(clock) => clock.inner.jumps.load(Ordering::SeqCst),
        }
    }

    /// Has `signal` notified when the wall clock is moved by hand.
    pub(crate) fn tell_jumps(&self, signal: &Arc<Notify>) {
        if let Kind::Virtual(clock) = &self.0 {
            clock
                .inner
                .told
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Arc::clone(signal));
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl From<VirtualClock> for Clock {
    fn from(clock: VirtualClock) -> Self {
        Self(Kind::Virtual(clock))
    }
}

/// A clock for tests: it follows tokio's clock, and its wall clock can be moved.
///
/// With tokio's clock paused, years of schedules pass in moments. Make it inside the runtime
/// that will run the wheel.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::time::Duration;
///
/// use tidewheel::clock::VirtualClock;
/// use tidewheel::Tidewheel;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // In a test: #[tokio::test(start_paused = true)]
/// let clock = VirtualClock::at("2026-01-01T00:00:00Z".parse()?);
/// let wheel = Tidewheel::builder().clock(clock.clone()).start();
/// let backups = Arc::new(AtomicU32::new(0));
/// let count = backups.clone();
/// let nightly = wheel.cron("30 2 * * *", "Europe/Zurich")?.run(move || {
///     let count = count.clone();
///     async move {
///         count.fetch_add(1, Ordering::Relaxed);
///     }
/// })?;
/// tokio::time::sleep(Duration::from_secs(3 * 24 * 3600)).await;
/// assert_eq!(backups.load(Ordering::Relaxed), 3);
/// # nightly.cancel();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct VirtualClock {
    inner: Arc<VirtualInner>,
}

#[derive(Debug)]
struct VirtualInner {
    origin: tokio::time::Instant,
    runtime: Option<tokio::runtime::Handle>,
    start: Timestamp,
    /// How far the wall clock was moved by hand, in microseconds.
    moved: AtomicI64,
    jumps: AtomicU64,
    told: Mutex<Vec<Arc<Notify>>>,
}

impl VirtualClock {
    /// A clock whose wall clock shows `start` now.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        let inner = VirtualInner {
            origin: tokio::time::Instant::now(),
            runtime: tokio::runtime::Handle::try_current().ok(),
            start,
            moved: AtomicI64::new(0),
            jumps: AtomicU64::new(0),
            told: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// What the wall clock shows.
    #[must_use]
    pub fn wall(&self) -> Timestamp {
        self.now().wall
    }

    /// Sets the wall clock forward. Intervals and timeouts do not notice.
    pub fn set_forward(&self, by: Duration) {
        self.jump(i64::try_from(by.as_micros()).unwrap_or(i64::MAX));
    }

    /// Sets the wall clock back. Intervals and timeouts do not notice.
    pub fn set_back(&self, by: Duration) {
        self.jump(i64::try_from(by.as_micros()).map_or(i64::MIN, |micros| -micros));
    }

    fn jump(&self, micros: i64) {
        // No further than a timestamp goes, and back from there by what it is told.
        let further = |moved: i64| Some(moved.saturating_add(micros));
        let _ = self.inner.moved.fetch_update(Ordering::SeqCst, Ordering::SeqCst, further);
        self.inner.jumps.fetch_add(1, Ordering::SeqCst);
        let told = self.inner.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
        told.iter().for_each(|signal| signal.notify_one());
    }

    fn now(&self) -> Now {
        let inner = &*self.inner;
        // Outside its runtime tokio would answer with the real time.
        let _context = inner.runtime.as_ref().map(tokio::runtime::Handle::enter);
        let passed = inner.origin.elapsed();
        let wall = inner.start.after(passed).as_micros();
        let moved = inner.moved.load(Ordering::SeqCst);
        Now {
            monotonic: Moment::ZERO.after(passed),
            wall: Timestamp::from_micros(wall.saturating_add(moved)),
        }
    }
}

/// The wall clock is read at most this often; between, it follows the monotonic one.
const WALL_TRUSTED_NANOS: u64 = 5_000_000;

#[derive(Debug)]
struct SystemClock {
    origin: Reading,
    /// Wall clock minus monotonic clock, in microseconds.
    offset: AtomicI64,
    /// When the offset was taken, in nanoseconds.
    taken: AtomicU64,
}

impl SystemClock {
    fn new() -> Self {
        let clock =
            Self { origin: Reading::now(), offset: AtomicI64::new(0), taken: AtomicU64::new(0) };
        clock.now_exactly();
        clock
    }

    fn now(&self) -> Now {
        let monotonic = self.origin.elapsed_nanos();
        // Two atomics that belong together, but a mix of old and new is off by no more than the
        // clock moved between two readings.
        if monotonic.saturating_sub(self.taken.load(Ordering::Relaxed)) > WALL_TRUSTED_NANOS {
            return self.now_exactly();
        }
        let offset = self.offset.load(Ordering::Relaxed);
        let wall = Timestamp::from_micros(offset.saturating_add((monotonic / 1000) as i64));
        Now { monotonic: Moment::from_nanos(monotonic), wall }
    }

    fn now_exactly(&self) -> Now {
        let monotonic = self.origin.elapsed_nanos();
        let wall = wall_clock();
        let offset = wall.as_micros().saturating_sub((monotonic / 1000) as i64);
        self.offset.store(offset, Ordering::Relaxed);
        self.taken.store(monotonic, Ordering::Relaxed);
        Now { monotonic: Moment::from_nanos(monotonic), wall }
    }
}

/// What the wall clock of the system says. Whoever has a wheel asks its clock instead.
#[must_use]
pub fn wall_clock() -> Timestamp {
    SystemTime::now().into()
}

/// A reading of the monotonic clock.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
struct Reading(Duration);

#[cfg(target_os = "linux")]
impl Reading {
    /// `CLOCK_BOOTTIME`, which unlike `CLOCK_MONOTONIC` goes on while the machine sleeps.
    fn now() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Self(Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32))
    }

    #[inline]
    fn elapsed_nanos(self) -> u64 {
        duration_nanos(Self::now().0.saturating_sub(self.0))
    }
}

#[cfg(not(target_os = "linux"))]
#[derive(Debug, Clone, Copy)]
struct Reading(std::time::Instant);

#[cfg(not(target_os = "linux"))]
impl Reading {
    fn now() -> Self {
        Self(std::time::Instant::now())
    }

    fn elapsed_nanos(self) -> u64 {
        duration_nanos(self.0.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_never_goes_back_and_agrees_with_the_system() {
        let clock = Clock::system();
        let mut before = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now.monotonic >= before.monotonic);
            before = now;
        }
        let system = wall_clock();
        assert!((before.wall.as_micros() - system.as_micros()).abs() < 5_000_000);
    }

    #[tokio::test(start_paused = true)]
    async fn the_virtual_clock_follows_tokio_even_from_other_threads() {
        let clock = VirtualClock::at(Timestamp::from_seconds(1000));
        tokio::time::advance(Duration::from_secs(5)).await;
        let elsewhere = clock.clone();
        let now = std::thread::spawn(move || elsewhere.now()).join().expect("reading cannot panic");
        assert_eq!(now.monotonic, Moment::from_millis(5000));
        assert_eq!(now.wall, Timestamp::from_seconds(1005));
        clock.set_back(Duration::from_secs(3600));
        assert_eq!(clock.wall(), Timestamp::from_seconds(1005 - 3600));
        assert_eq!(clock.now().monotonic, Moment::from_millis(5000));
    }
}
