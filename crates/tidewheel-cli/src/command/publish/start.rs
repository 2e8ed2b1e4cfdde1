//! `tidewheel publish`, `publish plan` and `publish resume`: from a folder to a plan, to a run, to a report.
//!
//! What is planned and done is known in `tidewheel-publish`; how a run is watched, in `command/run.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use tidewheel::clock::wall_clock;
use tidewheel::store::sqlite::{DataFolder, Durability};
use tidewheel_client::desk::{LocalDesk, RunView};
use tidewheel_client::kind::{Kind as _, Startable as _};
use tidewheel_client::session::{Session, Started, Takeover};
use tidewheel_client::text::{harmless, short_id};
use tidewheel_publish::PlanDocument;
use tidewheel_publish::prepare::{Prepared, folder_of, prepare};
use tidewheel_publish::run::{LockError, PublishRun, Publisher, Publishes, Report, WorkspaceLock};
use tidewheel_publish::settings::Surroundings;

use super::args::{PublishArgs, ShownArgs};
use super::graph::{refuse, workspace_folder};
use super::shown::{advice, plan_text, report_text};
use crate::cli::Format;
use crate::command::run::{RunArgs, Watched, level, session_options, watch};
use crate::data::{DataArgs, local_desk};
use crate::error::{CommandError, ErrorKind};
use crate::output::{check_writable, write_atomically};
use crate::runtime::on_runtime;
use crate::ui::Ui;
use crate::watch::{Ending, Seen};

/// The file with the newest run of a workspace.
pub(super) const LAST: &str = "last-run";

/// Go on with a publish that was left
///
/// Goes on with what was packed then, if its process died; `tidewheel publish` does the same. Of one that has
/// ended, what is not out yet is published by `tidewheel publish`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tidewheel publish resume
  tidewheel publish resume ../workspace --as-started

Exit codes are those of `tidewheel publish`; 4 if nothing was left.")]
pub(crate) struct ResumeArgs {
    /// The folder of the workspace [default: the working folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Go on with what was packed then, even if something else is checked out now
    #[arg(long)]
    as_started: bool,

    #[command(flatten)]
    shown: ShownArgs,

    #[command(flatten)]
    data: DataArgs,
}

/// A workspace that nobody else publishes now.
pub(super) struct Place {
    pub root: PathBuf,
    pub folder: DataFolder,
    /// What is kept of the workspace in the data folder.
    pub ours: PathBuf,
    pub publisher: Arc<Publisher>,
    lock: WorkspaceLock,
}

impl Place {
    pub fn take(
        ui: &Ui,
        named: Option<&Path>,
        registry: Option<&String>,
        data: &DataArgs,
    ) -> Result<Self, CommandError> {
        let root = fs::canonicalize(workspace_folder(named)?)?;
        let folder = data.open(ui, Durability::Process)?;
        let data = std::path::absolute(folder.path())?;
        let ours = folder_of(&data, &root);
        let command: Vec<String> = std::env::args().collect();
        let lock = WorkspaceLock::take(&root, &ours, &command.join(" ")).map_err(|error| {
            let kind = match error {
                LockError::Held { .. } => ErrorKind::Conflict,
                _ => ErrorKind::Refused,
            };
            CommandError::new(kind, error)
                .hint("wait until it has ended, or cancel it: see `tidewheel runs`")
        })?;
        let mut around = Surroundings::here(&root);
        around.registry = registry.cloned();
        let publisher = Publisher::new(around).map_err(CommandError::usage)?;
        Ok(Self { root, folder, ours, publisher, lock })
    }

    pub fn desk(&self) -> Result<LocalDesk, CommandError> {
        Ok(local_desk(self.folder.clone())?)
    }

    /// The newest run of the workspace, if there is one.
    pub fn last(&self, desk: &LocalDesk) -> Option<RunView> {
        let id = fs::read_to_string(self.ours.join(LAST)).ok()?;
        desk.show(id.trim()).ok()
    }
}

pub(super) fn plan(ui: &Ui, args: &PublishArgs) -> Result<u8, CommandError> {
    let place = Place::take(ui, args.folder.as_deref(), args.registry.as_ref(), &args.data)?;
    let prepared = on_runtime(prepared(&place, args))?;
    show_plan(ui, &prepared.document())?;
    Ok(if prepared.stuck().is_empty() { 0 } else { 8 })
}

async fn prepared(place: &Place, args: &PublishArgs) -> Result<Prepared, CommandError> {
    let prepared = prepare(&place.publisher, &args.wish(), &place.ours).await;
    prepared.map_err(|problems| {
        refuse(&problems)
            .unwrap_or_else(|| CommandError::internal(anyhow!("nothing is in the way")))
    })
}

fn show_plan(ui: &Ui, plan: &PlanDocument) -> Result<(), CommandError> {
    match ui.format(Format::Human) {
        Format::Json => ui.print_json(plan),
        Format::Human => ui.print(&plan_text(plan)),
    }
}

pub(super) fn publish(ui: &Ui, args: &PublishArgs) -> Result<u8, CommandError> {
    if args.dry_run {
        return plan(ui, args);
    }
    if args.offline {
        let error = anyhow!("nothing can be published without asking registries");
        return Err(CommandError::usage(error).hint("leave --offline out, or use `publish plan`"));
    }
    args.shown.output.as_deref().map_or(Ok(()), check_writable)?;
    let place = Place::take(ui, args.folder.as_deref(), args.registry.as_ref(), &args.data)?;
    on_runtime(async {
        let desk = place.desk()?;
        if let Some(left) = place.last(&desk).filter(is_left) {
            ui.note(&format!(
                "going on with run {}, which was left",
                short_id(left.detail.summary.id)
            ));
            return go_on(ui, place, &desk, &left, false, &args.shown).await;
        }
        let prepared = prepared(&place, args).await?;
        let plan = prepared.document();
        check_hash(args, &plan)?;
        if plan.uploads > 0 && !may_send(ui, args, &plan)? {
            return Ok(0);
        }
        let order = prepared.order(args.pace.options());
        let order = order.of(place.root.clone(), args.registry.clone());
        if plan.uploads == 0 {
            let report = Report::new(&place.publisher, &order, None, &prepared.stuck()).await;
            return finish(ui, &report, &args.shown, None);
        }
        begin(ui, place, &desk, PublishOrdered { order, stuck: prepared.stuck() }, &args.shown)
            .await
    })
}

fn check_hash(args: &PublishArgs, plan: &PlanDocument) -> Result<(), CommandError> {
    match &args.plan_hash {
        Some(wanted) if *wanted != plan.digest => {
            let error = anyhow!("the plan is {} now, not {wanted}", plan.digest);
            Err(CommandError::new(ErrorKind::Conflict, error).hint("see `tidewheel publish plan`"))
        }
        _ => Ok(()),
    }
}

/// Shows the plan and asks, unless that was answered already.
fn may_send(ui: &Ui, args: &PublishArgs, plan: &PlanDocument) -> Result<bool, CommandError> {
    if args.yes || args.plan_hash.is_some() {
        if !args.shown.quiet && ui.format(Format::Human) == Format::Human {
            ui.explain(&plan_text(plan));
        }
        return Ok(true);
    }
    ui.explain(&plan_text(plan));
    ui.ask("Publish this?")?.ok_or_else(|| {
        let error = anyhow!("there is nobody to ask whether this may be published");
        CommandError::new(ErrorKind::Refused, error)
            .hint("say --yes, or --plan-hash with the digest above")
    })
}

/// What is carried out, and what is left out because something is in its way.
struct PublishOrdered {
    order: tidewheel_publish::run::PublishOrder,
    stuck: Vec<(String, String, String)>,
}

async fn begin(
    ui: &Ui,
    place: Place,
    desk: &LocalDesk,
    PublishOrdered { order, stuck }: PublishOrdered,
    shown: &ShownArgs,
) -> Result<u8, CommandError> {
    let Place { folder, ours, publisher, lock, .. } = place;
    let run = PublishRun::new(order, publisher, lock);
    let expected = desk.expectations(run.name())?;
    let options = session_options(ui, run.workers());
    let session = Session::open_inline(folder, &Takeover::Fresh, options)?;
    run.prepare(&session);
    let started = session.start(&run, expected).await?;
    write_atomically(&ours.join(LAST), &format!("{}\n", started.run.id()))?;
    conclude(ui, &session, desk, &run, started, &stuck, shown).await
}

/// Whether a run was left by a process that died.
fn is_left(view: &RunView) -> bool {
    view.is_abandoned
}

pub(super) fn resume(ui: &Ui, args: &ResumeArgs) -> Result<u8, CommandError> {
    args.shown.output.as_deref().map_or(Ok(()), check_writable)?;
    let place = Place::take(ui, args.folder.as_deref(), None, &args.data)?;
    on_runtime(async {
        let desk = place.desk()?;
        let Some(left) = place.last(&desk).filter(is_left) else {
            let error = anyhow!("no publish of {} was left", place.root.display());
            let hint = "`tidewheel publish` publishes what is not out yet";
            return Err(CommandError::new(ErrorKind::NotFound, error).hint(hint));
        };
        go_on(ui, place, &desk, &left, args.as_started, &args.shown).await
    })
}

/// Goes on with a run whose process died.
async fn go_on(
    ui: &Ui,
    place: Place,
    desk: &LocalDesk,
    left: &RunView,
    as_started: bool,
    shown: &ShownArgs,
) -> Result<u8, CommandError> {
    Publishes.check_resume(left, as_started)?;
    let Place { folder, publisher, lock, .. } = place;
    let run = PublishRun::left(&left.detail, publisher, lock);
    let run = run.ok_or_else(|| CommandError::internal(anyhow!("the run is no publish")))?;
    let id = left.detail.summary.id;
    desk.unpause(id)?;
    let expected = desk.expectations(run.name())?;
    let (since, workers) = (wall_clock(), run.workers());
    let mut options = session_options(ui, workers);
    run.hand_over(id, &mut options);
    let shard = left.detail.summary.shard.clone().unwrap_or_default();
    let session = Session::open(folder, Takeover::Shard(shard), options).await?;
    run.prepare(&session);
    match session.take_over(&left.detail, &run, workers, expected, since).await? {
        Some(started) => conclude(ui, &session, desk, &run, started, &[], shown).await,
        None => {
            session.close().await;
            report(ui, desk, &run, &id.to_string(), &[], None, shown).await
        }
    }
}

/// Watches a run to its end, and says what it came to.
async fn conclude(
    ui: &Ui,
    session: &Session,
    desk: &LocalDesk,
    run: &PublishRun,
    started: Started,
    stuck: &[(String, String, String)],
    shown: &ShownArgs,
) -> Result<u8, CommandError> {
    let id = started.run.id().to_string();
    let how = watched(shown).settled(ui);
    let watched = Watched { level: level(&how, ui), workers: run.workers(), port: None };
    let seen = watch(ui, session, started, watched).await?;
    report(ui, desk, run, &id, stuck, Some(seen), shown).await
}

async fn report(
    ui: &Ui,
    desk: &LocalDesk,
    run: &PublishRun,
    id: &str,
    stuck: &[(String, String, String)],
    seen: Option<Seen>,
    shown: &ShownArgs,
) -> Result<u8, CommandError> {
    let view = desk.show(id)?;
    let report = Report::new(run.publisher(), run.order(), Some(&view.detail), stuck).await;
    finish(ui, &report, shown, seen)
}

/// Writes a report, and gives the exit code.
fn finish(
    ui: &Ui,
    report: &Report,
    shown: &ShownArgs,
    seen: Option<Seen>,
) -> Result<u8, CommandError> {
    if let Some(path) = &shown.output {
        let text = match path.extension().is_some_and(|it| it == "md") {
            true => report.to_markdown(),
            false => format!("{}\n", serde_json::to_string_pretty(report).unwrap_or_default()),
        };
        write_atomically(path, &text)?;
    }
    match ui.format(Format::Human) {
        Format::Json if shown.output.is_none() => ui.print_json(report)?,
        Format::Json => {}
        Format::Human => {
            ui.print(&report_text(report))?;
            if let Some(advice) = advice(report) {
                ui.note(&format!("hint: {}", harmless(&advice)));
            }
        }
    }
    let ending = seen.map_or(Ending::Own, |seen| seen.ending);
    Ok(ending.exit_code(report.verdict.exit_code()))
}

/// How a publish is watched: as every other run.
fn watched(shown: &ShownArgs) -> RunArgs {
    RunArgs {
        max_workers: None,
        output: None,
        outputs: false,
        quiet: shown.quiet,
        status_port: None,
        log_level: None,
        durability: None,
    }
}
