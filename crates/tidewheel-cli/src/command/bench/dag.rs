//! The workload `dag`: a graph of empty tasks through [`Tidewheel::run`].
//!
//! Also the graphs: read from an edge list, or made.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use tidewheel::{Graph, Tidewheel};
use tokio::runtime::{Builder, Runtime};

use super::command::{DagArgs, Shape};
use super::measurement::{Measurement, peak_memory, resident_memory};
use crate::error::{CommandError, ErrorKind};

type Edges = Vec<(u32, u32)>;

pub(super) fn measure(args: &DagArgs) -> Result<Measurement, CommandError> {
    let shape = args.shape.unwrap_or(Shape::Layered);
    let (variant, task_count, edges) = graph_of(args.graph.as_deref(), shape, args.tasks)?;
    let runtime = runtime(args.threads)?;
    let memory_before = resident_memory();
    let started = Instant::now();
    let graph = Graph::numbered(task_count, edges).map_err(CommandError::input)?;
    let build = started.elapsed();
    let slots = args.slots.unwrap_or(args.threads);
    let run = runtime.block_on(run(Arc::new(graph), slots))?;
    let growth = peak_memory().saturating_sub(memory_before);
    let per_task = growth / u64::from(task_count).max(1);
    Ok(Measurement {
        workload: "W1",
        variant,
        n: u64::from(task_count),
        run,
        build,
        details: vec![
            ("memory per task", format!("{per_task} bytes with the graph")),
            ("threads, slots", format!("{}, {slots}", args.threads)),
        ],
        figures: Vec::new(),
    })
}

/// The graph in a file, or one that is made: what to call it, its tasks and its edges.
pub(super) fn graph_of(
    file: Option<&Path>,
    shape: Shape,
    tasks: u32,
) -> Result<(String, u32, Edges), CommandError> {
    let Some(file) = file else {
        return Ok((shape.word().to_owned(), tasks, made(shape, tasks)));
    };
    let (task_count, edges) = read(file).map_err(|error| {
        CommandError::input(error)
            .hint("the first line is `tasks edges`, each other one `before after`")
    })?;
    Ok((variant_of(file), task_count, edges))
}

async fn run(graph: Arc<Graph>, slots: u32) -> Result<Duration, CommandError> {
    let wheel = Tidewheel::builder().slots(slots).start();
    // On a thread of the runtime from the start, as in a program that is asynchronous throughout.
    let measured = tokio::spawn(async move {
        let started = Instant::now();
        let report = wheel
            .run(graph, |task| async move {
                empty(task.index());
            })
            .concurrency(slots)
            .await;
        let elapsed = started.elapsed();
        report.map(|report| (elapsed, report.is_success()))
    });
    match measured.await {
        Ok(Ok((elapsed, true))) => Ok(elapsed),
        Ok(Ok((_, false))) => Err(failed(anyhow!("a task failed"))),
        Ok(Err(error)) => Err(failed(error.into())),
        Err(error) => Err(failed(error.into())),
    }
}

/// The work: called, and not optimised away.
#[inline(never)]
fn empty(index: u32) -> u32 {
    std::hint::black_box(index)
}

pub(super) fn failed(error: anyhow::Error) -> CommandError {
    CommandError::new(ErrorKind::Failed, error.context("the workload did not run to its end"))
}

/// With one thread everything happens on it, in the same order each time.
pub(super) fn runtime(threads: u32) -> Result<Runtime, CommandError> {
    let runtime = if threads == 1 {
        Builder::new_current_thread().enable_all().build()
    } else {
        Builder::new_multi_thread().worker_threads(threads as usize).enable_all().build()
    };
    runtime.map_err(|error| failed(error.into()))
}

/// The shape a file is named for, or else its name.
fn variant_of(file: &Path) -> String {
    let stem = file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let shapes = [Shape::Chain, Shape::Wide, Shape::Layered];
    match shapes.into_iter().find(|shape| stem.starts_with(shape.word())) {
        Some(shape) => shape.word().to_owned(),
        None => stem,
    }
}

/// Reads an edge list line by line, so that memory is what the graph needs.
fn read(file: &Path) -> anyhow::Result<(u32, Edges)> {
    let name = &file.display();
    let opened = std::fs::File::open(file).with_context(|| format!("failed to open {name}"))?;
    let mut reader = BufReader::new(opened);
    let mut line = String::new();
    let mut number = 0;
    let mut pair = || -> anyhow::Result<Option<(u32, u32)>> {
        line.clear();
        number += 1;
        if reader.read_line(&mut line).with_context(|| format!("failed to read {name}"))? == 0 {
            return Ok(None);
        }
        let mut words = line.split_ascii_whitespace().map(str::parse::<u32>);
        match (words.next(), words.next(), words.next()) {
            (Some(Ok(first)), Some(Ok(second)), None) => Ok(Some((first, second))),
            _ => {
                Err(anyhow!("{name}:{number}: expected two whole numbers, found `{}`", line.trim()))
            }
        }
    };
    let (task_count, edge_count) = pair()?.ok_or_else(|| anyhow!("{name} is empty"))?;
    let mut edges = Vec::with_capacity(edge_count as usize);
    while let Some(edge) = pair()? {
        edges.push(edge);
    }
    ensure!(
        edges.len() == edge_count as usize,
        "{name} announces {edge_count} edges and has {}",
        edges.len()
    );
    Ok((task_count, edges))
}

pub(super) fn made(shape: Shape, tasks: u32) -> Edges {
    match shape {
        Shape::Chain => (1..tasks).map(|index| (index - 1, index)).collect(),
        Shape::Wide => {
            let last = tasks - 1;
            let middle = 1..last.max(1);
            let mut edges: Edges = middle.clone().map(|index| (0, index)).collect();
            edges.extend(middle.map(|index| (index, last)));
            edges
        }
        Shape::Layered => layered(tasks),
    }
}

/// Equal layers (at least 10) of at most 1,000 tasks; every task after the first layer has 1 to 5
/// distinct parents in the layer before, 3 on average.
fn layered(tasks: u32) -> Edges {
    let layers = (tasks / 1000).max(10);
    let width = (tasks / layers).max(1);
    let mut random = Random(42);
    let mut edges = Vec::with_capacity(3 * tasks as usize);
    for task in width..tasks {
        let layer = (task / width).min(layers - 1);
        let first = (layer - 1) * width;
        let count = (1 + random.below(5)).min(width);
        let mut parents = [0; 5];
        for place in 0..count as usize {
            loop {
                let parent = first + random.below(width);
                if !parents[..place].contains(&parent) {
                    parents[place] = parent;
                    break;
                }
            }
        }
        let parents = &mut parents[..count as usize];
        parents.sort_unstable();
        edges.extend(parents.iter().map(|parent| (*parent, task)));
    }
    edges
}

/// Xorshift64*: the same numbers on every machine.
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: u32) -> u32 {
        ((self.next() >> 33) % u64::from(bound)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_graphs_are_graphs_of_the_size_asked_for() {
        for shape in [Shape::Chain, Shape::Wide, Shape::Layered] {
            for tasks in [1, 2, 3, 9, 10, 11, 100, 2_500] {
                let graph = Graph::numbered(tasks, made(shape, tasks)).expect("a graph");
                assert_eq!(graph.len(), tasks, "{shape:?}");
            }
        }
        let graph = Graph::numbered(20_000, made(Shape::Layered, 20_000)).expect("a graph");
        let most = graph.dependency_counts().iter().max();
        assert_eq!(most, Some(&5));
        assert!((54_000..=60_000).contains(&graph.edge_count()), "{}", graph.edge_count());
        assert_eq!(graph.levels().into_iter().max(), Some(19));
    }
}
