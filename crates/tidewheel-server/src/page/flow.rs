//! Flows: which there are; and one of them: its picture, its history, its schedules, its file.
//!
//! How one is started is in [`super::form`].

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{FlowDetail, FlowFile, FlowSource, ListWish, ScheduleLine, StepLine};
use tidewheel_client::files::Picture;
use tidewheel_client::text::{name as visible, sentence};
use utoipa::ToSchema;

use super::frame::{Frame, page, page_route};
use super::grid::Grid;
use super::link::Link;
use super::run::drawn;
use super::runs::RunRow;
use super::schedules::ScheduleRow;
use super::tabs::Tabs;
use super::words::{Markup, command, going_on, in_address, named, run_command};
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
    const WORDS: &[&str] = &["graph", "history", "schedule", "file"];

    fn word(self) -> &'static str {
        Self::WORDS[self as usize]
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
    tabs: Tabs,
    tab: &'static str,
    grid: Option<Grid>,
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
    let FlowDetail { flow, steps, .. } = house.flow(call.param("flow")).await?;
    let name = flow.name.clone();
    let now = wall_clock();
    let (mut picture, mut problem, mut grid) = (None, None, None);
    let (mut runs, mut schedules, mut files) = (Vec::new(), Vec::new(), Vec::new());
    match wish.tab {
        Tab::Graph => match house.sketch(&name).await {
            // Its name stands above already.
            Ok(drawing) => picture = Some(drawn(&Picture { title: None, ..drawing })),
            Err(error) => problem = Some(error.to_string()),
        },
        Tab::History => {
            let wanted = ListWish { name: Some(name.clone()), limit: RUNS, ..ListWish::default() };
            let list = call.server.desk().list(wanted).await?;
            runs = list.runs.iter().map(|run| RunRow::of(run, now)).collect();
            grid = Some(Grid::of(&house.grid(&name, RUNS).await?));
        }
        Tab::Schedule => {
            let own = |it: &&ScheduleLine| it.flow.as_deref() == Some(&name);
            let all = house.schedules().await?.schedules;
            schedules = all.iter().filter(own).map(|it| ScheduleRow::of(it, now)).collect();
        }
        Tab::File => files = source_files(&house.source(&name).await?),
    }
    let to = format!("/flows/{}", in_address(&name));
    page(&FlowPage {
        frame: Frame::of(&call, "flows"),
        shown: named(&name),
        tabs: Tabs::new(&to, "tab", Tab::WORDS, wish.tab.word()),
        to,
        grid,
        description: flow.description.as_deref().map(sentence),
        tags: flow.tags,
        fingerprint: flow.fingerprint.chars().take(12).collect(),
        since: going_on(flow.since, now),
        file: visible(&flow.file),
        is_outdated: flow.outdated,
        tab: wish.tab.word(),
        picture,
        problem,
        steps,
        runs,
        schedules,
        files,
        command: command(&format!("{} --detach", run_command(&flow.name))),
        name,
    })
}

fn source_files(source: &FlowSource) -> Vec<SourceFile> {
    let shown = source.shown().into_iter();
    shown.map(|(file, note, problems)| source_file(file, note, &problems)).collect()
}

fn source_file(file: &FlowFile, note: &'static str, problems: &[&serde_json::Value]) -> SourceFile {
    let mut found: Vec<ProblemLine> = problems.iter().map(|it| problem_line(it)).collect();
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
