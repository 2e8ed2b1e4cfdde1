//! [`Spans`]: what happened, as spans of time.
//!
//! It is pure. A trace has the number of its run, and spans have numbers that are made of what they are: whoever goes on with a
//! run after a restart makes the same.

use std::collections::HashMap;

use tidewheel::Timestamp;

use crate::api::{Happened, What};

/// Runs that are remembered until they end; more are told without their beginning.
const RUNS_MAX: usize = 65_536;

/// A span of time that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub trace: u128,
    pub id: u64,
    pub parent: Option<u64>,
    pub name: String,
    pub from: Timestamp,
    pub to: Timestamp,
    /// What went wrong, if something did.
    pub error: Option<String>,
    pub facts: Vec<(&'static str, Fact)>,
}

/// Something that is known of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fact {
    Text(String),
    Number(u64),
}

/// The spans that are not over.
#[derive(Debug, Default)]
pub(super) struct Spans {
    runs: HashMap<String, OpenRun>,
}

#[derive(Debug, Default)]
struct OpenRun {
    /// When it was first heard of.
    from: Timestamp,
    flow: Option<String>,
    schedule: Option<String>,
    nominal: Option<Timestamp>,
    /// Attempts that run, by step.
    steps: HashMap<String, (Timestamp, u32)>,
}

impl Spans {
    /// Takes in what happened; what is over with it.
    pub fn take(&mut self, happened: &Happened) -> Option<Span> {
        let run = happened.run_id.as_deref()?;
        let trace = u128::from_str_radix(&run.replace('-', ""), 16).ok().filter(|it| *it > 0)?;
        if happened.what == What::RunEnded {
            let open = self
                .runs
                .remove(run)
                .unwrap_or(OpenRun { from: happened.at, ..OpenRun::default() });
            return Some(run_span(trace, open, happened));
        }
        let open = self.open(run, happened.at);
        open.flow = happened.flow.clone().or(open.flow.take());
        match happened.what {
            What::ScheduleFired => {
                (open.schedule, open.nominal) = (happened.schedule.clone(), happened.nominal);
                None
            }
            What::StepStarted => {
                let (step, attempt) = (happened.step.clone()?, happened.attempt.unwrap_or(1));
                open.steps.insert(step, (happened.at, attempt));
                None
            }
            What::StepRetries | What::StepEnded => {
                let step = happened.step.clone()?;
                // One that was not begun took no time: it was skipped, or cancelled before.
                let begun = open.steps.remove(&step)?;
                Some(attempt_span(trace, step, begun, happened))
            }
            _ => None,
        }
    }

    /// Something was missed: what is open may have ended meanwhile.
    pub fn lose(&mut self) {
        self.runs.clear();
    }

    fn open(&mut self, run: &str, at: Timestamp) -> &mut OpenRun {
        if self.runs.len() >= RUNS_MAX && !self.runs.contains_key(run) {
            self.runs.clear();
        }
        let fresh = || OpenRun { from: at, ..OpenRun::default() };
        self.runs.entry(run.to_owned()).or_insert_with(fresh)
    }
}

fn run_span(trace: u128, open: OpenRun, ended: &Happened) -> Span {
    let flow = ended.flow.clone().or(open.flow);
    let text = |text: &Option<String>| text.clone().map(Fact::Text);
    let facts = [
        ("tidewheel.run", text(&ended.run_id)),
        ("tidewheel.flow", text(&flow)),
        ("tidewheel.state", text(&ended.state)),
        ("tidewheel.schedule", text(&open.schedule)),
        ("tidewheel.nominal", open.nominal.map(|at| Fact::Text(at.to_string()))),
    ];
    Span {
        trace,
        id: id_of(trace, "", 0),
        parent: None,
        name: flow.unwrap_or_else(|| "run".to_owned()),
        from: open.from,
        to: ended.at,
        error: error_of(ended),
        facts: facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect(),
    }
}

fn attempt_span(
    trace: u128,
    step: String,
    (from, attempt): (Timestamp, u32),
    ended: &Happened,
) -> Span {
    let state = match ended.what {
        What::StepRetries => "failed".to_owned(),
        _ => ended.state.clone().unwrap_or_default(),
    };
    Span {
        trace,
        id: id_of(trace, &step, attempt),
        parent: Some(id_of(trace, "", 0)),
        from,
        to: ended.at,
        error: error_of(ended),
        facts: vec![
            ("tidewheel.step", Fact::Text(step.clone())),
            ("tidewheel.attempt", Fact::Number(attempt.into())),
            ("tidewheel.state", Fact::Text(state)),
        ],
        name: step,
    }
}

/// What went wrong, if something did. What was skipped or cancelled did not go wrong.
fn error_of(ended: &Happened) -> Option<String> {
    let word = ended.state.as_deref().unwrap_or_default();
    let is_wrong = ended.what == What::StepRetries || matches!(word, "failed" | "unknown");
    is_wrong.then(|| ended.error.clone().unwrap_or_else(|| word.to_owned()))
}

/// The number of a span, which is never 0 (FNV-1a).
fn id_of(trace: u128, step: &str, attempt: u32) -> u64 {
    let bytes = trace.to_be_bytes().into_iter().chain(step.bytes()).chain(attempt.to_be_bytes());
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.fold(0xcbf2_9ce4_8422_2325, mix).max(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use super::*;

    const RUN: &str = "0190a0b0-0000-7000-8000-000000000001";

    fn happened(seconds: i64, what: What, more: impl FnOnce(&mut Happened)) -> Happened {
        let mut happened = Happened {
            version: None,
            epoch: "1".to_owned(),
            sequence: 1,
            at: Timestamp::from_micros(seconds * 1_000_000),
            what,
            run_id: Some(RUN.to_owned()),
            flow: Some("nightly".to_owned()),
            step: None,
            attempt: None,
            state: None,
            schedule: None,
            nominal: None,
            count: None,
            error: None,
        };
        more(&mut happened);
        happened
    }

    fn step(happened: &mut Happened, attempt: u32) {
        (happened.step, happened.attempt) = (Some("copy".to_owned()), Some(attempt));
    }

    fn state(happened: &mut Happened, word: &str) {
        happened.state = Some(word.to_owned());
    }

    /// A run of one step that is tried twice.
    fn told() -> Vec<Happened> {
        vec![
            happened(1, What::RunAccepted, |_| ()),
            happened(1, What::ScheduleFired, |it| it.schedule = Some("nightly".to_owned())),
            happened(2, What::StepStarted, |it| step(it, 1)),
            happened(3, What::StepRetries, |it| {
                step(it, 1);
                it.error = Some("exit code 1".to_owned());
            }),
            happened(5, What::StepStarted, |it| step(it, 2)),
            happened(6, What::StepEnded, |it| {
                step(it, 0);
                state(it, "succeeded");
            }),
            happened(6, What::RunEnded, |it| state(it, "succeeded")),
        ]
    }

    fn seconds(span: &Span) -> (i64, i64) {
        (span.from.as_micros() / 1_000_000, span.to.as_micros() / 1_000_000)
    }

    #[test]
    fn a_run_is_a_trace_and_an_attempt_a_span_of_it() {
        let mut spans = Spans::default();
        let made: Vec<Span> = told().iter().filter_map(|happened| spans.take(happened)).collect();
        let [first, second, run] = &made[..] else { panic!("{made:?}") };
        assert_eq!(run.trace, 0x0190_a0b0_0000_7000_8000_0000_0000_0001);
        assert!(made.iter().all(|span| span.trace == run.trace));
        assert_eq!((first.parent, second.parent, run.parent), (Some(run.id), Some(run.id), None));
        assert_ne!(first.id, second.id);
        assert_eq!((seconds(first), seconds(second), seconds(run)), ((2, 3), (5, 6), (1, 6)));
        assert_eq!(first.error.as_deref(), Some("exit code 1"));
        assert_eq!((&second.error, &run.error), (&None, &None));
        assert!(second.facts.contains(&("tidewheel.attempt", Fact::Number(2))));
        assert!(run.facts.contains(&("tidewheel.schedule", Fact::Text("nightly".to_owned()))));
        assert_eq!((first.name.as_str(), run.name.as_str()), ("copy", "nightly"));
    }

    #[test]
    fn whoever_goes_on_with_a_run_makes_the_same_spans() {
        let (mut whole, mut later) = (Spans::default(), Spans::default());
        let of_whole: Vec<Span> = told().iter().filter_map(|it| whole.take(it)).collect();
        let of_later: Vec<Span> = told()[4..].iter().filter_map(|it| later.take(it)).collect();
        assert_eq!(of_later[0], of_whole[1]);
        assert_eq!((of_later[1].id, of_later[1].trace), (of_whole[2].id, of_whole[2].trace));
        assert_eq!(seconds(&of_later[1]), (5, 6), "what was before is not known");
    }

    #[test]
    fn what_was_not_begun_or_was_missed_is_no_span() {
        let mut spans = Spans::default();
        let skipped = happened(2, What::StepEnded, |it| {
            step(it, 0);
            state(it, "skipped");
        });
        assert_eq!(spans.take(&skipped), None);
        assert_eq!(spans.take(&told()[2]), None);
        spans.lose();
        assert_eq!(spans.take(&told()[5]), None);
        let nobody = Happened { run_id: None, ..told().remove(0) };
        assert_eq!(spans.take(&nobody), None);
    }
}
