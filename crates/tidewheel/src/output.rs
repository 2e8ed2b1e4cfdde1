//! [`TaskOutput`]: what a task's future may return.
//!
//! Where values go is the run's business.

use std::any::{Any, TypeId};
use std::sync::Arc;

use tidewheel_core::input::Outcome;

use crate::error::{BoxError, failure_of};

/// A value that a task gave to those after it.
pub(crate) type Value = Arc<dyn Any + Send + Sync>;

/// What the future of a task may return: nothing, or a result.
///
/// The value of a success is kept for tasks that come later ([`crate::Task::input`]) and for the
/// report ([`crate::RunReport::value`]). An error fails the attempt.
///
/// A task that has seen that it should stop, and then returns nothing or an error, counts as
/// cancelled; if it returns a value, it has succeeded all the same.
#[diagnostic::on_unimplemented(
    message = "a task cannot return `{Self}`",
    label = "the future of this task returns `{Self}`",
    note = "a task returns `()`, a `Result<T, E>` whose error becomes a `Box<dyn Error + Send + Sync>`, or an \
            `Outcome`; for a plain value write `Ok::<_, std::io::Error>(value)`"
)]
pub trait TaskOutput: Send + sealed::Sealed {
    #[doc(hidden)]
    fn conclude(self, has_seen_stop: bool) -> Concluded;
}

/// What became of an attempt.
#[doc(hidden)]
#[derive(Debug)]
pub struct Concluded {
    pub(crate) outcome: Outcome,
    pub(crate) value: Option<Value>,
}

impl TaskOutput for () {
    fn conclude(self, has_seen_stop: bool) -> Concluded {
        let outcome = if has_seen_stop { Outcome::Cancelled } else { Outcome::Succeeded };
        Concluded { outcome, value: None }
    }
}

impl<T, E> TaskOutput for Result<T, E>
where
    T: Any + Send + Sync,
    E: Into<BoxError> + Send,
{
    fn conclude(self, has_seen_stop: bool) -> Concluded {
        match self {
            Ok(value) => {
                let is_nothing = TypeId::of::<T>() == TypeId::of::<()>();
                let value = if is_nothing { None } else { Some(Arc::new(value) as Value) };
                Concluded { outcome: Outcome::Succeeded, value }
            }
            Err(error) => Concluded { outcome: failed(error.into(), has_seen_stop), value: None },
        }
    }
}

/// For code that knows the outcome itself, such as that of a process, or that there is nothing to do
/// ([`Outcome::Skipped`]) or not yet ([`Outcome::Postponed`]).
impl TaskOutput for Outcome {
    fn conclude(self, _: bool) -> Concluded {
        Concluded { outcome: self, value: None }
    }
}

fn failed(error: BoxError, has_seen_stop: bool) -> Outcome {
    if has_seen_stop { Outcome::Cancelled } else { Outcome::Failed(Box::new(failure_of(&*error))) }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl Sealed for tidewheel_core::input::Outcome {}
    impl<T, E> Sealed for Result<T, E> {}
}
