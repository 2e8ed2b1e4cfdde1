//! Workloads of a known size, whose instructions `./test` counts.
//!
//! Everything happens on one thread and in the same order each time, so that a count says nothing about the machine.
//! How fast these are is measured by `tidewheel bench`, with more tasks and on more threads.

use anyhow::{Result, bail, ensure};
use tidewheel::{Graph, Priority, Shutdown, Tidewheel};
use tidewheel_core::time::Moment;
use tidewheel_core::timer::Wheel;

use crate::random::Random;

const LAYERS: u64 = 10;
const WIDTH: u64 = 200;
const TIMERS: u64 = 20_000;
const SUBMISSIONS: u64 = 5_000;

/// Runs the workload of this name.
///
/// # Errors
///
/// When there is none, or when it did not do what it should.
pub fn run(name: &str) -> Result<()> {
    match name {
        "graph" => graph(),
        "timers" => timers(),
        "submissions" => submissions(),
        _ => bail!("there are `graph`, `timers` and `submissions`, not `{name}`"),
    }
}

/// Layers of empty tasks, each after up to five of the layer before.
fn graph() -> Result<()> {
    let mut random = Random::new(42);
    let mut edges = Vec::new();
    for task in WIDTH..LAYERS * WIDTH {
        let before = (task / WIDTH - 1) * WIDTH;
        let mut parents: Vec<u64> =
            (0..random.between(1, 5)).map(|_| before + random.below(WIDTH)).collect();
        parents.sort_unstable();
        parents.dedup();
        edges.extend(parents.into_iter().map(|parent| (parent as u32, task as u32)));
    }
    let graph = Graph::numbered((LAYERS * WIDTH) as u32, edges)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let wheel = Tidewheel::builder().slots(1).start();
        wheel
            .run(graph, |task| async move { drop(std::hint::black_box(task)) })
            .concurrency(1)
            .await
    })?;
    ensure!(report.is_success(), "a task failed");
    Ok(())
}

/// Timers over a minute, of which every second one is cancelled before the others expire.
fn timers() -> Result<()> {
    let mut random = Random::new(42);
    let mut wheel: Wheel<[u64; 2]> = Wheel::new();
    let keys: Vec<_> = (0..TIMERS)
        .map(|number| wheel.insert(Moment::from_millis(random.between(1, 60_000)), [number, 0]))
        .collect();
    for key in keys.iter().step_by(2) {
        wheel.cancel(*key);
    }
    let mut fired = 0;
    while let Some(now) = wheel.next_wakeup() {
        while let Some((_, value)) = wheel.expire(now) {
            std::hint::black_box(value);
            fired += 1;
        }
    }
    ensure!(fired == TIMERS / 2, "{fired} of {} timers fired", TIMERS / 2);
    Ok(())
}

/// Single empty tasks of all priorities, all of which wait before the first one starts.
fn submissions() -> Result<()> {
    let mut random = Random::new(42);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let completed = runtime.block_on(async {
        let wheel = Tidewheel::builder().slots(16).start();
        wheel.pause();
        for _ in 0..SUBMISSIONS {
            let priority = Priority::new(random.below(101) as i64);
            wheel.submit(priority, async {}).detach();
        }
        wheel.resume();
        wheel.shutdown(Shutdown::drain()).await;
        wheel.stats().total.completed
    });
    ensure!(completed == SUBMISSIONS, "{completed} of {SUBMISSIONS} tasks were done");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn workloads_do_what_they_should_and_others_are_refused() {
        super::run("graph").expect("it runs");
        super::run("timers").expect("it runs");
        super::run("submissions").expect("it runs");
        let refused = super::run("graphs").expect_err("there is none of this name");
        assert_eq!(
            refused.to_string(),
            "there are `graph`, `timers` and `submissions`, not `graphs`"
        );
    }
}
