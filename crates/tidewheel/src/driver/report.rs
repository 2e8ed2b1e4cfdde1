//! Reports: how attempts ended, and what their workers go on with.
//!
//! Who gets to say so, and when, is the turnstile's business; what follows is in `state`.

use std::sync::Arc;

use tidewheel_core::decision::Start;
use tidewheel_core::id::RunKey;
use tidewheel_core::input::{Event, Input, Outcome};
use tidewheel_core::time::Now;

use super::code::Entry;
use super::effect::{Effect, End, Single};
use super::seat::Seat;
use super::state::State;
use super::turnstile::Behind;

/// The end of an attempt, as its worker tells it.
pub(super) struct Word<'a> {
    pub now: Now,
    pub seat: &'a Arc<Seat>,
    pub outcome: Outcome,
    pub wanted: Wanted,
}

/// The same, left for whoever has the lock.
pub(super) struct Report {
    now: Now,
    seat: Arc<Seat>,
    outcome: Outcome,
    wanted: Wanted,
}

impl From<Word<'_>> for Report {
    fn from(word: Word<'_>) -> Self {
        let Word { now, seat, outcome, wanted } = word;
        Self { now, seat: Arc::clone(seat), outcome, wanted }
    }
}

/// Whose attempts the caller could go straight on with.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    Nothing,
    Run(RunKey),
    Single,
}

/// The attempt the caller goes on with.
pub(super) enum Next {
    Run(Start),
    Single(Single),
}

impl Behind for State {
    type Word<'a> = Word<'a>;
    type Report = Report;
    type Next = Next;
    type Effects = Vec<Effect>;

    const WATCH_IDLE_MAX: u32 = 50;

    #[inline]
    fn hear(&mut self, word: Word<'_>, effects: &mut Vec<Effect>) -> Option<Next> {
        self.attempt_ended(word, effects)
    }

    fn take_in(&mut self, report: Report, effects: &mut Vec<Effect>) -> Option<Next> {
        // The report ends here: its worker reuses the seat if nobody else has it.
        let Report { now, seat, outcome, wanted } = report;
        self.attempt_ended(Word { now, seat: &seat, outcome, wanted }, effects)
    }

    fn take_in_last(&mut self, report: Report, effects: &mut Vec<Effect>) {
        let known = effects.len();
        self.take_in(Report { wanted: Wanted::Nothing, ..report }, effects);
        for effect in effects.split_off(known) {
            match effect {
                Effect::Launch(..) | Effect::LaunchSingle(_) => self.spare.push_back(effect),
                other => effects.push(other),
            }
        }
    }

    fn has_spare(&self) -> bool {
        !self.spare.is_empty()
    }

    fn exchanges(&self) -> u64 {
        self.exchanges
    }

    fn launch_spare(&mut self, effects: &mut Vec<Effect>) {
        effects.extend(self.spare.drain(..));
    }

    fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    fn break_off(&mut self) {
        self.end.get_or_insert(End::Lost(Arc::from("the scheduler broke an invariant")));
        // Whoever keeps time tells everybody.
        self.timer.notify_one();
    }
}

impl State {
    /// Takes in the end of an attempt and gives the one its worker goes on with.
    pub(super) fn attempt_ended(
        &mut self,
        word: Word<'_>,
        effects: &mut Vec<Effect>,
    ) -> Option<Next> {
        let Word { now, seat, outcome, wanted } = word;
        self.unregister(seat);
        let expanded = matches!(outcome, Outcome::Expanded(_)).then(|| self.key_of(seat)).flatten();
        self.note_end(now, seat, outcome);
        if let Some(task) = expanded
            && let Some(Entry::Run(launch)) = self.entries.get_mut(task.run)
        {
            launch.cell().catch_up(&self.engine);
        }
        let next = self.settle(wanted, effects);
        if self.spare.is_empty() { next } else { self.exchange(next, wanted, effects) }
    }

    #[inline]
    fn note_end(&mut self, now: Now, seat: &Seat, outcome: Outcome) {
        let Start { task, attempt, .. } = seat.start;
        match &mut self.books {
            // Settle sees it if the wheel has ended.
            _ if self.end.is_some() => {}
            Some(books) => books.attempt_ended(&mut self.engine, now, seat.id(), seat.end(outcome)),
            None => {
                let event = Event::AttemptEnded { task, attempt, outcome };
                let _ = self.turn(now, Input::Event(event));
            }
        }
    }

    /// Gives the oldest spare attempt in exchange for the newest one.
    fn exchange(
        &mut self,
        next: Option<Next>,
        wanted: Wanted,
        effects: &mut Vec<Effect>,
    ) -> Option<Next> {
        let fits = |effect: &Effect| match (effect, wanted) {
            (Effect::Launch(_, start), Wanted::Run(run)) => start.task.run == run,
            (Effect::LaunchSingle(_), Wanted::Single) => true,
            _ => false,
        };
        match next {
            Some(Next::Run(start)) => match self.entries.get_mut(start.task.run) {
                Some(Entry::Run(launch)) => {
                    self.spare.push_back(Effect::Launch(Arc::clone(launch), start));
                }
                _ => unreachable!("an attempt of a run that has ended"),
            },
            Some(Next::Single(single)) => self.spare.push_back(Effect::LaunchSingle(single)),
            None => {}
        }
        self.exchanges += 1;
        match self.spare.iter().position(fits).and_then(|place| self.spare.remove(place)) {
            Some(Effect::Launch(_, start)) => Some(Next::Run(start)),
            Some(Effect::LaunchSingle(single)) => Some(Next::Single(single)),
            _ => {
                // The caller leaves too: somebody else must take care of the rest.
                effects.extend(self.spare.drain(..));
                None
            }
        }
    }
}
