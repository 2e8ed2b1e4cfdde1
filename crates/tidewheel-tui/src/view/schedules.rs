//! What runs by itself: schedules, their next instants, and what became of those before.
//!
//! When they fire is decided by the scheduler.

use ratatui::layout::Rect;
use tidewheel_client::api::{LedgerFate, ScheduleWord};
use tidewheel_client::text::{name, sentence, short_id};

use super::overview::waiting;
use super::paper::Paper;
use super::words::{away, clock, column, heading, ruled, run_mark};
use crate::model::{Model, ledger_word};
use crate::run::{Line, Tone};

pub(super) fn draw_all(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(all) = &model.schedules else { return waiting(paper, area) };
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let names = (width / 4).clamp(10, 40);
    let shown = model.shown_schedules();
    if shown.is_empty() {
        let words = "  no schedules: a flow with `schedule:` that is served has one";
        return paper.line((area.x, area.y), width, &Line::new().with(Tone::Faint, words));
    }
    let mut head = Line::new().with(Tone::Plain, "  ");
    for (words, wide) in [("schedule", names), ("state", 7), ("next", 9), ("last", 9)] {
        column(&mut head, Tone::Faint, words, wide, signs);
    }
    head.push_cut(Tone::Faint, "fired  rule", width, signs);
    paper.line((area.x, area.y), width, &head);
    let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    let selected = model.schedules_list.cursor.min(shown.len() - 1);
    let window = model.schedules_list.window(shown.len(), usize::from(body.height));
    let rows = window.map(|row| {
        let it = &all.schedules[shown[row]];
        let mut line = Line::new().with(Tone::Plain, "  ");
        column(&mut line, Tone::Strong, &name(&it.name), names, signs);
        let (word, tone) = match it.state {
            ScheduleWord::Active => ("active", Tone::Good),
            ScheduleWord::Paused => ("paused", Tone::Doubtful),
            ScheduleWord::Idle => ("idle", Tone::Faint),
            ScheduleWord::Ended => ("ended", Tone::Faint),
        };
        column(&mut line, tone, word, 7, signs);
        let at = |at: Option<_>| at.map_or_else(String::new, |at| away(at, model.now));
        column(&mut line, Tone::Plain, &at(it.next), 9, signs);
        column(&mut line, Tone::Faint, &at(it.last), 9, signs);
        column(&mut line, Tone::Plain, &it.fired.to_string(), 5, signs);
        let zone = it.zone.as_deref().map(|zone| format!(" {zone}")).unwrap_or_default();
        let failed = if it.failed > 0 { format!("  {} failed", it.failed) } else { String::new() };
        let rule = sentence(&format!("{}{zone}{failed}", it.rule));
        line.push_cut(Tone::Faint, &rule, width, signs);
        (Some(row), line)
    });
    let rows: Vec<(Option<usize>, Line)> = rows.collect();
    paper.rows(body, rows, Some(selected));
}

pub(super) fn draw_one(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some((upcoming, ledger)) = &model.schedule else { return waiting(paper, area) };
    let (width, signs) = (usize::from(area.width), paper.theme.signs);
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    let zone = upcoming.zone.as_deref().unwrap_or_default();
    let mut rule = Line::new().with(Tone::Strong, " NEXT  ");
    rule.push_cut(Tone::Faint, &sentence(&format!("{} {zone}", upcoming.rule)), width, signs);
    lines.push((None, ruled(rule, width)));
    for it in &upcoming.next {
        let mut line = Line::new().with(Tone::Plain, "  ");
        column(&mut line, Tone::Plain, &sentence(&it.local), 30, signs);
        column(&mut line, Tone::Active, &away(it.at, model.now), 10, signs);
        let change = if it.clock_change { "the clock changes" } else { "" };
        line.push_cut(Tone::Doubtful, change, width, signs);
        lines.push((None, line));
    }
    lines.push((None, Line::new()));
    lines.push((None, heading("BEFORE", width)));
    let shown = model.shown_ledger();
    for (row, it) in shown.iter().map(|place| &ledger.firings[*place]).enumerate() {
        let mut line = Line::new().with(Tone::Plain, "  ");
        column(&mut line, Tone::Plain, &clock(model, it.nominal), 14, signs);
        let tone = match (it.fate, it.state) {
            (LedgerFate::Ran, Some(state)) => run_mark(state, signs).1,
            (LedgerFate::Ran, None) => Tone::Plain,
            (LedgerFate::Skipped, _) => Tone::Doubtful,
            (LedgerFate::NotMade, _) => Tone::Bad,
        };
        column(&mut line, tone, ledger_word(it), 11, signs);
        let run = it.run_id.as_deref().map(short_id).unwrap_or_default();
        column(&mut line, Tone::Faint, &run, 13, signs);
        let many = if it.count > 1 { format!("{} instants  ", it.count) } else { String::new() };
        let why = it.why.as_deref().map(sentence).unwrap_or_default();
        line.push_cut(Tone::Plain, &format!("{many}{}  {why}", sentence(&it.origin)), width, signs);
        lines.push((Some(row), line));
    }
    let selected = model.ledger_list.cursor.min(shown.len().saturating_sub(1));
    let at = lines.iter().position(|(row, _)| *row == Some(selected)).unwrap_or_default();
    let window = crate::model::List::at(at);
    let window = window.window(lines.len(), usize::from(area.height));
    paper.rows(area, lines.drain(window), Some(selected));
}
