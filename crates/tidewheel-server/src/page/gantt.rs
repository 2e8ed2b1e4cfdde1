//! The steps of a run by time: how long each waited, was tried, and waited to be tried again.
//!
//! Bars are drawn as they were recorded. What is too small to be seen is drawn together with what is beside it. Who had a slot
//! when is in [`super::slots`].

use std::fmt::Write as _;
use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel_client::api::{AttemptSpan, RunState, StepList, StepRow, StepState};
use tidewheel_client::desk::attempt_state;
use tidewheel_client::text;

use super::axis::{AXIS, Tick, Window};
use super::link::Link;
use super::slots::Slots;
use super::words::{Markup, escaped, step_mark, took};

/// What is shorter is drawn together with its neighbours.
pub(super) const LEAST: f64 = 1.5;

/// What runs grows: it is drawn anew once all of the time is longer by such a part, and after no less than this.
const GROWS: u32 = 50;
const GROWS_LEAST: Duration = Duration::from_secs(2);

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
    /// When what runs is to be drawn anew although nothing has happened.
    pub due: Option<Timestamp>,
    /// Attempts at once for which there is no row.
    pub more: usize,
    /// Whether there are too many bars for each to lead somewhere.
    pub is_crowded: bool,
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
        let step = |step: &StepRow| step_row(&steps.run_id, step, window, now);
        let Slots { rows, more, is_crowded } = match how {
            GanttWish::Steps => {
                let rows = steps.steps.iter().map(step).collect();
                Slots { rows, more: 0, is_crowded: false }
            }
            GanttWish::Slots => Slots::of(steps, window, now),
        };
        let is_part = begin > 0.0 || end < whole;
        let grows = steps.state == RunState::Running && steps.ended_at.is_none() && !is_part;
        let later = || now.after((now.since(zero) / GROWS).max(GROWS_LEAST));
        Self {
            due: grows.then(later),
            ticks: window.ticks(),
            rows,
            more,
            is_crowded,
            is_by_slot: how == GanttWish::Slots,
            begin,
            end,
            part: is_part.then(|| (begin / whole * AXIS, (end - begin) / whole * AXIS)),
        }
    }

    /// The time that is shown, as an address says it.
    pub fn in_address(&self) -> String {
        format!("&begin={}&end={}", self.begin, self.end)
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
        let ended = attempt.ended_at.unwrap_or(now);
        let class = class_of_attempt(step, attempt);
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

/// How an attempt ended. What became of its step later says nothing of it, but for the newest of which nothing else is known.
pub(super) fn class_of_attempt(step: &StepRow, attempt: &AttemptSpan) -> &'static str {
    match attempt.outcome.as_deref() {
        Some(outcome) => class_of(attempt_state(outcome)),
        None if step.attempts.last() == Some(attempt) => class_of(step.state),
        None => "is-failed",
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
pub(super) mod tests {
    use std::time::Duration;

    use tidewheel_client::api::AttemptSpan;

    use super::*;

    pub const ZERO: Timestamp = Timestamp::from_seconds(1_794_805_200);

    pub fn at(seconds: u64) -> Timestamp {
        ZERO.after(Duration::from_secs(seconds))
    }

    pub fn step(name: &str, state: StepState, spans: &[(u64, u64, &str)]) -> StepRow {
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
    fn an_attempt_has_the_colour_of_its_own_end() {
        let step = step(
            "a",
            StepState::Succeeded,
            &[(0, 1, "error"), (1, 2, "postponed"), (2, 3, "preempted"), (3, 4, "succeeded")],
        );
        let classes = step.attempts.iter().map(|it| class_of_attempt(&step, it));
        let expected = ["is-failed", "is-skipped", "is-cancelled", "is-succeeded"];
        assert_eq!(classes.collect::<Vec<_>>(), expected);
        let mut running =
            super::tests::step("b", StepState::Running, &[(0, 1, "error"), (2, 3, "")]);
        running.attempts[1].outcome = None;
        assert_eq!(class_of_attempt(&running, &running.attempts[1]), "is-running");
    }

    fn list(state: RunState, ended_at: Option<Timestamp>) -> StepList {
        StepList {
            version: None,
            run_id: "run".to_owned(),
            state,
            accepted_at: ZERO,
            ended_at,
            letters: "R".to_owned(),
            total: 1,
            from: 0,
            steps: vec![step("a", StepState::Succeeded, &[(0, 1, "succeeded")])],
        }
    }

    #[test]
    fn what_runs_is_drawn_anew_when_it_has_grown_by_what_can_be_seen() {
        let due = |state, ended, end, now| {
            Gantt::of(&list(state, ended), GanttWish::Steps, (None, end), at(now)).due
        };
        assert_eq!(due(RunState::Running, None, None, 10), Some(at(12)));
        assert_eq!(due(RunState::Running, None, None, 1_000), Some(at(1_020)));
        assert_eq!(due(RunState::Running, None, Some(5.0), 10), None, "a part stays as it is");
        assert_eq!(due(RunState::Paused, None, None, 10), None);
        assert_eq!(due(RunState::Succeeded, Some(at(9)), None, 10), None);
    }

    #[test]
    fn rows_that_come_later_are_drawn_over_the_axis_that_is_there() {
        let first =
            Gantt::of(&list(RunState::Running, None), GanttWish::Steps, (None, None), at(10));
        assert_eq!(first.in_address(), "&begin=0&end=10");
        let later = Gantt::of(
            &list(RunState::Running, None),
            GanttWish::Steps,
            (Some(0.0), Some(10.0)),
            at(60),
        );
        assert_eq!(later.rows[0].lane, first.rows[0].lane);
    }
}
