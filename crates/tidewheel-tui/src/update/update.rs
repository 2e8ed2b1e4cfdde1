//! [`update`]: one message, taken in.
//!
//! Keys are in [`super::keyboard`], what they do in [`super::act`], answers in [`super::answers`].

use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel_client::text::sentence;

use super::act::act;
use super::answers::answered;
use super::keyboard::{key, pasted};
use crate::keys::Action;
use crate::message::{Effect, Hit, Message, Mouse};
use crate::model::{Model, Screen};
use crate::run::Tone;

/// Rows that a turn of the wheel moves.
const WHEEL: isize = 3;

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
            redraw(model);
            model.is_stale |= model.screen() == Screen::Step;
            Vec::new()
        }
        Message::Tick => Vec::new(),
        Message::Changed => {
            model.is_stale = true;
            Vec::new()
        }
        Message::Answered(question, answer, took) => {
            answered(model, &question, answer, took);
            Vec::new()
        }
        Message::Done(Ok(said)) => {
            model.say(Tone::Good, sentence(&said));
            model.is_stale = true;
            Vec::new()
        }
        Message::Done(Err(why)) => {
            model.say(Tone::Bad, sentence(&why));
            Vec::new()
        }
        Message::Began(run) => {
            if model.own.is_empty() {
                model.screens = vec![Screen::Overview];
                model.watch(&run);
            }
            model.own.push(run);
            model.is_stale = true;
            Vec::new()
        }
        Message::Over => {
            model.is_over = true;
            model.is_stale = true;
            match model.urgency {
                0 => Vec::new(),
                _ => vec![Effect::Quit],
            }
        }
    };
    effects.extend(ask(model));
    effects
}

/// Asks for what is looked at, if it may have changed and nobody is asked already.
fn ask(model: &mut Model) -> Option<Effect> {
    if !model.is_stale || model.asking.is_some() || model.now < model.ask_at {
        return None;
    }
    let question = model.question()?;
    model.is_stale = false;
    model.asking = Some(question.clone());
    Some(Effect::Ask(question))
}

/// How long nothing needs to be done by itself.
#[must_use]
pub fn next_tick(model: &Model) -> Duration {
    let waits = model.is_stale && model.asking.is_none();
    let to_ask = waits.then(|| model.ask_at.since(model.now).max(Duration::from_millis(10)));
    let note = model.note.as_ref().map(|note| note.until.since(model.now));
    let is_moving = match model.screen() {
        Screen::Run | Screen::Step => {
            model.watched.as_ref().is_some_and(|watched| watched.model.is_moving())
        }
        Screen::Overview => model.glance.as_ref().is_some_and(|glance| !glance.now.is_empty()),
        Screen::Queues => model.line.as_ref().is_some_and(|line| !line.holders.is_empty()),
        _ => false,
    };
    let tick = if is_moving { TICK } else { TICK_IDLE };
    [to_ask, note].into_iter().flatten().fold(tick, Duration::min)
}

/// Draws what depends on the size anew.
pub(super) fn redraw(model: &mut Model) {
    let width = usize::from(model.size.0).saturating_sub(2);
    if let Some(watched) = &mut model.watched {
        watched.draw(width);
    }
}

fn mouse(model: &mut Model, mouse: Mouse, hit: Option<Hit>) -> Vec<Effect> {
    // A question is answered with a key.
    if model.dialog.is_some() {
        return Vec::new();
    }
    match (mouse, hit) {
        (Mouse::Up, _) => scroll(model, -WHEEL),
        (Mouse::Down, _) => scroll(model, WHEEL),
        (Mouse::Press, Some(Hit::Action(action))) => act(model, action),
        (Mouse::Press, Some(Hit::Row(row))) => {
            let Some((list, count)) = model.list() else { return Vec::new() };
            let was = list.cursor.min(count.saturating_sub(1));
            list.cursor = row.min(count.saturating_sub(1));
            // Once to select, once more to open.
            if was == row { act(model, Action::Open) } else { Vec::new() }
        }
        (Mouse::Press, None) => Vec::new(),
    }
}

fn scroll(model: &mut Model, rows: isize) -> Vec<Effect> {
    super::act::scroll(model, rows);
    Vec::new()
}
