//! The command line as a whole: global flags, the list of commands, and the way from arguments to
//! an exit code.
//!
//! What each command takes and does is in its own file under `command/`.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::command::{
    again, artifacts, audit, backup, bench, completions, config, explain, flows, import, init,
    login, logs, mail, man, plan, priority, prune, publish, run, runs, schedule, serve, simulate,
    steer, token, torture, tui, validate,
};
use crate::config::{Config, Setting, Value};
use crate::error::CommandError;
use crate::ui::{Ui, warn};

/// One scheduler for work that waits: on other work, on time, on capacity, and on failure
#[derive(Debug, Parser)]
#[command(name = "tidewheel", version, max_term_width = 100, after_help = AFTER_HELP)]
struct Cli {
    /// How to write results: for people, or one JSON value for programs
    ///
    /// Results go to standard output, everything else to standard error. `graph` also writes text,
    /// dot, mermaid and svg.
    #[arg(long, global = true, value_name = "FORMAT")]
    format: Option<WideFormat>,

    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "\
Examples:
  tidewheel run flow.yaml
  tidewheel validate flow.yaml
  tidewheel show last
  tidewheel tui
  tidewheel serve --flows flows
  tidewheel publish plan
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
  7   not all is published yet: run it again
  8   somebody has to see to a publish first
  70  a bug in tidewheel
  130 after Ctrl-C, 143 after SIGTERM";

/// How results are written, with what only pictures know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WideFormat {
    /// Text for people; may change from version to version
    Human,
    /// JSON for programs; fields are only ever added
    Json,
    /// A drawing in text
    #[value(hide = true)]
    Text,
    /// For Graphviz
    #[value(hide = true)]
    Dot,
    /// For Markdown
    #[value(hide = true)]
    Mermaid,
    /// A picture
    #[value(hide = true)]
    Svg,
}

impl WideFormat {
    /// Reads what `graph` takes, and says so in its help and its errors.
    pub fn of_pictures() -> impl TypedValueParser<Value = Self> {
        // For pictures, what is for people is text.
        let formats = [Self::Text, Self::Svg, Self::Dot, Self::Mermaid, Self::Json, Self::Human];
        let formats = formats
            .into_iter()
            .filter_map(|format| Some(format.to_possible_value()?.hide(format == Self::Human)));
        PossibleValuesParser::new(formats).try_map(|word| Self::from_str(&word, false))
    }
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for people.
    Human,
    /// JSON for programs.
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Tui(tui::Args),
    Serve(serve::Args),
    Validate(validate::ValidateArgs),
    Plan(plan::PlanArgs),
    Graph(plan::GraphArgs),
    Runs(runs::RunsArgs),
    Show(runs::ShowArgs),
    Logs(logs::Args),
    Artifacts(artifacts::Args),
    Explain(explain::Args),
    Flows(flows::Args),
    Retry(again::RetryArgs),
    Resume(again::ResumeArgs),
    Pause(steer::PauseArgs),
    Cancel(steer::CancelArgs),
    Priority(priority::Args),
    Approve(steer::ApproveArgs),
    Init(init::Args),
    Import(import::Args),
    Schema(validate::SchemaArgs),
    Config(config::Args),
    Completions(completions::Args),
    Man(man::Args),
    Simulate(simulate::Args),
    Schedule(schedule::Args),
    Publish(Box<publish::Args>),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Prune(prune::PruneArgs),
    Login(login::Args),
    Token(token::Args),
    Audit(audit::Args),
    Mail(mail::Args),
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
    let ui = Ui::new(cli.format, settings(cli.format));
    let result = catch_unwind(AssertUnwindSafe(|| run(&ui, cli.command)));
    match result.unwrap_or_else(|_| Err(CommandError::panicked())) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            ui.report(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// The settings, with what the command line says about all commands on top.
fn settings(format: Option<WideFormat>) -> Result<Config, CommandError> {
    let (mut config, warnings) = Config::load()?;
    for warning in warnings {
        warn(&warning);
    }
    config.set_flag(Setting::Format, format.and_then(format_value));
    Ok(config)
}

fn format_value(format: WideFormat) -> Option<Value> {
    matches!(format, WideFormat::Human | WideFormat::Json).then(|| Value::word(&format))
}

fn run(ui: &Ui, command: Option<Command>) -> Result<u8, CommandError> {
    let Some(command) = command else {
        return ui.print(&Cli::command().render_long_help().to_string()).map(|()| 0);
    };
    if !matches!(command, Command::Graph(_) | Command::Publish(_)) {
        ui.check_format()?;
    }
    if !matches!(command, Command::Config(_) | Command::TortureVictim(_)) {
        ui.check_config()?;
    }
    let done = |()| 0;
    match command {
        Command::Run(args) => run::run(ui, &args),
        Command::Tui(args) => tui::run(ui, &args),
        Command::Serve(args) => serve::run(ui, &args).map(done),
        Command::Validate(args) => validate::validate(ui, &args),
        Command::Plan(args) => plan::plan(ui, &args),
        Command::Graph(args) => plan::graph(ui, &args),
        Command::Runs(args) => runs::list(ui, &args),
        Command::Show(args) => runs::show(ui, &args),
        Command::Logs(args) => logs::run(ui, &args),
        Command::Artifacts(args) => artifacts::run(ui, &args),
        Command::Explain(args) => explain::run(ui, &args),
        Command::Flows(args) => flows::run(ui, &args),
        Command::Retry(args) => again::retry(ui, &args),
        Command::Resume(args) => again::resume(ui, &args),
        Command::Pause(args) => steer::pause(ui, &args),
        Command::Cancel(args) => steer::cancel(ui, &args),
        Command::Priority(args) => priority::run(ui, &args),
        Command::Approve(args) => steer::approve(ui, &args),
        Command::Init(args) => init::run(ui, &args),
        Command::Import(args) => import::run(ui, &args),
        Command::Schema(args) => validate::print_schema(ui, &args),
        Command::Config(args) => config::run(ui, &args),
        Command::Completions(args) => completions::run(ui, &args, Cli::command()),
        Command::Man(args) => man::run(ui, &args, Cli::command()),
        Command::Simulate(args) => simulate::run(ui, &args).map(done),
        Command::Schedule(args) => schedule::run(ui, &args).map(done),
        Command::Publish(args) => publish::run(ui, &args),
        Command::Backup(args) => backup::backup(ui, &args).map(done),
        Command::Restore(args) => backup::restore(ui, &args).map(done),
        Command::Prune(args) => prune::run(ui, &args).map(done),
        Command::Login(args) => login::run(ui, &args).map(done),
        Command::Token(args) => token::run(ui, &args).map(done),
        Command::Mail(args) => mail::run(ui, &args).map(done),
        Command::Audit(args) => audit::run(ui, &args).map(done),
        Command::Bench(args) => bench::run(ui, &args).map(done),
        Command::Torture(args) => torture::run(ui, &args).map(done),
        Command::TortureVictim(args) => torture::run_victim(&args).map(done),
    }
}
