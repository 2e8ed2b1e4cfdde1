//! A step of a run: what it came to, why it waits, what it said and left.
//!
//! All that it said is on the page of its log.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{
    ArtifactLine, AttemptLine, LogStream, LogWanted, LogWish, RunResult, RunState, StepState,
};
use tidewheel_client::text::{self, block, sentence, short_id};
use utoipa::ToSchema;

use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::words::{
    Markup, argument, bytes, command, going_on, in_address, moment, named, run_address,
    step_address, step_mark, took,
};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::{Form, Route};

/// So much of the end of a log is looked at.
const TAIL_BYTES: u64 = 16 << 10;

/// So many lines of it are shown.
const TAIL_LINES: usize = 20;

/// What a browser without scripts gets of a log.
const PLAIN_BYTES: u64 = 192 << 10;
const PLAIN_LINES: usize = 1000;

/// A value that is longer is cut.
const VALUE_MAX: usize = 2000;

pub(super) const ROUTES: &[Route] = &[
    page_route!(
        "page-step",
        "/runs/{run}/steps/{step}",
        "A step of a run: its attempts, why it waits, what it said and left.",
        None,
        step
    ),
    page_route!(
        "page-log",
        "/runs/{run}/steps/{step}/log",
        "What a step of a run said.",
        Some(Form::of::<OfAttempt>()),
        log
    ),
];

/// Of which attempt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OfAttempt {
    /// Of this attempt instead of the newest.
    #[serde(default)]
    attempt: Option<u32>,
}

/// What is shown of a step.
#[derive(Template)]
#[template(path = "panel.html")]
pub(super) struct Panel {
    pub name: String,
    shown: Markup,
    run: String,
    to: String,
    mark: Markup,
    is_tolerated: bool,
    element: Option<String>,
    error: Option<String>,
    warnings: Vec<String>,
    why: Option<String>,
    expected: Option<String>,
    waits_for: Vec<Link>,
    attempts: Vec<Attempt>,
    tail: String,
    outputs: Vec<(String, String)>,
    files: Vec<File>,
    asks: bool,
    may_retry: bool,
    commands: Vec<Markup>,
}

struct Attempt {
    number: u32,
    outcome: String,
    code: String,
    began: Option<Markup>,
    took: Option<Markup>,
    error: Option<String>,
}

/// A file that was left with a run.
pub(super) struct File {
    pub name: Markup,
    pub to: String,
    pub size: String,
    pub step: String,
}

impl File {
    pub fn of(run: &str, it: &ArtifactLine) -> Self {
        let (step, name) = (in_address(&it.step), in_address(&it.name));
        Self {
            name: named(&it.name),
            to: format!("/api/v1{}/artifact?step={step}&name={name}", run_address(run)),
            size: bytes(it.bytes),
            step: it.step.clone(),
        }
    }
}

#[derive(Template)]
#[template(path = "step.html")]
struct StepPage {
    frame: Frame,
    flow: Option<Link>,
    run: Link,
    panel: Panel,
}

#[derive(Template)]
#[template(path = "log.html")]
struct LogPage {
    frame: Frame,
    run: Link,
    id: String,
    step: Link,
    attempt: u32,
    attempts: Vec<u32>,
    is_running: bool,
    is_failed: bool,
    text: String,
    raw: Vec<(&'static str, String)>,
}

async fn step(call: Call) -> Result<Response, Problem> {
    let result = call.server.desk().show(call.param("run")).await?;
    let panel = Panel::of(&call, &result, call.param("step")).await?;
    let frame = Frame::of(&call, "runs");
    let flow = result.flow.as_deref().map(Link::of_flow);
    page(&StepPage { frame, flow, run: Link::of_run(&result.run_id), panel })
}

async fn log(call: Call) -> Result<Response, Problem> {
    let wish: OfAttempt = call.query()?;
    let (run, step) = (call.param("run"), call.param("step"));
    let desk = call.server.desk();
    let attempts = desk.attempts(run, step).await?;
    let result = desk.show(&attempts.run_id).await?;
    let state = result.steps.0.iter().find(|(name, _)| name == step).map(|(_, it)| it.state);
    let newest = attempts.attempts.last().map_or(1, |last| last.attempt);
    let attempt = wish.attempt.unwrap_or(newest);
    let (text, raw) =
        tail(&call, &attempts.run_id, step, Some(attempt), (PLAIN_BYTES, PLAIN_LINES)).await?;
    page(&LogPage {
        frame: Frame::of(&call, "runs"),
        run: Link::of(run_address(&attempts.run_id), result.flow.as_deref().unwrap_or(run)),
        step: Link::of_step(&attempts.run_id, step),
        id: attempts.run_id.clone(),
        attempt,
        attempts: attempts.attempts.iter().map(|it| it.attempt).collect(),
        is_running: state == Some(StepState::Running),
        is_failed: state == Some(StepState::Failed),
        text,
        raw,
    })
}

/// The last lines that an attempt wrote, harmless, and where all of it is.
pub(super) async fn tail(
    call: &Call,
    run: &str,
    step: &str,
    attempt: Option<u32>,
    (most, lines): (u64, usize),
) -> Result<(String, Vec<(&'static str, String)>), Problem> {
    let desk = call.server.desk();
    let wish = LogWish { step: Some(step.to_owned()), attempt, ..LogWish::default() };
    let list = desk.logs(run, &wish).await?;
    let (mut said, mut raw) = (String::new(), Vec::new());
    for logs in &list.steps {
        for file in list.logs.iter().filter(|file| file.step == logs.step) {
            let from = file.bytes.saturating_sub(most);
            let wanted = LogWanted {
                version: None,
                run_id: list.run_id.clone(),
                task: logs.task,
                attempt: file.attempt,
                stream: file.stream,
                from,
            };
            let bytes = desk.log(wanted).await?;
            let text = String::from_utf8_lossy(&bytes);
            let text = block(&text);
            let kept: Vec<&str> = text.lines().collect();
            let kept = &kept[kept.len().saturating_sub(lines)..];
            if !kept.is_empty() {
                said.push_str(&kept.join("\n"));
                said.push('\n');
            }
            let (word, name) = match file.stream {
                LogStream::Stdout => ("stdout", "standard output"),
                LogStream::Stderr => ("stderr", "standard error"),
            };
            let address = format!(
                "/api/v1{}/log?task={}&attempt={}&stream={word}&from=0",
                run_address(run),
                logs.task,
                file.attempt
            );
            raw.push((name, address));
        }
    }
    Ok((said, raw))
}

impl Panel {
    /// What is shown of a step of a run.
    pub async fn of(call: &Call, result: &RunResult, name: &str) -> Result<Self, Problem> {
        let desk = call.server.desk();
        let (run, now) = (result.run_id.as_str(), wall_clock());
        let attempts = desk.attempts(run, name).await?;
        let step = result.steps.0.iter().find(|(known, _)| known == name).map(|(_, step)| step);
        let state = step.map_or(StepState::Pending, |step| step.state);
        let waits = state == StepState::Pending && is_live(result.state);
        let explained = match waits || state == StepState::Skipped {
            true => desk.explain(run, Some(name)).await?.steps.pop(),
            false => None,
        };
        let has_log = step.is_some_and(|step| step.attempts > 0) && state != StepState::Pending;
        let (tail, _) = match has_log {
            true => tail(call, run, name, None, (TAIL_BYTES, TAIL_LINES)).await?,
            false => Default::default(),
        };
        let files = result.artifacts.iter().filter(|it| it.step == name);
        let outputs = step.into_iter().flat_map(|step| step.outputs.iter());
        let asks = explained.as_ref().is_some_and(|it| it.asks);
        let seconds = explained.as_ref().and_then(|it| it.expected_start_seconds);
        Ok(Self {
            name: name.to_owned(),
            shown: named(name),
            run: run.to_owned(),
            to: step_address(run, name),
            mark: step_mark(state),
            is_tolerated: step.is_some_and(|step| step.tolerated),
            element: step
                .and_then(|it| it.element.as_ref())
                .map(|value| sentence(&value.to_string())),
            error: step
                .and_then(|it| it.error.clone().or_else(|| it.timeout.clone()))
                .map(|it| block(&it)),
            warnings: step.map(|it| it.warnings.clone()).unwrap_or_default(),
            waits_for: explained
                .iter()
                .flat_map(|it| &it.waits_for)
                .map(|it| Link::of_step(run, it))
                .collect(),
            why: explained.map(|it| it.why),
            expected: seconds.map(|it| took(std::time::Duration::from_secs_f64(it.max(0.0)))),
            attempts: attempts.attempts.iter().map(|it| attempt(it, now)).collect(),
            tail,
            outputs: outputs.map(|(key, value)| (text::name(key), shown_value(value))).collect(),
            files: files.map(|it| File::of(run, it)).collect(),
            asks,
            may_retry: !is_live(result.state),
            commands: commands(&short_id(run), name, asks, !is_live(result.state)),
        })
    }
}

fn is_live(state: RunState) -> bool {
    matches!(
        state,
        RunState::Running | RunState::Waiting | RunState::Paused | RunState::Interrupted
    )
}

fn attempt(it: &AttemptLine, now: tidewheel::Timestamp) -> Attempt {
    let code = match (it.code, it.signal) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("code {code}"),
        (None, None) => String::new(),
    };
    Attempt {
        number: it.attempt,
        outcome: it.outcome.clone().unwrap_or_else(|| match it.ended_at {
            Some(_) => "ended".to_owned(),
            None => "running".to_owned(),
        }),
        code,
        began: it.started_at.map(moment),
        took: it.started_at.map(|from| match it.ended_at {
            Some(to) => Markup(took(to.since(from))),
            None => going_on(from, now),
        }),
        error: it.error.as_deref().map(sentence),
    }
}

fn shown_value(value: &serde_json::Value) -> String {
    let text = match value {
        serde_json::Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let mut text = block(&text);
    if let Some((end, _)) = text.char_indices().nth(VALUE_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn commands(short: &str, name: &str, asks: bool, is_over: bool) -> Vec<Markup> {
    let name = argument(name);
    let mut all =
        vec![format!("tidewheel logs {short} {name}"), format!("tidewheel explain {short} {name}")];
    if asks {
        all.insert(0, format!("tidewheel approve {short} {name}"));
    }
    if is_over {
        all.insert(0, format!("tidewheel retry {short} --from {name}"));
    }
    all.iter().map(|it| command(it)).collect()
}
