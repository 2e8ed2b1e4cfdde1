//! `tidewheel flows`: the flows that a server knows, and what is wrong with files that it does not.
//!
//! Which version of a flow is in force is decided by the server.

use tidewheel_client::api::{BrokenFile, FlowDetail, FlowList, ParamLine};
use tidewheel_client::text::{ago, count, harmless};

use crate::cli::Format;
use crate::data::DeskArgs;
use crate::error::CommandError;
use crate::files::problem_lines;
use crate::runtime::on_this_thread;
use crate::table::Table;
use crate::ui::Ui;

/// List the flows that a server knows, or show one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel flows
  tidewheel flows nightly --server https://tide.example
  tidewheel run nightly --server https://tide.example

It asks the server that has the data folder, or the one of --server. With --format json it prints { flows,
broken }, or for one flow { name, params, steps, problems, … }. Exit code 4 if there is no server, or no such
flow.")]
pub(crate) struct Args {
    /// The flow
    flow: Option<String>,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let server = args.data.server(ui)?;
    let is_json = ui.format(Format::Human) == Format::Json;
    match &args.flow {
        Some(flow) => {
            let flow = on_this_thread(async { Ok(server.flow(flow).await?) })?;
            if is_json { ui.print_json(&flow)? } else { ui.print(&flow_text(&flow))? }
        }
        None => {
            let list = on_this_thread(async { Ok(server.flows().await?) })?;
            if is_json { ui.print_json(&list)? } else { show(ui, &list)? }
        }
    }
    Ok(0)
}

fn show(ui: &Ui, list: &FlowList) -> Result<(), CommandError> {
    for BrokenFile { file, in_force, problems, .. } in &list.broken {
        let kept =
            if *in_force { "what it said before stays in force" } else { "it is not served" };
        ui.warn(&format!("{} cannot be run: {kept}", harmless(file)));
        ui.explain(&problem_lines(problems));
    }
    if list.flows.is_empty() {
        return ui.print("no flows");
    }
    let mut table = Table::new(["FLOW", "STEPS", "SINCE", "SCHEDULES", "FILE"]);
    for flow in &list.flows {
        table.row([
            harmless(&flow.name),
            flow.steps.to_string(),
            ago(flow.since),
            harmless(&flow.schedules.join(", ")),
            harmless(&flow.file),
        ]);
    }
    ui.print(&table.to_string())
}

fn flow_text(flow: &FlowDetail) -> String {
    let line = &flow.flow;
    let steps = count(line.steps, "step");
    let mut lines =
        vec![format!("{}: {steps}, {} at once", harmless(&line.name), flow.max_workers)];
    lines.extend(line.description.as_deref().map(harmless));
    lines.push(format!("{}, since {}", harmless(&line.file), ago(line.since)));
    if !flow.params.is_empty() {
        let mut table = Table::new(["PARAM", "KIND", "DEFAULT", "WHAT"]);
        for param in &flow.params {
            let ParamLine { name, kind, default, description, .. } = param;
            let default = default.as_ref().map_or_else(|| "(none)".to_owned(), ToString::to_string);
            let about = description.as_deref().map(harmless).unwrap_or_default();
            table.row([harmless(name), kind.clone(), harmless(&default), about]);
        }
        lines.extend([String::new(), table.to_string()]);
    }
    let mut table = Table::new(["STEP", "KIND", "AFTER"]);
    for step in &flow.steps {
        let kind = step.kind.clone().unwrap_or_else(|| "-".to_owned());
        table.row([harmless(&step.name), kind, harmless(&step.after.join(", "))]);
    }
    lines.extend([String::new(), table.to_string()]);
    lines.join("\n")
}
