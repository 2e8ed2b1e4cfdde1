//! What a failure means beyond the tasks that need the failed one: whether it is tolerated, whether
//! it stops the run or the group it is in, and who is spared by a stop.
//!
//! What it means for a dependent is in `propagate`; the words themselves are in `policy::failure`.

use std::collections::BTreeSet;

use super::state::Scheduler;
use crate::decision::Decision;
use crate::group::GroupKind;
use crate::id::{RunKey, TaskKey};
use crate::level::{Bond, RUN};
use crate::policy::{ErrorWords, OnError, OnSkip, failure};
use crate::spec::{OnStop, Profile};
use crate::task::{Reason, TaskState};
use crate::time::Now;

/// What the failure of a task comes to.
#[derive(Debug, Clone, Copy)]
struct Verdict {
    /// The task whose words count: the failed one, or the end that it is a part of.
    subject: u32,
    /// The level that the subject is in.
    level: u32,
    /// The subject's own word.
    own: Option<OnError>,
    stops: bool,
    is_tolerated: bool,
}

impl Scheduler {
    /// A task of a run failed for good: does the run or its group stop, and does it fail?
    pub(super) fn judge_failure(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let Some(verdict) = self.verdict(key) else { return };
        self.note_failure(key, verdict);
        let is_stopped = match verdict.level {
            RUN => self.run(key.run.0).is_some_and(|run| run.stopped.is_some()),
            level => self.level(key.run, level).is_some_and(|level| level.stopped.is_some()),
        };
        if verdict.stops && !is_stopped {
            self.stop_level(key, verdict.level, now, decision);
        }
    }

    /// After a restore: which groups have failed or were stopped follows from their failed tasks.
    pub(super) fn judge_again(&mut self, key: TaskKey) {
        let Some(mut verdict) = self.verdict(key) else { return };
        if verdict.level == RUN {
            // What stopped the run is stored.
            let stopped = self.run(key.run.0).and_then(|run| run.stopped);
            verdict.stops = stopped == Some(Reason::RunStopped(key.index));
            verdict.is_tolerated = failure::is_tolerated(verdict.own, verdict.stops);
        }
        self.note_failure(key, verdict);
        if verdict.level != RUN
            && verdict.stops
            && let Some(levels) = self.levels_mut(key.run)
        {
            levels.all[verdict.level as usize].stopped.get_or_insert(key.index);
        }
    }

    /// Whether a task failed, and nobody tolerated it.
    pub(super) fn is_failure(&self, key: TaskKey) -> bool {
        let state = self.member(key).map(|task| task.state);
        matches!(state, Some(TaskState::Failed | TaskState::Unknown))
            && self.verdict(key).is_some_and(|verdict| !verdict.is_tolerated)
    }

    /// Nothing for an opener: its failure is that of its end.
    fn verdict(&self, key: TaskKey) -> Option<Verdict> {
        let run = self.run(key.run.0)?;
        let (subject, level) = match &run.levels {
            None => (key.index, RUN),
            Some(levels) if levels.opens(key.index) => return None,
            Some(levels) => {
                let subject = levels.stands_for(key.index).last().copied().unwrap_or(key.index);
                (subject, levels.of(subject))
            }
        };
        let own = words(self.profile_spec(TaskKey { run: key.run, index: subject })).as_failed();
        let dependents = run.successors(subject).filter_map(|index| {
            let profile = self.profile_spec(TaskKey { run: key.run, index });
            match run.levels.as_ref().map_or(Bond::Judged, |it| it.bond(subject, index)) {
                // Clean-up runs in any case and so has no say.
                Bond::Judged if !profile.always => Some(words(profile).as_dependent()),
                // Somebody is there for this: no reason to stop.
                Bond::Asked => Some(Some(OnError::Continue)),
                _ => None,
            }
        });
        let default = match self.defaults(key.run, level).0 {
            // A default is too far away to stop what somebody is there for.
            OnError::Fail if self.is_heard(key.run, subject) => OnError::Skip,
            default => default,
        };
        let stops = failure::stops_run(own, dependents, default);
        let is_tolerated = failure::is_tolerated(own, stops);
        Some(Verdict { subject, level, own, stops, is_tolerated })
    }

    /// Whether a task has a condition over the failed one, or over one that is skipped because of it.
    fn is_heard(&self, run: RunKey, failed: u32) -> bool {
        let Some((levels, graph)) = self.levels(run).zip(self.run(run.0)) else { return false };
        if !levels.has_conditions() {
            return false;
        }
        let profile = |index| self.profile_spec(TaskKey { run, index });
        let goes_on = |index| words(profile(index)).as_dependent() == Some(OnError::Continue);
        let (mut seen, mut skipped) = (BTreeSet::from([failed]), vec![failed]);
        while let Some(task) = skipped.pop() {
            for next in graph.successors(task) {
                match levels.bond(task, next) {
                    Bond::Asked => return true,
                    Bond::Judged if profile(next).always || task == failed && goes_on(next) => {}
                    Bond::Judged if seen.insert(next) => skipped.push(next),
                    _ => {}
                }
            }
        }
        false
    }

    fn note_failure(&mut self, key: TaskKey, verdict: Verdict) {
        let Verdict { subject, level, stops, is_tolerated, .. } = verdict;
        let is_part = subject != key.index;
        // The end of parts fails later, unless a stop comes before it.
        let counts = if is_part { stops } else { !is_tolerated };
        let Some(run) = self.run_mut(key.run.0) else { return };
        // One that was skipped before its last part failed has not failed with it.
        let is_skipped = is_part && run.tasks[subject as usize].state.is_terminal();
        run.failed |= counts && level == RUN;
        let Some(levels) = run.levels.as_deref_mut() else { return };
        let mut at = key.index;
        for end in levels.stands_for(key.index) {
            let parts = levels.of(at);
            levels.all[parts as usize].failed.insert(at);
            at = end;
        }
        if counts && !is_skipped {
            levels.all[level as usize].failed.insert(subject);
        }
    }

    /// The words of a level for failures and skips where no task has one.
    pub(super) fn defaults(&self, run: RunKey, level: u32) -> (OnError, OnSkip) {
        let kind = self.levels(run).and_then(|levels| levels.with_words(level).kind);
        match (kind, self.run(run.0)) {
            (Some(GroupKind::Call { on_error, on_skip }), _) => (on_error, on_skip),
            (_, Some(run)) => (run.spec.options.on_error, run.spec.options.on_skip),
            (_, None) => (OnError::Skip, OnSkip::Continue),
        }
    }

    /// Nothing more of the run, or of a group, starts; what is left is skipped, what runs ends by the
    /// run's rule.
    fn stop_level(&mut self, stopper: TaskKey, level: u32, now: Now, decision: &mut Decision) {
        let Some(run) = self.run_mut(stopper.run.0) else { return };
        let on_stop = run.spec.options.on_stop;
        let reason = match level {
            RUN => Reason::RunStopped(stopper.index),
            _ => Reason::GroupStopped(stopper.index),
        };
        match run.levels.as_deref_mut().filter(|_| level != RUN) {
            Some(levels) => levels.all[level as usize].stopped = Some(stopper.index),
            None => run.stopped = Some(reason),
        }
        if level == RUN {
            self.record_run(stopper.run, now, decision);
        }
        // A step fails with its parts, when the last of them has ended.
        let failing =
            self.levels(stopper.run).map_or_else(Vec::new, |it| it.stands_for(stopper.index));
        for key in self.keys_inside(stopper.run, level) {
            let Some(task) = self.member(key) else { continue };
            match task.state {
                TaskState::Running => {
                    if let OnStop::Cancel { grace } = on_stop
                        && (level == RUN || !self.is_spared(key, level))
                    {
                        self.stop_attempt(key, reason, grace, now, decision);
                    }
                }
                TaskState::Blocked | TaskState::Ready | TaskState::Delayed
                    if !failing.contains(&key.index) && !self.is_spared(key, level) =>
                {
                    self.drop_unstarted(key, TaskState::Skipped, reason, now, decision);
                }
                _ => {}
            }
        }
    }

    fn keys_inside(&self, run: RunKey, level: u32) -> Vec<TaskKey> {
        match self.levels(run).filter(|_| level != RUN) {
            Some(levels) => {
                levels.inside(level).into_iter().map(|index| TaskKey { run, index }).collect()
            }
            None => self.task_keys(run.0).collect(),
        }
    }

    /// Ends a task that is not running.
    ///
    /// Skipped here are only tasks that never started: one that waits for a retry has failed.
    pub(super) fn drop_unstarted(
        &mut self,
        key: TaskKey,
        to: TaskState,
        reason: Reason,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(task) = self.member(key) else { return };
        let attempts = task.attempts;
        let uncounted = self.work(key).extra(key.index).map_or(0, |extra| extra.uncounted);
        let (to, reason) = match to {
            TaskState::Skipped if attempts > uncounted => (TaskState::Failed, Reason::Error),
            TaskState::Skipped if attempts > 0 => (TaskState::Cancelled, reason),
            other => (other, reason),
        };
        self.transition(key, to, reason, now, decision);
    }

    /// Whether a task runs although a level around it was stopped or cancelled: it is clean-up, or
    /// follows something inside that level, or is part of what is or does so.
    pub(super) fn is_spared(&self, key: TaskKey, level: u32) -> bool {
        let Some(levels) = self.levels(key.run) else { return self.profile_spec(key).always };
        for index in levels.chain(key.index) {
            if levels.follows(index) || self.profile_spec(TaskKey { run: key.run, index }).always {
                return true;
            }
            if levels.of(index) == level {
                return false;
            }
        }
        false
    }

    /// Why nothing more of a task starts, if the run, or a group it is in, was stopped and it is not
    /// spared.
    pub(super) fn stop_of(&self, key: TaskKey) -> Option<Reason> {
        let run = self.run(key.run.0)?;
        let Some(levels) = &run.levels else {
            return run.stopped.filter(|_| !self.profile_spec(key).always);
        };
        levels.chain(key.index).find_map(|index| {
            let level = levels.of(index);
            let stopped = match level {
                RUN => run.stopped,
                _ => levels.all[level as usize].stopped.map(Reason::GroupStopped),
            };
            stopped.filter(|_| !self.is_spared(key, level))
        })
    }
}

pub(super) fn words(profile: &Profile) -> ErrorWords {
    ErrorWords { on_error: profile.on_error, on_dependency_error: profile.on_dependency_error }
}
