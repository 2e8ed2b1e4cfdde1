//! Who had a slot when: each attempt in the first slot that was free, as a bar with its name that leads to its step.
//!
//! What is too short to be seen is one bar with what is beside it, and leads to a view of that time alone. The axis is in
//! [`super::axis`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;

use tidewheel::Timestamp;
use tidewheel_client::api::{AttemptSpan, StepList, StepRow};
use tidewheel_client::text;

use super::axis::{AXIS, Window};
use super::gantt::{GanttRow, LEAST, class_of_attempt};
use super::words::{Markup, escaped, run_address, step_address, took};

/// Slots that are shown.
const LANES_MAX: usize = 64;

/// Bars that lead somewhere, the longest of them: where there are more, the others do in a view of less time.
const LINKED_MAX: usize = 400;

/// So few bars are each drawn, however short they are.
const FEW: usize = 8;

/// What a letter takes of a lane that has as little room as beside a step; names are written where they fit.
const LETTER: f64 = 12.0;

/// The slots of a run.
pub(super) struct Slots {
    pub rows: Vec<GanttRow>,
    /// Attempts at once for which there was no row.
    pub more: usize,
    /// Whether some bars lead nowhere.
    pub is_crowded: bool,
}

/// An attempt that had a slot.
struct Held<'a> {
    started: Timestamp,
    ended: Timestamp,
    step: &'a StepRow,
    attempt: &'a AttemptSpan,
}

/// Something in a lane.
struct Bar {
    from: f64,
    to: f64,
    class: &'static str,
    /// Where it leads.
    address: String,
    said: String,
    /// What is written into it.
    name: String,
}

impl Bar {
    fn width(&self) -> f64 {
        (self.to - self.from).max(LEAST)
    }
}

impl Slots {
    pub fn of(list: &StepList, window: Window, now: Timestamp) -> Self {
        let (lanes, more) = lanes(held(&list.steps, now));
        let lanes: Vec<(usize, Vec<Bar>)> = lanes
            .iter()
            .map(|lane| (lane.len(), crowded(&list.run_id, window, bars(list, lane, window))))
            .collect();
        let mut widths: Vec<f64> =
            lanes.iter().flat_map(|(_, bars)| bars).map(Bar::width).collect();
        widths.sort_by(|one, other| other.total_cmp(one));
        let least = widths.get(LINKED_MAX).copied();
        let row = |(place, (count, bars)): (usize, &(usize, Vec<Bar>))| {
            let said = text::count(*count, "attempt");
            GanttRow {
                name: Markup(format!("Slot {}", place + 1)),
                step: String::new(),
                mark: None,
                is_critical: false,
                lane: drawn(bars, &said, least),
                said,
            }
        };
        let rows = lanes.iter().enumerate().map(row).collect();
        Self { rows, more, is_crowded: least.is_some() }
    }
}

/// The attempts that had a slot, in the order in which they began.
fn held(steps: &[StepRow], now: Timestamp) -> Vec<Held<'_>> {
    let of_step = |step| {
        let row: &StepRow = step;
        row.attempts.iter().filter_map(move |attempt| {
            let started = attempt.started_at?;
            Some(Held { started, ended: attempt.ended_at.unwrap_or(now), step: row, attempt })
        })
    };
    let mut all: Vec<Held<'_>> = steps.iter().flat_map(of_step).collect();
    all.sort_by_key(|it| it.started);
    all
}

/// Each in the first slot that was free, and how many there were at once beyond those that are shown.
fn lanes(all: Vec<Held<'_>>) -> (Vec<Vec<Held<'_>>>, usize) {
    let mut lanes: Vec<Vec<Held<'_>>> = Vec::new();
    let (mut beyond, mut more) = (BinaryHeap::new(), 0);
    for it in all {
        let is_free =
            |lane: &Vec<Held<'_>>| lane.last().is_none_or(|last| last.ended <= it.started);
        match lanes.iter().position(is_free) {
            Some(place) => lanes[place].push(it),
            None if lanes.len() < LANES_MAX => lanes.push(vec![it]),
            None => {
                while beyond.peek().is_some_and(|Reverse(ended)| *ended <= it.started) {
                    beyond.pop();
                }
                beyond.push(Reverse(it.ended));
                more = more.max(beyond.len());
            }
        }
    }
    (lanes, more)
}

/// What of a lane can be seen.
fn bars(list: &StepList, lane: &[Held<'_>], window: Window) -> Vec<Bar> {
    let bar = |it: &Held<'_>| {
        let (from, to) = (window.place(it.started), window.place(it.ended));
        if to < 0.0 || from > AXIS {
            return None;
        }
        let class = class_of_attempt(it.step, it.attempt);
        let name = text::name(&it.step.step);
        let (number, time) = (it.attempt.attempt, took(it.ended.since(it.started)));
        let word = class.trim_start_matches("is-");
        Some(Bar {
            from: from.max(0.0),
            to: to.min(AXIS),
            class,
            address: step_address(&list.run_id, &it.step.step),
            said: format!("{name}, attempt {number}: {word}, {time}"),
            name,
        })
    };
    lane.iter().filter_map(bar).collect()
}

/// The same with short ones that are beside each other as one.
fn crowded(run: &str, window: Window, bars: Vec<Bar>) -> Vec<Bar> {
    if bars.len() <= FEW {
        return bars;
    }
    let mut out: Vec<Bar> = Vec::new();
    let mut count = 0;
    for bar in bars {
        let is_short = bar.to - bar.from < LEAST;
        let joined = out.last_mut().filter(|last| count > 0 && bar.from - last.to < LEAST);
        match joined {
            Some(crowd) if is_short => {
                count += 1;
                crowd.to = crowd.to.max(bar.to);
                if count == 2 {
                    (crowd.class, crowd.name) = ("crowd", String::new());
                }
                crowd.said = format!("{count} short attempts");
                let (begin, end) = (window.second(crowd.from), window.second(crowd.to));
                let address = run_address(run);
                crowd.address = format!("{address}?view=slots&begin={begin:.4}&end={end:.4}");
            }
            _ => {
                count = usize::from(is_short);
                out.push(bar);
            }
        }
    }
    out
}

/// A lane with its bars. Those that are no longer than `least`, if that is said, lead nowhere.
fn drawn(bars: &[Bar], said: &str, least: Option<f64>) -> Markup {
    let mut out = format!("<svg class=\"lane slots\" role=\"group\" aria-label=\"{said}\">");
    for bar in bars {
        let place = format!("x=\"{:.2}%\" width=\"{:.2}%\"", bar.from / 10.0, bar.width() / 10.0);
        let rect = format!("<rect class=\"{}\" {place} y=\"1\" height=\"14\"/>", bar.class);
        if least.is_some_and(|least| bar.width() <= least) {
            out.push_str(&rect);
            continue;
        }
        let (address, said) = (escaped(&bar.address), escaped(&bar.said));
        _ = write!(out, "<a href=\"{address}\" aria-label=\"{said}\">{rect}");
        let letters = bar.name.chars().count() as f64;
        if letters > 0.0 && bar.width() >= (letters + 1.0) * LETTER {
            let name = escaped(&bar.name);
            _ = write!(
                out,
                "<svg {place} height=\"16\" aria-hidden=\"true\"><text x=\"4\" y=\"12\">{name}</text></svg>"
            );
        }
        out.push_str("</a>");
    }
    out.push_str("</svg>");
    Markup(out)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidewheel_client::api::{RunState, StepState};

    use super::super::gantt::tests::{ZERO, at, step};
    use super::*;

    fn slots(steps: Vec<StepRow>) -> Slots {
        let list = StepList {
            version: None,
            run_id: "run".to_owned(),
            state: RunState::Succeeded,
            accepted_at: ZERO,
            ended_at: Some(at(100)),
            letters: String::new(),
            total: steps.len() as u32,
            from: 0,
            steps,
        };
        Slots::of(&list, Window { zero: ZERO, begin: 0.0, end: 100.0 }, at(100))
    }

    fn short(place: u64) -> StepRow {
        let mut step = step("s", StepState::Succeeded, &[(0, 0, "succeeded")]);
        let from = ZERO.after(Duration::from_millis(place * 10));
        step.attempts[0].started_at = Some(from);
        step.attempts[0].ended_at = Some(from.after(Duration::from_millis(10)));
        step
    }

    #[test]
    fn nobody_has_a_slot_while_another_has_it() {
        let slots = slots(vec![
            step("a", StepState::Succeeded, &[(0, 50, "succeeded")]),
            step("b", StepState::Succeeded, &[(10, 30, "succeeded")]),
            step("c", StepState::Succeeded, &[(30, 60, "succeeded")]),
            step("<d>", StepState::Failed, &[(55, 70, "failed")]),
        ]);
        let said: Vec<(&str, usize)> = slots
            .rows
            .iter()
            .map(|row| (row.said.as_str(), row.lane.0.matches("<rect").count()))
            .collect();
        assert_eq!(said, [("2 attempts", 2), ("2 attempts", 2)]);
        assert!(!slots.rows[0].lane.0.contains("<d>"), "{}", slots.rows[0].lane.0);
        assert_eq!(slots.more, 0);
    }

    #[test]
    fn each_attempt_has_its_name_its_end_and_leads_to_its_step() {
        let tries = [(0, 40, "error"), (50, 90, "succeeded")];
        let slots = slots(vec![step("build", StepState::Succeeded, &tries)]);
        let lane = &slots.rows[0].lane.0;
        assert!(
            lane.contains(
                "aria-label=\"build, attempt 1: failed, 40.0 s\"><rect class=\"is-failed\""
            ),
            "{lane}"
        );
        assert!(
            lane.contains(
                "aria-label=\"build, attempt 2: succeeded, 40.0 s\"><rect class=\"is-succeeded\""
            ),
            "{lane}"
        );
        assert_eq!(lane.matches(">build</text>").count(), 2, "{lane}");
        assert_eq!(lane.matches("href=\"/runs/run/steps/build\"").count(), 2, "{lane}");
    }

    #[test]
    fn a_name_is_written_only_where_it_fits() {
        let slots = slots(vec![step("a-long-name", StepState::Succeeded, &[(0, 2, "succeeded")])]);
        let lane = &slots.rows[0].lane.0;
        assert!(!lane.contains("<text") && lane.contains("aria-label=\"a-long-name, "), "{lane}");
    }

    #[test]
    fn what_is_too_small_to_be_seen_is_drawn_together_and_leads_to_its_time() {
        let slots = slots((0..500).map(short).collect());
        assert_eq!(slots.rows.len(), 1);
        let lane = &slots.rows[0].lane.0;
        assert_eq!(lane.matches("<rect").count(), 1);
        assert!(lane.contains("500 short attempts"), "{lane}");
        assert!(lane.contains("view=slots&#38;begin=0.0000&#38;end=5.0000"), "{lane}");
    }

    #[test]
    fn what_has_no_row_is_counted_and_of_very_many_the_longest_lead_on() {
        let all: Vec<StepRow> = (0..100)
            .map(|place| step(&format!("s{place}"), StepState::Succeeded, &[(0, 50, "succeeded")]))
            .collect();
        let slots = slots(all);
        assert_eq!((slots.rows.len(), slots.more, slots.is_crowded), (64, 36, false));
        let pieces: Vec<(u64, u64, &str)> =
            (0..10).map(|it| (it * 10, it * 10 + 9 - it / 5, "succeeded")).collect();
        let slots =
            self::slots((0..64).map(|_| step("s", StepState::Succeeded, &pieces)).collect());
        let links: usize = slots.rows.iter().map(|row| row.lane.0.matches("<a ").count()).sum();
        assert_eq!((links, slots.is_crowded), (320, true), "those that are longest");
    }
}
