//! `tidewheel retry` and `tidewheel resume`: going on with runs that failed, were paused, or whose
//! process died.
//!
//! What is run again, and who may go on with what, is known at the desk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use tidewheel_client::api::{GoneOn, Preview, ResumeWish, RetryWish};
use tidewheel_client::desk::{Desk, DeskError, Resumption, RunView};
use tidewheel_client::kind::Startable;
use tidewheel_client::remote::RemoteDesk;
use tidewheel_client::session::{Opening, Session};
use tidewheel_client::text::{harmless, task_list};

use crate::cli::Format;
use crate::command::run::{
    RunArgs, Watched, check_output, finish, level, session_options, start, status_port, watch,
};
use crate::command::{runs, there};
use crate::data::{DeskArgs, local_desk};
use crate::error::{CommandError, ErrorKind};
use crate::files::report_problems;
use crate::live::Level;
use crate::runtime::on_runtime;
use crate::ui::Ui;
use crate::watch::{Ending, Seen, Signals};

/// Run again what did not succeed in a run
///
/// Makes a new run of the same flow, as its files were then and with the same params, in which steps
/// that succeeded are not run again: what they left is used. Of a run of a part of a flow it is the
/// same part. With --new-files, steps whose definition has changed are run again, and so is what comes
/// after them. Of a run that succeeded nothing is left: name a step with --from.
///
/// Where a server has the data folder, it is done there.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel retry last
  tidewheel retry 3f9a --from build
  tidewheel retry 3f9a --skip flaky
  tidewheel retry 3f9a --new-files
  tidewheel retry 3f9a --dry-run

Exit codes and the result are those of `tidewheel run`. With --dry-run --format json it prints
{ run_id, run_again, reused, passed_over, digest }.")]
pub(crate) struct RetryArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Run this step and all that comes after it again, even if they succeeded
    #[arg(long, value_name = "STEP")]
    from: Option<String>,

    /// Do not run this step: it counts as done, and leaves nothing (may be repeated)
    #[arg(long, value_name = "STEP")]
    skip: Vec<String>,

    /// Use the files as they are now instead of as they were then
    #[arg(long)]
    new_files: bool,

    /// Show what would be run again and what would be reused, and run nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    how: RunArgs,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn retry(ui: &Ui, args: &RetryArgs) -> Result<u8, CommandError> {
    let how = args.how.settled(ui);
    let wish = RetryWish {
        version: None,
        from: args.from.clone(),
        skip: args.skip.iter().cloned().collect(),
        new_files: args.new_files,
        max_workers: how.max_workers,
        preview: None,
    };
    let word = args.run.clone();
    if let Some(server) = owner(ui, &args.data, &args.how)? {
        return on_runtime(there::retry(ui, &server, &word, &wish, args.dry_run, &how));
    }
    let folder = args.data.data.open_with(ui, how.durability())?;
    on_runtime(async {
        let desk: Desk = local_desk(folder)?.into();
        let (id, retry) = match desk.here(move |desk| desk.retry(&word, &wish)).await {
            Err(DeskError::Problems(files)) => {
                report_problems(ui, &files)?;
                return Err(DeskError::Problems(files).into());
            }
            retry => retry?,
        };
        if let Some(files) = &retry.files {
            report_problems(ui, files)?;
        }
        tell_preview(ui, &retry.preview(id), args.dry_run, &how)?;
        if args.dry_run {
            return Ok(0);
        }
        start(ui, &desk, retry.run, &how).await
    })
}

/// The server that is to do it, if there is one.
fn owner(ui: &Ui, data: &DeskArgs, how: &RunArgs) -> Result<Option<Arc<RemoteDesk>>, CommandError> {
    let server = data.owner(ui)?;
    if server.is_some() && how.status_port.is_some() {
        let error = anyhow!("--status-port: this is not for a run of a server");
        return Err(CommandError::usage(error).hint("ask the server: it tells how its runs stand"));
    }
    Ok(server)
}

/// Says what a retry does: as a result if nothing else is done.
pub(crate) fn tell_preview(
    ui: &Ui,
    preview: &Preview,
    is_dry: bool,
    how: &RunArgs,
) -> Result<(), CommandError> {
    let is_human = ui.format(Format::Human) == Format::Human;
    match (is_dry, is_human) {
        (true, true) => ui.print(&preview_text(preview))?,
        (true, false) => ui.print_json(preview)?,
        (false, true) if !how.quiet => ui.note(&preview_text(preview)),
        (false, _) => {}
    }
    if is_human && !how.quiet && !preview.changed_files.is_empty() {
        let files: Vec<String> = preview.changed_files.iter().map(|it| harmless(it)).collect();
        let files = files.join(", ");
        ui.warn(&format!("changed since, and used as it was then: {files}"));
        ui.note("hint: --new-files uses files as they are now");
    }
    Ok(())
}

fn preview_text(preview: &Preview) -> String {
    let run_again = task_list(preview.run_again.iter().map(String::as_str));
    let reused = task_list(preview.reused.iter().map(String::as_str));
    let mut text = format!("run again: {run_again}\nreused:    {reused}");
    if !preview.passed_over.is_empty() {
        let passed_over = task_list(preview.passed_over.iter().map(String::as_str));
        text.push_str(&format!("\npassed over: {passed_over}"));
    }
    text
}

/// Go on with a run
///
/// A paused run goes on where it runs. A run whose process died is taken over here, in the
/// foreground: steps that succeeded are not run again. Of a run that has ended it is said how. Where a server
/// has the data folder, the run is taken over there.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel resume last
  tidewheel resume 3f9a --max-workers 2

The flow goes on as its files were when it was started. If they have changed since, nothing is done
and the difference is shown: --as-started goes on all the same; `tidewheel cancel`, then
`tidewheel retry --new-files`, makes a new run of the new files. Unless --max-workers says
otherwise, as many steps run at once as when it was started. Exit codes and the result are those of
`tidewheel run`; 5 if whoever runs it does not answer within five seconds.")]
pub(crate) struct ResumeArgs {
    /// The run: its id, the start of it, or `last`
    run: String,

    /// Go on with the files as they were, even if they have changed
    #[arg(long)]
    as_started: bool,

    #[command(flatten)]
    how: RunArgs,

    #[command(flatten)]
    data: DeskArgs,
}

pub(crate) fn resume(ui: &Ui, args: &ResumeArgs) -> Result<u8, CommandError> {
    let how = args.how.settled(ui);
    if let Some(server) = owner(ui, &args.data, &args.how)? {
        let (as_started, max_workers) = (args.as_started, args.how.max_workers);
        let wish = ResumeWish { version: None, as_started, max_workers };
        return on_runtime(there::resume(ui, &server, &args.run, &wish, &how));
    }
    let folder = args.data.data.open_with(ui, how.durability())?;
    let (word, as_started) = (args.run.clone(), args.as_started);
    on_runtime(async {
        let desk: Desk = local_desk(folder)?.into();
        match desk.here(move |desk| desk.resume(&word, as_started)).await? {
            Resumption::Elsewhere(gone_on) => say(ui, &gone_on),
            Resumption::Here { view, run } => {
                // What settings say is for new runs.
                let workers = args.how.max_workers.unwrap_or(run.workers());
                take_over(ui, &desk, &view, &*run, workers, &how).await
            }
        }
    })
}

/// Goes on with the runs of a dead process, and watches the one that was asked for.
async fn take_over(
    ui: &Ui,
    desk: &Desk,
    view: &RunView,
    run: &dyn Startable,
    workers: u32,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let id = view.detail.summary.id;
    let port = status_port(how)?;
    check_output(how)?;
    let options = session_options(ui, workers);
    let (mut signals, is_waiting) = (Signals::new()?, AtomicBool::new(false));
    let tell = |waits: Opening| {
        is_waiting.store(true, Ordering::SeqCst);
        ui.note(opening_words(waits));
    };
    let start = Session::go_on(desk, view, run, workers, options, tell);
    let seen = match signals.keep_while(start, &is_waiting).await? {
        Some((session, started)) => {
            let watched = Watched { shown: level(how, ui).into(), workers, port, signals };
            let seen = watch(ui, &session, started, watched).await?;
            session.close().await;
            Some(seen)
        }
        // There was nothing left to do, so there is nothing to watch.
        None => None,
    };
    if seen.is_none() && level(how, ui) != Level::Quiet {
        ui.note(&runs::text(&desk.show(&id.to_string()).await?));
    }
    let seen = seen.unwrap_or(Seen { ending: Ending::Own, lost: None });
    finish(ui, desk, &id.to_string(), seen, how).await
}

/// What a session waits for before it is there.
pub(crate) fn opening_words(opening: Opening) -> &'static str {
    match opening {
        Opening::LeftBehind => "waiting until what its dead process has left behind has ended",
    }
}

/// Says what became of a run that goes on elsewhere.
pub(crate) fn say(ui: &Ui, gone_on: &GoneOn) -> Result<u8, CommandError> {
    let GoneOn { run_id, state, .. } = gone_on;
    let heard = state != "asked";
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(gone_on)?,
        Format::Human if heard => ui.print(&format!("{run_id}: {state}"))?,
        Format::Human => ui.print(&format!(
            "{run_id}: asked to go on; the process that runs it has not answered yet"
        ))?,
    }
    Ok(if heard { 0 } else { ErrorKind::Conflict.exit_code() })
}
