//! Figures for the SQLite store, printed. Run with
//! `cargo test --release --features sqlite-bundled --test it sqlite_measure:: -- --ignored --nocapture --test-threads 1`.
//!
//! Nothing here fails because a machine is slow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sqlite_common::{Rig, TestFolder};
use tidewheel::store::sqlite::{Durability, Options, Retention};
use tidewheel::store::{RunFilter, Store as _};
use tidewheel::{Graph, Outcome, TaskState};
use tidewheel_core::input::{Command, Input};
use tidewheel_core::spec::{Profile, RunOptions, RunSpec};

/// Submissions through accepted, running and succeeded, in change sets of `batch`; per second.
fn rate(rig: &mut Rig, batch: usize, time: Duration) -> f64 {
    let started = Instant::now();
    let mut count = 0;
    while started.elapsed() < time {
        let starts = rig.submit(batch);
        rig.end(&starts, || Outcome::Succeeded);
        count += batch;
    }
    count as f64 / started.elapsed().as_secs_f64()
}

#[test]
#[ignore = "prints figures"]
fn submissions_a_second() {
    for durability in [Durability::Process, Durability::Power] {
        for batch in [1, 16, 256] {
            let folder = TestFolder::new();
            let data = folder.open_with(Options::default().durability(durability));
            let mut rig = Rig::open(data.shard("default").unwrap());
            let cpu = cpu_time();
            let before = Instant::now();
            let rate = rate(&mut rig, batch, Duration::from_secs(3));
            let total = rate * before.elapsed().as_secs_f64();
            let cpu = (cpu_time() - cpu).as_secs_f64() * 1e6 / total;
            let log = std::fs::metadata(data.database().with_extension("db-wal")).unwrap().len();
            println!("the log has {} MiB", log >> 20);
            println!("{durability:?} batch {batch}: {rate:.0} a second, {cpu:.1} µs of CPU each");
        }
    }
}

#[test]
#[ignore = "prints figures"]
fn restoring_100_000_submissions() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    for _ in 0..100 {
        rig.submit(1_000);
    }
    drop(rig);
    let started = Instant::now();
    let (_, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
    println!("{} submissions read in {:?}", snapshot.submissions.len(), started.elapsed());
    assert_eq!(snapshot.submissions.len(), 100_000);
}

#[test]
#[ignore = "prints figures"]
fn restoring_a_run_of_100_000_tasks() {
    let folder = TestFolder::new();
    let data = folder.open();
    let mut rig = Rig::open(data.shard("default").unwrap());
    let graph = Graph::numbered(100_000, (1..100_000).map(|index| (index / 10, index))).unwrap();
    let spec = RunSpec::new(Arc::new(graph), RunOptions::default(), Profile::default());
    let command = Command::SubmitRun { id: rig.id(), spec: Arc::new(spec) };
    let mut starts = rig.turn(vec![Input::Command(command)]);
    let mut ended = 0;
    let started = Instant::now();
    while ended < 50_000 {
        let rest = starts.split_off(starts.len().min(500));
        let more = rig.end(&starts, || Outcome::Succeeded);
        ended += starts.len();
        starts = rest;
        starts.extend(more);
    }
    println!("{ended} tasks of a run ended in {:?}", started.elapsed());
    drop(rig);
    let started = Instant::now();
    let (_, snapshot) = data.shard("default").unwrap().take_tenure().unwrap();
    println!("a run with {} rows read in {:?}", snapshot.runs[0].tasks.len(), started.elapsed());
}

/// Turn by turn on two stores, so that whatever else the machine does is the same for both.
#[test]
#[ignore = "prints figures"]
fn with_a_million_finished_and_with_none() {
    let (full, empty) = (TestFolder::new(), TestFolder::new());
    let (full_data, empty_data) = (full.open(), empty.open());
    let mut full = Rig::open(full_data.shard("default").unwrap());
    let started = Instant::now();
    for _ in 0..1_000 {
        let starts = full.submit(1_000);
        full.end(&starts, || Outcome::Succeeded);
    }
    println!("a million finished took {:?}", started.elapsed());
    let size = std::fs::metadata(full_data.database()).unwrap().len();
    println!("the database is {} MiB", size >> 20);
    let mut empty = Rig::open(empty_data.shard("default").unwrap());
    let mut costs = [(0.0, 0.0, 0.0); 2];
    for _ in 0..20 {
        for (rig, cost) in [&mut full, &mut empty].into_iter().zip(&mut costs) {
            let (cpu, started) = (cpu_time(), Instant::now());
            let mut count = 0.0;
            while started.elapsed() < Duration::from_millis(200) {
                let starts = rig.submit(256);
                rig.end(&starts, || Outcome::Succeeded);
                count += 256.0;
            }
            cost.0 += count;
            cost.1 += started.elapsed().as_secs_f64();
            cost.2 += (cpu_time() - cpu).as_secs_f64();
        }
    }
    for (what, (count, time, cpu)) in ["a million finished", "none finished"].iter().zip(costs) {
        println!("{what}: {:.0} a second, {:.1} µs of CPU each", count / time, cpu * 1e6 / count);
    }
    let reader = full_data.reader().unwrap();
    let started = Instant::now();
    let page = reader.runs(&RunFilter::default()).unwrap();
    println!("the newest {} listed in {:?}", page.len(), started.elapsed());
    let filter = RunFilter { states: vec![TaskState::Failed], ..RunFilter::default() };
    let started = Instant::now();
    let page = reader.runs(&filter).unwrap();
    println!("the failed {} listed in {:?}", page.len(), started.elapsed());
    let started = Instant::now();
    println!("{:?} counted in {:?}", reader.counts().unwrap().ended, started.elapsed());
    let slowest = std::thread::scope(|scope| {
        let pruning = scope.spawn(|| {
            let started = Instant::now();
            let retention = Retention { count_max: Some(900_000), ..Retention::default() };
            let pruned = full_data.prune(retention).unwrap();
            println!("{} pruned in {:?}", pruned.runs, started.elapsed());
        });
        let mut times = Vec::new();
        while !pruning.is_finished() {
            let started = Instant::now();
            let starts = full.submit(10);
            full.end(&starts, || Outcome::Succeeded);
            times.push(started.elapsed() / 2);
            // sleeps: between two measurements
            std::thread::sleep(Duration::from_millis(5));
        }
        times.sort();
        (times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1])
    });
    println!("commits beside it took {slowest:?} (half, 99 of 100, all)");
    drop(full);
    let started = Instant::now();
    full_data.shard("default").unwrap().take_tenure().unwrap();
    println!("an empty snapshot beside a million finished took {:?}", started.elapsed());
}

fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or("").split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}
