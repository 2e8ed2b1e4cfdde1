//! A step of a run: what it came to, why it waits, what it said and left.
//!
//! All that it said is on the page of its log.

use std::time::Duration;

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{
    ArtifactLine, AttemptLine, LogFile, LogLine, LogList, LogSpan, LogStream, LogWanted, RunState,
    StepState,
};
use tidewheel_client::desk::{LogOf, WholeStep, attempt_state};
use tidewheel_client::text::{self, block, sentence, short_id};
use utoipa::ToSchema;

use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::words::{
    Markup, argument, bytes, command, expected, going_on, in_address, moment, named, quoting,
    run_address, step_address, step_mark, took,
};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::{Form, Route};

/// What is shown of the end of a log: so many bytes, so many lines.
const TAIL: (usize, u32) = (16 << 10, 20);

/// What a browser without scripts gets of a log.
const PLAIN: (usize, u32) = (192 << 10, 1000);

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
    why: Option<Markup>,
    expected: Option<Markup>,
    unpassed: Option<Markup>,
    /// While it waits for room, and whoever looks may change it.
    priority: Option<u8>,
    waits_for: Vec<Link>,
    attempts: Vec<Attempt>,
    tail: String,
    outputs: Vec<(String, String)>,
    files: Vec<File>,
    asks: bool,
    /// While it asks, and whoever looks may answer.
    may_answer: bool,
    /// While its run goes on and it has not ended, and whoever looks may end it.
    may_skip: bool,
    /// Once its run is over, and whoever looks may start another.
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
    id: String,
    panel: Panel,
}

#[derive(Template)]
#[template(path = "log.html")]
struct LogPage {
    frame: Frame,
    run: Link,
    id: String,
    step: Link,
    mark: Markup,
    attempt: u32,
    attempts: Vec<u32>,
    is_running: bool,
    is_failed: bool,
    /// Whether there may be more.
    goes_on: bool,
    text: String,
    /// Where its first lines are, or its last: what a script shows at the beginning, asked for before it runs.
    lines: String,
    raw: Vec<(&'static str, String)>,
}

async fn step(call: Call) -> Result<Response, Problem> {
    let (run, step) = (call.param("run").to_owned(), call.param("step").to_owned());
    let whole = call.server.desk().here(move |desk| desk.step(&run, &step)).await?;
    let frame = Frame::of(&call, "runs");
    let flow = whole.flow.as_deref().map(Link::of_flow);
    let (run, id) = (Link::of_run(&whole.run_id), whole.run_id.clone());
    page(&StepPage { frame, flow, run, id, panel: Panel::of(&call, whole).await? })
}

async fn log(call: Call) -> Result<Response, Problem> {
    let wish: OfAttempt = call.query()?;
    let (run, name) = (call.param("run").to_owned(), call.param("step").to_owned());
    let whole = call.server.desk().here(move |desk| desk.step(&run, &name)).await?;
    let newest = newest_log(&whole);
    let attempt = wish.attempt.unwrap_or(newest);
    let logs = Logs { list: &whole.logs, step: &whole.name, attempt: Some(attempt) };
    let (text, raw) = (logs.tail(&call, PLAIN).await?, logs.raw());
    let shown = whole.flow.clone().unwrap_or_else(|| short_id(&whole.run_id));
    page(&LogPage {
        frame: Frame::of(&call, "runs"),
        run: Link::of(run_address(&whole.run_id), &shown),
        step: Link::of_step(&whole.run_id, &whole.name),
        mark: step_mark(whole.result.state),
        lines: lines_address(&whole, attempt),
        attempt,
        attempts: whole.attempts.iter().map(|it| it.attempt).filter(|it| *it <= newest).collect(),
        is_running: whole.result.state == StepState::Running,
        is_failed: whole.result.state == StepState::Failed,
        goes_on: goes_on(whole.result.state) && is_live(whole.run),
        text,
        raw,
        id: whole.run_id,
    })
}

/// The newest attempt that has a log of its own.
fn newest_log(whole: &WholeStep) -> u32 {
    let step = whole.logs.steps.iter().find(|it| it.step == whole.name);
    step.map_or(1, |step| step.attempt.max(1))
}

/// Where the lines of a log are that are shown first: of what failed or goes on, those at its end.
fn lines_address(whole: &WholeStep, attempt: u32) -> String {
    let from = match whole.result.state {
        StepState::Running | StepState::Failed => "&from=-400",
        _ => "",
    };
    let (run, step) = (run_address(&whole.run_id), in_address(&whole.name));
    format!("/api/v1{run}/log/lines?now=true{from}&step={step}&attempt={attempt}")
}

/// The logs of a step: of one of its attempts, the newest if none is meant.
pub(super) struct Logs<'a> {
    pub list: &'a LogList,
    pub step: &'a str,
    pub attempt: Option<u32>,
}

impl Logs<'_> {
    fn files(&self) -> impl Iterator<Item = (&LogFile, LogWanted)> {
        let step = self.list.steps.iter().find(|it| it.step == self.step);
        let meant = self.attempt.or(step.map(|it| it.attempt));
        let is_own = move |it: &&LogFile| it.step == self.step && Some(it.attempt) == meant;
        self.list.logs.iter().filter(is_own).filter_map(move |file| {
            let wanted = LogWanted {
                version: None,
                run_id: self.list.run_id.clone(),
                task: step?.task,
                attempt: file.attempt,
                stream: file.stream,
                from: 0,
            };
            Some((file, wanted))
        })
    }

    /// The last lines that were written, in the order in which they are in the log, harmless.
    pub async fn tail(&self, call: &Call, (most, lines): (usize, u32)) -> Result<String, Problem> {
        let has_some = |(file, _): &(&LogFile, LogWanted)| file.bytes > 0;
        let Some((_, of)) = self.files().find(has_some) else { return Ok(String::new()) };
        let end = call.server.desk().here(move |desk| {
            let (task, attempt) = (Some(of.task), Some(of.attempt));
            desk.log_end(&of.run_id, LogOf { task, attempt, ..LogOf::default() }, lines)
        });
        let (mut kept, mut size) = (Vec::new(), 0);
        for LogLine(_, _, spans, cut) in end.await?.into_iter().rev() {
            let mut text: String = spans.into_iter().map(|LogSpan(_, text)| text).collect();
            text.push_str(if cut.is_some() { "…\n" } else { "\n" });
            size += text.len();
            if size > most && !kept.is_empty() {
                break;
            }
            kept.push(text);
        }
        kept.reverse();
        Ok(kept.concat())
    }

    /// Where all of it is.
    fn raw(&self) -> Vec<(&'static str, String)> {
        let address = |(_, wanted): (&LogFile, LogWanted)| {
            let (word, name) = match wanted.stream {
                LogStream::Stdout => ("stdout", "standard output"),
                LogStream::Stderr => ("stderr", "standard error"),
            };
            let (run, task, attempt) = (run_address(&wanted.run_id), wanted.task, wanted.attempt);
            (
                name,
                format!("/api/v1{run}/log?task={task}&attempt={attempt}&stream={word}&whole=true"),
            )
        };
        self.files().map(address).collect()
    }
}

impl Panel {
    /// What is shown of a step of a run.
    pub async fn of(call: &Call, whole: WholeStep) -> Result<Self, Problem> {
        let WholeStep { run_id: run, name, result: step, explained, .. } = whole;
        let (state, now) = (step.state, wall_clock());
        let has_log = step.attempts > 0 && state != StepState::Pending;
        let tail = match has_log {
            true => {
                let logs = Logs { list: &whole.logs, step: &name, attempt: None };
                logs.tail(call, TAIL).await?
            }
            false => String::new(),
        };
        let seconds = explained.as_ref().and_then(|it| it.expected_start_seconds);
        let unpassed = explained.as_ref().and_then(|it| it.unpassed_in_seconds);
        let span = |seconds: f64| Duration::from_secs_f64(seconds.clamp(0.0, 1e9));
        let is_over = !is_live(whole.run);
        let said = step.error.clone();
        let may_operate = Frame::of(call, "runs").may_operate();
        let priority = explained.as_ref().and_then(|it| it.priority).filter(|_| may_operate);
        let has_owner = !is_over && whole.run != RunState::Interrupted;
        let may_skip = may_operate && has_owner && goes_on(state);
        Ok(Self {
            shown: named(&name),
            to: step_address(&run, &name),
            mark: step_mark(state),
            is_tolerated: step.tolerated,
            element: step.element.as_ref().map(|value| sentence(&value.to_string())),
            error: step.error.clone().or(step.timeout).map(|it| block(&it)),
            warnings: step.warnings,
            waits_for: explained
                .iter()
                .flat_map(|it| &it.waits_for)
                .map(|it| Link::of_step(&run, it))
                .collect(),
            why: explained.map(|it| quoting(&it.why)),
            expected: seconds.map(|it| expected(now.after(span(it)), now)),
            unpassed: unpassed.map(|it| moment(now.after(span(it)))),
            priority,
            attempts: whole.attempts.iter().map(|it| attempt(it, said.as_deref(), now)).collect(),
            tail,
            outputs: step
                .outputs
                .iter()
                .map(|(key, value)| (text::name(key), shown_value(value)))
                .collect(),
            files: whole.artifacts.iter().map(|it| File::of(&run, it)).collect(),
            asks: whole.asks,
            may_answer: whole.asks && may_operate,
            may_skip,
            may_retry: is_over && may_operate,
            commands: commands(
                &short_id(&run),
                &name,
                (whole.asks, is_over, priority.is_some(), may_skip),
            ),
            run,
            name,
        })
    }
}

fn goes_on(state: StepState) -> bool {
    matches!(state, StepState::Pending | StepState::Running)
}

fn is_live(state: RunState) -> bool {
    matches!(
        state,
        RunState::Running | RunState::Waiting | RunState::Paused | RunState::Interrupted
    )
}

/// An attempt of a step that says this; the same need not be said of each.
fn attempt(it: &AttemptLine, said: Option<&str>, now: tidewheel::Timestamp) -> Attempt {
    let code = match (it.code, it.signal) {
        (_, Some(signal)) => format!("signal {signal}"),
        (Some(code), None) => format!("code {code}"),
        (None, None) => String::new(),
    };
    // What is kept of one that succeeded may have the error of the one before it.
    let has_succeeded = it.outcome.as_deref().map(attempt_state) == Some(StepState::Succeeded);
    let error = it.error.as_deref().filter(|error| !has_succeeded && Some(*error) != said);
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
        error: error.map(sentence),
    }
}

pub(super) fn shown_value(value: &serde_json::Value) -> String {
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

fn commands(
    short: &str,
    name: &str,
    (asks, is_over, waits, may_skip): (bool, bool, bool, bool),
) -> Vec<Markup> {
    let name = argument(name);
    let mut all =
        vec![format!("tidewheel logs {short} {name}"), format!("tidewheel explain {short} {name}")];
    if asks {
        let approve = format!("tidewheel approve {short} {name}");
        all.splice(0..0, [approve.clone(), format!("{approve} --reject")]);
    }
    if waits {
        all.push(format!("tidewheel priority {short} {name} high"));
    }
    if may_skip {
        all.push(format!("tidewheel cancel {short} {name}"));
    }
    if is_over {
        all.insert(0, format!("tidewheel retry {short} --from {name}"));
    }
    all.iter().map(|it| command(it)).collect()
}
