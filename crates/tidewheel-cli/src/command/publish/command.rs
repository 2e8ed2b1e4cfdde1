//! `tidewheel publish` and its subcommands: which of them was asked for.
//!
//! What each of them does is in its own file.

use clap::Subcommand;

use super::args::PublishArgs;
use super::explain::{ExplainArgs, explain};
use super::graph::{GraphArgs, graph};
use super::pack::{PackArgs, pack};
use super::start::{self, ResumeArgs};
use super::status::{StatusArgs, status};
use super::undo::{UndoArgs, undo};
use crate::error::CommandError;
use crate::ui::Ui;

/// Publish the packages of a workspace to their registries, in order, and always finished
///
/// Finds the packages of cargo, npm and Python, packs all of them in a copy of the workspace, asks their
/// registries what is out, shows the plan and asks before anything is sent. A package goes out once all that
/// it needs can be had. Run again after whatever went wrong, it finishes: what is out is found out by its
/// contents.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<PublishCommand>,

    #[command(flatten)]
    publish: PublishArgs,
}

const AFTER_HELP: &str = "\
Examples:
  tidewheel publish
  tidewheel publish plan --format json
  tidewheel publish --yes --max-wait 10m
  tidewheel publish ../workspace --only core --registry ours --dry-run
  tidewheel publish graph --format svg -o workspace.svg

Registries and tokens are read where the packages' own tools have them: cargo's configuration and
credentials, .npmrc, uv's indexes, .pypirc, and their variables. No address is built in. Keys and signals
are those of `tidewheel run`; `runs`, `show`, `explain`, `pause`, `resume` and `cancel` work for a publish as
for every other run.

Exit codes: 0 all is out, 1 a registry refuses a package, 3 something is in the way before anything was
sent, 5 somebody else publishes this workspace, 7 not all is out yet: run it again, 8 somebody has to see
to it first, 130 after Ctrl-C, 143 after SIGTERM. `publish explain CODE` says more.

With --events it prints a JSON object a line as it goes on, the report last. With --format json it prints { run_id, plan, verdict, published, done, failed, skipped, packages }.";

#[derive(Debug, Subcommand)]
enum PublishCommand {
    Plan(Box<PublishArgs>),
    Graph(GraphArgs),
    Pack(PackArgs),
    Status(StatusArgs),
    Resume(ResumeArgs),
    Undo(UndoArgs),
    Explain(ExplainArgs),
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    if !matches!(args.command, Some(PublishCommand::Graph(_))) {
        ui.check_format()?;
    }
    match &args.command {
        None => start::publish(ui, &args.publish),
        Some(PublishCommand::Plan(args)) => start::plan(ui, args),
        Some(PublishCommand::Graph(args)) => graph(ui, args),
        Some(PublishCommand::Pack(args)) => pack(ui, args),
        Some(PublishCommand::Status(args)) => status(ui, args),
        Some(PublishCommand::Resume(args)) => start::resume(ui, args),
        Some(PublishCommand::Undo(args)) => undo(ui, args),
        Some(PublishCommand::Explain(args)) => explain(ui, args),
    }
}
