//! The first screen: what asks, fails and is late, what runs, and how flows do.
//!
//! What its rows are is in [`crate::model`].

use ratatui::layout::Rect;
use tidewheel_client::api::{ApprovalLine, FlowGlance, Glance, RunLine, RunNow, ScheduleLine};
use tidewheel_client::text::{self, name, sentence};

use super::paper::Paper;
use super::words::{away, bar, bars, column, heading, ruled, run_mark};
use crate::model::{List, Model, Row, rows};
use crate::run::{Line, Signs, Tone};

/// From so many columns on, flows stand beside the rest.
const WIDE: u16 = 120;

pub(super) fn draw(model: &Model, paper: &mut Paper<'_>, area: Rect) {
    let Some(glance) = &model.glance else { return waiting(paper, area) };
    let rows = rows(model);
    let selected = model.overview.cursor.min(rows.len().saturating_sub(1));
    if rows.is_empty() {
        let words = "  nothing yet: `tidewheel run FILE` runs a flow, `tidewheel serve` flows by themselves";
        return paper.line((area.x, area.y), usize::from(area.width), &faint(words));
    }
    let is_flow = |row: &Row| matches!(row, Row::Flow(_));
    let flows = rows.iter().position(is_flow).unwrap_or(rows.len());
    let numbered: Vec<(usize, Row)> = rows.into_iter().enumerate().collect();
    let (left, right) = match area.width >= WIDE && flows > 0 && flows < numbered.len() {
        true => {
            let half = area.width / 2;
            let right = Rect { x: area.x + half, width: area.width - half, ..area };
            (Rect { width: half - 1, ..area }, Some(right))
        }
        false => (area, None),
    };
    let signs = paper.theme.signs;
    let sheet = |area: Rect| Sheet { model, glance, signs, selected, width: area.width.into() };
    match right {
        Some(right) => {
            list(&sheet(left), paper, left, &numbered[..flows]);
            list(&sheet(right), paper, right, &numbered[flows..]);
        }
        None => list(&sheet(left), paper, left, &numbered),
    }
}

/// Nothing is known yet.
pub(super) fn waiting(paper: &mut Paper<'_>, area: Rect) {
    paper.line((area.x, area.y), usize::from(area.width), &faint("  …"));
}

fn faint(words: &str) -> Line {
    Line::new().with(Tone::Faint, words)
}

/// Draws rows below the headings of their kinds, so that the selected one is seen.
fn list(sheet: &Sheet<'_>, paper: &mut Paper<'_>, area: Rect, rows: &[(usize, Row)]) {
    let mut lines: Vec<(Option<usize>, Line)> = Vec::new();
    let mut heading = "";
    for (number, row) in rows {
        let words = kind(*row);
        if words != heading {
            if !heading.is_empty() {
                lines.push((None, Line::new()));
            }
            heading = words;
            lines.push((None, sheet.heading(*row)));
        }
        lines.push((Some(*number), sheet.line(*row)));
    }
    let selected = sheet.selected;
    let at = lines.iter().position(|(row, _)| *row == Some(selected)).unwrap_or_default();
    let shown = List::at(at);
    let shown = shown.window(lines.len(), usize::from(area.height));
    paper.rows(area, lines.drain(shown), Some(selected));
}

fn kind(row: Row) -> &'static str {
    match row {
        Row::Asks(_) => "ASKS",
        Row::Fails(_) => "FAILS",
        Row::Late(_) => "LATE",
        Row::Runs(_) => "RUNS",
        Row::Flow(_) => "FLOWS",
    }
}

/// What rows are made of, and how wide they are.
struct Sheet<'a> {
    model: &'a Model,
    glance: &'a Glance,
    signs: &'static Signs,
    selected: usize,
    width: usize,
}

impl Sheet<'_> {
    fn line(&self, row: Row) -> Line {
        let mut line = match row {
            Row::Asks(place) => self.asks(&self.glance.approvals[place]),
            Row::Fails(place) => self.fails(&self.glance.failing[place]),
            Row::Late(place) => self.late(&self.glance.late[place]),
            Row::Runs(place) => self.run(&self.glance.now[place]),
            Row::Flow(place) => self.flow(&self.glance.flows[place]),
        };
        line.fit(self.width);
        line
    }

    /// What the rows below are; of flows, with what stands where.
    fn heading(&self, row: Row) -> Line {
        let words = kind(row);
        if !matches!(row, Row::Flow(_)) {
            return heading(words, self.width);
        }
        let mut line = Line::new().with(Tone::Strong, format!(" {words}"));
        line.pad_to(self.names() + 6);
        column(&mut line, Tone::Faint, "last runs", self.bars(), self.signs);
        column(&mut line, Tone::Faint, "  ok", 4, self.signs);
        column(&mut line, Tone::Faint, "median", 6, self.signs);
        line.push_cut(Tone::Faint, "next", self.width, self.signs);
        ruled(line, self.width)
    }

    /// Columns of names.
    fn names(&self) -> usize {
        (self.width / 4).clamp(10, 28)
    }

    /// Past runs of a flow that are shown.
    fn bars(&self) -> usize {
        if self.width < 100 { 12 } else { 24 }
    }

    /// A mark and a name, with which every row begins.
    fn begin(&self, (mark, tone): (&str, Tone), named: Tone, words: &str) -> Line {
        let mut line = Line::new().with(Tone::Plain, "  ").with(tone, format!("{mark} "));
        column(&mut line, named, &name(words), self.names(), self.signs);
        line
    }

    fn end(&self, line: &mut Line, tone: Tone, words: &str) {
        line.push_cut(tone, words, self.width, self.signs);
    }

    fn asks(&self, it: &ApprovalLine) -> Line {
        let flow = it.flow.as_deref().unwrap_or("-");
        let mut line = self.begin((self.signs.unknown, Tone::Doubtful), Tone::Strong, flow);
        let since = it.since.map_or_else(String::new, |at| away(at, self.model.now));
        column(&mut line, Tone::Faint, &since, 10, self.signs);
        self.end(&mut line, Tone::Plain, &format!("{}: {}", name(&it.step), sentence(&it.asks)));
        line
    }

    fn fails(&self, it: &RunLine) -> Line {
        let flow = it.flow.as_deref().unwrap_or("-");
        let mut line = self.begin(run_mark(it.state, self.signs), Tone::Strong, flow);
        let at = it.ended_at.unwrap_or(it.accepted_at);
        column(&mut line, Tone::Faint, &away(at, self.model.now), 10, self.signs);
        let error = it.error.as_deref().map_or_else(|| it.state.to_string(), sentence);
        self.end(&mut line, Tone::Plain, &error);
        line
    }

    fn late(&self, it: &ScheduleLine) -> Line {
        let mut line = self.begin((self.signs.delayed, Tone::Doubtful), Tone::Strong, &it.name);
        let due = it.next.map(|at| format!("due {}", away(at, self.model.now)));
        self.end(&mut line, Tone::Plain, &due.unwrap_or_default());
        line
    }

    fn run(&self, it: &RunNow) -> Line {
        let flow = it.run.flow.as_deref().unwrap_or("-");
        let (now, signs) = (self.model.now, self.signs);
        let mut line = self.begin(run_mark(it.run.state, signs), Tone::Strong, flow);
        let steps = it.run.steps.max(it.ended);
        line.append(bar(it.ended, steps, 10, signs));
        column(&mut line, Tone::Plain, &format!(" {}/{steps}", it.ended), 8, signs);
        let since = it.run.started_at.map(|at| text::about(now.since(at)));
        column(&mut line, Tone::Plain, &since.unwrap_or_default(), 6, signs);
        let running: Vec<String> = it.running.iter().map(|step| name(step)).collect();
        let ends = it.expected_end.filter(|end| *end > now);
        let ends = ends.map(|end| format!("ends {}; ", away(end, now))).unwrap_or_default();
        self.end(&mut line, Tone::Faint, &format!("{ends}{}", running.join(", ")));
        line
    }

    fn flow(&self, it: &FlowGlance) -> Line {
        let signs = self.signs;
        let last = it.runs.last().map(|run| run_mark(run.state, signs));
        let last = last.unwrap_or((signs.blocked, Tone::Faint));
        let mut line = self.begin(last, Tone::Plain, &it.name);
        line.append(bars(&it.runs, self.bars()));
        line.push(Tone::Plain, "  ");
        let ok = it.ok.map_or_else(String::new, |ok| format!("{:>3.0}%", ok * 100.0));
        let tone = if it.ok < Some(0.9) { Tone::Doubtful } else { Tone::Plain };
        column(&mut line, tone, &ok, 4, signs);
        column(&mut line, Tone::Plain, &it.median.map(text::took).unwrap_or_default(), 6, signs);
        if it.outdated {
            self.end(&mut line, Tone::Bad, "its file cannot be run ");
        }
        let next = it.next.map(|at| away(at, self.model.now));
        self.end(&mut line, Tone::Faint, &next.unwrap_or_default());
        line
    }
}
