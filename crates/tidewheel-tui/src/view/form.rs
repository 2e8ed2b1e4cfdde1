//! A form above everything else: a line for each field, with what may be typed, and what is wrong with what was.
//!
//! What becomes of it is in the model.

use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use tidewheel_client::text::{columns, cut, harmless, name, sentence};

use super::dialog::frame;
use super::paper::Paper;
use super::words::column;
use crate::message::Hit;
use crate::model::{Field, Form, List};
use crate::run::{Line, Signs, Tone};

/// Columns of a form where there is room.
const WIDTH: u16 = 86;

pub(super) fn draw(form: &Form, paper: &mut Paper<'_>, area: Rect) {
    let signs = paper.theme.signs;
    let width = WIDTH.min(area.width.saturating_sub(2)).max(20);
    let room = usize::from(width).saturating_sub(4);
    let names = form.fields.iter().map(|it| columns(&it.param.name) + 2).max().unwrap_or(0);
    let names = names.min(room / 3);
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    for (row, field) in form.fields.iter().enumerate() {
        let is_here = row == form.cursor;
        lines.push((Some(row), field_line(field, is_here, names, room, signs)));
        if let Some(error) = &field.error {
            let mut line = Line::new();
            line.pad_to(names + 2);
            line.push_cut(Tone::Bad, &sentence(error), room, signs);
            lines.push((None, line));
        }
    }
    let rest = 6 + u16::from(!form.says.is_empty());
    let most = usize::from(area.height.saturating_sub(rest)).max(1);
    let height = lines.len().min(most) as u16 + rest;
    let place = frame(&form.title, (width, height), paper, area);
    let inner = Rect { x: place.x + 2, width: room as u16, ..place };
    let mut y = place.y + 1;
    if !form.says.is_empty() {
        let mut says = Line::new();
        says.push_cut(Tone::Faint, &form.says, room, signs);
        paper.line((inner.x, y), room, &says);
        y += 1;
    }
    let at = lines.iter().position(|(row, _)| *row == Some(form.cursor)).unwrap_or_default();
    let window = List::at(at).window(lines.len(), most);
    let body = Rect { y: y + 1, height: window.len() as u16, ..inner };
    paper.rows(body, lines.drain(window), None);
    let about = about(form, room, signs);
    paper.line((inner.x, place.bottom() - 4), room, &Line::new());
    paper.line((inner.x, place.bottom() - 3), room, &about);
    keys(form, paper, (inner.x, place.bottom() - 2), room);
}

fn field_line(field: &Field, is_here: bool, names: usize, room: usize, signs: &Signs) -> Line {
    let mut line = Line::new();
    let tone = if is_here { Tone::Active } else { Tone::Plain };
    let must = if field.param.required { " *" } else { "" };
    column(&mut line, tone, &format!("{}{must}", name(&field.param.name)), names, signs);
    let rest = room.saturating_sub(names + 2);
    let kind = kind(field);
    let known = columns(&kind).min(rest / 2);
    let wide = rest.saturating_sub(known + 2);
    let start = line.width();
    typed(&mut line, field, is_here, start + wide, signs);
    line.pad_to(start + wide + 2);
    line.push_cut(Tone::Faint, &kind, room, signs);
    line
}

/// What is typed, around the caret if there is more than has room.
fn typed(line: &mut Line, field: &Field, is_here: bool, end: usize, signs: &Signs) {
    let shown = |text: &str| match field.is_secret {
        true => "*".repeat(text.chars().count()),
        false => harmless(text).replace(['\n', '\r'], " "),
    };
    let (before, after): (String, String) = {
        let letters: Vec<char> = field.text.chars().collect();
        let (before, after) = letters.split_at(field.caret.min(letters.len()));
        (before.iter().collect(), after.iter().collect())
    };
    let is_choice = !field.choices().is_empty();
    if !is_here || is_choice {
        let tone = if is_here { Tone::Strong } else { Tone::Plain };
        let text = shown(&field.text);
        let text = if is_here && is_choice { format!("< {text} >") } else { text };
        return line.push_cut(tone, &text, end, signs);
    }
    let room = end.saturating_sub(line.width() + 1);
    // The end of what stands before the caret matters most.
    let mut before = shown(&before);
    while columns(&before) > room {
        before.remove(0);
    }
    line.push(Tone::Strong, before);
    line.push(Tone::Active, signs.caret);
    let room = end.saturating_sub(line.width());
    line.push(Tone::Strong, cut(&shown(&after), room, ""));
}

/// What may be typed.
fn kind(field: &Field) -> String {
    let param = &field.param;
    let bounds = match (param.min, param.max) {
        (Some(min), Some(max)) => format!(", {min} to {max}"),
        (Some(min), None) => format!(", from {min}"),
        (None, Some(max)) => format!(", up to {max}"),
        (None, None) => param.pattern.as_ref().map_or_else(String::new, |it| format!(", {it}")),
    };
    match param.choices.is_empty() {
        true => sentence(&format!("{}{bounds}", param.kind)),
        false => sentence(&format!("one of {}", field.choices().join(", "))),
    }
}

/// Why it was refused, or what the field is for that is typed into.
fn about(form: &Form, room: usize, signs: &Signs) -> Line {
    let mut line = Line::new();
    if let Some(why) = &form.refused {
        line.push_cut(Tone::Bad, why, room, signs);
    } else if form.is_sent {
        line.push_cut(Tone::Faint, signs.more, room, signs);
    } else if let Some(field) = form.fields.get(form.cursor) {
        let about = field.param.description.as_deref().map(sentence).unwrap_or_default();
        line.push_cut(Tone::Faint, &about, room, signs);
    }
    line
}

fn keys(form: &Form, paper: &mut Paper<'_>, (mut x, y): (u16, u16), room: usize) {
    let right = x + room as u16;
    let all = [
        ("Enter", form.yes, KeyCode::Enter),
        ("Tab", "next field", KeyCode::Tab),
        ("Esc", "leave it", KeyCode::Esc),
    ];
    for (key, words, code) in all {
        let room = usize::from(right.saturating_sub(x));
        x = paper.key((x, y), room, key, words, Hit::Key(code)) + 2;
    }
}
