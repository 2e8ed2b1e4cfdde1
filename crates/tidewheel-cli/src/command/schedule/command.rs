//! The subcommands of `tidewheel schedule`.
//!
//! Each is in a file beside.

use clap::Subcommand;

use super::{named, next};
use crate::error::CommandError;
use crate::ui::Ui;

/// Look at schedules and steer them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ScheduleCommand,
}

#[derive(Debug, Subcommand)]
enum ScheduleCommand {
    List(named::ListArgs),
    Next(next::NextArgs),
    Ledger(named::LedgerArgs),
    Pause(named::PauseArgs),
    Resume(named::ResumeArgs),
    Run(named::RunArgs),
    Backfill(named::BackfillArgs),
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    match &args.command {
        ScheduleCommand::List(args) => named::list(ui, args),
        ScheduleCommand::Next(args) => next::next(ui, args),
        ScheduleCommand::Ledger(args) => named::ledger(ui, args),
        ScheduleCommand::Pause(args) => named::pause(ui, args),
        ScheduleCommand::Resume(args) => named::resume(ui, args),
        ScheduleCommand::Run(args) => named::fire(ui, args),
        ScheduleCommand::Backfill(args) => named::backfill(ui, args),
    }
}
