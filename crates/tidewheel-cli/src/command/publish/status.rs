//! `tidewheel publish status`: what of the newest publish of a workspace is out, as its registries say now.
//!
//! Nothing is changed, and nobody is kept from publishing.

use std::fs;
use std::path::PathBuf;

use anyhow::anyhow;
use tidewheel_publish::prepare::folder_of;
use tidewheel_publish::run::{PublishOrder, Publisher, Report};
use tidewheel_publish::settings::Surroundings;

use super::graph::workspace_root;
use super::place::LAST;
use super::shown::{advice, report_text};
use crate::cli::Format;
use crate::data::{DataArgs, local_desk};
use crate::error::{CommandError, ErrorKind};
use crate::runtime::on_runtime;
use crate::ui::Ui;

/// Say what of the newest publish of a workspace is out
///
/// Asks the registries, by the contents that were packed. How a publish that goes on is doing is also shown by
/// `tidewheel show last`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel publish status
  tidewheel publish status ../workspace --format json

Exit codes are those of `tidewheel publish`; 4 if nothing was published from here.")]
pub(crate) struct StatusArgs {
    /// The folder of the workspace [default: the working folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    data: DataArgs,
}

pub(super) fn status(ui: &Ui, args: &StatusArgs) -> Result<u8, CommandError> {
    let root = workspace_root(ui, args.folder.as_deref())?;
    let folder = args.data.open_existing(ui)?;
    let ours = folder_of(&std::path::absolute(folder.path())?, &root);
    let report = on_runtime(async {
        let desk = local_desk(folder)?;
        let last = fs::read_to_string(ours.join(LAST)).ok();
        let view = last.and_then(|id| desk.show(id.trim()).ok());
        let order = view.as_ref().and_then(|view| PublishOrder::of_run(&view.detail));
        let (Some(view), Some(order)) = (view.as_ref(), order) else {
            let error = anyhow!("nothing was published from {}", root.display());
            return Err(
                CommandError::new(ErrorKind::NotFound, error).hint("see `tidewheel publish plan`")
            );
        };
        let publisher = Publisher::new(Surroundings::here(&root)).map_err(CommandError::usage)?;
        Ok(Report::new(&publisher, &order, Some(&view.detail)).await)
    })?;
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(&report)?,
        Format::Human => {
            ui.print(&report_text(&report))?;
            if let Some(advice) = advice(&report) {
                ui.note(&format!("hint: {advice}"));
            }
        }
    }
    Ok(report.verdict.exit_code())
}
