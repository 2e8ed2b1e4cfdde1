//! Flow files as arguments: found, read, checked, and their problems shown.
//!
//! What is wrong with files and params is found out by the client.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde_json::Value as Json;
use tidewheel_client::files::{FlowFiles, STDIN};
use tidewheel_client::text::harmless;

use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;

/// The files that are meant where none is named.
const USUAL: [&str; 2] = ["tidewheel.yaml", "tidewheel.yml"];

/// No flow is larger; one byte more is enough to see that.
const STDIN_MAX: u64 = 64 << 20;

/// Reads files into a flow that can be run. Warnings are shown, errors are too, and end it.
pub(crate) fn read_files(ui: &Ui, paths: &[PathBuf]) -> Result<FlowFiles, CommandError> {
    let files = open_files(paths)?;
    report_problems(ui, &files)?;
    Ok(files)
}

/// Reads files: those that are named, `-` for standard input, or the one that is usual in this folder.
pub(crate) fn open_files(paths: &[PathBuf]) -> Result<FlowFiles, CommandError> {
    if paths.is_empty() {
        return Ok(FlowFiles::read(&[usual_file()?]));
    }
    if let Some(folder) = paths.iter().find(|path| path.is_dir()) {
        let shown = harmless(&folder.display().to_string());
        let error = CommandError::input(anyhow!("{shown} is a folder, and a flow is a file"));
        return Err(error
            .hint(format!("for file in {shown}/*.yaml; do tidewheel validate \"$file\"; done"))
            .hint(format!("tidewheel serve --flows {shown}  serves its files")));
    }
    match paths.iter().filter(|path| *path == Path::new(STDIN)).count() {
        0 => Ok(FlowFiles::read(paths)),
        1 => {
            let mut text = Vec::new();
            std::io::stdin().take(STDIN_MAX).read_to_end(&mut text).map_err(|error| {
                CommandError::input(anyhow!(error).context("cannot read standard input"))
            })?;
            Ok(FlowFiles::read_with_stdin(paths, text))
        }
        _ => Err(CommandError::usage(anyhow!("standard input can be read only once"))),
    }
}

fn usual_file() -> Result<PathBuf, CommandError> {
    let there: Vec<&str> = USUAL.into_iter().filter(|name| Path::new(name).exists()).collect();
    match there[..] {
        [name] => Ok(PathBuf::from(name)),
        [] => {
            let error = anyhow!("no flow file is named, and there is no tidewheel.yaml here");
            let error = CommandError::new(ErrorKind::Usage, error);
            Err(error.hint("name one, or make one:  tidewheel init tidewheel.yaml"))
        }
        _ => {
            let error = anyhow!("no flow file is named, and {} are both here", USUAL.join(" and "));
            Err(CommandError::usage(error).hint("name the one that is meant, or remove one"))
        }
    }
}

/// Problems of files that are elsewhere, a line each, with their places.
pub(crate) fn problem_lines(problems: &Json) -> String {
    let line = |problem: &Json| {
        let text = |key: &str| problem[key].as_str().map(harmless);
        let number = |key: &str| problem[key].as_u64();
        let file = text("file").unwrap_or_default();
        let place = match (number("line"), number("column")) {
            (Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
            _ if file.is_empty() => String::new(),
            _ => format!("{file}: "),
        };
        let hint = text("hint").map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("  {place}{}{hint}", text("message").unwrap_or_default())
    };
    problems.as_array().into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}

/// Shows all problems. Errors make the command fail.
pub(crate) fn report_problems(ui: &Ui, files: &FlowFiles) -> Result<(), CommandError> {
    if !files.has_problems() {
        return Ok(());
    }
    let runnable = files.runnable();
    // Warnings of a flow that runs are told beside the result.
    if ui.format(Format::Human) == Format::Human || runnable.is_ok() {
        ui.explain(&files.problems(ui.is_colourful_for_errors(), ui.width()));
    }
    Ok(runnable.map(drop)?)
}
