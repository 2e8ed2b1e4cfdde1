//! [`When`]: under which condition a task runs, by the names of other tasks.
//!
//! What it means, and when it is decided, is the scheduler's business.

use std::sync::Arc;

use tidewheel_core::condition::{Clause, Condition, Ends, Quantifier, Standing};
use tidewheel_core::input::Rejection;

/// Under which condition a task runs: what must have become of tasks it needs, or of the run.
///
/// Where it does not hold, the task is skipped without being started. The words for failures and
/// skips are not asked about tasks that a condition speaks of, and such a failure is no reason to stop
/// the run: somebody is there for it.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use tidewheel::run::{Ends, Standing, When};
/// use tidewheel::{Graph, OnError, TaskOptions, Tidewheel};
///
/// let wheel = Tidewheel::builder().start();
/// let graph = Graph::from_edges([("copy", "mend"), ("copy", "report")])?;
/// let report = wheel
///     .run(graph, |task| async move {
///         if task.name() == "copy" { Err("disk full") } else { Ok(()) }
///     })
///     .on_error(OnError::Fail)
///     .configure(|name| match name {
///         "mend" => TaskOptions::new().when(When::any(["copy"], Ends::FAILED)),
///         "report" => TaskOptions::new().when(When::whole(Standing::Ended)),
///         _ => TaskOptions::new(),
///     })
///     .await?;
/// assert_eq!(report.succeeded().count(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct When {
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Tasks(Vec<(Quantifier, Vec<Arc<str>>, Ends)>),
    Whole(Standing),
}

impl When {
    /// When all of these tasks have ended in one of these ways. The task must need each of them.
    pub fn all<S: AsRef<str>>(tasks: impl IntoIterator<Item = S>, ends: Ends) -> Self {
        Self { what: What::Tasks(vec![clause(Quantifier::All, tasks, ends)]) }
    }

    /// When one of these tasks has ended in one of these ways; it does not wait for the others. The
    /// task must need each of them.
    pub fn any<S: AsRef<str>>(tasks: impl IntoIterator<Item = S>, ends: Ends) -> Self {
        Self { what: What::Tasks(vec![clause(Quantifier::Any, tasks, ends)]) }
    }

    /// When the run, or the group the task is in, stands so. All tasks of it that do not follow it in
    /// this way end before, and a stop does not hold the task up.
    pub fn whole(standing: Standing) -> Self {
        Self { what: What::Whole(standing) }
    }

    /// And another condition over tasks. Nothing can be added to one over the whole.
    pub fn and(mut self, other: Self) -> Self {
        if let (What::Tasks(clauses), What::Tasks(more)) = (&mut self.what, other.what) {
            clauses.extend(more);
        }
        self
    }

    /// The same by indices. `find` gives none for a task that is left out of the run: what is said
    /// only of such tasks counts as true, as dependencies on them count as met.
    pub(crate) fn resolve(
        &self,
        find: impl Fn(&str) -> Result<Option<u32>, Rejection>,
    ) -> Result<Option<Condition>, Rejection> {
        let clauses = match &self.what {
            What::Whole(standing) => return Ok(Some(Condition::OfWhole(*standing))),
            What::Tasks(clauses) => clauses,
        };
        let mut resolved = Vec::with_capacity(clauses.len());
        for (quantifier, names, ends) in clauses {
            let mut tasks = Vec::with_capacity(names.len());
            for name in names {
                tasks.extend(find(name)?);
            }
            if !tasks.is_empty() || names.is_empty() {
                resolved.push(Clause { quantifier: *quantifier, tasks, ends: *ends });
            }
        }
        let is_left_out = resolved.is_empty() && !clauses.is_empty();
        Ok((!is_left_out).then_some(Condition::OfTasks(resolved)))
    }
}

fn clause<S: AsRef<str>>(
    quantifier: Quantifier,
    tasks: impl IntoIterator<Item = S>,
    ends: Ends,
) -> (Quantifier, Vec<Arc<str>>, Ends) {
    (quantifier, tasks.into_iter().map(|name| Arc::from(name.as_ref())).collect(), ends)
}
