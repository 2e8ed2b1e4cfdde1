//! The workload `priority`: single empty tasks of mixed priorities through [`Tidewheel::submit`].
//!
//! Ageing and statistics are on, as they are for everybody.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tidewheel::{Priority, Shutdown, Tidewheel};
use tokio::sync::Notify;

use super::command::{Mode, PriorityArgs};
use super::dag::{failed, runtime};
use super::measurement::{Measurement, thousands};
use crate::error::CommandError;

pub(super) fn measure(args: &PriorityArgs) -> Result<Measurement, CommandError> {
    let runtime = runtime(args.threads)?;
    let wheel = {
        let _context = runtime.enter();
        Tidewheel::builder().slots(args.slots).start()
    };
    let done = Arc::new(Done { count: AtomicU64::new(0), all: args.tasks, signal: Notify::new() });
    let started = Instant::now();
    let mut submitting = None;
    match args.mode {
        Mode::Backlog => {
            wheel.pause();
            submit_all(&wheel, &done);
            submitting = Some(started.elapsed());
            wheel.resume();
        }
        Mode::Stream => {
            let (wheel, done) = (wheel.clone(), Arc::clone(&done));
            runtime.spawn_blocking(move || submit_all(&wheel, &done));
        }
    }
    runtime.block_on(done.signal.notified());
    let run = started.elapsed();
    // The figures are complete once everything that ran has been seen to end.
    runtime.block_on(wheel.shutdown(Shutdown::drain()));
    let figures = wheel.stats().total;
    if figures.completed != args.tasks {
        let completed = figures.completed;
        return Err(failed(anyhow!("{completed} of {} tasks are counted", args.tasks)));
    }
    let mut details = vec![
        ("threads, slots", format!("{}, {}", args.threads, args.slots)),
        ("high, low", {
            let (high, low) = (figures.high_priority_completed, figures.low_priority_completed);
            format!("{}, {}", thousands(high), thousands(low))
        }),
        ("promotions", thousands(figures.promotions)),
    ];
    if let Some(submitting) = submitting {
        details.push(("submitted in", format!("{:.3} s", submitting.as_secs_f64())));
    }
    let variant = args.mode.word().to_owned();
    let build = Duration::ZERO;
    let figures = Vec::new();
    Ok(Measurement { workload: "W6", variant, n: args.tasks, run, build, details, figures })
}

struct Done {
    count: AtomicU64,
    all: u64,
    signal: Notify,
}

fn submit_all(wheel: &Tidewheel, done: &Arc<Done>) {
    for number in 0..done.all {
        let done = Arc::clone(done);
        let task = async move {
            if done.count.fetch_add(1, Ordering::AcqRel) + 1 == done.all {
                done.signal.notify_one();
            }
        };
        wheel.submit(priority(number), task).detach();
    }
}

/// 0 to 100, mixed, the same in every run.
fn priority(number: u64) -> Priority {
    Priority::new(((number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % 101) as i64)
}
