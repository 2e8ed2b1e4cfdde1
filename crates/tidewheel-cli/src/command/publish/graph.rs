//! `tidewheel publish graph`: the packages of a workspace, and the order in which they can be published.
//!
//! What packages are and what is in their way is known in `tidewheel-publish`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use tidewheel_client::text::{block, count, harmless};
use tidewheel_publish::discover::{discover, root_of};
use tidewheel_publish::{Problem, Workspace};

use crate::cli::WideFormat;
use crate::command::plan::draw;
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// Draw the packages of a workspace in the order in which they can be published
///
/// Crates are found by `cargo metadata`, packages of npm, pnpm and yarn by their workspace patterns, Python's
/// by the members of a uv workspace. What is in the way is told: circles, needs of packages that are
/// not published, needs without a version. Nothing is written and no network is used.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel publish graph
  tidewheel publish graph ../workspace --format mermaid
  tidewheel publish graph --format svg -o workspace.svg

Exit codes: 0 they can be published in this order, 3 something is in the way.")]
pub(crate) struct GraphArgs {
    /// The folder of the workspace [default: the working folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// How to draw it; as text unless given
    #[arg(long, value_name = "FORMAT", value_parser = WideFormat::of_pictures())]
    format: Option<WideFormat>,

    /// Write to this file instead of to standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn graph(ui: &Ui, args: &GraphArgs) -> Result<u8, CommandError> {
    let folder = workspace_folder(args.folder.as_deref())?;
    let found = discover(&folder);
    let workspace = Workspace::new(found.packages);
    let mut problems = found.problems;
    problems.extend(workspace.problems());
    if workspace.packages().next().is_some() {
        draw(ui, &workspace.picture(), args.format, args.output.as_deref())?;
    }
    refuse(&problems).map_or(Ok(0), Err)
}

/// The folder of a workspace: the one that was named, or the working folder.
pub(super) fn workspace_folder(named: Option<&Path>) -> Result<PathBuf, CommandError> {
    let folder = match named {
        Some(folder) => folder.to_owned(),
        None => std::env::current_dir()?,
    };
    if !folder.is_dir() {
        let error = anyhow!("there is no folder {}", folder.display());
        return Err(CommandError::new(ErrorKind::NotFound, error));
    }
    Ok(folder)
}

/// The folder of the whole workspace that a folder is a part of: whoever starts from another one of its folders publishes the
/// same, which is said.
pub(super) fn workspace_root(ui: &Ui, named: Option<&Path>) -> Result<PathBuf, CommandError> {
    let folder = std::fs::canonicalize(workspace_folder(named)?)?;
    let Some(root) = root_of(&folder) else { return Ok(folder) };
    ui.note(&format!(
        "{} is a part of the workspace in {}",
        harmless(&folder.display().to_string()),
        harmless(&root.display().to_string())
    ));
    Ok(root)
}

/// What is in the way of something that was refused.
pub(super) fn refused(problems: &[Problem]) -> CommandError {
    refuse(problems).unwrap_or_else(|| CommandError::internal(anyhow!("nothing is in the way")))
}

/// What is in the way, as one error.
pub(super) fn refuse(problems: &[Problem]) -> Option<CommandError> {
    let (first, others) = problems.split_first()?;
    let text = |problem: &Problem| format!("{} [{}]", block(&problem.to_string()), problem.code);
    let what = match others.len() {
        0 => text(first),
        _ => {
            let all: Vec<String> = problems.iter().map(|it| format!("  {}", text(it))).collect();
            format!("{}:\n{}", count(problems.len(), "problem"), all.join("\n"))
        }
    };
    let mut hints: Vec<String> = problems.iter().filter_map(|it| it.hint.clone()).collect();
    hints.dedup();
    hints.push(format!("`tidewheel publish explain {}` says more", first.code));
    let error = CommandError::new(ErrorKind::Input, anyhow!(what));
    Some(hints.iter().fold(error, |error, hint| error.hint(harmless(hint))))
}
