//! [`Task`]: what the code of a graph's task knows about its own attempt and run.
//!
//! The context of single tasks is [`crate::Attempt`].

use std::any::{Any, type_name};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use tidewheel_core::id::{AttemptId, TaskId};
use tidewheel_core::task::Reason;

use super::{Run, RunCell};
use crate::attempt::Attempt;
use crate::driver::{Seat, Until};
use crate::wheel::Tidewheel;

/// One try at a task of a graph, as its own code sees it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::{Graph, Tidewheel};
///
/// let wheel = Tidewheel::builder().start();
/// let graph = Graph::from_edges([("width", "area"), ("height", "area")])?;
/// let report = wheel
///     .run(graph, |task| async move {
///         Ok::<u32, String>(match task.name() {
///             "width" => 6,
///             "height" => 7,
///             _ => *task.input::<u32>("width").unwrap() * *task.input::<u32>("height").unwrap(),
///         })
///     })
///     .await?;
/// assert_eq!(*report.value::<u32>("area").unwrap(), 42);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Task {
    seat: Arc<Seat>,
}

impl Task {
    pub(crate) fn new(seat: Arc<Seat>) -> Self {
        Self { seat }
    }

    /// The name of the task.
    #[must_use]
    pub fn name(&self) -> &str {
        if let Some(name) = self.seat.name.get() {
            return name;
        }
        let (cell, index) = (self.cell(), self.index());
        let made = match cell.added_name(index) {
            Some(name) => name.to_string(),
            None => match cell.graph.name(index) {
                Cow::Borrowed(name) => return name,
                Cow::Owned(name) => name,
            },
        };
        self.seat.name.get_or_init(|| made)
    }

    /// Its index in the graph.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.seat.start.task.index
    }

    /// The index it had before the graph was cut down to a part.
    pub(crate) fn declared_index(&self) -> u32 {
        let index = self.index();
        match &self.cell().kept {
            Some(kept) => kept.get(index as usize).copied().unwrap_or(u32::MAX),
            None => index,
        }
    }

    pub(crate) fn seat(&self) -> &Arc<Seat> {
        &self.seat
    }

    /// The attempt, as executors want it.
    #[must_use]
    pub fn as_attempt(&self) -> Attempt {
        Attempt::new(Arc::clone(&self.seat))
    }

    /// The number of the try, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.seat.start.attempt
    }

    /// The durable identity of the task; the same for all its attempts.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.seat.start.id
    }

    /// The durable identity of the attempt, which no other has: as text, a key for doing things only
    /// once.
    #[must_use]
    pub fn attempt_id(&self) -> AttemptId {
        self.seat.id()
    }

    /// The value that the task called `name` returned.
    ///
    /// # Errors
    ///
    /// When the run has no such task, it has given no value (yet), or one of another type.
    pub fn input<T: Any + Send + Sync>(&self, name: &str) -> Result<Arc<T>, NoInput> {
        let cell = self.cell();
        let unknown = || NoInput::UnknownTask { name: name.to_owned() };
        let index = cell.index_of(name).ok_or_else(unknown)?;
        let value = cell.value(index).ok_or_else(|| NoInput::NoValue { name: name.to_owned() })?;
        let wrong = |_| NoInput::WrongType { name: name.to_owned(), wanted: type_name::<T>() };
        value.downcast().map_err(wrong)
    }

    /// Whether the attempt was told to stop. It is ended by force after its grace.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.seat.is_stopped()
    }

    /// Waits until the attempt is told to stop.
    pub async fn cancelled(&self) {
        std::future::poll_fn(|context| self.seat.poll_stopped(context)).await;
    }

    /// Why the attempt was told to stop, if it was.
    #[must_use]
    pub fn stop_reason(&self) -> Option<Reason> {
        self.seat.stop_reason()
    }

    /// The run, to be steered from inside: tasks can be added, removed and so on.
    #[must_use]
    pub fn run(&self) -> Run {
        Run::new(Arc::clone(self.cell()), Until::Stored)
    }

    /// The wheel that runs it.
    #[must_use]
    pub fn wheel(&self) -> Tidewheel {
        Tidewheel::from_shared(Arc::clone(&self.seat.shared))
    }

    fn cell(&self) -> &Arc<RunCell> {
        self.seat.run.as_ref().expect("the seat of a graph's task has its run")
    }
}

/// Why a task has no input from another; made by [`Task::input`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoInput {
    /// There is no task of this name in the run.
    #[error("there is no task `{name}` in this run")]
    UnknownTask {
        /// The name.
        name: String,
    },
    /// It has not succeeded, here, or returns nothing.
    #[error("task `{name}` gave no value: it has not succeeded in this run, or returns nothing")]
    NoValue {
        /// The task.
        name: String,
    },
    /// Its value is of another type than was asked for.
    #[error("the value of task `{name}` is no {wanted}")]
    WrongType {
        /// The task.
        name: String,
        /// The type that was asked for.
        wanted: &'static str,
    },
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("name", &self.name())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
