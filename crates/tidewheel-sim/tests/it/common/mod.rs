//! A bare scheduler for the models: no store, no executor, one input a turn.

use tidewheel_core::decision::{Action, Outputs, Start};
use tidewheel_core::input::{Command, Event, Failure, Outcome};
use tidewheel_core::spec::Config;
use tidewheel_core::time::{Now, Timestamp};
use tidewheel_core::{Decision, Input, Scheduler};

/// A scheduler and the clocks it is told.
pub struct Bare {
    /// The scheduler under test.
    pub scheduler: Scheduler,
    /// What it is told about the time; it stands still unless a test moves it.
    pub now: Now,
    decision: Decision,
}

impl Bare {
    /// A fresh one.
    pub fn new(config: Config) -> Self {
        let now = Now { wall: Timestamp::from_seconds(1_800_000_000), ..Now::default() };
        Self { scheduler: Scheduler::new(config), now, decision: Decision::volatile() }
    }

    /// Steps one input.
    pub fn step(&mut self, input: Input) -> Outputs {
        self.decision.clear();
        self.scheduler.step(self.now, input, &mut self.decision);
        std::mem::take(self.decision.open().expect("nothing is to be stored"))
    }

    /// Steps a command that must be accepted.
    pub fn ask(&mut self, command: Command) -> Outputs {
        let outputs = self.step(Input::Command(command));
        assert!(matches!(outputs.replies[..], [Ok(_)]), "{:?}", outputs.replies);
        outputs
    }

    /// Reports that an attempt failed, or succeeded.
    pub fn end(&mut self, start: Start, fails: bool) -> Outputs {
        self.end_with(start, if fails { failed() } else { Outcome::Succeeded })
    }

    /// Reports how an attempt ended.
    pub fn end_with(&mut self, start: Start, outcome: Outcome) -> Outputs {
        let (task, attempt) = (start.task, start.attempt);
        self.step(Input::Event(Event::AttemptEnded { task, attempt, outcome }))
    }
}

/// A plain failure.
pub fn failed() -> Outcome {
    Outcome::Failed(Box::new(Failure { message: "no".into(), ..Failure::default() }))
}

/// The attempts that outputs start, in order.
pub fn starts(outputs: &Outputs) -> impl Iterator<Item = Start> + '_ {
    outputs.actions.iter().filter_map(|action| match action {
        Action::StartAttempt(start) => Some(*start),
        _ => None,
    })
}
