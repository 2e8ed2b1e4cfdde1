//! `tidewheel prune`: removes records and logs of work that ended, by age, count and size.
//!
//! Work that has not ended is never touched.

use std::time::Duration;

use anyhow::anyhow;
use serde_json::json;
use tidewheel::store::sqlite::{LeftOver, Retention};
use tidewheel_client::text::{count, harmless};

use crate::cli::Format;
use crate::data::{DataArgs, folder_error};
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;
use crate::value;

/// Remove records and logs of runs that ended
///
/// It may be used while the folder is in use, and be interrupted: the next call goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel prune --older-than 30d
  tidewheel prune --keep 10000 --bytes 2G --data /srv/tidewheel

With --format json it prints { \"runs\": N, \"files\": N, \"bytes\": N }, and under \"left\" what could
not be removed: then it exits with 1.")]
pub(crate) struct PruneArgs {
    /// Remove what ended longer ago: 90s, 15m, 12h, 30d, 4w
    #[arg(long, value_name = "SPAN", value_parser = value::span)]
    older_than: Option<Duration>,

    /// Keep at most so many runs, the newest
    #[arg(long, value_name = "N")]
    keep: Option<u64>,

    /// Keep at most so many bytes of logs and outputs, those of the newest runs: 500M, 2G
    #[arg(long, value_name = "SIZE", value_parser = value::bytes)]
    bytes: Option<u64>,

    #[command(flatten)]
    data: DataArgs,
}

pub(crate) fn run(ui: &Ui, args: &PruneArgs) -> Result<(), CommandError> {
    let config = ui.config();
    let retention = Retention {
        older_than: args.older_than.or_else(|| config.retention_age()),
        count_max: args.keep.or_else(|| config.retention_runs()),
        bytes_max: args.bytes.or_else(|| config.retention_bytes()),
    };
    if retention == Retention::default() {
        return Err(CommandError::usage(anyhow!("nothing is said about what to remove"))
            .hint("use --older-than, --keep or --bytes, or set retention.age and so on"));
    }
    let folder = args.data.open_existing(ui)?;
    let pruned = folder.prune(retention).map_err(|error| folder_error(error, folder.path()))?;
    let (runs, files, bytes) = (pruned.runs, pruned.files, pruned.bytes);
    match ui.format(Format::Human) {
        Format::Json => {
            let left: Vec<String> = pruned.left.iter().map(words).collect();
            let answer = json!({ "runs": runs, "files": files, "bytes": bytes, "left": left });
            ui.print(&answer.to_string())?;
        }
        Format::Human => {
            let (runs, files) = (count(runs as usize, "run"), count(files as usize, "file"));
            let bytes = count(bytes as usize, "byte");
            ui.print(&format!("removed {runs} and {files} with {bytes}"))?;
        }
    }
    let Some(first) = pruned.left.first() else { return Ok(()) };
    let more = match pruned.left.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let error = anyhow!("cannot remove {}{more}", words(first));
    Err(CommandError::new(ErrorKind::Failed, error).hint("remove it by hand, then prune again"))
}

fn words(left: &LeftOver) -> String {
    let LeftOver { path, why } = left;
    format!("{}: {why}", harmless(&path.to_string_lossy()))
}
