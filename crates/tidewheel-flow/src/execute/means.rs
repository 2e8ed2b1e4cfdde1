//! [`Means`]: what a flow needs of the world around it.
//!
//! Each thing is made when it is first needed: a flow without processes starts no spawner.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tidewheel::TaskId;
use tidewheel::executor::http::{AddressPolicy, HttpClient};
use tidewheel::executor::process::{ProcessError, Processes, ProcessesBuilder};
use tidewheel::store::{Answer, AttemptRecord};
use tokio::sync::OnceCell;

/// What a flow needs of the world around it.
pub struct Means {
    processes: OnceCell<Processes>,
    builder: ProcessesBuilder,
    http: OnceCell<HttpClient>,
    policy: AddressPolicy,
    pub(super) record: Box<dyn Fn(AttemptRecord) + Send + Sync>,
    pub(super) told: Box<Told>,
    pub(super) cache: Option<PathBuf>,
    pub(super) answers: Option<Arc<dyn Answers>>,
}

/// Hears what tasks do.
type Told = dyn Fn(TaskId, Progress<'_>) + Send + Sync;

/// What a task does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<'a> {
    /// There is something to do: its condition holds, and nothing that was kept is used instead.
    Began {
        /// The number of the attempt.
        attempt: u32,
    },
    /// It starts this command, as far as it may be shown.
    Command(&'a str),
}

/// What people said to steps that wait for them.
pub trait Answers: Send + Sync {
    /// The answer to a step, if there is one.
    fn answer(&self, task: TaskId) -> Option<Answer>;
}

impl Means {
    /// Processes to be started so, requests that may go anywhere, nothing kept.
    #[must_use]
    pub fn new(builder: ProcessesBuilder) -> Self {
        Self {
            processes: OnceCell::new(),
            builder,
            http: OnceCell::new(),
            policy: AddressPolicy::open(),
            record: Box::new(|_| ()),
            told: Box::new(|_, _| ()),
            cache: None,
            answers: None,
        }
    }

    /// Where requests may go.
    #[must_use]
    pub fn policy(mut self, policy: AddressPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Who keeps what is known of ended attempts.
    #[must_use]
    pub fn record(mut self, record: impl Fn(AttemptRecord) + Send + Sync + 'static) -> Self {
        self.record = Box::new(record);
        self
    }

    /// Who is told what tasks do.
    #[must_use]
    pub fn told(mut self, told: impl Fn(TaskId, Progress<'_>) + Send + Sync + 'static) -> Self {
        self.told = Box::new(told);
        self
    }

    /// The folder for what steps with `cache:` left.
    #[must_use]
    pub fn cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Who knows what people said.
    #[must_use]
    pub fn answers(mut self, answers: Arc<dyn Answers>) -> Self {
        self.answers = Some(answers);
        self
    }

    /// The processes, which are set up now if they were not before.
    ///
    /// # Errors
    ///
    /// When the spawner cannot be started.
    pub async fn processes(&self) -> Result<&Processes, ProcessError> {
        self.processes.get_or_try_init(|| self.builder.clone().start()).await
    }

    pub(super) async fn http(&self) -> Result<&HttpClient, String> {
        let make = || async {
            let client = HttpClient::builder().policy(self.policy.clone()).build();
            client.map_err(|error| error.to_string())
        };
        self.http.get_or_try_init(make).await
    }
}

impl fmt::Debug for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Means").field("cache", &self.cache).finish_non_exhaustive()
    }
}
