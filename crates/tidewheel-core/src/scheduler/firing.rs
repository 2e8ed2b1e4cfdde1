//! Firings: the task or run that comes of one, from the instant that fires to the end of its work.
//!
//! ```text
//!   fire ── Fires::Task ──► a single submission ─────────────────────────────► ended
//!        └─ Fires::Run ───► wanted ── SubmitFiring ──► a run ────────────────► ended
//!                             │  ▲
//!                             │  └── restore: MakeRun is asked again
//!                             └───── RunNotMade, or replaced by a newer one ─► ended, without success
//! ```
//!
//! A firing counts as running all the way, whatever it is, so overlap policies hold for both kinds.
//! When instants fire is decided in [`crate::schedule`]; when a schedule is asked, in `time`.

use std::sync::Arc;
use std::time::Duration;

use slotmap::DefaultKey;

use super::state::{DEFAULT_QUEUE_INDEX, Scheduler};
use crate::decision::{Action, Decision, Fact, MakeRun};
use crate::id::{ProfileId, RunId, RunKey, ScheduleId, ScheduleKey, TaskKey};
use crate::input::{CancelMode, Fires, Rejection, Reply, Submission};
use crate::policy::Priority;
use crate::row::{Change, Fate, FiringRow, Wanted};
use crate::run::Extra;
use crate::schedule::{BackfillError, Firing, Overlap, Schedule, Verdict};
use crate::spec::{Attachment, RunSpec};
use crate::task::Reason;
use crate::time::{Now, Timestamp};

/// How the work of a firing ended.
pub(super) struct FiringEnd {
    pub run: RunId,
    pub success: bool,
    /// The text of its last error.
    pub error: Option<Arc<str>>,
}

impl Scheduler {
    /// Carries out what a schedule decided: an instant fires.
    pub(super) fn fire(
        &mut self,
        key: DefaultKey,
        firing: Firing,
        now: Now,
        decision: &mut Decision,
    ) {
        let entry = &self.schedules[key];
        let schedule = entry.id;
        let Firing { nominal, origin, due_lag: lag, .. } = firing;
        let run = firing_run_id(schedule, nominal, origin.number());
        let wanted = Wanted { run, nominal, origin };
        let task = match entry.fires {
            Fires::Task { profile, priority } => {
                Some(self.fire_task(key, run, firing, (profile, priority), now, decision))
            }
            // The row of the schedule, which follows, keeps the wish. In which queues its tasks will wait is not
            // known yet.
            Fires::Run => {
                let queue = &mut self.queues[DEFAULT_QUEUE_INDEX as usize];
                queue.statistics.due_lag.record(lag);
                self.schedules[key].wanted.push(wanted);
                self.ask_for_run(key, wanted, decision);
                None
            }
        };
        record_fate(schedule, wanted, Fate::Fired(run), decision);
        self.notify(now, decision, || Fact::ScheduleFired { schedule, nominal, run, lag });
        if let Some(task) = task {
            self.become_ready(task, now, decision);
        }
    }

    fn fire_task(
        &mut self,
        key: DefaultKey,
        id: RunId,
        firing: Firing,
        (profile, priority): (ProfileId, Priority),
        now: Now,
        decision: &mut Decision,
    ) -> TaskKey {
        let submission = Submission { id, profile, priority, ..Submission::default() };
        let spec = &self.schedules[key].spec;
        let (payload, kind) = (spec.payload.clone(), spec.kind.clone());
        let attachment = (payload.is_some() || kind.is_some())
            .then(|| Arc::new(Attachment { payload, kind, once: None }));
        let queue = self.profiles[profile.0 as usize].queue;
        let statistics = &mut self.queues[queue as usize].statistics;
        statistics.submitted += 1;
        statistics.due_lag.record(firing.due_lag);
        let extra =
            Some(Box::new(Extra { nominal: Some(firing.nominal), attachment, ..Extra::default() }));
        let run = self.insert_single(&submission, extra, Some(key));
        self.schedules[key].running.push(run);
        self.record_single(run, now.wall, now, decision);
        TaskKey { run: RunKey(run), index: 0 }
    }

    fn ask_for_run(&self, key: DefaultKey, wanted: Wanted, decision: &mut Decision) {
        let Wanted { run, nominal, origin } = wanted;
        let (schedule, id) = (ScheduleKey(key), self.schedules[key].id);
        decision.act(Action::MakeRun(MakeRun { schedule, id, run, nominal, origin }));
    }

    /// Asks again for a run that was wanted before a restart, unless that was settled meanwhile.
    pub(super) fn ask_again(&self, key: DefaultKey, wanted: Wanted, decision: &mut Decision) {
        if self.schedules.get(key).is_some_and(|entry| entry.wanted.contains(&wanted)) {
            self.ask_for_run(key, wanted, decision);
        }
    }

    pub(super) fn submit_firing(
        &mut self,
        now: Now,
        key: DefaultKey,
        id: RunId,
        spec: Arc<RunSpec>,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        // The wish stays in the store, and is told again at the next start.
        if self.shutdown.is_some() {
            return Err(Rejection::ShuttingDown);
        }
        if self.run_keys.contains_key(&id) {
            return Err(Rejection::AlreadyAccepted(id));
        }
        let wanted = self.find_wanted(key, id).ok_or(Rejection::Gone("firing"))?;
        self.submit_run(now, id, spec, Some((key, wanted)), decision)
    }

    /// A wanted run was accepted: from now on it is the firing.
    pub(super) fn bind_firing(
        &mut self,
        run: DefaultKey,
        key: DefaultKey,
        wanted: Wanted,
        decision: &mut Decision,
    ) {
        let entry = &mut self.schedules[key];
        entry.wanted.retain(|other| *other != wanted);
        entry.running.push(run);
        if let Some(run) = self.run_mut(run) {
            run.schedule = Some(key);
        }
        self.record_schedule(key, decision);
    }

    pub(super) fn run_not_made(
        &mut self,
        now: Now,
        key: DefaultKey,
        run: RunId,
        error: Arc<str>,
        decision: &mut Decision,
    ) {
        if let Some(wanted) = self.find_wanted(key, run) {
            self.drop_wish(key, wanted, error, now, decision);
        }
    }

    fn find_wanted(&self, key: DefaultKey, run: RunId) -> Option<Wanted> {
        let wanted = &self.schedules.get(key)?.wanted;
        wanted.iter().find(|wanted| wanted.run == run).copied()
    }

    /// A firing ends without a run.
    fn drop_wish(
        &mut self,
        key: DefaultKey,
        wanted: Wanted,
        error: Arc<str>,
        now: Now,
        decision: &mut Decision,
    ) {
        let entry = &mut self.schedules[key];
        entry.wanted.retain(|other| *other != wanted);
        let (schedule, nominal) = (entry.id, wanted.nominal);
        let fate = Fate::NotMade { run: wanted.run, error: error.clone() };
        record_fate(schedule, wanted, fate, decision);
        self.notify(now, decision, || Fact::RunNotMade { schedule, nominal, error });
        self.end_firing(key, false, now, decision);
    }

    /// A newer firing displaces everything of the schedule that is under way.
    pub(super) fn cancel_firings(&mut self, key: DefaultKey, now: Now, decision: &mut Decision) {
        let entry = &self.schedules[key];
        // The newer one may start as soon as the last of these is gone, and is not one of them.
        let (running, wanted) = (entry.running.clone(), entry.wanted.clone());
        for run in running {
            let mode = CancelMode::Stop { grace: Duration::ZERO };
            self.cancel_work(run, Reason::Replaced, mode, now, decision);
        }
        for wanted in wanted {
            // The end of one may have led to the end of the others.
            self.run_not_made(now, key, wanted.run, "a newer firing replaced it".into(), decision);
        }
    }

    /// The task or run of a firing ended.
    pub(super) fn firing_ended(
        &mut self,
        now: Now,
        key: DefaultKey,
        run: DefaultKey,
        end: FiringEnd,
        decision: &mut Decision,
    ) {
        let Some(entry) = self.schedules.get_mut(key) else { return };
        entry.running.retain(|other| *other != run);
        let (schedule, success) = (entry.id, end.success);
        self.notify(now, decision, || {
            let FiringEnd { run, success, error } = end;
            Fact::FiringEnded { schedule, run, success, error: error.filter(|_| !success) }
        });
        self.end_firing(key, success, now, decision);
    }

    fn end_firing(&mut self, key: DefaultKey, success: bool, now: Now, decision: &mut Decision) {
        self.with_schedule(key, now, decision, |schedule, verdicts| {
            schedule.ended(now, success, verdicts);
        });
        self.record_schedule(key, decision);
    }

    pub(super) fn backfill(
        &mut self,
        now: Now,
        key: DefaultKey,
        instants: Vec<Timestamp>,
        overlap: Option<Overlap>,
        asked_for: Option<u64>,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        let known = self.schedules.get(key).map(|entry| entry.schedule.counters().asked_for);
        if asked_for.is_some() && known.is_some() && asked_for != known {
            return Err(Rejection::Outdated("schedule"));
        }
        self.fire_asked_for(now, key, decision, |schedule, verdicts| {
            schedule.backfill(instants, overlap, now, verdicts)
        })
    }

    pub(super) fn fire_now(
        &mut self,
        now: Now,
        key: DefaultKey,
        overlap: Option<Overlap>,
        decision: &mut Decision,
    ) -> Result<Reply, Rejection> {
        self.fire_asked_for(now, key, decision, |schedule, verdicts| {
            schedule.fire_now(overlap, now, verdicts)
        })
    }

    /// Lets a schedule fire what people ask for.
    fn fire_asked_for(
        &mut self,
        now: Now,
        key: DefaultKey,
        decision: &mut Decision,
        ask: impl FnOnce(&mut Schedule, &mut Vec<Verdict>) -> Result<(), BackfillError>,
    ) -> Result<Reply, Rejection> {
        if self.shutdown.is_some() {
            return Err(Rejection::ShuttingDown);
        }
        let mut answer = Err(BackfillError::Ended);
        self.with_schedule(key, now, decision, |schedule, verdicts| {
            answer = ask(schedule, verdicts);
        });
        match answer {
            Ok(()) => {
                self.record_schedule(key, decision);
                Ok(Reply::Done)
            }
            Err(BackfillError::Ended) => Err(Rejection::Gone("schedule")),
            Err(error) => Err(Rejection::Invalid(error.to_string().into())),
        }
    }
}

fn record_fate(schedule: ScheduleId, of: Wanted, fate: Fate, decision: &mut Decision) {
    let Wanted { nominal, origin, .. } = of;
    decision.change(|| {
        Change::FiringStored(FiringRow { schedule, nominal, origin, last: nominal, count: 1, fate })
    });
}

/// The identity of a firing's run follows from what fires: nobody can make it twice.
fn firing_run_id(schedule: ScheduleId, nominal: Timestamp, number: u64) -> RunId {
    let mut hash = schedule.0
        ^ (nominal.as_micros() as u128).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
        ^ u128::from(number).wrapping_mul(0xC2B2_AE3D_27D4_EB4F_1656_67B1_9E37_79F9);
    hash ^= hash >> 67;
    hash = hash.wrapping_mul(0xD6E8_FEB8_6659_FD93_A5A3_5643_57BB_1F67);
    RunId(hash ^ (hash >> 61))
}
