//! How a session is set up, and whose runs it is for.
//!
//! Where settings come from is the surface's business.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::Clock;
use tidewheel::executor::http::AddressPolicy;
use tidewheel::executor::process::Spawner;
use tidewheel::{Attempt, Outcome, RunId};
use tidewheel_flow::Secrets;

use crate::house::InForce;

/// What makes one attempt at a task that was taken over.
pub(super) type Code =
    Arc<dyn Fn(Attempt) -> Pin<Box<dyn Future<Output = Outcome> + Send>> + Send + Sync>;

/// How a session is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// Attempts at once.
    pub slots: u32,
    /// How long somebody may be passed over; `None`: for ever.
    pub starvation_timeout: Option<Duration>,
    /// Time for processes to end by themselves.
    pub grace: Duration,
    /// Bytes that are kept of what one attempt writes.
    pub output_max: u64,
    /// What starts processes.
    pub spawner: Spawner,
    /// Where requests may go.
    pub policy: AddressPolicy,
    /// The container engine, if not the first that is there.
    pub engine: Option<String>,
    /// Tasks of the queue `default` that may wait; `None`: no bound.
    pub waiting_max: Option<u32>,
    /// What tells the time, if not the system: for tests.
    pub clock: Option<Clock>,
    /// Which version of its flow a schedule is of, if it may still fire.
    pub(crate) in_force: Option<InForce>,
    pub(super) adopted: Vec<(String, Code)>,
    /// Of runs that are taken over, fetched before.
    pub(crate) secrets: Vec<(RunId, Secrets)>,
}

impl SessionOptions {
    /// For so many attempts at once, with requests that may go to public addresses only.
    #[must_use]
    pub fn new(slots: u32) -> Self {
        Self {
            slots,
            starvation_timeout: None,
            grace: Duration::from_secs(10),
            output_max: 64 << 20,
            spawner: Spawner::this_program(),
            policy: AddressPolicy::public_only(),
            engine: None,
            waiting_max: None,
            clock: None,
            in_force: None,
            adopted: Vec::new(),
            secrets: Vec::new(),
        }
    }

    /// Code for tasks of this kind that are taken over. That of flows is there already.
    #[must_use]
    pub fn adopt<R>(
        mut self,
        kind: &str,
        code: impl Fn(Attempt) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: Future<Output = Outcome> + Send + 'static,
    {
        self.adopted.push((kind.to_owned(), Arc::new(move |attempt| Box::pin(code(attempt)))));
        self
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<&String> = self.adopted.iter().map(|(kind, _)| kind).collect();
        f.debug_struct("SessionOptions")
            .field("slots", &self.slots)
            .field("adopted", &kinds)
            .finish_non_exhaustive()
    }
}

/// Whose runs a session is for.
#[derive(Debug, Clone)]
pub enum Takeover {
    /// New ones.
    Fresh,
    /// Those of a shard whose holder died.
    Shard(String),
}
