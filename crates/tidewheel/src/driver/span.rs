//! Spans of work and of its attempts, for `tracing`. Without that feature nothing is left of them.
//!
//! Work has a span of its own from its submission to its end, which follows the span it was submitted
//! in; each attempt has one inside, in which its code runs. That of a firing and of restored work begins
//! when it is made, or has its first attempt, and follows nothing.

#[cfg(feature = "tracing")]
use std::collections::BTreeMap;

use tidewheel_core::decision::Start;
use tidewheel_core::id::RunId;
use tidewheel_core::input::Outcome;

#[cfg(feature = "tracing")]
use tracing::{Span, field::Empty, info_span};

/// The span of a run or of a single task.
#[derive(Clone, Default)]
pub(crate) struct WorkSpan {
    #[cfg(feature = "tracing")]
    span: Option<Span>,
}

/// The span of an attempt.
pub(crate) struct AttemptSpan {
    #[cfg(feature = "tracing")]
    span: Span,
}

#[cfg(feature = "tracing")]
impl WorkSpan {
    /// That of a run, made where it is submitted.
    pub fn of_run(name: &str) -> Self {
        Self::following(
            info_span!(target: "tidewheel", parent: None, "run", run.id = Empty, run.name = name),
        )
    }

    /// That of a single task, made where it is submitted.
    pub fn of_task() -> Self {
        Self::following(info_span!(target: "tidewheel", parent: None, "task", run.id = Empty))
    }

    /// That of a run that nobody here submitted, restored or of a firing: whatever span its thread is in when it
    /// is made has nothing to do with it.
    pub fn of_own_run(name: &str) -> Self {
        let span =
            info_span!(target: "tidewheel", parent: None, "run", run.id = Empty, run.name = name);
        Self { span: Some(span) }
    }

    fn following(span: Span) -> Self {
        span.follows_from(Span::current());
        Self { span: Some(span) }
    }

    /// The work was accepted under this identity.
    pub fn accepted(&self, id: RunId) {
        if let Some(span) = &self.span {
            span.record("run.id", tracing::field::display(id));
        }
    }

    /// The span of an attempt at a task of this work.
    pub fn attempt(&self, start: &Start, name: impl FnOnce() -> Option<String>) -> AttemptSpan {
        let parent = self.span.as_ref().and_then(Span::id);
        let span = info_span!(
            target: "tidewheel",
            parent: parent,
            "attempt",
            run.id = %start.id.run,
            task.id = %start.id,
            task.name = name(),
            attempt = start.attempt,
            outcome = Empty,
            error = Empty,
        );
        AttemptSpan { span }
    }
}

#[cfg(not(feature = "tracing"))]
impl WorkSpan {
    #[inline(always)]
    pub fn of_run(_: &str) -> Self {
        Self {}
    }

    #[inline(always)]
    pub fn of_task() -> Self {
        Self {}
    }

    #[inline(always)]
    pub fn of_own_run(_: &str) -> Self {
        Self {}
    }

    #[inline(always)]
    pub fn accepted(&self, _: RunId) {}

    #[inline(always)]
    pub fn attempt(&self, _: &Start, _: impl FnOnce() -> Option<String>) -> AttemptSpan {
        AttemptSpan {}
    }
}

/// Spans of single tasks that nobody here submitted, firings and restored ones, until they end.
#[derive(Default)]
pub(super) struct TaskSpans {
    #[cfg(feature = "tracing")]
    spans: BTreeMap<RunId, WorkSpan>,
}

#[cfg(feature = "tracing")]
impl TaskSpans {
    /// That of one, the same for all its attempts.
    pub fn span(&mut self, id: RunId) -> WorkSpan {
        let make = || info_span!(target: "tidewheel", parent: None, "task", run.id = %id);
        let span = self.spans.entry(id).or_insert_with(|| WorkSpan { span: Some(make()) });
        span.clone()
    }

    /// It has ended.
    #[inline]
    pub fn ended(&mut self, id: RunId) {
        if !self.spans.is_empty() {
            self.spans.remove(&id);
        }
    }
}

#[cfg(not(feature = "tracing"))]
impl TaskSpans {
    #[inline(always)]
    pub fn span(&mut self, _: RunId) -> WorkSpan {
        WorkSpan {}
    }

    #[inline(always)]
    pub fn ended(&mut self, _: RunId) {}
}

impl AttemptSpan {
    /// Calls the code of the attempt inside its span.
    #[inline(always)]
    pub fn within<T>(&self, call: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        let _entered = self.span.enter();
        call()
    }

    /// Notes how the attempt ended, which closes its span.
    #[cfg(feature = "tracing")]
    pub fn ended(self, outcome: &Outcome) {
        if self.span.is_disabled() {
            return;
        }
        let word = match outcome {
            Outcome::Succeeded | Outcome::Expanded(_) => "succeeded",
            Outcome::Failed(failure) => {
                self.span.record("error", &*failure.message);
                if failure.panicked { "panicked" } else { "failed" }
            }
            Outcome::TimedOut => "timed out",
            Outcome::Cancelled => "cancelled",
            Outcome::Lost => "lost",
            Outcome::Skipped => "skipped",
            Outcome::Postponed(_) => "postponed",
            _ => "ended",
        };
        self.span.record("outcome", word);
    }

    #[cfg(not(feature = "tracing"))]
    #[inline(always)]
    pub fn ended(self, _: &Outcome) {}
}
