//! Simulated makespans against the published task graphs with proved bounds.
//!
//! The data lies beside the workspace; where it is not there, these tests are skipped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use tidewheel_cli::simulate::{Order, Plan, Problem, Task};

use tidewheel_testing::skipped;

const MISSING: &str = "the task graphs are not beside this clone";

/// A file of the shared data, unpacked; `None` where it is not there.
fn unpacked(path: &str) -> Option<String> {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(path);
    if !file.exists() {
        return None;
    }
    let program = if path.ends_with(".xz") { "xz" } else { "gzip" };
    let output = Command::new(program).arg("-dc").arg(&file).output().ok()?;
    assert!(output.status.success(), "{program} could not unpack {}", file.display());
    Some(String::from_utf8(output.stdout).expect("the data is text"))
}

fn lines<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn task(index: usize, duration: u64, predecessors: &[u32]) -> Task {
    Task {
        name: index.to_string(),
        duration: Duration::from_secs(duration),
        after: predecessors.iter().map(u32::to_string).collect(),
        ..Task::default()
    }
}

/// Dependencies, durations, slots and capacities, recomputed from the plan alone.
fn assert_valid(problem: &Problem, plan: &Plan) {
    let index: BTreeMap<&str, usize> =
        problem.tasks.iter().enumerate().map(|(index, task)| (task.name.as_str(), index)).collect();
    let mut changes = Vec::new();
    for (task, planned) in problem.tasks.iter().zip(&plan.tasks) {
        assert_eq!(planned.end - planned.start, task.duration, "task {}", task.name);
        for before in &task.after {
            assert!(plan.tasks[index[before.as_str()]].end <= planned.start, "task {}", task.name);
        }
        if task.duration > Duration::ZERO {
            changes.push((planned.end, 0, -1, task, planned.slot));
            changes.push((planned.start, 1, 1, task, planned.slot));
        }
    }
    changes.sort_by_key(|(at, kind, ..)| (*at, *kind));
    let mut running = 0;
    let mut used: BTreeMap<&str, i64> = BTreeMap::new();
    let mut taken: BTreeMap<u32, i64> = BTreeMap::new();
    for (at, _, sign, task, slot) in changes {
        running += sign;
        assert!(plan.slots.is_none_or(|slots| running <= i64::from(slots)), "slots at {at:?}");
        let holders = taken.entry(slot).or_default();
        *holders += sign;
        assert!((0..=1).contains(holders), "slot {slot} at {at:?}");
        for (resource, units) in &task.resources {
            let held = used.entry(resource).or_default();
            *held += sign * i64::from(*units);
            assert!(*held <= i64::from(problem.capacity[resource]), "{resource} at {at:?}");
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[derive(Deserialize)]
struct StandardGraph {
    dur: Vec<u64>,
    pred: Vec<Vec<u32>>,
    best: BTreeMap<String, Best>,
}

#[derive(Deserialize)]
struct Best {
    lower: u64,
}

#[test]
fn critical_path_order_is_within_one_percent_of_the_proved_bound() {
    let name = "critical_path_order_is_within_one_percent_of_the_proved_bound";
    for file in ["stg50.jsonl.gz", "stg100.jsonl.gz", "stg1000.jsonl.xz"] {
        let Some(text) = unpacked(&format!("stg/{file}")) else { return skipped(name, MISSING) };
        let mut gaps: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for graph in lines::<StandardGraph>(&text) {
            let tasks = graph.dur.iter().zip(&graph.pred).enumerate();
            let tasks = tasks.map(|(index, (duration, before))| task(index, *duration, before));
            let problem = Problem { tasks: tasks.collect(), ..Problem::default() };
            for slots in [2, 4, 8, 16] {
                let lower = graph.best[&slots.to_string()].lower;
                for order in [Order::CriticalPath, Order::Fifo] {
                    let plan = problem.run(Some(slots), order).expect("a valid problem");
                    assert_valid(&problem, &plan);
                    assert!(plan.makespan >= Duration::from_secs(lower), "below a proved bound");
                    let gap = plan.makespan.as_secs_f64() / lower as f64 - 1.0;
                    gaps.entry(order.word()).or_default().push(gap);
                }
            }
        }
        let figures = gaps.iter().map(|(order, gaps)| (order, 100.0 * mean(gaps)));
        println!("{file}: mean gap in percent {:.2?}", figures.collect::<BTreeMap<_, _>>());
        assert!(mean(&gaps["critical-path"]) <= 0.01, "{file}");
    }
}

#[derive(Deserialize)]
struct ResourceProblem {
    dur: Vec<u64>,
    pred: Vec<Vec<u32>>,
    req: Vec<Vec<u32>>,
    cap: Vec<u32>,
    best: u64,
    best_lower: u64,
    lft_list: u64,
}

impl ResourceProblem {
    fn problem(&self) -> Problem {
        let mut problem = Problem::default();
        for (resource, capacity) in self.cap.iter().enumerate() {
            problem.capacity.insert(format!("r{resource}"), *capacity);
        }
        for (index, (duration, before)) in self.dur.iter().zip(&self.pred).enumerate() {
            let mut task = task(index, *duration, before);
            let needs = self.req[index].iter().enumerate().filter(|(_, units)| **units > 0);
            task.resources =
                needs.map(|(resource, units)| (format!("r{resource}"), *units)).collect();
            problem.tasks.push(task);
        }
        problem
    }
}

#[test]
fn several_resources_are_shared_no_worse_than_by_a_plain_dispatcher() {
    let name = "several_resources_are_shared_no_worse_than_by_a_plain_dispatcher";
    let mut worse = Vec::new();
    for set in ["j30", "j60", "j90", "j120", "patterson", "rg30"] {
        let Some(text) = unpacked(&format!("psplib/{set}.jsonl.gz")) else {
            return skipped(name, MISSING);
        };
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for instance in lines::<ResourceProblem>(&text) {
            let problem = instance.problem();
            let plan = problem.run(None, Order::CriticalPath).expect("a valid problem");
            assert_valid(&problem, &plan);
            assert!(plan.makespan >= Duration::from_secs(instance.best_lower));
            ours.push(plan.makespan.as_secs_f64() / instance.best as f64 - 1.0);
            plain.push(instance.lft_list as f64 / instance.best as f64 - 1.0);
        }
        let (ours, plain) = (100.0 * mean(&ours), 100.0 * mean(&plain));
        println!("{set}: mean gap {ours:.2} %, plain dispatcher {plain:.2} %");
        if ours > plain {
            worse.push(set);
        }
    }
    assert!(worse.is_empty(), "worse than the plain dispatcher on {worse:?}");
}
