//! [`Arrivals`]: what a schedule fires for that happens outside, and what of it reaches the params of a run.
//!
//! Whether a delivery is good, and which files are there, is found out by whoever keeps the schedule.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value as Json;

use super::FlowSchedule;
use crate::language::template::Context;
use crate::language::tree::Tree;

/// How far the time of a delivery may be from ours, unless something else is said.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// What a schedule fires for that happens outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arrivals {
    /// Somebody delivers something over HTTP.
    Webhook(Webhook),
    /// A file is there that was not there before.
    Files(PathBuf),
    /// There is news of runs and schedules of other flows.
    Events(Events),
}

/// Which news a schedule fires for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Events {
    /// Which.
    pub on: Vec<EventKind>,
    /// Of which flows: names, in which `*` and `?` stand for anything.
    pub of: Vec<String>,
    /// From when on a firing is late.
    pub late: Duration,
    /// When runs should have ended, from when they were accepted.
    pub deadline: Option<Duration>,
}

/// What may be news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A run failed, or none could be made.
    Failure,
    /// A run succeeded.
    Success,
    /// A firing came late, or an instant was missed.
    Late,
    /// A run is not over in time.
    Deadline,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Failure, Self::Success, Self::Late, Self::Deadline];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Success => "success",
            Self::Late => "late",
            Self::Deadline => "deadline",
        }
    }
}

impl Events {
    /// Whether news of a flow are meant.
    #[must_use]
    pub fn is_of(&self, flow: &str) -> bool {
        let fits = |of: &String| glob::Pattern::new(of).is_ok_and(|of| of.matches(flow));
        self.of.iter().any(fits)
    }
}

/// Who may deliver, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Webhook {
    /// The secrets of the flow that deliveries may be signed with: one, or two while one takes the place of the other.
    pub secrets: Vec<String>,
    /// How they are signed.
    pub signature: SignatureForm,
    /// How far the time of a delivery may be from ours, where it says one.
    pub tolerance: Duration,
    /// Whether nothing needs to be signed that comes from the same machine. Then there are no secrets.
    pub is_insecure: bool,
}

/// How deliveries are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureForm {
    /// As the Standard Webhooks say: over an id, the time and the body.
    Standard,
    /// As forges do: over the body.
    Github,
}

impl Webhook {
    /// Signed with these secrets of the flow, as the Standard Webhooks say, within five minutes.
    #[must_use]
    pub fn new(secrets: Vec<String>) -> Self {
        let (signature, tolerance) = (SignatureForm::Standard, TOLERANCE);
        Self { secrets, signature, tolerance, is_insecure: false }
    }

    /// Not signed: from the same machine alone.
    #[must_use]
    pub fn insecure() -> Self {
        Self { is_insecure: true, ..Self::new(Vec::new()) }
    }
}

impl Arrivals {
    /// The name by which templates know what arrived.
    #[must_use]
    pub fn root(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "webhook",
            Self::Files(_) => "file",
            Self::Events(_) => "event",
        }
    }
}

impl FlowSchedule {
    /// What is said of the params of a run that is made for this arrival.
    ///
    /// # Errors
    ///
    /// When something that is needed is not in it, in words.
    pub fn params_of(&self, arrival: &Json) -> Result<BTreeMap<String, Json>, String> {
        let root = self.arrivals.as_ref().map_or("arrival", Arrivals::root);
        let context = Context::new().with(root, arrival.clone());
        let rendered = self.mapping.iter().map(|(name, tree)| {
            let value = tree.render(&context).map_err(|error| error.to_string())?;
            Ok((name.clone(), value))
        });
        rendered.collect()
    }

    /// The params of a run that nothing arrived for: those that need nothing of it.
    pub(super) fn plain_params(mapping: &[(String, Tree)]) -> BTreeMap<String, Json> {
        let plain = mapping.iter().filter_map(|(name, tree)| Some((name, tree.as_value()?)));
        plain.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
}
