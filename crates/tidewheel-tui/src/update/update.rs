//! [`update`]: one message, taken in.
//!
//! Keys are in [`super::keyboard`], what they do in [`super::act`], answers in [`super::answers`].

use std::time::Duration;

use ratatui::crossterm::event::KeyEvent;
use tidewheel::Timestamp;
use tidewheel_client::text::sentence;

use super::act::act;
use super::answers::answered;
use super::keyboard::{key, pasted};
use crate::keys::Action;
use crate::message::{Effect, Hit, Message, Mouse, Question, Refused, Said};
use crate::model::{BESIDE, Dialog, Model, Screen};
use crate::run::Tone;

/// Rows that a turn of the wheel moves.
const WHEEL: isize = 3;

/// How often what is shown beside what is looked at is brought up to date at most.
const BESIDE_EVERY: Duration = Duration::from_secs(5);

/// How often times are brought up to date while something runs, and where nothing does.
const TICK: Duration = Duration::from_secs(1);
const TICK_IDLE: Duration = Duration::from_secs(30);

/// Takes in what happened at `now`, and says what follows.
pub fn update(model: &mut Model, now: Timestamp, message: Message) -> Vec<Effect> {
    model.now = now;
    if model.note.as_ref().is_some_and(|note| note.until <= now) {
        model.note = None;
    }
    let mut effects = match message {
        Message::Key(pressed) => key(model, pressed),
        Message::Mouse(mouse, hit) => self::mouse(model, mouse, hit),
        Message::Pasted(text) => pasted(model, &text),
        Message::Resized(width, height) => {
            model.size = (width, height);
            // The drawing of a graph has its steps in another order then.
            model.keeping(Screen::Run, redraw);
            model.is_stale |= model.screen() == Screen::Log;
            Vec::new()
        }
        Message::Tick => Vec::new(),
        Message::Changed => {
            model.is_stale = true;
            model.is_beside_stale = true;
            Vec::new()
        }
        Message::Answered(question, answer, took) => {
            answered(model, &question, answer, took);
            Vec::new()
        }
        Message::Done(done) => self::done(model, done),
        Message::Began(run) => {
            model.own.push(run);
            model.is_stale = true;
            Vec::new()
        }
        Message::Over(run) => {
            model.own.retain(|own| *own != run);
            model.over += 1;
            model.is_stale = true;
            // Whoever is asked how it is to end need not say: it has.
            let is_leaving = model.urgency > 0 || model.dialog.as_ref().is_some_and(Dialog::ends);
            if is_leaving && model.own.is_empty() { vec![Effect::Quit] } else { Vec::new() }
        }
    };
    effects.extend(ask(model));
    effects
}

/// Takes in what came of a wish. What was started is looked at, and so is what would not do any more what was shown.
fn done(model: &mut Model, done: Result<Said, Refused>) -> Vec<Effect> {
    match done {
        Ok(Said { text, run }) => {
            model.form = None;
            model.say(Tone::Good, sentence(&text));
            model.is_stale = true;
            if let Some(run) = run {
                model.screens.truncate(1);
                model.watch(&run);
                model.want_now();
            }
        }
        Err(Refused { why, anew }) => {
            refused(model, &why);
            return anew.map(|again| Effect::Ask(Question::Preview(again))).into_iter().collect();
        }
    }
    Vec::new()
}

/// Says why something is not done: at the form that it was asked for with, where there is one.
pub(super) fn refused(model: &mut Model, why: &str) {
    match &mut model.form {
        Some(form) => {
            form.refused = Some(sentence(why));
            form.is_sent = false;
        }
        None => model.say(Tone::Bad, sentence(why)),
    }
}

/// Asks for what is looked at or beside it, if that may have changed and nobody is asked already.
fn ask(model: &mut Model) -> Option<Effect> {
    if model.asking.is_some() || model.now < model.ask_at {
        return None;
    }
    let question = beside(model).or_else(|| {
        let question = model.question().filter(|_| model.is_stale)?;
        model.is_stale = false;
        Some(question)
    })?;
    model.asking = Some(question.clone());
    Some(Effect::Ask(question))
}

/// What is beside what is looked at has its turn now and then, however often that changes.
fn beside(model: &mut Model) -> Option<Question> {
    if model.now < model.beside_at {
        return None;
    }
    if model.beside == 0 && model.is_beside_stale {
        (model.beside, model.is_beside_stale) = (BESIDE, false);
    }
    while model.beside > 0 {
        model.beside -= 1;
        let question = model.question_beside(model.beside);
        if model.beside == 0 {
            model.beside_at = model.now.after(BESIDE_EVERY);
        }
        if question.is_some() {
            return question;
        }
    }
    None
}

/// How long nothing needs to be done by itself.
#[must_use]
pub fn next_tick(model: &Model) -> Duration {
    let until = |at: Timestamp| at.since(model.now).max(Duration::from_millis(10));
    let to_ask = (model.is_stale && model.asking.is_none()).then(|| until(model.ask_at));
    let round = if model.is_beside_stale { BESIDE } else { model.beside };
    let has_beside = (0..round).any(|number| model.question_beside(number).is_some());
    let beside =
        (has_beside && model.asking.is_none()).then(|| until(model.beside_at.max(model.ask_at)));
    let note = model.note.as_ref().map(|note| note.until.since(model.now));
    let is_moving = match model.screen() {
        Screen::Run | Screen::Step | Screen::Log => {
            model.watched.as_ref().is_some_and(|watched| watched.model.is_moving())
        }
        Screen::Overview => model.glance.as_ref().is_some_and(|glance| !glance.now.is_empty()),
        Screen::Queues => model.line.as_ref().is_some_and(|line| !line.holders.is_empty()),
        _ => false,
    };
    let tick = if is_moving { TICK } else { TICK_IDLE };
    [to_ask, beside, note].into_iter().flatten().fold(tick, Duration::min)
}

/// Has it asked when steps were tried, where that is shown and not known.
pub(super) fn stale_if_untold(model: &mut Model) {
    model.is_stale |= matches!(model.question(), Some(Question::Attempts { .. }));
}

/// Draws what depends on the size anew.
pub(super) fn redraw(model: &mut Model) {
    let width = usize::from(model.size.0).saturating_sub(2);
    if let Some(watched) = &mut model.watched {
        watched.draw(width);
    }
}

fn mouse(model: &mut Model, mouse: Mouse, hit: Option<Hit>) -> Vec<Effect> {
    match (mouse, hit) {
        (Mouse::Press, Some(Hit::Key(code))) => return key(model, KeyEvent::from(code)),
        (Mouse::Press, Some(Hit::Row(row))) if model.form.is_some() => {
            model.form.iter_mut().for_each(|form| form.cursor = row);
            return Vec::new();
        }
        // What is asked is answered first.
        _ if model.dialog.is_some() || model.form.is_some() => return Vec::new(),
        _ => {}
    }
    match (mouse, hit) {
        (Mouse::Up, _) => scroll(model, -WHEEL),
        (Mouse::Down, _) => scroll(model, WHEEL),
        (Mouse::Press, Some(Hit::Action(action))) => act(model, action),
        (Mouse::Press, Some(Hit::Row(row))) => {
            let Some((list, count)) = model.list() else { return Vec::new() };
            let was = list.cursor.min(count.saturating_sub(1));
            list.select(row, count);
            // Once to select, once more to open.
            if was == row { act(model, Action::Open) } else { Vec::new() }
        }
        (Mouse::Press, Some(Hit::Key(_) | Hit::Nothing) | None) => Vec::new(),
    }
}

fn scroll(model: &mut Model, rows: isize) -> Vec<Effect> {
    super::act::scroll(model, rows);
    Vec::new()
}
