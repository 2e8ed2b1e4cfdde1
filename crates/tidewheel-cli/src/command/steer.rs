//! `tidewheel pause`, `cancel` and `approve`: wishes about runs that another process runs.
//!
//! Who may wish what is known at the desk.

use std::pin::pin;
use std::time::Duration;

use anyhow::anyhow;
use tidewheel_client::api::{AnswerWish, Asked, CancelWish, OneTimeCode};
use tidewheel_client::desk::{Desk, DeskError};
use tidewheel_client::text::harmless;

use crate::cli::Format;
use crate::data::DeskArgs;
use crate::error::{CommandError, ErrorKind};
use crate::ui::Ui;
use crate::value;

/// How long it is waited in silence.
const SILENCE: Duration = Duration::from_secs(1);

/// Start nothing more of a run until it is resumed; what runs goes on
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel pause last
  tidewheel resume last

Exit code 5 if whoever runs it does not answer within five seconds; it will follow when it can.")]
pub(crate) struct PauseArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn pause(ui: &Ui, args: &PauseArgs) -> Result<u8, CommandError> {
    let asked = args.data.at_owner(ui, async |desk| patiently(ui, desk.pause(&args.run)).await)?;
    said(ui, &asked)
}

/// End a run, or one of its steps
///
/// Running steps are told to end, nothing new starts, and then clean-up is run: `finally`,
/// `on_failure`, and steps with `always`. It is what a second Ctrl-C does where the run is watched. A
/// run whose process died is ended as it is, without clean-up. It waits until whoever runs the run has
/// heard of it: from then on nothing more of it starts.
///
/// With a step it is that one alone: it is ended, or never begun; what needs it is skipped, and everything
/// else goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel cancel last
  tidewheel cancel 3f9a --grace 30s
  tidewheel cancel 3f9a --everything
  tidewheel cancel 3f9a --drain
  tidewheel cancel last deploy

Exit code 5 if whoever runs it does not answer within five seconds; it will follow when it can.")]
pub(crate) struct CancelArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// One step of it: the rest goes on
    #[arg(conflicts_with_all = ["everything", "drain"])]
    step: Option<String>,

    /// Time for running steps to end by themselves [default: the step's `grace`, or 10s]
    #[arg(long, value_name = "TIME", value_parser = value::span)]
    grace: Option<Duration>,

    /// End its clean-up too, also while it runs: what a third Ctrl-C does where the run is watched
    #[arg(long)]
    everything: bool,

    /// Let running steps finish, however long they take: what a first Ctrl-C does where the run is watched
    #[arg(long, conflicts_with_all = ["everything", "grace"])]
    drain: bool,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn cancel(ui: &Ui, args: &CancelArgs) -> Result<u8, CommandError> {
    let wish = CancelWish {
        version: None,
        grace: args.grace,
        everything: args.everything,
        drain: args.drain,
        step: args.step.clone(),
    };
    let cancel = async |desk: Desk| patiently(ui, desk.cancel(&args.run, wish)).await;
    let asked = args.data.at_owner(ui, cancel)?;
    if asked.clean_up_left && ui.format(Format::Human) == Format::Human {
        ui.note("nobody ran it, so its clean-up was not run");
    }
    said(ui, &asked)
}

/// Waits for an answer, and says so if it takes long.
async fn patiently(
    ui: &Ui,
    answer: impl Future<Output = Result<Asked, DeskError>>,
) -> Result<Asked, CommandError> {
    let mut answer = pin!(answer);
    if let Ok(answer) = tokio::time::timeout(SILENCE, &mut answer).await {
        return Ok(answer?);
    }
    ui.note("waiting for the process that runs it, or until what it left behind has ended");
    Ok(answer.await?)
}

fn said(ui: &Ui, asked: &Asked) -> Result<u8, CommandError> {
    let Asked { run_id, step, asked: what, heard, .. } = asked;
    let run_id = match step {
        Some(step) => format!("{run_id} {}", harmless(step)),
        None => run_id.clone(),
    };
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(asked)?,
        Format::Human if *heard => ui.print(&format!("{run_id}: {what}"))?,
        Format::Human => ui.print(&format!(
            "{run_id}: asked to be {what}; the process that runs it has not answered yet"
        ))?,
    }
    Ok(if *heard { 0 } else { ErrorKind::Conflict.exit_code() })
}

/// Answer a step that waits for approval
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel approve last deploy
  tidewheel approve 3f9a deploy --reject --note 'not on a Friday'
  tidewheel approve last npm:core --code

The first answer counts.")]
pub(crate) struct ApproveArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// The step
    step: String,

    /// Say no instead: the step fails
    #[arg(long)]
    reject: bool,

    /// What else is to be said
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// The one-time code, for a step that wants one; without a value it is read from standard input, where no list of
    /// processes shows it. It is handed on and kept nowhere
    #[arg(long, value_name = "CODE", num_args = 0..=1, default_missing_value = "", conflicts_with = "reject")]
    code: Option<String>,

    /// Who answers [default: the user's name]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,

    #[command(flatten)]
    data: DeskArgs,
}

/// The code that was said, or is now.
fn code(ui: &Ui, said: &str) -> Result<OneTimeCode, CommandError> {
    let said = match said {
        "" => ui.line("One-time code:")?,
        said => said.to_owned(),
    };
    OneTimeCode::new(&said).ok_or_else(|| {
        CommandError::usage(anyhow!("there is no code")).hint("write one to standard input")
    })
}

pub(crate) fn approve(ui: &Ui, args: &ApproveArgs) -> Result<u8, CommandError> {
    let by = args.by.clone().or_else(|| std::env::var("USER").ok());
    let wish = AnswerWish {
        version: None,
        approved: !args.reject,
        by: by.unwrap_or_else(|| "somebody".to_owned()),
        note: args.note.clone(),
        code: args.code.as_deref().map(|said| code(ui, said)).transpose()?,
    };
    let answered = args
        .data
        .at_owner(ui, async |desk| Ok(desk.answer(&args.run, &args.step, wish).await?))?;
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(&answered)?,
        _ => ui.print(&format!("{}: {}", answered.step, answered.answer))?,
    }
    Ok(0)
}
