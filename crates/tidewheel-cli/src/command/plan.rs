//! `tidewheel plan` and `tidewheel graph`: what a flow would do, in words and as a picture.
//!
//! What would be done, and pictures of it, come from the client.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidewheel_client::api::{CacheState, Plan};
use tidewheel_client::files::{Picture, RunWish, SvgOptions};
use tidewheel_client::kind::{FlowRun, Startable as _};
use tidewheel_client::text::{count, harmless, span};

use crate::cli::{Format, WideFormat};
use crate::data::DataArgs;
use crate::error::CommandError;
use crate::files::read_files;
use crate::output::write_atomically;
use crate::runtime::on_this_thread;
use crate::table::Table;
use crate::ui::Ui;

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
    /// Flow files; later ones change what earlier ones say. `-` is standard input [default:
    /// tidewheel.yaml, or tidewheel.yml]
    #[arg(value_name = "FILE")]
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
    let files = read_files(ui, &args.files)?;
    let max_workers = args.max_workers.or_else(|| ui.config().run_max_workers());
    let params = args.params.clone();
    let run = files.draft(&RunWish { params, max_workers, ..RunWish::default() })?;
    show(ui, &run, &args.data)?;
    Ok(0)
}

/// What a run would do, and which of its work need not be done again.
pub(crate) fn show_with_cache(ui: &Ui, run: &FlowRun, data: &DataArgs) -> Result<(), CommandError> {
    let (learnt, folder) = (learnt(ui, data, run), data.path(ui)?);
    let plan = on_this_thread(async { Ok(run.plan_with_cache(&learnt, &folder).await?) })?;
    print(ui, &plan)
}

/// What a run would do.
pub(crate) fn show(ui: &Ui, run: &FlowRun, data: &DataArgs) -> Result<(), CommandError> {
    print(ui, &run.plan(&learnt(ui, data, run))?)
}

/// Shows what would be done.
pub(crate) fn print(ui: &Ui, plan: &Plan) -> Result<(), CommandError> {
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(plan),
        _ => ui.print(&as_text(plan)),
    }
}

/// How long steps took before. A plan needs no data folder.
fn learnt(ui: &Ui, data: &DataArgs, run: &FlowRun) -> BTreeMap<String, Duration> {
    let name = run.name().to_owned();
    let learnt =
        data.at_desk(ui, async |desk| Ok(desk.here(move |desk| desk.expectations(&name)).await?));
    learnt.unwrap_or_default()
}

fn as_text(plan: &Plan) -> String {
    let mut lines = vec![format!("{}: {}", harmless(&plan.flow), counts(plan))];
    if let Some(description) = &plan.description {
        lines.push(harmless(description));
    }
    lines.push(String::new());
    let seconds = |seconds: f64| span(Duration::from_secs_f64(seconds));
    let mut table = Table::new(["", "STEP", "KIND", "EXPECTED", "AFTER"]);
    for step in &plan.steps {
        let expected = step.expected_seconds.map_or_else(|| "-".to_owned(), seconds);
        let mark = if step.critical { "*" } else { "" };
        table.row([
            format!("{}{mark}", step.level + 1),
            harmless(&step.step),
            step.kind.clone(),
            expected,
            harmless(&step.after.join(", ")),
        ]);
    }
    lines.push(table.to_string());
    lines.push(String::new());
    let path: Vec<String> = plan.critical_path.iter().map(|name| harmless(name)).collect();
    let long = plan.expected_seconds.map(|expected| format!(" ({})", seconds(expected)));
    lines.push(format!("critical path (*): {}{}", path.join(" → "), long.unwrap_or_default()));
    for step in &plan.steps {
        let Some(cache) = &step.cache else { continue };
        let word = match cache.state {
            CacheState::Cached => "is cached",
            CacheState::Done => "is not cached",
            CacheState::Unknown => "may be cached",
        };
        let why = cache.why.as_deref().map(|why| format!(": {}", harmless(why)));
        lines.push(format!("{} {word}{}", harmless(&step.step), why.unwrap_or_default()));
    }
    for elements in &plan.unknown {
        let known = match &elements.params[..] {
            [] => "known when the run gets there".to_owned(),
            params => format!("known with --param {}=…", harmless(&params.join("=… --param "))),
        };
        let (step, list) = (harmless(&elements.step), harmless(&elements.elements_of));
        lines.push(format!("{step}[*]: one for each element of {list}, {known}"));
    }
    for (limit, steps) in &plan.limits {
        lines.push(format!("limit `{}`: {}", harmless(limit), harmless(&steps.join(", "))));
    }
    for schedule in &plan.schedule {
        let next: Vec<String> = schedule.next.iter().map(ToString::to_string).collect();
        lines.push(format!("schedule {}: next {}", harmless(&schedule.rule), next.join(", ")));
    }
    lines.join("\n")
}

/// How many steps there are, and how many of them at once.
fn counts(plan: &Plan) -> String {
    let workers = plan.max_workers;
    let of_workers = count(workers as usize, "worker");
    if !plan.complete {
        let steps = count(plan.steps.iter().filter(|step| !step.many).count(), "step");
        return format!("at least {steps}, {workers} at once at most");
    }
    let at_once = plan.parallelism.min(workers as usize);
    let steps = count(plan.steps.len(), "step");
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
    /// Flow files; later ones change what earlier ones say. `-` is standard input [default:
    /// tidewheel.yaml, or tidewheel.yml]
    #[arg(value_name = "FILE")]
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
    let files = read_files(ui, &args.files)?;
    let (params, max_workers) = (args.params.clone(), ui.config().run_max_workers());
    let run = files.draft(&RunWish { params, max_workers, ..RunWish::default() })?;
    let picture = run.picture(&learnt(ui, &args.data, &run))?;
    draw(ui, &picture, args.format, args.output.as_deref()).map(|()| 0)
}

/// Writes a picture where and how it was asked for.
pub(crate) fn draw(
    ui: &Ui,
    picture: &Picture,
    format: Option<WideFormat>,
    output: Option<&Path>,
) -> Result<(), CommandError> {
    let text = match format.unwrap_or_else(|| ui.picture_format()) {
        WideFormat::Json => picture.json().to_string(),
        WideFormat::Dot => picture.dot(),
        WideFormat::Mermaid => picture.mermaid(),
        WideFormat::Svg => picture.svg(&SvgOptions::default()),
        WideFormat::Human | WideFormat::Text => {
            let is_colourful = output.is_none() && ui.is_colourful();
            picture.text(ui.width(), is_colourful)
        }
    };
    match output {
        Some(path) => write_atomically(path, &text),
        None => ui.print(&text),
    }
}
