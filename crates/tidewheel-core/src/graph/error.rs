//! Why a graph was refused, in words that name every task concerned.
//!
//! Finding the faults is the work of `structure` and `builder`.

use std::fmt::Write as _;

/// Why a graph could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// Two tasks have the same name.
    #[error("task `{name}` is declared twice")]
    DuplicateTask {
        /// The name used twice.
        name: String,
    },
    /// Tasks wait for names that no task has. All of them are listed.
    #[error("{}", describe_missing(missing))]
    UnknownDependencies {
        /// Every unknown name, in order of declaration.
        missing: Vec<MissingDependency>,
    },
    /// A task waits for itself.
    #[error("task `{task}` depends on itself")]
    SelfDependency {
        /// The task.
        task: String,
    },
    /// Tasks wait for each other in a circle.
    #[error("dependency cycle: {}", describe_cycle(path))]
    Cycle {
        /// One whole cycle: each task comes before the next, and the last before the first.
        path: Vec<String>,
    },
    /// An edge of a numbered graph names a task that is not there.
    #[error("an edge names task {index}, but there are only {task_count} tasks, numbered from 0")]
    UnknownIndex {
        /// The number the edge names.
        index: u32,
        /// How many tasks the graph has.
        task_count: u32,
    },
    /// More tasks, edges or bytes of names than 32-bit numbers can count.
    #[error("graph is too large: tasks, dependencies and bytes of names must each stay below 2^32")]
    TooLarge,
}

/// A dependency on a name that no task has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingDependency {
    /// The task that waits.
    pub task: String,
    /// The name it waits for.
    pub dependency: String,
    /// The name of a task that was perhaps meant.
    pub suggestion: Option<String>,
}

fn describe_missing(missing: &[MissingDependency]) -> String {
    let mut text = String::new();
    for (position, entry) in missing.iter().enumerate() {
        if position > 0 {
            text.push_str("; ");
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "task `{}` depends on unknown `{}`", entry.task, entry.dependency);
        if let Some(suggestion) = &entry.suggestion {
            let _ = write!(text, " (did you mean `{suggestion}`?)");
        }
    }
    text
}

/// Longer cycles are cut in the middle when shown.
const SHOWN_MAX: usize = 12;

fn describe_cycle(path: &[String]) -> String {
    let Some(first) = path.first() else {
        return String::new();
    };
    if path.len() <= SHOWN_MAX {
        return format!("{} -> {first}", path.join(" -> "));
    }
    let half = SHOWN_MAX / 2;
    format!(
        "{} -> ({} more) -> {} -> {first} ({} tasks)",
        path[..half].join(" -> "),
        path.len() - 2 * half,
        path[path.len() - half..].join(" -> "),
        path.len(),
    )
}
