//! Queues and limits that runs bring along: shared where they say the same, refused where they
//! contradict what is in use.
//!
//! Making and changing them is in `control`.

use std::sync::Arc;

use super::profiles::Resolved;
use super::state::Scheduler;
use crate::decision::Decision;
use crate::id::ProfileId;
use crate::input::{Rejection, Reply};
use crate::run::Work;
use crate::spec::{Definition, LimitSpec, QueueSpec, RunSpec};

impl Scheduler {
    /// Defines a queue for all: no run that brings another of this name is accepted.
    pub(super) fn define_own_queue(
        &mut self,
        name: Arc<str>,
        spec: QueueSpec,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let reply = self.define_queue(name.clone(), spec, decision)?;
        let index = self.find_queue(&name)?;
        self.queues[index as usize].is_brought = false;
        Ok(reply)
    }

    /// The same for a limit.
    pub(super) fn define_own_limit(
        &mut self,
        name: Arc<str>,
        spec: &LimitSpec,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        check_limit(&name, spec)?;
        let reply = self.define_limit(name.clone(), spec, decision)?;
        let index = self.find_limit(&name)?;
        self.limits[index as usize].is_brought = false;
        Ok(reply)
    }

    /// Goes on for one whose memory was lost: which names are defined for all, no row says.
    pub fn take_over_own(&mut self, before: &Self) {
        for own in before.queues.iter().filter(|it| !it.is_brought) {
            if let Ok(index) = self.find_queue(&own.name) {
                self.queues[index as usize].is_brought = false;
            }
        }
        for own in before.limits.iter().filter(|it| !it.is_brought) {
            if let Ok(index) = self.find_limit(&own.name) {
                self.limits[index as usize].is_brought = false;
            }
        }
    }

    /// Defines what a run brings along, or nothing of it. If the run is refused for another reason, what
    /// it brought is used by nobody, and the next may define it otherwise.
    pub(super) fn bring(
        &mut self,
        run: &RunSpec,
        decision: &mut Decision,
    ) -> Result<(), Rejection> {
        let mut missing = Vec::new();
        for definition in &run.defines {
            if let Definition::Limit { name, spec } = definition {
                check_limit(name, spec)?;
            }
            if !self.is_there(definition, run)? {
                missing.push(definition);
            }
        }
        for definition in missing {
            match definition {
                Definition::Queue { name, spec } => {
                    self.define_queue(name.clone(), spec.clone(), decision)?
                }
                Definition::Limit { name, spec } => {
                    self.define_limit(name.clone(), spec, decision)?
                }
            };
        }
        Ok(())
    }

    /// Whether a definition is there as it is said. The error is that another is, and is in use.
    fn is_there(&self, definition: &Definition, run: &RunSpec) -> Result<bool, Rejection> {
        let (what, name, is_brought, user) = match definition {
            Definition::Queue { name, spec } => {
                let Ok(index) = self.find_queue(name) else { return Ok(false) };
                let queue = &self.queues[index as usize];
                if queue.spec == *spec {
                    return Ok(true);
                }
                ("queue", name, queue.is_brought, self.user_of(|it| it.queue == index))
            }
            Definition::Limit { name, spec } => {
                let Ok(index) = self.find_limit(name) else { return Ok(false) };
                let limit = &self.limits[index as usize];
                if limit.spec() == *spec {
                    return Ok(true);
                }
                let needs = |it: &Resolved| {
                    let class = &self.classes[it.class as usize];
                    class.needs.iter().any(|(needed, _)| *needed == index)
                };
                ("limit", name, limit.is_brought, self.user_of(needs))
            }
        };
        let by = match (is_brought, user) {
            (false, _) => Arc::from("whoever set up the scheduler"),
            (true, Some(user)) => user,
            (true, None) => return Ok(false),
        };
        Err(Rejection::Contradiction {
            what,
            name: name.clone(),
            run: run.options.name.clone(),
            by,
        })
    }

    /// Some work that has not ended and is treated so, in words. A run is in memory until its end was
    /// told.
    fn user_of(&self, is_so: impl Fn(&Resolved) -> bool) -> Option<Arc<str>> {
        let is_treated_so = |profile: ProfileId| is_so(&self.profiles[profile.0 as usize]);
        self.works.values().find_map(|work| match work {
            Work::Run(run) if run.unended == 0 => None,
            Work::Run(run) => run
                .profiles
                .iter()
                .any(|it| is_treated_so(it.profile))
                .then(|| format!("`{}`, which has not ended", run.spec.options.name).into()),
            Work::Single(single) => {
                is_treated_so(single.task.profile).then(|| Arc::from("a task that has not ended"))
            }
        })
    }
}

/// A limit that nothing could ever pass is a mistake. What is stored is not looked at: it is there.
fn check_limit(name: &Arc<str>, spec: &LimitSpec) -> Result<(), Rejection> {
    let what = match spec {
        LimitSpec::Units(0) | LimitSpec::SharedUnits(0) => "has no units: nothing could ever start",
        LimitSpec::Breaker(spec) if spec.failures_max == 0 => "is a breaker that no failure opens",
        _ => return Ok(()),
    };
    Err(Rejection::Invalid(format!("limit `{name}` {what}; give it at least one").into()))
}
