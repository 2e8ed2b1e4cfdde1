//! What surfaces ask about flows and steps.
//!
//! Answers only; nothing is decided by them.

use std::collections::BTreeSet;
use std::time::SystemTime;

use tidewheel_core::policy::OnError;
use tidewheel_core::schedule::{Anchor, Trigger};
use tidewheel_core::time::Timestamp;

use super::definition::{Flow, FlowSchedule, Place, Step, WaitFor, Work};
use super::execute::FlowRunner;

impl Flow {
    /// Whether some step, of a called flow too, starts a process.
    #[must_use]
    pub fn has_processes(&self) -> bool {
        self.steps.iter().any(|step| match &step.work {
            Work::Process(_) => true,
            Work::Flow(child) => child.flow.has_processes(),
            _ => false,
        })
    }

    /// A step and everything that comes after it.
    #[must_use]
    pub fn descendants(&self, name: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::from([name.to_owned()]);
        loop {
            let next: Vec<String> = self
                .steps
                .iter()
                .filter(|step| !found.contains(&step.name))
                .filter(|step| step.after.iter().any(|needed| found.contains(&needed.step)))
                .map(|step| step.name.clone())
                .collect();
            if next.is_empty() {
                break;
            }
            found.extend(next);
        }
        let following = self.steps.iter().filter(|step| step.follows_run());
        found.extend(following.map(|step| step.name.clone()));
        found
    }
}

impl Step {
    /// Whether it follows the run instead of being part of it.
    #[must_use]
    pub fn follows_run(&self) -> bool {
        self.place != Place::Flow
    }

    /// Whether it waits for somebody's approval.
    #[must_use]
    pub fn waits_for_approval(&self) -> bool {
        matches!(&self.work, Work::Wait(wait) if matches!(wait.what, WaitFor::Approval(_)))
    }

    /// Whether its failure is tolerated, by its own word.
    #[must_use]
    pub fn is_tolerated(&self) -> bool {
        matches!(self.treatment.on_error, Some(OnError::Skip | OnError::Continue))
    }
}

impl FlowRunner {
    /// Whether the failure of a task is tolerated by the step's own word.
    #[must_use]
    pub fn is_tolerated(&self, task: &str) -> bool {
        self.step_of(task).is_some_and(|step| step.is_tolerated())
    }

    /// What a task waits for, in words, if it is one that waits.
    #[must_use]
    pub fn waits_for(&self, task: &str) -> Option<String> {
        let step = self.step_of(task)?;
        let Work::Wait(wait) = &step.work else { return None };
        Some(match &wait.what {
            WaitFor::Time(_) => "waits".to_owned(),
            WaitFor::Instant(_) => "waits for an instant".to_owned(),
            WaitFor::File(_) => "waits for a file".to_owned(),
            WaitFor::Http(_) => "waits for an answer".to_owned(),
            WaitFor::Approval(None) => "waits for approval".to_owned(),
            WaitFor::Approval(Some(question)) => format!("waits for approval: {question}"),
        })
    }
}

impl FlowSchedule {
    /// The next instants after now, as far as they are known before anything has run.
    #[must_use]
    pub fn next(&self, count: usize) -> Vec<Timestamp> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = Timestamp::UNIX_EPOCH.after(since);
        match &self.spec.trigger {
            Trigger::Calendar { cron, zone } => {
                let next = |at: &Timestamp| cron.next_after(*at, zone);
                std::iter::successors(cron.next_after(now, zone), next).take(count).collect()
            }
            Trigger::FixedRate { period, .. } => {
                std::iter::successors(Some(now), |at| Some(at.after(*period))).take(count).collect()
            }
            Trigger::FixedDelay { .. } => vec![now],
            Trigger::Once(Anchor::At(at)) if *at > now => vec![*at],
            _ => Vec::new(),
        }
    }
}
