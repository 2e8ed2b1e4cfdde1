//! A second shard of the folder: its owner lives beside the world's own, dies at any instant, and what it leaves is taken in.
//!
//! The guest is a world like any other, with its own chance. Moved rows are checked in `moving`, and everything that is
//! promised for one scheduler goes on to be checked for both kinds of work together.

use tidewheel::engine::{Batch, Books};
use tidewheel::store::StoreError;
use tidewheel_core::id::RunId;
use tidewheel_core::input::{Command, Event};
use tidewheel_core::time::Moment;

use crate::fault::StoreFault;
use crate::random::Random;
use crate::workload::{BROUGHT_LIMIT, BROUGHT_QUEUE};
use crate::world::World;

/// Identities of a guest's work are far from all others.
const ROOM: u64 = 1 << 32;

/// Whether this is a guest's work.
pub(crate) fn is_of_guest(run: RunId) -> bool {
    run.0 >= u128::from(ROOM)
}

/// The other shard of a world.
pub struct Beside {
    random: Random,
    is_on: bool,
    /// How many there were.
    guests: u64,
    guest: Option<Box<World>>,
    /// The last word of a guest that was held to be dead and was not.
    last_word: Option<Batch>,
    /// Rows were moved, and the world is still to be told.
    is_untold: bool,
    /// The next time memory is restored, something else happens between reading and going on.
    holds_back: bool,
}

/// What goes wrong when work is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MoveFault {
    /// Nothing is moved, and that is known.
    Unavailable,
    /// Everything is moved, but the answer is lost.
    StoredUnknown,
    /// Nothing is moved, and the answer is lost.
    LostUnknown,
    /// Whoever moves it dies before.
    DiesBefore,
    /// Whoever moves it dies after, before anything of it was read.
    DiesAfter,
    /// Much happens before what was moved is read.
    Late,
    /// Memory is being restored meanwhile, from what was read before.
    Meanwhile,
    /// The store is in trouble when what was moved is to be read.
    Trouble(StoreFault),
}

impl MoveFault {
    const ALL: [Self; 11] = [
        Self::Unavailable,
        Self::StoredUnknown,
        Self::LostUnknown,
        Self::DiesBefore,
        Self::DiesAfter,
        Self::Late,
        Self::Meanwhile,
        Self::Trouble(StoreFault::Down),
        Self::Trouble(StoreFault::StoredSilent),
        Self::Trouble(StoreFault::Stale),
        Self::Trouble(StoreFault::Taken),
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "moving: unavailable",
            Self::StoredUnknown => "moving: unknown, moved",
            Self::LostUnknown => "moving: unknown, not moved",
            Self::DiesBefore => "moving: died before",
            Self::DiesAfter => "moving: died after",
            Self::Late => "moving: told late",
            Self::Meanwhile => "moving: while memory is restored",
            Self::Trouble(StoreFault::Stale) => "moving: tenure stale when it is read",
            Self::Trouble(StoreFault::Taken) => "moving: tenure taken when it is read",
            Self::Trouble(_) => "moving: store in trouble when it is read",
        }
    }

    const fn moves(self) -> bool {
        !matches!(self, Self::Unavailable | Self::LostUnknown | Self::DiesBefore)
    }
}

impl Beside {
    /// That of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed.rotate_left(32) ^ 0xB5);
        let is_on = random.percent(40);
        let (guest, last_word) = (None, None);
        let (is_untold, holds_back) = (false, false);
        Self { random, is_on, guests: 0, guest, last_word, is_untold, holds_back }
    }

    /// One of a guest, who has no guests.
    #[must_use]
    pub fn none() -> Self {
        Self { is_on: false, ..Self::new(0) }
    }

    /// When something happens to the guest without anybody asking.
    #[must_use]
    pub fn next_due(&self) -> Option<Moment> {
        self.guest.as_ref().and_then(|guest| guest.next_due())
    }
}

impl World {
    /// Something happens beside, perhaps.
    pub(crate) fn look_beside(&mut self) {
        if !self.beside.is_on || !self.beside.random.percent(50) {
            return;
        }
        if std::mem::take(&mut self.beside.is_untold) {
            self.ask_to_take_in();
            return;
        }
        let Some(mut guest) = self.beside.guest.take() else {
            if self.beside.random.percent(20) {
                self.receive_guest();
            }
            return;
        };
        if guest.engine.is_none() {
            match self.beside.random.below(10) {
                // It is started again before anybody else comes.
                0 => guest.open(),
                1..=4 => return self.move_in(guest),
                _ => {}
            }
        } else if self.beside.random.percent(8) {
            self.beside.last_word = guest.die();
        } else {
            guest.live_beside(self);
        }
        self.beside.guest = Some(guest);
    }

    /// Whether somebody else gets a word in while memory is restored.
    pub(crate) fn is_slow_to_restore(&mut self) -> bool {
        let may_wait = self.beside.is_on && self.is_patient && self.faults;
        std::mem::take(&mut self.beside.holds_back) || may_wait && self.beside.random.percent(40)
    }

    fn become_guest(&mut self, first_id: u64) {
        self.is_guest = true;
        self.is_patient = true;
        self.next_id = first_id;
        self.beside = Beside::none();
    }

    fn receive_guest(&mut self) {
        self.beside.guests += 1;
        let seed = self.beside.random.number();
        let mut guest = Box::new(Self::new(seed, self.trace.is_readable()));
        guest.become_guest(self.beside.guests * ROOM);
        guest.store = self.store.another_shard();
        guest.store.expect_records();
        guest.now = self.now;
        guest.open();
        // Mostly both say the same of what they have in common; otherwise nothing is moved.
        let has_other = self.beside.random.percent(10);
        guest.set_up_like((!has_other).then_some(&*self));
        self.coverage.hit("beside: a guest");
        self.trace.add(format_args!("guest {}", self.beside.guests));
        self.beside.guest = Some(guest);
    }

    /// What is due beside happens, and somebody asks for something there.
    fn live_beside(&mut self, host: &mut Self) {
        self.now = host.now;
        self.wall_jumped |= host.wall_jumped;
        match self.random.below(10) {
            0..=5 => self.ask(1),
            _ => self.deliver(),
        }
        let passed = self.now.monotonic.since(host.now.monotonic);
        host.pass(passed);
        host.listen_to(self);
    }

    /// The process is gone, or seems to be. What it was about to store is its last word.
    fn die(&mut self) -> Option<Batch> {
        self.coverage.hit("beside: died");
        // It was about to decide something.
        self.tell(Event::TimePassed);
        let batch = match (&mut self.engine, &mut self.books) {
            (Some(engine), Some(books)) if !books.is_down() => engine.close(),
            _ => None,
        };
        self.end_for_good("beside: died at an instant");
        batch
    }

    /// The work of a dead guest is moved here, whatever goes wrong with that.
    fn move_in(&mut self, guest: Box<Self>) {
        let fault = self.beside.random.percent(60).then(|| {
            let random = &mut self.beside.random;
            *random.pick(&MoveFault::ALL)
        });
        if let Some(fault) = fault {
            self.coverage.hit(fault.name());
            self.trace.add(format_args!("{}", fault.name()));
        }
        if fault == Some(MoveFault::Meanwhile) {
            self.begin_restoring();
        }
        let is_moved = if fault.is_none_or(MoveFault::moves) {
            self.note_moved_states(&guest);
            match guest.store.move_to(&self.store) {
                Ok(()) => true,
                Err(StoreError::Conflict { what }) => {
                    self.coverage.hit("moving: refused");
                    self.trace.add(format_args!("not moved: {what}"));
                    self.let_guest_go_on(guest);
                    return;
                }
                Err(error) => return self.violate("work can be moved", format!("{error:?}")),
            }
        } else {
            false
        };
        if is_moved {
            self.coverage.hit("moving: moved");
            self.inherit(guest);
        } else {
            self.beside.guest = Some(guest);
        }
        match fault {
            None
            | Some(MoveFault::StoredUnknown | MoveFault::LostUnknown | MoveFault::Meanwhile) => {
                self.ask_to_take_in();
            }
            Some(MoveFault::Trouble(trouble)) => {
                self.errands_in_trouble = self.random.between(1, 20);
                self.store.set_fault(Some(trouble));
                self.ask_to_take_in();
            }
            Some(MoveFault::Late) => self.beside.is_untold = true,
            Some(MoveFault::DiesBefore | MoveFault::DiesAfter) => {
                self.crash("moving: whoever moves it died");
            }
            Some(MoveFault::Unavailable) => {}
        }
    }

    /// Nobody took it over: it is opened again where it is.
    fn let_guest_go_on(&mut self, mut guest: Box<Self>) {
        guest.now = self.now;
        guest.open();
        self.beside.last_word = None;
        self.beside.guest = Some(guest);
    }

    /// Memory is to be restored from what is stored.
    fn ask_to_take_in(&mut self) {
        if let (Some(engine), Some(books)) = (&self.engine, &mut self.books) {
            if books.is_down() {
                self.coverage.hit("taken in: while memory is lost");
            }
            if self.in_hand.is_some() {
                self.coverage.hit("taken in: while memory is being restored");
            }
            if books.running().next().is_some() {
                self.coverage.hit("taken in: while attempts run here");
            }
            books.take_in(engine);
            self.trace.add(format_args!("take in"));
        }
        self.write();
    }

    fn note_moved_states(&mut self, guest: &Self) {
        let rows = guest.store.rows();
        for run in rows.unfinished() {
            let of_run = rows.runs.get(&run).into_iter().flat_map(|run| run.tasks.values());
            let single = rows.submissions.get(&run).and_then(|kept| kept.task.as_ref());
            for row in of_run.chain(single) {
                if row.state.holds_slot() {
                    self.coverage.hit("moving: with running attempts");
                } else if !row.state.is_terminal() && row.attempts > 0 {
                    self.coverage.hit("moving: between two attempts");
                }
            }
        }
    }

    /// Has memory restored, as far as reading what is stored.
    fn begin_restoring(&mut self) {
        if let (Some(engine), Some(books)) = (&self.engine, &mut self.books) {
            books.take_in(engine);
        }
        self.beside.holds_back = true;
        while self.in_hand.is_none() && self.run_errand() {}
        self.beside.holds_back = false;
    }

    /// What was promised for the work of the guest is promised here from now on.
    fn inherit(&mut self, mut guest: Box<Self>) {
        if let Some(mut batch) = self.beside.last_word.take() {
            let answer = batch.commit(&mut guest.store).map(drop);
            match answer {
                Err(StoreError::StaleTenure { .. }) => self.coverage.hit("moving: a last word"),
                // Nothing was to be stored.
                Ok(()) if guest.store.take_changes().is_empty() => {}
                other => self.violate("the dead have no say", format!("{other:?}")),
            }
        }
        self.listen_to(&mut guest);
        let guest = *guest;
        self.ledger.inherit(guest.ledger);
        self.executor.inherit(guest.executor);
        self.promises.inherit(guest.promises);
        self.acknowledged.extend(guest.acknowledged);
        self.schedules.extend(guest.schedules);
        self.updated.extend(guest.updated);
        self.wished.extend(guest.wished);
        self.wall_jumped |= guest.wall_jumped;
        self.coverage.merge(&guest.coverage);
    }

    /// Whatever a guest found wrong is wrong, and what it did is part of what happened.
    fn listen_to(&mut self, guest: &mut Self) {
        self.inputs += std::mem::take(&mut guest.inputs);
        self.violations.append(&mut guest.violations);
        let stored = std::mem::take(&mut guest.store.rows().violations);
        self.store.rows().violations.extend(stored);
        self.trace.append(&mut guest.trace);
    }

    /// A guest whose work was never moved comes to its own end.
    pub(crate) fn see_guest_off(&mut self) -> Option<String> {
        if std::mem::take(&mut self.beside.is_untold) {
            self.ask_to_take_in();
        }
        let mut guest = self.beside.guest.take()?;
        guest.now = self.now;
        guest.wall_jumped |= self.wall_jumped;
        // Nothing goes wrong any more, not even while it is opened.
        guest.faults = false;
        if guest.engine.is_none() {
            guest.open();
        }
        guest.heal();
        let failure = guest.broken().or_else(|| guest.judge());
        self.coverage.merge(&guest.coverage);
        failure.map(|failure| format!("beside: {failure}"))
    }

    /// Whoever decides knows of all that is stored and has not ended, and of nothing else.
    pub(crate) fn check_memory(&mut self) {
        if !self.has_stored_all() || self.books.as_ref().is_some_and(Books::is_taking_in) {
            return;
        }
        let Some(engine) = &self.engine else { return };
        let rows = self.store.rows();
        let is_told = !self.beside.is_untold;
        let is_read = |id: &RunId| is_told || !rows.unread.contains(id);
        let mut stored: Vec<_> = rows.unfinished().filter(is_read).collect();
        drop(rows);
        let mut known: Vec<_> = engine.scheduler().works().map(|(_, id)| id).collect();
        stored.sort_unstable();
        known.sort_unstable();
        if stored != known {
            let text = format!("{stored:?} are stored, {known:?} known");
            self.violate("memory is what is stored", text);
        }
    }

    /// Defines what the host has, or something else.
    fn set_up_like(&mut self, host: Option<&Self>) {
        let Some(host) = host else { return self.set_up() };
        let rows = host.store.rows();
        let (queues, limits) = (rows.queues.clone(), rows.limits.clone());
        drop(rows);
        self.faults = false;
        for (name, spec, _) in queues.into_iter().filter(|(name, ..)| **name != *BROUGHT_QUEUE) {
            self.promises.queues.insert(name.clone(), spec.clone());
            self.command(Command::DefineQueue { name, spec });
        }
        let limits = limits.into_iter().filter(|(name, _)| **name != *BROUGHT_LIMIT);
        for (name, spec) in limits.chain(self.extremes.limit()) {
            self.command(Command::DefineLimit { name, spec });
        }
        self.faults = true;
    }
}
