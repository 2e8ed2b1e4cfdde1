//! The picture of a plan: a text Gantt, and the figures to judge it by.
//!
//! Few tasks get a row each, many share a row per slot. It can be read without colour.

use std::time::Duration;

use tidewheel_core::graph::Graph;

use super::bound::Bound;
use super::plan::Plan;
use super::problem::Problem;

/// Up to so many tasks each has a row.
const TASK_ROWS_MAX: usize = 40;
/// Up to so many slots are drawn.
const SLOT_ROWS_MAX: usize = 32;
/// Columns of a name at most.
const NAME_MAX: usize = 24;

/// On the chain of tasks that decides the makespan.
const CHAIN: char = '█';
/// Not on it.
const OTHER: char = '▒';
/// Ready, and waiting for a slot or a resource.
const WAITING: char = '·';

/// Draws `plan` into `width` columns.
pub(crate) fn draw(
    plan: &Plan,
    problem: &Problem,
    graph: &Graph,
    width: usize,
    is_colourful: bool,
) -> String {
    let mut picture = Picture { plan, problem, graph, is_colourful, text: String::new() };
    picture.title();
    if plan.makespan > Duration::ZERO {
        if plan.tasks.len() <= TASK_ROWS_MAX {
            picture.task_rows(width);
        } else {
            picture.slot_rows(width);
        }
    }
    picture.figures();
    picture.text
}

struct Picture<'a> {
    plan: &'a Plan,
    problem: &'a Problem,
    graph: &'a Graph,
    is_colourful: bool,
    text: String,
}

impl Picture<'_> {
    fn title(&mut self) {
        let count = self.plan.tasks.len();
        let tasks = if count == 1 { "task" } else { "tasks" };
        let slots = match self.plan.slots {
            None => "as many slots as it takes".to_owned(),
            Some(1) => "1 slot".to_owned(),
            Some(slots) => format!("{slots} slots"),
        };
        let order = self.plan.order.word();
        self.line(&format!("{count} {tasks} on {slots}, order {order}"));
        self.line("");
    }

    fn task_rows(&mut self, width: usize) {
        let names = self.problem.tasks.iter().map(|task| task.name.chars().count());
        let name_width = names.max().unwrap_or(0).clamp(4, NAME_MAX);
        let times = |index: usize| {
            let task = &self.plan.tasks[index];
            (clock(task.start), clock(task.end))
        };
        let last = clock(self.plan.makespan).len().max(5);
        let left = name_width + 2 + 4 + 2 + last + 2 + last + 2;
        let scale = Scale::new(self.plan.makespan, width.saturating_sub(left + 1).max(10));
        self.line(&format!(
            "{:name_width$}  slot  {:>last$}  {:>last$}  {}",
            "task",
            "start",
            "end",
            scale.ruler()
        ));
        let chain = self.chain();
        for index in self.plan.by_start() {
            let task = self.plan.tasks[index];
            let (start, end) = times(index);
            let fill = if chain[index] { CHAIN } else { OTHER };
            let (from, to) = scale.span(task.start, task.end);
            let waits_from = scale.column(task.ready).min(from);
            let mut bar = " ".repeat(waits_from);
            bar.extend(std::iter::repeat_n(WAITING, from - waits_from));
            let tint = if chain[index] { Tint::Strong } else { Tint::Plain };
            bar.push_str(&self.tinted(&fill.to_string().repeat(to - from), tint));
            let name = cut(&self.problem.tasks[index].name, name_width);
            let late = match self.problem.tasks[index].deadline {
                Some(deadline) if task.end > deadline => " !",
                _ => "",
            };
            self.line(&format!(
                "{name:name_width$}  {:>4}  {start:>last$}  {end:>last$}  {bar}{late}",
                task.slot
            ));
        }
        self.line("");
        let mut legend = format!("{CHAIN} decides the end   {OTHER} has room");
        if self.plan.tasks.iter().any(|task| task.ready < task.start) {
            legend.push_str(&format!("   {WAITING} waits for room"));
        }
        if self.late_count() > 0 {
            legend.push_str("   ! past its deadline");
        }
        self.line(&legend);
    }

    fn slot_rows(&mut self, width: usize) {
        let used = self.plan.tasks.iter().map(|task| task.slot).max().unwrap_or(0) as usize;
        let label = format!("slot {used}").len();
        let scale = Scale::new(self.plan.makespan, width.saturating_sub(label + 3).max(10));
        let mut rows = vec![Vec::new(); used];
        for index in self.plan.by_start() {
            rows[self.plan.tasks[index].slot as usize - 1].push(index);
        }
        self.line(&format!("{:label$}  {}", "", scale.ruler()));
        for (row, number) in rows.iter().zip(1..).take(SLOT_ROWS_MAX) {
            let bar = self.slot_bar(row, &scale);
            self.line(&format!("{:label$}  {bar}", format!("slot {number}")));
        }
        if used > SLOT_ROWS_MAX {
            self.line(&format!("and {} slots more", used - SLOT_ROWS_MAX));
        }
    }

    /// Tasks of a slot in turns of two shades, each with its name where there is room for it.
    fn slot_bar(&self, row: &[usize], scale: &Scale) -> String {
        let mut cells: Vec<(char, Tint)> = vec![(' ', Tint::None); scale.width];
        for (position, &index) in row.iter().enumerate() {
            let task = self.plan.tasks[index];
            if task.start == task.end {
                continue;
            }
            let (from, to) = scale.span(task.start, task.end);
            let (fill, tint) =
                if position % 2 == 0 { (CHAIN, Tint::Strong) } else { (OTHER, Tint::Plain) };
            cells[from..to].fill((fill, tint));
            let name: Vec<char> = self.problem.tasks[index].name.chars().collect();
            if name.len() + 2 <= to - from {
                for (cell, letter) in cells[from + 1..].iter_mut().zip(name) {
                    *cell = (letter, tint);
                }
            }
        }
        let mut bar = String::new();
        for group in cells.chunk_by(|left, right| left.1 == right.1) {
            let text: String = group.iter().map(|(letter, _)| letter).collect();
            bar.push_str(&self.tinted(&text, group[0].1));
        }
        bar
    }

    fn figures(&mut self) {
        let bound = Bound::of(self.problem, self.graph, self.plan.slots);
        let lower = bound.lower();
        let makespan = self.plan.makespan;
        self.line("");
        self.line(&format!("makespan     {}", clock(makespan)));
        let mut parts = vec![format!("critical path {}", clock(bound.critical_path))];
        if let Some(slots) = self.plan.slots {
            let plural = if slots == 1 { "" } else { "s" };
            parts.push(format!("work / {slots} slot{plural} {}", clock(bound.per_slot)));
        }
        for (resource, time) in &bound.per_resource {
            parts.push(format!("{resource} {}", clock(*time)));
        }
        self.line(&format!("lower bound  {} ({})", clock(lower), parts.join(", ")));
        if lower > Duration::ZERO {
            let over = (makespan.as_secs_f64() / lower.as_secs_f64() - 1.0) * 100.0;
            let words = if makespan == lower {
                "none: no order could be faster".to_owned()
            } else {
                format!("{over:.1} % over the bound")
            };
            self.line(&format!("gap          {words}"));
        }
        let mut busy = Vec::new();
        if let Some(slots) = self.plan.slots {
            busy.push(format!("slots {}", share(bound.work, makespan * slots)));
        }
        for (resource, time) in &bound.per_resource {
            busy.push(format!("{resource} {}", share(*time, makespan)));
        }
        if !busy.is_empty() && makespan > Duration::ZERO {
            self.line(&format!("busy         {}", busy.join(", ")));
        }
        let late = self.late_count();
        if late > 0 {
            self.line(&format!("late         {late} past the deadline"));
        }
    }

    fn late_count(&self) -> usize {
        let pairs = self.plan.tasks.iter().zip(&self.problem.tasks);
        pairs.filter(|(planned, task)| task.deadline.is_some_and(|at| planned.end > at)).count()
    }

    /// A chain of tasks without pause from the start to the makespan, walked from its end: before a
    /// task comes what it waited for, or else whoever held its slot.
    fn chain(&self) -> Vec<bool> {
        let tasks = &self.plan.tasks;
        let mut is_on_chain = vec![false; tasks.len()];
        let mut current = (0..tasks.len()).max_by_key(|&index| tasks[index].end);
        while let Some(index) = current {
            is_on_chain[index] = true;
            let task = tasks[index];
            let ends_there =
                |other: &usize| tasks[*other].end == task.start && !is_on_chain[*other];
            let mut before: Vec<usize> = (0..tasks.len()).filter(ends_there).collect();
            before.sort_by_key(|&other| {
                let is_needed = self.graph.successors(other as u32).contains(&(index as u32));
                (!is_needed, tasks[other].slot != task.slot)
            });
            current = before.first().copied();
        }
        is_on_chain
    }

    fn tinted(&self, text: &str, tint: Tint) -> String {
        match tint {
            _ if !self.is_colourful || text.trim().is_empty() => text.to_owned(),
            Tint::None => text.to_owned(),
            Tint::Plain => format!("\x1b[36m{text}\x1b[0m"),
            Tint::Strong => format!("\x1b[1;34m{text}\x1b[0m"),
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tint {
    None,
    Plain,
    Strong,
}

/// From times to columns.
struct Scale {
    makespan: Duration,
    width: usize,
}

impl Scale {
    fn new(makespan: Duration, width: usize) -> Self {
        Self { makespan, width }
    }

    fn column(&self, at: Duration) -> usize {
        let share = at.as_secs_f64() / self.makespan.as_secs_f64();
        ((share * self.width as f64).round() as usize).min(self.width)
    }

    /// At least one column, so that short tasks are seen.
    fn span(&self, start: Duration, end: Duration) -> (usize, usize) {
        let from = self.column(start).min(self.width - 1);
        (from, self.column(end).max(from + 1))
    }

    /// Marks at round times, each at the left of its column, as many as there is room for.
    fn ruler(&self) -> String {
        let mut line: Vec<char> = Vec::new();
        let step = self.step();
        let mut at = Duration::ZERO;
        while at < self.makespan {
            let label = format!("{CORNER}{}", clock(at));
            let column = self.column(at);
            if column >= line.len() && column + label.chars().count() <= self.width {
                line.resize(column, ' ');
                line.extend(label.chars());
                line.push(' ');
            }
            at += step;
        }
        line.into_iter().collect()
    }

    /// A round step with room for a label.
    fn step(&self) -> Duration {
        let marks = (self.width / 9).clamp(1, 12) as f64;
        let least = self.makespan.as_secs_f64() / marks;
        const ROUND: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0];
        let seconds = match ROUND.iter().find(|round| **round >= least) {
            Some(round) if least > 0.5 => *round,
            Some(_) => round_up(least, 1e-9),
            None => round_up(least / 900.0, 1.0) * 900.0,
        };
        Duration::from_secs_f64(seconds.max(1e-9))
    }
}

const CORNER: char = '╷';

/// The least of 1, 2, 5, 10, 20, 50, … times `unit` that is not below `least`.
fn round_up(least: f64, unit: f64) -> f64 {
    let mut step = unit;
    loop {
        for factor in [1.0, 2.0, 5.0] {
            if step * factor >= least {
                return step * factor;
            }
        }
        step *= 10.0;
    }
}

/// A length of time as short as it can be read.
fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    if seconds < 60 {
        let text = if duration < Duration::from_millis(1) && !duration.is_zero() {
            format!("{:.6}", duration.as_secs_f64())
        } else {
            format!("{:.3}", duration.as_secs_f64())
        };
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return format!("{text}s");
    }
    match (hours, minutes, seconds % 60) {
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, 0, 0) => format!("{hours}h"),
        (hours, minutes, 0) => format!("{hours}h{minutes:02}m"),
        (hours, minutes, seconds) => format!("{hours}h{minutes:02}m{seconds:02}s"),
    }
}

fn share(part: Duration, whole: Duration) -> String {
    format!("{:.0} %", 100.0 * part.as_secs_f64() / whole.as_secs_f64())
}

fn cut(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    name.chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (millis, text) in [
            (0, "0s"),
            (1_500, "1.5s"),
            (59_000, "59s"),
            (60_000, "1m"),
            (61_000, "1m01s"),
            (3_600_000, "1h"),
            (3_661_000, "1h01m01s"),
        ] {
            assert_eq!(clock(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(cut("compile", 7), "compile");
        assert_eq!(cut("compile-all", 7), "compil…");
    }
}
