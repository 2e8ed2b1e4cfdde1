//! Schedules: when they fire next, what became of their instants, and what is done with them.
//!
//! When they fire is decided by the scheduler.

use axum::response::Response;
use serde::Deserialize;
use tidewheel_client::api::{
    BackfillWish, Ledger, LedgerWish, ScheduleAsked, ScheduleList, Upcoming,
};
use utoipa::ToSchema;

use crate::door::{Call, document};
use crate::problem::Problem;
use crate::settings::PAGE_MAX;
use crate::table::{Form, Gives, Permission, Route, Takes, Verb};

pub(super) const ROUTES: &[Route] = &[
    Route {
        name: "list-schedules",
        about: "Lists schedules, with their next and their last instant.",
        verb: Verb::Get,
        path: "/api/v1/schedules",
        permission: Permission::Viewer,
        query: Some(Form::of::<Which>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<ScheduleList>()),
        changes: false,
        answer: |call| Box::pin(list(call)),
    },
    Route {
        name: "next-firings",
        about: "Says when a schedule fires next, and on which days clocks change.",
        verb: Verb::Get,
        path: "/api/v1/schedules/{schedule}/next",
        permission: Permission::Viewer,
        query: Some(Form::of::<HowMany>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Upcoming>()),
        changes: false,
        answer: |call| Box::pin(next(call)),
    },
    Route {
        name: "show-ledger",
        about: "Says what became of the instants of a schedule, newest first.",
        verb: Verb::Get,
        path: "/api/v1/schedules/{schedule}/ledger",
        permission: Permission::Viewer,
        query: Some(Form::of::<LedgerWish>()),
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<Ledger>()),
        changes: false,
        answer: |call| Box::pin(ledger(call)),
    },
    Route {
        name: "pause-schedule",
        about: "Lets no instant of a schedule fire until it is resumed.",
        verb: Verb::Post,
        path: "/api/v1/schedules/{schedule}/pause",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<ScheduleAsked>()),
        changes: true,
        answer: |call| Box::pin(pause(call)),
    },
    Route {
        name: "resume-schedule",
        about: "Lets a schedule fire again; what was missed follows its policy.",
        verb: Verb::Post,
        path: "/api/v1/schedules/{schedule}/resume",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<ScheduleAsked>()),
        changes: true,
        answer: |call| Box::pin(resume(call)),
    },
    Route {
        name: "fire-schedule",
        about: "Fires a schedule once, now, outside its rule.",
        verb: Verb::Post,
        path: "/api/v1/schedules/{schedule}/run",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Nothing,
        gives: Gives::Document(Form::of::<ScheduleAsked>()),
        changes: true,
        answer: |call| Box::pin(fire(call)),
    },
    Route {
        name: "backfill-schedule",
        about: "Fires instants of the past: those of a range, or only those of it that did not run.",
        verb: Verb::Post,
        path: "/api/v1/schedules/{schedule}/backfill",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Document(Form::of::<BackfillWish>(), 4096),
        gives: Gives::Document(Form::of::<ScheduleAsked>()),
        changes: true,
        answer: |call| Box::pin(backfill(call)),
    },
    Route {
        name: "preview-backfill",
        about: "Says which instants of the past a backfill would fire. Nothing is changed.",
        verb: Verb::Post,
        path: "/api/v1/schedules/{schedule}/backfill/preview",
        permission: Permission::Operator,
        query: None,
        takes: Takes::Document(Form::of::<BackfillWish>(), 4096),
        gives: Gives::Document(Form::of::<Upcoming>()),
        changes: false,
        answer: |call| Box::pin(preview_backfill(call)),
    },
];

/// Which schedules.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Which {
    /// Also those that fire no more.
    #[serde(default)]
    ended: bool,
}

/// How many instants.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct HowMany {
    /// At most so many.
    #[serde(default = "usual")]
    #[schema(minimum = 1, maximum = 500, default = 10)]
    count: u32,
}

fn usual() -> u32 {
    10
}

fn check_page(count: u32) -> Result<(), Problem> {
    match (1..=PAGE_MAX).contains(&count) {
        true => Ok(()),
        false => Err(Problem::unfit(format!("a page has 1 to {PAGE_MAX} lines"))),
    }
}

async fn list(call: Call) -> Result<Response, Problem> {
    let which: Which = call.query()?;
    document(call.server.desk().schedules(which.ended).await?)
}

async fn next(call: Call) -> Result<Response, Problem> {
    let HowMany { count } = call.query()?;
    check_page(count)?;
    document(call.server.desk().upcoming(call.param("schedule"), count).await?)
}

async fn ledger(call: Call) -> Result<Response, Problem> {
    let wish: LedgerWish = call.query()?;
    check_page(wish.limit)?;
    document(call.server.desk().ledger(call.param("schedule"), wish).await?)
}

async fn pause(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.pause_schedule(call.param("schedule")).await?)
}

async fn resume(call: Call) -> Result<Response, Problem> {
    document(call.server.house()?.resume_schedule(call.param("schedule")).await?)
}

async fn fire(call: Call) -> Result<Response, Problem> {
    document(call.server.open_house()?.fire_schedule(call.param("schedule")).await?)
}

async fn preview_backfill(call: Call) -> Result<Response, Problem> {
    let wish: BackfillWish = call.document()?;
    document(call.server.desk().preview_backfill(call.param("schedule"), wish).await?)
}

async fn backfill(call: Call) -> Result<Response, Problem> {
    let wish: BackfillWish = call.document()?;
    document(call.server.open_house()?.backfill(call.param("schedule"), wish).await?)
}
