//! [`TaskOptions`]: how a task is treated, said piece by piece.
//!
//! The defaults that the pieces are laid over differ by entry point and stand there.

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::group::GroupKind;
use tidewheel_core::policy::{OnError, OnSkip, Priority, Retry};
use tidewheel_core::spec::{Attachment, OnceKey, Profile};

use crate::run::When;

/// The methods every builder has that holds what was [`Said`], at the given path in `self`.
macro_rules! option_methods {
    ($($options:ident).+) => {
        /// The priority, 0 to 100; higher goes first.
        pub fn priority(mut self, priority: impl Into<tidewheel_core::policy::Priority>) -> Self {
            self.$($options).+.set_priority(priority.into());
            self
        }

        /// Attempts beyond the first.
        pub fn retries(mut self, retries: u32) -> Self {
            self.$($options).+.set_retries(retries);
            self
        }

        /// Retries with everything that can be said about them.
        pub fn retry(mut self, retry: tidewheel_core::policy::Retry) -> Self {
            self.$($options).+.set_retry(retry);
            self
        }

        /// The wait before the first retry, before it grows and is spread by chance.
        pub fn base_delay(mut self, delay: std::time::Duration) -> Self {
            self.$($options).+.set_base_delay(delay);
            self
        }

        /// Time for one attempt; `None` for no bound.
        pub fn attempt_timeout(
            mut self,
            timeout: impl Into<Option<std::time::Duration>>,
        ) -> Self {
            self.$($options).+.set_attempt_timeout(timeout.into());
            self
        }

        /// Time for all attempts and the waiting between, from when the task first became ready; of the
        /// end of a group, time for the group, from when it begins.
        pub fn task_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.$($options).+.set_task_timeout(timeout);
            self
        }

        /// Takes one unit of a named limit while an attempt runs.
        pub fn limit(mut self, limit: &str) -> Self {
            self.$($options).+.add_units(limit, 1);
            self
        }

        /// Takes several units of a named limit while an attempt runs.
        pub fn units(mut self, limit: &str, units: u32) -> Self {
            self.$($options).+.add_units(limit, units);
            self
        }

        /// Whose work it is, a tenant or a user, say: whoever is named so in a queue gets as much of its slots as
        /// any other, however many tasks each has waiting. What is shared is the time that attempts take. It
        /// holds among tasks of one priority; those that say nothing are one more among the others.
        pub fn fair_by(mut self, key: &str) -> Self {
            self.$($options).+.set_fair_by(key);
            self
        }

        /// Never starts a second attempt, whatever is said about retries. When the first was lost
        /// and may have taken effect, the task ends as unknown.
        pub fn at_most_once(mut self) -> Self {
            self.$($options).+.set_at_most_once();
            self
        }

        /// A wait before the first attempt.
        pub fn start_delay(mut self, delay: std::time::Duration) -> Self {
            self.$($options).+.set_start_delay(delay);
            self
        }
    };
}

/// The methods of builders for one task.
macro_rules! single_option_methods {
    ($($options:ident).+) => {
        /// The queue the task waits in.
        pub fn queue(mut self, queue: &str) -> Self {
            self.$($options).+.set_queue(queue);
            self
        }

        /// Tasks of one key run one at a time, in order.
        pub fn key(mut self, key: &str) -> Self {
            self.$($options).+.key = Some(std::sync::Arc::from(key));
            self
        }

        /// Time until the task should have ended; the earliest deadline goes first.
        pub fn deadline(mut self, deadline: std::time::Duration) -> Self {
            self.$($options).+.deadline = Some(deadline);
            self
        }
    };
}

/// The methods of builders for work that a store keeps.
macro_rules! durable_option_methods {
    ($($options:ident).+) => {
        /// What whoever runs the work must know, even after a crash: code is not stored, this is.
        pub fn payload(mut self, payload: impl Into<std::sync::Arc<[u8]>>) -> Self {
            self.$($options).+.payload = Some(payload.into());
            self
        }

        /// What whoever runs the work must know, as a value of a type, written as JSON
        /// ([`Attempt::payload_as`](crate::Attempt::payload_as),
        /// [`Builder::adopt_payload`](crate::Builder::adopt_payload)).
        ///
        /// # Errors
        ///
        /// When the value cannot be written as JSON, such as a map whose keys are not text.
        #[cfg(feature = "serde")]
        pub fn payload_of<T: serde::Serialize>(
            self,
            value: &T,
        ) -> Result<Self, crate::task::PayloadError> {
            Ok(self.payload(crate::payload::write(value)?))
        }

        /// Who understands the payload, in a short word such as `flow`: the next wheel gives the work to
        /// the code for it ([`crate::Builder::adopt_kind`]), and leaves it alone if it has none.
        pub fn kind(mut self, kind: &str) -> Self {
            self.$($options).+.kind = Some(std::sync::Arc::from(kind));
            self
        }

        /// A name under which this work is accepted once: asking again while it is known
        /// ([`Builder::once_kept`](crate::Builder::once_kept)) is refused with
        /// [`crate::Rejection::AlreadyAccepted`], other work (another payload) under the same name
        /// with [`crate::Rejection::KeyTaken`]. A single task gives its value to all who ask by
        /// [`submit_shared`](crate::task::TaskRequest::submit_shared).
        pub fn once(mut self, name: &str) -> Self {
            self.$($options).+.once = Some(std::sync::Arc::from(name));
            self
        }
    };
}

/// The methods of builders for one task of a graph.
macro_rules! graph_option_methods {
    ($($options:ident).+) => {
        /// The task's own word for its failure, which also tolerates it if it is `skip` or
        /// `continue`, and for the failure of what it needs.
        pub fn on_error(mut self, word: tidewheel_core::policy::OnError) -> Self {
            self.$($options).+.set_on_error(word);
            self
        }

        /// The task's own word for the failure of what it needs.
        pub fn on_dependency_error(mut self, word: tidewheel_core::policy::OnError) -> Self {
            self.$($options).+.set_on_dependency_error(word);
            self
        }

        /// The task's own word for being skipped by a condition, and for such a skip of what it needs.
        pub fn on_skip(mut self, word: tidewheel_core::policy::OnSkip) -> Self {
            self.$($options).+.set_on_skip(word);
            self
        }

        /// Runs the task only under a condition over other tasks, or over the run as a whole.
        pub fn when(mut self, condition: crate::run::When) -> Self {
            self.$($options).+.grouping_mut().when = Some(condition);
            self
        }

        /// Makes the task the end of a group: it stands for the tasks that are
        /// [inside](Self::inside) it, and starts when all of them have ended. What it needs, the
        /// whole group waits for.
        pub fn ends(mut self, group: tidewheel_core::group::GroupKind) -> Self {
            self.$($options).+.grouping_mut().ends = Some(group);
            self
        }

        /// Of the group that the task is the end of, lets only so many tasks be under way at once,
        /// in the order in which they were added. A group inside it counts as one, from its
        /// beginning until all of it has ended, and a task over all its attempts.
        pub fn at_once(mut self, tasks: u32) -> Self {
            self.$($options).+.grouping_mut().at_once = Some(tasks);
            self
        }

        /// Puts the task into the group that the task of this name is the end of.
        pub fn inside(mut self, end: &str) -> Self {
            self.$($options).+.grouping_mut().inside = Some(std::sync::Arc::from(end));
            self
        }

        /// Makes the task the opener of the group it is inside: the others begin when it has
        /// succeeded, and if it fails or is skipped, so is the whole.
        pub fn opens(mut self) -> Self {
            self.$($options).+.grouping_mut().opens = true;
            self
        }

        /// Runs the task whatever became of its dependencies and of the run (clean-up).
        pub fn always(mut self) -> Self {
            self.$($options).+.set_always();
            self
        }
    };
}

pub(crate) use {
    durable_option_methods, graph_option_methods, option_methods, single_option_methods,
};

/// How one task is treated, where it differs from the others of its run.
///
/// ```
/// use std::time::Duration;
/// use tidewheel::{OnError, Priority, TaskOptions};
///
/// let options = TaskOptions::new()
///     .priority(Priority::HIGH)
///     .retries(3)
///     .attempt_timeout(Duration::from_secs(30))
///     .on_error(OnError::Continue)
///     .limit("database");
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct TaskOptions {
    said: Said,
}

impl TaskOptions {
    /// Nothing said.
    pub fn new() -> Self {
        Self::default()
    }

    option_methods!(said);
    single_option_methods!(said);
    graph_option_methods!(said);

    pub(crate) fn into_said(self) -> Said {
        self.said
    }

    pub(crate) fn said(&self) -> &Said {
        &self.said
    }
}

/// What was said about a task; everything else stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Said {
    priority: Option<Priority>,
    queue: Option<Arc<str>>,
    retry: Option<Retry>,
    retries: Option<u32>,
    base_delay: Option<Duration>,
    attempt_timeout: Option<Option<Duration>>,
    task_timeout: Option<Duration>,
    start_delay: Option<Duration>,
    on_error: Option<OnError>,
    on_dependency_error: Option<OnError>,
    on_skip: Option<OnSkip>,
    always: bool,
    at_most_once: bool,
    limits: Vec<(Arc<str>, u32)>,
    fair_by: Option<Arc<str>>,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) deadline: Option<Duration>,
    /// Apart, because a run may have very many tasks, and few of them are in groups.
    grouping: Option<Box<Grouping>>,
    pub(crate) payload: Option<Arc<[u8]>>,
    pub(crate) kind: Option<Arc<str>>,
    pub(crate) once: Option<Arc<str>>,
}

/// What was said about a task's part in groups, and its condition.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Grouping {
    pub when: Option<When>,
    pub ends: Option<GroupKind>,
    pub at_once: Option<u32>,
    pub inside: Option<Arc<str>>,
    pub opens: bool,
}

impl Said {
    /// What was said about groups and conditions, if anything was.
    pub(crate) fn grouping(&self) -> Option<Grouping> {
        let said = self.grouping.as_deref()?;
        let Grouping { when, ends, at_once, inside, .. } = said;
        let is_said = when.is_some() || ends.is_some() || at_once.is_some() || inside.is_some();
        is_said.then(|| said.clone())
    }

    /// What was said about groups and conditions, if only nothing.
    pub(crate) fn any_grouping(&self) -> Grouping {
        self.grouping.as_deref().cloned().unwrap_or_default()
    }

    pub(crate) fn grouping_mut(&mut self) -> &mut Grouping {
        self.grouping.get_or_insert_default()
    }

    /// Lays what was said over `base`.
    pub(crate) fn apply(&self, base: &Profile) -> Profile {
        let mut profile = base.clone();
        let retry = &mut profile.retry;
        *retry = self.retry.unwrap_or(*retry);
        retry.retries = self.retries.unwrap_or(retry.retries);
        retry.backoff.base = self.base_delay.unwrap_or(retry.backoff.base);
        profile.priority = self.priority.unwrap_or(profile.priority);
        profile.queue = self.queue.clone().or(profile.queue);
        profile.fair_by = self.fair_by.clone().or(profile.fair_by);
        profile.attempt_timeout = self.attempt_timeout.unwrap_or(profile.attempt_timeout);
        profile.task_timeout = self.task_timeout.or(profile.task_timeout);
        profile.start_delay = self.start_delay.unwrap_or(profile.start_delay);
        profile.on_error = self.on_error.or(profile.on_error);
        profile.on_dependency_error = self.on_dependency_error.or(profile.on_dependency_error);
        profile.on_skip = self.on_skip.or(profile.on_skip);
        profile.always |= self.always;
        profile.at_most_once |= self.at_most_once;
        for (limit, units) in &self.limits {
            match profile.limits.iter_mut().find(|(known, _)| known == limit) {
                Some((_, known)) => *known = *units,
                None => profile.limits.push((Arc::clone(limit), *units)),
            }
        }
        profile
    }

    /// What travels with the work, if anything does.
    pub(crate) fn attachment(&self) -> Option<Attachment> {
        let body = self.payload.as_deref().unwrap_or_default();
        let once = self.once.as_deref().map(|key| OnceKey::new(key, body));
        let attachment =
            Attachment { payload: self.payload.clone(), kind: self.kind.clone(), once };
        (attachment != Attachment::default()).then_some(attachment)
    }

    pub(crate) fn set_priority(&mut self, priority: Priority) {
        self.priority = Some(priority);
    }

    pub(crate) fn set_queue(&mut self, queue: &str) {
        self.queue = Some(Arc::from(queue));
    }

    pub(crate) fn set_fair_by(&mut self, key: &str) {
        self.fair_by = Some(Arc::from(key));
    }

    pub(crate) fn set_retry(&mut self, retry: Retry) {
        self.retry = Some(retry);
    }

    pub(crate) fn set_retries(&mut self, retries: u32) {
        self.retries = Some(retries);
    }

    pub(crate) fn set_base_delay(&mut self, delay: Duration) {
        self.base_delay = Some(delay);
    }

    pub(crate) fn set_attempt_timeout(&mut self, timeout: Option<Duration>) {
        self.attempt_timeout = Some(timeout);
    }

    pub(crate) fn set_task_timeout(&mut self, timeout: Duration) {
        self.task_timeout = Some(timeout);
    }

    pub(crate) fn set_start_delay(&mut self, delay: Duration) {
        self.start_delay = Some(delay);
    }

    pub(crate) fn set_on_error(&mut self, word: OnError) {
        self.on_error = Some(word);
    }

    pub(crate) fn set_on_dependency_error(&mut self, word: OnError) {
        self.on_dependency_error = Some(word);
    }

    pub(crate) fn set_on_skip(&mut self, word: OnSkip) {
        self.on_skip = Some(word);
    }

    pub(crate) fn set_always(&mut self) {
        self.always = true;
    }

    pub(crate) fn set_at_most_once(&mut self) {
        self.at_most_once = true;
    }

    pub(crate) fn add_units(&mut self, limit: &str, units: u32) {
        self.limits.push((Arc::from(limit), units));
    }
}
