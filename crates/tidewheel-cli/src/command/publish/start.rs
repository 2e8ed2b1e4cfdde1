//! `tidewheel publish`, `publish plan` and `publish resume`: from a folder to a plan, to a run, to a report.
//!
//! What is planned and done is known in `tidewheel-publish`; how a run is watched, in `command/run.rs`.

use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::json;
use tidewheel_client::desk::{Desk, LocalDesk, RunView};
use tidewheel_client::kind::Startable as _;
use tidewheel_client::session::{Session, Started};
use tidewheel_client::text::{count, harmless, short_id};
use tidewheel_publish::PlanDocument;
use tidewheel_publish::prepare::{Chore, Prepared, prepare};
use tidewheel_publish::run::{PublishOptions, PublishOrder, PublishRun, Report};

use super::agreed::{check_hash, check_left, may_send, order_of};
use super::args::{PublishArgs, ShownArgs};
use super::graph::refused;
use super::place::{LAST, Place, end_by_signals, unless_ended};
use super::rehearse::rehearse;
use super::shown::{advice, plan_text, report_text};
use crate::cli::Format;
use crate::command::again::opening_words;
use crate::command::run::{RunArgs, Watched, level, session_options, watch};
use crate::data::DataArgs;
use crate::error::{CommandError, ErrorKind};
use crate::live::Shown;
use crate::output::{check_writable, write_atomically};
use crate::runtime::on_runtime;
use crate::ui::Ui;
use crate::watch::{Ending, Seen, Signals};

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

pub(super) fn plan(ui: &Ui, args: &PublishArgs) -> Result<u8, CommandError> {
    let (folder, registry) = (args.what.folder.as_deref(), args.what.registry.as_ref());
    let place = Place::take(ui, "tidewheel publish plan", folder, registry, &args.data)?;
    let prepared = match on_runtime(prepared(ui, &place, args))? {
        Ok(prepared) => prepared,
        Err(code) => return Ok(code),
    };
    let plan = shown_plan(&prepared, args);
    match (args.shown.events, ui.format(Format::Human)) {
        (true, _) => ui.print_json(&json!({ "plan": plan }))?,
        (false, Format::Json) => ui.print_json(&plan)?,
        (false, Format::Human) => ui.print(&plan_text(&plan))?,
    }
    Ok(if prepared.plan.stuck().next().is_none() { 0 } else { 8 })
}

/// The plan, with as much of it as somebody wants to see.
fn shown_plan(prepared: &Prepared, args: &PublishArgs) -> PlanDocument {
    match args.files {
        true => prepared.document_with_contents(),
        false => prepared.document(),
    }
}

/// Says what is begun.
pub(super) fn say_chore(ui: &Ui, shown: &ShownArgs, chore: Chore) {
    let is_human = ui.format(Format::Human) == Format::Human && !shown.quiet;
    match chore {
        // Whoever has left does not end it.
        chore if shown.events => drop(ui.print_json(&chore)),
        Chore::Packing { packages } if is_human => {
            ui.note(&format!("packing {}", count(packages, "package")));
        }
        Chore::Asking { packages } if is_human => {
            ui.note(&format!("asking registries for {}", count(packages, "package")));
        }
        _ => {}
    }
}

/// The plan, or the exit code if a signal came before there was one.
async fn prepared(
    ui: &Ui,
    place: &Place,
    args: &PublishArgs,
) -> Result<Result<Prepared, u8>, CommandError> {
    place.listen()?;
    let tell = |chore| say_chore(ui, &args.shown, chore);
    let prepared = prepare(&place.publisher, &args.wish()?, &place.ours, &tell).await;
    if let Some(code) = place.is_packed() {
        return Ok(Err(code));
    }
    prepared.map(Ok).map_err(|problems| refused(&problems))
}

pub(super) fn publish(ui: &Ui, args: &PublishArgs) -> Result<u8, CommandError> {
    if args.dry_run {
        return plan(ui, args);
    }
    if args.rehearse {
        return rehearse(ui, args);
    }
    if args.offline {
        let error = anyhow!("nothing can be published without asking registries");
        return Err(CommandError::usage(error).hint("leave --offline out, or use `publish plan`"));
    }
    args.shown.output.as_deref().map_or(Ok(()), check_writable)?;
    let (mut code, mut is_again) = (args.otp.clone(), false);
    loop {
        let ended = carry_out(ui, args, code.as_deref(), is_again)?;
        // Programs are told, and not asked.
        if !ended.wants_code || args.shown.events {
            return Ok(ended.exit_code);
        }
        code = on_runtime(async {
            end_by_signals()?;
            ui.ask_for("A registry wants a one-time code; nothing if you have none:")
        })?;
        if code.is_none() {
            return Ok(ended.exit_code);
        }
        is_again = true;
    }
}

/// How a publish ended.
struct Ended {
    exit_code: u8,
    /// A registry wants a one-time code, and could have one.
    wants_code: bool,
}

impl From<u8> for Ended {
    fn from(exit_code: u8) -> Self {
        Self { exit_code, wants_code: false }
    }
}

/// `is_again`: this command has done it before, and now has a code for what is left.
fn carry_out(
    ui: &Ui,
    args: &PublishArgs,
    code: Option<&str>,
    is_again: bool,
) -> Result<Ended, CommandError> {
    let (folder, registry) = (args.what.folder.as_deref(), args.what.registry.as_ref());
    let mut place = Place::take(ui, "tidewheel publish", folder, registry, &args.data)?;
    place.say_code(code)?;
    // A run that was left may have been started with more patience.
    if let Some(most) = args.pace.max_wait {
        place.publisher.wait_at_most(most);
    }
    on_runtime(async {
        let desk = place.desk()?;
        if let Some(left) = place.last(&desk).filter(is_left) {
            let order = order_of(&left);
            order.map_or(Ok(()), |order| check_left(args, &left, &order))?;
            if args.what.rebuild {
                rebuild(ui, &place, args, &left).await?;
            }
            ui.note(&format!(
                "going on with run {}, which was left",
                short_id(left.detail.summary.id)
            ));
            return go_on(ui, place, &desk, &left, false, &args.shown).await;
        }
        let prepared = match prepared(ui, &place, args).await? {
            Ok(prepared) => prepared,
            Err(code) => return Ok(code.into()),
        };
        let plan = shown_plan(&prepared, args);
        let order = prepared.order(args.options());
        let order = order.of(place.root.clone(), args.what.registry.clone());
        let mut order = order.asked(args.asked());
        let last = place.last(&desk).as_ref().and_then(order_of);
        check_hash(args, &mut order, last.as_ref())?;
        if args.expect_changes && plan.uploads == 0 {
            let error = anyhow!("there is nothing to publish, and --expect-changes was said");
            return Err(CommandError::input(error).hint("raise the versions of what has changed"));
        }
        // What is left was agreed to with the rest.
        let is_agreed = is_again && last.is_some_and(|last| last.leaves(&order));
        if plan.uploads > 0 && !is_agreed && !may_send(ui, args, &plan)? {
            return Ok(0.into());
        }
        if order.is_out() {
            let mut report = Report::new(&place.publisher, &order, None).await;
            report.follow_up(&place.publisher, &order).await;
            return finish(ui, &report, &args.shown, None);
        }
        begin(ui, place, &desk, order, &args.shown).await
    })
}

/// Packs again what is not there any more of what a run was started with that was left.
async fn rebuild(
    ui: &Ui,
    place: &Place,
    args: &PublishArgs,
    left: &RunView,
) -> Result<(), CommandError> {
    let order = order_of(left).map(|order| order.packed);
    let tell = |chore| say_chore(ui, &args.shown, chore);
    let prepared = prepare(&place.publisher, &args.wish()?, &place.ours, &tell).await;
    let prepared = prepared.map_err(|problems| refused(&problems))?;
    if order.is_some_and(|packed| packed != prepared.set.folder) {
        let error =
            anyhow!("the run that was left was packed from something else than what is here");
        let hint = "check out what it was started from";
        return Err(CommandError::new(ErrorKind::Conflict, error).hint(hint));
    }
    Ok(())
}

/// All of it for a rehearsal: the exit code, and what went out. Nobody is asked, and nothing follows.
pub(super) async fn rehearsed(
    ui: &Ui,
    args: &PublishArgs,
    place: Place,
) -> Result<(u8, Option<PublishOrder>), CommandError> {
    let prepared = match prepared(ui, &place, args).await? {
        Ok(prepared) => prepared,
        Err(code) => return Ok((code, None)),
    };
    let options =
        PublishOptions { tag: None, push_tags: None, hook: None, signer: None, ..args.options() };
    let order = prepared.order(options).of(place.root.clone(), args.what.registry.clone());
    let desk = place.desk()?;
    let ended = begin(ui, place, &desk, order.clone(), &args.shown).await?;
    Ok((ended.exit_code, Some(order)))
}

async fn begin(
    ui: &Ui,
    place: Place,
    desk: &LocalDesk,
    order: PublishOrder,
    shown: &ShownArgs,
) -> Result<Ended, CommandError> {
    place.is_begun();
    let Place { ours, publisher, lock, .. } = place;
    let run = PublishRun::new(order, publisher, lock);
    let options = session_options(ui, run.workers());
    let (session, started) = Session::begin(&Desk::inline(desk.clone()), &run, options).await?;
    write_atomically(&ours.join(LAST), &format!("{}\n", started.run.id()))?;
    conclude(ui, &session, desk, &run, started, shown).await
}

/// Whether a run was left by a process that died.
fn is_left(view: &RunView) -> bool {
    view.is_abandoned
}

pub(super) fn resume(ui: &Ui, args: &ResumeArgs) -> Result<u8, CommandError> {
    args.shown.output.as_deref().map_or(Ok(()), check_writable)?;
    let place =
        Place::take(ui, "tidewheel publish resume", args.folder.as_deref(), None, &args.data)?;
    on_runtime(async {
        let desk = place.desk()?;
        let Some(left) = place.last(&desk).filter(is_left) else {
            let error = anyhow!("no publish of {} was left", place.root.display());
            let hint = "`tidewheel publish` publishes what is not out yet";
            return Err(CommandError::new(ErrorKind::NotFound, error).hint(hint));
        };
        let ended = go_on(ui, place, &desk, &left, args.as_started, &args.shown).await?;
        Ok(ended.exit_code)
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
) -> Result<Ended, CommandError> {
    let order = order_of(left);
    let order = order.ok_or_else(|| CommandError::internal(anyhow!("the run is no publish")))?;
    let Place { publisher, lock, .. } = place;
    let run = PublishRun::new(order, publisher, lock);
    run.check_left(left.detail.summary.id, as_started)?;
    let (workers, here) = (run.workers(), Desk::inline(desk.clone()));
    let (options, tell) = (session_options(ui, workers), |waits| ui.note(opening_words(waits)));
    match Session::go_on(&here, left, &run, workers, options, tell).await? {
        Some((session, started)) => conclude(ui, &session, desk, &run, started, shown).await,
        None => {
            let id = left.detail.summary.id.to_string();
            report(ui, desk, &run, &id, None, shown).await
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
    shown: &ShownArgs,
) -> Result<Ended, CommandError> {
    let id = started.run.id().to_string();
    let how = watched(shown).settled(ui);
    let shown_as = if shown.events { Shown::Programs } else { level(&how, ui).into() };
    let signals = Signals::new()?;
    let watched = Watched { shown: shown_as, workers: run.workers(), port: None, signals };
    let seen = watch(ui, session, started, watched).await?;
    report(ui, desk, run, &id, Some(seen), shown).await
}

async fn report(
    ui: &Ui,
    desk: &LocalDesk,
    run: &PublishRun,
    id: &str,
    seen: Option<Seen>,
    shown: &ShownArgs,
) -> Result<Ended, CommandError> {
    let view = desk.show(id)?;
    let concluded = unless_ended(async {
        let mut report = Report::new(run.publisher(), run.order(), Some(&view.detail)).await;
        report.follow_up(run.publisher(), run.order()).await;
        report
    });
    match concluded.await? {
        Ok(report) => finish(ui, &report, shown, seen),
        Err(code) => {
            ui.note(
                "hint: run `tidewheel publish` again: it asks what is out, and does what follows",
            );
            Ok(code.into())
        }
    }
}

/// Writes a report, and gives the exit code.
fn finish(
    ui: &Ui,
    report: &Report,
    shown: &ShownArgs,
    seen: Option<Seen>,
) -> Result<Ended, CommandError> {
    if let Some(path) = &shown.output {
        let text = match path.extension().is_some_and(|it| it == "md") {
            true => report.to_markdown(),
            false => format!("{}\n", serde_json::to_string_pretty(report).unwrap_or_default()),
        };
        write_atomically(path, &text)?;
    }
    match ui.format(Format::Human) {
        _ if shown.events => ui.print_json(&json!({ "report": report }))?,
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
    let is_own = ending == Ending::Own;
    let exit_code = ending.exit_code(report.verdict.exit_code());
    Ok(Ended { exit_code, wants_code: is_own && report.wants_code })
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
