//! [`Shared`]: what all handles and workers of a wheel have in common, and the one way in.
//!
//! Lock, step, settle, unlock, and only then carry out the effects.

use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tidewheel_core::input::{Command, Event, Rejection, Reply, ShutdownMode};
use tidewheel_core::time::{Now, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::attempt::guard;
use super::books::Ticket;
use super::code::Ask;
use super::effect::{Effect, End};
use super::engine::ScheduleRef;
use super::making::make_run;
use super::report::{Next, Wanted, Word};
use super::seat::Seat;
use super::state::State;
use super::turnstile::{Guard, Passed, Rival, Turnstile, Watch};
use super::wish::Wish;
use super::worker::{Breath, single_worker};
use super::writing::keep_books;
use crate::clock::Clock;
use crate::observe::Hub;
use crate::store::Pace;

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
    /// Tells whoever waits without a thread that something was stored.
    pub(super) stored_notice: Notify,
    /// True once nothing runs and nothing will.
    pub completed: watch::Sender<bool>,
    /// Handles of users; when the last is dropped, the wheel drains.
    handles: AtomicUsize,
    /// Attempts that have not begun may have been told to stop.
    pub(super) has_early: Arc<AtomicBool>,
    is_shutting_down: AtomicBool,
    pub(super) turnstile: Turnstile<State>,
    /// Decisions are kept.
    pub(super) has_books: bool,
    /// How the store wants to be waited for.
    pub(super) pace: Pace,
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
            timer: Arc::clone(&state.timer),
            has_early: Arc::clone(&state.has_early),
            decided: Arc::new(Notify::new()),
            stored_notice: Notify::new(),
            completed: watch::Sender::new(false),
            handles: AtomicUsize::new(0),
            is_shutting_down: AtomicBool::new(false),
            has_books: state.books.is_some(),
            pace: settings.pace,
            turnstile: Turnstile::new(state),
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

    /// Whether decisions are kept.
    pub fn keeps_rows(&self) -> bool {
        self.has_books
    }

    pub fn lock(&self) -> impl DerefMut<Target = State> {
        self.turnstile.lock()
    }

    /// Takes in the end of an attempt, at this time, and gives the one to go on with: by itself if the
    /// scheduler is free, else through whoever has it.
    #[inline]
    pub(super) fn attempt_ended(
        self: &Arc<Self>,
        rival: &mut Rival<State>,
        word: Word<'_>,
        effects: &mut Vec<Effect>,
    ) -> Option<Next> {
        if self.has_books {
            return self.attempt_ended_in_books(word, effects);
        }
        let next = self.turnstile.pass(rival, word, effects);
        if rival.passed() == Passed::Left {
            self.watch();
        }
        next
    }

    /// Takes in the end of an attempt. What comes next is known only once that is stored.
    #[inline(never)]
    fn attempt_ended_in_books(
        self: &Arc<Self>,
        word: Word<'_>,
        effects: &mut Vec<Effect>,
    ) -> Option<Next> {
        let is_single = matches!(word.wanted, Wanted::Single);
        let next = self.lock().attempt_ended(Word { wanted: Wanted::Nothing, ..word }, effects);
        self.decided();
        if is_single {
            self.turnstile.remove_regular();
        }
        next
    }

    /// Has somebody look after spare work, and after reports of workers that have left.
    fn watch(self: &Arc<Self>) {
        if self.turnstile.wants_watch() {
            self.runtime.spawn(super::timer::watch_spare(Arc::clone(self)));
        }
    }

    /// A worker's attempt waits for something, or has waited.
    pub(super) fn note_waiting(&self, seat: &Seat, waits: bool) {
        if seat.run.is_some() {
            return;
        }
        if waits {
            self.turnstile.remove_regular();
        } else {
            self.turnstile.add_regular();
        }
    }

    /// The attempt of the worker that has spare work must wait: others take it over.
    pub(super) fn launch_spare(self: &Arc<Self>) {
        let mut effects = Vec::new();
        if self.turnstile.launch_spare(&mut effects) {
            self.perform(&mut effects);
        }
    }

    /// Looks after spare work that nobody has come for since the last look. Whether to go on.
    pub(super) fn look_after_spare(self: &Arc<Self>, watch: &mut Watch) -> bool {
        let mut effects = Vec::new();
        let goes_on = self.turnstile.look_after(watch, &mut effects);
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

    /// Asks something of the scheduler that is not forgotten while the store is in trouble: it is kept until it
    /// can be stored. Refused only if what it is about has ended.
    pub fn wish(self: &Arc<Self>, until: Until, wish: Wish) -> Result<Reply, Rejection> {
        let mut effects = Vec::new();
        let now = self.clock.now();
        let mut state = self.turnstile.lock();
        let wished = state.wish(now, wish);
        self.settle(state, &mut effects);
        self.perform(&mut effects);
        let (reply, ticket) = wished?;
        if until == Until::Stored && self.has_books {
            // In trouble it is stored later.
            let _ = self.wait_until_stored(ticket);
        }
        Ok(reply)
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
        let mut state = self.turnstile.lock();
        if self.has_books {
            return self.command_in_books(state, now, until, make, bind);
        }
        let reply = make(&mut state, now).and_then(|command| state.ask(now, command));
        let reply = reply.map(|(reply, ticket)| {
            bind(&mut state, &reply, ticket);
            reply
        });
        let mut next = state.settle(Wanted::Single, &mut effects);
        if self.turnstile.is_brisk()
            && let Some(Next::Single(single)) = next
        {
            state.spare.push_back(Effect::LaunchSingle(single));
            next = None;
        }
        self.turnstile.take_in(&mut state, &mut effects);
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
        mut state: Guard<'_, State>,
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
        let mut state = self.turnstile.lock();
        state.tell(now, event);
        self.settle(state, effects);
    }

    /// Tells the scheduler what a custom trigger said.
    fn trigger_answered(
        self: &Arc<Self>,
        schedule: ScheduleRef,
        next: Option<Timestamp>,
        effects: &mut Vec<Effect>,
    ) {
        let now = self.clock.now();
        let mut state = self.turnstile.lock();
        state.trigger_answered(now, schedule, next);
        self.settle(state, effects);
    }

    /// Tells an instant to a schedule whose instants are told; false if it has none such, or this one is decided.
    pub fn tell_instant(self: &Arc<Self>, schedule: ScheduleRef, instant: Timestamp) -> bool {
        let is_taken = self.turnstile.lock().take_told(schedule, instant);
        if is_taken {
            let mut effects = Vec::new();
            self.name_told(schedule, &mut effects);
            self.perform(&mut effects);
        }
        is_taken
    }

    /// Names the next of the instants that a schedule was told, if it waits for one. What is next is found under
    /// the same lock as it is named: an answer that comes too late would be one that was given before.
    fn name_told(self: &Arc<Self>, schedule: ScheduleRef, effects: &mut Vec<Effect>) {
        let now = self.clock.now();
        let mut state = self.turnstile.lock();
        if let Some(next) = state.next_told(schedule) {
            state.trigger_answered(now, schedule, Some(next));
        }
        self.settle(state, effects);
    }

    /// What follows from something that nobody waits for.
    fn settle(self: &Arc<Self>, mut state: Guard<'_, State>, effects: &mut Vec<Effect>) {
        state.settle(Wanted::Nothing, effects);
        self.turnstile.take_in(&mut state, effects);
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
                let next = match ask {
                    Some(Ask::Told(_)) => return self.name_told(schedule, follow_up),
                    // A trigger that panics has no next instant.
                    Some(Ask::Rule(rule)) => guard(|| rule(last)).unwrap_or(None),
                    None => None,
                };
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
    /// ours panicked. Nobody will run anything here any more, so whoever waits is told why.
    pub(super) fn give_up(self: &Arc<Self>, why: &str) {
        let mut effects = Vec::new();
        let mut state = self.lock();
        if state.end.is_none() {
            state.end = Some(End::Lost(Arc::from(why)));
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
        // Refused only when it has ended.
        let _ = self.wish(Until::Later, Wish::ShutDown(mode, grace));
    }
}
