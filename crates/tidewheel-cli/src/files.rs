//! Flow files as arguments: read, checked, and their problems shown.
//!
//! What is wrong with files and params is found out by the client.

use std::path::PathBuf;

use tidewheel_client::files::FlowFiles;

use crate::cli::Format;
use crate::error::CommandError;
use crate::ui::Ui;

/// Reads files into a flow that can be run. Warnings are shown, errors are too, and end it.
pub(crate) fn read_files(ui: &Ui, paths: &[PathBuf]) -> Result<FlowFiles, CommandError> {
    let files = FlowFiles::read(paths);
    report_problems(ui, &files)?;
    Ok(files)
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
