//! The server itself: whether it is well, how much is stored, who may ask, what was asked.
//!
//! Tokens and the audit log are shown to whoever may see them.

use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{
    AuditRow, Figures, Health, HealthState, Role, StoreFigures, TokenLine,
};
use tidewheel_client::text::name as visible;
use utoipa::ToSchema;

use super::frame::{Frame, page, page_route};
use super::tabs::Tabs;
use super::words::{Markup, away, bytes, lone_mark, moment, took};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::{Form, Route};

/// Rows of the audit log that are shown.
const ROWS: usize = 100;

pub(super) const ROUTES: &[Route] = &[page_route!(
    "page-system",
    "/system",
    "Whether the server is well, how much is stored, who may ask, and what was asked.",
    Some(Form::of::<Wish>()),
    system
)];

/// What of it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// Which part.
    #[serde(default)]
    tab: Tab,
    /// Whether what has ended is counted, too.
    #[serde(default)]
    counts: bool,
    /// Of the audit log, what was asked for before the row of this number.
    #[serde(default)]
    before: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Tab {
    #[default]
    Health,
    Store,
    Tokens,
    Audit,
}

impl Tab {
    const WORDS: &[&str] = &["health", "store", "tokens", "audit"];

    fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

#[derive(Template)]
#[template(path = "system.html")]
struct System {
    frame: Frame,
    tabs: Tabs,
    tab: &'static str,
    health: Option<(Health, Markup)>,
    figures: Option<Figures>,
    store: Option<StoreFigures>,
    is_counted: bool,
    tokens: Option<Vec<Token>>,
    rows: Option<Vec<Row>>,
    verified: Option<String>,
    /// Where the rows before these are.
    older: Option<String>,
}

struct Token {
    id: String,
    name: String,
    role: Role,
    made: Markup,
    ends: Markup,
    used: Option<Markup>,
}

struct Row {
    number: u64,
    at: Markup,
    actor: String,
    address: String,
    action: String,
    object: String,
    result: u16,
    is_refused: bool,
}

async fn system(call: Call) -> Result<Response, Problem> {
    let wish: Wish = call.query()?;
    let frame = Frame::of(&call, "system");
    let may = frame.may_administer();
    let mut shown = System {
        tabs: Tabs::new("/system", "tab", Tab::WORDS, wish.tab.word()),
        tab: wish.tab.word(),
        frame,
        health: None,
        figures: None,
        store: None,
        is_counted: wish.counts,
        tokens: None,
        rows: None,
        verified: None,
        older: None,
    };
    match wish.tab {
        Tab::Health => {
            let health = call.server.health()?;
            let mark = lone_mark(match health.state {
                HealthState::Healthy => "succeeded",
                HealthState::Warning => "late",
                HealthState::Unhealthy => "failed",
            });
            shown.health = Some((health, mark));
            shown.figures = Some(call.server.house()?.figures());
        }
        Tab::Store => {
            // All of history is counted only when somebody waits for that, and not for the page.
            let figures = call.server.desk().here(move |desk| match wish.counts {
                true => desk.store(),
                false => desk.store_at_once(),
            });
            shown.store = Some(figures.await?);
        }
        Tab::Tokens if may => {
            let now = wall_clock();
            let list = call.server.tokens().list(now)?;
            shown.tokens = Some(list.iter().map(|it| token(&it.line(), now)).collect());
        }
        Tab::Audit if may => {
            let server = Arc::clone(&call.server);
            let read = move || (server.audit.newest(wish.before, ROWS), server.audit.verify());
            let read = tokio::task::spawn_blocking(read).await;
            let (rows, verified) = read.map_err(|error| Problem::failed(error.to_string()))?;
            let rows = rows?;
            let last = rows.last().filter(|row| rows.len() == ROWS && row.number > 1);
            shown.older = last.map(|row| format!("/system?tab=audit&before={}", row.number));
            shown.rows = Some(rows.iter().map(row).collect());
            shown.verified = Some(match verified {
                Ok(rows) => format!("The chain of {rows} rows is whole."),
                Err(error) => error.to_string(),
            });
        }
        Tab::Tokens | Tab::Audit => {}
    }
    page(&shown)
}

fn token(it: &TokenLine, now: tidewheel::Timestamp) -> Token {
    Token {
        id: it.id.clone(),
        name: visible(&it.name),
        role: it.role,
        made: moment(it.made_at),
        ends: away(it.expires_at, now),
        used: it.used_at.map(|used| away(used, now)),
    }
}

fn row(it: &AuditRow) -> Row {
    Row {
        number: it.number,
        at: moment(it.at),
        actor: visible(&it.actor),
        address: visible(&it.address),
        action: it.action.clone(),
        object: visible(&it.object),
        result: it.result,
        is_refused: it.result >= 400,
    }
}

impl System {
    fn word(&self, state: &HealthState) -> &'static str {
        match state {
            HealthState::Healthy => "Healthy",
            HealthState::Warning => "Warning",
            HealthState::Unhealthy => "Unhealthy",
        }
    }

    fn size(&self, size: &u64) -> String {
        bytes(*size)
    }

    fn time(&self, seconds: &f64) -> String {
        took(std::time::Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
    }
}
