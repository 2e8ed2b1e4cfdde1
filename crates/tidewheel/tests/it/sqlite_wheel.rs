//! Wheels on a data folder: what one leaves the next one finds, and other processes can steer it.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Gate, Log};
use tidewheel::run::RunResult;
use tidewheel::schedule::ScheduleHold;
use tidewheel::store::sqlite::{DataFolder, Durability, Options, Retention};
use tidewheel::store::{RunCommand, RunFilter, ScheduleCommand, StoreError};
use tidewheel::task::Reason;
use tidewheel::{Graph, NewTask, Outcome, Rejection, Shutdown, TaskState, Tidewheel};
use tidewheel_testing::{TempDir, bounded, patience, temp_folder, until};

/// A data folder that is removed with the test.
struct Folder(TempDir);

impl Folder {
    fn new(name: &str) -> Self {
        Self(temp_folder(name))
    }

    fn open(&self, durability: Durability) -> DataFolder {
        let path = self.0.path().join("data");
        DataFolder::open(path, Options::default().durability(durability)).unwrap()
    }
}

const BOTH: [Durability; 2] = [Durability::Power, Durability::Process];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_wheel_leaves_the_next_one_finds() {
    for durability in BOTH {
        let scratch = Folder::new("leaves");
        let folder = scratch.open(durability);
        let wheel = Tidewheel::builder().slots(1).store(folder.shard("a").unwrap()).start();
        let gate = Gate::closed();
        let running = wheel.submit_normal(gate.pass());
        running.accepted().await.unwrap();
        let graph = Graph::from_edges([("one", "two"), ("two", "three")]).unwrap();
        let run = wheel.run(graph, |_| async {}).name("later").payload(*b"graph").start().unwrap();
        wheel
            .every(Duration::from_secs(3600))
            .starting_after(Duration::from_secs(3600))
            .payload(*b"hourly")
            .run(|| async {})
            .unwrap();
        let closing = tokio::spawn({
            let wheel = wheel.clone();
            async move { wheel.shutdown(Shutdown::persist()).await }
        });
        // Only once it accepts nothing more, so that nothing else starts when there is room.
        let submit = || wheel.submit_normal(std::future::ready(()));
        until("the wheel shuts down", || submit().rejection().is_some()).await;
        gate.open();
        closing.await.unwrap();
        running.await.unwrap();
        drop((wheel, run));

        let log = Log::default();
        let told = log.clone();
        let wheel = Tidewheel::builder()
            .slots(1)
            .store(folder.shard("a").unwrap())
            .adopt(move |attempt| {
                let told = told.clone();
                let payload = attempt.payload().unwrap();
                let name = attempt.task_name();
                async move {
                    let payload = String::from_utf8_lossy(&payload).into_owned();
                    told.add(format!("{payload} {}", name.as_deref().unwrap_or("-")));
                }
            })
            .start();
        let reader = folder.reader().unwrap();
        let is_over = || {
            let later = RunFilter { name: Some("later".to_owned()), ..RunFilter::default() };
            let runs = reader.runs(&later).unwrap();
            runs[0].result() == Some(RunResult::Succeeded)
        };
        until("the run succeeds", is_over).await;
        assert_eq!(log.take(), ["graph one", "graph two", "graph three"]);
        wheel.shutdown(Shutdown::persist()).await;
        assert_eq!(reader.schedules(false).unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_cancelling_ends_a_stored_schedule() {
    for durability in BOTH {
        let scratch = Folder::new("drained");
        let folder = scratch.open(durability);
        let live = || folder.reader().unwrap().schedules(false).unwrap().len();
        let hour = Duration::from_secs(3600);
        let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
        let schedule = || wheel.every(hour).starting_after(hour).run(|| async {}).unwrap();
        let (kept, cancelled) = (schedule(), schedule());
        cancelled.cancel();
        wheel.shutdown(Shutdown::drain()).await;
        assert!(kept.is_ended() && kept.next().is_none(), "it fires no more in this life");
        drop((wheel, kept, cancelled));
        assert_eq!(live(), 1);

        let again = || Tidewheel::builder().store(folder.shard("a").unwrap()).adopt(|_| async {});
        let wheel = again().start();
        assert_eq!(wheel.stats().schedules, 1);
        wheel.shutdown(Shutdown::reject()).await;
        assert_eq!(live(), 1);
        // Dropping the last handle drains.
        drop(again().start());
        assert_eq!(live(), 1);
    }
}

/// A wheel that does not understand a run does not answer for it: the command waits for one that does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_for_work_that_is_held_waits_for_who_understands_it() {
    let scratch = Folder::new("held");
    let folder = scratch.open(Durability::Process);
    let wheel = Tidewheel::builder().paused().store(folder.shard("a").unwrap()).start();
    let graph = Graph::from_edges([("one", "two")]).unwrap();
    let run = wheel.run(graph, |_| async {}).kind("mail").start().unwrap();
    let id = run.id();
    wheel.shutdown(Shutdown::persist()).await;
    drop((wheel, run));

    let open = |kind| {
        let store = folder.shard("a").unwrap();
        Tidewheel::builder().store(store).adopt_kind(kind, |_| std::future::pending::<()>()).start()
    };
    let wheel = open("report");
    folder.send(id, RunCommand::End { grace: Duration::ZERO }).unwrap();
    let other = wheel.submit_normal(std::future::pending::<()>());
    let second = other.accepted().await.unwrap();
    folder.send(second, RunCommand::End { grace: Duration::ZERO }).unwrap();
    // By the time the second has been followed, the first has been seen.
    assert!(other.await.is_err());
    wheel.shutdown(Shutdown::persist()).await;
    drop(wheel);
    let reader = folder.reader().unwrap();
    assert!(reader.run(id).unwrap().unwrap().summary.is_live);

    let wheel = open("mail");
    if let Some(run) = wheel.find_run(id) {
        run.report().await.unwrap();
    }
    assert_eq!(reader.run(id).unwrap().unwrap().summary.result(), Some(RunResult::Cancelled));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_found_in_a_folder_has_a_handle_that_does_all_that_others_do() {
    for durability in BOTH {
        let scratch = Folder::new("found");
        let folder = scratch.open(durability);
        let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
        let graph = Graph::from_edges([("list", "join"), ("skip", "join"), ("join", "end")]);
        let run = wheel
            .run(graph.unwrap(), |task| async move {
                match task.name() {
                    "skip" => Outcome::Skipped,
                    "early" => Outcome::Postponed(Duration::from_millis(1)),
                    _ => std::future::pending().await,
                }
            })
            .start()
            .unwrap();
        run.add_task(NewTask::new("early").before(["join"])).unwrap();
        let id = run.id();
        until("`skip` is skipped", || run.counts().of(TaskState::Skipped) > 0).await;
        wheel.shutdown(Shutdown::persist().after(Duration::ZERO)).await;
        drop((wheel, run));

        let log = Log::default();
        let (told, gate) = (log.clone(), Gate::closed());
        let held = gate.clone();
        let wheel = Tidewheel::builder()
            .store(folder.shard("a").unwrap())
            .adopt(move |attempt| {
                let (told, opened) = (told.clone(), held.pass());
                async move {
                    let name = attempt.task_name().unwrap();
                    let run = attempt.run().unwrap();
                    if &*name == "list" {
                        opened.await;
                        for part in ["part-1", "part-2"] {
                            run.add_task(NewTask::new(part).before(["join"]))?;
                        }
                    }
                    told.add(&*name);
                    Ok::<(), Rejection>(())
                }
            })
            .start();
        let run = wheel.find_run(id).unwrap();
        let twice = run.add("early", [""; 0]);
        assert!(matches!(twice, Err(Rejection::DuplicateTask(_))), "{twice:?}");
        assert!(wheel.explain(run.task("end")).is_ok());
        assert!(run.pause() && run.resume());
        gate.open();
        let report = run.report().await.unwrap();
        assert_eq!(report.result(), RunResult::Succeeded);
        assert_eq!(report.task("skip").unwrap().reason(), Reason::Condition);
        assert_eq!((report.len(), report.succeeded().count()), (7, 6));
        let mut order = log.take();
        assert_eq!(order.split_off(4), ["join", "end"]);
        order.sort();
        assert_eq!(order, ["early", "list", "part-1", "part-2"]);
        assert!(wheel.find_run(id).is_none());
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn names_outlive_their_work_and_the_process() {
    let scratch = Folder::new("names");
    let folder = scratch.open(Durability::Process);
    let mut first = None;
    for _ in 0..2 {
        let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
        let ask = |payload: &'static [u8]| {
            let request = wheel.task_with(|_| async { Ok::<_, &str>(()) });
            request.payload(payload).once("order 7").submit()
        };
        let submission = ask(b"a");
        let id = submission.accepted().await.unwrap();
        assert_eq!(*first.get_or_insert(id), id);
        submission.detach();
        let other = ask(b"b").accepted().await;
        assert!(matches!(other, Err(Rejection::KeyTaken { run, .. }) if run == id), "{other:?}");
        wheel.shutdown(Shutdown::drain()).await;
    }
    let runs = folder.reader().unwrap().runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_who_ask_at_once_under_one_name_get_one_run() {
    for durability in BOTH {
        let scratch = Folder::new("fifty");
        let folder = scratch.open(durability);
        let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
        let mut askers = Vec::new();
        for _ in 0..50 {
            let wheel = wheel.clone();
            askers.push(tokio::spawn(async move {
                let request = wheel.task_with(|_| async { Ok::<_, &str>(()) });
                let submission = request.payload(*b"the same").once("order 7").submit();
                let id = submission.accepted().await.unwrap();
                submission.detach();
                id
            }));
        }
        let mut ids = Vec::new();
        for asker in askers {
            ids.push(asker.await.unwrap());
        }
        ids.dedup();
        wheel.shutdown(Shutdown::drain()).await;
        let runs = folder.reader().unwrap().runs(&RunFilter::default()).unwrap();
        assert_eq!((ids.len(), runs.len(), runs[0].id), (1, 1, ids[0]));
    }
}

#[tokio::test]
async fn another_process_pauses_resumes_and_cancels_a_run() {
    for durability in BOTH {
        let scratch = Folder::new("steer");
        let folder = scratch.open(durability);
        let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
        let gate = Gate::closed();
        let passed = gate.clone();
        let graph = Graph::from_edges([("one", "two")]).unwrap();
        let run = wheel.run(graph, move |_| passed.pass()).start().unwrap();
        let elsewhere = scratch.open(durability);
        let state = |what: &'static str| {
            let reader = elsewhere.reader().unwrap();
            let id = run.id();
            until(what, move || {
                let detail = reader.run(id).unwrap().unwrap();
                let seen = match (detail.summary.result(), detail.summary.is_paused) {
                    (Some(result), _) => result.word(),
                    (None, true) => "paused",
                    (None, false) => "live",
                };
                seen == what
            })
        };
        elsewhere.send(run.id(), RunCommand::Pause).unwrap();
        state("paused").await;
        elsewhere.send(run.id(), RunCommand::Resume).unwrap();
        state("live").await;
        elsewhere.send(run.id(), RunCommand::Cancel { grace: Duration::ZERO }).unwrap();
        state("cancelled").await;
        let report = run.report().await.unwrap();
        assert_eq!(report.result(), RunResult::Cancelled);
        wheel.shutdown(Shutdown::drain()).await;
    }
}

/// A command may come twice, when its owner died before it could say that it was followed: a firing does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schedules_are_steered_by_other_processes() {
    let scratch = Folder::new("schedule-inbox");
    let folder = scratch.open(Durability::Process);
    let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
    let cron = wheel.cron("@yearly", "UTC").unwrap().name("yearly");
    let schedule = cron.run(|| async {}).unwrap();
    let elsewhere = scratch.open(Durability::Process);
    let send = |commands: Vec<ScheduleCommand>| {
        let (elsewhere, id) = (elsewhere.clone(), schedule.id());
        let sent = move || elsewhere.send_to_schedule(id, &commands, patience());
        async move { tokio::task::spawn_blocking(sent).await.unwrap() }
    };
    assert!(send(vec![ScheduleCommand::Pause]).await.unwrap());
    assert_eq!(schedule.hold(), Some(ScheduleHold::Paused));
    let fire = ScheduleCommand::FireNow { asked_for: 0 };
    assert!(send(vec![fire, fire]).await.unwrap());
    assert_eq!(schedule.counters().map(|it| it.asked_for), Some(1));
    let past = |asked_for| ScheduleCommand::Backfill {
        nominal: "2020-01-01T00:00:00Z".parse().unwrap(),
        asked_for,
        at_once: false,
    };
    assert!(send(vec![past(1), past(1), past(2)]).await.unwrap());
    assert_eq!(schedule.counters().map(|it| it.asked_for), Some(3));
    assert!(send(vec![ScheduleCommand::Resume]).await.unwrap());
    assert_eq!(schedule.hold(), None);
    schedule.cancel();
    wheel.shutdown(Shutdown::drain()).await;
    assert!(send(vec![ScheduleCommand::Pause]).await.is_err());
}

/// Whoever asks gets the answer of the scheduler that has the run; without one there is none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_living_owner_says_why_a_task_waits_whoever_asks() {
    let scratch = Folder::new("questions");
    let folder = scratch.open(Durability::Process);
    let elsewhere = scratch.open(Durability::Process);
    let wheel = Tidewheel::builder().slots(1).store(folder.shard("a").unwrap()).start();
    let mut graph = Graph::builder();
    graph.task("first").estimate(Duration::from_secs(20_000));
    graph.task("second").after(["first"]).estimate(Duration::from_secs(1_000));
    graph.task("third").after(["second"]);
    let run = wheel.run(graph.build().unwrap(), |_| std::future::pending::<()>()).start().unwrap();
    let id = run.id();
    let ask = |tasks: Vec<u32>, patience| {
        let folder = elsewhere.clone();
        tokio::task::spawn_blocking(move || folder.ask_owner(id, &tasks, patience).unwrap())
    };

    let answer = ask(vec![0, 1, 2, 7], patience()).await.unwrap().expect("the owner answers");
    let tasks: Vec<u32> = answer.iter().map(|it| it.task).collect();
    assert_eq!(tasks, [0, 1, 2], "there is no task 7");
    assert_eq!(answer[0].state, TaskState::Running);
    assert_eq!(answer[0].expected_start, None);
    assert_eq!(answer[1].holds, ["waits for 1 task: `first` (running)"]);
    let seconds = answer[1].expected_start.expect("durations are known").as_secs();
    assert!((10_000..=20_000).contains(&seconds), "{seconds}");
    let seconds = answer[2].expected_start.expect("durations are known").as_secs();
    assert!((11_000..=21_000).contains(&seconds), "{seconds}");

    wheel.shutdown(Shutdown::persist().after(Duration::ZERO)).await;
    drop((wheel, run));
    assert_eq!(ask(vec![1], Duration::ZERO).await.unwrap(), None, "nobody has the run");
    let unknown = elsewhere.ask_owner(tidewheel::RunId(5), &[0], patience()).unwrap();
    assert_eq!(unknown, None, "there is no such run, so nobody is waited for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wheel_whose_tenure_was_taken_restores_once_the_other_one_is_gone() {
    for durability in BOTH {
        let scratch = Folder::new("taken");
        let folder = scratch.open(durability);
        let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
        let gate = Gate::closed();
        let (pass, log) = (gate.pass(), Log::default());
        let told = log.clone();
        let running = wheel.submit_normal(async move {
            pass.await;
            told.add("ran");
        });
        running.accepted().await.unwrap();
        // Another store of this process takes the tenure: as long as it lives it has it.
        let mut other = folder.shard("a").unwrap();
        let _ = tidewheel::store::Store::take_tenure(&mut other).unwrap();
        assert!(matches!(wheel.pause_queue("default"), Err(Rejection::Unavailable(_))));
        let is_held = || wheel.trouble().is_some_and(|why| why.contains("is held by process"));
        until("the wheel finds the other one", is_held).await;
        drop(other);
        let back = async {
            while wheel.submit_normal(async {}).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        bounded("the wheel takes over", back).await;
        // What ran was stopped, for the other one would have run it; its code cannot run again.
        assert!(running.await.is_err());
        assert_eq!(log.len(), 0);
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn after_a_shutdown_the_shard_is_free_whatever_handles_live() {
    let folder = Folder::new("given-back");
    let data = folder.open(Durability::Process);
    let wheel = Tidewheel::builder().store(data.shard("default").unwrap()).start();
    let run = wheel.run(Graph::numbered(2, []).unwrap(), |_| async {}).start().unwrap();
    let unawaited = wheel.submit_normal(async {});
    let schedule = wheel.every(Duration::from_secs(3_600)).run(|| async {}).unwrap();
    let other = folder.open(Durability::Process);
    let held = other.shard("default").unwrap_err();
    assert!(matches!(held, StoreError::Held { .. }), "{held:?}");
    wheel.shutdown(Shutdown::drain()).await;
    // Another folder value of this process is as foreign as another process.
    let taken = other.shard("default").unwrap();
    let again = Tidewheel::builder().store(taken).adopt(|_| async {}).start();
    again.submit_normal(async {}).await.unwrap();
    assert!(wheel.submit_normal(async {}).rejection().is_some());
    wheel.stored().await.unwrap();
    assert!(run.is_ended());
    drop((unawaited, schedule));
}

#[tokio::test]
async fn a_run_that_failed_is_tried_again_after_a_restart_without_what_is_done() {
    let scratch = Folder::new("again");
    let folder = scratch.open(Durability::Process);
    let graph = Arc::new(Graph::from_edges([("fetch", "parse"), ("parse", "print")]).unwrap());
    let code = |is_well: bool| {
        move |task: tidewheel::Task| async move {
            let text = task.input::<String>("fetch").map(|text| text.to_string());
            match task.name() {
                "fetch" => Ok("text".to_owned()),
                "parse" if !is_well => Err("no such field".to_owned()),
                // It has to come from elsewhere: values do not outlast the process.
                "parse" => Ok(text.unwrap_or_else(|none| none.to_string())),
                _ => Ok(String::new()),
            }
        }
    };
    let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
    let first = wheel.run(Arc::clone(&graph), code(false)).start().unwrap();
    assert!(!first.report().await.unwrap().is_success());
    let id = first.id();
    wheel.shutdown(Shutdown::drain()).await;
    drop((first, wheel));

    let wheel = Tidewheel::builder().store(folder.shard("b").unwrap()).start();
    let stored = folder.reader().unwrap().run(id).unwrap().unwrap();
    let second = wheel.run(graph, code(true)).retry_of_stored(&stored).await.unwrap();
    assert!(second.is_success());
    let attempts = |name| second.task(name).unwrap().attempts();
    assert_eq!(["fetch", "parse", "print"].map(attempts), [0, 1, 1]);
    assert!(second.value::<String>("parse").unwrap().contains("fetch"), "it says what is missing");
}

/// Everything here is on one thread: if whoever stores waited on it, nobody would ever let go of the database.
#[tokio::test]
async fn a_database_that_others_keep_holds_up_no_thread_of_the_runtime() {
    for durability in BOTH {
        let scratch = Folder::new("kept");
        let folder = scratch.open(durability);
        let wheel = Tidewheel::builder().store(folder.shard("a").unwrap()).start();
        let log = Log::default();
        let seen = log.clone();
        let gate = Gate::closed();
        let (pass, told) = (gate.pass(), log.clone());
        let held = wheel.submit_normal(async move {
            pass.await;
            told.add("held");
        });
        held.accepted().await.unwrap();

        let others = rusqlite::Connection::open(folder.database()).unwrap();
        others.execute_batch("BEGIN IMMEDIATE").unwrap();
        let asking = wheel.without_waiting();
        let graph = Graph::from_edges([("a", "b")]).unwrap();
        let run = asking.run(graph, move |task| {
            seen.add(task.name());
            async {}
        });
        let run = run.start().unwrap();
        gate.open();
        // The runtime runs other code meanwhile.
        until("the first task ends", || log.len() == 1).await;
        tokio::select! {
            biased;
            stored = wheel.stored() => panic!("others keep the database: {stored:?}"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(log.take(), ["held"], "nothing starts before it is stored");

        others.execute_batch("COMMIT").unwrap();
        held.await.unwrap();
        assert!(run.await.unwrap().is_success());
        assert_eq!(log.take(), ["a", "b"]);
        wheel.shutdown(Shutdown::drain()).await;
    }
}

#[tokio::test]
async fn names_are_known_for_as_long_as_the_wheel_was_told() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let scratch = Folder::new("names-kept");
    let folder = scratch.open(Durability::Process);
    let start = |kept: Duration| {
        Tidewheel::builder().once_kept(kept).store(folder.shard("a").unwrap()).start()
    };
    let ask = |wheel: &Tidewheel| {
        wheel.task_with(|_| async { Ok::<_, &str>(()) }).once("order 7").submit()
    };
    let wheel = start(7 * DAY);
    let first = ask(&wheel).accepted().await.unwrap();
    wheel.shutdown(Shutdown::drain()).await;
    drop(wheel);
    let connection = rusqlite::Connection::open(folder.database()).unwrap();
    let age = |time: Duration| {
        let sql = "UPDATE names SET accepted_at = accepted_at - ?1";
        assert_eq!(connection.execute(sql, [time.as_micros() as i64]).unwrap(), 1);
    };
    age(6 * DAY);
    folder.prune(Retention::default()).unwrap();
    let wheel = start(7 * DAY);
    assert_eq!(ask(&wheel).accepted().await, Ok(first));
    wheel.shutdown(Shutdown::drain()).await;
    drop(wheel);
    age(2 * DAY);
    folder.prune(Retention::default()).unwrap();
    let wheel = start(7 * DAY);
    assert_ne!(ask(&wheel).accepted().await, Ok(first));
    wheel.shutdown(Shutdown::drain()).await;
}
