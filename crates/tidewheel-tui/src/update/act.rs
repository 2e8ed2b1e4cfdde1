//! What is done by a key, a command or the mouse.
//!
//! What destroys something is asked for first, in [`super::ask`].

use super::ask::{
    ask_to_answer, ask_to_cancel, ask_to_cancel_step, ask_to_fire, ask_which_priority, backfill,
    is_live, preview, start,
};
use super::keyboard::look_elsewhere;
use super::update::{redraw, stale_if_untold};
use crate::keys::Action;
use crate::message::{Effect, End, Wish};
use crate::model::{
    Attached, Dialog, Doubt, List, Log, Model, Part, Prompt, Reading, Room, Row, Screen, Shown,
    ShownFlow,
};
use crate::run::Tone;

/// Does something.
pub(super) fn act(model: &mut Model, action: Action) -> Vec<Effect> {
    if model.help.is_some() && closes_help(model, action) {
        return Vec::new();
    }
    if let Some(doubt) = doubt(model, action) {
        model.say(Tone::Doubtful, doubt);
        return Vec::new();
    }
    match action {
        Action::Up => scroll(model, -1),
        Action::Down => scroll(model, 1),
        Action::PageUp => scroll(model, -page(model)),
        Action::PageDown => scroll(model, page(model)),
        Action::Top => scroll(model, isize::MIN / 2),
        Action::Bottom => scroll(model, isize::MAX / 2),
        Action::Open => open(model),
        Action::Back => back(model),
        Action::Overview => go(model, Screen::Overview),
        Action::Runs => go(model, Screen::Runs),
        Action::Queues => go(model, Screen::Queues),
        Action::Schedules => go(model, Screen::Schedules),
        Action::Views => views(model),
        Action::All => part(model, Part::All),
        Action::Window => part(model, Part::Window),
        Action::Failed => part(model, Part::Failed),
        Action::Log => log(model),
        Action::Follow => follow(model),
        Action::Wrap => of_log(model, Log::wrap),
        Action::Older => turn_attempt(model, false),
        Action::Newer => turn_attempt(model, true),
        Action::Stream => of_log(model, |log, _| log.turn_stream()),
        Action::Left => slide(model, false),
        Action::Right => slide(model, true),
        Action::Search => model.prompt = Some(Prompt::Search(String::new())),
        Action::NextHit => of_log(model, |log, room| log.jump(1, room)),
        Action::LastHit => of_log(model, |log, room| log.jump(-1, room)),
        Action::Command => model.prompt = Some(Prompt::Command(String::new())),
        Action::Help => model.help = Some(0),
        Action::Suspend => return vec![Effect::Suspend],
        Action::Quit => return quit(model),
        Action::Pause | Action::Resume => return steer(model, action == Action::Pause),
        Action::Cancel => ask_to_cancel(model),
        Action::CancelStep => ask_to_cancel_step(model),
        Action::Retry => return preview(model, false),
        Action::RetryFrom => return preview(model, true),
        Action::Approve => return ask_to_answer(model, true),
        Action::Reject => return ask_to_answer(model, false),
        Action::Start => return start(model),
        Action::Flow => look_at_flow(model),
        Action::Priority => ask_which_priority(model),
        Action::Fire => ask_to_fire(model),
        Action::Backfill => backfill(model),
    }
    Vec::new()
}

/// Whether the help takes the action.
fn closes_help(model: &mut Model, action: Action) -> bool {
    match action {
        Action::Up | Action::Down | Action::PageUp | Action::PageDown => false,
        Action::Top | Action::Bottom => false,
        _ => {
            model.help = None;
            true
        }
    }
}

/// Why something is not done this time that is about the selected row: whoever wants it may have seen another one there.
fn doubt(model: &mut Model, action: Action) -> Option<&'static str> {
    use Action::{
        Approve, Backfill, Cancel, CancelStep, Fire, Flow, Log, Open, Pause, Priority, Reject,
        Resume, Retry, RetryFrom, Start,
    };
    let screen = model.screen();
    let is_of_row = match screen {
        Screen::Run => {
            matches!(action, Open | CancelStep | RetryFrom | Log | Approve | Reject)
        }
        Screen::Schedule => action == Open,
        _ => matches!(
            action,
            Open | Pause
                | Resume
                | Cancel
                | Retry
                | Approve
                | Reject
                | Start
                | Flow
                | Priority
                | Fire
                | Backfill
        ),
    };
    let list = model.list_of(screen).filter(|_| is_of_row)?;
    match list.doubt.take()? {
        Doubt::Gone => Some("what was selected is gone; once more is about what is selected now"),
        // Which run it is is seen then.
        Doubt::OtherRun if matches!(action, Start | Open | Flow) => None,
        Doubt::OtherRun => Some("the flow has a newer run now; once more is about that one"),
    }
}

/// Whoever comes to a screen sees what is selected there.
fn come(model: &mut Model) {
    let screen = model.screen();
    model.list_of(screen).into_iter().for_each(|list| list.doubt = None);
    model.want_now();
}

fn page(model: &Model) -> isize {
    isize::try_from(model.room().saturating_sub(1).max(1)).unwrap_or(isize::MAX)
}

/// Moves by rows in whatever is looked at.
pub(super) fn scroll(model: &mut Model, rows: isize) {
    if let Some(top) = model.help {
        let last = crate::view::help_places(model) - 1;
        model.help = Some(top.min(last).saturating_add_signed(rows).min(last));
        return;
    }
    match model.screen() {
        Screen::Step => {
            let places = crate::view::details_places(model);
            model.reading.iter_mut().for_each(|reading| reading.details.step(rows, places));
        }
        Screen::Log => of_log(model, |log, room| log.scroll(rows as i64, room)),
        Screen::Run if model.watched.as_ref().is_some_and(|it| it.shown == Shown::About) => {
            let last = crate::view::about_places(model) - 1;
            if let Some(watched) = &mut model.watched {
                watched.about_top =
                    watched.about_top.min(last).saturating_add_signed(rows).min(last);
            }
        }
        _ => {
            if let Some((list, count)) = model.list() {
                list.step(rows, count);
                stale_if_untold(model);
            }
            if model.screen() == Screen::Runs && rows > 0 {
                model.want_older();
            }
        }
    }
}

fn go(model: &mut Model, screen: Screen) {
    if model.attached == Attached::Page {
        return model.say(Tone::Doubtful, "this is the page of one run: there is nothing else");
    }
    model.screens = vec![screen];
    come(model);
}

fn back(model: &mut Model) {
    let screen = model.screen();
    if model.list_of(screen).is_some_and(|list| !list.filter.is_empty()) {
        model.keeping(screen, |model| {
            model.list_of(screen).into_iter().for_each(|list| list.filter.clear());
        });
        look_elsewhere(model);
    } else if model.screens.len() > 1 {
        model.screens.pop();
        come(model);
    }
}

fn open(model: &mut Model) {
    match model.screen() {
        Screen::Run => {
            let Some(watched) = &model.watched else { return };
            let Some(step) = watched.selected() else { return };
            let mut reading = Reading::new(&watched.run, &watched.names[step], false);
            // Who wants long lines wrapped wants it of others too.
            reading.log.is_wrapped = model.reading.as_ref().is_some_and(|it| it.log.is_wrapped);
            model.reading = Some(Box::new(reading));
            model.screens.push(Screen::Step);
        }
        Screen::Schedules => {
            let Some(schedule) = model.named_schedule().map(str::to_owned) else { return };
            open_schedule(model, schedule);
        }
        Screen::Overview => match model.row() {
            Some(Row::Late(place)) => {
                let late = model.glance.as_ref().and_then(|glance| glance.late.get(place));
                let name = late.map(|it| it.name.clone()).unwrap_or_default();
                open_schedule(model, name);
            }
            Some(_) => match model.run().map(str::to_owned) {
                Some(run) => model.watch(&run),
                None => model.say(Tone::Doubtful, "this flow has no run yet"),
            },
            None => {}
        },
        screen => match model.run().map(str::to_owned) {
            Some(run) => model.watch(&run),
            None if screen == Screen::Schedule && model.list().is_some_and(|it| it.1 > 0) => {
                model.say(Tone::Doubtful, "no run was made for this instant");
            }
            None => {}
        },
    }
    model.want_now();
}

fn open_schedule(model: &mut Model, name: String) {
    // Where somebody was in the ledger of another one says nothing.
    if model.schedule_name != name {
        model.ledger_list = List::default();
    }
    model.schedule_name = name;
    model.schedule = None;
    model.screens.push(Screen::Schedule);
}

fn look_at_flow(model: &mut Model) {
    if is_page(model) {
        return;
    }
    let Some(name) = model.flow_meant().map(str::to_owned) else {
        return model.say(Tone::Doubtful, "select a flow, or a run of one");
    };
    model.looked_flow = Some(Box::new(ShownFlow::new(&name)));
    model.screens.push(Screen::Flow);
    come(model);
}

fn views(model: &mut Model) {
    match model.screen() {
        Screen::Run => {
            let is_desk = model.attached == Attached::Desk;
            let Some(watched) = &model.watched else { return };
            let next = match watched.shown {
                Shown::Steps => Shown::Graph,
                Shown::Graph => Shown::Time,
                Shown::Time if is_desk => Shown::About,
                Shown::Time | Shown::About => Shown::Steps,
            };
            let is_about = watched.shown == Shown::About;
            model.keeping(Screen::Run, |model| {
                model.watched.iter_mut().for_each(|watched| watched.shown = next);
                redraw(model);
            });
            stale_if_untold(model);
            if next == Shown::About || is_about {
                model.want_now();
            }
        }
        Screen::Step => show_log(model),
        Screen::Log => {
            model.reading.iter_mut().for_each(|reading| reading.is_log = false);
            model.want_now();
        }
        _ => {}
    }
}

/// The same key again leads back.
fn part(model: &mut Model, part: Part) {
    if let Some(watched) = &mut model.watched {
        watched.part = if watched.part == part { Part::All } else { part };
        if matches!(watched.shown, Shown::Graph | Shown::About) {
            watched.shown = Shown::Steps;
        }
        watched.list.select(0, 1);
    }
}

fn log(model: &mut Model) {
    if model.screen() == Screen::Run && model.attached == Attached::Desk {
        open(model);
    }
    show_log(model);
}

/// Looks at what the step wrote, if that can be looked at.
pub(super) fn show_log(model: &mut Model) {
    if model.attached == Attached::Page {
        return model.say(Tone::Doubtful, "a status page has no logs");
    }
    model.reading.iter_mut().for_each(|reading| reading.is_log = true);
    model.want_now();
}

/// Whoever is not at the log yet wants its end.
fn follow(model: &mut Model) {
    let is_there = model.screen() == Screen::Log;
    if let Some(reading) = &mut model.reading {
        reading.log.is_following = !(is_there && reading.log.is_following);
        show_log(model);
    }
}

/// Looks at something else of the log.
fn of_log(model: &mut Model, look: impl FnOnce(&mut Log, Room)) {
    let room = model.log_room();
    if let Some(reading) = &mut model.reading {
        look(&mut reading.log, room);
        model.is_stale = true;
    }
}

fn turn_attempt(model: &mut Model, is_newer: bool) {
    let mut turned = Ok(());
    of_log(model, |log, _| turned = log.turn_attempt(is_newer));
    if let Err(why) = turned {
        model.say(Tone::Doubtful, why);
    }
}

fn slide(model: &mut Model, is_right: bool) {
    if model.reading.as_ref().is_some_and(|reading| reading.log.is_wrapped) {
        return model.say(Tone::Doubtful, "lines are wrapped: nothing is beside");
    }
    of_log(model, |log, room| log.slide(is_right, room));
}

fn quit(model: &mut Model) -> Vec<Effect> {
    if model.own.is_empty() {
        return vec![Effect::Quit];
    }
    if model.urgency > 0 {
        return end_own(model);
    }
    model.dialog = Some(Dialog {
        question: "What runs here ends with this. How?".to_owned(),
        details: Vec::new(),
        answers: vec![
            ('f', "let running steps finish", vec![Effect::End(End::Drain)]),
            ('e', "end them", vec![Effect::End(End::Kill)]),
            ('n', "stay", Vec::new()),
        ],
    });
    Vec::new()
}

/// Ends what this process runs, gently at first; leaves where it runs nothing.
pub(super) fn end_own(model: &mut Model) -> Vec<Effect> {
    if model.own.is_empty() {
        return vec![Effect::Quit];
    }
    model.urgency = model.urgency.saturating_add(1);
    if model.urgency == 1 {
        model.say(Tone::Doubtful, "what runs may finish; Ctrl-C again ends it");
        return vec![Effect::End(End::Drain)];
    }
    model.say(Tone::Bad, "ending what runs");
    vec![Effect::End(End::Kill)]
}

pub(super) fn is_page(model: &mut Model) -> bool {
    let is_page = model.attached == Attached::Page;
    if is_page {
        model.say(Tone::Doubtful, "a status page can only be looked at");
    }
    is_page
}

/// Pauses or resumes what is meant.
fn steer(model: &mut Model, is_pause: bool) -> Vec<Effect> {
    if is_page(model) {
        return Vec::new();
    }
    let is_over = model.run_state().is_some_and(|state| !is_live(state));
    if model.named_schedule().is_none() && is_over {
        model.say(Tone::Doubtful, "it has ended already; `t` runs again what did not succeed");
        return Vec::new();
    }
    let (schedule, run) = (model.named_schedule(), model.run().map(str::to_owned));
    let wish = match (schedule.map(str::to_owned), run, is_pause) {
        (Some(schedule), _, true) => Wish::PauseSchedule(schedule),
        (Some(schedule), _, false) => Wish::ResumeSchedule(schedule),
        (_, Some(run), true) => Wish::Pause(run),
        (_, Some(run), false) => Wish::Resume(run),
        (None, None, _) => return Vec::new(),
    };
    vec![Effect::Do(wish)]
}
