//! Publishes as a kind of work: understood from what is kept with a run, made again, taken over.
//!
//! What an attempt does is in [`super::attempt`].

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tidewheel::clock::wall_clock;
use tidewheel::store::RunDetail;
use tidewheel::{Graph, Run, RunId, Timestamp};
use tidewheel_client::api::{OneTimeCode, Refusal, RefusalKind, RetryWish};
use tidewheel_client::desk::{DeskError, RunView};
use tidewheel_client::kind::{Definition, Doing, Kind, Retry, Startable, Timeouts};
use tidewheel_client::session::{Session, SessionOptions};

use super::code::hand;
use super::journal::{Journal, Phase};
use super::lock::WorkspaceLock;
use super::order::{PublishOrder, ours};
use super::publisher::Publisher;
use crate::pack::{Checkout, checkout};

/// The kind of publishes.
pub const PUBLISH_KIND: &str = "publish";

/// Publishes, as a kind of work: they are shown, paused and cancelled like all runs. Only `tidewheel publish` goes on with them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Publishes;

impl Kind for Publishes {
    fn word(&self) -> &'static str {
        PUBLISH_KIND
    }

    fn read(&self, run: &RunDetail) -> Result<Arc<dyn Definition>, DeskError> {
        Ok(Arc::new(Published(order_of(run)?)))
    }

    fn hand_code(
        &self,
        run: &RunDetail,
        step: &str,
        by: &str,
        code: Option<&OneTimeCode>,
    ) -> Result<(), DeskError> {
        let order = order_of(run)?;
        hand(ours(&order.packed), by, code.map(OneTimeCode::reveal)).map_err(|error| {
            let message = format!("nobody waits for a one-time code for {step}: {error}");
            let hint = format!(
                "run `tidewheel publish` in {}: it says what it wants",
                order.root.display()
            );
            refusal(RefusalKind::Conflict, message, &hint)
        })
    }

    fn retry(&self, past: &RunView, _: &RetryWish) -> Result<Retry, DeskError> {
        refuse(&past.detail)
    }

    fn check_resume(&self, past: &RunView, _: bool) -> Result<(), DeskError> {
        refuse(&past.detail)
    }

    fn resume(&self, past: &RunView) -> Result<Box<dyn Startable>, DeskError> {
        refuse(&past.detail)
    }
}

/// Whoever only knows how runs are carried out has nobody's leave to upload anything, does not ask registries what is out,
/// and does nothing of what follows.
fn refuse<T>(run: &RunDetail) -> Result<T, DeskError> {
    let root = order_of(run)?.root;
    let message = "a publish goes on where its workspace and its tokens are";
    let hint = format!(
        "run `tidewheel publish` in {}: it finishes what is left, and what follows",
        root.display()
    );
    Err(refusal(RefusalKind::Refused, message.to_owned(), &hint))
}

/// What is here now that was not when it was packed, if it was packed from a commit. Files that git does not know are left
/// by tools that pack in place.
fn difference(order: &PublishOrder, now: Option<&Checkout>) -> Option<String> {
    let then = order.commit.as_ref()?;
    let commit = now.and_then(|it| it.commit.as_deref()).unwrap_or("nothing");
    if commit != then {
        return Some(format!("it was packed from commit {then}, and {commit} is checked out now"));
    }
    let changes = now.map(|it| it.changes.as_slice()).unwrap_or_default();
    let changes: Vec<&String> = changes.iter().filter(|it| !it.starts_with("??")).collect();
    let first = changes.first()?.trim();
    let more = match changes.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(format!("it was packed from commit {then}, of which this is changed now: {first}{more}"))
}

/// What was asked for when a run was started.
fn order_of(run: &RunDetail) -> Result<PublishOrder, DeskError> {
    PublishOrder::of_run(run).ok_or(DeskError::UnknownKind { run: run.summary.id })
}

fn refusal(kind: RefusalKind, message: String, hint: &str) -> DeskError {
    DeskError::OfKind(Box::new(Refusal {
        kind,
        exit_code: None,
        message,
        hints: vec![hint.to_owned()],
        position: None,
        problems: None,
        changes: Vec::new(),
    }))
}

/// What is known of the packages of a run.
#[derive(Debug)]
struct Published(PublishOrder);

impl Definition for Published {
    /// Its looks at a registry are one attempt for people.
    fn is_wait(&self, _: &str) -> bool {
        true
    }

    /// Looks that follow each other are a story of one package.
    fn has_one_log(&self, _: &str) -> bool {
        true
    }

    fn waits_for(&self, task: &str) -> Option<String> {
        let package = self.0.package(task)?;
        let journal = Journal::load(&Journal::path(&self.0.packed, &package.id()));
        let until = journal.until.map(Timestamp::from_micros).filter(|it| *it > wall_clock());
        match (journal.code_since, journal.codes) {
            (Some(_), 0) => {
                return Some("asks for a one-time code, which its registry wants".to_owned());
            }
            (Some(_), codes) => {
                return Some(format!(
                    "asks for another one-time code: its registry took none of {codes}"
                ));
            }
            (None, _) => {}
        }
        Some(match (until, journal.phase) {
            (Some(until), _) => format!("waits for its registry, which takes none before {until}"),
            (None, Phase::Uploaded) => "waits until its registry shows it".to_owned(),
            (None, _) => "waits for its registry".to_owned(),
        })
    }

    fn asks(&self, task: &str) -> bool {
        let package = self.0.package(task);
        let journal = package.map(|it| Journal::load(&Journal::path(&self.0.packed, &it.id())));
        journal.is_some_and(|it| it.code_since.is_some())
    }

    /// It asks for nothing else.
    fn wants_code(&self, task: &str) -> bool {
        self.asks(task)
    }

    fn work_of(&self, _: &str) -> Option<&'static str> {
        Some(PUBLISH_KIND)
    }

    fn timeouts(&self, _: &str) -> Timeouts {
        Timeouts { attempt: Some(self.0.options.timeout), task: None }
    }

    fn attempts_max(&self, _: &str) -> Option<u32> {
        Some(self.0.options.retries + 1)
    }
}

/// A publish that can be started, or taken over.
#[derive(Debug)]
pub struct PublishRun {
    order: PublishOrder,
    name: String,
    publisher: Arc<Publisher>,
    /// Held as long as it goes on.
    _lock: WorkspaceLock,
}

impl PublishRun {
    /// A publish of this order by whoever holds the lock of the workspace.
    #[must_use]
    pub fn new(order: PublishOrder, publisher: Arc<Publisher>, lock: WorkspaceLock) -> Self {
        Self { name: name_of(&order), order, publisher, _lock: lock }
    }

    /// Finds out whether what a run that was left was packed from is what there is now: what is left of a release is
    /// published from what the rest of it was.
    ///
    /// # Errors
    ///
    /// When it is not, unless it is to go on as it was started.
    pub fn check_left(&self, run: RunId, is_as_started: bool) -> Result<(), DeskError> {
        match difference(&self.order, checkout(self.publisher.around()).as_ref()) {
            Some(message) if !is_as_started => {
                let hint = format!(
                    "`tidewheel publish resume --as-started` goes on with what was packed then; `tidewheel cancel {run}` ends it, \
                     and `tidewheel publish` then publishes what is here"
                );
                Err(refusal(RefusalKind::Conflict, message, &hint))
            }
            _ => Ok(()),
        }
    }

    /// What it was started with.
    #[must_use]
    pub fn order(&self) -> &PublishOrder {
        &self.order
    }

    /// What its attempts share.
    #[must_use]
    pub fn publisher(&self) -> &Arc<Publisher> {
        &self.publisher
    }
}

/// Removes what was packed of other states of the tree: whoever holds the lock needs it no more.
fn sweep(packed: &Path) {
    let Some(all) = packed.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return };
    for other in all.filter_map(Result::ok).filter(|entry| entry.path() != packed) {
        // What cannot be removed takes room, and nothing else.
        let _ = fs::remove_dir_all(other.path());
    }
}

fn name_of(order: &PublishOrder) -> String {
    let folder = order.root.file_name().map(|name| name.to_string_lossy().into_owned());
    format!("publish {}", folder.unwrap_or_default()).trim_end().to_owned()
}

impl Startable for PublishRun {
    fn name(&self) -> &str {
        &self.name
    }

    fn workers(&self) -> u32 {
        self.order.options.concurrency
    }

    fn definition(&self) -> Arc<dyn Definition> {
        Arc::new(Published(self.order.clone()))
    }

    fn prepare(&self, session: &Session) {
        // Whoever was first has set the same.
        let _ = self.publisher.sayings.set(Arc::clone(&session.sayings));
        self.publisher.diary.keep_in(session.folder.logs_dir());
    }

    fn hand_over(&self, _: RunId, options: &mut SessionOptions) {
        let publisher = Arc::clone(&self.publisher);
        *options = options.clone().adopt(PUBLISH_KIND, move |attempt| {
            let publisher = Arc::clone(&publisher);
            async move { publisher.attempt(attempt).await }
        });
    }

    fn start<'a>(
        &'a self,
        session: &'a Session,
        _: &'a BTreeMap<String, Duration>,
    ) -> Doing<'a, Run> {
        Box::pin(async move {
            sweep(&self.order.packed);
            for package in &self.order.packages {
                Journal::begin(&Journal::path(&self.order.packed, &package.id()));
            }
            let mut graph = Graph::builder();
            for package in &self.order.packages {
                graph.task(package.id().to_string()).after(package.after.clone());
            }
            let graph = graph.build().map_err(|error| {
                refusal(RefusalKind::Input, error.to_string(), "see `tidewheel publish graph`")
            })?;
            let out = self.order.packages.iter().filter(|it| it.is_out);
            let out: Vec<String> = out.map(|package| package.id().to_string()).collect();
            let (options, publisher) = (&self.order.options, Arc::clone(&self.publisher));
            let run = session.wheel.run(graph, move |task| {
                let publisher = Arc::clone(&publisher);
                async move { publisher.attempt(task.as_attempt()).await }
            });
            let run = run
                .name(&self.name)
                .kind(PUBLISH_KIND)
                .payload(self.order.to_bytes())
                .concurrency(options.concurrency)
                .retries(options.retries)
                .base_delay(options.retry_base_delay)
                .attempt_timeout(options.timeout)
                .already_done(out)
                .start();
            Ok(run?)
        })
    }
}
