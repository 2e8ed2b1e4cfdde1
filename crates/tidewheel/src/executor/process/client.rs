//! [`Processes`]: runs commands as processes, by way of a spawner that it starts when needed.
//!
//! One attempt from start to end is in `run.rs`.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::command::Inheritance;
use super::connection::Connection;
use super::error::ProcessError;
use super::spawner::Spawner;
use super::wire::Request;

const OUTPUT_MAX: u64 = 64 << 20;
const GRACE: Duration = Duration::from_secs(10);

/// Runs commands as processes. Clones share one spawner; when the last is dropped, the spawner
/// ends what still runs, and itself.
#[derive(Debug, Clone)]
pub struct Processes {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub settings: ProcessesBuilder,
    pub inheritance: Inheritance,
    mark: Arc<str>,
    current: Mutex<Option<Arc<Connection>>>,
    /// Held while a spawner starts, so that only one does.
    starting: tokio::sync::Mutex<()>,
}

/// How [`Processes`] shall work.
#[derive(Debug, Clone)]
#[must_use]
pub struct ProcessesBuilder {
    pub(super) spawner: Spawner,
    pub(super) mark: String,
    pub(super) logs: Option<PathBuf>,
    pub(super) grace: Duration,
    pub(super) output_max: u64,
    pub(super) held: Option<Arc<OwnedFd>>,
}

impl Processes {
    /// Sets up how processes are run.
    pub fn builder() -> ProcessesBuilder {
        ProcessesBuilder {
            spawner: Spawner::this_program(),
            mark: "tidewheel".to_owned(),
            logs: None,
            grace: GRACE,
            output_max: OUTPUT_MAX,
            held: None,
        }
    }

    /// How long processes have to end by themselves where nobody says otherwise.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.shared.settings.grace
    }

    /// The mark in the cookies of its processes; see [`super::end_survivors`].
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.shared.mark
    }
}

impl ProcessesBuilder {
    /// The program that starts children. [`Spawner::this_program`] unless set.
    pub fn spawner(mut self, spawner: Spawner) -> Self {
        self.spawner = spawner;
        self
    }

    /// What marks processes as those of one place, such as a data folder: it comes first in their
    /// cookies. Two that may end each other's survivors must have different marks.
    pub fn mark(mut self, mark: impl Into<String>) -> Self {
        self.mark = mark.into();
        self
    }

    /// The folder for log files, `<run>/<index>-<attempt>.out` and `.err`. None are written
    /// unless set.
    pub fn logs(mut self, folder: impl Into<PathBuf>) -> Self {
        self.logs = Some(folder.into());
        self
    }

    /// How long processes may take to end after TERM where nobody says otherwise, such as when the
    /// spawner is lost. 10 s unless set.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How many bytes of each stream of a process are kept in its log file, unless its command
    /// says otherwise. 64 MiB unless set.
    pub fn output_max(mut self, bytes: u64) -> Self {
        self.output_max = bytes;
        self
    }

    /// A descriptor that stays open until the last process is gone, even if we are killed first:
    /// the lock on what the processes belong to. So nobody can take over, and start anything, while
    /// one of them lives.
    pub fn hold(mut self, lock: OwnedFd) -> Self {
        self.held = Some(Arc::new(lock));
        self
    }

    /// Starts the spawner.
    ///
    /// # Errors
    ///
    /// If the mark is impossible, or the program given cannot be started or is no spawner.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime, or in one without time and IO.
    pub async fn start(self) -> Result<Processes, ProcessError> {
        if self.mark.is_empty() || self.mark.contains('\0') {
            return Err(ProcessError::InvalidCommand {
                why: "the mark of cookies is empty or holds a zero byte",
            });
        }
        let shared = Shared {
            mark: self.mark.as_str().into(),
            settings: self,
            inheritance: Inheritance::new(),
            current: Mutex::new(None),
            starting: tokio::sync::Mutex::new(()),
        };
        let processes = Processes { shared: Arc::new(shared) };
        processes.shared.connection().await?;
        Ok(processes)
    }
}

impl Shared {
    /// The spawner that runs, or a new one.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, ProcessError> {
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let _starting = self.starting.lock().await;
        if let Some(connection) = self.current() {
            return Ok(connection);
        }
        let Self { settings, mark, .. } = self;
        let opened = Connection::open(&settings.spawner, Arc::clone(mark), settings.grace).await;
        let connection = opened.map_err(|source| ProcessError::SpawnerNotStarted {
            program: settings.spawner.path().unwrap_or_default(),
            source,
        })?;
        if let Some(held) = &settings.held {
            let copy = held.try_clone().map_err(|source| ProcessError::Descriptors { source })?;
            connection.send(&Request::Hold, vec![copy]);
        }
        *self.slot() = Some(Arc::clone(&connection));
        Ok(connection)
    }

    fn current(&self) -> Option<Arc<Connection>> {
        self.slot().as_ref().filter(|connection| !connection.is_lost()).map(Arc::clone)
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Arc<Connection>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(connection) = self.slot().take() {
            connection.close();
        }
    }
}
