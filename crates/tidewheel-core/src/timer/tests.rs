//! What the wheel promises, checked against an ordered map and by named cases.
//!
//! Speed is measured in [`super::measure`]; the parts of [`super::store`] have tests of their own.

use std::collections::BTreeMap;

use crate::time::Moment;

use super::heap::Heap;
use super::{TimerKey, Wheel};

const MILLISECOND: u64 = 1_000_000;
const YEAR: u64 = 31_557_600_000_000_000;

fn nanos(nanos: u64) -> Moment {
    Moment::from_nanos(nanos)
}

/// Sleeps until each wakeup; returns what fired and how many wakeups that took.
fn drain<T: Copy>(wheel: &mut Wheel<T>) -> (Vec<T>, usize) {
    let mut fired = Vec::new();
    let mut wakeups = 0;
    while let Some(wakeup) = wheel.next_wakeup() {
        wakeups += 1;
        while let Some((due, value)) = wheel.expire(wakeup) {
            assert!(due <= wakeup);
            fired.push(value);
        }
    }
    assert!(wheel.is_empty());
    (fired, wakeups)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A distance of any magnitude, from nothing to centuries.
    fn distance(&mut self) -> u64 {
        self.next() >> self.below(64)
    }
}

/// The wheel, and an ordered map that says what it should do.
struct Model {
    wheel: Wheel<u64>,
    expected: BTreeMap<(Moment, u64), TimerKey>,
    stale: Vec<TimerKey>,
    now: u64,
    inserted: u64,
}

impl Model {
    fn new() -> Self {
        Self {
            wheel: Wheel::new(),
            expected: BTreeMap::new(),
            stale: Vec::new(),
            now: 0,
            inserted: 0,
        }
    }

    fn insert(&mut self, random: &mut Random) {
        let due = match random.below(8) {
            0 => self.now.saturating_sub(random.distance()),
            1 => self.now,
            2 => self.now.saturating_add(random.below(3)),
            3 => self.now.saturating_add(random.below(3 * MILLISECOND)),
            4 => self.now.saturating_add(random.below(1000) * MILLISECOND),
            // Round ticks, so that buckets begin with a timer.
            5 => self.now.saturating_add(random.distance()) >> 28 << 28,
            6 => u64::MAX - random.below(3),
            _ => self.now.saturating_add(random.distance()),
        };
        let key = self.wheel.insert(nanos(due), self.inserted);
        assert!(self.expected.insert((nanos(due), self.inserted), key).is_none());
        self.inserted += 1;
    }

    fn cancel(&mut self, random: &mut Random) {
        // The first is cancelled often: it is what `next_wakeup` rests on.
        let nth = if random.below(2) == 0 { 0 } else { random.below(64) as usize };
        let Some((&(due, number), &key)) = self.expected.iter().nth(nth) else { return };
        assert_eq!(self.wheel.due(key), Some(due));
        assert_eq!(self.wheel.cancel(key), Some(number));
        self.expected.remove(&(due, number));
        self.stale.push(key);
    }

    fn expire(&mut self, random: &mut Random) {
        self.now = match random.below(8) {
            0 => self.now,
            1 => self.now.saturating_add(random.distance()),
            2 => self.now.saturating_add(random.below(MILLISECOND)),
            3 => self.now.saturating_add(random.below(1000) * MILLISECOND),
            _ => match self.wheel.next_wakeup() {
                Some(wakeup) => self.now.max(wakeup.as_nanos()),
                None => self.now,
            },
        };
        let pops = if random.below(2) == 0 { usize::MAX } else { random.below(3) as usize };
        for _ in 0..pops {
            if !self.expire_one() {
                break;
            }
        }
    }

    fn expire_one(&mut self) -> bool {
        let now = nanos(self.now);
        let first = self.expected.first_key_value().map(|(&rank, &key)| (rank, key));
        let due = first.filter(|((due, _), _)| *due <= now);
        assert_eq!(self.wheel.expire(now), due.map(|(rank, _)| rank));
        let Some((rank, key)) = due else { return false };
        self.expected.remove(&rank);
        self.stale.push(key);
        true
    }

    fn check(&mut self, random: &mut Random) {
        assert_eq!(self.wheel.len(), self.expected.len());
        assert_eq!(self.wheel.is_empty(), self.expected.is_empty());
        let first = self.expected.first_key_value().map(|(&(due, _), _)| due);
        assert_eq!(self.wheel.next_wakeup().is_some(), first.is_some());
        assert!(self.wheel.next_wakeup() <= first);
        if !self.stale.is_empty() {
            let key = self.stale[random.below(self.stale.len() as u64) as usize];
            assert_eq!(self.wheel.due(key), None);
            assert_eq!(self.wheel.cancel(key), None);
        }
    }

    /// Runs until nothing is left, by wakeups alone.
    fn finish(&mut self) {
        let mut wakeups = 0;
        let inserted = self.inserted as usize;
        while let Some(wakeup) = self.wheel.next_wakeup() {
            wakeups += 1;
            self.now = self.now.max(wakeup.as_nanos());
            while self.expire_one() {}
        }
        assert!(wakeups <= inserted, "{wakeups} wakeups for {inserted} timers");
        assert!(self.expected.is_empty());
    }
}

#[test]
fn random_operations_agree_with_an_ordered_map() {
    let mut random = Random(42);
    for round in 0..4000 {
        let mut model = Model::new();
        // Some rounds start late, so that all digits of the cursor are in use.
        model.now = if round % 2 == 0 { 0 } else { random.distance() };
        let insert_share = 20 + random.below(60);
        let cancel_share = random.below(100 - insert_share);
        for _ in 0..random.below(300) {
            match random.below(100) {
                choice if choice < insert_share => model.insert(&mut random),
                choice if choice < insert_share + cancel_share => model.cancel(&mut random),
                _ => model.expire(&mut random),
            }
            model.check(&mut random);
        }
        model.finish();
    }
}

#[test]
fn crowded_ticks_agree_with_the_heap() {
    let mut random = Random(7);
    let mut wheel = Wheel::new();
    let mut heap = Heap::new();
    let mut keys = Vec::new();
    for number in 0..50_000_u64 {
        let due = nanos(random.below(400) * MILLISECOND / 2 + random.below(3));
        keys.push((wheel.insert(due, number), heap.insert(due, number)));
        if number % 3 == 0 {
            let victim = random.below(keys.len() as u64) as usize;
            let (wheel_key, heap_key) = keys[victim];
            assert_eq!(wheel.cancel(wheel_key), heap.cancel(heap_key));
        }
    }
    while let Some(wakeup) = heap.next_wakeup() {
        let expected = heap.expire(wakeup);
        while wheel.next_wakeup().is_some_and(|bound| bound < wakeup) {
            assert_eq!(wheel.next_wakeup().and_then(|bound| wheel.expire(bound)), None);
        }
        assert_eq!(wheel.expire(wakeup), expected);
    }
    assert!(wheel.is_empty());
}

#[test]
fn an_empty_wheel_has_nothing_to_wait_for() {
    let mut wheel = Wheel::<()>::default();
    assert_eq!(wheel.next_wakeup(), None);
    assert_eq!(wheel.expire(Moment::MAX), None);
    assert_eq!((wheel.len(), wheel.is_empty()), (0, true));
}

#[test]
fn a_timer_never_fires_early_not_even_by_a_nanosecond() {
    for due in [1, 999, MILLISECOND, (1 << 20) - 1, 1 << 20, 1 << 28, 3 * YEAR, u64::MAX] {
        let mut wheel = Wheel::new();
        wheel.insert(nanos(due), ());
        assert_eq!(wheel.next_wakeup(), Some(nanos(due)));
        assert_eq!(wheel.expire(nanos(due - 1)), None);
        assert_eq!(wheel.next_wakeup(), Some(nanos(due)));
        assert_eq!(wheel.expire(nanos(due)), Some((nanos(due), ())));
        assert_eq!(wheel.expire(nanos(due)), None);
    }
}

#[test]
fn timers_of_one_tick_fire_in_order_of_nanoseconds() {
    let mut wheel = Wheel::new();
    for due in [5 * MILLISECOND + 3, 5 * MILLISECOND + 1, 5 * MILLISECOND + 2] {
        wheel.insert(nanos(due), due);
    }
    assert_eq!(wheel.expire(nanos(5 * MILLISECOND)), None);
    let (fired, wakeups) = drain(&mut wheel);
    assert_eq!(fired, [5 * MILLISECOND + 1, 5 * MILLISECOND + 2, 5 * MILLISECOND + 3]);
    assert_eq!(wakeups, 3);
}

#[test]
fn equal_deadlines_fire_in_order_of_insertion() {
    let mut wheel = Wheel::new();
    let due = nanos(10 * YEAR);
    let keys: Vec<TimerKey> = (0..1000).map(|number| wheel.insert(due, number)).collect();
    // Cancelling moves others about in memory, which must not show.
    for key in keys.iter().step_by(3) {
        wheel.cancel(*key);
    }
    let expected: Vec<i32> = (0..1000).filter(|number| number % 3 != 0).collect();
    assert_eq!(drain(&mut wheel).0, expected);
}

#[test]
fn deadlines_in_the_past_fire_next_and_in_order() {
    let mut wheel = Wheel::new();
    wheel.insert(nanos(YEAR + 10), "waiting");
    assert_eq!(wheel.expire(nanos(YEAR)), None);
    wheel.insert(nanos(YEAR), "now");
    wheel.insert(Moment::ZERO, "origin");
    wheel.insert(nanos(YEAR - 5), "just missed");
    wheel.insert(Moment::ZERO, "origin again");
    assert_eq!(wheel.next_wakeup(), Some(Moment::ZERO));
    let mut fired = Vec::new();
    while let Some((_, value)) = wheel.expire(nanos(YEAR)) {
        fired.push(value);
    }
    assert_eq!(fired, ["origin", "origin again", "just missed", "now"]);
    assert_eq!(wheel.next_wakeup(), Some(nanos(YEAR + 10)));
}

#[test]
fn a_timer_inserted_between_two_expiries_takes_its_place_in_the_order() {
    let mut wheel = Wheel::new();
    let base = 7 * MILLISECOND;
    for offset in [10, 20, 30] {
        wheel.insert(nanos(base + offset), offset);
    }
    assert_eq!(wheel.expire(nanos(base + 30)), Some((nanos(base + 10), 10)));
    wheel.insert(nanos(base + 25), 25);
    wheel.insert(nanos(base + 20), 21);
    assert_eq!(drain(&mut wheel).0, [20, 21, 25, 30]);
}

#[test]
fn a_timer_can_be_cancelled_while_its_tick_is_firing() {
    let mut wheel = Wheel::new();
    let keys: Vec<TimerKey> = (0..4).map(|number| wheel.insert(nanos(YEAR), number)).collect();
    assert_eq!(wheel.expire(nanos(YEAR)), Some((nanos(YEAR), 0)));
    assert_eq!(wheel.cancel(keys[1]), Some(1));
    assert_eq!(wheel.cancel(keys[3]), Some(3));
    assert_eq!(wheel.expire(nanos(YEAR)), Some((nanos(YEAR), 2)));
    assert_eq!(wheel.expire(nanos(YEAR)), None);
}

#[test]
fn stale_keys_do_nothing_even_when_their_slot_is_reused() {
    let mut wheel = Wheel::new();
    let cancelled = wheel.insert(nanos(5), 'a');
    assert_eq!(wheel.cancel(cancelled), Some('a'));
    let fired = wheel.insert(nanos(6), 'b');
    assert_eq!(wheel.expire(nanos(6)), Some((nanos(6), 'b')));
    let pending = wheel.insert(nanos(7), 'c');
    for stale in [cancelled, fired] {
        assert_ne!(stale, pending);
        assert_eq!(wheel.due(stale), None);
        assert_eq!(wheel.cancel(stale), None);
    }
    assert_eq!(wheel.due(pending), Some(nanos(7)));
    assert_eq!(wheel.len(), 1);
}

#[test]
fn the_last_moment_is_an_ordinary_deadline() {
    let mut wheel = Wheel::new();
    wheel.insert(Moment::MAX, 'b');
    wheel.insert(nanos(u64::MAX - 1), 'a');
    let key = wheel.insert(Moment::MAX, 'c');
    assert_eq!(wheel.due(key), Some(Moment::MAX));
    assert_eq!(wheel.expire(nanos(u64::MAX - 2)), None);
    assert_eq!(drain(&mut wheel), (vec!['a', 'b', 'c'], 2));
    wheel.insert(nanos(1), 'd');
    assert_eq!(wheel.expire(Moment::MAX), Some((nanos(1), 'd')));
}

#[test]
fn now_may_go_back_without_firing_anything() {
    let mut wheel = Wheel::new();
    wheel.insert(nanos(YEAR), 'a');
    assert_eq!(wheel.expire(nanos(YEAR - 1)), None);
    assert_eq!(wheel.expire(Moment::ZERO), None);
    wheel.insert(nanos(MILLISECOND), 'b');
    assert_eq!(wheel.expire(Moment::ZERO), None);
    assert_eq!(drain(&mut wheel), (vec!['b', 'a'], 2));
}

#[test]
fn a_jump_over_centuries_fires_everything_in_order() {
    let mut wheel = Wheel::new();
    let mut random = Random(9);
    let mut expected: Vec<u64> = (0..10_000).map(|_| random.distance()).collect();
    for &due in &expected {
        wheel.insert(nanos(due), due);
    }
    expected.sort_unstable();
    let fired: Vec<u64> =
        std::iter::from_fn(|| wheel.expire(Moment::MAX)).map(|(_, value)| value).collect();
    assert_eq!(fired, expected);
}

#[test]
fn a_million_timers_of_one_instant_need_one_wakeup() {
    let mut wheel = Wheel::new();
    for number in 0..1_000_000_u32 {
        wheel.insert(nanos(YEAR + 12_345), number);
    }
    let (fired, wakeups) = drain(&mut wheel);
    assert_eq!(wakeups, 1);
    assert!(fired.iter().copied().eq(0..1_000_000));
}

#[test]
fn wakeups_are_exact_without_cancellation() {
    let mut wheel = Wheel::new();
    let mut random = Random(3);
    for _ in 0..10_000 {
        wheel.insert(nanos(random.distance()), ());
    }
    while let Some(wakeup) = wheel.next_wakeup() {
        assert_eq!(wheel.expire(wakeup), Some((wakeup, ())));
    }
    assert!(wheel.is_empty());
}

#[test]
fn wakeups_for_nothing_are_no_more_than_the_timers_cancelled() {
    let mut wheel = Wheel::new();
    let mut random = Random(4);
    let mut keys: Vec<(u64, TimerKey)> = (0..10_000)
        .map(|_| random.distance())
        .map(|due| (due, wheel.insert(nanos(due), ())))
        .collect();
    keys.sort_unstable();
    // Every bucket loses its earliest timers.
    for (_, key) in keys.iter().filter(|(due, _)| due % 4 != 0) {
        wheel.cancel(*key);
    }
    let (fired, wakeups) = drain(&mut wheel);
    assert!(wakeups <= keys.len());
    assert_eq!(fired.len(), keys.iter().filter(|(due, _)| due % 4 == 0).count());
}

#[test]
fn timers_inserted_and_cancelled_without_end_do_not_pile_up() {
    let mut wheel = Wheel::new();
    let waiting = wheel.insert(nanos(YEAR), 0);
    assert_eq!(wheel.expire(nanos(YEAR - 1)), None);
    for number in 1..100_000 {
        let past = wheel.insert(nanos(number), number);
        let future = wheel.insert(nanos(2 * YEAR + number), number);
        assert_eq!(wheel.cancel(past), Some(number));
        assert_eq!(wheel.cancel(future), Some(number));
    }
    assert!(wheel.ranks_kept() < 100);
    assert_eq!(wheel.due(waiting), Some(nanos(YEAR)));
    assert_eq!(drain(&mut wheel).0, [0]);
}
