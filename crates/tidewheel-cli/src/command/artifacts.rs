//! `tidewheel artifacts`: files that the steps of a run left with it, listed and copied.
//!
//! Which there are is found out at the desk.

use std::path::PathBuf;

use tidewheel_client::api::ArtifactList;
use tidewheel_client::text::{count, harmless, short_id};

use crate::cli::Format;
use crate::data::DataArgs;
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
    data: DataArgs,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    if args.get.is_some() {
        get(ui, args)?;
        return Ok(0);
    }
    let (run, step, to) = (args.run.clone(), args.step.clone(), args.to.clone());
    let list = args.data.at_desk(ui, async |desk| {
        Ok(match to {
            Some(folder) => {
                let copy = move |desk: &tidewheel_client::desk::LocalDesk| {
                    desk.copy_artifacts(&run, step.as_deref(), &folder)
                };
                desk.here(copy).await?
            }
            None => desk.artifacts(&run, step.as_deref()).await?,
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
    let (run, step) = (args.run.clone(), args.step.clone());
    let name = args.get.clone().unwrap_or_default();
    args.data.at_desk(ui, async |desk| {
        let write = move |desk: &tidewheel_client::desk::LocalDesk| {
            desk.artifact(&run, step.as_deref(), &name, &mut std::io::stdout())
        };
        Ok(desk.here(write).await?)
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
