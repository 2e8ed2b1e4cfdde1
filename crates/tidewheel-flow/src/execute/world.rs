//! [`World`]: what steps have done by others, and see of what is around them.
//!
//! [`ThisMachine`] is the real one. When anything is done, and what its end means, is not known here.

use std::ffi::OsString;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use tidewheel::Attempt;
use tidewheel::executor::http::{
    AddressPolicy, AttemptId, HttpClient, HttpEnd, HttpFailure, HttpRequest, Proxies,
};
use tidewheel::executor::process::{
    ProcessCommand, ProcessEnd, ProcessError, Processes, ProcessesBuilder, Stop,
};
use tidewheel::id::TaskId;
use tokio::sync::OnceCell;

/// What is going to be there.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What steps have done by others, and see of what is around them.
///
/// Everything that a run of a flow does outside of the scheduler goes through here, but for files,
/// which are read where they are. So flows can be run with a world that is made up: see the scenarios
/// of this crate.
pub trait World: fmt::Debug + Send + Sync + 'static {
    /// Runs the process of an attempt to its end. If the attempt is told to stop, so is the process.
    fn run<'a>(
        &'a self,
        attempt: &'a Attempt,
        command: &'a ProcessCommand,
    ) -> Pending<'a, Result<ProcessEnd, ProcessError>>;

    /// Sends the request of an attempt, once.
    fn send<'a>(
        &'a self,
        attempt: &'a Attempt,
        request: &'a HttpRequest,
    ) -> Pending<'a, Result<HttpEnd, HttpFailure>>;

    /// Runs a program that belongs to no attempt, for what it prints. If it has not ended by then, it is
    /// ended, with all that it started.
    fn ask<'a>(
        &'a self,
        command: &'a ProcessCommand,
        time_max: Duration,
    ) -> Pending<'a, Result<ProcessEnd, ProcessError>>;

    /// The variables of the environment.
    fn variables(&self) -> Vec<(OsString, OsString)>;
}

/// Processes and requests of this machine.
///
/// Each thing is made when it is first needed: a flow without processes starts no spawner.
pub struct ThisMachine {
    processes: OnceCell<Processes>,
    builder: ProcessesBuilder,
    http: OnceCell<HttpClient>,
    policy: AddressPolicy,
}

impl ThisMachine {
    /// Processes to be started so, and requests that may go anywhere, through the proxies that our
    /// environment says.
    #[must_use]
    pub fn new(builder: ProcessesBuilder) -> Self {
        let policy = AddressPolicy::open();
        Self { processes: OnceCell::new(), builder, http: OnceCell::new(), policy }
    }

    /// Where requests may go.
    #[must_use]
    pub fn policy(mut self, policy: AddressPolicy) -> Self {
        self.policy = policy;
        self
    }

    async fn processes(&self) -> Result<&Processes, ProcessError> {
        self.processes.get_or_try_init(|| self.builder.clone().start()).await
    }

    async fn http(&self) -> Result<&HttpClient, HttpFailure> {
        let make = || async {
            let proxies = Proxies::of_variables(|name| std::env::var(name).ok());
            let builder = HttpClient::builder().policy(self.policy.clone());
            let client = builder.proxies(proxies).build();
            client.map_err(|error| HttpFailure::impossible(error.to_string()))
        };
        self.http.get_or_try_init(make).await
    }
}

impl World for ThisMachine {
    fn run<'a>(
        &'a self,
        attempt: &'a Attempt,
        command: &'a ProcessCommand,
    ) -> Pending<'a, Result<ProcessEnd, ProcessError>> {
        Box::pin(async move { self.processes().await?.run_attempt(attempt, command).await })
    }

    fn send<'a>(
        &'a self,
        attempt: &'a Attempt,
        request: &'a HttpRequest,
    ) -> Pending<'a, Result<HttpEnd, HttpFailure>> {
        Box::pin(async move { self.http().await?.run_attempt(attempt, request).await })
    }

    fn ask<'a>(
        &'a self,
        command: &'a ProcessCommand,
        time_max: Duration,
    ) -> Pending<'a, Result<ProcessEnd, ProcessError>> {
        Box::pin(async move {
            let stop = async {
                tokio::time::sleep(time_max).await;
                Stop { grace: Duration::ZERO }
            };
            // It belongs to no run.
            let nobody = AttemptId { task: TaskId::default(), number: 0 };
            self.processes().await?.run(nobody, command, stop).await
        })
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        std::env::vars_os().collect()
    }
}

impl fmt::Debug for ThisMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThisMachine").finish_non_exhaustive()
    }
}
