//! The hierarchical timing wheel: pending deadlines, in order, driven by a number.
//!
//! How timers are stored is in [`super::store`], and the order within one tick in
//! [`super::ready`]. What a timer means is the caller's business: it is a small copied value.
//!
//! Time is cut into ticks of 2^20 ns, about a millisecond. Level 0 has a bucket for each of 256
//! ticks, level 1 for each of 256 spans of 256 ticks, and so on; six levels cover all of `u64`. A
//! timer lies on the level of the highest digit (in base 256) in which its tick differs from the
//! cursor's, in the bucket of its own digit there. So on each level only buckets after the
//! cursor's digit are in use, all timers of a level come before all those of the next, and a
//! bucket holds later timers than the buckets before it.
//!
//! ```text
//!   insert ──> bucket on level 5..0 ──its earliest timer is due──> lower levels ──> open tick ──> expire
//!                       │                                                               │
//!                       └───────────────────────── cancel ──────────────────────────────┘
//! ```
//!
//! When the first bucket has a timer that is due, the cursor moves to that timer's tick, not to
//! the start of the bucket. A lone timer centuries ahead is therefore moved once, not five times,
//! and idle years cost nothing.

use crate::time::Moment;

use super::ready::{Rank, Ready};
use super::store::{Store, TimerKey};

const TICK_BITS: u32 = 20;
const DIGIT_BITS: u32 = 8;
const BUCKETS_PER_LEVEL: usize = 1 << DIGIT_BITS;
const WORDS_PER_LEVEL: usize = BUCKETS_PER_LEVEL / 64;
/// Enough digits for every tick a `u64` of nanoseconds has.
const LEVELS: usize = (u64::BITS - TICK_BITS).div_ceil(DIGIT_BITS) as usize;
/// Ranks of cancelled timers that are never worth a clean-up.
const STALE_RANKS_KEPT: usize = 64;

/// A set of pending timers, each a deadline and a small value.
///
/// The wheel has no clock. The driver asks [`next_wakeup`](Self::next_wakeup) how long it may
/// sleep, and then calls [`expire`](Self::expire) with the present until it returns `None`:
///
/// ```
/// use tidewheel_core::time::Moment;
/// use tidewheel_core::timer::Wheel;
///
/// let mut wheel = Wheel::new();
/// wheel.insert(Moment::from_millis(20), "second");
/// let key = wheel.insert(Moment::from_millis(30), "never");
/// wheel.insert(Moment::from_millis(10), "first");
/// wheel.cancel(key);
///
/// let mut fired = Vec::new();
/// while let Some(wakeup) = wheel.next_wakeup() {
///     while let Some((_due, value)) = wheel.expire(wakeup) {
///         fired.push(value);
///     }
/// }
/// assert_eq!(fired, ["first", "second"]);
/// ```
///
/// Timers fire in order of their deadline to the nanosecond, equal deadlines in order of
/// insertion, and never early. [`insert`](Self::insert) and [`cancel`](Self::cancel) take constant
/// time; a timer is moved at most once per level before it fires, and then sorted among those of
/// its tick. One call of `expire` may have to move a whole bucket: that is linear in the timers
/// that share the bucket, not in the time that passed.
///
/// With a value of 16 bytes a pending timer takes 48 bytes, and 24 more while its tick is open.
/// The memory of a timer that fired or was cancelled serves the next one at once; it is returned
/// to the allocator when the wheel is dropped.
#[derive(Debug, Clone)]
pub struct Wheel<T> {
    store: Store<T>,
    /// Which buckets hold timers; the open one is not marked.
    occupied: [[u64; WORDS_PER_LEVEL]; LEVELS],
    /// The timers in the level 0 bucket of the cursor.
    ready: Ready,
    /// The open tick. Timers of this tick and earlier ones are in `ready`, all others come later.
    cursor: u64,
    sequence: u64,
    length: usize,
}

impl<T: Copy> Wheel<T> {
    /// An empty wheel at [`Moment::ZERO`].
    #[must_use]
    pub fn new() -> Self {
        Self {
            store: Store::new(LEVELS * BUCKETS_PER_LEVEL),
            occupied: [[0; WORDS_PER_LEVEL]; LEVELS],
            ready: Ready::default(),
            cursor: 0,
            sequence: 0,
            length: 0,
        }
    }

    /// How many timers are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether no timer is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a timer. A `due` in the past fires at the next [`expire`](Self::expire), before
    /// anything due later.
    pub fn insert(&mut self, due: Moment, value: T) -> TimerKey {
        let sequence = self.sequence;
        self.sequence += 1;
        self.length += 1;
        let bucket = self.bucket_for(due);
        let key = self.store.insert(bucket, due, sequence, value);
        if tick_of(due) <= self.cursor {
            self.ready.push(Rank { due, sequence, key });
        } else {
            self.mark(bucket);
        }
        key
    }

    /// Takes a timer out before it fires; `None` when it has fired or was cancelled already.
    pub fn cancel(&mut self, key: TimerKey) -> Option<T> {
        let (value, bucket) = self.store.remove(key)?;
        self.length -= 1;
        if bucket == self.open_bucket() {
            self.drop_stale_ranks();
        } else if self.store.length(bucket) == 0 {
            self.unmark(bucket);
        }
        Some(value)
    }

    /// When a timer is due; `None` when it has fired or was cancelled.
    #[must_use]
    pub fn due(&self, key: TimerKey) -> Option<Moment> {
        self.store.due(key)
    }

    /// When to call [`expire`](Self::expire) next; `None` when nothing is pending.
    ///
    /// Never later than the earliest deadline, and equal to it unless the timer that was earliest
    /// in its bucket has been cancelled. Then the answer is the cancelled deadline: `expire` at
    /// that moment returns `None` and sorts the bucket out, so that the next answer is later. Each
    /// such wakeup is owed to a different cancelled timer: a driver that sleeps until the answer
    /// never wakes more often than timers were inserted.
    ///
    /// The answer may lie in the past. It costs a look at a few words, however many timers pend.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Moment> {
        if self.is_empty() {
            return None;
        }
        if let Some(rank) = self.ready.first() {
            return Some(rank.due);
        }
        self.first_bucket().map(|bucket| self.store.earliest(bucket))
    }

    /// Takes out the first timer that is due at `now`, with its deadline; `None` when there is
    /// none (any more).
    ///
    /// `now` may jump ahead by any amount, and may go back, which fires nothing new.
    pub fn expire(&mut self, now: Moment) -> Option<(Moment, T)> {
        loop {
            while let Some(&Rank { due, key, .. }) = self.ready.first() {
                if due > now {
                    return None;
                }
                self.ready.remove_first();
                if let Some((value, _)) = self.store.remove(key) {
                    self.length -= 1;
                    return Some((due, value));
                }
            }
            if !self.advance(now) {
                return None;
            }
        }
    }

    /// Moves the cursor towards `now`, and says whether that moved any timers nearer.
    fn advance(&mut self, now: Moment) -> bool {
        debug_assert!(self.ready.is_empty() && self.store.length(self.open_bucket()) == 0);
        let Some(bucket) = self.first_bucket() else {
            self.cursor = self.cursor.max(tick_of(now));
            return false;
        };
        let earliest = self.store.earliest(bucket);
        if earliest > now {
            // The cursor follows the clock as far as it can without entering the bucket, so that
            // new timers are put on a level that fits their distance.
            let before = self.first_tick(bucket) - 1;
            self.cursor = self.cursor.max(before.min(tick_of(now)));
            return false;
        }
        self.unmark(bucket);
        self.cursor = tick_of(earliest);
        if bucket != self.open_bucket() {
            self.spread(bucket);
        }
        self.open();
        true
    }

    /// Puts the timers of `bucket`, which the cursor has just entered, on lower levels.
    fn spread(&mut self, bucket: usize) {
        while let Some(record) = self.store.pop(bucket) {
            let target = self.bucket_for(record.due);
            debug_assert!(target < bucket, "a timer only ever moves nearer");
            self.store.push(target, record);
            if tick_of(record.due) > self.cursor {
                self.mark(target);
            }
        }
    }

    /// Sorts the timers in the cursor's bucket, which may be none.
    fn open(&mut self) {
        let bucket = self.open_bucket();
        self.ready.open(self.store.length(bucket), self.store.ranks(bucket));
    }

    /// Keeps the ranks of cancelled timers fewer than the pending ones, so that timers which are
    /// inserted and cancelled without end do not pile up.
    fn drop_stale_ranks(&mut self) {
        let pending = self.store.length(self.open_bucket());
        if self.ready.length() > 2 * pending + STALE_RANKS_KEPT {
            let store = &self.store;
            self.ready.retain(|key| store.is_pending(key));
        }
    }

    /// The bucket of a timer at the present cursor.
    fn bucket_for(&self, due: Moment) -> usize {
        let tick = tick_of(due).max(self.cursor);
        // The lowest bit is set only to give the open tick, which differs nowhere, a level.
        let highest = (tick ^ self.cursor | 1).ilog2();
        let level = highest / DIGIT_BITS;
        let digit = (tick >> (level * DIGIT_BITS)) as usize % BUCKETS_PER_LEVEL;
        level as usize * BUCKETS_PER_LEVEL + digit
    }

    fn open_bucket(&self) -> usize {
        self.cursor as usize % BUCKETS_PER_LEVEL
    }

    /// The first tick that belongs to a marked `bucket`.
    fn first_tick(&self, bucket: usize) -> u64 {
        let level = (bucket / BUCKETS_PER_LEVEL) as u32;
        let digit = (bucket % BUCKETS_PER_LEVEL) as u64;
        let above = self.cursor >> ((level + 1) * DIGIT_BITS) << DIGIT_BITS;
        (above | digit) << (level * DIGIT_BITS)
    }

    /// The marked bucket whose timers come before those of all others.
    fn first_bucket(&self) -> Option<usize> {
        let words = self.occupied.as_flattened();
        let index = words.iter().position(|&word| word != 0)?;
        Some(index * 64 + words[index].trailing_zeros() as usize)
    }

    fn mark(&mut self, bucket: usize) {
        self.occupied.as_flattened_mut()[bucket / 64] |= 1 << (bucket % 64);
    }

    fn unmark(&mut self, bucket: usize) {
        self.occupied.as_flattened_mut()[bucket / 64] &= !(1 << (bucket % 64));
    }
}

impl<T: Copy> Default for Wheel<T> {
    fn default() -> Self {
        Self::new()
    }
}

fn tick_of(moment: Moment) -> u64 {
    moment.as_nanos() >> TICK_BITS
}

#[cfg(test)]
impl<T: Copy> Wheel<T> {
    /// Ranks in the open tick, with those of cancelled timers.
    pub(super) fn ranks_kept(&self) -> usize {
        self.ready.length()
    }
}
