//! Accepting work: single submissions and runs. Tasks are added to live runs in `add`.
//!
//! Everything is checked before anything changes, so a refusal leaves no trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use slotmap::DefaultKey;

use super::check_groups;
use super::state::{Alarm, DEFAULT_QUEUE_INDEX, Scheduler};
use crate::decision::{Decision, Fact};
use crate::id::{ProfileId, RunId, RunKey, TaskId, TaskKey};
use crate::input::{Rejection, Reply, Submission};
use crate::limit::LimitKind;
use crate::policy::Admission;
use crate::ready::SINGLE;
use crate::row::{Change, RunRow, SubmissionRow, Wanted};
use crate::run::{Extra, Run, RunProfile, Single, Work};
use crate::spec::{Profile, RunSpec};
use crate::task::{Reason, Task, TaskState};
use crate::time::{Moment, Now, Timestamp};

impl Scheduler {
    /// Gives a profile for single submissions a number. Asking again gives the same one.
    ///
    /// The number is good for as long as work uses it, and for the next commands otherwise: one that
    /// is kept for later should be asked for again. That of the default profile is always good.
    ///
    /// # Errors
    ///
    /// When it names a queue or limit that does not exist, or more units than there are.
    pub fn profile(&mut self, profile: &Profile) -> Result<ProfileId, Rejection> {
        let queue = match &profile.queue {
            Some(name) => self.find_queue(name)?,
            None => DEFAULT_QUEUE_INDEX,
        };
        match self.profiles.find(profile, queue) {
            Some(known) => self.check_fits(known),
            None => self.resolve(&Arc::new(profile.clone()), queue),
        }
    }

    /// The same of one whose number stays good.
    ///
    /// # Errors
    ///
    /// Those of [`Scheduler::profile`].
    pub fn keep_profile(&mut self, profile: &Profile) -> Result<ProfileId, Rejection> {
        let id = self.profile(profile)?;
        self.profiles.keep(id);
        Ok(id)
    }

    pub(super) fn resolve(
        &mut self,
        profile: &Arc<Profile>,
        queue: u32,
    ) -> Result<ProfileId, Rejection> {
        if let Some(known) = self.profiles.find(profile, queue) {
            return self.check_fits(known);
        }
        let needs = self.needs_of(profile)?;
        let class = self.class_of(queue, needs);
        self.classes[class as usize].profiles += 1;
        let party = self.party_of(queue, profile);
        Ok(self.profiles.insert(profile.clone(), queue, class, party))
    }

    /// A profile that is known may ask for more than there is by now: limits can be lowered.
    fn check_fits(&self, known: ProfileId) -> Result<ProfileId, Rejection> {
        let class = self.profiles[known.0 as usize].class;
        for &(index, units) in &self.classes[class as usize].needs {
            self.limits[index as usize].check_fits(u64::from(units))?;
        }
        Ok(known)
    }

    /// The limits that a profile names, with the units of each.
    fn needs_of(&self, profile: &Profile) -> Result<Vec<(u32, u32)>, Rejection> {
        let mut needs: BTreeMap<u32, u64> = BTreeMap::new();
        for (name, units) in &profile.limits {
            let index = self.find_limit(name)?;
            let wanted = needs.entry(index).or_default();
            *wanted += u64::from(*units);
            self.limits[index as usize].check_fits(*wanted)?;
        }
        // Units of rates and breakers mean nothing.
        let in_range = |(index, units)| (index, u32::try_from(units).unwrap_or(u32::MAX));
        let mut needs: Vec<(u32, u32)> = needs.into_iter().map(in_range).collect();
        self.sort_needs(&mut needs);
        Ok(needs)
    }

    pub(super) fn find_queue(&self, name: &Arc<str>) -> Result<u32, Rejection> {
        let position = self.queues.iter().position(|queue| queue.name == *name);
        position.map(|index| index as u32).ok_or_else(|| Rejection::UnknownQueue(name.clone()))
    }

    pub(super) fn find_limit(&self, name: &Arc<str>) -> Result<u32, Rejection> {
        let position = self.limits.iter().position(|limit| limit.name == *name);
        position.map(|index| index as u32).ok_or_else(|| Rejection::UnknownLimit(name.clone()))
    }

    /// Accepts a task of this class for a queue. As a rule nothing is against it.
    #[inline]
    fn admit_one(&mut self, queue: u32, class: u32, now: Moment) -> Result<(), Rejection> {
        let entry = &mut self.queues[queue as usize];
        let is_easy = self.shutdown.is_none()
            && entry.room() > 0
            && self.classes[class as usize].needs.is_empty();
        if !is_easy {
            return self.admit(&[(queue, 1)], Some((class, now)));
        }
        entry.statistics.submitted += 1;
        Ok(())
    }

    /// Accepts so many tasks for each queue, if all of these queues take more and the breakers of the class, if one
    /// is said, are not against it. Refusals are large: where nothing is refused, none is carried about.
    #[inline(never)]
    fn admit(
        &mut self,
        counts: &[(u32, u64)],
        class: Option<(u32, Moment)>,
    ) -> Result<(), Rejection> {
        let refusal = self.refusal(counts, class);
        for &(queue, count) in counts {
            let statistics = &mut self.queues[queue as usize].statistics;
            match refusal {
                None => statistics.submitted += count,
                Some(_) => statistics.rejected += count,
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    #[inline]
    fn refusal(&self, counts: &[(u32, u64)], class: Option<(u32, Moment)>) -> Option<Rejection> {
        if self.shutdown.is_some() {
            return Some(Rejection::ShuttingDown);
        }
        for &(queue, count) in counts {
            let queue = &self.queues[queue as usize];
            if count > queue.room() {
                return queue.check_room(count).err();
            }
        }
        let (class, now) = class?;
        if self.classes[class as usize].needs.is_empty() {
            return None;
        }
        self.open_breaker(class, now)
    }

    /// The breaker that whoever submits a task of this class should not wait for.
    fn open_breaker(&self, class: u32, now: Moment) -> Option<Rejection> {
        self.classes[class as usize].needs.iter().find_map(|&(index, _)| {
            let limit = &self.limits[index as usize];
            let LimitKind::Breaker(breaker) = &limit.kind else { return None };
            let left = match breaker.admits(now) {
                Admission::Admit => return None,
                Admission::WaitUntil(until) => Some(until.since(now)),
                Admission::WaitForProbe => None,
            };
            let refusal = Rejection::BreakerOpen { limit: limit.name.clone(), left };
            breaker.spec().fail_fast.then_some(refusal)
        })
    }

    /// How many tasks of a run there are for each queue.
    fn tasks_by_queue(&self, spec: &RunSpec, profiles: &[ProfileId]) -> Vec<(u32, u64)> {
        let queue_of = |profile: usize| self.profiles[profiles[profile].0 as usize].queue;
        if spec.profile_of.is_empty() {
            return vec![(queue_of(0), u64::from(spec.graph.len()))];
        }
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for &profile in &spec.profile_of {
            *counts.entry(queue_of(usize::from(profile))).or_default() += 1;
        }
        counts.into_iter().collect()
    }

    pub(super) fn submit(
        &mut self,
        now: Now,
        submission: Submission,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let once = submission.attachment.as_ref().and_then(|attachment| attachment.once.as_ref());
        self.refuse_known(once, now.wall)?;
        let profile = &self.profiles[submission.profile.0 as usize];
        let (queue, class) = (profile.queue, profile.class);
        self.admit_one(queue, class, now.monotonic)?;
        self.remember_once(once, submission.id, now.wall);
        let is_special = submission.deadline.is_some()
            || submission.key.is_some()
            || submission.attachment.is_some();
        let extra = is_special.then(|| {
            Box::new(Extra {
                deadline: submission.deadline.map(|deadline| now.monotonic.after(deadline)),
                key: submission.key.clone(),
                attachment: submission.attachment.clone(),
                ..Extra::default()
            })
        });
        let run = self.insert_single(&submission, extra, None);
        self.record_single(run, now.wall, now, decision);
        let key = TaskKey { run: RunKey(run), index: 0 };
        self.become_ready(key, now, decision);
        Ok(Reply::Accepted(key.run))
    }

    pub(super) fn insert_single(
        &mut self,
        submission: &Submission,
        extra: Option<Box<Extra>>,
        schedule: Option<DefaultKey>,
    ) -> DefaultKey {
        let class = self.profiles[submission.profile.0 as usize].class;
        self.profiles.take(submission.profile);
        let task = Task::new(submission.profile, submission.priority.value());
        self.works.insert(Work::Single(Single {
            id: submission.id,
            task,
            class,
            mark: SINGLE,
            schedule,
            extra,
        }))
    }

    pub(super) fn record_single(
        &self,
        run: DefaultKey,
        accepted_at: Timestamp,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(Work::Single(single)) = self.works.get(run) else { return };
        decision.change(|| {
            let extra = single.extra.as_deref();
            let deadline = extra.and_then(|extra| extra.deadline);
            let schedule = single.schedule.and_then(|key| self.schedules.get(key));
            Change::SubmissionAccepted(SubmissionRow {
                id: single.id,
                profile: self.profiles[single.task.profile.0 as usize].spec.clone(),
                priority: crate::policy::Priority::new(i64::from(single.task.priority)),
                deadline: deadline.map(|at| now.wall.after(at.since(now.monotonic))),
                key: extra.and_then(|extra| extra.key.clone()),
                accepted_at,
                firing: schedule
                    .zip(extra.and_then(|extra| extra.nominal))
                    .map(|(schedule, nominal)| (schedule.id, nominal)),
                attachment: extra.and_then(|extra| extra.attachment.clone()),
            })
        });
    }

    pub(super) fn submit_run(
        &mut self,
        now: Now,
        id: RunId,
        spec: Arc<RunSpec>,
        firing: Option<(DefaultKey, Wanted)>,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        check_spec(&spec)?;
        check_groups::check_run(&spec)?;
        self.refuse_known(spec.attachment.once.as_ref(), now.wall)?;
        self.bring(&spec, decision)?;
        let queue = self.find_queue(&spec.options.queue)?;
        let profiles = self.resolve_run(&spec, queue)?;
        self.admit(&self.tasks_by_queue(&spec, &profiles), None)?;
        self.remember_once(spec.attachment.once.as_ref(), id, now.wall);
        let run = Run::new(id, spec.clone(), now.monotonic, now.wall);
        let key = self.insert_run(run, profiles, now);
        let fired = firing.map(|(schedule, wanted)| (self.schedules[schedule].id, wanted.nominal));
        decision.change(|| {
            let (spec, accepted_at) = (spec.clone(), now.wall);
            Change::RunAccepted(RunRow { id, spec, accepted_at, firing: fired })
        });
        if let Some((schedule, wanted)) = firing {
            self.bind_firing(key, schedule, wanted, decision);
        }
        self.notify(now, decision, || Fact::RunAccepted(id));
        self.join_group(key, decision);
        for &index in &spec.already_done {
            self.take_as_done(TaskKey { run: RunKey(key), index }, now, decision);
        }
        if spec.is_special() {
            self.wake_all(RunKey(key), now, decision);
        }
        for index in spec.graph.roots().filter(|_| !spec.is_special()) {
            let key = TaskKey { run: RunKey(key), index };
            if self.member(key).is_some_and(|task| task.state == TaskState::Blocked) {
                self.become_ready(key, now, decision);
            }
        }
        self.finish_run_if_ended(RunKey(key), now, decision);
        Ok(Reply::Accepted(RunKey(key)))
    }

    /// A task was done before the run; with the end of a group all of it was.
    fn take_as_done(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        for (member, _) in self.left_of_group(key) {
            self.transition(member, TaskState::Succeeded, Reason::AlreadyDone, now, decision);
        }
        if self.member(key).is_some_and(|task| task.state == TaskState::Blocked) {
            self.transition(key, TaskState::Succeeded, Reason::AlreadyDone, now, decision);
        }
    }

    pub(super) fn resolve_run(
        &mut self,
        spec: &RunSpec,
        default_queue: u32,
    ) -> Result<Vec<ProfileId>, Rejection> {
        let mut profiles = Vec::with_capacity(spec.profiles.len());
        for profile in &spec.profiles {
            let queue = match &profile.queue {
                Some(name) => self.find_queue(name)?,
                None => default_queue,
            };
            profiles.push(self.resolve(profile, queue)?);
        }
        Ok(profiles)
    }

    /// Puts a run into memory with all tasks blocked.
    pub(super) fn insert_run(
        &mut self,
        mut run: Run,
        profiles: Vec<ProfileId>,
        now: Now,
    ) -> DefaultKey {
        let spec = run.spec.clone();
        run.tasks.reserve_exact(spec.graph.len() as usize);
        run.pending = spec.graph.dependency_counts().to_vec();
        for index in 0..spec.graph.len() as usize {
            let profile = spec.profile_of.get(index).copied().unwrap_or(0);
            let priority = spec.profiles[profile as usize].priority.value();
            run.tasks.push(Task::new(ProfileId(u32::from(profile)), priority));
            run.counts.enter(TaskState::Blocked);
        }
        // A restored run was accepted long before.
        let elapsed = now.wall.since(run.accepted_at);
        let deadlines: BTreeMap<u32, Moment> = spec
            .deadlines
            .iter()
            .map(|(&index, &deadline)| {
                (index, now.monotonic.after(deadline.saturating_sub(elapsed)))
            })
            .collect();
        let ranks = run.assign_ranks(&deadlines);
        for profile in profiles {
            self.add_profile(&mut run, profile, ranks);
        }
        for (index, deadline) in deadlines {
            run.extras.entry(index).or_default().deadline = Some(deadline);
        }
        for (&index, key) in &spec.keys {
            run.extras.entry(index).or_default().key = Some(key.clone());
        }
        run.unended = run.tasks.len() as u32;
        let id = run.id;
        let timeout = spec.options.timeout;
        let key = self.works.insert(Work::Run(Box::new(run)));
        self.run_keys.insert(id, key);
        self.tally(RunKey(key), true);
        if let Some(timeout) = timeout {
            let due = now.monotonic.after(timeout.saturating_sub(elapsed));
            let timer = self.timers.insert(due, Alarm::RunTimeout(key));
            if let Some(run) = self.run_mut(key) {
                run.timeout_timer = Some(timer);
            }
        }
        key
    }

    /// Lets a run use a profile, and gives its tasks a ready set.
    pub(super) fn add_profile(&mut self, run: &mut Run, profile: ProfileId, ranks: usize) -> u32 {
        let resolved = &self.profiles[profile.0 as usize];
        let priority = resolved.spec.priority.value();
        let (class, party) = (resolved.class, resolved.party);
        let set = run.find_set(class, priority, party);
        let set = set.unwrap_or_else(|| run.add_set(class, priority, party, ranks));
        self.profiles.take(profile);
        run.add_profile(RunProfile { profile, set })
    }

    /// The durable identity of a task.
    #[must_use]
    pub fn id_of(&self, key: TaskKey) -> Option<TaskId> {
        self.member(key).map(|_| self.task_id(key))
    }
}

fn check_spec(spec: &RunSpec) -> Result<(), Rejection> {
    let invalid = |text: &str| Err(Rejection::Invalid(Arc::from(text)));
    let tasks = spec.graph.len();
    if spec.options.slots == Some(0) {
        return invalid("a run needs at least one slot");
    }
    if spec.profiles.is_empty() {
        return invalid("a run needs at least one profile");
    }
    if !spec.profile_of.is_empty() && spec.profile_of.len() != tasks as usize {
        return invalid("a run names a profile for each task or for none");
    }
    if spec.profile_of.iter().any(|&profile| usize::from(profile) >= spec.profiles.len()) {
        return invalid("a task names a profile that is not there");
    }
    let indices = spec.already_done.iter().chain(spec.deadlines.keys()).chain(spec.keys.keys());
    match indices.copied().find(|&index| index >= tasks) {
        Some(index) => Err(Rejection::UnknownTask(index)),
        None => Ok(()),
    }
}
