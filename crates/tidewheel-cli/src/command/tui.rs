//! `tidewheel tui`: runs, queues and schedules on the screens of a terminal.
//!
//! How they look and which keys they have is in [`tidewheel_tui`]; here it is found out whom they ask.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tidewheel::Cancel;
use tidewheel::clock::wall_clock;
use tidewheel::store::sqlite::Durability;
use tidewheel_client::api::RunState;
use tidewheel_client::desk::Desk;
use tidewheel_client::files::RunWish;
use tidewheel_client::remote::StatusPage;
use tidewheel_client::session::{Carried, Workshop};
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
use crate::memory::{give_back, keep_little};
use crate::runtime::on_runtime;
use crate::ui::Ui;
use crate::watch::Ending;

/// Time for steps to end by themselves when what runs here is ended.
const GRACE: Duration = Duration::from_secs(5);
/// How often memory is given back.
const REST: Duration = Duration::from_secs(3);

/// Watch and steer runs, queues and schedules on screens
///
/// Without a file, it shows what is in the data folder, through the server that has it if there is one. With files it runs
/// them as `tidewheel run` does, and shows that. Where there is no server, what is run from here ends when it is left.
/// `?` shows the keys.
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
    keep_little();
    if let Some(url) = &args.status_url {
        return of_page(ui, url);
    }
    let server = if args.files.is_empty() { args.data.owner(ui)? } else { None };
    let Some(server) = server else { return of_folder(ui, args) };
    let model = model(format!("server {}", server.name()), Attached::Desk);
    let source = Arc::new(DeskSource::new(Desk::from(server), user()));
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
    let thrift = tokio::spawn(give_back_often());
    let look = Look { is_colourful: ui.is_colourful(), ..Look::of_environment(true) };
    let left = show(model, source, Theme::new(look), beside).await;
    thrift.abort();
    left.map_err(|error| {
        CommandError::new(ErrorKind::Failed, anyhow!(error).context("the terminal cannot be used"))
    })
}

/// Gives back, now and then, what answers and pictures were put together from: as much again as is shown of them.
async fn give_back_often() {
    loop {
        tokio::time::sleep(REST).await;
        give_back();
    }
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

/// A data folder that no server has: what is started from the screens is carried out here, and so are files.
fn of_folder(ui: &Ui, args: &Args) -> Result<u8, CommandError> {
    let files = match args.files.is_empty() {
        true => None,
        false => {
            let wish = RunWish {
                params: args.params.clone(),
                max_workers: args.max_workers.or_else(|| ui.config().run_max_workers()),
                ..RunWish::default()
            };
            Some(read_files(ui, &args.files)?.run(&wish)?)
        }
    };
    let folder = match &files {
        Some(_) => args.data.data.open(ui, Durability::Process)?,
        None => args.data.data.open_with(ui, Durability::Process)?,
    };
    on_runtime(async {
        let name = folder.path().display().to_string();
        let desk = Desk::from(local_desk(folder)?);
        let (to, messages) = mpsc::unbounded_channel();
        let workshop = workshop(ui, desk.clone(), to);
        let mut model = model(name, Attached::Desk);
        let first = match files {
            Some(run) => Some(workshop.begin(&run).await?.run_id),
            None => None,
        };
        first.iter().for_each(|run| model.watch(run));
        let (ends, wanted) = mpsc::unbounded_channel();
        let ending = tokio::spawn(end(workshop.clone(), wanted));
        let source = DeskSource::new(desk.clone(), user()).carried_out_by(workshop.clone());
        let left = shown(ui, model, Arc::new(source), Some(Beside { messages, ends })).await;
        ending.abort();
        // Whoever left without a word, as by a signal, wants nothing to go on.
        workshop.end(Cancel::after(GRACE));
        workshop.settled().await;
        let left = left?;
        match first {
            Some(run) => finish(ui, &desk, &run, &left).await,
            None => Ok(0),
        }
    })
}

/// Who carries out runs here, and tells the screens of them.
fn workshop(ui: &Ui, desk: Desk, to: UnboundedSender<Message>) -> Workshop {
    let options = session_options(ui, u32::MAX);
    let options = move |workers: u32| {
        let mut options = options.clone();
        options.slots = options.slots.min(workers);
        options
    };
    Workshop::new(desk, options, move |carried| {
        // Nobody listens when they have left.
        let _ = to.send(match carried {
            Carried::Began(run) => Message::Began(run.to_string()),
            Carried::Over(run) => Message::Over(run.to_string()),
        });
    })
}

/// Ends what runs here when somebody says so.
async fn end(workshop: Workshop, mut wanted: UnboundedReceiver<End>) {
    while let Some(end) = wanted.recv().await {
        workshop.end(match end {
            End::Drain => Cancel::Drain,
            End::Kill => Cancel::after(GRACE),
        });
    }
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
