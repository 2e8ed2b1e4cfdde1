//! The steps of a run by time: how long each waited, was tried, and waited to be tried again; or who had a slot when.
//!
//! Bars are drawn as they were recorded. What is too small to be seen is drawn together with what is beside it.

use std::fmt::Write as _;

use tidewheel::Timestamp;
use tidewheel_client::api::{StepList, StepRow, StepState};
use tidewheel_client::text;

use super::axis::{AXIS, Tick, Window};
use super::link::Link;
use super::words::{Markup, escaped, step_mark, took};

/// What is shorter is drawn together with its neighbours.
const LEAST: f64 = 1.5;

/// Slots that are shown.
const LANES_MAX: usize = 64;

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GanttWish {
    Steps,
    Slots,
}

/// Rows of bars over one axis.
pub(crate) struct Gantt {
    pub ticks: Vec<Tick>,
    pub rows: Vec<GanttRow>,
    pub is_by_slot: bool,
    pub begin: f64,
    pub end: f64,
    /// Which part of the whole time is shown, as shares of it: where it begins and how long it is. None if it is all.
    pub part: Option<(f64, f64)>,
}

pub(crate) struct GanttRow {
    pub name: Markup,
    /// The step, if it is one.
    pub step: String,
    pub mark: Option<Markup>,
    pub is_critical: bool,
    pub lane: Markup,
    pub said: String,
}

/// A stretch of time and what it was.
struct Piece {
    from: f64,
    to: f64,
    class: &'static str,
    said: String,
}

impl Gantt {
    pub fn of(
        steps: &StepList,
        how: GanttWish,
        (begin, end): (Option<f64>, Option<f64>),
        now: Timestamp,
    ) -> Self {
        let zero = steps.accepted_at;
        let whole = steps.ended_at.unwrap_or(now).since(zero).as_secs_f64().max(0.001);
        let is_finite = |value: &f64| value.is_finite();
        let begin = begin.filter(is_finite).unwrap_or(0.0).clamp(0.0, whole);
        let end =
            end.filter(is_finite).unwrap_or(whole).clamp(begin + 0.001, whole.max(begin + 0.001));
        let window = Window { zero, begin, end };
        let rows = match how {
            GanttWish::Steps => {
                steps.steps.iter().map(|step| step_row(&steps.run_id, step, window, now)).collect()
            }
            GanttWish::Slots => slot_rows(&steps.steps, window, now),
        };
        let is_part = begin > 0.0 || end < whole;
        Self {
            ticks: window.ticks(),
            rows,
            is_by_slot: how == GanttWish::Slots,
            begin,
            end,
            part: is_part.then(|| (begin / whole * AXIS, (end - begin) / whole * AXIS)),
        }
    }
}

fn step_row(run: &str, step: &StepRow, window: Window, now: Timestamp) -> GanttRow {
    let mut pieces = Vec::new();
    let mut free = step.ready_at;
    for attempt in &step.attempts {
        let Some(started) = attempt.started_at else { continue };
        if let Some(since) = free.filter(|since| *since < started) {
            let (class, word) = match attempt.attempt {
                1 => ("wait", "waited for its turn"),
                _ => ("again", "waited to be tried again"),
            };
            let said = format!("{word} for {}", took(started.since(since)));
            pieces.push(piece(window, since, started, class, said));
        }
        let is_last = Some(attempt) == step.attempts.last();
        let ended = attempt.ended_at.unwrap_or(now);
        let class = match attempt.outcome.as_deref() {
            _ if is_last => class_of(step.state),
            Some("succeeded" | "cached") => "is-succeeded",
            Some("cancelled") => "is-cancelled",
            _ => "is-failed",
        };
        let said = format!("attempt {}: {}", attempt.attempt, took(ended.since(started)));
        pieces.push(piece(window, started, ended, class, said));
        free = attempt.ended_at;
    }
    if step.attempts.is_empty() && step.state == StepState::Pending {
        let since = free.filter(|since| *since < now);
        let waits =
            since.map(|since| piece(window, since, now, "wait", "waits for its turn".to_owned()));
        pieces.extend(waits);
    }
    let said: Vec<&str> = pieces.iter().map(|piece| piece.said.as_str()).collect();
    let said = said.join("; ");
    GanttRow {
        name: Markup(Link::of_step(run, &step.step).to_string()),
        step: step.step.clone(),
        mark: Some(step_mark(step.state)),
        is_critical: step.critical,
        lane: lane(&pieces, step.critical),
        said,
    }
}

fn class_of(state: StepState) -> &'static str {
    match state {
        StepState::Pending => "is-failed",
        StepState::Running => "is-running",
        StepState::Succeeded => "is-succeeded",
        StepState::Failed => "is-failed",
        StepState::Skipped => "is-skipped",
        StepState::Cancelled => "is-cancelled",
        StepState::Unknown => "is-unknown",
    }
}

/// Who had a slot when: each attempt in the first slot that was free.
fn slot_rows(steps: &[StepRow], window: Window, now: Timestamp) -> Vec<GanttRow> {
    let mut attempts: Vec<(Timestamp, Timestamp, &StepRow, u32)> = steps
        .iter()
        .flat_map(|step| {
            let known = step.attempts.iter();
            known.filter_map(move |it| {
                Some((it.started_at?, it.ended_at.unwrap_or(now), step, it.attempt))
            })
        })
        .collect();
    attempts.sort_by_key(|(started, ..)| *started);
    let mut lanes: Vec<(Timestamp, Vec<Piece>)> = Vec::new();
    for (started, ended, step, attempt) in attempts {
        let said = format!("{}, attempt {attempt}: {}", step.step, took(ended.since(started)));
        let piece = piece(window, started, ended, class_of(step.state), said);
        match lanes.iter().position(|(free, _)| *free <= started) {
            Some(place) => {
                lanes[place].0 = ended;
                lanes[place].1.push(piece);
            }
            None if lanes.len() < LANES_MAX => lanes.push((ended, vec![piece])),
            None => {}
        }
    }
    let row = |(place, (_, pieces)): (usize, (Timestamp, Vec<Piece>))| GanttRow {
        name: Markup(format!("Slot {}", place + 1)),
        step: String::new(),
        mark: None,
        is_critical: false,
        said: text::count(pieces.len(), "attempt"),
        lane: lane(&pieces, false),
    };
    lanes.into_iter().enumerate().map(row).collect()
}

fn piece(
    window: Window,
    from: Timestamp,
    to: Timestamp,
    class: &'static str,
    said: String,
) -> Piece {
    Piece { from: window.place(from), to: window.place(to), class, said }
}

/// The bars of a row.
fn lane(pieces: &[Piece], is_critical: bool) -> Markup {
    let critical = if is_critical { " critical" } else { "" };
    let mut out = format!(
        "<svg class=\"lane{critical}\" viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    );
    let mut crowd: Option<(f64, f64, usize)> = None;
    let flush = |out: &mut String, crowd: &mut Option<(f64, f64, usize)>| {
        if let Some((from, to, count)) = crowd.take() {
            let width = (to - from).max(LEAST);
            _ = write!(
                out,
                "<rect class=\"crowd\" x=\"{from:.1}\" y=\"3\" width=\"{width:.1}\" height=\"10\"><title>{count} \
                 short ones</title></rect>"
            );
        }
    };
    for piece in pieces {
        let (from, to) = (piece.from.max(0.0), piece.to.min(AXIS));
        if to < 0.0 || from > AXIS {
            continue;
        }
        let is_attempt = piece.class.starts_with("is-");
        if to - from < LEAST && pieces.len() > 8 {
            let (start, end, count) = crowd.unwrap_or((from, to, 0));
            match from - end < LEAST {
                true => crowd = Some((start, to.max(end), count + 1)),
                false => {
                    flush(&mut out, &mut crowd);
                    crowd = Some((from, to, 1));
                }
            }
            continue;
        }
        flush(&mut out, &mut crowd);
        let (y, height) = if is_attempt { (2, 12) } else { (5, 6) };
        let width = (to - from).max(LEAST);
        _ = write!(
            out,
            "<rect class=\"{}\" x=\"{from:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\"><title>{}</title></rect>",
            piece.class,
            escaped(&text::name(&piece.said)),
        );
    }
    flush(&mut out, &mut crowd);
    out.push_str("</svg>");
    Markup(out)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidewheel_client::api::AttemptSpan;

    use super::*;

    const ZERO: Timestamp = Timestamp::from_seconds(1_794_805_200);

    fn at(seconds: u64) -> Timestamp {
        ZERO.after(Duration::from_secs(seconds))
    }

    fn step(name: &str, state: StepState, spans: &[(u64, u64, &str)]) -> StepRow {
        let span = |(place, (from, to, outcome)): (usize, &(u64, u64, &str))| AttemptSpan {
            attempt: place as u32 + 1,
            started_at: Some(at(*from)),
            ended_at: Some(at(*to)),
            outcome: Some((*outcome).to_owned()),
        };
        StepRow {
            step: name.to_owned(),
            place: 0,
            state,
            reason: None,
            tolerated: false,
            kind: None,
            element: None,
            error: None,
            critical: false,
            ready_at: Some(at(0)),
            attempts: spans.iter().enumerate().map(span).collect(),
        }
    }

    fn window() -> Window {
        Window { zero: ZERO, begin: 0.0, end: 100.0 }
    }

    #[test]
    fn waits_and_attempts_are_told_apart() {
        let step = step("a", StepState::Succeeded, &[(10, 20, "failed"), (40, 60, "succeeded")]);
        let row = step_row("run", &step, window(), at(100));
        let classes: Vec<&str> = row
            .lane
            .0
            .split("<rect class=\"")
            .skip(1)
            .filter_map(|it| it.split('"').next())
            .collect();
        assert_eq!(classes, ["wait", "is-failed", "again", "is-succeeded"]);
        assert!(row.lane.0.contains("x=\"400.0\" y=\"2\" width=\"200.0\""), "{}", row.lane.0);
        assert!(row.said.contains("waited to be tried again for 20.0 s"), "{}", row.said);
    }

    #[test]
    fn nobody_has_a_slot_while_another_has_it() {
        let steps = [
            step("a", StepState::Succeeded, &[(0, 50, "succeeded")]),
            step("b", StepState::Succeeded, &[(10, 30, "succeeded")]),
            step("c", StepState::Succeeded, &[(30, 60, "succeeded")]),
            step("<d>", StepState::Failed, &[(55, 70, "failed")]),
        ];
        let rows = slot_rows(&steps, window(), at(100));
        let said: Vec<(&str, usize)> = rows
            .iter()
            .map(|row| (row.said.as_str(), row.lane.0.matches("<rect").count()))
            .collect();
        assert_eq!(said, [("2 attempts", 2), ("2 attempts", 2)]);
        assert!(!rows[0].lane.0.contains("<d>"), "{}", rows[0].lane.0);
    }

    #[test]
    fn what_is_too_small_to_be_seen_is_drawn_together() {
        let short: Vec<StepRow> = (0..500)
            .map(|it| {
                let mut step = step("s", StepState::Succeeded, &[(0, 0, "succeeded")]);
                let from = ZERO.after(Duration::from_millis(it * 10));
                step.attempts[0].started_at = Some(from);
                step.attempts[0].ended_at = Some(from.after(Duration::from_millis(10)));
                step
            })
            .collect();
        let rows = slot_rows(&short, window(), at(100));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].lane.0.matches("<rect").count(), 1);
        assert!(rows[0].lane.0.contains("500 short ones"), "{}", rows[0].lane.0);
    }
}
