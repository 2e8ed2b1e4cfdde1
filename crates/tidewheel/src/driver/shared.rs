//! [`Shared`]: what all handles and workers of a wheel have in common, and the one way in.
//!
//! Lock, step, settle, unlock, and only then carry out the effects.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use tidewheel_core::input::{Command, Event, Outcome, Rejection, Reply, ShutdownMode};
use tidewheel_core::time::{Now, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::attempt::guard;
use super::books::{Ticket, Wish};
use super::effect::{Effect, End};
use super::engine::ScheduleRef;
use super::making::make_run;
use super::post::{Post, Report, Rival};
use super::seat::Seat;
use super::state::{Next, State, Wanted};
use super::worker::{Breath, single_worker};
use super::writing::keep_books;
use crate::clock::Clock;
use crate::observe::Hub;
use crate::store::Pace;

/// How often a worker looks for its answer before it waits for the lock.
const SPINS_MAX: u32 = 2_000;
/// What finding the scheduler taken counts against finding it free, which counts one.
const DEFEAT: u32 = 3;
/// A worker that is so much the loser leaves.
const DEFEATS_MAX: u32 = 12;
/// A task that takes no longer costs less than bringing it to another thread.
const SHORT_NANOS: u64 = 3_000;
/// So many looks without spare work end the watch.
const WATCH_IDLE_MAX: u32 = 50;

/// What the last look at spare work showed.
pub(super) struct Watch {
    idle: u32,
    exchanges: u64,
}

impl Watch {
    pub fn new(shared: &Shared) -> Self {
        Self { idle: 0, exchanges: shared.lock().exchanges }
    }
}

/// What a caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Nothing now: the caller asks later whether it was stored.
    Later,
    /// Until it is stored.
    Stored,
}

pub(crate) struct Shared {
    pub clock: Clock,
    pub runtime: Handle,
    pub(super) breath: Breath,
    pub hub: Hub,
    /// Wakes the timer when an earlier time appeared.
    pub timer: Arc<Notify>,
    /// Tells whoever keeps the books that something was decided.
    pub(super) decided: Arc<Notify>,
    /// Tells whoever waits that something was stored.
    pub(super) stored: Condvar,
    pub(super) stored_notice: Notify,
    /// True once nothing runs and nothing will.
    pub completed: watch::Sender<bool>,
    /// Handles of users; when the last is dropped, the wheel drains.
    handles: AtomicUsize,
    is_shutting_down: AtomicBool,
    state: Mutex<State>,
    post: Post,
    /// Decisions are kept.
    pub(super) has_books: bool,
    /// How the store wants to be waited for.
    pub(super) pace: Pace,
    /// The lock is held by a worker, which will be back soon.
    is_driven: AtomicBool,
    has_spare: AtomicBool,
    /// Workers for single submissions, and whether the last one to report was back soon.
    pub(super) single_workers: AtomicUsize,
    is_brisk: AtomicBool,
    is_watched: AtomicBool,
}

/// What a wheel is made of besides its state.
pub(crate) struct Settings {
    pub clock: Clock,
    pub runtime: Handle,
    pub hub: Hub,
    pub pace: Pace,
}

impl Shared {
    /// A wheel that does not turn yet. What was restored has its code already.
    pub fn new(settings: Settings, state: State) -> Arc<Self> {
        let shared = Arc::new(Self {
            clock: settings.clock,
            breath: Breath::new(settings.runtime.runtime_flavor()),
            runtime: settings.runtime,
            hub: settings.hub,
            timer: Arc::new(Notify::new()),
            decided: Arc::new(Notify::new()),
            stored: Condvar::new(),
            stored_notice: Notify::new(),
            completed: watch::Sender::new(false),
            handles: AtomicUsize::new(0),
            is_shutting_down: AtomicBool::new(false),
            has_books: state.books.is_some(),
            pace: settings.pace,
            state: Mutex::new(state),
            post: Post::default(),
            is_driven: AtomicBool::new(false),
            has_spare: AtomicBool::new(false),
            single_workers: AtomicUsize::new(0),
            is_brisk: AtomicBool::new(false),
            is_watched: AtomicBool::new(false),
        });
        shared.lock().adopt_runs(&shared);
        shared
    }

    /// Begins what was restored, and keeps time from now on.
    pub fn begin(self: &Arc<Self>) {
        self.clock.tell_jumps(&self.timer);
        let mut effects = Vec::new();
        let mut state = self.lock();
        if let Some(commons) = state.commons.clone() {
            let (sender, mail) = tokio::sync::mpsc::unbounded_channel();
            state.commons_mail = Some(sender);
            let shared = Arc::clone(self);
            self.runtime.spawn(super::commons::look_after_shares(shared, commons, mail));
        }
        state.begin();
        state.settle(Wanted::Nothing, &mut effects);
        let inbox = state.inbox.take();
        drop(state);
        if let Some(source) = inbox {
            self.runtime.spawn(super::inbox::follow_inbox(Arc::clone(self), source));
        }
        self.perform(&mut effects);
        self.runtime.spawn(super::timer::keep_time(Arc::clone(self)));
        if self.has_books {
            self.begin_books();
        }
    }

    fn begin_books(self: &Arc<Self>) {
        if self.pace == Pace::Slow {
            let (shared, runtime) = (Arc::clone(self), self.runtime.clone());
            let keeper = std::thread::Builder::new().name("tidewheel-books".to_owned());
            if keeper.spawn(move || runtime.block_on(keep_books(shared))).is_ok() {
                return;
            }
            // No thread to be had: the runtime's own will have to wait for the disk.
        }
        self.runtime.spawn(keep_books(Arc::clone(self)));
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // A decision was broken off by a panic of our own: nothing in it can be trusted.
            let mut state = poisoned.into_inner();
            state.end.get_or_insert(End::Lost(Arc::from("the scheduler broke an invariant")));
            state
        })
    }

    /// The lock, if nobody has it.
    fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Poisoned(_)) => Some(self.lock()),
        }
    }

    /// Takes in the end of an attempt and gives the one to go on with: by itself if the scheduler
    /// is free, else through whoever has it.
    pub(super) fn attempt_ended(
        self: &Arc<Self>,
        rival: &mut Rival,
        seat: &Arc<Seat>,
        outcome: Outcome,
        wanted: Wanted,
        effects: &mut Vec<Effect>,
    ) -> Option<Next> {
        let now = self.clock.now();
        if self.has_books {
            return self.attempt_ended_in_books(now, seat, outcome, wanted, effects);
        }
        let took = rival.pace(now.monotonic);
        if let Some(mut state) = self.try_lock() {
            rival.defeats = rival.defeats.saturating_sub(1);
            self.is_driven.store(true, Ordering::Relaxed);
            let next = state.attempt_ended(now, seat, outcome, wanted, effects);
            self.take_in_reports(&mut state, now, effects);
            if took > SHORT_NANOS {
                // Not so short after all: other threads are of use.
                state.launch_spare(effects);
            }
            self.has_spare.store(!state.spare.is_empty(), Ordering::Relaxed);
            self.is_driven.store(false, Ordering::Relaxed);
            if matches!(wanted, Wanted::Single) {
                self.is_brisk.store(took <= SHORT_NANOS, Ordering::Relaxed);
                self.single_workers.fetch_sub(usize::from(next.is_none()), Ordering::Relaxed);
            }
            return next;
        }
        rival.defeats += DEFEAT;
        if rival.defeats >= DEFEATS_MAX
            && took <= SHORT_NANOS
            && self.is_driven.load(Ordering::Relaxed)
        {
            if matches!(wanted, Wanted::Single) {
                self.single_workers.fetch_sub(1, Ordering::Relaxed);
            }
            self.leave(seat, outcome);
            return None;
        }
        let is_single = matches!(wanted, Wanted::Single);
        let wanted = Some((wanted, Arc::clone(&rival.answer)));
        self.post.leave(Report { seat: Arc::clone(seat), outcome, wanted });
        let mut tries = 0;
        loop {
            if let Some(next) = rival.answer.take() {
                // The wait for the answer is not the next attempt's time.
                rival.last = self.clock.now().monotonic;
                if is_single && next.is_none() {
                    self.single_workers.fetch_sub(1, Ordering::Relaxed);
                }
                return next;
            }
            // The holder may have looked at the post just before the report was left.
            let free = if tries < SPINS_MAX { self.try_lock() } else { Some(self.lock()) };
            match free {
                Some(mut state) => self.take_in_reports(&mut state, now, effects),
                None => std::hint::spin_loop(),
            }
            tries += 1;
        }
    }

    /// Takes in the end of an attempt. What comes next is known only once that is stored.
    #[inline(never)]
    fn attempt_ended_in_books(
        self: &Arc<Self>,
        now: Now,
        seat: &Arc<Seat>,
        outcome: Outcome,
        wanted: Wanted,
        effects: &mut Vec<Effect>,
    ) -> Option<Next> {
        let mut state = self.lock();
        let next = state.attempt_ended(now, seat, outcome, Wanted::Nothing, effects);
        drop(state);
        self.decided();
        if matches!(wanted, Wanted::Single) {
            self.single_workers.fetch_sub(1, Ordering::Relaxed);
        }
        next
    }

    /// Leaves a report behind and the work to the worker that has the scheduler.
    fn leave(self: &Arc<Self>, seat: &Arc<Seat>, outcome: Outcome) {
        self.post.leave(Report { seat: Arc::clone(seat), outcome, wanted: None });
        self.watch();
    }

    /// Has somebody look after spare work.
    fn watch(self: &Arc<Self>) {
        if !self.is_watched.swap(true, Ordering::SeqCst) {
            self.runtime.spawn(super::timer::watch_spare(Arc::clone(self)));
        }
    }

    /// Takes in what workers left while the scheduler was busy.
    #[inline]
    fn take_in_reports(&self, state: &mut State, now: Now, effects: &mut Vec<Effect>) {
        while !self.post.is_empty() {
            let mut reports = std::mem::take(&mut state.reports);
            self.post.collect(&mut reports);
            for Report { seat, outcome, wanted } in reports.drain(..) {
                match wanted {
                    Some((wanted, answer)) => {
                        let next = state.attempt_ended(now, &seat, outcome, wanted, effects);
                        // The worker reuses its seat if nobody else has it.
                        drop(seat);
                        answer.give(next);
                    }
                    None => state.last_attempt_ended(now, &seat, outcome, effects),
                }
            }
            state.reports = reports;
        }
    }

    /// A worker's attempt waits for something, or has waited.
    pub(super) fn note_waiting(&self, seat: &Seat, waits: bool) {
        if seat.run.is_some() {
            return;
        }
        if waits {
            self.single_workers.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.single_workers.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The attempt of the worker that has spare work must wait: others take it over.
    pub(super) fn launch_spare(self: &Arc<Self>) {
        if !self.has_spare.load(Ordering::Relaxed) {
            return;
        }
        let mut effects = Vec::new();
        let mut state = self.lock();
        state.launch_spare(&mut effects);
        self.has_spare.store(false, Ordering::Relaxed);
        drop(state);
        self.perform(&mut effects);
    }

    /// Looks after spare work that nobody has come for since the last look. Whether to go on.
    pub(super) fn look_after_spare(self: &Arc<Self>, watch: &mut Watch) -> bool {
        let mut effects = Vec::new();
        let now = self.clock.now();
        let mut state = self.lock();
        watch.idle = if state.spare.is_empty() { watch.idle + 1 } else { 0 };
        self.take_in_reports(&mut state, now, &mut effects);
        // As long as somebody comes for it again and again, it is in good hands.
        let seen = std::mem::replace(&mut watch.exchanges, state.exchanges);
        if seen == state.exchanges {
            state.launch_spare(&mut effects);
            self.has_spare.store(false, Ordering::Relaxed);
        }
        let goes_on = watch.idle < WATCH_IDLE_MAX && state.end.is_none();
        if !goes_on {
            // A swap, so that either this sees the report or its worker sees that nobody watches.
            self.is_watched.swap(false, Ordering::SeqCst);
            // A report left since, before its worker saw that nobody watches any more.
            self.take_in_reports(&mut state, now, &mut effects);
            state.launch_spare(&mut effects);
        }
        drop(state);
        self.perform(&mut effects);
        goes_on
    }

    /// Asks something of the scheduler.
    pub fn command(self: &Arc<Self>, until: Until, command: Command) -> Result<Reply, Rejection> {
        self.command_with(until, |_, _| Ok(command), |_, _, _| ())
    }

    /// As [`Shared::command`], of what is found under the lock.
    pub fn command_by(
        self: &Arc<Self>,
        until: Until,
        make: impl FnOnce(&mut State) -> Result<Command, Rejection>,
    ) -> Result<Reply, Rejection> {
        self.command_with(until, |state, _| make(state), |_, _, _| ())
    }

    /// Asks something of the scheduler; nobody waits for the answer.
    pub fn wish(self: &Arc<Self>, wish: Wish) {
        let mut effects = Vec::new();
        let now = self.clock.now();
        let mut state = self.lock();
        // Refused only when what it is about has ended already.
        let _ = state.wish(now, wish);
        self.settle(state, now, &mut effects);
        self.perform(&mut effects);
    }

    /// Asks something of the scheduler. `make` and `bind` run under the lock, before the step and
    /// before anything follows from it; neither may run or drop what belongs to users.
    pub fn command_with(
        self: &Arc<Self>,
        until: Until,
        make: impl FnOnce(&mut State, Now) -> Result<Command, Rejection>,
        bind: impl FnOnce(&mut State, &Reply, Ticket),
    ) -> Result<Reply, Rejection> {
        let mut effects = Vec::new();
        let now = self.clock.now();
        let mut state = self.lock();
        if self.has_books {
            return self.command_in_books(state, now, until, make, bind);
        }
        let reply = make(&mut state, now).and_then(|command| state.ask(now, command));
        let reply = reply.map(|(reply, ticket)| {
            bind(&mut state, &reply, ticket);
            reply
        });
        let mut next = state.settle(Wanted::Single, &mut effects);
        if self.is_brisk.load(Ordering::Relaxed)
            && self.single_workers.load(Ordering::Relaxed) > 0
            && let Some(Next::Single(single)) = next
        {
            // A worker will be back sooner than another one could be called.
            state.spare.push_back(Effect::LaunchSingle(single));
            self.has_spare.store(true, Ordering::Relaxed);
            next = None;
        }
        self.take_in_reports(&mut state, now, &mut effects);
        let is_spare = !state.spare.is_empty();
        drop(state);
        if let Some(Next::Single(single)) = next {
            self.runtime.spawn(single_worker(Arc::clone(self), single));
        }
        if is_spare {
            self.watch();
        }
        self.perform(&mut effects);
        reply
    }

    fn command_in_books(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        now: Now,
        until: Until,
        make: impl FnOnce(&mut State, Now) -> Result<Command, Rejection>,
        bind: impl FnOnce(&mut State, &Reply, Ticket),
    ) -> Result<Reply, Rejection> {
        let command = make(&mut state, now)?;
        let (reply, ticket) = state.ask(now, command)?;
        bind(&mut state, &reply, ticket);
        let mut effects = Vec::new();
        state.rearm(&mut effects);
        drop(state);
        self.perform(&mut effects);
        match until {
            // What is stored on the spot need not be asked for later.
            Until::Later if self.pace != Pace::Instant => self.decided(),
            Until::Later | Until::Stored => self.wait_until_stored(ticket)?,
        }
        Ok(reply)
    }

    /// Tells the scheduler something that can be told again or missed.
    pub(super) fn tell(self: &Arc<Self>, now: Now, event: Event, effects: &mut Vec<Effect>) {
        let mut state = self.lock();
        state.tell(now, event);
        self.settle(state, now, effects);
    }

    /// Tells the scheduler what a custom trigger said.
    fn trigger_answered(
        self: &Arc<Self>,
        schedule: ScheduleRef,
        next: Option<Timestamp>,
        effects: &mut Vec<Effect>,
    ) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.trigger_answered(now, schedule, next);
        self.settle(state, now, effects);
    }

    /// What follows from something that nobody waits for.
    fn settle(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        now: Now,
        effects: &mut Vec<Effect>,
    ) {
        state.settle(Wanted::Nothing, effects);
        self.take_in_reports(&mut state, now, effects);
        drop(state);
        if self.has_books {
            self.decided();
        }
    }

    /// Carries out effects, and what follows from them, without the lock.
    pub(super) fn perform(self: &Arc<Self>, effects: &mut Vec<Effect>) {
        while !effects.is_empty() {
            let mut follow_up = Vec::new();
            for effect in effects.drain(..) {
                self.perform_one(effect, &mut follow_up);
            }
            effects.append(&mut follow_up);
        }
    }

    fn perform_one(self: &Arc<Self>, effect: Effect, follow_up: &mut Vec<Effect>) {
        match effect {
            Effect::Launch(launch, start) => launch.launch(start),
            Effect::LaunchSingle(single) => {
                self.runtime.spawn(single_worker(Arc::clone(self), single));
            }
            Effect::Stop(seat, stopped) => seat.stop(stopped),
            Effect::EndSingle(entry, end) => {
                // Dropping what the user gave may panic; nobody else should suffer for it.
                let _ = guard(|| drop(entry.code));
                let _ = guard(|| entry.waiter.ended(end));
            }
            Effect::EndRun(launch, report, end) => {
                let _ = guard(|| launch.ended(report.map(|report| *report), end));
                let _ = guard(|| drop(launch));
            }
            Effect::AskTrigger(ask, schedule, last) => {
                // A trigger that panics has no next instant.
                let next = ask.and_then(|ask| guard(|| ask(last)).unwrap_or(None));
                self.trigger_answered(schedule, next, follow_up);
            }
            Effect::MakeRun(maker, wanted) => {
                self.runtime.spawn(make_run(Arc::clone(self), maker, wanted));
            }
            Effect::DropCode(entry) => {
                let _ = guard(|| drop(entry));
            }
            Effect::DropAdded(code) => {
                for code in code {
                    let _ = guard(|| drop(code));
                }
            }
            Effect::ShutDownCompleted => {
                self.completed.send_replace(true);
                // Whoever keeps time or the books sees that it is over, and lets go of everything.
                self.timer.notify_one();
                self.decided.notify_one();
            }
            Effect::Rearm => self.timer.notify_one(),
        }
    }

    /// A worker or the timer is gone without having ended: the runtime was shut down, or a bug of
    /// ours panicked. Nobody will run anything here any more, so whoever waits is told.
    pub(super) fn give_up(self: &Arc<Self>) {
        let mut effects = Vec::new();
        let mut state = self.lock();
        if state.end.is_none() {
            state.end = Some(End::Lost(Arc::from("the runtime ended")));
        }
        state.end_everything(&mut effects);
        drop(state);
        self.perform(&mut effects);
        self.decided.notify_one();
        self.tell_waiting();
    }

    pub fn add_handle(&self) {
        self.handles.fetch_add(1, Ordering::Relaxed);
    }

    pub fn drop_handle(self: &Arc<Self>) {
        let is_last = self.handles.fetch_sub(1, Ordering::AcqRel) == 1;
        // Somebody's explicit word counts more than a handle that goes out of scope.
        if is_last && !self.is_shutting_down.load(Ordering::Acquire) {
            self.shut_down(ShutdownMode::Drain, None);
        }
    }

    pub fn shut_down(self: &Arc<Self>, mode: ShutdownMode, grace: Option<Duration>) {
        self.is_shutting_down.store(true, Ordering::Release);
        self.wish(Wish::ShutDown(mode, grace));
    }
}
