//! `tidewheel config`: which settings hold, where they come from, and which files say so.
//!
//! What can be set, and which word wins, is in `crate::config`.

use serde_json::{Value as Json, json};
use tidewheel_client::text::harmless;

use crate::cli::Format;
use crate::config::{Config, Place, Surroundings, as_json, as_text, places};
use crate::error::CommandError;
use crate::ui::Ui;

/// Show the settings, and where they come from
///
/// A flag wins over a variable TIDEWHEEL_..., that over the file tidewheel.toml of the project,
/// that over the file of the user, and that over the default.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Show(ShowArgs),
    Path(PathArgs),
}

/// Show all settings with their values
///
/// It is written as a configuration file would be. Lines that begin with # have no value and say
/// what that comes to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel config show
  tidewheel config show --origin
  TIDEWHEEL_RUN_MAX_WORKERS=8 tidewheel config show --format json

With --format json it prints { \"settings\": { KEY: { value, origin: { kind, where }, description }
} }. The kind is default, file, environment or flag. Durations are seconds, sizes are bytes, and
null is what has no value or is switched off.")]
struct ShowArgs {
    /// Say where each value comes from
    #[arg(long)]
    origin: bool,
}

/// Show which configuration files are read, and whether they are there
///
/// The first wins. Nothing is read, so this works when a file is wrong.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel config path
  TIDEWHEEL_CONFIG=other.toml tidewheel config path

With --format json it prints { \"files\": [ { role, path, exists } ] }. The role is project, user,
or named for the file that TIDEWHEEL_CONFIG names.")]
struct PathArgs {}

/// Runs it. Settings that could not be read are an error only of what needs them.
pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    match &args.command {
        Command::Show(args) => {
            ui.check_config()?;
            show(ui, ui.config(), args)?;
        }
        Command::Path(PathArgs {}) => path(ui, &places(&Surroundings::of_this_process()))?,
    }
    Ok(0)
}

fn show(ui: &Ui, config: &Config, args: &ShowArgs) -> Result<(), CommandError> {
    if ui.format(Format::Human) == Format::Json {
        return ui.print(&as_json(config).to_string());
    }
    ui.print(&as_text(config, args.origin))
}

fn path(ui: &Ui, places: &[Place]) -> Result<(), CommandError> {
    if ui.format(Format::Human) == Format::Json {
        return ui.print(&places_json(places).to_string());
    }
    ui.print(&places_text(places))
}

fn places_json(places: &[Place]) -> Json {
    let file = |place: &Place| {
        json!({
            "role": place.role.word(),
            "path": place.path.to_string_lossy(),
            "exists": place.exists,
        })
    };
    json!({ "files": places.iter().map(file).collect::<Vec<_>>() })
}

fn places_text(places: &[Place]) -> String {
    let line = |place: &Place| {
        let state = if place.exists { "" } else { "  (not there)" };
        let (role, path) = (place.role.word(), harmless(&place.path.to_string_lossy()));
        format!("{role:7}  {path}{state}\n")
    };
    places.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_with_their_role_and_whether_they_are_there() {
        let around = Surroundings {
            variables: vec![("XDG_CONFIG_HOME".into(), "/nowhere\u{1b}".into())],
            ..Surroundings::default()
        };
        let places = places(&around);
        assert_eq!(
            places_text(&places),
            "user     /nowhere\\u{1b}/tidewheel/config.toml  (not there)\n"
        );
        assert_eq!(
            places_json(&places),
            json!({ "files": [{
                "role": "user",
                "path": "/nowhere\u{1b}/tidewheel/config.toml",
                "exists": false,
            }] })
        );
    }
}
