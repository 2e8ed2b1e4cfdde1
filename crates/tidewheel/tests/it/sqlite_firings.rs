//! The ledger of a schedule in a data folder: what ran, what could not be made, what was missed.
//!
//! What every store keeps of firings is in its conformance suite.

use std::sync::Arc;
use std::time::Duration;

use crate::sqlite_common::{TestFolder, at};
use tidewheel::Graph;
use tidewheel::engine::Engine;
use tidewheel::id::ScheduleId;
use tidewheel::schedule::{Misfire, Origin, Overlap, ScheduleSpec, Span, Trigger};
use tidewheel::store::FiringFate;
use tidewheel_core::decision::{Action, MakeRun};
use tidewheel_core::input::{Command, Event, Fires, Input};
use tidewheel_core::spec::{Config, Profile, RunOptions, RunSpec};

fn turn(engine: &mut Engine, seconds: u64, input: Input) -> Vec<MakeRun> {
    let outputs = engine.turn(at(seconds), [input]).unwrap();
    for reply in outputs.replies.drain(..) {
        reply.unwrap();
    }
    let wanted = |action: &Action| match action {
        Action::MakeRun(wanted) => Some(*wanted),
        _ => None,
    };
    outputs.actions.iter().filter_map(wanted).collect()
}

fn not_made(wanted: MakeRun) -> Input {
    let (schedule, run, error) = (wanted.schedule, wanted.run, Arc::from("no such flow"));
    Input::Event(Event::RunNotMade { schedule, run, error })
}

#[test]
fn what_was_missed_is_found_in_the_ledger() {
    let folder = TestFolder::new();
    let data = folder.open();
    let open = |seconds| {
        let store = Box::new(data.shard("default").unwrap());
        Engine::open(Config::default(), store, at(seconds)).unwrap()
    };
    let mut engine = open(0);
    let mut spec = ScheduleSpec::new(Trigger::every(Duration::from_secs(10)));
    (spec.misfire, spec.misfire_grace) = (Misfire::Skip, Duration::ZERO);
    spec.name = Some(Arc::from("tick"));
    let id = ScheduleId(7);
    let add = Command::AddSchedule { id, spec: Box::new(spec), fires: Fires::Run };
    // At 0 a run is made and ends at once, at 10 none can be made, at 20, 30 and 40 nobody is there.
    let [first] = turn(&mut engine, 0, Input::Command(add))[..] else { panic!("it fires at once") };
    let graph = Arc::new(Graph::numbered(0, []).unwrap());
    let run = Arc::new(RunSpec::new(graph, RunOptions::default(), Profile::default()));
    let submit = Command::SubmitFiring { schedule: first.schedule, id: first.run, spec: run };
    turn(&mut engine, 1, Input::Command(submit));
    let [second] = turn(&mut engine, 10, Input::Event(Event::TimePassed))[..] else { panic!("10") };
    turn(&mut engine, 11, not_made(second));
    drop(engine);
    let mut engine = open(45);

    let reader = data.reader().unwrap();
    let ledger = reader.firings(id, None, 100).unwrap();
    let fates: Vec<_> = ledger.iter().map(|firing| (firing.count, firing.fate.clone())).collect();
    let (run, error) = (second.run, "no such flow".to_owned());
    assert_eq!(fates[0], (3, FiringFate::Skipped("misfire".to_owned())));
    assert_eq!(fates[1], (1, FiringFate::NotMade { run, error }));
    assert_eq!(fates[2], (1, FiringFate::Ran(first.run)));
    let schedule = &reader.schedules(false).unwrap()[0];
    assert_eq!((schedule.spec.name.as_deref(), &schedule.fires), (Some("tick"), &Fires::Run));
    let all = Span::since(at(0).wall);
    let missed = schedule.missed(&ledger, all, 100);
    assert_eq!(missed, [10, 20, 30, 40].map(|seconds| at(seconds).wall));

    // Two of them are asked for. What ran is not missed any more; the old rows stay.
    let key = engine.scheduler().find_schedule_named("tick").unwrap();
    let backfill = Command::Backfill {
        schedule: key,
        instants: schedule.missed(&ledger, all, 2),
        overlap: Some(Overlap::Allow),
        asked_for: Some(schedule.state.asked_for),
    };
    let asked = turn(&mut engine, 46, Input::Command(backfill));
    assert_eq!(asked.iter().map(|wanted| wanted.nominal).collect::<Vec<_>>(), missed[..2]);
    let ledger = reader.firings(id, None, 100).unwrap();
    assert_eq!(ledger.len(), 5);
    assert_eq!(ledger[0].origin, Origin::Backfill(2));
    let schedule = &reader.schedules(false).unwrap()[0];
    assert_eq!(schedule.missed(&ledger, all, 100), missed[2..]);
    turn(&mut engine, 47, not_made(asked[0]));
    let ledger = reader.firings(id, None, 100).unwrap();
    let still: Vec<_> = [&missed[..1], &missed[2..]].concat();
    assert_eq!(reader.schedules(false).unwrap()[0].missed(&ledger, all, 100), still);
}
