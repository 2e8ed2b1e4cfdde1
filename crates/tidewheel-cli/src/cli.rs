//! The command line as a whole: global flags, the list of commands, and the way from arguments to
//! an exit code.
//!
//! What each command takes and does is in its own file under `command/`.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::command::{backup, bench, prune, schedule, simulate, torture};
use crate::error::CommandError;
use crate::ui::Ui;

/// One scheduler for work that waits: on other work, on time, on capacity, and on failure
#[derive(Debug, Parser)]
#[command(name = "tidewheel", version, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    /// How to write results: for people, or one JSON value for programs
    ///
    /// Results go to standard output, everything else to standard error.
    #[arg(long, global = true, value_name = "FORMAT")]
    format: Option<Format>,

    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "\
Examples:
  tidewheel schedule next --cron '30 2 * * mon-fri' --tz Europe/Zurich
  tidewheel simulate build.json --slots 4 --format human
  tidewheel backup monday.db --data /srv/tidewheel
  tidewheel bench dag --shape layered --tasks 100000

Exit codes:
  0   done
  1   the work itself failed
  2   the command line is wrong
  3   the input or a definition in it is wrong
  4   what was asked for is not there
  5   somebody else is using it, or it has changed meanwhile
  6   it is not safe, so it was not done
  70  a bug in tidewheel";

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people; may change from version to version
    Human,
    /// JSON for programs; fields are only ever added
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    Simulate(simulate::Args),
    Schedule(schedule::Args),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Prune(prune::PruneArgs),
    Bench(bench::Args),
    Torture(torture::Args),
    #[command(hide = true)]
    TortureVictim(torture::VictimArgs),
}

/// Runs the command line `arguments`, the first of which is the program's name.
///
/// Writes to the standard streams, and gives the exit code.
pub fn main(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Clap knows which stream help and errors belong to. A reader who left is no error.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let ui = Ui::new(cli.format);
    let result = catch_unwind(AssertUnwindSafe(|| run(&ui, cli.command)));
    match result.unwrap_or_else(|_| Err(CommandError::panicked())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            ui.report(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(ui: &Ui, command: Option<Command>) -> Result<(), CommandError> {
    match command {
        Some(Command::Simulate(args)) => simulate::run(ui, &args),
        Some(Command::Schedule(args)) => schedule::run(ui, &args),
        Some(Command::Backup(args)) => backup::backup(ui, &args),
        Some(Command::Restore(args)) => backup::restore(ui, &args),
        Some(Command::Prune(args)) => prune::run(ui, &args),
        Some(Command::Bench(args)) => bench::run(ui, &args),
        Some(Command::Torture(args)) => torture::run(ui, &args),
        Some(Command::TortureVictim(args)) => torture::run_victim(&args),
        None => ui.print(&Cli::command().render_long_help().to_string()),
    }
}
