//! A run as flowtoy 0.4 tells of it: every field of its two servers, which each lack some.
//!
//! Only one number differs: a skipped step counts as completed, so that a run that is over reaches its total. These are not
//! documents of ours: they have no version, and their form is flowtoy's.

use serde::Serialize;
use tidewheel::Timestamp;
use utoipa::ToSchema;

use super::{Named, RunResult, StepResult, StepState, Values};

/// A run at one moment, as flowtoy's screen and page read it. Times are seconds since the epoch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct FlowtoyStatus {
    /// The run's identity.
    pub run_id: String,
    /// When it was accepted.
    pub started_at: Option<f64>,
    /// When it ended; that is how flowtoy tells that it is over.
    pub ended_at: Option<f64>,
    /// How many steps it has.
    pub total_steps: usize,
    /// How many of them are over.
    pub completed_steps: usize,
    /// The names of those that run.
    pub running_steps: Vec<String>,
    /// How many run.
    pub running_count: usize,
    /// The first of them.
    pub current_step: Option<String>,
    /// Its steps, in the order of the flow.
    #[schema(value_type = BTreeMap<String, FlowtoyStep>)]
    pub steps: Named<FlowtoyStep>,
}

/// A step at the same moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct FlowtoyStep {
    /// How it stands, in one of flowtoy's words: pending, running, succeeded, failed or skipped.
    pub state: String,
    /// When its newest attempt started.
    pub started_at: Option<f64>,
    /// When it ended.
    pub ended_at: Option<f64>,
    /// Our own word for its state where flowtoy has none, and what went wrong.
    pub notes: Vec<String>,
    /// The names of what it left.
    pub outputs: Vec<String>,
}

/// What the steps of a run left, by step and name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = BTreeMap<String, Values>)]
pub struct FlowtoyOutputs(pub Named<Values>);

impl FlowtoyStatus {
    /// A run with these steps.
    #[must_use]
    pub fn of_steps(run_id: String, steps: Named<FlowtoyStep>) -> Self {
        let names = |state: &str| {
            let those = steps.0.iter().filter(|(_, step)| step.state == state);
            those.map(|(name, _)| name.clone()).collect::<Vec<String>>()
        };
        let running_steps = names("running");
        Self {
            run_id,
            started_at: None,
            ended_at: None,
            total_steps: steps.0.len(),
            completed_steps: steps.0.len() - names("pending").len() - running_steps.len(),
            running_count: running_steps.len(),
            current_step: running_steps.first().cloned(),
            running_steps,
            steps,
        }
    }
}

impl From<&RunResult> for FlowtoyStatus {
    fn from(run: &RunResult) -> Self {
        let steps = run.steps.0.iter().map(|(name, step)| (name.clone(), step.into())).collect();
        Self {
            started_at: Some(seconds(run.accepted_at)),
            ended_at: run.ended_at.map(seconds),
            ..Self::of_steps(run.run_id.clone(), Named(steps))
        }
    }
}

impl From<&StepResult> for FlowtoyStep {
    fn from(step: &StepResult) -> Self {
        let (own, state) = (step.state.word(), flowtoy_state(step.state));
        let error = match step.state {
            StepState::Succeeded => None,
            _ => step.error.clone().or_else(|| step.reason.clone()),
        };
        Self {
            state: state.to_owned(),
            started_at: step.started_at.map(seconds),
            ended_at: step.ended_at.map(seconds),
            notes: (own != state).then(|| own.to_owned()).into_iter().chain(error).collect(),
            outputs: step.outputs.keys().cloned().collect(),
        }
    }
}

/// The states that flowtoy has. Whatever else did not go well is a failure there: readers tell a run that went well by the
/// absence of one.
fn flowtoy_state(state: StepState) -> &'static str {
    match state.word() {
        own @ ("pending" | "running" | "succeeded" | "skipped") => own,
        _ => "failed",
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.as_micros() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]

    use serde_json::{Value as Json, json};

    use super::*;
    use crate::api::RunState;

    fn step(state: StepState) -> StepResult {
        StepResult {
            state,
            reason: None,
            tolerated: false,
            attempts: 1,
            element: None,
            tags: Vec::new(),
            started_at: None,
            ended_at: None,
            code: None,
            error: None,
            timeout: None,
            warnings: Vec::new(),
            outputs: Values::default(),
        }
    }

    fn status(steps: Vec<(&str, StepResult)>) -> Json {
        let steps = steps.into_iter().map(|(name, step)| (name.to_owned(), step)).collect();
        let run = RunResult {
            version: None,
            run_id: "r1".to_owned(),
            flow: None,
            state: RunState::Running,
            accepted_at: Timestamp::from_micros(1_000_500_000),
            started_at: None,
            ended_at: None,
            reason: None,
            made_room: false,
            tags: Vec::new(),
            params: Default::default(),
            origin: None,
            hints: Vec::new(),
            steps: Named(steps),
            outputs: Named::default(),
            artifacts: Vec::new(),
        };
        serde_json::to_value(FlowtoyStatus::from(&run)).unwrap()
    }

    /// The document of a step of which only the state is known.
    fn blank(state: &str) -> Json {
        json!({ "state": state, "started_at": null, "ended_at": null, "notes": [], "outputs": [] })
    }

    #[test]
    fn it_has_the_fields_of_both_servers_of_flowtoy() {
        let Json::Object(left) = json!({ "body": "x", "code": 1 }) else { unreachable!() };
        let fetch = StepResult {
            started_at: Some(Timestamp::from_micros(1_000_500_000)),
            ended_at: Some(Timestamp::from_micros(1_002_000_000)),
            outputs: Values::from(left),
            ..step(StepState::Succeeded)
        };
        let error = Some("exit status 3".to_owned());
        let parse = StepResult { error, ..step(StepState::Failed) };
        let steps = vec![
            ("fetch", fetch),
            ("parse", parse),
            ("report", step(StepState::Skipped)),
            ("one", step(StepState::Running)),
            ("another", step(StepState::Running)),
            ("last", step(StepState::Pending)),
        ];
        assert_eq!(
            status(steps),
            json!({
                "run_id": "r1",
                "started_at": 1000.5,
                "ended_at": null,
                "total_steps": 6,
                "completed_steps": 3,
                "running_steps": ["one", "another"],
                "running_count": 2,
                "current_step": "one",
                "steps": {
                    "fetch": {
                        "state": "succeeded", "started_at": 1000.5, "ended_at": 1002.0,
                        "notes": [], "outputs": ["body", "code"],
                    },
                    "parse": {
                        "state": "failed", "started_at": null, "ended_at": null,
                        "notes": ["exit status 3"], "outputs": [],
                    },
                    "report": blank("skipped"),
                    "one": blank("running"),
                    "another": blank("running"),
                    "last": blank("pending"),
                },
            })
        );
    }

    #[test]
    fn states_that_flowtoy_lacks_are_failures_with_a_note() {
        let error = Some("the owner died".to_owned());
        let unknown = StepResult { error, ..step(StepState::Unknown) };
        let status = status(vec![("a", step(StepState::Cancelled)), ("b", unknown)]);
        assert_eq!(status["steps"]["a"]["state"], "failed");
        assert_eq!(status["steps"]["a"]["notes"], json!(["cancelled"]));
        assert_eq!(status["steps"]["b"]["state"], "failed");
        assert_eq!(status["steps"]["b"]["notes"], json!(["unknown", "the owner died"]));
        assert_eq!(status["completed_steps"], 2);
    }
}
