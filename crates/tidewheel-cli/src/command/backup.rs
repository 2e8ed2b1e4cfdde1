//! `tidewheel backup` and `tidewheel restore`: a copy of a data folder's database, and the way back.
//!
//! How it is copied while in use is the library's business.

use std::path::PathBuf;

use serde_json::json;
use tidewheel::store::sqlite::restore_backup;

use crate::cli::Format;
use crate::data::{DataArgs, folder_error};
use crate::error::CommandError;
use crate::ui::Ui;

/// Copy the database of a data folder while it is in use
///
/// The copy holds everything that was acknowledged before the command began. It is checked before it
/// gets its name. Logs of steps are files of their own and are not part of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel backup monday.db
  tidewheel backup /backup/tidewheel.db --data /srv/tidewheel --format json

With --format json it prints { \"backup\": FILE, \"bytes\": N }.")]
pub(crate) struct BackupArgs {
    /// The file to make; it must not exist
    to: PathBuf,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn backup(ui: &Ui, args: &BackupArgs) -> Result<(), CommandError> {
    let folder = args.data.open_existing(ui)?;
    folder.backup(&args.to).map_err(|error| folder_error(error, folder.path()))?;
    let bytes = std::fs::metadata(&args.to).map_or(0, |file| file.len());
    let name = args.to.display();
    match ui.format(Format::Human) {
        Format::Json => {
            ui.print(&json!({ "backup": name.to_string(), "bytes": bytes }).to_string())
        }
        Format::Human => ui.print(&format!("{name}: {bytes} bytes, checked")),
    }
}

/// Make a data folder of a copy that `tidewheel backup` made
///
/// Runs that had not ended when the copy was made have not ended in the folder either: whoever opens
/// it goes on with them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel restore monday.db --data /srv/tidewheel-new
  tidewheel restore monday.db --overwrite

With --format json it prints { \"data\": DIR }.")]
pub(crate) struct RestoreArgs {
    /// The copy
    from: PathBuf,

    #[command(flatten)]
    data: DataArgs,

    /// Replace the database that is there; nobody may be using it
    #[arg(long)]
    overwrite: bool,
}

pub(crate) fn restore(ui: &Ui, args: &RestoreArgs) -> Result<(), CommandError> {
    let path = args.data.path(ui)?;
    restore_backup(&args.from, &path, args.overwrite).map_err(|error| {
        let exists = matches!(&error, tidewheel::store::sqlite::FolderError::Exists { .. });
        let error = folder_error(error, &path);
        if exists { error.hint("--overwrite replaces it") } else { error }
    })?;
    match ui.format(Format::Human) {
        Format::Json => ui.print(&json!({ "data": path.display().to_string() }).to_string()),
        Format::Human => ui.print(&format!("restored {}", path.display())),
    }
}
