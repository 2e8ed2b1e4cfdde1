//! `tidewheel explain`: why a step is where it is, and what must happen next.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tidewheel::flow::Flow;
use tidewheel::store::{RunDetail, TaskSummary};
use tidewheel::{LimitSpec, Reason, TaskState};

use crate::cli::Format;
use crate::data::{DataArgs, folder_error};
use crate::error::CommandError;
use crate::session::{RunResultView, find_run, reason_words, result_of, task_of, task_state};
use crate::text::{ago, harmless, short_id, until};
use crate::ui::Ui;

/// Say why steps of a run have not started, failed, or were skipped
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel explain last
  tidewheel explain 3f9a deploy

With --format json it prints { run_id, steps: [ { step, state, why, waits_for } ] }.")]
pub(crate) struct Args {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Only this step; else all that have not succeeded
    step: Option<String>,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let folder = args.data.open_existing(ui)?;
    let reader = folder.reader().map_err(|error| folder_error(error, folder.path()))?;
    let detail = find_run(&folder, &reader, &args.run)?;
    let view = result_of(&folder, &reader, detail)?;
    let scene = Scene::new(&view);
    let tasks: Vec<&TaskSummary> = match &args.step {
        Some(step) => vec![task_of(&view.detail, step)?],
        None => {
            let tasks = view.detail.tasks.iter();
            tasks.filter(|task| task.state != TaskState::Succeeded).collect()
        }
    };
    if ui.format(Format::Human) == Format::Json {
        let steps: Vec<Json> = tasks
            .iter()
            .map(|task| {
                json!({
                    "step": task.name,
                    "state": task_state(task.state),
                    "why": scene.why(task),
                    "waits_for": open_dependencies(&view.detail, task),
                })
            })
            .collect();
        let id = view.detail.summary.id.to_string();
        ui.print(&json!({ "run_id": id, "state": view.state(), "steps": steps }).to_string())?;
        return Ok(0);
    }
    let mut lines = Vec::new();
    if view.is_abandoned {
        lines.push("nobody runs this run: its process died; `tidewheel resume` goes on".to_owned());
    } else if view.detail.summary.is_paused {
        lines.push("the run is paused; `tidewheel resume` goes on".to_owned());
    }
    if tasks.is_empty() {
        lines.push("all steps have succeeded".to_owned());
    }
    for task in tasks {
        let (name, state) = (harmless(&task.name), task_state(task.state));
        lines.push(format!("{name} is {state}: {}", scene.why(task)));
    }
    ui.print(&lines.join("\n"))?;
    Ok(0)
}

/// A run and the flow it is one of: what can be told of it without whoever runs it.
struct Scene<'a> {
    view: &'a RunResultView,
    flow: Option<Arc<Flow>>,
    running: Vec<&'a TaskSummary>,
}

impl<'a> Scene<'a> {
    fn new(view: &'a RunResultView) -> Self {
        let flow = view.order.as_ref().and_then(|order| order.flow().ok());
        let tasks = view.detail.tasks.iter();
        Self { view, flow, running: tasks.filter(|task| task.state.holds_slot()).collect() }
    }

    fn why(&self, task: &TaskSummary) -> String {
        match task.state {
            TaskState::Blocked => {
                let open = open_dependencies(&self.view.detail, task);
                match open.is_empty() {
                    true => self.turn(task),
                    false => format!("it waits for {}", open.join(", ")),
                }
            }
            TaskState::Delayed => {
                let next = task.until.map_or_else(|| "later".to_owned(), until);
                match &task.error {
                    _ if task.reason == Reason::Postponed => self.wait(task, &next),
                    Some(error) => format!("it is tried again {next}, after: {}", harmless(error)),
                    None => format!("it starts {next}"),
                }
            }
            TaskState::Ready => self.turn(task),
            TaskState::Running => {
                let since = task.started_at.map_or_else(String::new, ago);
                format!("attempt {} started {since}", task.attempts)
            }
            TaskState::Cancelling => "it was told to stop".to_owned(),
            TaskState::Succeeded => "it is done".to_owned(),
            _ => {
                let reason = reason_words(task, &self.view.detail.tasks);
                match (reason, &task.error) {
                    (_, Some(error)) => harmless(error),
                    (Some(reason), None) => harmless(&reason),
                    (None, None) => "no reason is known".to_owned(),
                }
            }
        }
    }

    /// What a task waits for that has all it needs.
    /// What a step that waits is waiting for.
    fn wait(&self, task: &TaskSummary, next: &str) -> String {
        let what = self.flow.as_ref().and_then(|flow| flow.step_of_task(&task.name)?.waits_for());
        let what = what.unwrap_or_else(|| "waits".to_owned());
        let asks = self.flow.as_ref().is_some_and(|flow| flow.asks(&task.name));
        match asks {
            true => {
                let (run, name) = (short_id(self.view.detail.summary.id), harmless(&task.name));
                format!("it {}; say `tidewheel approve {run} '{name}'`", harmless(&what))
            }
            false => format!("it {}; the next look is {next}", harmless(&what)),
        }
    }

    fn turn(&self, task: &TaskSummary) -> String {
        if self.view.is_abandoned {
            return "nobody runs the run".to_owned();
        }
        if self.view.detail.summary.is_paused {
            return "the run is paused".to_owned();
        }
        let bound = self.flow.as_ref().and_then(|flow| self.bound(flow, task));
        bound.or_else(|| self.full()).unwrap_or_else(|| "it is about to start".to_owned())
    }

    /// The limit that has no room for a task.
    fn bound(&self, flow: &Arc<Flow>, task: &TaskSummary) -> Option<String> {
        for (name, units) in flow.limits_of_task(&task.name) {
            let taken = |other: &&TaskSummary| flow.limits_of_task(&other.name).get(&name).copied();
            let holders: Vec<&TaskSummary> =
                self.running.iter().copied().filter(|other| taken(other).is_some()).collect();
            let used: u32 = holders.iter().filter_map(taken).sum();
            let shown = harmless(&name);
            match flow.limits.get(&name) {
                Some(LimitSpec::Units(most)) if used.saturating_add(units) > *most => {
                    return Some(format!(
                        "it waits for limit `{shown}`, held by {}",
                        names(&holders)
                    ));
                }
                Some(LimitSpec::Units(_)) | None => {}
                // What is left of it is known only where the run is run.
                Some(_) => return Some(format!("it waits for limit `{shown}`, or for its turn")),
            }
        }
        let key = |name: &str| flow.step_of_task(name)?.treatment.key.clone();
        if let Some(own) = key(&task.name) {
            let holders: Vec<&TaskSummary> = self
                .running
                .iter()
                .copied()
                .filter(|it| key(&it.name) == Some(own.clone()))
                .collect();
            if !holders.is_empty() {
                let holders = names(&holders);
                return Some(format!("it waits for key `{}`, held by {holders}", harmless(&own)));
            }
        }
        let (whole, most) = flow.parallel_of_task(&task.name)?;
        let is_sibling = |other: &&TaskSummary| {
            flow.parallel_of_task(&other.name).is_some_and(|(other, _)| other == whole)
        };
        let holders: Vec<&TaskSummary> = self.running.iter().copied().filter(is_sibling).collect();
        (holders.len() >= most as usize)
            .then(|| format!("of `{}` {most} run at once: {}", harmless(&whole), running(&holders)))
    }

    /// Whether all slots of the run are taken, and by whom.
    fn full(&self) -> Option<String> {
        let slots = self.view.order.as_ref()?.max_workers;
        if self.running.len() < slots as usize {
            return None;
        }
        let running = running(&self.running);
        Some(match slots {
            1 => format!("it waits for the only slot: {running}"),
            slots => format!("it waits for one of {slots} slots: {running}"),
        })
    }
}

/// How many tasks are named at most.
const NAMES_MAX: usize = 10;

fn names(tasks: &[&TaskSummary]) -> String {
    let mut names: Vec<String> =
        tasks.iter().take(NAMES_MAX).map(|task| harmless(&task.name)).collect();
    if let Some(more) = tasks.len().checked_sub(NAMES_MAX).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

fn running(tasks: &[&TaskSummary]) -> String {
    format!("{} {}", names(tasks), if tasks.len() == 1 { "runs" } else { "run" })
}

/// What it waits for that has not ended.
fn open_dependencies(detail: &RunDetail, task: &TaskSummary) -> Vec<String> {
    let open = task.after.iter().filter_map(|index| detail.tasks.get(*index as usize));
    open.filter(|needed| !needed.state.is_terminal()).map(|needed| harmless(&needed.name)).collect()
}
