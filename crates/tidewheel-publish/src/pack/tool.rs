//! Starting the tools that pack: with the variables of whoever asked for it, except those that are secrets.
//!
//! What is asked of them is in the files of the ecosystems.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::settings::Surroundings;

/// Lines of what a tool said that are passed on.
const LINES_MAX: usize = 20;

/// Runs a tool in a folder, and gives what it wrote to standard output.
///
/// The code of packages may be run by it, which must not get hold of what uploads are made with.
pub(crate) fn run(
    around: &Surroundings,
    folder: &Path,
    program: &str,
    arguments: &[String],
) -> Result<String, String> {
    started(around, folder, program, arguments, around.without_secrets())
}

/// The same for a program that whoever publishes has named, and no package: it may need secrets of its own.
pub(crate) fn run_trusted(
    around: &Surroundings,
    folder: &Path,
    program: &str,
    arguments: &[String],
) -> Result<String, String> {
    started(around, folder, program, arguments, around.variables())
}

fn started<'a>(
    around: &Surroundings,
    folder: &Path,
    program: &str,
    arguments: &[String],
    variables: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env_clear().envs(variables);
    let output = around.stop.run(&mut command).map_err(|error| match around.stop.is_said() {
        true => format!("`{program}` was stopped"),
        false => format!("`{program}` cannot be started: {error}"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = if said.trim().is_empty() { String::from_utf8_lossy(&output.stdout) } else { said };
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let end = &lines[lines.len().saturating_sub(LINES_MAX)..];
    let what = arguments.first().map(String::as_str).unwrap_or_default();
    Err(format!("`{program} {what}` ended with {}:\n{}", output.status, end.join("\n")))
}
