//! Simulated makespans against optima: of small graphs by enumeration, of published task graphs by proved bounds.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel_cli::simulate::{Order, Plan, Problem, Task};

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

/// A graph of a few tasks, with units of one resource.
struct Small {
    durations: Vec<u64>,
    predecessors: Vec<Vec<u32>>,
    units: Vec<u32>,
    capacity: u32,
}

impl Small {
    /// Seven tasks drawn by a linear congruential generator.
    fn random(random: &mut u64) -> Self {
        let mut below = |bound: u64| {
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (*random >> 33) % bound
        };
        let durations = (0..7).map(|_| 1 + below(9)).collect();
        let predecessors =
            (0..7).map(|index| (0..index).filter(|_| below(4) == 0).collect()).collect();
        let units = (0..7).map(|_| 1 + u32::try_from(below(3)).unwrap_or_default()).collect();
        Self { durations, predecessors, units, capacity: 4 }
    }

    fn problem(&self) -> Problem {
        let mut problem = Problem::default();
        problem.capacity.insert("r".to_owned(), self.capacity);
        for (index, duration) in self.durations.iter().enumerate() {
            let mut task = task(index, *duration, &self.predecessors[index]);
            task.resources.insert("r".to_owned(), self.units[index]);
            problem.tasks.push(task);
        }
        problem
    }

    /// The same graph on slots: each task takes one of so many.
    fn on_slots(&self, slots: u32) -> Self {
        Self {
            durations: self.durations.clone(),
            predecessors: self.predecessors.clone(),
            units: vec![1; self.durations.len()],
            capacity: slots,
        }
    }

    /// Returns the least makespan: one of the active schedules has it, and those are the earliest schedules of all
    /// orders.
    fn optimum(&self) -> u64 {
        let total = usize::try_from(self.durations.iter().sum::<u64>()).unwrap_or(usize::MAX);
        let mut ends = vec![None; self.durations.len()];
        let mut best = u64::MAX;
        self.place(&mut ends, &mut vec![0; total], &mut best);
        best
    }

    /// Places one more task as early as possible, in all ways; `used` holds the units in use at each second.
    fn place(&self, ends: &mut Vec<Option<usize>>, used: &mut Vec<u32>, best: &mut u64) {
        let end = ends.iter().flatten().copied().max().unwrap_or(0) as u64;
        if end >= *best {
            return;
        }
        if ends.iter().all(Option::is_some) {
            *best = end;
            return;
        }
        for index in 0..ends.len() {
            let before: Option<Vec<usize>> =
                self.predecessors[index].iter().map(|it| ends[*it as usize]).collect();
            let (None, Some(before)) = (ends[index], before) else { continue };
            let (length, units) = (self.durations[index] as usize, self.units[index]);
            let fits = |start: &usize| {
                used[*start..start + length].iter().all(|used| used + units <= self.capacity)
            };
            let start = (before.into_iter().max().unwrap_or(0)..).find(fits).unwrap_or_default();
            used[start..start + length].iter_mut().for_each(|used| *used += units);
            ends[index] = Some(start + length);
            self.place(ends, used, best);
            ends[index] = None;
            used[start..start + length].iter_mut().for_each(|used| *used -= units);
        }
    }
}

#[test]
fn enumeration_finds_known_optima() {
    let small = |durations: &[u64], predecessors: &[&[u32]], units: &[u32], capacity| Small {
        durations: durations.to_vec(),
        predecessors: predecessors.iter().map(|before| before.to_vec()).collect(),
        units: units.to_vec(),
        capacity,
    };
    // Two slots: 3+3 beside 2+2+2; in the order of the file 3+2 beside 3+2+2.
    assert_eq!(small(&[3, 3, 2, 2, 2], &[&[][..]; 5], &[1; 5], 2).optimum(), 6);
    // A chain of 1 and 5 decides, the other work fits beside it.
    assert_eq!(small(&[1, 5, 3, 2], &[&[], &[0], &[], &[]], &[1; 4], 2).optimum(), 6);
    // Nothing fits beside the first task, the other two share.
    assert_eq!(small(&[2, 3, 3], &[&[][..]; 3], &[4, 2, 2], 4).optimum(), 5);
    // One slot: all work, one after the other.
    assert_eq!(small(&[1, 2, 4, 1], &[&[], &[0], &[0], &[1, 2]], &[1; 4], 1).optimum(), 8);
}

#[test]
fn critical_path_order_is_near_the_optimum_of_small_graphs() {
    let mut random = 1;
    let mut gaps: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..100 {
        let small = Small::random(&mut random);
        for slots in [1, 2, 3] {
            let optimum = small.on_slots(slots).optimum();
            let mut problem = small.on_slots(slots).problem();
            problem.capacity.clear();
            problem.tasks.iter_mut().for_each(|task| task.resources.clear());
            for order in [Order::CriticalPath, Order::Fifo] {
                let plan = problem.run(Some(slots), order).expect("a valid problem");
                assert_valid(&problem, &plan);
                assert!(plan.makespan >= Duration::from_secs(optimum), "below the optimum");
                let gap = plan.makespan.as_secs_f64() / optimum as f64 - 1.0;
                gaps.entry(order.word()).or_default().push(gap);
            }
        }
    }
    let (ours, plain) = (mean(&gaps["critical-path"]), mean(&gaps["fifo"]));
    assert!(
        ours <= 0.01 && ours < plain,
        "mean gaps {ours:.4}, in the order of the file {plain:.4}"
    );
}

#[test]
fn several_resources_are_shared_near_the_optimum_of_small_graphs() {
    let mut random = 2;
    let mut gaps: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..100 {
        let small = Small::random(&mut random);
        let (problem, optimum) = (small.problem(), small.optimum());
        for order in [Order::CriticalPath, Order::Fifo] {
            let plan = problem.run(None, order).expect("a valid problem");
            assert_valid(&problem, &plan);
            assert!(plan.makespan >= Duration::from_secs(optimum), "below the optimum");
            let gap = plan.makespan.as_secs_f64() / optimum as f64 - 1.0;
            gaps.entry(order.word()).or_default().push(gap);
        }
    }
    let (ours, plain) = (mean(&gaps["critical-path"]), mean(&gaps["fifo"]));
    assert!(
        ours <= 0.05 && ours < plain,
        "mean gaps {ours:.4}, in the order of the file {plain:.4}"
    );
}

/// Published task graphs with proved bounds.
mod shared_data {
    use std::collections::BTreeMap;
    use std::process::Command;
    use std::time::Duration;

    use serde::Deserialize;
    use tidewheel_cli::simulate::{Order, Problem};
    use tidewheel_testing::shared_data;

    use super::{assert_valid, mean, task};

    /// Returns the text of a packed file.
    fn unpacked(path: &str) -> String {
        let program = if path.ends_with(".xz") { "xz" } else { "gzip" };
        let output = Command::new(program).arg("-dc").arg(shared_data(path)).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(output.status.success(), "{program} cannot unpack {path}");
        String::from_utf8(output.stdout).expect("the data is text")
    }

    fn lines<T: for<'de> Deserialize<'de>>(text: &str) -> Vec<T> {
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
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
    #[ignore = "needs the shared data: ./test data"]
    fn critical_path_order_is_within_one_percent_of_the_proved_bound() {
        for file in ["stg50.jsonl.gz", "stg100.jsonl.gz", "stg1000.jsonl.xz"] {
            let text = unpacked(&format!("stg/{file}"));
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
                        assert!(
                            plan.makespan >= Duration::from_secs(lower),
                            "below a proved bound"
                        );
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
    #[ignore = "needs the shared data: ./test data"]
    fn several_resources_are_shared_no_worse_than_by_a_plain_dispatcher() {
        let mut worse = Vec::new();
        for set in ["j30", "j60", "j90", "j120", "patterson", "rg30"] {
            let text = unpacked(&format!("psplib/{set}.jsonl.gz"));
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
}
