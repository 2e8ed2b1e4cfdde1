//! Schedules: what comes, what was missed, and what can be done about one.
//!
//! When they fire is decided by the scheduler; what became of each instant stands in the ledger.

use askama::Template;
use axum::response::Response;
use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{
    LedgerFate, LedgerLine, LedgerWish, ScheduleLine, ScheduleWord, UpcomingFiring,
};
use tidewheel_client::text::sentence;

use super::calendar::{Day, weeks};
use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::words::{
    Markup, argument, away, command, in_address, lone_mark, mark, moment, named, run_address,
};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::Route;

/// Instants to come that are shown of one schedule.
const NEXT: u32 = 20;

/// Schedules that are in the calendar, and firings of each that are looked at, of those that come and of those that were.
const TOGETHER_MAX: usize = 100;
const FIRINGS_MAX: u32 = 21;

/// Lines of the ledger that are shown.
const PAST: u32 = 50;

pub(super) const ROUTES: &[Route] = &[
    page_route!("page-schedules", "/schedules", "Schedules, and what comes next.", None, schedules),
    page_route!(
        "page-schedule",
        "/schedules/{schedule}",
        "A schedule: what comes, what became of its instants, and what can be done about it.",
        None,
        schedule
    ),
];

#[derive(Template)]
#[template(path = "schedules.html")]
struct Schedules {
    frame: Frame,
    schedules: Vec<ScheduleRow>,
    weeks: Vec<Vec<Day>>,
    /// When the next of them is late, of which no event tells.
    due: Option<Timestamp>,
    refused: Vec<String>,
}

/// A schedule in a list.
pub(super) struct ScheduleRow {
    pub name: Link,
    pub raw: String,
    pub address: String,
    pub flow: Option<Link>,
    pub rule: String,
    pub zone: String,
    pub mark: Markup,
    /// What pauses or resumes it from a shell.
    pub command: String,
    pub is_paused: bool,
    pub is_late: bool,
    pub next: Option<(Markup, Markup)>,
    pub last: Option<Markup>,
    pub fired: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl ScheduleRow {
    pub fn of(it: &ScheduleLine, now: Timestamp) -> Self {
        let word = match it.state {
            ScheduleWord::Active => "active",
            ScheduleWord::Paused => "paused",
            ScheduleWord::Idle => "idle",
            ScheduleWord::Ended => "ended",
        };
        Self {
            name: Link::of_schedule(&it.name),
            raw: it.name.clone(),
            address: in_address(&it.name),
            flow: it.flow.as_deref().map(Link::of_flow),
            rule: sentence(&it.rule),
            zone: it.zone.clone().unwrap_or_default(),
            mark: match it.state {
                ScheduleWord::Paused => mark("paused"),
                _ => Markup(format!("<span class=\"word\">{word}</span>")),
            },
            command: schedule_command(pausing(it), &argument(&it.name)),
            is_paused: it.state == ScheduleWord::Paused,
            is_late: it.is_late(now),
            next: it.next.map(|next| (moment(next), away(next, now))),
            last: it.last.map(|last| away(last, now)),
            // What somebody asked for has fired as well, and is among what failed.
            fired: it.fired + it.asked_for,
            failed: it.failed,
            skipped: it.skipped,
        }
    }
}

#[derive(Template)]
#[template(path = "schedule.html")]
struct SchedulePage {
    frame: Frame,
    shown: Markup,
    row: ScheduleRow,
    due: Option<Timestamp>,
    overlap: String,
    misfire: String,
    next: Vec<Next>,
    past: Vec<Past>,
    run_command: String,
    commands: Vec<Markup>,
}

/// An instant to come.
struct Next {
    at: Markup,
    local: String,
    away: Markup,
    has_change: bool,
}

/// What became of an instant.
struct Past {
    at: Markup,
    mark: Markup,
    run: Option<Link>,
    why: String,
    origin: String,
    count: u64,
}

async fn schedules(call: Call) -> Result<Response, Problem> {
    let house = call.server.house()?;
    let (all, now) = (house.schedules().await?.schedules, wall_clock());
    let around = house.desk().here(|desk| desk.calendar(TOGETHER_MAX, FIRINGS_MAX)).await?;
    page(&Schedules {
        frame: Frame::of(&call, "schedules"),
        weeks: weeks(&around, FIRINGS_MAX as usize, now),
        schedules: all.iter().map(|it| ScheduleRow::of(it, now)).collect(),
        due: all.iter().filter_map(ScheduleLine::late_from).filter(|at| *at > now).min(),
        refused: house.refused(),
    })
}

async fn schedule(call: Call) -> Result<Response, Problem> {
    let house = call.server.house()?;
    let name = call.param("schedule");
    let desk = house.desk();
    let past = desk.ledger(name, LedgerWish { limit: PAST, ..LedgerWish::default() }).await?;
    let all = desk.schedules(true).await?.schedules;
    let line = all.iter().find(|it| it.name == name).ok_or_else(Problem::nothing)?;
    let next = match line.state {
        ScheduleWord::Ended => Vec::new(),
        _ => desk.upcoming(name, NEXT).await?.next,
    };
    let now = wall_clock();
    let quoted = argument(name);
    let commands = [pausing(line), "run", "next", "backfill --missed"];
    page(&SchedulePage {
        frame: Frame::of(&call, "schedules"),
        shown: named(name),
        row: ScheduleRow::of(line, now),
        due: line.late_from().filter(|at| *at > now),
        overlap: line.overlap.clone(),
        misfire: line.misfire.clone(),
        next: next.iter().map(|it| coming(it, now)).collect(),
        past: past.firings.iter().map(self::past).collect(),
        run_command: schedule_command("run", &quoted),
        commands: commands.iter().map(|it| command(&schedule_command(it, &quoted))).collect(),
    })
}

/// What can be done about a schedule: pause it, or resume it.
fn pausing(it: &ScheduleLine) -> &'static str {
    match it.state {
        ScheduleWord::Paused => "resume",
        _ => "pause",
    }
}

fn schedule_command(word: &str, name: &str) -> String {
    match word.split_once(' ') {
        Some((word, rest)) => format!("tidewheel schedule {word} {name} {rest}"),
        None => format!("tidewheel schedule {word} {name}"),
    }
}

fn coming(it: &UpcomingFiring, now: Timestamp) -> Next {
    Next {
        at: moment(it.at),
        local: it.local.clone(),
        away: away(it.at, now),
        has_change: it.clock_change,
    }
}

/// What became of an instant, as a mark and in a word.
pub(super) fn fate(it: &LedgerLine) -> (&'static str, &'static str) {
    match (it.fate, it.state) {
        (LedgerFate::Ran, Some(state)) => (state.word(), state.word()),
        (LedgerFate::Ran, None) => ("succeeded", "succeeded"),
        (LedgerFate::Skipped, _) => ("skipped", "skipped"),
        (LedgerFate::NotMade, _) => ("missed", "not made"),
    }
}

fn past(it: &LedgerLine) -> Past {
    let (shape, word) = fate(it);
    let shown = Markup(format!("{}<span class=\"word\">{word}</span>", lone_mark(shape).0));
    let run = it
        .run_id
        .as_deref()
        .map(|run| Link::of(run_address(run), &tidewheel_client::text::short_id(in_address(run))));
    Past {
        at: moment(it.nominal),
        mark: shown,
        run,
        why: it.why.as_deref().map(sentence).unwrap_or_default(),
        origin: it.origin.clone(),
        count: it.count,
    }
}
