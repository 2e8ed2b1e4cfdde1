//! `tidewheel init`: a first flow file to run and to change.
//!
//! What a flow file may say is known to the crate of the flows alone.

use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::json;
use tidewheel_client::files::schema;

use crate::cli::Format;
use crate::error::{CommandError, ErrorKind};
use crate::output::write_atomically;
use crate::output::write_new;
use crate::ui::Ui;

/// What is written.
const STARTER: &str = include_str!("starter.yaml");
/// The file that the first line of the starter tells editors to read.
const SCHEMA: &str = "flow.schema.json";

/// Write a flow file to start from
///
/// It runs as it is, needs nothing but a shell, and explains itself in comments. Beside it the schema of
/// flow files is written, if it is not there: editors that know YAML complete and check by it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel init
  tidewheel init flows/nightly.yaml

With --format json it prints { \"file\": FILE }.")]
pub(crate) struct Args {
    /// The file to make
    #[arg(default_value = "flow.yaml")]
    file: PathBuf,

    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let shown = args.file.display();
    if args.force {
        write_atomically(&args.file, STARTER)?;
    } else if !write_new(&args.file, STARTER)? {
        let error = anyhow!("{shown} is already there");
        return Err(CommandError::new(ErrorKind::Conflict, error)
            .hint("name another file, or say --force to replace it"));
    }
    // Somebody may have written one before, for other flows.
    write_new(&args.file.with_file_name(SCHEMA), &format!("{:#}\n", schema()))?;
    match ui.format(Format::Human) {
        Format::Json => ui.print(&json!({ "file": shown.to_string() }).to_string())?,
        Format::Human => {
            ui.print(&format!("{shown} is ready: tidewheel run {shown}"))?;
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeMap;
    use std::sync::Arc;

    use tidewheel_client::files::FlowFiles;

    #[test]
    fn the_starter_has_no_problems() {
        let path = PathBuf::from("flow.yaml");
        let texts = BTreeMap::from([(path.clone(), Arc::from(STARTER))]);
        let loaded = FlowFiles::of_texts(&[path], &texts);
        let modeline = format!("# yaml-language-server: $schema={SCHEMA}\n");
        assert!(STARTER.starts_with(&modeline), "editors find the schema");
        assert!(!loaded.has_problems(), "{}", loaded.problems(false, 100));
        assert!(STARTER.lines().all(|line| line.chars().count() <= 100));
    }
}
