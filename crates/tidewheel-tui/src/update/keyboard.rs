//! Keys: answers to what is asked, text that is typed, or something to do.
//!
//! Which key does what is in [`crate::keys`].

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tidewheel_client::text::harmless;

use super::act::{act, end_own, show_log};
use super::form;
use crate::keys;
use crate::message::Effect;
use crate::model::{Model, Prompt, Screen};
use crate::run::Tone;

/// What is typed may have so many letters.
const TYPED_MAX: usize = 200;

/// Takes in a key.
pub(super) fn key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers == KeyModifiers::CONTROL;
    if is_interrupt {
        return interrupt(model);
    }
    if model.dialog.is_some() {
        return answer(model, key);
    }
    if model.form.is_some() {
        return form::key(model, key);
    }
    if model.prompt.is_some() {
        return typed(model, key);
    }
    match keys::action(model.screen(), key) {
        Some(action) => act(model, action),
        None => Vec::new(),
    }
}

/// Ctrl-C leaves; where this process runs something, it does what it does to `tidewheel run`.
fn interrupt(model: &mut Model) -> Vec<Effect> {
    let is_left = model.dialog.take().is_some() || model.form.take().is_some();
    if is_left || model.prompt.take().is_some() {
        return Vec::new();
    }
    end_own(model)
}

fn answer(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Some(dialog) = &model.dialog else { return Vec::new() };
    let said = match key.code {
        KeyCode::Char(letter) => letter.to_ascii_lowercase(),
        KeyCode::Esc => 'n',
        _ => return Vec::new(),
    };
    let Some((_, _, effects)) = dialog.answers.iter().find(|(letter, ..)| *letter == said) else {
        return Vec::new();
    };
    let effects = effects.clone();
    model.dialog = None;
    if effects.iter().any(|effect| matches!(effect, Effect::End(_))) {
        model.urgency = model.urgency.saturating_add(1);
    }
    effects
}

/// Takes in pasted text, where something is typed.
pub(super) fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
    if model.form.is_some() && model.dialog.is_none() {
        form::pasted(model, text);
        return Vec::new();
    }
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        if model.prompt.is_none() {
            break;
        }
        push(model, letter);
    }
    Vec::new()
}

fn typed(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    match key.code {
        KeyCode::Esc => {
            if let Some(Prompt::Search(_)) = model.prompt.take() {
                filter(model, "");
            }
        }
        KeyCode::Enter => return entered(model),
        KeyCode::Backspace => {
            let Some(prompt) = &mut model.prompt else { return Vec::new() };
            if prompt.text_mut().pop().is_none() {
                model.prompt = None;
            }
            filter_as_typed(model);
        }
        KeyCode::Char(letter) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => {
            push(model, letter);
        }
        _ => {}
    }
    Vec::new()
}

fn push(model: &mut Model, letter: char) {
    if let Some(prompt) = &mut model.prompt
        && prompt.text().chars().count() < TYPED_MAX
    {
        prompt.text_mut().push(letter);
    }
    filter_as_typed(model);
}

/// Lists show at once only what contains what is typed; logs are searched when it is all typed.
fn filter_as_typed(model: &mut Model) {
    if let Some(Prompt::Search(text)) = &model.prompt
        && !is_of_step(model)
    {
        let text = text.clone();
        filter(model, &text);
    }
}

/// Whether what is typed is searched for in what a step wrote.
fn is_of_step(model: &Model) -> bool {
    matches!(model.screen(), Screen::Step | Screen::Log)
}

fn filter(model: &mut Model, text: &str) {
    if is_of_step(model) {
        if let Some(reading) = &mut model.reading {
            reading.log.text = text.to_owned();
            reading.log.hits = None;
            model.is_stale = true;
        }
    } else if let Some((list, count)) = model.list() {
        list.filter = text.to_owned();
        list.select(0, count);
        look_elsewhere(model);
    }
}

/// Has other runs listed, if those are meant now.
pub(super) fn look_elsewhere(model: &mut Model) {
    if model.screen() == Screen::Runs {
        model.mean_runs();
    }
}

fn entered(model: &mut Model) -> Vec<Effect> {
    match model.prompt.take() {
        Some(Prompt::Search(text)) => {
            if is_of_step(model) {
                filter(model, &text);
                show_log(model);
            }
            Vec::new()
        }
        Some(Prompt::Command(text)) => {
            let word = text.trim();
            match keys::command(model.screen(), word) {
                Some(action) => act(model, action),
                None if word.is_empty() => Vec::new(),
                None => {
                    let known = keys::BINDINGS.iter().filter(|it| it.is_on(model.screen()));
                    let nearest = tidewheel_client::text::nearest(word, known.map(|it| it.command));
                    let hint = nearest.map_or_else(
                        || "? lists them".to_owned(),
                        |nearest| format!("did you mean `{nearest}`?"),
                    );
                    model.say(Tone::Bad, format!("no command `{}` here: {hint}", harmless(word)));
                    Vec::new()
                }
            }
        }
        None => Vec::new(),
    }
}
