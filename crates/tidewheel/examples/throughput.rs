//! How fast no-op tasks go through a wheel, beside tokio's own spawn.
//!
//! `cargo run --release -p tidewheel --example throughput [chain|wide|layered|spawn|submit]`
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tidewheel::{Graph, Tidewheel};

const TASKS: u32 = 100_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let shapes: [(&str, Vec<(u32, u32)>); 3] = [
            ("chain", (1..TASKS).map(|task| (task - 1, task)).collect()),
            ("wide", (1..TASKS).map(|task| (0, task)).collect()),
            ("layered", layered()),
        ];
        let wanted = std::env::args().nth(1);
        let is_wanted = |name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
        for (name, edges) in shapes.into_iter().filter(|(name, _)| is_wanted(name)) {
            let graph = Arc::new(Graph::numbered(TASKS, edges).unwrap());
            let (mut best, mut best_start) = (Duration::MAX, Duration::MAX);
            for _ in 0..5 {
                let wheel = Tidewheel::builder().start();
                let count = Arc::new(AtomicU64::new(0));
                let counted = count.clone();
                let start = Instant::now();
                let run = wheel
                    .run(graph.clone(), move |_| {
                        counted.fetch_add(1, Ordering::Relaxed);
                        std::future::ready(())
                    })
                    .concurrency(2)
                    .start()
                    .unwrap();
                best_start = best_start.min(start.elapsed());
                run.await.unwrap();
                best = best.min(start.elapsed());
                assert_eq!(count.load(Ordering::Relaxed), u64::from(TASKS));
            }
            println!("run {name}: {:.3} us a task (start {best_start:.1?})", per_task(best));
        }
        let mut best = Duration::MAX;
        for _ in 0..if is_wanted("spawn") { 5 } else { 0 } {
            let start = Instant::now();
            let tasks: Vec<_> = (0..TASKS).map(|_| tokio::spawn(std::future::ready(()))).collect();
            for task in tasks {
                task.await.unwrap();
            }
            best = best.min(start.elapsed());
        }
        println!("tokio spawn and join: {:.3} us a task", per_task(best));
        for slots in if is_wanted("submit") { &[None, Some(4)][..] } else { &[] } {
            let slots = *slots;
            let mut best = Duration::MAX;
            for _ in 0..5 {
                let mut builder = Tidewheel::builder();
                if let Some(slots) = slots {
                    builder = builder.slots(slots);
                }
                let wheel = builder.start();
                let start = Instant::now();
                let submissions: Vec<_> = (0..TASKS)
                    .map(|task| wheel.submit((task % 100) as i32, std::future::ready(task)))
                    .collect();
                for submission in submissions {
                    submission.await.unwrap();
                }
                best = best.min(start.elapsed());
            }
            println!("submit, slots {slots:?}: {:.3} us a task", per_task(best));
        }
    });
}

fn per_task(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6 / f64::from(TASKS)
}

/// Layers of 100 tasks, each waiting for three of the layer before.
fn layered() -> Vec<(u32, u32)> {
    (100..TASKS)
        .flat_map(|task| {
            let layer = task / 100 - 1;
            (0..3).map(move |step| (layer * 100 + (task * 7 + step * 31) % 100, task))
        })
        .collect()
}
