//! Attempts: how they end, whether another follows, and how running ones are told to stop.
//!
//! Starting them is in `fill`; a report about an attempt that is not the newest is dropped here.

use std::time::Duration;

use super::state::{Alarm, Scheduler};
use crate::decision::{Action, Decision, Fact};
use crate::id::TaskKey;
use crate::input::{Failure, Outcome, ShutdownMode};
use crate::policy::Fault;
use crate::spec::Addition;
use crate::task::{Reason, TaskState};
use crate::time::{Moment, Now};

/// What is kept of an error text.
const ERROR_LENGTH_MAX: usize = 4096;

impl Scheduler {
    pub(super) fn attempt_ended(
        &mut self,
        now: Now,
        key: TaskKey,
        attempt: u32,
        outcome: Outcome,
        decision: &mut Decision,
    ) {
        let Some(task) = self.member(key) else { return };
        if !task.state.holds_slot() || task.attempts != attempt {
            return;
        }
        let is_removed = task.is_being_removed();
        match (task.state, outcome) {
            // Counted as lost, it ends as removed all the same.
            (_, Outcome::Lost) => self.attempt_lost(key, now, decision),
            _ if is_removed => self.attempt_stopped(key, now, decision),
            (_, Outcome::Succeeded) => {
                self.transit(key, TaskState::Succeeded, Reason::Ordinary, now, decision);
            }
            (_, Outcome::Expanded(addition)) => {
                self.attempt_expanded(key, *addition, now, decision);
            }
            (_, Outcome::Skipped) => {
                self.transition(key, TaskState::Skipped, Reason::Condition, now, decision);
            }
            (_, Outcome::Postponed(delay)) => self.attempt_postponed(key, delay, now, decision),
            (TaskState::Cancelling, _) => self.attempt_stopped(key, now, decision),
            (_, Outcome::Cancelled) => {
                self.transition(key, TaskState::Cancelled, Reason::Abandoned, now, decision);
            }
            (_, Outcome::TimedOut) => {
                let failure = Failure { message: "timed out".into(), ..Failure::default() };
                self.attempt_failed(key, failure, Fault::TimedOut, now, decision);
            }
            (_, Outcome::Failed(failure)) => {
                let fault = if failure.permanent { Fault::FailedForGood } else { Fault::Failed };
                self.attempt_failed(key, *failure, fault, now, decision);
            }
        }
    }

    /// The attempt succeeded, and tasks are to be added before anything follows from that.
    fn attempt_expanded(
        &mut self,
        key: TaskKey,
        addition: Addition,
        now: Now,
        decision: &mut Decision,
    ) {
        let refusal = match self.run(key.run.0) {
            None => Some("only a task of a run can add tasks".into()),
            Some(run) if run.stopped.is_some() => None,
            Some(_) => {
                let added = self.insert_addition(now, key.run, addition, false, decision);
                added.err().map(|refusal| refusal.to_string().into())
            }
        };
        let is_stopping = self.member(key).is_some_and(|task| task.state == TaskState::Cancelling);
        match refusal {
            None => self.transition(key, TaskState::Succeeded, Reason::Ordinary, now, decision),
            Some(_) if is_stopping => self.attempt_stopped(key, now, decision),
            Some(message) => {
                let failure = Failure { message, permanent: true, ..Failure::default() };
                self.attempt_failed(key, failure, Fault::FailedForGood, now, decision);
            }
        }
    }

    fn attempt_failed(
        &mut self,
        key: TaskKey,
        failure: Failure,
        fault: Fault,
        now: Now,
        decision: &mut Decision,
    ) {
        let run = self.work(key).id().0;
        let is_stopped = self.stop_of(key).is_some();
        let seed = self.config.seed;
        let work = self.work_mut(key);
        let attempts = work.task_mut(key.index).attempts;
        let extra = work.extra_mut(key.index);
        extra.error = Some(cut(&failure.message));
        let failed_attempt = attempts.saturating_sub(extra.uncounted).saturating_sub(1);
        let profile = self.profile_spec(key).clone();
        // Whoever says "at most once" means it, whatever else was said about retries.
        let gives_up = profile.at_most_once || is_stopped;
        if gives_up
            || self.shutdown == Some(ShutdownMode::Reject)
            || !profile.retry.allows(fault, failed_attempt)
        {
            let reason = match fault {
                Fault::TimedOut => Reason::AttemptTimeout,
                _ if failure.panicked => Reason::Panic,
                _ => Reason::Error,
            };
            self.transition(key, TaskState::Failed, reason, now, decision);
            return;
        }
        let delay = profile
            .retry
            .delay(seed, run, key.index, failed_attempt)
            .max(failure.retry_after.unwrap_or(Duration::ZERO));
        let class = self.work(key).class(key.index);
        let queue = self.classes[class as usize].queue;
        self.queues[queue as usize].statistics.retried += 1;
        self.delay(key, Reason::Error, now.monotonic.after(delay), now, decision);
        if self.config.notices {
            let (id, error) = (self.task_id(key), Some(cut(&failure.message)));
            self.notify(now, decision, || Fact::AttemptFailedWillRetry {
                task: id,
                attempt: attempts,
                delay,
                error,
            });
        }
    }

    /// It was not time yet: the task waits as long as its attempt asked for, holding nothing.
    fn attempt_postponed(
        &mut self,
        key: TaskKey,
        delay: Duration,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(task) = self.member(key) else { return };
        let attempt = task.attempts;
        if task.state == TaskState::Cancelling && !comes_back(task.reason) {
            self.attempt_stopped(key, now, decision);
            return;
        }
        let stop = self.stop_of(key);
        let is_rejected = self.shutdown == Some(ShutdownMode::Reject);
        if let Some(reason) = is_rejected.then_some(Reason::ShutDown).or(stop) {
            self.transition(key, TaskState::Cancelled, reason, now, decision);
            return;
        }
        self.work_mut(key).extra_mut(key.index).uncounted += 1;
        let class = self.work(key).class(key.index);
        let queue = self.classes[class as usize].queue;
        self.queues[queue as usize].statistics.postponed += 1;
        self.delay(key, Reason::Postponed, now.monotonic.after(delay), now, decision);
        // Others of its key need not wait for what it waits for; it joins their line again later.
        self.release_key(key);
        if self.config.notices {
            let task = self.task_id(key);
            self.notify(now, decision, || Fact::AttemptPostponed { task, attempt, delay });
        }
    }

    /// Lets a task wait for time. It holds no slot meanwhile.
    pub(super) fn delay(
        &mut self,
        key: TaskKey,
        reason: Reason,
        until: Moment,
        now: Now,
        decision: &mut Decision,
    ) {
        let timer = self.timers.insert(until, Alarm::Delay(key));
        let extra = self.work_mut(key).extra_mut(key.index);
        extra.until = Some(until);
        extra.delay_timer = Some(timer);
        self.transition(key, TaskState::Delayed, reason, now, decision);
    }

    /// An attempt's worker is gone; nobody knows whether the attempt took effect.
    pub(super) fn attempt_lost(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let lost_max = self.config.lost_attempts_max;
        let at_most_once = self.profile_spec(key).at_most_once;
        let work = self.work_mut(key);
        let task = work.task_mut(key.index);
        let (state, reason, is_removed) = (task.state, task.reason, task.is_being_removed());
        let extra = work.extra_mut(key.index);
        extra.lost += 1;
        extra.uncounted += 1;
        let too_many = extra.lost > lost_max;
        let class = self.work(key).class(key.index);
        let queue = self.classes[class as usize].queue;
        self.queues[queue as usize].statistics.lost += 1;
        let stop = self.stop_of(key);
        let (to, reason) = match state {
            _ if is_removed => (TaskState::Cancelled, Reason::Removed),
            _ if at_most_once => (TaskState::Unknown, Reason::Ambiguous),
            TaskState::Cancelling if !comes_back(reason) => self.stopped_state(key, reason),
            _ if self.shutdown == Some(ShutdownMode::Reject) => {
                (TaskState::Cancelled, Reason::ShutDown)
            }
            _ if stop.is_some() => (TaskState::Cancelled, stop.unwrap_or(Reason::Requested)),
            _ if too_many => (TaskState::Failed, Reason::Quarantined),
            _ => (TaskState::Ready, Reason::Lost),
        };
        self.transition(key, to, reason, now, decision);
    }

    /// An attempt that was told to stop has ended without success.
    fn attempt_stopped(&mut self, key: TaskKey, now: Now, decision: &mut Decision) {
        let reason = self.member(key).map_or(Reason::Requested, |task| task.reason);
        let (to, reason) = self.stopped_state(key, reason);
        if to == TaskState::Ready {
            self.work_mut(key).extra_mut(key.index).uncounted += 1;
        }
        self.transition(key, to, reason, now, decision);
    }

    /// What becomes of a task whose attempt was told to stop for `reason`.
    fn stopped_state(&self, key: TaskKey, reason: Reason) -> (TaskState, Reason) {
        let stop = self.stop_of(key);
        match reason {
            Reason::Preempted | Reason::HandedBack if stop.is_some() => {
                (TaskState::Cancelled, stop.unwrap_or(reason))
            }
            // Cut short, it may have taken effect, and nobody may try again.
            Reason::HandedBack if self.profile_spec(key).at_most_once => {
                (TaskState::Unknown, Reason::Ambiguous)
            }
            Reason::Preempted | Reason::HandedBack => (TaskState::Ready, reason),
            Reason::TaskTimeout => (TaskState::Failed, Reason::TaskTimeout),
            other => (TaskState::Cancelled, other),
        }
    }

    /// Lets a running attempt finish, whatever comes of it, and none follow.
    pub(super) fn forbid_retry(
        &mut self,
        key: TaskKey,
        reason: Reason,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(task) = self.member(key) else { return };
        match (task.state, task.reason) {
            (TaskState::Running, _) => {
                self.transition(key, TaskState::Cancelling, reason, now, decision);
            }
            (TaskState::Cancelling, Reason::Preempted | Reason::HandedBack) => {
                self.change_stop_reason(key, reason, now, decision);
            }
            _ => {}
        }
    }

    /// An attempt that was stopping for one reason is now stopping for another, which a crash must
    /// not make forgotten: a preempted attempt that is then cancelled does not come back.
    fn change_stop_reason(
        &mut self,
        key: TaskKey,
        reason: Reason,
        now: Now,
        decision: &mut Decision,
    ) {
        let task = self.work_mut(key).task_mut(key.index);
        let before = (task.state, std::mem::replace(&mut task.reason, reason));
        if self.has_preemption {
            self.note_preemptible(key, before);
        }
        if decision.is_recording() {
            self.record(key, now, decision);
        }
    }

    /// Tells a running attempt to stop. Telling it again may shorten its grace.
    pub(super) fn stop_attempt(
        &mut self,
        key: TaskKey,
        reason: Reason,
        grace: Duration,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(task) = self.member(key) else { return };
        let attempt = task.attempts;
        // A task that was cancelled does not come back because its attempt is stopped once more, and
        // one that was removed stays so.
        let is_final = task.state == TaskState::Cancelling && !comes_back(task.reason);
        let stays = is_final && comes_back(reason) || task.is_being_removed();
        let reason = if stays { task.reason } else { reason };
        match task.state {
            TaskState::Running => {
                self.transition(key, TaskState::Cancelling, reason, now, decision);
                let class = self.work(key).class(key.index);
                let queue = self.classes[class as usize].queue;
                let preempted = u64::from(reason == Reason::Preempted);
                self.queues[queue as usize].statistics.preempted += preempted;
            }
            TaskState::Cancelling => self.change_stop_reason(key, reason, now, decision),
            _ => return,
        }
        decision.act(Action::StopAttempt { task: key, attempt, grace, reason });
        if self.config.notices {
            let id = self.task_id(key);
            self.notify(now, decision, || Fact::AttemptStopping(id, attempt, reason));
        }
    }
}

/// Whether a task whose attempt is stopped for this reason runs again.
pub(super) const fn comes_back(reason: Reason) -> bool {
    matches!(reason, Reason::Preempted | Reason::HandedBack)
}

fn cut(message: &std::sync::Arc<str>) -> std::sync::Arc<str> {
    if message.len() <= ERROR_LENGTH_MAX {
        return message.clone();
    }
    let mut end = ERROR_LENGTH_MAX;
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes in all)", &message[..end], message.len()).into()
}
