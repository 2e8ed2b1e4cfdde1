//! `/status` as flowtoy 0.4 writes it: every field of its two servers, which each lack some.
//!
//! Only one number differs: a skipped step counts as completed, so that a run that is over reaches
//! its total. Who is asked for the state, and when, is in [`super::site`].

use serde::ser::{Serialize, Serializer};

use super::source::{RunStatus, StepStatus};

/// Writes the answer to `/status`.
pub(super) fn status_document(status: &RunStatus) -> serde_json::Result<Vec<u8>> {
    let is_running = |step: &&StepStatus| step.state == "running";
    let running: Vec<&str> =
        status.steps.iter().filter(is_running).map(|step| step.name.as_str()).collect();
    serde_json::to_vec(&StatusDocument {
        run_id: &status.run_id,
        started_at: status.started_at,
        ended_at: status.ended_at,
        total_steps: status.steps.len(),
        completed_steps: status.steps.iter().filter(|step| has_ended(step.state)).count(),
        running_count: running.len(),
        current_step: running.first().copied(),
        running_steps: running,
        steps: Steps(&status.steps),
    })
}

#[derive(serde::Serialize)]
struct StatusDocument<'a> {
    run_id: &'a str,
    started_at: Option<f64>,
    ended_at: Option<f64>,
    total_steps: usize,
    completed_steps: usize,
    running_steps: Vec<&'a str>,
    running_count: usize,
    current_step: Option<&'a str>,
    steps: Steps<'a>,
}

/// An object by name. The maps of `serde_json` would sort it.
struct Steps<'a>(&'a [StepStatus]);

impl Serialize for Steps<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|step| (&step.name, StepDocument::of(step))))
    }
}

#[derive(serde::Serialize)]
struct StepDocument<'a> {
    state: &'static str,
    started_at: Option<f64>,
    ended_at: Option<f64>,
    notes: Vec<&'a str>,
    outputs: &'a [String],
}

impl<'a> StepDocument<'a> {
    fn of(step: &'a StepStatus) -> Self {
        let state = flowtoy_state(step.state);
        let own_word = (state != step.state).then_some(step.state);
        Self {
            state,
            started_at: step.started_at,
            ended_at: step.ended_at,
            notes: own_word.into_iter().chain(step.error.as_deref()).collect(),
            outputs: &step.outputs,
        }
    }
}

/// The states that flowtoy has. Whatever else did not go well is a failure there: readers of
/// `/status` tell a run that went well by the absence of one. Our own word becomes a note.
fn flowtoy_state(state: &'static str) -> &'static str {
    match state {
        "pending" | "running" | "succeeded" | "skipped" => state,
        _ => "failed",
    }
}

fn has_ended(state: &str) -> bool {
    !matches!(state, "pending" | "running")
}
