//! [`Follow`]: a run that goes on in a session, told as it happens.
//!
//! What is told is found out in [`super::translation`]; here it is waited for.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::observe::NoticeStream;
use tidewheel::run::RunResult;
use tidewheel::{Run, RunError, RunReport};
use tokio::time::{Instant, timeout};

use super::source::LiveRun;
use super::translation::{Progress, Teller};
use crate::session::{Session, Started};

/// How long the last notices may come after the report, or the report after them.
const LATE: Duration = Duration::from_secs(2);

/// How often it is listened to what tasks say of themselves, and looked whether anything can be stored.
const LOOK: Duration = Duration::from_millis(200);

/// The same after a notice: a task that was started says soon what it does.
const SOON: Duration = Duration::from_millis(20);

/// The report of a run that has not ended yet.
type Reporting = Pin<Box<dyn Future<Output = Result<RunReport, RunError>> + Send>>;

/// Follows a run to its end.
///
/// It is begun, asked for the [next](Follow::next) thing that happens until there is none, and
/// [finished](Follow::finish).
pub struct Follow {
    live: LiveRun,
    notices: NoticeStream,
    progress: Progress,
    /// When the run began, as far as it is followed.
    started: std::time::Instant,
    reporting: Option<Reporting>,
    report: Option<RunReport>,
    /// Why nobody can say what became of it.
    lost: Option<String>,
    /// How long notices are waited for after the report.
    deadline: Option<Instant>,
    /// When it is listened and looked again.
    look: Instant,
    result: Option<(RunResult, Duration)>,
}

impl Follow {
    /// Begins to follow a run: tells what it consists of.
    pub fn begin(session: &Session, started: Started, teller: &mut dyn Teller) -> Self {
        let listener = session.sayings.listen(started.run.id());
        let (run, wheel) = (started.run.clone(), session.wheel.clone());
        let (definition, flows) = (Arc::clone(&started.definition), session.flows.clone());
        let live = LiveRun { run, wheel, listener, definition, flows };
        let ago = wall_clock().since(started.since);
        let progress = Progress::begin(&started, &live, ago, teller);
        let now = std::time::Instant::now();
        let run = started.run.clone();
        let reporting: Reporting = Box::pin(async move { run.report().await });
        Self {
            live,
            notices: started.notices,
            progress,
            started: now.checked_sub(ago).unwrap_or(now),
            reporting: Some(reporting),
            report: None,
            lost: None,
            deadline: None,
            look: Instant::now(),
            result: None,
        }
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> &Run {
        &self.live.run
    }

    /// The time since the start of the run.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits until something happens and tells it; false when the run is over. It may be given up at any
    /// time: what has not been told is told by the next call.
    pub async fn next(&mut self, teller: &mut dyn Teller) -> bool {
        tokio::select! {
            // What has ended is told before what starts because of it.
            biased;
            notice = self.notices.recv() => match notice {
                Some(Ok(notice)) => {
                    self.look = self.look.min(Instant::now() + SOON);
                    self.result = self.progress.notice(&self.live, &notice, teller);
                    return self.result.is_none();
                }
                // They came faster than they were told.
                Some(Err(_)) => {
                    let now = self.now();
                    self.progress.catch_up(&self.live, now, teller);
                }
                None => return false,
            },
            report = reported(&mut self.reporting) => {
                self.take(report);
                self.reporting = None;
                // The last notice comes with the report, or soon after.
                self.deadline = Some(Instant::now() + LATE);
            }
            () = late(self.deadline) => return false,
            () = tokio::time::sleep_until(self.look) => {
                self.look = Instant::now() + LOOK;
                self.hear(teller);
                let now = self.now();
                self.progress.look(&self.live, now, teller);
            }
        }
        true
    }

    /// Tells what tasks have said of themselves meanwhile.
    pub fn hear(&mut self, teller: &mut dyn Teller) {
        let now = self.now();
        self.progress.hear(&self.live, now, teller);
    }

    fn take(&mut self, report: Result<RunReport, RunError>) {
        match report {
            Ok(report) => self.report = Some(report),
            Err(error) => self.lost = Some(error.to_string()),
        }
    }

    /// Tells what no notice has told, and the end. Gives why the run did not come to one here, if it did not:
    /// the store was lost, or somebody else has it now.
    pub async fn finish(mut self, teller: &mut dyn Teller) -> Option<String> {
        if let Some(reporting) = self.reporting.take()
            && let Ok(report) = timeout(LATE, reporting).await
        {
            self.take(report);
        }
        self.hear(teller);
        let now = self.now();
        self.progress.finish(&self.live, self.result, self.report.as_ref(), now, teller);
        self.lost
    }
}

/// The report, as soon as it is there; it comes only once.
async fn reported(reporting: &mut Option<Reporting>) -> Result<RunReport, RunError> {
    match reporting {
        Some(reporting) => reporting.await,
        None => std::future::pending().await,
    }
}

async fn late(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow").field("run", &self.live.run.id()).finish_non_exhaustive()
    }
}
