//! Times the wheel against a heap and prints the figures of the timers design page.
//!
//! Nothing is asserted about time here; behaviour is tested in [`super::tests`].
//!
//! One structure per process, so that peak memory is its own:
//!
//! ```text
//! cargo test --release -p tidewheel-core timer::measure::wheel_1m -- --ignored --nocapture
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use crate::time::Moment;

use super::heap::Heap;
use super::wheel::Wheel;

type Value = [u64; 2];

/// Deadlines uniform over 60 s at a grain of 1 ms, from xorshift64* with a fixed seed.
struct Deadlines(u64);

impl Deadlines {
    fn next(&mut self) -> Moment {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        Moment::from_millis((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % 60_000 + 1)
    }
}

/// What every contender can do.
trait Timers {
    type Key: Copy;
    fn insert(&mut self, due: Moment, value: Value) -> Self::Key;
    fn cancel(&mut self, key: Self::Key) -> Option<Value>;
    fn next_wakeup(&self) -> Option<Moment>;
    fn expire(&mut self, now: Moment) -> Option<(Moment, Value)>;
}

impl Timers for Wheel<Value> {
    type Key = super::TimerKey;
    fn insert(&mut self, due: Moment, value: Value) -> Self::Key {
        self.insert(due, value)
    }
    fn cancel(&mut self, key: Self::Key) -> Option<Value> {
        self.cancel(key)
    }
    fn next_wakeup(&self) -> Option<Moment> {
        self.next_wakeup()
    }
    fn expire(&mut self, now: Moment) -> Option<(Moment, Value)> {
        self.expire(now)
    }
}

impl Timers for Heap<Value> {
    type Key = super::heap::HeapKey;
    fn insert(&mut self, due: Moment, value: Value) -> Self::Key {
        self.insert(due, value)
    }
    fn cancel(&mut self, key: Self::Key) -> Option<Value> {
        self.cancel(key)
    }
    fn next_wakeup(&self) -> Option<Moment> {
        self.next_wakeup()
    }
    fn expire(&mut self, now: Moment) -> Option<(Moment, Value)> {
        self.expire(now)
    }
}

/// The usual heap scheduler: cancelled timers stay in the heap until their time comes, and their
/// values are never reused. `u32` is the order of insertion.
#[derive(Default)]
struct Tombstones {
    heap: BinaryHeap<Reverse<(Moment, u32)>>,
    values: Vec<Option<Value>>,
}

impl Timers for Tombstones {
    type Key = u32;
    fn insert(&mut self, due: Moment, value: Value) -> u32 {
        let key = self.values.len() as u32;
        self.values.push(Some(value));
        self.heap.push(Reverse((due, key)));
        key
    }
    fn cancel(&mut self, key: u32) -> Option<Value> {
        self.values[key as usize].take()
    }
    fn next_wakeup(&self) -> Option<Moment> {
        self.heap.peek().map(|Reverse((due, _))| *due)
    }
    fn expire(&mut self, now: Moment) -> Option<(Moment, Value)> {
        while let Some(&Reverse((due, key))) = self.heap.peek().filter(|top| top.0.0 <= now) {
            self.heap.pop();
            if let Some(value) = self.values[key as usize].take() {
                return Some((due, value));
            }
        }
        None
    }
}

fn measure<S: Timers>(name: &str, count: usize, mut timers: S) {
    let mut deadlines = Deadlines(42);
    let resident_before = memory("VmRSS");

    let started = Instant::now();
    let mut keys = Vec::new();
    for number in 0..count as u64 {
        keys.push(timers.insert(deadlines.next(), [number, !number]));
    }
    let insert = started.elapsed();
    let resident = memory("VmRSS") - resident_before;

    let started = Instant::now();
    for key in keys.iter().step_by(2) {
        assert!(timers.cancel(*key).is_some());
    }
    let cancel = started.elapsed();

    let started = Instant::now();
    let mut fired = 0;
    let mut last = Moment::ZERO;
    let mut wakeups = 0;
    while let Some(wakeup) = timers.next_wakeup() {
        wakeups += 1;
        while let Some((due, value)) = timers.expire(wakeup) {
            assert!(last <= due && due <= wakeup && value[0] == !value[1]);
            last = due;
            fired += 1;
        }
    }
    let expire = started.elapsed();

    assert_eq!(fired, count / 2);
    let per = |time: std::time::Duration, operations: usize| time.as_nanos() / operations as u128;
    println!(
        "{name} {count}: total {:.3} s, insert {} ns, cancel {} ns, expire {} ns, {} B/timer, \
         peak {} B/timer, {wakeups} wakeups",
        (insert + cancel + expire).as_secs_f64(),
        per(insert, count),
        per(cancel, count / 2),
        per(expire, count / 2),
        resident / count,
        (memory("VmHWM") - resident_before) / count,
    );
}

/// A line of the process's memory figures, in bytes; zero where there are none.
fn memory(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[test]
#[ignore = "a measurement"]
fn wheel_1m() {
    measure("wheel", 1_000_000, Wheel::new());
}

#[test]
#[ignore = "a measurement"]
fn wheel_10m() {
    measure("wheel", 10_000_000, Wheel::new());
}

#[test]
#[ignore = "a measurement"]
fn indexed_heap_1m() {
    measure("indexed 4-ary heap", 1_000_000, Heap::new());
}

#[test]
#[ignore = "a measurement"]
fn indexed_heap_10m() {
    measure("indexed 4-ary heap", 10_000_000, Heap::new());
}

#[test]
#[ignore = "a measurement"]
fn tombstone_heap_1m() {
    measure("BinaryHeap with tombstones", 1_000_000, Tombstones::default());
}

#[test]
#[ignore = "a measurement"]
fn tombstone_heap_10m() {
    measure("BinaryHeap with tombstones", 10_000_000, Tombstones::default());
}

#[test]
#[ignore = "a measurement"]
fn wheel_10m_of_one_instant() {
    let count = 10_000_000_u64;
    let resident_before = memory("VmRSS");
    let mut wheel = Wheel::new();
    let due = Moment::from_millis(1 << 40);
    let started = Instant::now();
    for number in 0..count {
        wheel.insert(due, [number, !number]);
    }
    let insert = started.elapsed();
    let started = Instant::now();
    let mut fired = 0;
    while let Some((_, value)) = wheel.expire(due) {
        assert_eq!(value[0], fired);
        fired += 1;
    }
    assert_eq!(fired, count);
    println!(
        "one instant {count}: insert {} ns, expire {} ns, peak {} B/timer",
        insert.as_nanos() / u128::from(count),
        started.elapsed().as_nanos() / u128::from(count),
        (memory("VmHWM") - resident_before) / count as usize,
    );
}
