//! The work that victims are given: what is submitted under which names, and what each task does.
//!
//! Submitting and doing it is in `victim`.

use std::time::Duration;

use clap::ValueEnum;
use tidewheel::{Graph, GraphError, TaskOptions};

/// The name of the step that must not start twice.
pub(super) const ONCE: &str = "once";
/// The name of the step that fails at its first attempt.
const FLAKY: &str = "flaky";
/// Tasks in one layer of a large graph, and how many of the layer before each waits for.
const LAYER: u32 = 50;
const NEEDS: u32 = 3;

/// What a victim is given to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Plan {
    /// A graph of processes and some tasks of the victim's own
    Small,
    /// A large graph of tasks of the victim's own
    Steps,
    /// Both of them
    Mixed,
    /// Many single tasks of the victim's own
    Queue,
    /// A flow, which is not for victims of their own kind but for `tidewheel run`
    #[value(skip)]
    Flow,
    /// A flow that somebody ends before it is done
    #[value(skip)]
    Ended,
}

impl Plan {
    pub fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Steps => "steps",
            Self::Mixed => "mixed",
            Self::Queue => "queue",
            Self::Flow => "flow",
            Self::Ended => "ended",
        }
    }

    /// Everything it submits, in order. `count` is for the plans that are large.
    pub fn works(self, count: u32) -> Vec<Work> {
        let small = || {
            let singles = (0..3).map(|index| Work::single(format!("single-{index}")));
            std::iter::once(Work { name: "small".to_owned(), shape: Shape::Small }).chain(singles)
        };
        let steps = || Work { name: "steps".to_owned(), shape: Shape::Steps(count) };
        match self {
            Self::Flow | Self::Ended => Vec::new(),
            Self::Small => small().collect(),
            Self::Steps => vec![steps()],
            Self::Mixed => small().chain([steps()]).collect(),
            Self::Queue => {
                (0..count).map(|index| Work::single(format!("queued-{index}"))).collect()
            }
        }
    }
}

impl Plan {
    /// The same where several submit it, each under its own names.
    pub fn works_named(self, count: u32, prefix: &str) -> Vec<Work> {
        let works = self.works(count).into_iter();
        works.map(|work| Work { name: format!("{prefix}{}", work.name), ..work }).collect()
    }
}

/// One thing to submit.
#[derive(Debug, Clone)]
pub(super) struct Work {
    /// The name under which it is accepted once.
    pub name: String,
    pub shape: Shape,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Small,
    Steps(u32),
    Single,
}

impl Work {
    fn single(name: String) -> Self {
        Self { name, shape: Shape::Single }
    }

    /// What travels with it, so that a later victim knows what to do.
    pub fn payload(&self) -> &'static [u8] {
        match self.shape {
            Shape::Small => b"processes",
            Shape::Steps(_) | Shape::Single => b"own",
        }
    }
}

/// A graph with forks and joins, and a step that runs whatever became of the others.
pub(super) fn small_graph() -> Result<Graph, GraphError> {
    let mut graph = Graph::builder();
    graph.task("fetch");
    graph.task("left").after(["fetch"]);
    graph.task("middle").after(["fetch"]);
    graph.task("right").after(["fetch"]);
    graph.task("join").after(["left", "middle"]);
    graph.task(ONCE).after(["right"]);
    graph.task(FLAKY).after(["join"]);
    graph.task("tidy").after([FLAKY, ONCE]);
    graph.build()
}

/// Layers; each task waits for some of the layer before.
pub(super) fn steps_graph(count: u32) -> Result<Graph, GraphError> {
    let needs = |task: u32| {
        let first = (task / LAYER).saturating_sub(1) * LAYER;
        (0..NEEDS).map(move |need| (first + (task * 7 + need * 13) % LAYER, task))
    };
    Graph::numbered(count, (LAYER..count).flat_map(needs))
}

/// How the steps of the small graph are treated.
pub(super) fn options_of(name: &str) -> TaskOptions {
    let options = TaskOptions::new();
    match name {
        ONCE => options.at_most_once().retries(0),
        "tidy" => options.always(),
        _ => options,
    }
}

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// Its two lines in the ledger, written by the victim itself.
    Own,
    /// The same by a shell, which may take its time or fail.
    Process { sleep: Option<Duration>, fails: bool },
}

impl Deed {
    /// By what travelled with the work, and by the name of the task.
    pub fn of(payload: Option<&[u8]>, name: Option<&str>, attempt: u32) -> Self {
        if payload != Some(b"processes") {
            return Self::Own;
        }
        let sleep = match name {
            Some("left") => Some(Duration::from_millis(20)),
            Some("right" | ONCE) => Some(Duration::from_millis(10)),
            _ => None,
        };
        Self::Process { sleep, fails: name == Some(FLAKY) && attempt == 1 }
    }
}

/// What a shell does for an attempt: each line is one write.
pub(super) fn shell_text(sleep: Option<Duration>, fails: bool) -> String {
    let say = |word: &str| {
        format!("printf '{word} %s %s\\n' \"$TORTURE_ATTEMPT\" \"$$\" >>\"$TORTURE_LEDGER\"\n")
    };
    let mut text = format!("set -e\n{}", say("start"));
    if let Some(sleep) = sleep {
        text.push_str(&format!("sleep {}\n", sleep.as_secs_f64()));
    }
    text.push_str(&say(if fails { "fail" } else { "end" }));
    text.push_str(if fails { "exit 1\n" } else { "exit 0\n" });
    text
}
