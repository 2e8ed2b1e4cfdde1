//! The workload `timers`: the timing wheel of the core alone, in virtual time.
//!
//! Values are as large as those the scheduler keeps in it.

use std::time::{Duration, Instant};

use anyhow::anyhow;
use tidewheel_core::time::Moment;
use tidewheel_core::timer::Wheel;

use super::command::TimersArgs;
use super::dag::{Random, failed};
use super::measurement::{Measurement, resident_memory};
use crate::error::CommandError;

/// What the scheduler keeps with a timer.
type Value = [u64; 2];

pub(super) fn measure(args: &TimersArgs) -> Result<Measurement, CommandError> {
    let count = args.count;
    let times = Times::taken(count)?;
    let cancelled = count.div_ceil(2);
    let per = |time: Duration, count: u64| {
        format!("{:.1} ns", time.as_nanos() as f64 / count.max(1) as f64)
    };
    Ok(Measurement {
        workload: "W5",
        variant: format!("n={count}"),
        n: count,
        run: times.insert + times.cancel + times.expire,
        build: Duration::ZERO,
        details: vec![
            ("insert", per(times.insert, count)),
            ("cancel", per(times.cancel, cancelled)),
            ("expire", per(times.expire, count - cancelled)),
            ("memory per timer", format!("{} bytes", times.memory / count)),
        ],
        figures: Vec::new(),
    })
}

/// How long each part took for all timers.
pub(super) struct Times {
    pub insert: Duration,
    pub cancel: Duration,
    pub expire: Duration,
    memory: u64,
}

impl Times {
    pub fn taken(count: u64) -> Result<Self, CommandError> {
        let mut random = Random(42);
        let memory_before = resident_memory();
        let started = Instant::now();
        let mut wheel: Wheel<Value> = Wheel::new();
        let mut keys = Vec::new();
        for number in 0..count {
            keys.push(wheel.insert(deadline(&mut random), [number, 0]));
        }
        let insert = started.elapsed();
        let memory = resident_memory().saturating_sub(memory_before);

        let started = Instant::now();
        for key in keys.iter().step_by(2) {
            wheel.cancel(*key);
        }
        let cancel = started.elapsed();

        let started = Instant::now();
        let (mut fired, mut last, mut is_ordered) = (0, Moment::ZERO, true);
        while let Some(now) = wheel.next_wakeup() {
            while let Some((due, value)) = wheel.expire(now) {
                std::hint::black_box(value);
                is_ordered &= last <= due && due <= now;
                last = due;
                fired += 1;
            }
        }
        let expire = started.elapsed();
        if fired != count / 2 || !is_ordered {
            return Err(failed(anyhow!("{fired} of {} timers fired in order", count / 2)));
        }
        Ok(Self { insert, cancel, expire, memory })
    }
}

/// Uniform over 60 s at a grain of 1 ms.
fn deadline(random: &mut Random) -> Moment {
    Moment::from_millis((random.next() >> 33) % 60_000 + 1)
}
