//! Flows: which there are; and one of them: its picture, its history, its schedules, its file.
//!
//! How one is started is in [`super::form`].

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{
    FlowDetail, FlowFile, FlowSource, ListWish, ScheduleLine, StartWish, StepLine,
};
use tidewheel_client::text::{name as visible, sentence};
use utoipa::ToSchema;

use super::frame::{Frame, page, page_route};
use super::link::Link;
use super::run::drawn;
use super::runs::RunRow;
use super::schedules::ScheduleRow;
use super::words::{Markup, argument, away, command, in_address, named};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::{Form, Route};

/// Runs of the history that are shown.
const RUNS: u32 = 40;

pub(super) const ROUTES: &[Route] = &[
    page_route!(
        "page-flows",
        "/flows",
        "The flows that can be run, and the files that cannot.",
        None,
        flows
    ),
    page_route!(
        "page-flow",
        "/flows/{flow}",
        "A flow: its picture, its history, its schedules, its file.",
        Some(Form::of::<Wish>()),
        flow
    ),
];

/// What of a flow is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// Which part.
    #[serde(default)]
    tab: Tab,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Tab {
    #[default]
    Graph,
    History,
    Schedule,
    File,
}

impl Tab {
    fn word(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::History => "history",
            Self::Schedule => "schedule",
            Self::File => "file",
        }
    }
}

#[derive(Template)]
#[template(path = "flows.html")]
struct Flows {
    frame: Frame,
    flows: Vec<FlowRow>,
    broken: Vec<BrokenRow>,
}

struct FlowRow {
    name: Link,
    to: String,
    description: String,
    tags: Vec<String>,
    steps: usize,
    schedules: Vec<Link>,
    is_outdated: bool,
}

/// A file that cannot be run.
struct BrokenRow {
    file: String,
    in_force: bool,
    problems: Vec<ProblemLine>,
}

/// Something that is wrong with a file.
pub(super) struct ProblemLine {
    pub line: Option<u64>,
    pub place: String,
    pub message: String,
    pub hint: Option<String>,
    pub is_error: bool,
}

#[derive(Template)]
#[template(path = "flow.html")]
struct FlowPage {
    frame: Frame,
    name: String,
    shown: Markup,
    to: String,
    description: Option<String>,
    tags: Vec<String>,
    fingerprint: String,
    since: Markup,
    file: String,
    is_outdated: bool,
    tab: &'static str,
    picture: Option<Markup>,
    problem: Option<String>,
    steps: Vec<StepLine>,
    runs: Vec<RunRow>,
    schedules: Vec<ScheduleRow>,
    files: Vec<SourceFile>,
    command: Markup,
}

/// A file with its lines, and what is wrong with some of them.
struct SourceFile {
    path: String,
    note: &'static str,
    lines: Vec<SourceLine>,
    problems: Vec<ProblemLine>,
}

struct SourceLine {
    number: usize,
    text: String,
    problems: Vec<ProblemLine>,
}

async fn flows(call: Call) -> Result<Response, Problem> {
    let list = call.server.house()?.flows().await;
    let flows = list.flows.iter().map(|flow| FlowRow {
        name: Link::of_flow(&flow.name),
        to: format!("/flows/{}", in_address(&flow.name)),
        description: flow.description.as_deref().map(sentence).unwrap_or_default(),
        tags: flow.tags.clone(),
        steps: flow.steps,
        schedules: flow.schedules.iter().map(|it| Link::of_schedule(it)).collect(),
        is_outdated: flow.outdated,
    });
    let broken = list.broken.iter().map(|broken| BrokenRow {
        file: visible(&broken.file),
        in_force: broken.in_force,
        problems: problems(&broken.problems),
    });
    page(&Flows {
        frame: Frame::of(&call, "flows"),
        flows: flows.collect(),
        broken: broken.collect(),
    })
}

async fn flow(call: Call) -> Result<Response, Problem> {
    let wish: Wish = call.query()?;
    let house = call.server.house()?;
    let FlowDetail { flow, params, steps, .. } = house.flow(call.param("flow")).await?;
    let name = flow.name.clone();
    let now = wall_clock();
    let (mut picture, mut problem) = (None, None);
    let (mut runs, mut schedules, mut files) = (Vec::new(), Vec::new(), Vec::new());
    match wish.tab {
        Tab::Graph => {
            let wanted =
                StartWish { flow: name.clone(), params: examples(&params), ..StartWish::default() };
            match house.picture(&wanted).await {
                Ok(drawing) => picture = Some(drawn(&drawing)),
                Err(error) => problem = Some(error.to_string()),
            }
        }
        Tab::History => {
            let wanted = ListWish { name: Some(name.clone()), limit: RUNS, ..ListWish::default() };
            let list = call.server.desk().list(wanted).await?;
            runs = list.runs.iter().map(|run| RunRow::of(run, now)).collect();
        }
        Tab::Schedule => {
            let own = |it: &&ScheduleLine| it.flow.as_deref() == Some(&name);
            let all = house.schedules().await?.schedules;
            schedules = all.iter().filter(own).map(|it| ScheduleRow::of(it, now)).collect();
        }
        Tab::File => files = source_files(house.source(&name).await?),
    }
    page(&FlowPage {
        frame: Frame::of(&call, "flows"),
        shown: named(&name),
        to: format!("/flows/{}", in_address(&name)),
        description: flow.description.as_deref().map(sentence),
        tags: flow.tags,
        fingerprint: flow.fingerprint.chars().take(12).collect(),
        since: away(flow.since, now),
        file: visible(&flow.file),
        is_outdated: flow.outdated,
        tab: wish.tab.word(),
        picture,
        problem,
        steps,
        runs,
        schedules,
        files,
        command: command(&format!("tidewheel run {}", argument(&flow.file))),
        name,
    })
}

/// Something for each param that has no default, so that the flow can be drawn.
fn examples(params: &[tidewheel_client::api::ParamLine]) -> BTreeMap<String, serde_json::Value> {
    let example = |param: &tidewheel_client::api::ParamLine| {
        use serde_json::json;
        if let Some(first) = param.choices.first() {
            return first.clone();
        }
        match param.kind.as_str() {
            "int" => json!(param.min.unwrap_or(1.0) as i64),
            "number" => json!(param.min.unwrap_or(1.0)),
            "bool" => json!(false),
            "list" => json!([]),
            "map" => json!({}),
            _ => json!("…"),
        }
    };
    let needed = params.iter().filter(|param| param.required);
    needed.map(|param| (param.name.clone(), example(param))).collect()
}

fn source_files(source: FlowSource) -> Vec<SourceFile> {
    let all = source.problems.as_array().cloned().unwrap_or_default();
    let mut files = Vec::new();
    if let Some(outdated) = &source.outdated {
        files.push(source_file(outdated, "as it is now: it cannot be run", &all));
    }
    let note = if source.outdated.is_some() { "the version in force" } else { "" };
    let own = if source.outdated.is_some() { &[][..] } else { &all[..] };
    files.extend(source.files.iter().map(|file| source_file(file, note, own)));
    files
}

fn source_file(file: &FlowFile, note: &'static str, problems: &[serde_json::Value]) -> SourceFile {
    let own = |problem: &&serde_json::Value| {
        problem["file"].as_str().is_none_or(|path| path == file.path || file.path.ends_with(path))
    };
    let mut found: Vec<ProblemLine> = problems.iter().filter(own).map(problem_line).collect();
    let lines = file.text.lines().enumerate().map(|(place, text)| {
        let number = place + 1;
        let (here, rest) = found.drain(..).partition(|it| it.line == Some(number as u64));
        found = rest;
        SourceLine { number, text: visible(text), problems: here }
    });
    let lines = lines.collect();
    SourceFile { path: visible(&file.path), note, lines, problems: found }
}

/// What is wrong, from the document about it.
pub(super) fn problems(all: &serde_json::Value) -> Vec<ProblemLine> {
    all.as_array().into_iter().flatten().map(problem_line).collect()
}

fn problem_line(problem: &serde_json::Value) -> ProblemLine {
    let line = problem["line"].as_u64();
    let column = problem["column"].as_u64();
    let place = match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}"),
        _ => String::new(),
    };
    ProblemLine {
        line,
        place,
        message: sentence(problem["message"].as_str().unwrap_or_default()),
        hint: problem["hint"].as_str().map(sentence),
        is_error: problem["severity"] == "error",
    }
}
