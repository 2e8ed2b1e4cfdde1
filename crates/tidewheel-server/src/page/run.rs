//! A run: how far it is, what broke, what was slow, and what can be done about it.
//!
//! One step of it is in [`super::step`], its times are drawn in [`super::gantt`].

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use tidewheel::Timestamp;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{
    OriginWord, RunOrigin, RunResult, RunState, StepList, StepRow, StepState, StepsOrder, StepsWish,
};
use tidewheel_client::desk::{Beside, WholeRun};
use tidewheel_client::files::{Picture, SvgOptions};
use tidewheel_client::text::{name as visible, sentence, short_id};
use utoipa::ToSchema;

use super::frame::{Frame, page, page_route};
use super::gantt::{Gantt, GanttWish};
use super::link::Link;
use super::step::{Panel, shown_value};
use super::strip::{counts, strip};
use super::tabs::Tabs;
use super::words::{
    Markup, command, going_on, moment, quoting, run_address, run_mark, step_mark, took,
};
use crate::door::Call;
use crate::problem::Problem;
use crate::table::{Form, Route};

/// Steps of which a picture shows each.
const VERTICES_MAX: usize = 100;

/// Steps that are shown at once.
pub(super) const ROWS: u32 = 50;

pub(super) const ROUTES: &[Route] = &[page_route!(
    "page-run",
    "/runs/{run}",
    "A run: its steps as a picture, by time and as a list, and what can be done about it.",
    Some(Form::of::<Wish>()),
    run
)];

/// What of a run is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// How its steps are shown.
    #[serde(default)]
    view: View,
    /// The step beside them.
    #[serde(default)]
    step: Option<String>,
    /// Only steps in this state.
    #[serde(default)]
    state: Option<StepState>,
    /// Only steps with this in their names.
    #[serde(default)]
    q: Option<String>,
    /// From this step of them on.
    #[serde(default)]
    from: u32,
    /// Only those steps, and nothing around them.
    #[serde(default)]
    part: bool,
    /// From this second of the run on.
    #[serde(default)]
    begin: Option<f64>,
    /// To this second of the run.
    #[serde(default)]
    end: Option<f64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum View {
    #[default]
    Graph,
    Time,
    Slots,
    List,
}

impl View {
    const WORDS: &[&str] = &["graph", "time", "slots", "list"];

    fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    id: String,
    short: String,
    to: String,
    flow: Option<Link>,
    mark: Markup,
    state: RunState,
    facts: Vec<Markup>,
    broken: Vec<Broken>,
    reason: Option<String>,
    counts: Vec<(char, &'static str, usize)>,
    letters: String,
    total: usize,
    strip: Markup,
    tabs: Tabs,
    view: &'static str,
    picture: Option<Markup>,
    gantt: Option<Gantt>,
    rows: Vec<Row>,
    matching: u32,
    from: u32,
    chunks: Vec<u32>,
    query: String,
    wanted: Option<StepState>,
    panel: Option<Panel>,
    commands: Vec<Markup>,
    artifacts: Vec<super::step::File>,
    params: Vec<(String, String)>,
}

/// Some steps of a long list, for a page that has the others.
#[derive(Template)]
#[template(path = "steps_part.html")]
struct Part {
    base: String,
    from: u32,
    gantt: Option<Gantt>,
    rows: Vec<Row>,
}

impl Part {
    fn of(call: &Call, wish: &Wish, steps: &StepList) -> Self {
        let now = wall_clock();
        Self {
            base: call.server.settings.base_path.as_str().to_owned(),
            from: steps.from,
            gantt: wish.gantt(steps, now),
            rows: steps.steps.iter().map(|step| row(&steps.run_id, step, now)).collect(),
        }
    }
}

/// A step that did not go well.
struct Broken {
    step: Link,
    error: String,
    log: String,
}

/// A step in the list.
struct Row {
    name: Link,
    step: String,
    mark: Markup,
    is_critical: bool,
    kind: String,
    attempts: usize,
    took: Markup,
    says: Markup,
    title: String,
    element: Option<String>,
}

impl Wish {
    /// The steps by time, if they are to be seen so.
    fn gantt(&self, steps: &StepList, now: Timestamp) -> Option<Gantt> {
        let how = match self.view {
            View::Time => GanttWish::Steps,
            View::Slots => GanttWish::Slots,
            View::Graph | View::List => return None,
        };
        Some(Gantt::of(steps, how, (self.begin, self.end), now))
    }
}

async fn run(call: Call) -> Result<Response, Problem> {
    let wish: Wish = call.query()?;
    let word = call.param("run").to_owned();
    let order = match wish.view {
        View::Time | View::Slots => StepsOrder::Start,
        _ => StepsOrder::Flow,
    };
    let limit = if wish.view == View::Slots { u32::MAX } else { ROWS };
    let steps = StepsWish {
        state: wish.state,
        text: wish.q.clone().filter(|text| !text.is_empty()),
        order,
        from: wish.from,
        limit,
        ..StepsWish::default()
    };
    if wish.part {
        let steps = call.server.desk().here(move |desk| desk.steps(&word, &steps)).await?;
        return page(&Part::of(&call, &wish, &steps));
    }
    let has_picture = wish.view == View::Graph;
    let beside = match &wish.step {
        Some(step) => Beside::Step(step.clone()),
        None => Beside::First,
    };
    let desk = call.server.desk();
    let mut whole = desk.here(move |desk| desk.whole(&word, &steps, has_picture, &beside)).await?;
    let panel = match whole.beside.take() {
        Some(step) => Some(Panel::of(&call, step).await?),
        None => None,
    };
    page(&shown(&call, &wish, whole, panel))
}

fn shown(call: &Call, wish: &Wish, whole: WholeRun, panel: Option<Panel>) -> RunPage {
    let WholeRun { result, steps, picture, .. } = whole;
    let (now, short) = (wall_clock(), short_id(&result.run_id));
    let chunks = (0..steps.total.div_ceil(ROWS)).map(|chunk| chunk * ROWS).collect();
    let gantt = wish.gantt(&steps, now);
    RunPage {
        frame: Frame::of(call, "runs"),
        to: run_address(&result.run_id),
        flow: result.flow.as_deref().map(Link::of_flow),
        mark: run_mark(result.state),
        state: result.state,
        facts: facts(&result, now),
        broken: broken(&result),
        reason: result.reason.clone(),
        counts: counts(&steps.letters),
        total: steps.letters.len(),
        strip: strip(&steps.letters),
        tabs: Tabs::new(&run_address(&result.run_id), "view", View::WORDS, wish.view.word()),
        view: wish.view.word(),
        picture: picture.map(|picture| drawn(&picture)),
        gantt,
        rows: steps.steps.iter().map(|step| row(&result.run_id, step, now)).collect(),
        matching: steps.total,
        from: steps.from,
        chunks,
        query: wish.q.clone().unwrap_or_default(),
        wanted: wish.state,
        panel,
        commands: commands(&short, result.state),
        artifacts: result
            .artifacts
            .iter()
            .map(|it| super::step::File::of(&result.run_id, it))
            .collect(),
        params: result.params.iter().map(|(name, it)| (visible(name), shown_value(it))).collect(),
        letters: steps.letters,
        short,
        id: result.run_id,
    }
}

/// A picture for a page that changes it.
pub(super) fn drawn(picture: &Picture) -> Markup {
    let options = SvgOptions::default().without_style().live().vertices_max(VERTICES_MAX);
    Markup(picture.svg(&options))
}

fn facts(result: &RunResult, now: Timestamp) -> Vec<Markup> {
    let began = result.started_at.unwrap_or(result.accepted_at);
    let mut facts = Vec::new();
    match result.ended_at {
        Some(end) => facts.push(Markup(format!("took {}", took(end.since(began))))),
        None => facts.push(Markup(format!("for {}", going_on(began, now)))),
    }
    facts.push(Markup(format!("began {}", moment(began))));
    let waited = began.since(result.accepted_at);
    if waited.as_millis() >= 1_000 {
        facts.push(Markup(format!("waited {} before", took(waited))));
    }
    facts.extend(result.origin.as_ref().map(made_by));
    facts
}

/// What made a run.
fn made_by(origin: &RunOrigin) -> Markup {
    let nominal = origin.nominal.map(|at| format!(" for {}", moment(at))).unwrap_or_default();
    Markup(match (origin.by, &origin.schedule, &origin.run_id) {
        (OriginWord::Retry, _, Some(run)) => format!("retry of {}", Link::of_run(run)),
        (OriginWord::Schedule, Some(name), _) => {
            let asked = match origin.firing.as_deref() {
                Some("backfill") => ", a backfill",
                Some("by-hand") => ", fired by hand",
                _ => "",
            };
            format!("made by {}{nominal}{asked}", Link::of_schedule(name))
        }
        (OriginWord::Schedule, None, _) => format!("made by a schedule that is gone{nominal}"),
        _ => "started by hand".to_owned(),
    })
}

fn broken(result: &RunResult) -> Vec<Broken> {
    let failed = result.steps.0.iter().filter(|(_, step)| {
        matches!(step.state, StepState::Failed | StepState::Unknown) && !step.tolerated
    });
    let shown = failed.take(3).map(|(name, step)| {
        let step_link = Link::of_step(&result.run_id, name);
        let why = step.error.as_deref().or(step.timeout.as_deref()).or(step.reason.as_deref());
        Broken {
            log: format!("{}/log", step_link.to),
            step: step_link,
            error: why.map(sentence).unwrap_or_default(),
        }
    });
    shown.collect()
}

fn row(run: &str, step: &StepRow, now: Timestamp) -> Row {
    let last = step.attempts.last();
    let time = match last.and_then(|last| Some((last.started_at?, last.ended_at))) {
        Some((from, Some(to))) => Markup(took(to.since(from))),
        Some((from, None)) if step.state == StepState::Running => going_on(from, now),
        _ => Markup::default(),
    };
    let title = step.error.as_deref().or(step.reason.as_deref()).map(sentence).unwrap_or_default();
    Row {
        name: Link::of_step(run, &step.step),
        step: step.step.clone(),
        mark: step_mark(step.state),
        is_critical: step.critical,
        kind: step.kind.clone().unwrap_or_default(),
        attempts: step.attempts.len(),
        took: time,
        says: quoting(&title),
        title,
        element: step.element.as_ref().map(|value| sentence(&value.to_string())),
    }
}

/// What does the same from a shell.
fn commands(short: &str, state: RunState) -> Vec<Markup> {
    let words: &[&str] = match state {
        RunState::Running | RunState::Waiting => &["pause", "cancel", "explain"],
        RunState::Paused | RunState::Interrupted => &["resume", "cancel", "explain"],
        RunState::Succeeded => &["show", "retry"],
        _ => &["retry", "explain"],
    };
    words.iter().map(|word| command(&format!("tidewheel {word} {short}"))).collect()
}

impl RunPage {
    fn goes_on(&self) -> bool {
        matches!(
            self.state,
            RunState::Running | RunState::Waiting | RunState::Paused | RunState::Interrupted
        )
    }

    fn may_resume(&self) -> bool {
        matches!(self.state, RunState::Paused | RunState::Interrupted)
    }

    fn may_pause(&self) -> bool {
        matches!(self.state, RunState::Running | RunState::Waiting)
    }

    /// The same run, shown so.
    fn as_view(&self, view: &str) -> String {
        format!("{}?view={view}", self.to)
    }

    /// The steps of the list from one on.
    fn chunk(&self, from: &u32) -> String {
        let state = self.wanted.map(|state| format!("&state={state}")).unwrap_or_default();
        let text = super::words::in_address(&self.query);
        let is_part = |gantt: &&Gantt| gantt.part.is_some();
        let part = self.gantt.as_ref().filter(is_part).map(Gantt::in_address).unwrap_or_default();
        format!("{}?view={}{state}&q={text}&from={from}{part}", self.to, self.view)
    }

    /// Those steps alone, over the same axis as the others although time goes on.
    fn part(&self, from: &u32) -> String {
        let whole = self.gantt.as_ref().filter(|gantt| gantt.part.is_none());
        let axis = whole.map(Gantt::in_address).unwrap_or_default();
        format!("{}{axis}&part=true", self.chunk(from))
    }
}
