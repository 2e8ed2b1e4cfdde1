//! Keys while a form is filled in.
//!
//! What a form holds is in [`crate::model`].

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::message::Effect;
use crate::model::Model;

/// Takes in a key.
pub(super) fn key(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let Some(form) = &mut model.form else { return Vec::new() };
    let modifiers = key.modifiers - KeyModifiers::SHIFT;
    match key.code {
        KeyCode::Esc => model.form = None,
        // What was sent is waited for.
        _ if form.is_sent => {}
        KeyCode::Enter => {
            let effect = form.filled(&model.zone);
            form.is_sent = effect.is_some();
            return effect.into_iter().collect();
        }
        KeyCode::Tab | KeyCode::Down => form.step(1),
        KeyCode::BackTab | KeyCode::Up => form.step(-1),
        _ => {
            if let Some(field) = form.field() {
                match (key.code, modifiers) {
                    (KeyCode::Left, _) => field.turn(-1),
                    (KeyCode::Right, _) => field.turn(1),
                    (KeyCode::Home, _) => field.caret = 0,
                    (KeyCode::End, _) => field.caret = field.text.chars().count(),
                    (KeyCode::Backspace, _) => field.pop(),
                    (KeyCode::Delete, _) => field.pop_next(),
                    (KeyCode::Char('u'), KeyModifiers::CONTROL) => field.put(""),
                    (KeyCode::Char(' '), KeyModifiers::NONE) if !field.choices().is_empty() => {
                        field.turn(1);
                    }
                    (KeyCode::Char(letter), KeyModifiers::NONE) => field.push(letter),
                    _ => {}
                }
            }
        }
    }
    Vec::new()
}

/// Takes in pasted text.
pub(super) fn pasted(model: &mut Model, text: &str) {
    if let Some(field) = model.form.as_mut().and_then(|form| form.field()) {
        text.chars().filter(|letter| !letter.is_control()).for_each(|letter| field.push(letter));
    }
}
