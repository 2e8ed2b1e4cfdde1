//! `tidewheel tui`: runs, queues and schedules on the screens of a terminal.
//!
//! How they look and which keys they have is in [`tidewheel_tui`]; here it is found out whom they ask.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tidewheel::clock::wall_clock;
use tidewheel::{Cancel, Run};
use tidewheel_client::api::RunState;
use tidewheel_client::desk::Desk;
use tidewheel_client::files::RunWish;
use tidewheel_client::kind::Startable as _;
use tidewheel_client::remote::StatusPage;
use tidewheel_client::session::{Session, Takeover};
use tidewheel_client::text::short_id;
use tidewheel_tui::app::{Beside, show};
use tidewheel_tui::message::{End, Message};
use tidewheel_tui::model::{Attached, Model};
use tidewheel_tui::run::Look;
use tidewheel_tui::source::{DeskSource, PageSource, Source};
use tidewheel_tui::theme::Theme;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::command::run::session_options;
use crate::data::{DeskArgs, local_desk};
use crate::error::{CommandError, ErrorKind};
use crate::files::read_files;
use crate::runtime::on_runtime;
use crate::ui::Ui;
use crate::watch::Ending;

/// Time for steps to end by themselves when what runs here is ended.
const GRACE: Duration = Duration::from_secs(5);

/// Watch and steer runs, queues and schedules on screens
///
/// Without a file, it shows what is in the data folder, through the server that has it if there is one. With files it runs
/// them as `tidewheel run` does, and shows that; what they run ends when it is left. `?` shows the keys.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Flow files to run; later ones change what earlier ones say
    #[arg(value_name = "FILE", conflicts_with = "server")]
    files: Vec<PathBuf>,

    /// A param of the flow; may be given again
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE", requires = "files")]
    params: Vec<String>,

    /// Steps at once [default: `runner.max_workers` of the flow, or 4]
    #[arg(long, value_name = "N", requires = "files", value_parser = clap::value_parser!(u32).range(1..))]
    max_workers: Option<u32>,

    /// Show the run whose state is served there, as by `flowtoy run --status-port` or `tidewheel run --status-port`
    #[arg(long, value_name = "URL", conflicts_with_all = ["files", "server", "data"])]
    status_url: Option<String>,

    #[command(flatten)]
    data: DeskArgs,
}

const AFTER_HELP: &str = "\
Examples:
  tidewheel tui
  tidewheel tui flow.yaml --param env=staging
  tidewheel tui --server https://tide.example
  tidewheel tui --status-url http://127.0.0.1:8005

Keys: Enter opens, Esc goes back, / searches, : takes commands, ? shows all keys, q leaves. Those of `tidewheel run`
(p pause, r resume, q quit, a all, w window, f failed, l log) mean the same. What destroys something asks first.

Exit codes: 0, or with files as of `tidewheel run`.";

pub(crate) fn run(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    check_terminal()?;
    if let Some(url) = &args.status_url {
        return of_page(ui, url);
    }
    if !args.files.is_empty() {
        return of_files(ui, args);
    }
    let (name, desk) = match args.data.owner(ui)? {
        Some(server) => (format!("server {}", server.name()), Desk::from(server)),
        None => {
            let folder = args.data.data.open_existing(ui)?;
            (folder.path().display().to_string(), Desk::from(local_desk(folder)?))
        }
    };
    let model = model(name, Attached::Desk);
    let source = Arc::new(DeskSource::new(desk, user()));
    on_runtime(async { shown(ui, model, source, None).await.map(|_| 0) })
}

/// Refuses where nothing can be shown.
fn check_terminal() -> Result<(), CommandError> {
    let is_dumb = std::env::var("TERM").map_or(true, |term| term.is_empty() || term == "dumb");
    if io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb {
        return Ok(());
    }
    let error = anyhow!("there is no terminal on which screens could be shown");
    Err(CommandError::usage(error)
        .hint("tidewheel run FILE  runs a flow anywhere")
        .hint("tidewheel runs  and  tidewheel show last  say how runs stand"))
}

fn model(name: String, attached: Attached) -> Model {
    Model::new(name, attached, wall_clock(), jiff::tz::TimeZone::system())
}

/// Who answers steps that ask.
fn user() -> String {
    std::env::var("USER").unwrap_or_else(|_| "somebody".to_owned())
}

async fn shown(
    ui: &Ui,
    model: Model,
    source: Arc<dyn Source>,
    beside: Option<Beside>,
) -> Result<Model, CommandError> {
    let look = Look { is_colourful: ui.is_colourful(), ..Look::of_environment(true) };
    show(model, source, Theme::new(look), beside).await.map_err(|error| {
        CommandError::new(ErrorKind::Failed, anyhow!(error).context("the terminal cannot be used"))
    })
}

/// The page of one run.
fn of_page(ui: &Ui, url: &str) -> Result<u8, CommandError> {
    let page = StatusPage::new(url)
        .map_err(|error| CommandError::usage(error).hint("write it as http://HOST:PORT/status"))?;
    on_runtime(async {
        // Whether there is such a page is said before the terminal is taken.
        let standing = page.standing().await?;
        let mut model = model(page.name().to_owned(), Attached::Page);
        model.watch(&standing.run_id);
        model.screens.remove(0);
        shown(ui, model, Arc::new(PageSource::new(page)), None).await.map(|_| 0)
    })
}

/// Runs files and shows that.
fn of_files(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let wish = RunWish {
        params: args.params.clone(),
        max_workers: args.max_workers.or_else(|| ui.config().run_max_workers()),
        ..RunWish::default()
    };
    let run = read_files(ui, &args.files)?.run(&wish)?;
    let folder = args.data.data.open(ui, tidewheel::store::sqlite::Durability::Process)?;
    on_runtime(async {
        let name = folder.path().display().to_string();
        let desk = local_desk(folder.clone())?;
        let flow = run.name().to_owned();
        let expected = desk.expectations(&flow)?;
        let desk = Desk::from(desk);
        let session =
            Session::open_inline(folder, &Takeover::Fresh, session_options(ui, run.workers()))?;
        run.prepare(&session);
        let started = session.start(&run, expected).await?;
        drop(run);
        let own = started.run.clone();
        let id = own.id().to_string();
        let (to, messages) = mpsc::unbounded_channel();
        let (ends, wanted) = mpsc::unbounded_channel();
        let carried = tokio::spawn(carry(own.clone(), to, wanted));
        let source = Arc::new(DeskSource::new(desk.clone(), user()));
        let left =
            shown(ui, model(name, Attached::Own), source, Some(Beside { messages, ends })).await;
        // Whoever left without a word, as by a signal, wants nothing to go on.
        if !carried.is_finished() {
            let _ = own.cancel(Cancel::after(GRACE));
        }
        let _ = carried.await;
        session.close().await;
        finish(ui, &desk, &id, &left?).await
    })
}

/// Carries a run to its end, and tells the screens; they say if it is to end sooner.
async fn carry(run: Run, to: UnboundedSender<Message>, mut wanted: UnboundedReceiver<End>) {
    // Nobody listens when they have left.
    let _ = to.send(Message::Began(run.id().to_string()));
    let report = run.report();
    let mut report = std::pin::pin!(report);
    loop {
        tokio::select! {
            _ = &mut report => break,
            Some(end) = wanted.recv() => {
                // A run that has just ended can be ended no more.
                let _ = run.cancel(match end {
                    End::Drain => Cancel::Drain,
                    End::Kill => Cancel::after(GRACE),
                });
            }
        }
    }
    let _ = to.send(Message::Over);
}

/// Says what it came to, and gives the exit code.
async fn finish(ui: &Ui, desk: &Desk, id: &str, left: &Model) -> Result<u8, CommandError> {
    let result = desk.show(id).await?;
    let run = short_id(id);
    ui.note(&format!("run {run}: {}; tidewheel show {run}", result.state));
    let own = if result.state == RunState::Succeeded { 0 } else { 1 };
    let ending = if left.urgency > 0 { Ending::Signal(2) } else { Ending::Own };
    Ok(ending.exit_code(own))
}
