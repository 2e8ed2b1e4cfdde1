//! What every store must do about firings: those that are runs, those that come to nothing, and those
//! that people ask for.
//!
//! The rest of the suite, and what its parts have in common, is in `conformance`.
#![allow(clippy::unwrap_used, reason = "a failing store should fail its test where it fails")]

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::{Action, MakeRun};
use tidewheel_core::id::{ScheduleId, ScheduleKey};
use tidewheel_core::input::{Command, Event, Fires, Outcome, Reply};
use tidewheel_core::row::ScheduleRow;
use tidewheel_core::schedule::{Origin, Overlap, ScheduleSpec, Trigger};

use super::conformance::{Opener, ask, at, ended, open, spec, starts, stored, tell};
use super::{FiringFate, Reader};
use crate::driver::engine::Engine;

pub(super) fn exercise(make: &impl Fn() -> Opener) {
    a_wanted_run_comes_back_until_it_is_made(&make());
    the_run_of_a_firing_comes_back_as_such(&make());
    a_changed_schedule_comes_back_so(&make());
    what_people_asked_for_comes_back(&make());
}

/// A schedule that fires a run every ten seconds, from the second 1 on.
fn add(engine: &mut Engine, overlap: Overlap) -> (ScheduleKey, Vec<MakeRun>) {
    let mut spec = ScheduleSpec::new(Trigger::every(Duration::from_secs(10)));
    (spec.overlap, spec.name) = (overlap, Some(Arc::from("nächtlich")));
    let (id, spec) = (ScheduleId(u128::MAX), Box::new(spec));
    match ask(engine, at(1), Command::AddSchedule { id, spec, fires: Fires::Run }) {
        (Reply::Scheduled(key), actions) => (key, wanted(&actions)),
        (other, _) => panic!("{other:?}"),
    }
}

fn wanted(actions: &[Action]) -> Vec<MakeRun> {
    let wanted = |action: &Action| match action {
        Action::MakeRun(wanted) => Some(*wanted),
        _ => None,
    };
    actions.iter().filter_map(wanted).collect()
}

fn only_schedule(opener: &Opener) -> ScheduleRow {
    let [row] = &stored(opener).schedules[..] else { panic!("one schedule is stored") };
    row.clone()
}

fn a_wanted_run_comes_back_until_it_is_made(opener: &Opener) {
    let mut engine = open(opener);
    let (_, first) = add(&mut engine, Overlap::Allow);
    let second = wanted(&tell(&mut engine, at(11), Event::TimePassed));
    let row = only_schedule(opener);
    assert_eq!(row.fires, Fires::Run);
    let runs: Vec<_> = row.wanted.iter().map(|wanted| wanted.run).collect();
    assert_eq!(runs, [first[0].run, second[0].run]);

    let mut engine = open(opener);
    let again = wanted(&std::mem::take(&mut engine.outputs().actions));
    assert_eq!(again.iter().map(|wanted| wanted.run).collect::<Vec<_>>(), runs);
    let error = Arc::from("nö");
    let (schedule, run) = (again[0].schedule, again[0].run);
    // The owner's clock begins anew, its schedule's time goes on.
    tell(&mut engine, at(1), Event::RunNotMade { schedule, run, error });
    let row = only_schedule(opener);
    assert_eq!((row.wanted.len(), row.wanted[0].run), (1, runs[1]));
    assert_eq!(row.state.outstanding, 1);
}

fn the_run_of_a_firing_comes_back_as_such(opener: &Opener) {
    let mut engine = open(opener);
    let (schedule, made) = add(&mut engine, Overlap::Skip);
    let (id, spec) = (made[0].run, Arc::new(spec()));
    ask(&mut engine, at(2), Command::SubmitFiring { schedule, id, spec });
    let snapshot = stored(opener);
    let row = &snapshot.runs[0].row;
    assert_eq!((row.id, row.firing), (id, Some((made[0].id, made[0].nominal))));
    assert!(snapshot.schedules[0].wanted.is_empty());
    assert_eq!(snapshot.schedules[0].state.outstanding, 1);

    // While it runs, the next owner fires no other; once it has ended, it does.
    let mut engine = open(opener);
    assert!(wanted(&tell(&mut engine, at(12), Event::TimePassed)).is_empty());
    let run = engine.scheduler().find_run(id).unwrap();
    let mode = tidewheel_core::input::CancelMode::End { grace: Duration::ZERO };
    let (_, actions) = ask(&mut engine, at(13), Command::CancelRun { run, mode });
    for start in starts(&actions) {
        tell(&mut engine, at(13), ended(start, Outcome::Cancelled));
    }
    let left: Vec<_> = engine.scheduler().running().collect();
    for (task, attempt) in left {
        let outcome = Outcome::Cancelled;
        tell(&mut engine, at(13), Event::AttemptEnded { task, attempt, outcome });
    }
    assert_eq!(wanted(&tell(&mut engine, at(21), Event::TimePassed)).len(), 1);
    assert!(stored(opener).runs.is_empty());
}

fn a_changed_schedule_comes_back_so(opener: &Opener) {
    let mut engine = open(opener);
    let (schedule, made) = add(&mut engine, Overlap::Skip);
    let mut spec = ScheduleSpec::new(Trigger::every(Duration::from_secs(3)));
    (spec.name, spec.payload) = (Some(Arc::from("other")), Some(Arc::from(&b"new"[..])));
    let changed = Box::new(spec.clone());
    ask(&mut engine, at(5), Command::UpdateSchedule { schedule, spec: changed });
    let row = only_schedule(opener);
    assert_eq!(*row.spec, spec);
    assert_eq!((row.state.fired, row.wanted[0].run), (1, made[0].run));
}

fn what_people_asked_for_comes_back(opener: &Opener) {
    let mut engine = open(opener);
    let (schedule, made) = add(&mut engine, Overlap::QueueAll { max: 9 });
    let instants = vec![made[0].nominal];
    let backfill = Command::Backfill { schedule, instants, overlap: None, asked_for: Some(0) };
    ask(&mut engine, at(2), backfill);
    ask(&mut engine, at(3), Command::FireNow { schedule, overlap: Some(Overlap::Allow) });
    let row = only_schedule(opener);
    assert_eq!(row.state.asked_for, 2);
    assert_eq!(row.state.queue[0].origin, Origin::Backfill(1));
    assert_eq!(row.wanted[1].origin, Origin::ByHand(2));
    assert_eq!(row.wanted[1].nominal, at(3).wall);

    // The same instant fires again, under another number and as another run.
    let mut engine = open(opener);
    let again = wanted(&std::mem::take(&mut engine.outputs().actions));
    let mut fired = Vec::new();
    for making in again {
        let (schedule, run, error) = (making.schedule, making.run, Arc::from("no"));
        let actions = tell(&mut engine, at(4), Event::RunNotMade { schedule, run, error });
        fired.extend(wanted(&actions));
    }
    let [fired] = fired[..] else { panic!("{fired:?}") };
    assert_eq!((fired.nominal, fired.origin), (made[0].nominal, Origin::Backfill(1)));
    assert_ne!(fired.run, made[0].run);
}

/// The ledger: one that ran, one that was skipped, one that could not be made; and where the schedule stands, also once
/// it has ended.
pub(super) fn are_shown<R: Reader>(opener: &Opener, reader: &dyn Fn() -> R) {
    let mut engine = open(opener);
    let (schedule, made) = add(&mut engine, Overlap::Skip);
    let (id, spec) = (made[0].run, Arc::new(spec()));
    let (_, actions) = ask(&mut engine, at(2), Command::SubmitFiring { schedule, id, spec });
    tell(&mut engine, at(11), Event::TimePassed);
    let run = engine.scheduler().find_run(id).unwrap();
    let mode = tidewheel_core::input::CancelMode::End { grace: Duration::ZERO };
    ask(&mut engine, at(12), Command::CancelRun { run, mode });
    for start in starts(&actions) {
        tell(&mut engine, at(12), ended(start, Outcome::Cancelled));
    }
    let third = wanted(&tell(&mut engine, at(21), Event::TimePassed))[0];
    let (run, error) = (third.run, Arc::from("nö"));
    tell(&mut engine, at(22), Event::RunNotMade { schedule, run, error });

    let [shown] = &reader().schedules(false).unwrap()[..] else { panic!("one is shown") };
    assert_eq!((shown.spec.name.as_deref(), shown.is_ended), (Some("nächtlich"), false));
    let ledger = reader().firings(shown.id, None, 10).unwrap();
    let nominals: Vec<_> = ledger.iter().map(|firing| firing.nominal).collect();
    assert_eq!(nominals, [at(21).wall, at(11).wall, at(1).wall], "newest first");
    let not_made = FiringFate::NotMade { run: third.run, error: "nö".to_owned() };
    assert_eq!((&ledger[0].fate, &ledger[2].fate), (&not_made, &FiringFate::Ran(id)));
    assert!(matches!(&ledger[1].fate, FiringFate::Skipped(why) if !why.is_empty()), "{ledger:?}");
    let older = reader().firings(shown.id, Some(at(21).wall), 1).unwrap();
    assert_eq!(older, ledger[1..2]);

    ask(&mut engine, at(23), Command::CancelSchedule(schedule));
    assert_eq!(reader().schedules(false).unwrap(), []);
    let [shown] = &reader().schedules(true).unwrap()[..] else { panic!("one is shown") };
    assert!(shown.is_ended);
    assert_eq!(reader().firings(shown.id, None, 10).unwrap(), ledger, "it is kept");
}
