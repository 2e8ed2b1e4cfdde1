//! Queues and limits that runs bring along: shared where they say the same, refused where they
//! contradict what is in use.
//!
//! Making and changing them is in `control`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::control::check_queue;
use super::profiles::Resolved;
use super::state::{ScheduleEntry, Scheduler};
use crate::decision::Decision;
use crate::id::ProfileId;
use crate::input::{Fires, Rejection, Reply};
use crate::limit::Limit;
use crate::queue::Queue;
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

    /// Goes on for one whose memory was lost: which names are defined for all, no row says. What was refused since, or was
    /// never stored, is not taken over.
    pub fn take_over_own(&mut self, before: &Self) {
        for own in before.queues.iter().filter(|it| !it.is_brought) {
            if let Ok(index) = self.find_queue(&own.name) {
                let queue = &mut self.queues[index as usize];
                queue.is_brought &= queue.spec != own.spec;
            }
        }
        for own in before.limits.iter().filter(|it| !it.is_brought) {
            if let Ok(index) = self.find_limit(&own.name) {
                let limit = &mut self.limits[index as usize];
                limit.is_brought &= limit.spec() != own.spec();
            }
        }
    }

    /// Whether a limit can be defined for all. Asked before others are told of one that they share.
    pub fn may_define_limit(&self, name: &Arc<str>, spec: &LimitSpec) -> Result<(), Rejection> {
        check_limit(name, spec)?;
        self.find_limit(name).map_or(Ok(()), |index| self.check_limit_change(index, spec))
    }

    /// Whether what a run of this name brings along can be defined, the same. The run may be refused all the same.
    pub fn may_bring(&self, defines: &[Definition], of: &Arc<str>) -> Result<(), Rejection> {
        self.missing(defines, of).map(drop)
    }

    /// Defines what a run brings along, if the run can be accepted then; else nothing of it.
    pub(super) fn bring(
        &mut self,
        run: &RunSpec,
        decision: &mut Decision,
    ) -> Result<(), Rejection> {
        let missing = self.missing(&run.defines, &run.options.name)?;
        if missing.is_empty() {
            return Ok(());
        }
        self.check_as_if(&missing, run)?;
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

    /// What a run brings along and that is not there as it says. The error is why it cannot be defined.
    fn missing<'d>(
        &self,
        defines: &'d [Definition],
        of: &Arc<str>,
    ) -> Result<Vec<&'d Definition>, Rejection> {
        let mut missing = Vec::new();
        for definition in defines {
            match definition {
                Definition::Queue { name, spec } => check_queue(name, spec)?,
                Definition::Limit { name, spec } => check_limit(name, spec)?,
            }
            if self.is_there(definition, of)? {
                continue;
            }
            if let Definition::Limit { name, spec } = definition
                && let Ok(index) = self.find_limit(name)
            {
                self.check_limit_change(index, spec)?;
            }
            missing.push(definition);
        }
        Ok(missing)
    }

    /// Refuses a run that would be refused once what is missing is there.
    fn check_as_if(&mut self, missing: &[&Definition], run: &RunSpec) -> Result<(), Rejection> {
        let mut counts: BTreeMap<&Arc<str>, u64> = BTreeMap::from([(&run.options.queue, 0)]);
        let mut tasks = vec![0; run.profiles.len()];
        match tasks.first_mut() {
            Some(first) if run.profile_of.is_empty() => *first = u64::from(run.graph.len()),
            _ => run.profile_of.iter().for_each(|profile| tasks[usize::from(*profile)] += 1),
        }
        for (profile, tasks) in run.profiles.iter().zip(tasks) {
            let queue = profile.queue.as_ref().unwrap_or(&run.options.queue);
            *counts.entry(queue).or_default() += tasks;
            let mut needs: BTreeMap<&Arc<str>, u64> = BTreeMap::new();
            for (name, units) in &profile.limits {
                let wanted = needs.entry(name).or_default();
                *wanted += u64::from(*units);
                self.limit_as_if(missing, name)?.check_fits(*wanted)?;
            }
        }
        let mut refusal = self.shutdown.map(|_| Rejection::ShuttingDown);
        for (name, count) in &counts {
            let room = self.queue_as_if(missing, name)?.check_room(*count);
            refusal = refusal.or(room.err());
        }
        let Some(refusal) = refusal else { return Ok(()) };
        for (name, count) in counts {
            if let Ok(index) = self.find_queue(name) {
                self.queues[index as usize].statistics.rejected += count;
            }
        }
        Err(refusal)
    }

    fn queue_as_if(
        &self,
        missing: &[&Definition],
        name: &Arc<str>,
    ) -> Result<Cow<'_, Queue>, Rejection> {
        let known = self.find_queue(name).map(|index| &self.queues[index as usize]);
        let spec = missing.iter().rev().find_map(|it| match it {
            Definition::Queue { name: brought, spec } if brought == name => Some(spec.clone()),
            _ => None,
        });
        Ok(match (spec, known) {
            (None, known) => Cow::Borrowed(known?),
            (Some(spec), Ok(known)) => Cow::Owned(Queue { spec, ..known.clone() }),
            (Some(spec), Err(_)) => Cow::Owned(Queue::new(name.clone(), spec)),
        })
    }

    fn limit_as_if(
        &self,
        missing: &[&Definition],
        name: &Arc<str>,
    ) -> Result<Cow<'_, Limit>, Rejection> {
        let spec = missing.iter().rev().find_map(|it| match it {
            Definition::Limit { name: brought, spec } if brought == name => Some(spec),
            _ => None,
        });
        Ok(match spec {
            Some(spec) => Cow::Owned(Limit::new(name.clone(), spec)),
            None => Cow::Borrowed(&self.limits[self.find_limit(name)? as usize]),
        })
    }

    /// Whether a definition is there as it is said. The error is that another is, and is in use.
    fn is_there(&self, definition: &Definition, of: &Arc<str>) -> Result<bool, Rejection> {
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
                ("limit", name, limit.is_brought, self.user_of(|it| self.needs(it, index)))
            }
        };
        let by = match (is_brought, user) {
            (false, _) => Arc::from("whoever set up the scheduler"),
            (true, Some(user)) => user,
            (true, None) => return Ok(false),
        };
        Err(Rejection::Contradiction { what, name: name.clone(), run: of.clone(), by })
    }

    /// Whether there is work, or will be, that needs a limit.
    pub(super) fn is_needed(&self, limit: u32) -> bool {
        self.user_of(|it| self.needs(it, limit)).is_some()
    }

    fn needs(&self, profile: &Resolved, limit: u32) -> bool {
        self.classes[profile.class as usize].need(limit).is_some()
    }

    /// Some work that has not ended, or will come, and is treated so, in words. A run is in memory until
    /// its end was told; one that is kept open has not ended, whatever its tasks have.
    fn user_of(&self, is_so: impl Fn(&Resolved) -> bool) -> Option<Arc<str>> {
        let is_treated_so = |profile: ProfileId| is_so(&self.profiles[profile.0 as usize]);
        let work = self.works.values().find_map(|work| match work {
            Work::Run(run) if run.result.is_some() => None,
            Work::Run(run) => run
                .profiles
                .iter()
                .any(|it| is_treated_so(it.profile))
                .then(|| format!("`{}`, which has not ended", run.spec.options.name).into()),
            Work::Single(single) => {
                is_treated_so(single.task.profile).then(|| Arc::from("a task that has not ended"))
            }
        });
        work.or_else(|| {
            let fires_so = |it: &ScheduleEntry| match it.fires {
                Fires::Task { profile, .. } => is_treated_so(profile),
                Fires::Run => false,
            };
            self.schedules.values().any(fires_so).then(|| Arc::from("a schedule"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Config;

    #[test]
    fn what_was_refused_or_lost_is_not_taken_over() {
        let (slow, quick) = (Arc::<str>::from("slow"), Arc::<str>::from("quick"));
        let (db, disk) = (Arc::<str>::from("db"), Arc::<str>::from("disk"));
        let queue = |slots| QueueSpec { slots: Some(slots), ..QueueSpec::default() };
        let mut decision = Decision::volatile();
        let mut before = Scheduler::new(Config::default());
        let mut stored = Scheduler::new(Config::default());
        for (name, own, kept) in [(&slow, 2, 1), (&quick, 2, 2)] {
            before.define_own_queue(name.clone(), queue(own), &mut decision).unwrap();
            stored.define_queue(name.clone(), queue(kept), &mut decision).unwrap();
        }
        for (name, own, kept) in [(&db, 2, 1), (&disk, 2, 2)] {
            let units = LimitSpec::Units;
            before.define_own_limit(name.clone(), &units(own), &mut decision).unwrap();
            stored.define_limit(name.clone(), &units(kept), &mut decision).unwrap();
        }
        stored.take_over_own(&before);
        let is_brought = |name| {
            let of_queue = stored.find_queue(name).map(|it| stored.queues[it as usize].is_brought);
            of_queue.or_else(|_| {
                stored.find_limit(name).map(|it| stored.limits[it as usize].is_brought)
            })
        };
        assert_eq!([&slow, &db].map(is_brought), [Ok(true), Ok(true)], "a run brought these");
        assert_eq!([&quick, &disk].map(is_brought), [Ok(false), Ok(false)]);
    }
}
