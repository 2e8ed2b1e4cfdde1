//! Runs of a server, started, made again and watched from here: what `run`, `retry` and `resume` do with one.
//!
//! What they do in a data folder is in their own files; what may be done is known at the desk.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use serde_json::Value as Json;
use tidewheel_client::api::{GoneOn, ResumeWish, RetryWish, StartWish, StartedRun};
use tidewheel_client::desk::{Desk, WORKERS_DEFAULT};
use tidewheel_client::remote::{RemoteDesk, RemoteFollow};
use tidewheel_client::text::{harmless, short_id};

use crate::cli::Format;
use crate::command::again::{say, tell_preview};
use crate::command::plan;
use crate::command::run::{RunArgs, check_output, finish, level};
use crate::error::CommandError;
use crate::ui::Ui;
use crate::watch::{Signals, Watch};

/// How a run of a server is started.
pub(crate) struct Start {
    pub wish: StartWish,
    /// Whether it is only shown what would be done.
    pub is_dry: bool,
    /// Whether nobody watches it.
    pub is_detached: bool,
}

/// Params as they were said; the server knows what kinds they are.
pub(crate) fn params(said: &[String]) -> Result<BTreeMap<String, Json>, CommandError> {
    let param = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            let error = anyhow!("`{}` is not of the form name=value", harmless(text));
            CommandError::usage(error).hint("write --param name=value")
        })?;
        Ok((name.to_owned(), Json::String(value.to_owned())))
    };
    said.iter().map(param).collect()
}

/// Starts a run of a flow that the server knows, and watches it to its end.
pub(crate) async fn start(
    ui: &Ui,
    server: &Arc<RemoteDesk>,
    start: Start,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let Start { wish, is_dry, is_detached } = start;
    if is_dry {
        return plan::print(ui, &server.plan(&wish).await?).map(|()| 0);
    }
    check_output(how)?;
    let started = server.start(&wish).await?;
    if !started.created && !how.quiet {
        let run = short_id(&started.run_id);
        ui.note(&format!("run {run} was accepted before, under the same key"));
    }
    watch_unless(ui, server, &started, is_detached, how).await
}

/// Runs again what did not succeed in a run, at the server.
pub(crate) async fn retry(
    ui: &Ui,
    server: &Arc<RemoteDesk>,
    run: &str,
    wish: &RetryWish,
    is_dry: bool,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let preview = Desk::from(Arc::clone(server)).preview(run, wish.clone()).await?;
    tell_preview(ui, &preview, is_dry, how)?;
    if is_dry {
        return Ok(0);
    }
    check_output(how)?;
    // What was said is what is done.
    let digest = Some(preview.digest).filter(|digest| !digest.is_empty());
    let wish = RetryWish { preview: digest, ..wish.clone() };
    let started = server.retry(run, &wish).await?;
    watch(ui, server, &started.run_id, how).await
}

/// Goes on with a run; one that the server takes over is watched.
pub(crate) async fn resume(
    ui: &Ui,
    server: &Arc<RemoteDesk>,
    run: &str,
    wish: &ResumeWish,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    check_output(how)?;
    let gone_on: GoneOn = server.resume(run, wish).await?;
    match gone_on.taken_over {
        true => watch(ui, server, &gone_on.run_id, how).await,
        false => say(ui, &gone_on),
    }
}

async fn watch_unless(
    ui: &Ui,
    server: &Arc<RemoteDesk>,
    started: &StartedRun,
    is_detached: bool,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    if !is_detached {
        return watch(ui, server, &started.run_id, how).await;
    }
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(started)?,
        Format::Human => ui.print(&started.run_id)?,
    }
    Ok(0)
}

/// Watches a run of the server to its end.
async fn watch(
    ui: &Ui,
    server: &Arc<RemoteDesk>,
    run: &str,
    how: &RunArgs,
) -> Result<u8, CommandError> {
    let hint = format!("the run goes on there: tidewheel show {} says how", short_id(run));
    let lost = |error: CommandError| error.hint(hint.clone());
    let follow = RemoteFollow::begin(Arc::clone(server), run).await;
    let follow = follow.map_err(|error| lost(error.into()))?;
    let workers = how.max_workers.unwrap_or(WORKERS_DEFAULT);
    let seen =
        Watch::there(follow, workers, level(how, ui).into()).until_end(Signals::new()?).await?;
    let desk = Desk::from(Arc::clone(server));
    finish(ui, &desk, run, seen, how).await.map_err(lost)
}
