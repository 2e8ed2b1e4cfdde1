//! `tidewheel plan` and `tidewheel graph`: what a flow would do, in words and as a picture.
//!
//! Tasks and their order come from the flow, pictures from the crate that draws.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use serde_json::{Value as Json, json};
use tidewheel_client::desk::workers_of;
use tidewheel_client::text::{count, harmless, span};
use tidewheel_flow::picture::SvgOptions;
use tidewheel_flow::{Flow, FlowOrder, FlowPlan};

use crate::cli::{Format, WideFormat};
use crate::data::DataArgs;
use crate::error::CommandError;
use crate::files::{known_params_of, load_files};
use crate::output::write_atomically;
use crate::table::Table;
use crate::ui::Ui;

/// Firings that are shown.
const FIRINGS: usize = 3;

/// Show what a flow would do: order, parallelism, critical path, limits, next firings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel plan flow.yaml
  tidewheel plan flow.yaml --param env=staging --format json

Durations come from past runs in the data folder, else from `estimate:`, else each step counts as one
second. What is not known yet, because other steps or params that were not given decide about it, is
shown as `step[*]`: one for each element of a list. With --format json it prints { flow, steps,
complete, unknown, levels, critical_path, expected_seconds, limits, schedule }.")]
pub(crate) struct PlanArgs {
    /// Flow files; later ones change what earlier ones say
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// A param of the flow; may be given again. None has to be
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE")]
    params: Vec<String>,

    /// Steps at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_workers: Option<u32>,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn plan(ui: &Ui, args: &PlanArgs) -> Result<u8, CommandError> {
    let loaded = load_files(ui, &args.files)?;
    let flow = loaded.runnable().ok_or_else(|| CommandError::input(anyhow!("there is no flow")))?;
    let params = known_params_of(flow, &args.params)?;
    let said = args.max_workers.or_else(|| ui.config().run_max_workers());
    let workers = workers_of(said, flow);
    let order = FlowOrder::new(&loaded, args.files.clone(), params, workers);
    let expected = learnt(ui, &args.data, flow);
    print(ui, flow, &order, &expected)?;
    Ok(0)
}

/// What a dry run shows.
pub(crate) fn show(
    ui: &Ui,
    flow: &Arc<Flow>,
    order: &FlowOrder,
    data: &DataArgs,
) -> Result<(), CommandError> {
    print(ui, flow, order, &learnt(ui, data, flow))
}

/// How long steps took before. A plan needs no data folder.
fn learnt(ui: &Ui, data: &DataArgs, flow: &Flow) -> BTreeMap<String, Duration> {
    let desk = data.desk(ui).ok();
    desk.and_then(|desk| desk.expectations(&flow.name).ok()).unwrap_or_default()
}

fn print(
    ui: &Ui,
    flow: &Arc<Flow>,
    order: &FlowOrder,
    expected: &BTreeMap<String, Duration>,
) -> Result<(), CommandError> {
    let plan = FlowPlan::new(flow, order, expected).map_err(CommandError::input)?;
    match ui.format(Format::Human) {
        Format::Json => ui.print(&as_json(flow, order, &plan).to_string()),
        _ => ui.print(&as_text(flow, order, &plan)),
    }
}

fn as_json(flow: &Flow, order: &FlowOrder, plan: &FlowPlan) -> Json {
    let steps: Vec<Json> = plan
        .tasks
        .iter()
        .map(|task| {
            json!({
                "step": task.name,
                "kind": task.kind,
                "level": task.level,
                "after": task.after,
                "expected_seconds": task.expected.map(|it| it.as_secs_f64()),
                "critical": task.is_critical,
                "many": task.is_of_each,
            })
        })
        .collect();
    let unknown: Vec<Json> = plan
        .unknown
        .iter()
        .map(|it| json!({ "step": it.step, "elements_of": it.list, "params": it.params }))
        .collect();
    json!({
        "flow": flow.name,
        "max_workers": order.max_workers,
        "steps": steps,
        "complete": unknown.is_empty(),
        "unknown": unknown,
        "levels": plan.levels(),
        "parallelism": plan.widest(),
        "critical_path": plan.critical_path,
        "expected_seconds": plan.expected.map(|it| it.as_secs_f64()),
        "limits": plan.limits,
        "schedule": firings(flow),
    })
}

fn firings(flow: &Flow) -> Vec<Json> {
    flow.schedules
        .iter()
        .map(|schedule| {
            let next: Vec<String> =
                schedule.next(FIRINGS).into_iter().map(|at| at.to_string()).collect();
            json!({ "rule": schedule.text, "next": next })
        })
        .collect()
}

fn as_text(flow: &Flow, order: &FlowOrder, plan: &FlowPlan) -> String {
    let mut lines = vec![format!("{}: {}", harmless(&flow.name), counts(order, plan))];
    if let Some(description) = &flow.description {
        lines.push(harmless(description));
    }
    lines.push(String::new());
    let mut table = Table::new(["", "STEP", "KIND", "EXPECTED", "AFTER"]);
    for task in &plan.tasks {
        let expected = task.expected.map_or_else(|| "-".to_owned(), span);
        let mark = if task.is_critical { "*" } else { "" };
        table.row([
            format!("{}{mark}", task.level + 1),
            harmless(&task.name),
            task.kind.to_owned(),
            expected,
            harmless(&task.after.join(", ")),
        ]);
    }
    lines.push(table.to_string());
    lines.push(String::new());
    let path: Vec<String> = plan.critical_path.iter().map(|name| harmless(name)).collect();
    let long = plan.expected.map(|expected| format!(" ({})", span(expected)));
    lines.push(format!("critical path (*): {}{}", path.join(" → "), long.unwrap_or_default()));
    for elements in &plan.unknown {
        let known = match &elements.params[..] {
            [] => "known when the run gets there".to_owned(),
            params => format!("known with --param {}=…", harmless(&params.join("=… --param "))),
        };
        let (step, list) = (harmless(&elements.step), harmless(&elements.list));
        lines.push(format!("{step}[*]: one for each element of {list}, {known}"));
    }
    for (limit, steps) in &plan.limits {
        lines.push(format!("limit `{}`: {}", harmless(limit), harmless(&steps.join(", "))));
    }
    for schedule in &flow.schedules {
        let next: Vec<String> =
            schedule.next(FIRINGS).into_iter().map(|at| at.to_string()).collect();
        lines.push(format!("schedule {}: next {}", harmless(&schedule.text), next.join(", ")));
    }
    lines.join("\n")
}

/// How many steps there are, and how many of them at once.
fn counts(order: &FlowOrder, plan: &FlowPlan) -> String {
    let workers = order.max_workers;
    let of_workers = count(workers as usize, "worker");
    if !plan.unknown.is_empty() {
        let steps = count(plan.count_min(), "step");
        return format!("at least {steps}, {workers} at once at most");
    }
    let at_once = plan.widest().min(workers as usize);
    let steps = count(plan.tasks.len(), "step");
    format!("{steps}, {at_once} at once at most (of {of_workers})")
}

/// Draw a flow
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel graph flow.yaml
  tidewheel graph flow.yaml --format svg -o flow.svg
  tidewheel graph flow.yaml --format dot | dot -Tpng -o flow.png

What is not known yet, because other steps or params that were not given decide
about it, is drawn as `step[*]`: one for each element of a list.")]
pub(crate) struct GraphArgs {
    /// Flow files; later ones change what earlier ones say
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// A param of the flow; may be given again. None has to be
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE")]
    params: Vec<String>,

    /// How to draw it; as text unless given
    #[arg(long, value_name = "FORMAT", value_parser = WideFormat::of_pictures())]
    format: Option<WideFormat>,

    /// Write to this file instead of to standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn graph(ui: &Ui, args: &GraphArgs) -> Result<u8, CommandError> {
    let loaded = load_files(ui, &args.files)?;
    let flow = loaded.runnable().ok_or_else(|| CommandError::input(anyhow!("there is no flow")))?;
    let params = known_params_of(flow, &args.params)?;
    let workers = workers_of(ui.config().run_max_workers(), flow);
    let order = FlowOrder::new(&loaded, args.files.clone(), params, workers);
    let expected = learnt(ui, &args.data, flow);
    let plan = FlowPlan::new(flow, &order, &expected).map_err(CommandError::input)?;
    let picture = plan.picture();
    let text = match args.format.unwrap_or_else(|| ui.picture_format()) {
        WideFormat::Json => picture.json().to_string(),
        WideFormat::Dot => picture.dot(),
        WideFormat::Mermaid => picture.mermaid(),
        WideFormat::Svg => picture.svg(&SvgOptions::default()),
        WideFormat::Human | WideFormat::Text => {
            let is_colourful = args.output.is_none() && ui.is_colourful();
            picture.text(ui.width(), is_colourful)
        }
    };
    match &args.output {
        Some(path) => write_atomically(path, &text)?,
        None => ui.print(&text)?,
    }
    Ok(0)
}
