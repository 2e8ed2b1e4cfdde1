//! `tidewheel validate` and `tidewheel schema`: what is wrong with flow files, and what they may say.
//!
//! What is wrong is found by the crate of the flows; here it is shown.

use std::path::PathBuf;

use tidewheel_client::files::schema;
use tidewheel_client::text::{count, harmless};

use crate::cli::Format;
use crate::error::CommandError;
use crate::files::{open_files, report_problems};
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
    /// Flow files; later ones change what earlier ones say. `-` is standard input [default:
    /// tidewheel.yaml, or tidewheel.yml]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Take warnings as errors
    #[arg(long)]
    strict: bool,
}

pub(crate) fn validate(ui: &Ui, args: &ValidateArgs) -> Result<u8, CommandError> {
    let files = open_files(&args.files)?;
    let validated = files.validated(args.strict);
    let exit_code = if validated.valid { 0 } else { 3 };
    if ui.format(Format::Human) == Format::Json {
        ui.print_json(&validated)?;
        return Ok(exit_code);
    }
    report_problems(ui, &files)?;
    if validated.valid {
        let mut name = harmless(&validated.flow.unwrap_or_default());
        if args.files.len() > 1 {
            let files: Vec<String> =
                args.files.iter().map(|file| harmless(&file.to_string_lossy())).collect();
            name = format!("{} as one flow, {name}", files.join(", "));
        }
        ui.print(&format!("{name}: {}, no errors", count(validated.steps, "step")))?;
    }
    Ok(exit_code)
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
