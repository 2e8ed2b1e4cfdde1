//! `tidewheel publish undo`: takes back what the newest publish of a workspace has brought out.
//!
//! Nothing is ever deleted. What can be taken back, and how, is known in `tidewheel-publish`.

use std::path::PathBuf;

use anyhow::anyhow;
use tidewheel_client::text::harmless;
use tidewheel_publish::run::{PublishOrder, TakenBack, take_back};

use super::place::Place;
use crate::cli::Format;
use crate::data::DataArgs;
use crate::error::{CommandError, ErrorKind};
use crate::runtime::on_runtime;
use crate::table::Table;
use crate::ui::Ui;

/// Take back what the newest publish of a workspace has brought out
///
/// In the reverse order: crates are yanked, packages of npm are marked as deprecated with the reason, and of
/// Python's it is said that only their registry's pages can do it. What was out before is left alone, and nothing
/// is deleted: whoever uses a version keeps it. Without --yes it only shows what would be done. Done again it goes on where it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel publish undo
  tidewheel publish undo --yes --reason 'the parser loses data'

Exit codes: 0 done, or shown; 4 nothing was published from here; 7 not all could be taken back.")]
pub(crate) struct UndoArgs {
    /// The folder of the workspace [default: the working folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Do it
    #[arg(long, short = 'y', requires = "reason")]
    yes: bool,

    /// Why, for those who use it
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// A one-time code for registries of npm
    #[arg(long, value_name = "CODE")]
    otp: Option<String>,

    #[command(flatten)]
    data: DataArgs,
}

pub(super) fn undo(ui: &Ui, args: &UndoArgs) -> Result<u8, CommandError> {
    let mut place =
        Place::take(ui, "tidewheel publish undo", args.folder.as_deref(), None, &args.data)?;
    place.say_code(args.otp.as_deref())?;
    let taken = on_runtime(async {
        let desk = place.desk()?;
        let view = place.last(&desk);
        let Some(order) = view.as_ref().and_then(|view| PublishOrder::of_run(&view.detail)) else {
            let error = anyhow!("nothing was published from {}", place.root.display());
            let hint = "what was published with another data folder is known there: --data";
            return Err(CommandError::new(ErrorKind::NotFound, error).hint(hint));
        };
        let reason = args.reason.as_deref().filter(|_| args.yes);
        Ok(take_back(&place.publisher, &order, reason).await)
    })?;
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(&taken)?,
        Format::Human => ui.print(&text(&taken))?,
    }
    if !args.yes && ui.format(Format::Human) == Format::Human {
        ui.note("hint: --yes and --reason TEXT take it back, with --otp CODE where a registry of npm wants one; `tidewheel publish` finishes what is not out; or leave it");
    }
    let is_done = taken.iter().all(|it| it.error.is_none());
    Ok(if is_done || !args.yes { 0 } else { 7 })
}

fn text(taken: &[TakenBack]) -> String {
    let mut table = Table::new(["PACKAGE", "VERSION", "UNDO", "STATE"]);
    for it in taken {
        let state = it.error.as_deref().unwrap_or(it.state);
        table.row([&*it.package, &it.version, it.way, state].map(harmless));
    }
    table.to_string()
}
