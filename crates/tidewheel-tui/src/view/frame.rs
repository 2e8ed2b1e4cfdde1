//! The lines at the top and at the bottom, which all screens have.
//!
//! What is between them is each screen's own.

use ratatui::layout::Rect;
use tidewheel_client::api::{RunState, ScheduleWord};
use tidewheel_client::text::{columns, count, cut, name, sentence, short_id};

use super::paper::Paper;
use super::words::{time_of_day, why};
use crate::keys::{Action, BINDINGS, Binding};
use crate::message::Hit;
use crate::model::{Attached, Model, Prompt, Row, Screen, Shown};
use crate::run::{Line, Signs, Tone, detail};
use crate::update::is_live;

/// What can be looked at from everywhere.
const TABS: [(Screen, &str, &str, Action); 4] = [
    (Screen::Overview, "1", "overview", Action::Overview),
    (Screen::Runs, "2", "runs", Action::Runs),
    (Screen::Queues, "3", "queues", Action::Queues),
    (Screen::Schedules, "4", "schedules", Action::Schedules),
];

/// Columns that a flow has at least where there is no room for all of its name.
const FLOW_MIN: usize = 6;

/// Draws what it is of and what matters, and the screens.
pub(super) fn top(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let width = usize::from(area.width);
    let signs = paper.theme.signs;
    let time = time_of_day(model);
    let mut line = Line::new().with(Tone::Strong, " tidewheel").with(Tone::Plain, "  ");
    let counts = counts(model);
    let end = width.saturating_sub(time.len() + 2 + counts.width());
    line.push_cut(Tone::Faint, &name(&model.name), end, signs);
    line.pad_to(end);
    line.append(counts);
    line.push(Tone::Faint, format!(" {time}"));
    paper.line((area.x, area.y), width, &line);
    let mut x = area.x + 1;
    let y = area.y + 1;
    if model.attached != Attached::Page {
        for (screen, key, words, action) in TABS {
            let is_here = model.screens.first() == Some(&screen);
            let tone = if is_here { Tone::Active } else { Tone::Faint };
            let tab = Line::new()
                .with(Tone::Strong, key)
                .with(Tone::Plain, " ")
                .with(if is_here { Tone::Strong } else { tone }, words);
            let wide = tab.width() as u16;
            paper.line((x, y), width, &tab);
            let strip = Rect { x, y, width: wide, height: 1 };
            if is_here {
                let style = paper.theme.style(Tone::Active);
                paper.buffer.set_style(strip, style);
            }
            paper.hit(strip, Hit::Action(action));
            x += wide + 2;
        }
    }
    let room = usize::from(area.right().saturating_sub(x));
    let path = path(model, room, signs);
    let mut trail = Line::new();
    trail.push_cut(Tone::Strong, &path, room, signs);
    paper.line((x, y), room, &trail);
}

/// How many run, fail, are late and ask.
fn counts(model: &Model) -> Line {
    let mut line = Line::new();
    let Some(glance) = &model.glance else { return line };
    let all = [
        (glance.running as usize, "running", Tone::Active),
        (glance.failing.len(), "failing", Tone::Bad),
        (glance.late.len(), "late", Tone::Doubtful),
        (glance.approvals.len(), "asking", Tone::Doubtful),
    ];
    for (number, word, tone) in all.into_iter().filter(|(number, ..)| *number > 0) {
        line.push(tone, format!("{number} {word} "));
    }
    line
}

/// Where one is, below the screens that can be looked at from everywhere, in so many columns: the flow is cut before its run
/// and its step are.
fn path(model: &Model, room: usize, signs: &Signs) -> String {
    let run = |others: usize| {
        let watched = model.watched.as_ref();
        watched.map_or_else(String::new, |it| {
            let flow = if it.model.flow.is_empty() { "run" } else { &it.model.flow };
            let id = short_id(&it.run);
            let room = room.saturating_sub(columns("›  ") + columns(&id) + others);
            format!("› {} {id}", cut(flow, room.max(FLOW_MIN), signs.cut))
        })
    };
    match model.screen() {
        Screen::Run => run(0),
        Screen::Step | Screen::Log => {
            let step = model.reading.as_ref().map(|it| name(&it.step)).unwrap_or_default();
            let behind = format!(" › {step}");
            let whole = run(columns(&behind)) + &behind;
            // Which step it is matters most.
            if columns(&whole) > room { format!("› {step}") } else { whole }
        }
        Screen::Schedule => format!("› {}", name(&model.schedule_name)),
        Screen::Flow => {
            model.looked_flow.as_ref().map(|it| format!("› {}", name(&it.name))).unwrap_or_default()
        }
        // Older ones come when one gets there.
        Screen::Runs => match model.runs.as_ref().filter(|list| list.next.is_some()) {
            Some(list) => format!("› the {} newest", list.runs.len()),
            None => String::new(),
        },
        _ => String::new(),
    }
}

/// Draws what is said or typed, and the keys.
pub(super) fn bottom(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let width = usize::from(area.width);
    let (said, keys) = (area.bottom() - 2, area.bottom() - 1);
    paper.line((area.x, said), width, &said_line(model, paper.theme.signs, width));
    let mut x = area.x + 1;
    for binding in reminders(model) {
        let room = usize::from(area.right().saturating_sub(x));
        let words = word(binding, model);
        let next = paper.key((x, keys), room, binding.shown, words, Hit::Action(binding.action));
        if next == x {
            break;
        }
        x = next + 2;
    }
}

/// The keys that are reminded of: those that do something to what is selected, and what leads on.
fn reminders(model: &Model) -> Vec<&'static Binding> {
    let here = BINDINGS.iter().filter(|it| it.is_reminded && it.is_on(model.screen()));
    let here = here.filter(|it| is_fit(model, it.action));
    let mut shown: Vec<&Binding> = here.collect();
    shown.sort_by_key(|it| match it.action {
        Action::Open | Action::Back => 0,
        // Somebody is waited for.
        Action::Approve | Action::Reject => 1,
        Action::Help | Action::Quit => 2,
        Action::Views | Action::Log => 3,
        // Of a log only, which is read before anything is done.
        Action::Wrap | Action::Older | Action::Stream => 4,
        _ => 5,
    });
    shown
}

/// Whether something can be done with what is selected. Where that is not known, it may.
fn is_fit(model: &Model, action: Action) -> bool {
    use RunState::{Interrupted, Paused, Running, Waiting};
    let (run, schedule) = (model.run_state(), model.schedule_state());
    let has_run = || run.is_none() && model.run().is_some();
    let is_page = model.attached == Attached::Page;
    let has_step = model.watched.as_ref().is_some_and(|watched| watched.selected().is_some());
    match action {
        Action::Open => match model.screen() {
            Screen::Schedule => model.run().is_some(),
            Screen::Run => has_step,
            _ => true,
        },
        Action::Back => model.screens.len() > 1,
        Action::Pause => match schedule {
            Some(state) => state == ScheduleWord::Active,
            None => !is_page && (has_run() || matches!(run, Some(Running | Waiting))),
        },
        Action::Resume => match schedule {
            Some(state) => state == ScheduleWord::Paused,
            None => !is_page && matches!(run, Some(Paused | Interrupted)),
        },
        Action::Cancel | Action::CancelStep => !is_page && (has_run() || run.is_some_and(is_live)),
        Action::Retry | Action::RetryFrom => !is_page && run.is_some_and(|it| !is_live(it)),
        Action::Approve | Action::Reject => !is_page && model.asked().is_some(),
        Action::Start => model.flow().is_some(),
        Action::Flow => !is_page && model.flow_meant().is_some(),
        Action::Older => model.reading.as_ref().is_some_and(|it| it.log.attempts().1 > 1),
        Action::Priority => model.waiting_step().is_some(),
        Action::Fire | Action::Backfill => model.named_schedule().is_some(),
        // Elsewhere, `Tab` leads there.
        Action::Log => !is_page && has_step && model.screen() == Screen::Run,
        // A page has no logs.
        Action::Views | Action::Search | Action::Follow => {
            !is_page || model.screen() != Screen::Step
        }
        _ => true,
    }
}

/// What a key does, in one word.
fn word(binding: &Binding, model: &Model) -> &'static str {
    let shown = || model.watched.as_ref().map(|watched| watched.shown);
    match (binding.action, model.screen()) {
        (Action::Views, Screen::Run) => match shown() {
            Some(Shown::Graph) => "time",
            Some(Shown::Time) if model.attached == Attached::Desk => "about",
            Some(Shown::Time | Shown::About) => "steps",
            _ => "graph",
        },
        (Action::Views, Screen::Log) => "details",
        (Action::Views, _) => "log",
        (_, _) => binding.command,
    }
}

fn said_line(model: &Model, signs: &crate::run::Signs, width: usize) -> Line {
    let mut line = Line::new().with(Tone::Plain, " ");
    if let Some(prompt) = &model.prompt {
        let sign = match prompt {
            Prompt::Search(_) => "/",
            Prompt::Command(_) => ":",
        };
        line.push(Tone::Strong, sign);
        line.push_cut(Tone::Plain, &name(prompt.text()), width.saturating_sub(1), signs);
        line.push(Tone::Strong, "_");
        let commands = likely(model, prompt);
        line.push_cut(Tone::Faint, &commands, width, signs);
    } else if let Some(note) = &model.note {
        line.push_cut(note.tone, &note.text, width, signs);
    } else if let Some(trouble) = &model.trouble {
        line.push_cut(Tone::Bad, &format!("not up to date: {trouble}"), width, signs);
    } else if let Some(filter) = filter(model) {
        line.push_cut(Tone::Doubtful, &format!("only `{}`; Esc: all", name(&filter)), width, signs);
    } else if model.urgency > 0 && !model.own.is_empty() {
        line.push(Tone::Doubtful, "stopping: Ctrl-C again ends what runs");
    } else if model.over > 0 && model.own.is_empty() {
        let runs = count(model.over, "run");
        line.push_cut(Tone::Faint, &format!("{runs} over; q leaves"), width, signs);
    } else if let Some(more) = more(model) {
        line.push_cut(Tone::Faint, &more, width, signs);
    }
    line
}

/// What there may be no room for in the selected row.
fn more(model: &Model) -> Option<String> {
    let text = match model.screen() {
        Screen::Overview => {
            let glance = model.glance.as_ref()?;
            match model.row()? {
                Row::Asks(place) => glance.approvals.get(place)?.asks.clone(),
                Row::Fails(place) => glance.failing.get(place)?.error.clone()?,
                Row::Runs(place) => glance.now.get(place)?.running.join(", "),
                _ => return None,
            }
        }
        Screen::Runs => {
            let run = model.run()?;
            model.runs.as_ref()?.runs.iter().find(|it| it.run_id == run)?.error.clone()?
        }
        Screen::Run => {
            let watched = model.watched.as_ref()?;
            let now = watched.elapsed(model.now);
            detail(&watched.model, watched.model.steps.get(watched.selected()?)?, now)
        }
        Screen::Queues => {
            let line = model.line.as_ref()?;
            let place = model.place_in_line()?.checked_sub(line.holders.len())?;
            why(model, line.waiting.get(place)?)
        }
        Screen::Flow => {
            let looked = model.looked_flow.as_ref()?;
            let text = looked.selected()?.text();
            let room = usize::from(model.size.0).saturating_sub(super::flow::margin(looked));
            (columns(text) > room).then(|| text.trim_start().to_owned())?
        }
        _ => return None,
    };
    (!text.is_empty()).then(|| sentence(&text))
}

/// The commands that begin so.
fn likely(model: &Model, prompt: &Prompt) -> String {
    let Prompt::Command(text) = prompt else { return String::new() };
    let here = BINDINGS.iter().filter(|it| it.is_on(model.screen()));
    let begun = here.filter(|it| it.command.starts_with(text.as_str()));
    format!("   {}", begun.map(|it| it.command).collect::<Vec<_>>().join("  "))
}

fn filter(model: &Model) -> Option<String> {
    let list = match model.screen() {
        Screen::Overview => &model.overview,
        Screen::Runs => &model.runs_list,
        Screen::Run => &model.watched.as_ref()?.list,
        Screen::Queues => &model.line_list,
        Screen::Schedules => &model.schedules_list,
        Screen::Schedule => &model.ledger_list,
        Screen::Flow => &model.looked_flow.as_ref()?.list,
        Screen::Step | Screen::Log => return None,
    };
    (!list.filter.is_empty()).then(|| list.filter.clone())
}
