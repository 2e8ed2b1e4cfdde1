//! What every store must do about priorities that are changed: keep them, and pass on what is asked about them.
//!
//! The rest of the suite, and what its parts have in common, is in `conformance` and `conformance_sides`.
#![allow(clippy::unwrap_used, reason = "a failing store should fail its test where it fails")]

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::id::{RunId, RunKey, TaskKey};
use tidewheel_core::input::{Command, Reply};
use tidewheel_core::policy::Priority;
use tidewheel_core::row::PriorityRow;

use super::conformance::{Opener, ask, at, open, spec, stored, submit};
use super::{Outbox, RunCommand, Sent};
use crate::driver::engine::Engine;

pub(super) fn exercise(make: &impl Fn() -> Opener) {
    changed_priorities_come_back(&make());
    a_priority_that_is_changed_with_its_acceptance_comes_back(&make());
}

fn start(engine: &mut Engine) -> RunKey {
    let command = Command::SubmitRun { id: RunId(7), spec: Arc::new(spec()) };
    match ask(engine, at(1), command) {
        (Reply::Accepted(run), _) => run,
        (other, _) => panic!("{other:?}"),
    }
}

fn change(engine: &mut Engine, run: RunKey, task: Option<u32>, priority: i64) {
    let priority = Priority::new(priority);
    let (reply, _) = ask(engine, at(2), Command::SetPriority { run, task, priority });
    assert_eq!(reply, Reply::Done);
}

fn row(task: Option<u32>, priority: i64) -> PriorityRow {
    PriorityRow { run: RunId(7), task, priority: Priority::new(priority) }
}

fn changed_priorities_come_back(opener: &Opener) {
    let mut engine = open(opener);
    let run = start(&mut engine);
    let (single, _) = submit(&mut engine, 1);
    change(&mut engine, run, None, 70);
    change(&mut engine, run, Some(2), 10);
    change(&mut engine, single, None, 90);
    change(&mut engine, run, None, 30);
    let snapshot = stored(opener);
    assert_eq!(snapshot.runs[0].priorities, [row(None, 30), row(Some(2), 10)]);
    assert_eq!(snapshot.submissions[0].0.priority, Priority::new(90));
    let engine = open(opener);
    let scheduler = engine.scheduler();
    let run = scheduler.find_work(RunId(7)).unwrap();
    let priority = |index| scheduler.priority(TaskKey { run, index }).unwrap().value();
    // The second was accepted with another priority than the run.
    assert_eq!([priority(0), priority(1), priority(2)], [30, 80, 10]);
}

fn a_priority_that_is_changed_with_its_acceptance_comes_back(opener: &Opener) {
    let mut engine = open(opener);
    let profile = engine.scheduler_mut().profile(&tidewheel_core::spec::Profile::default());
    let (blocking, id) = (profile.unwrap(), RunId(3));
    submit(&mut engine, 1);
    let submission = tidewheel_core::Submission { id, profile: blocking, ..Default::default() };
    let (reply, _) = ask(&mut engine, at(1), Command::Submit(submission));
    let Reply::Accepted(run) = reply else { panic!("{reply:?}") };
    change(&mut engine, run, Some(0), 5);
    let priorities: Vec<u8> =
        stored(opener).submissions.iter().map(|(row, _)| row.priority.value()).collect();
    assert_eq!(priorities, [1, 5]);
}

/// Commands and questions about priorities reach the owner of a run.
pub(super) fn pass_on(outbox: &(dyn Outbox + Sync), opener: &Opener) {
    let mut engine = open(opener);
    let run = start(&mut engine);
    let priority = Priority::new(80);
    let command = RunCommand::SetPriority { task: Some(2), priority };
    assert_eq!(outbox.send(RunId(7), command).unwrap(), Sent::Left);
    let mut inbox = engine.inbox().unwrap();
    let taken = inbox.take().unwrap();
    assert_eq!(taken.iter().map(|sent| sent.command).collect::<Vec<_>>(), [command]);

    let minute = Duration::from_secs(60);
    assert_eq!(outbox.preview(RunId(9), None, priority, minute).unwrap(), None);
    assert_eq!(outbox.preview(RunId(7), None, priority, Duration::ZERO).unwrap(), None);
    inbox.take().unwrap();
    assert_eq!((inbox.questions().unwrap(), inbox.what_ifs().unwrap()), (vec![], vec![]));
    let forecast = engine.scheduler().forecast(at(2)).unwrap();
    let preview = forecast.preview(run, Some(2), priority, 10).unwrap();
    for answer in [Ok(preview), Err("it is over".to_owned())] {
        let heard = std::thread::scope(|scope| {
            let ask = || outbox.preview(RunId(7), Some(2), priority, minute).unwrap();
            let asking = scope.spawn(ask);
            let question = loop {
                inbox.take().unwrap();
                assert_eq!(inbox.questions().unwrap(), [], "it is no question of that kind");
                if let Some(question) = inbox.what_ifs().unwrap().pop() {
                    break question;
                }
                std::thread::yield_now();
            };
            assert_eq!((question.run, question.task), (RunId(7), Some(2)));
            assert_eq!(question.priority, priority);
            inbox.answer_what_if(question.id, &answer).unwrap();
            asking.join().unwrap()
        });
        assert_eq!(heard, Some(answer));
    }
}
