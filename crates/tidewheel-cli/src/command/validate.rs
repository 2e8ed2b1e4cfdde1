//! `tidewheel validate` and `tidewheel schema`: what is wrong with flow files, and what they may say.
//!
//! What is wrong is found by the crate of the flows; here it is shown.

use std::path::PathBuf;

use serde_json::json;
use tidewheel_client::text::{count, harmless};
use tidewheel_flow::{Disk, load, schema};

use crate::cli::Format;
use crate::error::CommandError;
use crate::files::report_problems;
use crate::ui::Ui;

/// Check flow files, and run nothing
///
/// Reports every problem at once, with its place in the file and what to do about it. Several files
/// are merged from left to right into one flow, as `tidewheel run` does; flows of their own are checked
/// one by one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel validate flow.yaml
  tidewheel validate base.yaml production.yaml --format json
  for file in flows/*.yaml; do tidewheel validate \"$file\"; done

With --format json it prints { valid, flow, steps, problems: [{ file, line, column, severity, code,
message, hint }] }. Exit code 3 if the flow cannot be run.")]
pub(crate) struct ValidateArgs {
    /// Flow files; later ones change what earlier ones say
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Take warnings as errors
    #[arg(long)]
    strict: bool,
}

pub(crate) fn validate(ui: &Ui, args: &ValidateArgs) -> Result<u8, CommandError> {
    let loaded = load(&args.files, &Disk);
    let is_strict_enough = !args.strict || loaded.problems.is_empty();
    let is_valid = loaded.runnable().is_some() && is_strict_enough;
    let steps = loaded.flow.as_ref().map_or(0, |flow| flow.steps.len());
    let name = loaded.flow.as_ref().map(|flow| flow.name.clone());
    if ui.format(Format::Human) == Format::Json {
        let value = json!({
            "valid": is_valid,
            "flow": name,
            "steps": steps,
            "problems": loaded.problems.to_json(&loaded.files),
        });
        ui.print(&value.to_string())?;
        return Ok(if is_valid { 0 } else { 3 });
    }
    report_problems(ui, &loaded)?;
    if is_valid {
        let mut name = harmless(&name.unwrap_or_default());
        if args.files.len() > 1 {
            let files: Vec<String> =
                args.files.iter().map(|file| harmless(&file.to_string_lossy())).collect();
            name = format!("{} as one flow, {name}", files.join(", "));
        }
        ui.print(&format!("{name}: {}, no errors", count(steps, "step")))?;
    }
    Ok(if is_valid { 0 } else { 3 })
}

/// Write the JSON Schema of flow files, for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel schema > flow.schema.json

Then start a flow file with
  # yaml-language-server: $schema=flow.schema.json")]
pub(crate) struct SchemaArgs {}

pub(crate) fn print_schema(ui: &Ui, _: &SchemaArgs) -> Result<u8, CommandError> {
    ui.print(&format!("{:#}", schema()))?;
    Ok(0)
}
