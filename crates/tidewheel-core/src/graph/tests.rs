//! Tests of the graph: every refusal, every question, and large shapes.

use std::time::Duration;

use super::{Graph, GraphError, MissingDependency};

/// A small generator for random graphs; the core has no randomness of its own.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((((mixed ^ (mixed >> 31)) >> 32) * u64::from(bound)) >> 32) as u32
    }
}

fn diamond() -> Graph {
    Graph::from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]).unwrap()
}

#[test]
fn a_diamond_answers_every_question() {
    let graph = diamond();
    assert_eq!((graph.len(), graph.edge_count(), graph.is_empty()), (4, 4, false));
    let names: Vec<_> = (0..4).map(|index| graph.name(index)).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(graph.index_of("c"), Some(2));
    assert_eq!(graph.index_of("e"), None);
    assert_eq!(graph.successors(0), [1, 2]);
    assert_eq!(graph.successors(3), []);
    assert_eq!(graph.dependency_counts(), [0, 1, 1, 2]);
    assert_eq!(graph.dependencies(3), [1, 2]);
    assert_eq!(graph.dependencies(0), []);
    assert_eq!(graph.roots().collect::<Vec<_>>(), [0]);
    assert_eq!(graph.levels(), [0, 1, 1, 2]);
    assert_eq!(graph.topological_order(), [0, 1, 2, 3]);
    assert_eq!(graph.remaining_paths(), [3, 2, 2, 1]);
    assert_eq!(graph.tails(), [2, 1, 1, 0]);
    assert_eq!(graph.estimate(0), Duration::ZERO);
}

#[test]
fn an_empty_graph_is_a_graph() {
    let graph = Graph::builder().build().unwrap();
    assert!(graph.is_empty());
    assert_eq!(graph.topological_order(), []);
    assert_eq!(graph.index_of(""), None);
    assert_eq!(Graph::numbered(0, []).unwrap().levels(), []);
}

#[test]
fn repeated_edges_count_once() {
    let graph = Graph::from_edges([("a", "b"), ("a", "c"), ("a", "b"), ("a", "b")]).unwrap();
    assert_eq!(graph.edge_count(), 2);
    assert_eq!(graph.dependency_count(1), 1);
    let graph = Graph::numbered(3, [(2, 0), (2, 1), (2, 0), (1, 0), (1, 0)]).unwrap();
    assert_eq!(graph.successors(2), [0, 1]);
    assert_eq!(graph.successors(1), [0]);
    assert_eq!(graph.edge_count(), 3);
}

#[test]
fn tasks_may_be_declared_before_what_they_wait_for() {
    let mut builder = Graph::builder();
    builder.task("last").after(["first", "middle"]);
    builder.task("middle").after(["first"]).estimate(Duration::from_secs(2));
    assert_eq!(builder.task("first").index(), 2);
    assert_eq!(builder.len(), 3);
    let graph = builder.build().unwrap();
    assert_eq!(graph.topological_order(), [2, 1, 0]);
    assert_eq!(graph.levels(), [2, 1, 0]);
    assert_eq!(graph.estimate(1), Duration::from_secs(2));
    assert_eq!(graph.estimate(2), Duration::ZERO);
    assert_eq!(graph.remaining_paths(), [1, 2_000_000_001, 2_000_000_002]);
    assert_eq!(graph.tails(), [0, 1, 2_000_000_001]);
}

#[test]
fn estimates_can_be_given_to_a_whole_graph() {
    let graph = diamond().with_uniform_estimate(Duration::from_nanos(10));
    assert_eq!(graph.remaining_paths(), [30, 20, 20, 10]);
    let graph = diamond().with_estimates(|index| Duration::from_nanos(u64::from(index) * 100));
    assert_eq!(graph.remaining_paths(), [501, 400, 500, 300]);
    let graph = diamond().with_uniform_estimate(Duration::MAX);
    assert_eq!(graph.remaining_paths(), [u64::MAX; 4]);
}

#[test]
fn numbered_tasks_are_named_by_their_number() {
    let graph = Graph::numbered(12, [(0, 11)]).unwrap();
    assert_eq!(graph.name(11), "11");
    assert_eq!(graph.index_of("11"), Some(11));
    for name in ["12", "011", "+1", "-1", "", "x"] {
        assert_eq!(graph.index_of(name), None, "{name}");
    }
}

#[test]
fn a_name_declared_twice_is_refused() {
    let mut builder = Graph::builder();
    builder.task("a");
    builder.task("a").after(["nothing"]);
    let error = builder.build().unwrap_err();
    assert_eq!(error, GraphError::DuplicateTask { name: "a".into() });
    assert_eq!(error.to_string(), "task `a` is declared twice");
}

#[test]
fn all_unknown_dependencies_are_told_with_what_was_meant() {
    let mut builder = Graph::builder();
    builder.task("compile");
    builder.task("test").after(["complie", "Compile", "zebra"]);
    let error = builder.build().unwrap_err();
    let missing = |dependency: &str, suggestion: Option<&str>| MissingDependency {
        task: "test".into(),
        dependency: dependency.into(),
        suggestion: suggestion.map(Into::into),
    };
    let expected = vec![
        missing("complie", Some("compile")),
        missing("Compile", Some("compile")),
        missing("zebra", None),
    ];
    assert_eq!(error, GraphError::UnknownDependencies { missing: expected });
    assert_eq!(
        error.to_string(),
        "task `test` depends on unknown `complie` (did you mean `compile`?); \
         task `test` depends on unknown `Compile` (did you mean `compile`?); \
         task `test` depends on unknown `zebra`"
    );
}

#[test]
fn a_task_that_waits_for_itself_is_refused() {
    let expected = GraphError::SelfDependency { task: "a".into() };
    assert_eq!(Graph::from_edges([("b", "c"), ("a", "a")]).unwrap_err(), expected);
    let mut builder = Graph::builder();
    builder.task("a").after(["a"]);
    assert_eq!(builder.build().unwrap_err(), expected);
    assert_eq!(expected.to_string(), "task `a` depends on itself");
    let error = Graph::numbered(3, [(2, 2)]).unwrap_err();
    assert_eq!(error, GraphError::SelfDependency { task: "2".into() });
}

#[test]
fn numbers_that_are_no_task_are_refused() {
    let expected = GraphError::UnknownIndex { index: 3, task_count: 3 };
    assert_eq!(Graph::numbered(3, [(0, 1), (3, 0)]).unwrap_err(), expected);
    assert_eq!(Graph::numbered(3, [(0, 3)]).unwrap_err(), expected);
    assert_eq!(Graph::numbered(u32::MAX, []).unwrap_err(), GraphError::TooLarge);
}

#[test]
fn a_cycle_is_named_in_full() {
    let edges = [("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "y"), ("y", "z")];
    let error = Graph::from_edges(edges).unwrap_err();
    assert_eq!(error, GraphError::Cycle { path: vec!["a".into(), "b".into(), "c".into()] });
    assert_eq!(error.to_string(), "dependency cycle: a -> b -> c -> a");
}

#[test]
fn a_cycle_of_ten_thousand_is_kept_in_full_and_shown_in_part() {
    let count = 10_000;
    let error = Graph::numbered(count, (0..count).map(|i| (i, (i + 1) % count))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "dependency cycle: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> (9988 more) -> 9994 -> 9995 -> 9996 -> \
         9997 -> 9998 -> 9999 -> 0 (10000 tasks)"
    );
    let GraphError::Cycle { path } = error else { panic!("not a cycle: {error}") };
    assert_eq!(path, (0..count).map(|i| i.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_subset_treats_the_rest_as_done() {
    let graph = diamond().with_estimates(|index| Duration::from_nanos(u64::from(index) + 5));
    let (part, old) = graph.subset(|index| index != 1);
    assert_eq!(old, [0, 2, 3]);
    assert_eq!(part.name(1), "c");
    assert_eq!(part.index_of("b"), None);
    assert_eq!(part.dependency_counts(), [0, 1, 1]);
    assert_eq!(part.estimate(1), Duration::from_nanos(7));
    assert_eq!(graph.subset(|_| true).0, graph);
    assert!(graph.subset(|_| false).0.is_empty());
    let (part, old) = Graph::numbered(4, [(3, 1)]).unwrap().subset(|index| index % 2 == 1);
    assert_eq!((part.name(0), old), ("1".into(), vec![1, 3]));
    assert_eq!(part.successors(1), [0]);
}

#[test]
fn a_long_chain_needs_no_stack() {
    let count = 100_000;
    // Backwards, so that the index order is of no help.
    let graph = Graph::numbered(count, (1..count).map(|i| (i, i - 1))).unwrap();
    assert_eq!(graph.remaining_paths()[count as usize - 1], u64::from(count));
    assert_eq!(graph.levels()[0], count - 1);
    assert_eq!(graph.topological_order()[0], count - 1);
}

#[test]
fn wide_graphs_are_no_special_case() {
    let count = 100_000;
    let middle = count + 1;
    let edges = (1..=count).map(|i| (0, i)).chain((1..=count).map(|i| (i, middle)));
    let graph = Graph::numbered(count + 2, edges).unwrap();
    assert_eq!(graph.dependency_count(middle), count);
    assert_eq!(graph.successors(0).len(), count as usize);
    assert_eq!(graph.dependencies(middle).len(), count as usize);
    assert_eq!(graph.levels()[middle as usize], 2);
    let names: Vec<String> = (0..count).map(|i| format!("task-{i}")).collect();
    let graph = Graph::from_edges(names.iter().map(|name| (name, "join"))).unwrap();
    assert_eq!(graph.dependency_count(graph.index_of("join").unwrap()), count);
    assert!(
        (0..count as usize)
            .all(|i| { graph.index_of(&names[i]) == Some(if i == 0 { 0 } else { i as u32 + 1 }) })
    );
}

#[test]
fn a_million_tasks_in_layers() {
    let (width, depth) = (1_000_u32, 1_000_u32);
    let edges = (width..width * depth).flat_map(|task| {
        let (layer, place) = (task / width, task % width);
        [0, 1, 7].map(|step| ((layer - 1) * width + (place + step) % width, task))
    });
    let graph = Graph::numbered(width * depth, edges).unwrap();
    assert_eq!(graph.edge_count(), 3 * width * (depth - 1));
    assert_eq!(graph.roots().count(), width as usize);
    assert_eq!(*graph.levels().last().unwrap(), depth - 1);
    assert_eq!(graph.remaining_paths()[0], u64::from(depth));
}

#[test]
fn random_graphs_are_ordered_and_their_cycles_are_real() {
    let mut random = Random(7);
    for _ in 0..300 {
        let count = 2 + random.below(40);
        // A hidden random order makes the graph free of cycles, whatever the indices are.
        let mut order: Vec<u32> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last as usize, random.below(last + 1) as usize);
        }
        let mut edges: Vec<(u32, u32)> = (0..random.below(3 * count))
            .map(|_| (random.below(count), random.below(count)))
            .filter(|(a, b)| a != b)
            .map(|(a, b)| (order[a.min(b) as usize], order[a.max(b) as usize]))
            .collect();
        let graph = Graph::numbered(count, edges.clone()).unwrap();
        check_order(&graph, &edges);

        let Some(&(start, second)) = edges.get(random.below(count) as usize) else { continue };
        // Follow edges for a while, so that the edge back closes cycles of many lengths.
        let mut end = second;
        for _ in 0..random.below(6) {
            end = graph.successors(end).first().copied().unwrap_or(end);
        }
        edges.push((end, start));
        let error = Graph::numbered(count, edges.clone()).unwrap_err();
        let GraphError::Cycle { path } = error else { panic!("not a cycle: {error}") };
        let path: Vec<u32> = path.iter().map(|name| name.parse().unwrap()).collect();
        assert!(path.len() > 1);
        for (place, &task) in path.iter().enumerate() {
            let next = path[(place + 1) % path.len()];
            assert!(edges.contains(&(task, next)), "{task} -> {next} is no edge");
            assert!(!path[..place].contains(&task), "{task} appears twice");
        }
    }
}

fn check_order(graph: &Graph, edges: &[(u32, u32)]) {
    let order = graph.topological_order();
    let mut places = vec![usize::MAX; graph.len() as usize];
    for (place, &task) in order.iter().enumerate() {
        assert_eq!(places[task as usize], usize::MAX, "{task} appears twice");
        places[task as usize] = place;
    }
    assert_eq!(order.len(), places.len());
    let (levels, paths) = (graph.levels(), graph.remaining_paths());
    for &(before, after) in edges {
        let (before, after) = (before as usize, after as usize);
        assert!(places[before] < places[after]);
        assert!(levels[before] < levels[after]);
        assert!(paths[before] > paths[after]);
        assert!(graph.dependencies(after as u32).contains(&(before as u32)));
    }
    for task in 0..graph.len() {
        assert_eq!(graph.dependencies(task).len(), graph.dependency_count(task) as usize);
    }
}

#[test]
fn all_dependencies_are_those_of_each_task() {
    let graph = Graph::numbered(5, [(4, 0), (0, 2), (1, 2), (0, 2), (2, 3), (4, 3)]).unwrap();
    let each: Vec<Vec<u32>> = (0..graph.len()).map(|index| graph.dependencies(index)).collect();
    assert_eq!(graph.all_dependencies(), each);
    // One by one this would take minutes.
    let count = 200_000;
    let chain = Graph::numbered(count, (1..count).map(|index| (index - 1, index))).unwrap();
    assert_eq!(chain.all_dependencies()[count as usize - 1], [count - 2]);
}
