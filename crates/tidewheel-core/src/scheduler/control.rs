//! Control: pausing, resuming, cancelling, changing queues and limits, and shutting down.
//!
//! Asking for what is so already is answered with [`Reply::Unchanged`], never refused.

use std::sync::Arc;
use std::time::Duration;

use slotmap::DefaultKey;

use super::state::{Alarm, Scheduler};
use crate::decision::{Action, Decision, Fact};
use crate::id::{RunKey, TaskKey};
use crate::input::{CancelMode, Rejection, Reply, ShutdownMode};
use crate::level::RUN;
use crate::limit::{Limit, LimitKind};
use crate::queue::Queue;
use crate::row::Change;
use crate::run::{Run, Work};
use crate::spec::{LimitSpec, QueueSpec};
use crate::task::{Reason, TaskState};
use crate::time::Now;

impl Scheduler {
    /// A drain runs everything that was accepted, paused or not.
    fn check_not_draining(&self) -> Result<(), Rejection> {
        match self.shutdown {
            Some(ShutdownMode::Drain) => Err(Rejection::ShuttingDown),
            _ => Ok(()),
        }
    }

    pub(super) fn pause(&mut self, now: Now, decision: &mut Decision) -> Result<Reply, Rejection> {
        self.check_not_draining()?;
        // Stored also if it was begun paused, which nobody asked to outlive it.
        decision.change(|| Change::SchedulerPaused(true));
        if std::mem::replace(&mut self.paused, true) {
            return Ok(Reply::Unchanged);
        }
        self.notify(now, decision, || Fact::Paused);
        Ok(Reply::Done)
    }

    pub(super) fn resume(&mut self, now: Now, decision: &mut Decision) -> Result<Reply, Rejection> {
        if !std::mem::replace(&mut self.paused, false) {
            return Ok(Reply::Unchanged);
        }
        decision.change(|| Change::SchedulerPaused(false));
        self.notify(now, decision, || Fact::Resumed);
        Ok(Reply::Done)
    }

    pub(super) fn pause_run(
        &mut self,
        now: Now,
        key: RunKey,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        self.check_not_draining()?;
        let run = self.live_run(key)?;
        if std::mem::replace(&mut run.paused, true) {
            return Ok(Reply::Unchanged);
        }
        let id = run.id;
        self.record_run(key, now, decision);
        self.notify(now, decision, || Fact::RunPaused(id));
        Ok(Reply::Done)
    }

    pub(super) fn resume_run(
        &mut self,
        now: Now,
        key: RunKey,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let run = self.live_run(key)?;
        if !std::mem::replace(&mut run.paused, false) {
            return Ok(Reply::Unchanged);
        }
        let id = run.id;
        self.list_sets(key.0);
        self.record_run(key, now, decision);
        self.notify(now, decision, || Fact::RunResumed(id));
        Ok(Reply::Done)
    }

    pub(super) fn set_run_slots(
        &mut self,
        key: RunKey,
        slots: Option<u32>,
    ) -> Result<Reply, Rejection> {
        if slots == Some(0) {
            return Err(Rejection::Invalid("a run needs at least one slot".into()));
        }
        self.live_run(key)?.slots_max = slots.unwrap_or(u32::MAX);
        self.list_sets(key.0);
        Ok(Reply::Done)
    }

    pub(super) fn close_run(
        &mut self,
        now: Now,
        key: RunKey,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let run = self.live_run(key)?;
        if !std::mem::replace(&mut run.keep_open, false) {
            return Ok(Reply::Unchanged);
        }
        self.record_run(key, now, decision);
        self.follow(key, RUN, now, decision);
        self.finish_run_if_ended(key, now, decision);
        Ok(Reply::Done)
    }

    pub(super) fn cancel_run(
        &mut self,
        now: Now,
        key: RunKey,
        mode: CancelMode,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        match self.works.get(key.0) {
            Some(Work::Run(run)) if run.result.is_none() => {}
            Some(Work::Single(_)) => {}
            _ => return Err(Rejection::Gone("run")),
        }
        self.cancel_work(key.0, Reason::Requested, mode, now, decision);
        Ok(Reply::Done)
    }

    pub(super) fn replace_run(
        &mut self,
        now: Now,
        key: RunKey,
        mode: CancelMode,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        self.live_run(key)?;
        self.cancel_work(key.0, Reason::Replaced, mode, now, decision);
        Ok(Reply::Done)
    }

    /// Ends what has not started and treats what runs by `mode`.
    pub(super) fn cancel_work(
        &mut self,
        work: DefaultKey,
        reason: Reason,
        mode: CancelMode,
        now: Now,
        decision: &mut Decision,
    ) {
        // A run that has ended in this same decision still waits for its report to be taken.
        if self.run(work).is_some_and(|run| run.result.is_some()) {
            return;
        }
        // What never had its place in its concurrency group has nothing to clean up either.
        let mode = match mode {
            CancelMode::Stop { grace } if self.run(work).is_some_and(Run::is_before_its_start) => {
                CancelMode::End { grace }
            }
            mode => mode,
        };
        if let Some(run) = self.run_mut(work) {
            run.stopped = run.stopped.or(Some(reason));
            run.keep_open = false;
            run.paused = false;
            self.list_sets(work);
            self.record_run(RunKey(work), now, decision);
        }
        for key in self.task_keys(work) {
            let Some(task) = self.member(key) else { continue };
            match task.state {
                TaskState::Running | TaskState::Cancelling => {
                    self.cancel_running(key, reason, mode, now, decision);
                }
                TaskState::Blocked | TaskState::Ready | TaskState::Delayed => match mode {
                    CancelMode::End { .. } => {
                        self.transition(key, TaskState::Cancelled, reason, now, decision);
                    }
                    _ if reason != Reason::ShutDown && self.is_spared(key, RUN) => {}
                    _ => self.drop_unstarted(key, TaskState::Cancelled, reason, now, decision),
                },
                _ => {}
            }
        }
        self.follow(RunKey(work), RUN, now, decision);
        self.finish_run_if_ended(RunKey(work), now, decision);
    }

    /// Whether nothing of a live run is left but tasks that run always.
    #[must_use]
    pub fn is_cleaning_up(&self, key: RunKey) -> bool {
        let is_left = |key: &TaskKey| self.member(*key).is_some_and(|it| !it.state.is_terminal());
        self.run(key.0).is_some_and(|run| run.result.is_none() && run.unended > 0)
            && self.task_keys(key.0).filter(is_left).all(|key| self.is_spared(key, RUN))
    }

    fn cancel_running(
        &mut self,
        key: TaskKey,
        reason: Reason,
        mode: CancelMode,
        now: Now,
        decision: &mut Decision,
    ) {
        let is_single = matches!(self.work(key), Work::Single(_));
        match mode {
            CancelMode::End { grace } => self.stop_attempt(key, reason, grace, now, decision),
            CancelMode::Stop { grace } if is_single || !self.is_spared(key, RUN) => {
                self.stop_attempt(key, reason, grace, now, decision);
            }
            // A run remembers that it was stopped; a single submission must do so by its state.
            CancelMode::Drain if is_single => self.forbid_retry(key, reason, now, decision),
            _ => {}
        }
    }

    /// Cancels a task. The end of a group stands for all of it: what is left of the group is cancelled
    /// too, but what is spared by a stop.
    pub(super) fn cancel_task(
        &mut self,
        now: Now,
        key: TaskKey,
        mode: CancelMode,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let Some(task) = self.member(key) else { return Err(Rejection::Gone("task")) };
        if task.state.is_terminal() {
            return Ok(Reply::Unchanged);
        }
        let is_end = matches!(mode, CancelMode::End { .. });
        for (member, is_spared) in self.left_of_group(key) {
            if is_end || !is_spared {
                self.cancel_one(member, mode, now, decision);
            }
        }
        self.cancel_one(key, mode, now, decision);
        Ok(Reply::Done)
    }

    /// The tasks of the group that a task is the end of and that have not ended, each with whether it
    /// is spared when the group is stopped.
    pub(super) fn left_of_group(&self, end: TaskKey) -> Vec<(TaskKey, bool)> {
        let Some((level, levels)) = self.group_of_end(end).zip(self.levels(end.run)) else {
            return Vec::new();
        };
        let keys = levels.inside(level).into_iter().map(|index| TaskKey { run: end.run, index });
        let left = keys.filter(|key| self.member(*key).is_some_and(|it| !it.state.is_terminal()));
        left.map(|key| (key, self.is_spared(key, level))).collect()
    }

    fn cancel_one(&mut self, key: TaskKey, mode: CancelMode, now: Now, decision: &mut Decision) {
        let Some(task) = self.member(key) else { return };
        match (task.state, mode) {
            (TaskState::Running | TaskState::Cancelling, CancelMode::Drain) => {
                self.forbid_retry(key, Reason::Requested, now, decision);
            }
            (
                TaskState::Running | TaskState::Cancelling,
                CancelMode::Stop { grace } | CancelMode::End { grace },
            ) => self.stop_attempt(key, Reason::Requested, grace, now, decision),
            _ => self.transition(key, TaskState::Cancelled, Reason::Requested, now, decision),
        }
    }

    pub(super) fn abandon(
        &mut self,
        now: Now,
        key: RunKey,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        if !matches!(self.works.get(key.0), Some(Work::Single(_))) {
            return Ok(Reply::Unchanged);
        }
        let mode = CancelMode::Stop { grace: Duration::ZERO };
        self.cancel_work(key.0, Reason::Abandoned, mode, now, decision);
        Ok(Reply::Done)
    }

    pub(super) fn pause_queue(
        &mut self,
        name: &Arc<str>,
        paused: bool,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let index = self.find_queue(name)?;
        if paused {
            self.check_not_draining()?;
        }
        if self.queues[index as usize].paused == paused {
            return Ok(Reply::Unchanged);
        }
        self.queues[index as usize].paused = paused;
        self.record_queue(index, decision);
        Ok(Reply::Done)
    }

    pub(super) fn set_slots(&mut self, slots: Option<u32>) -> Result<Reply, Rejection> {
        if slots == Some(0) {
            return Err(Rejection::Invalid("a scheduler needs at least one slot".into()));
        }
        self.config.slots = slots;
        Ok(Reply::Done)
    }

    pub(super) fn define_queue(
        &mut self,
        name: Arc<str>,
        spec: QueueSpec,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        check_queue(&name, &spec)?;
        let mut had_preemption = false;
        let has_preemption = spec.preempt;
        let index = match self.find_queue(&name) {
            Ok(index) => {
                let known = &mut self.queues[index as usize].spec;
                had_preemption = std::mem::replace(known, spec).preempt;
                index
            }
            Err(_) => {
                self.queues.push(Queue::new(name, spec));
                self.queues.len() as u32 - 1
            }
        };
        if has_preemption != had_preemption {
            self.index_preemptible();
        }
        self.record_queue(index, decision);
        Ok(Reply::Done)
    }

    fn record_queue(&self, index: u32, decision: &mut Decision) {
        let queue = &self.queues[index as usize];
        decision.change(|| Change::QueueStored {
            name: queue.name.clone(),
            spec: queue.spec.clone(),
            paused: queue.paused,
        });
    }

    pub(super) fn define_limit(
        &mut self,
        name: Arc<str>,
        spec: &LimitSpec,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let index = match self.find_limit(&name) {
            Ok(index) => {
                self.check_limit_change(index, spec)?;
                self.limits[index as usize].change(spec);
                self.wake_limit(index);
                index
            }
            Err(_) => {
                self.limits.push(Limit::new(name.clone(), spec));
                self.limits.len() as u32 - 1
            }
        };
        self.list_shared(index);
        decision.change(|| Change::LimitStored { name, spec: spec.clone() });
        Ok(Reply::Done)
    }

    /// A limit must keep its kind while it is used, and stay wide enough for work that may ask for it.
    pub(super) fn check_limit_change(&self, index: u32, spec: &LimitSpec) -> Result<(), Rejection> {
        let limit = &self.limits[index as usize];
        if !limit.is_kind_of(spec) {
            if limit.is_brought && !limit.has_units_of_others() && !self.is_needed(index) {
                return Ok(());
            }
            return Err(Rejection::Invalid(
                format!("limit `{}` is of another kind already", limit.name).into(),
            ));
        }
        let (LimitSpec::Units(max) | LimitSpec::SharedUnits(max)) = spec else { return Ok(()) };
        let classes = self.profiles.classes_in_use();
        let needs = classes.filter_map(|class| self.classes[class as usize].need(index));
        match needs.map(|(_, units)| units).max() {
            Some(wanted) if wanted > *max => {
                let (limit, wanted) = (limit.name.clone(), u64::from(wanted));
                Err(Rejection::NeverFits { limit, wanted, max: *max })
            }
            _ => Ok(()),
        }
    }

    pub(super) fn reset_breaker(
        &mut self,
        name: &Arc<str>,
        now: Now,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let index = self.find_limit(name)?;
        let LimitKind::Breaker(breaker) = &mut self.limits[index as usize].kind else {
            return Err(Rejection::Invalid(format!("limit `{name}` is not a breaker").into()));
        };
        breaker.reset();
        self.wake_limit(index);
        let limit = name.clone();
        self.notify(now, decision, || Fact::BreakerChanged { limit, open: false });
        Ok(Reply::Done)
    }

    pub(super) fn shut_down(
        &mut self,
        now: Now,
        mode: ShutdownMode,
        grace: Option<Duration>,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        if let Some(timer) = self.drain_timer.take() {
            self.timers.cancel(timer);
        }
        let again = self.shutdown.is_some();
        if !again {
            self.notify(now, decision, || Fact::ShuttingDown);
        }
        self.shutdown = Some(mode);
        if let (ShutdownMode::Drain, Some(grace)) = (mode, grace) {
            let due = now.monotonic.after(grace);
            self.drain_timer = Some(self.timers.insert(due, Alarm::DrainOver));
        }
        self.leave_schedules();
        let works: Vec<DefaultKey> = self.works.keys().collect();
        if mode == ShutdownMode::Drain {
            self.unpause_everything(&works, now, decision);
        }
        let running = match grace {
            Some(grace) => CancelMode::Stop { grace },
            None => CancelMode::Drain,
        };
        for work in works {
            match mode {
                ShutdownMode::Reject => {
                    self.cancel_work(work, Reason::ShutDown, running, now, decision);
                }
                ShutdownMode::Persist => self.stop_running(work, grace, now, decision),
                ShutdownMode::Drain => {}
            }
        }
        Ok(if again { Reply::Unchanged } else { Reply::Done })
    }

    fn unpause_everything(&mut self, works: &[DefaultKey], now: Now, decision: &mut Decision) {
        let _ = self.resume(now, decision);
        for index in 0..self.queues.len() as u32 {
            let name = self.queues[index as usize].name.clone();
            let _ = self.pause_queue(&name, false, decision);
        }
        for &work in works {
            let _ = self.resume_run(now, RunKey(work), decision);
            let _ = self.close_run(now, RunKey(work), decision);
        }
    }

    fn stop_running(
        &mut self,
        work: DefaultKey,
        grace: Option<Duration>,
        now: Now,
        decision: &mut Decision,
    ) {
        let Some(grace) = grace else { return };
        for key in self.task_keys(work) {
            if self.member(key).is_some_and(|task| task.state.holds_slot()) {
                self.stop_attempt(key, Reason::HandedBack, grace, now, decision);
            }
        }
    }

    /// Says once that the shutdown is complete.
    pub(super) fn tell_shutdown(&mut self, decision: &mut Decision) {
        let Some(mode) = self.shutdown else { return };
        let idle = match mode {
            ShutdownMode::Persist => self.active == 0,
            ShutdownMode::Drain | ShutdownMode::Reject => {
                self.active == 0
                    && self.works.values().all(|work| match work {
                        Work::Run(run) => run.result.is_some(),
                        Work::Single(_) => false,
                    })
            }
        };
        if idle && !self.shutdown_told {
            self.shutdown_told = true;
            decision.act(Action::ShutDownCompleted);
        }
    }
}

pub(super) fn check_queue(name: &Arc<str>, spec: &QueueSpec) -> Result<(), Rejection> {
    if spec.weight == 0 || spec.slots == Some(0) {
        let text = format!("queue `{name}` needs a weight and slots of at least one");
        return Err(Rejection::Invalid(text.into()));
    }
    Ok(())
}
