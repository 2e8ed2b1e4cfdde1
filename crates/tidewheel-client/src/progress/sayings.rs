//! What tasks say of themselves while they run, on its way to the view.
//!
//! How a run goes is told by notices; these are only what the scheduler does not know.

use std::sync::{Mutex, PoisonError};

use tidewheel::{TaskId, Timestamp, wall_clock};
use tidewheel_flow::Progress;
use tokio::sync::Notify;

/// Commands kept for the view. Nobody may look for long.
const COMMANDS_MAX: usize = 10_000;

/// Something that a task said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Its attempt of this number was admitted then. Said only of runs that were taken over: the
    /// notice may have come before anybody listened.
    Admitted(u32, Timestamp),
    /// Its attempt of this number has something to do.
    Began(u32),
    /// It starts this command.
    Command(String),
}

/// What was said and not heard yet.
#[derive(Debug, Default)]
pub struct Sayings {
    said: Mutex<Vec<(TaskId, Said)>>,
    bell: Notify,
}

impl Sayings {
    /// A task says something of itself.
    pub fn say(&self, task: TaskId, progress: Progress<'_>) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::Began { attempt } => said.push((task, Said::Began(attempt))),
            Progress::Command(command) if said.len() < COMMANDS_MAX => {
                said.push((task, Said::Command(command.to_owned())));
            }
            _ => return,
        }
        drop(said);
        self.bell.notify_one();
    }

    /// An attempt of a run that was taken over was admitted.
    pub fn admit(&self, task: TaskId, attempt: u32) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.push((task, Said::Admitted(attempt, wall_clock())));
    }

    /// Waits until there is something to hear.
    pub async fn ring(&self) {
        self.bell.notified().await;
    }

    /// What was said since the last time, the oldest first.
    #[must_use]
    pub fn hear(&self) -> Vec<(TaskId, Said)> {
        std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
