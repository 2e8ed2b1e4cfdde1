//! What is asked before something is done: whether it is really meant, and what is to be said with it.
//!
//! What is done at once is in [`super::act`].

use tidewheel_client::api::{
    BackfillWish, FlowDetail, OrderLine, OrderPreview, Preview, RunState, Standing, StartWish,
    StepStanding, Upcoming,
};
use tidewheel_client::text::{columns, count, cut, name, short_id};

use super::act::is_page;
use crate::message::{Again, Effect, Question, Raised, Wish};
use crate::model::{Dialog, Form, Model, Screen};
use crate::run::Tone;
use crate::view::seconds;

/// The levels of priority, by the keys that choose them.
const LEVELS: [(char, &str, u8); 5] = [
    ('c', "critical", 100),
    ('h', "high", 80),
    ('n', "normal", 50),
    ('l', "low", 20),
    ('b', "background", 0),
];

/// Steps that are named one by one before something is done.
const NAMES_MAX: usize = 8;

/// Columns that a question has on a terminal of 80.
const QUESTION: usize = 76;

/// Why no instants are fired.
const NO_SCHEDULE: &str = "select the schedule that is to fire";

/// Columns of a step in a question that has its run as well.
const STEP: usize = 24;

/// A run as questions name it: its flow is cut so that all of the question can be read, which has so many other columns.
fn run_words(model: &Model, run: &str, others: usize) -> String {
    let id = format!("run {}", short_id(run));
    let Some(flow) = model.flow_of(run) else { return id };
    let room = QUESTION.saturating_sub(columns(&id) + columns(" of ") + others).max(6);
    format!("{id} of {}", cut(&name(flow), room, "…"))
}

/// A step and its run as questions name them.
fn step_words(model: &Model, step: &str, run: &str, others: usize) -> String {
    let step = name(step);
    let step = cut(&step, STEP, "…");
    let run = run_words(model, run, others + columns(&step) + columns(" of "));
    format!("{step} of {run}")
}

pub(super) fn ask_to_cancel(model: &mut Model) {
    if is_page(model) {
        return;
    }
    let Some(run) = model.run().map(str::to_owned) else { return };
    let watched = match model.screen() {
        Screen::Run | Screen::Step | Screen::Log => model.watched.as_ref(),
        _ => None,
    };
    if model.run_state().is_some_and(|state| !is_live(state)) {
        return model.say(Tone::Doubtful, "it has ended already");
    }
    let what = watched.map_or_else(
        || "its running steps are stopped, and others never started".to_owned(),
        |it| {
            let running = it.model.running.len();
            let open = it.model.steps.len() - it.model.ended_count() - running;
            let are = if running == 1 { "is" } else { "are" };
            format!("{} {are} stopped, {open} never started", count(running, "running step"))
        },
    );
    let question = format!("End {}?", run_words(model, &run, "End ?".len()));
    let details = vec![format!("{what}; what cleans up is still done")];
    model.dialog = Some(Dialog::of(question, "end it", Wish::Cancel(run)).with(details));
}

pub(super) fn ask_to_cancel_step(model: &mut Model) {
    if is_page(model) {
        return;
    }
    let Some(run) = model.run().map(str::to_owned) else { return };
    if model.run_state().is_some_and(|state| !is_live(state)) {
        return model.say(Tone::Doubtful, "its run has ended already");
    }
    let Some(step) = selected_step(model) else {
        return model.say(Tone::Doubtful, "select the step that is to be left out");
    };
    let question = format!("End {}?", step_words(model, &step, &run, "End ?".len()));
    let mut details = vec!["what needs it is skipped, and all else goes on".to_owned()];
    let behind = behind(model, &step);
    if !behind.is_empty() {
        details.push(format!("{} after it not ended yet:", count(behind.len(), "step")));
        details.extend(listed(&behind));
    }
    let wish = Wish::CancelStep { run, step };
    model.dialog = Some(Dialog::of(question, "end it", wish).with(details));
}

/// The steps that come after one of the run that is looked at, directly or not, and have not ended.
fn behind(model: &Model, step: &str) -> Vec<String> {
    let Some(watched) = &model.watched else { return Vec::new() };
    let Some(first) = watched.names.iter().position(|name| **name == *step) else {
        return Vec::new();
    };
    let behind = watched.model.behind(first).into_iter();
    behind.map(|index| watched.model.steps[index].name.clone()).collect()
}

/// Names of steps, a line each, as many as have room.
fn listed(names: &[String]) -> Vec<String> {
    let mut lines: Vec<String> =
        names.iter().take(NAMES_MAX).map(|it| format!("  {}", name(it))).collect();
    let more = names.len().saturating_sub(NAMES_MAX);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

/// The step that is looked at, or selected among those of a run.
fn selected_step(model: &Model) -> Option<String> {
    if matches!(model.screen(), Screen::Step | Screen::Log) {
        return model.reading.as_ref().map(|reading| reading.step.clone());
    }
    let watched = model.watched.as_ref()?;
    watched.selected().map(|step| watched.names[step].to_string())
}

/// Whether a run in this state has not ended.
pub(crate) fn is_live(state: RunState) -> bool {
    use RunState::{Interrupted, Paused, Running, Waiting};
    matches!(state, Running | Waiting | Paused | Interrupted)
}

/// Finds out what a retry would do: of what did not succeed, or from the selected step on.
pub(super) fn preview(model: &mut Model, is_from_step: bool) -> Vec<Effect> {
    if is_page(model) {
        return Vec::new();
    }
    let Some(run) = model.run().map(str::to_owned) else { return Vec::new() };
    let from = is_from_step.then(|| selected_step(model)).flatten();
    if is_from_step && from.is_none() {
        model.say(Tone::Doubtful, "select the step from which on it is run again");
        return Vec::new();
    }
    vec![Effect::Ask(Question::Preview(Again { run, from, shown: None }))]
}

/// Asks whether what a retry would do is meant.
pub(super) fn ask_again(model: &mut Model, again: Again, preview: &Preview) {
    let mut details = Vec::new();
    let question = match &again.from {
        Some(step) => {
            details.push(format!("of {}", run_words(model, &again.run, "of ".len())));
            format!("Run {} and what comes after it again?", cut(&name(step), STEP, "…"))
        }
        None => {
            let others = "Run again what did not succeed in ?".len();
            format!("Run again what did not succeed in {}?", run_words(model, &again.run, others))
        }
    };
    if again.shown.is_some() {
        details
            .push("it was not done: it would not be any more what was shown, but this".to_owned());
    }
    details.push(format!(
        "{} again, {} reused as they are",
        count(preview.run_again.len(), "step"),
        preview.reused.len()
    ));
    details.extend(listed(&preview.run_again));
    if !preview.changed_files.is_empty() {
        details.push("its files have changed; they are used as they were".to_owned());
    }
    // What is shown is what is done, or nothing.
    let shown = Some(preview.digest.clone()).filter(|digest| !digest.is_empty());
    let wish = Wish::Retry(Again { shown, ..again });
    model.dialog = Some(Dialog::of(question, "run it again", wish).with(details));
}

/// Asks what is to be said to the step that is meant. Whether one that is looked at asks is found out first: of its run nothing
/// was told meanwhile.
pub(super) fn ask_to_answer(model: &mut Model, approved: bool) -> Vec<Effect> {
    if is_page(model) {
        return Vec::new();
    }
    if let (Screen::Step | Screen::Log, Some(reading)) = (model.screen(), &model.reading) {
        let (run, step) = (reading.run.clone(), reading.step.clone());
        return vec![Effect::Ask(Question::Asks { run, step, approved })];
    }
    match model.asked() {
        Some((run, step, wants_code)) => {
            let (run, step) = (run.to_owned(), step.to_owned());
            open_answer(model, run, step, approved, wants_code);
        }
        None => model.say(Tone::Doubtful, "nothing here asks for an answer"),
    }
    Vec::new()
}

/// The same of one step, if it asks as its run stands now.
pub(super) fn answer_if_asked(
    model: &mut Model,
    run: &str,
    step: &str,
    approved: bool,
    standing: &Standing,
) {
    let asks = |it: &&StepStanding| it.name == step && it.asks && !it.state.has_ended();
    match standing.steps.iter().find(asks) {
        Some(asking) => {
            open_answer(model, run.to_owned(), step.to_owned(), approved, asking.wants_code);
        }
        None => {
            let step = name(step);
            model.say(
                Tone::Doubtful,
                format!("{} does not ask for an answer", cut(&step, STEP, "…")),
            );
        }
    }
}

fn open_answer(model: &mut Model, run: String, step: String, approved: bool, wants_code: bool) {
    let word = if approved { "yes" } else { "no" };
    let others = format!("Say {word} to ").len();
    let title = format!("Say {word} to {}", step_words(model, &step, &run, others));
    model.form = Some(Form::answer(title, run, step, approved, wants_code));
}

/// Finds out what can be said when the selected flow is started.
pub(super) fn start(model: &mut Model) -> Vec<Effect> {
    match model.flow() {
        Some(flow) => vec![Effect::Ask(Question::Flow(flow.to_owned()))],
        None => {
            model.say(Tone::Doubtful, "select the flow that is to be started");
            Vec::new()
        }
    }
}

/// Asks what is to be said when a flow is started, or whether that is meant where there is nothing to say.
pub(super) fn ask_to_start(model: &mut Model, flow: &FlowDetail) {
    model.form = Form::start(flow);
    if model.form.is_none() {
        let line = &flow.flow;
        let (flow, fingerprint) = (line.name.clone(), Some(line.fingerprint.clone()));
        let wish = Wish::Start(StartWish { flow, fingerprint, ..StartWish::default() });
        let question = format!("Start {}?", name(&line.name));
        let details = vec![format!("{}, {}", name(&line.file), count(line.steps, "step"))];
        model.dialog = Some(Dialog::of(question, "start it", wish).with(details));
    }
}

/// Asks which priority a step that waits is to have; what comes of it is shown before it is done.
pub(super) fn ask_which_priority(model: &mut Model) {
    let Some(step) = model.waiting_step() else {
        return model.say(Tone::Doubtful, "select a step that waits");
    };
    let (run, step, now) = (step.run_id.clone(), step.step.clone(), step.priority);
    let level = |(key, words, priority): (char, &'static str, u8)| {
        let raised = Raised { run: run.clone(), step: step.clone(), priority };
        (key, words, vec![Effect::Ask(Question::Order(raised))])
    };
    let mut answers: Vec<_> = LEVELS.into_iter().map(level).collect();
    answers.push(('q', "leave it", Vec::new()));
    let others = "Which priority for ?".len();
    let question = format!("Which priority for {}?", step_words(model, &step, &run, others));
    let details = vec![format!("it has {now}")];
    model.dialog = Some(Dialog { question, details, answers });
}

/// Asks whether the order is meant that another priority leads to.
pub(super) fn ask_to_raise(model: &mut Model, raised: Raised, preview: &OrderPreview) {
    let others = format!("Give  priority {}?", raised.priority).len();
    let step = step_words(model, &raised.step, &raised.run, others);
    let question = format!("Give {step} priority {}?", raised.priority);
    let line = |(place, it): (usize, &OrderLine)| {
        let is_it = |other: &&OrderLine| (&other.run_id, &other.step) == (&it.run_id, &it.step);
        let was = preview.before.iter().position(|other| is_it(&other));
        let was = was.filter(|was| *was != place).map(|was| format!(", was {}", was + 1));
        let start = it.expected_start_seconds.map(|it| format!(", in {}", seconds(it)));
        let (was, start) = (was.unwrap_or_default(), start.unwrap_or_default());
        format!("{:>3}  {} ({}{was}{start})", place + 1, name(&it.step), it.priority)
    };
    let mut details: Vec<String> =
        preview.after.iter().enumerate().take(NAMES_MAX).map(line).collect();
    let more = preview.after.len().saturating_sub(NAMES_MAX) as u64 + preview.more;
    if more > 0 {
        details.push(format!("     and {more} more"));
    }
    model.dialog = Some(Dialog::of(question, "do it", Wish::Raise(raised)).with(details));
}

pub(super) fn ask_to_fire(model: &mut Model) {
    let Some(schedule) = model.named_schedule().map(str::to_owned) else {
        return model.say(Tone::Doubtful, NO_SCHEDULE);
    };
    let question = format!("Run {} now?", name(&schedule));
    model.dialog = Some(Dialog::of(question, "run it", Wish::Fire(schedule)));
}

pub(super) fn backfill(model: &mut Model) {
    match model.named_schedule().map(str::to_owned) {
        Some(schedule) => model.form = Some(Form::backfill(schedule)),
        None => model.say(Tone::Doubtful, NO_SCHEDULE),
    }
}

/// Asks whether the instants are meant that would fire.
pub(super) fn ask_to_backfill(model: &mut Model, wish: BackfillWish, instants: &Upcoming) {
    model.form = None;
    let schedule = name(&instants.schedule);
    if instants.next.is_empty() {
        return model.say(Tone::Doubtful, format!("{schedule} has no such instant to fire"));
    }
    let how = if wish.at_once { "beside each other" } else { "one after the other" };
    let question = format!("Fire {} of {schedule}, {how}?", count(instants.next.len(), "instant"));
    let mut details: Vec<String> =
        instants.next.iter().take(NAMES_MAX).map(|it| format!("  {}", it.local)).collect();
    let more = instants.next.len().saturating_sub(NAMES_MAX);
    if more > 0 {
        details.push(format!("  and {more} more"));
    }
    // Never more than were shown.
    let wish = BackfillWish { max: u32::try_from(instants.next.len()).ok(), ..wish };
    let wish = Wish::Backfill(instants.schedule.clone(), wish);
    model.dialog = Some(Dialog::of(question, "fire them", wish).with(details));
}
