//! [`Standings`]: how a run goes on, told from one look at it to the next.
//!
//! It has no clock and waits for nothing. Where the looks come from is known to whoever takes them.

use std::time::Duration;

use tidewheel::Timestamp;
use tidewheel_flow::is_further_try;

use super::event::{EndState, Event, StepInfo};
use super::translation::Teller;
use crate::api::{RunState, Standing, StepStanding, StepState};
use crate::text::{quoted, short_id};

/// What was told of a run that others run.
#[derive(Debug, Default)]
pub struct Standings {
    /// `None` before the first look.
    run: Option<RunState>,
    steps: Vec<Known>,
    /// How many were told of.
    told: usize,
}

/// What was told of a step.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// Its number in what is told, if it was told of.
    place: Option<usize>,
    /// The newest attempt that was told to have begun.
    begun: u32,
    /// The newest that was told to be followed by another.
    failed: u32,
    is_waiting: bool,
    has_ended: bool,
}

impl Standings {
    /// Whether the end was told.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.run.is_some_and(|state| end_of(state).is_some())
    }

    /// How many steps the run had at the last look, those included that were not told of.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.steps.len()
    }

    /// The number in what is told of the step that has this place in a look; `None`: it was not told of.
    #[must_use]
    pub fn place(&self, step: usize) -> Option<usize> {
        self.steps.get(step).and_then(|known| known.place)
    }

    /// Tells what has happened since the last look, the earliest first.
    pub fn look(&mut self, now: &Standing, teller: &mut dyn Teller) {
        if self.is_over() {
            return;
        }
        let mut told: Vec<(Duration, Event)> = Vec::new();
        let at = |instant: Timestamp| instant.since(now.accepted_at);
        if self.run.is_none() {
            let (run_id, flow) = (now.run_id.clone(), now.flow.clone().unwrap_or_default());
            let steps = self.first(&now.steps);
            teller.tell(Duration::ZERO, Event::RunStarted { run_id, flow, steps });
        }
        self.steps.resize(now.steps.len(), Known::default());
        for (known, step) in self.steps.iter_mut().zip(&now.steps) {
            if known.place.is_some() || is_spare(step) {
                continue;
            }
            known.place = Some(self.told);
            self.told += 1;
            let last = told.last().map_or(Duration::ZERO, |(at, _)| *at);
            told.push((last, Event::StepAdded(StepInfo { after: Vec::new(), ..info(step) })));
        }
        for (known, step) in self.steps.iter_mut().zip(&now.steps) {
            if let Some(place) = known.place {
                known.tell(place, step, now, &mut told);
            }
        }
        // What was added is told first: it has no time of its own.
        told.sort_by_key(|(at, event)| (!matches!(event, Event::StepAdded(_)), *at));
        let last = told.last().map_or(Duration::ZERO, |(at, _)| *at);
        for (at, event) in told {
            teller.tell(at, event);
        }
        self.tell_run(now, now.ended_at.map_or(last, at), teller);
        self.run = Some(now.state);
    }

    /// The steps that are told with the beginning: without those of tries that may not be needed.
    fn first(&mut self, steps: &[StepStanding]) -> Vec<StepInfo> {
        for step in steps {
            let place = (!is_spare(step)).then_some(self.told);
            self.told += usize::from(place.is_some());
            self.steps.push(Known { place, ..Known::default() });
        }
        let shown = steps.iter().filter(|step| !is_spare(step)).map(info);
        let told = shown.map(|info| {
            let after = info.after.iter().filter_map(|index| self.place(*index)).collect();
            StepInfo { after, ..info }
        });
        told.collect()
    }

    fn tell_run(&self, now: &Standing, at: Duration, teller: &mut dyn Teller) {
        let before = self.run.unwrap_or(RunState::Running);
        if before == now.state {
            return;
        }
        let event = match now.state {
            RunState::Paused => Event::Paused,
            RunState::Waiting => {
                let why = now.why.clone().unwrap_or_else(|| "waiting for its group".to_owned());
                Event::RunWaiting { why }
            }
            RunState::Interrupted => {
                Event::RunWaiting { why: "waiting: the process that ran it died".to_owned() }
            }
            RunState::Running if before == RunState::Paused => Event::Resumed,
            RunState::Running => Event::RunGoesOn,
            ended => match end_of(ended) {
                Some(state) => Event::RunEnded { state },
                None => return,
            },
        };
        teller.tell(at, event);
    }
}

impl Known {
    fn tell(
        &mut self,
        step: usize,
        is: &StepStanding,
        run: &Standing,
        told: &mut Vec<(Duration, Event)>,
    ) {
        if self.has_ended {
            return;
        }
        let since = |instant: Option<Timestamp>| {
            instant.map_or(Duration::ZERO, |instant| instant.since(run.accepted_at))
        };
        let began = since(is.started_at);
        let has_begun = is.started_at.is_some() && is.state != StepState::Skipped;
        if has_begun && is.attempt > self.begun {
            self.begun = is.attempt;
            told.push((began, Event::StepStarted { step, attempt: is.attempt }));
        }
        if let Some(why) = is.waits.clone().filter(|_| !self.is_waiting) {
            self.is_waiting = true;
            let code = if is.wants_code { " --code" } else { "" };
            let approve = || {
                format!("tidewheel approve {} {}{code}", short_id(&run.run_id), quoted(&is.name))
            };
            told.push((began, Event::StepWaiting { step, why, answer: is.asks.then(approve) }));
        }
        if let Some(next) = is.retry_at.filter(|_| is.attempt > self.failed) {
            self.failed = is.attempt;
            let error = is.error.clone().unwrap_or_else(|| "failed".to_owned());
            let event =
                Event::StepRetrying { step, attempt: is.attempt, at: since(Some(next)), error };
            told.push((began, event));
        }
        if let Some(state) = step_end(is.state) {
            self.has_ended = true;
            let event = Event::StepEnded {
                step,
                state,
                reason: is.reason.clone(),
                error: is.error.clone(),
                tail: is.tail.clone(),
                is_tolerated: is.tolerated,
                is_late: is.ended_at.is_none(),
            };
            told.push((since(is.ended_at), event));
        }
    }
}

/// Whether a step is one of a further try that was not needed, or not yet.
fn is_spare(step: &StepStanding) -> bool {
    let has_nothing = matches!(step.state, StepState::Skipped | StepState::Pending);
    has_nothing && step.started_at.is_none() && is_further_try(&step.name)
}

fn info(step: &StepStanding) -> StepInfo {
    StepInfo {
        name: step.name.clone(),
        expected: step.expected,
        after: step.after.iter().map(|index| *index as usize).collect(),
        attempts_max: step.attempts_max,
        element: step.element.clone(),
    }
}

fn step_end(state: StepState) -> Option<EndState> {
    Some(match state {
        StepState::Pending | StepState::Running => return None,
        StepState::Succeeded => EndState::Succeeded,
        StepState::Failed => EndState::Failed,
        StepState::Skipped => EndState::Skipped,
        StepState::Cancelled => EndState::Cancelled,
        StepState::Unknown => EndState::Unknown,
    })
}

/// How a run ended that is in this state, if it has.
fn end_of(state: RunState) -> Option<EndState> {
    Some(match state {
        RunState::Running | RunState::Waiting | RunState::Paused | RunState::Interrupted => {
            return None;
        }
        RunState::Succeeded => EndState::Succeeded,
        RunState::Failed => EndState::Failed,
        RunState::Skipped => EndState::Skipped,
        RunState::Cancelled => EndState::Cancelled,
        RunState::Unknown => EndState::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of the run.
    const BEGAN: Timestamp = Timestamp::from_seconds(1_794_805_200);

    fn after(seconds: u64) -> Timestamp {
        BEGAN.after(Duration::from_secs(seconds))
    }

    fn step(name: &str) -> StepStanding {
        StepStanding::new(name, StepState::Pending)
    }

    fn run(steps: Vec<StepStanding>) -> Standing {
        Standing {
            version: None,
            run_id: "0a2b3c4d5e6f7a8b9c0d1e2f3a".to_owned(),
            flow: Some("nightly".to_owned()),
            state: RunState::Running,
            why: None,
            accepted_at: BEGAN,
            ended_at: None,
            steps,
        }
    }

    /// What is told of one look, with its seconds, without what the run consists of.
    fn look(standings: &mut Standings, now: &Standing) -> Vec<(u64, Event)> {
        let mut told: Vec<(Duration, Event)> = Vec::new();
        standings.look(now, &mut told);
        let told = told.into_iter().filter(|(_, it)| !matches!(it, Event::RunStarted { .. }));
        told.map(|(at, event)| (at.as_secs(), event)).collect()
    }

    fn ended(step: usize, state: EndState, error: Option<&str>) -> Event {
        Event::StepEnded {
            step,
            state,
            reason: None,
            error: error.map(str::to_owned),
            tail: Vec::new(),
            is_tolerated: false,
            is_late: false,
        }
    }

    #[test]
    fn what_happened_between_two_looks_is_told_once_and_in_its_order() {
        let mut standings = Standings::default();
        let mut now = run(vec![step("build"), step("test")]);
        assert_eq!(look(&mut standings, &now), []);
        now.steps[0] = StepStanding {
            state: StepState::Succeeded,
            attempt: 1,
            started_at: Some(after(1)),
            ended_at: Some(after(4)),
            ..step("build")
        };
        now.steps[1] = StepStanding {
            state: StepState::Running,
            attempt: 1,
            started_at: Some(after(5)),
            ..step("test")
        };
        let started = |step| Event::StepStarted { step, attempt: 1 };
        let done = ended(0, EndState::Succeeded, None);
        assert_eq!(look(&mut standings, &now), [(1, started(0)), (4, done), (5, started(1))]);
        assert_eq!(look(&mut standings, &now), [], "nothing is news");
        now.steps.push(step("late"));
        now.state = RunState::Paused;
        let told = look(&mut standings, &now);
        assert!(matches!(&told[..], [(_, Event::StepAdded(info)), (_, Event::Paused)]
            if info.name == "late"));
        now.state = RunState::Running;
        assert_eq!(look(&mut standings, &now)[0].1, Event::Resumed);
        assert!(!standings.is_over());
    }

    #[test]
    fn tries_that_are_not_needed_are_not_told() {
        let mut standings = Standings::default();
        let names = ["g/a", "g{1}", "g{2}[]", "g{2}", "g{3}[]", "g{3}", "g"];
        let mut now = run(Vec::from(names.map(step)));
        now.steps[6].after = vec![0, 1, 2, 3, 4, 5];
        let mut told: Vec<(Duration, Event)> = Vec::new();
        standings.look(&now, &mut told);
        let [(_, Event::RunStarted { steps, .. })] = &told[..] else { panic!("{told:?}") };
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!((names, &steps[2].after), (vec!["g/a", "g{1}", "g"], &vec![0, 1]));
        // The second is, when its time comes; the third never.
        let end = |name: &str, state| StepStanding {
            state,
            ended_at: Some(after(2)),
            ..StepStanding::new(name, state)
        };
        now.steps[2] =
            StepStanding { started_at: Some(after(1)), ..end("g{2}[]", StepState::Succeeded) };
        now.steps[4] = end("g{3}[]", StepState::Skipped);
        let told = look(&mut standings, &now);
        let [(_, Event::StepAdded(info)), (2, last)] = &told[..] else { panic!("{told:?}") };
        assert_eq!((info.name.as_str(), last), ("g{2}[]", &ended(3, EndState::Succeeded, None)));
    }

    #[test]
    fn tries_and_waits_are_told_once_each_and_the_end_last() {
        let mut standings = Standings::default();
        let mut now = run(vec![step("flaky"), step("ask")]);
        look(&mut standings, &now);
        now.steps[0] = StepStanding {
            attempt: 1,
            started_at: Some(after(1)),
            retry_at: Some(after(9)),
            error: Some("exit code 1".to_owned()),
            ..step("flaky")
        };
        now.steps[1] = StepStanding {
            attempt: 1,
            started_at: Some(after(2)),
            waits: Some("waits for approval".to_owned()),
            asks: true,
            ..step("ask")
        };
        let retrying = |attempt, at| Event::StepRetrying {
            step: 0,
            attempt,
            at: Duration::from_secs(at),
            error: "exit code 1".to_owned(),
        };
        let waiting = Event::StepWaiting {
            step: 1,
            why: "waits for approval".to_owned(),
            answer: Some(format!("tidewheel approve {} ask", short_id(&now.run_id))),
        };
        let begun = |step| Event::StepStarted { step, attempt: 1 };
        let first = [(1, begun(0)), (1, retrying(1, 9)), (2, begun(1)), (2, waiting)];
        assert_eq!(look(&mut standings, &now), first);
        assert_eq!(look(&mut standings, &now), []);
        (now.steps[0].attempt, now.steps[0].started_at) = (2, Some(after(9)));
        now.steps[0].state = StepState::Failed;
        (now.steps[0].retry_at, now.steps[0].ended_at) = (None, Some(after(10)));
        (now.steps[1].waits, now.steps[1].state) = (None, StepState::Succeeded);
        now.steps[1].ended_at = Some(after(11));
        (now.state, now.ended_at) = (RunState::Failed, Some(after(12)));
        let second = [
            (9, Event::StepStarted { step: 0, attempt: 2 }),
            (10, ended(0, EndState::Failed, Some("exit code 1"))),
            (11, ended(1, EndState::Succeeded, None)),
            (12, Event::RunEnded { state: EndState::Failed }),
        ];
        assert_eq!(look(&mut standings, &now), second);
        assert!(standings.is_over());
        assert_eq!(look(&mut standings, &now), []);
    }
}
