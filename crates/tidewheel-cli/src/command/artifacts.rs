//! `tidewheel artifacts`: files that the steps of a run left with it, listed and copied.
//!
//! Which there are is found out at the desk.

use std::path::PathBuf;

use tidewheel_client::api::ArtifactList;
use tidewheel_client::text::{count, harmless, short_id};

use crate::cli::Format;
use crate::data::DeskArgs;
use crate::error::CommandError;
use crate::table::Table;
use crate::ui::Ui;

/// List and copy files that steps of a run left with it
///
/// Steps name them under `artifacts`. Copies are compared with what was kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel artifacts last
  tidewheel artifacts 3f9a --get dist/app.tar.gz > app.tar.gz
  tidewheel artifacts 3f9a --to downloads
  tidewheel artifacts last --to downloads --server https://tide.example

With --format json it prints { run_id, artifacts: [ { name, step, attempt, bytes, sha256, path } ] }.")]
pub(crate) struct Args {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Write this one to standard output
    #[arg(long, value_name = "NAME", conflicts_with = "to")]
    get: Option<String>,

    /// Copy all of them into this folder, as STEP/NAME; nothing that is there is overwritten
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,

    /// Only those of this step
    #[arg(long, value_name = "STEP")]
    step: Option<String>,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    if args.get.is_some() {
        get(ui, args)?;
        return Ok(0);
    }
    let step = args.step.as_deref();
    let list = args.data.at_desk(ui, async |desk| {
        Ok(match &args.to {
            Some(folder) => desk.copy_artifacts(&args.run, step, folder).await?,
            None => desk.artifacts(&args.run, step).await?,
        })
    })?;
    match (ui.format(Format::Human), &args.to) {
        (Format::Json, _) => ui.print_json(&list)?,
        (Format::Human, Some(folder)) => {
            let files = count(list.artifacts.len(), "file");
            ui.print(&format!("copied {files} to {}", harmless(&folder.to_string_lossy())))?;
        }
        (Format::Human, None) => ui.print(&as_text(&list))?,
    }
    Ok(0)
}

/// Writes one of them to standard output.
fn get(ui: &Ui, args: &Args) -> Result<(), CommandError> {
    let name = args.get.as_deref().unwrap_or_default();
    args.data.at_desk(ui, async |desk| {
        Ok(desk.artifact(&args.run, args.step.as_deref(), name, std::io::stdout()).await?)
    })
}

fn as_text(list: &ArtifactList) -> String {
    if list.artifacts.is_empty() {
        return format!("run {} has no artifacts", short_id(&list.run_id));
    }
    let mut table = Table::new(["NAME", "STEP", "BYTES", "SHA-256"]);
    for artifact in &list.artifacts {
        table.row([
            harmless(&artifact.name),
            harmless(&artifact.step),
            artifact.bytes.to_string(),
            artifact.sha256.clone(),
        ]);
    }
    table.to_string()
}
