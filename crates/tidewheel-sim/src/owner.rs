//! The owner of a world's schedules: makes the runs that their firings are, sometimes late, twice or
//! not at all.
//!
//! When instants fire is the scheduler's business; what else callers ask for is in [`crate::client`].

use tidewheel_core::decision::MakeRun;
use tidewheel_core::id::RunId;
use tidewheel_core::input::{Command, Event, Input, Rejection, Reply};
use tidewheel_core::time::Moment;

use std::sync::Arc;

use crate::client::Asked;
use crate::workload;
use crate::world::World;

/// A run that was asked for, and when it is made.
#[derive(Debug, Clone, Copy)]
pub struct Making {
    at: Moment,
    wanted: MakeRun,
    fails: bool,
}

impl Making {
    /// When the owner answers.
    #[must_use]
    pub const fn at(&self) -> Moment {
        self.at
    }
}

impl World {
    /// A schedule asks for a run.
    pub(crate) fn make_run(&mut self, wanted: MakeRun) {
        self.coverage.hit("firing: run asked for");
        if !self.wished.insert(wanted.run) {
            self.coverage.hit("firing: run asked for again");
        }
        let at = self.now.monotonic.after(self.random.millis(0, 4_000));
        let fails = self.faults && self.random.percent(12);
        self.making.push(Making { at, wanted, fails });
        if self.faults && self.random.percent(10) {
            let at = at.after(self.random.millis(0, 4_000));
            self.making.push(Making { at, wanted, fails: self.random.percent(30) });
        }
    }

    /// Memory was dropped while the process goes on: some answers still come, for keys of before.
    pub(crate) fn keep_some_answers(&mut self) {
        let mut random = self.random.fork();
        self.making.retain(|_| random.percent(50));
        if !self.making.is_empty() {
            self.coverage.hit("firing: answered after a recovery");
        }
    }

    /// The answers that are due.
    pub(crate) fn due_answers(&mut self) -> Vec<(Input, Option<Asked>)> {
        let now = self.now.monotonic;
        let (due, later) = self.making.iter().copied().partition(|making| making.at <= now);
        self.making = later;
        let due: Vec<Making> = due;
        due.into_iter().map(|making| self.answer(making)).collect()
    }

    fn answer(&mut self, making: Making) -> (Input, Option<Asked>) {
        let MakeRun { schedule, run, .. } = making.wanted;
        if making.fails {
            self.coverage.hit("firing: run not made");
            let error = Arc::from("no such flow");
            return (Input::Event(Event::RunNotMade { schedule, run, error }), None);
        }
        let spec = Arc::new(workload::run(&mut self.random));
        let command = Command::SubmitFiring { schedule, id: run, spec };
        (Input::Command(command), Some(Asked::Firing(making.wanted)))
    }

    /// What the owner learns about a run it has made.
    pub(crate) fn learn_of_run(&mut self, wanted: MakeRun, reply: Result<Reply, Rejection>) {
        let id: RunId = wanted.run;
        match reply {
            Ok(_) => {
                self.coverage.hit("firing: run made");
                self.acknowledged.push(id);
            }
            // The next start asks again.
            Err(Rejection::ShuttingDown) => self.coverage.hit("firing: refused by a shutdown"),
            Err(Rejection::AlreadyAccepted(run)) if run == id => {
                self.coverage.hit("firing: made twice");
            }
            Err(Rejection::Gone(_)) => self.coverage.hit("firing: no longer wanted"),
            Err(_) => {
                self.coverage.hit("firing: run refused");
                let at = self.now.monotonic;
                self.making.push(Making { at, wanted, fails: true });
            }
        }
    }
}
