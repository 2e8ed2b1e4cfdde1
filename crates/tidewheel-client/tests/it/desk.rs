//! The desk: what may be asked about runs in a data folder and done with them, without a binary.
//!
//! What flows do with their steps is tried in `tidewheel-flow`, what people see in the command.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::scene::Scene;
use serde_json::{Value as Json, json};
use tidewheel::store::AttemptRecord;
use tidewheel::task::Reason;
use tidewheel::{Graph, OnError, TaskState, Timestamp};
use tidewheel_client::api::{
    AnswerWish, CancelWish, ListWish, LogWish, Named, RefusalKind, RetryWish, RunResult, RunState,
    StateWish, StepState,
};
use tidewheel_client::desk::{DeskError, Resumption, RunView};
use tidewheel_client::files::{FlowFiles, RunWish};
use tidewheel_client::kind::Startable as _;
use tidewheel_client::progress::{EndState, Event, Standings};
use tidewheel_client::session::Takeover;

/// Reads a file, hands on what it found, and waits for a file that may not come.
const FLOW: &str = "
sources: { data: { type: file, configuration: { path: data.json } } }
flow:
  - { name: read, source: data, outputs: { found: '{{ json.value }}' } }
  - { name: use, source: data, input: '{{ flows.read.found }}', outputs: { same: '{{ json.value }}' } }
";

const ASKS: &str = "
flow:
  - { name: ask, wait: { approval: 'now?', every: 1s } }
  - { name: then, depends_on: [ask], wait: 1ms }
finally: [{ name: tidy, wait: 1ms }]
";

fn refused<T>(result: Result<T, DeskError>) -> DeskError {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error,
    }
}

/// At once.
fn now(everything: bool) -> CancelWish {
    CancelWish { grace: Some(Duration::ZERO), everything, ..CancelWish::default() }
}

fn said(approved: bool) -> AnswerWish {
    AnswerWish { version: None, approved, by: "me".to_owned(), note: None, code: None }
}

fn with_data() -> (Scene, std::path::PathBuf) {
    let scene = Scene::new();
    scene.write("data.json", r#"{ "value": 7 }"#);
    let file = scene.write("flow.yaml", FLOW);
    (scene, file)
}

fn waits(run: &tidewheel::Run) -> bool {
    run.task_state(0) == Some(TaskState::Delayed)
}

#[test]
fn runs_are_found_by_a_prefix_and_by_last() {
    let (scene, file) = with_data();
    let (first, second) = (scene.run(&file), scene.run(&file));
    let desk = scene.desk();
    assert_eq!(desk.find("last").unwrap().summary.id, second);
    assert_eq!(desk.find(&first.to_string()).unwrap().summary.id, first);
    let (first, second) = (first.to_string(), second.to_string());
    let common = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    assert!(common > 3, "ids begin with the time: {first} {second}");
    let error = refused(desk.find(&first[..common]));
    assert_eq!(error.kind(), RefusalKind::Usage);
    assert!(error.hints()[0].contains(&second), "{:?}", error.hints());
    let error = refused(desk.find("nothing"));
    assert_eq!(error.kind(), RefusalKind::NotFound);
    let refusal = error.refusal();
    assert!(refusal.message.starts_with("there is no run `nothing` in /"), "{refusal:?}");
    assert_eq!(refusal.hints, ["`tidewheel runs` lists them"]);
}

#[test]
fn what_is_shown_is_the_document_of_the_contract() {
    let (scene, file) = with_data();
    let run = scene.run(&file);
    let written = serde_json::to_string(&scene.desk().result("last").unwrap()).unwrap();
    let result: RunResult = serde_json::from_str(&written).unwrap();
    assert_eq!((result.run_id, result.state), (run.to_string(), RunState::Succeeded));
    let names: Vec<&String> = result.steps.0.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["read", "use"]);
    assert_eq!(result.steps.get("read").unwrap().outputs["found"], json!(7));
    assert_eq!(result.outputs.get("use").unwrap()["same"], json!(7));
    let list = scene.desk().list(&ListWish::default()).unwrap();
    assert_eq!((list.runs.len(), list.runs[0].steps), (1, 2));
    let failed = ListWish { state: Some(StateWish::Failed), ..ListWish::default() };
    assert_eq!(scene.desk().list(&failed).unwrap().runs, []);
}

/// A run of a kind that nobody at the desk has heard of, paused before its second task.
fn stranger(scene: &Scene) -> String {
    let run = scene.abandon(|session, runtime| {
        let graph = Graph::from_edges([("first", "second")]).unwrap();
        let code = |task: tidewheel::Task| async move {
            if task.name() == "first" {
                task.run().pause();
            }
            Ok::<_, std::io::Error>(())
        };
        let mut notices = session.wheel.notices();
        let run = session.wheel.run(graph, code).name("letters").payload(*b"dear").kind("letter");
        let run = run.start().unwrap();
        runtime.block_on(async {
            while run.task_state(0) != Some(TaskState::Succeeded) {
                notices.recv().await.unwrap().unwrap();
            }
        });
        run.id()
    });
    run.to_string()
}

#[test]
fn runs_are_found_by_how_they_stand() {
    let (scene, file) = with_data();
    let (ended, left) = (scene.run(&file).to_string(), stranger(&scene));
    let found = |state| {
        let list = scene.desk().list(&ListWish { state: Some(state), ..ListWish::default() });
        let list = list.unwrap();
        assert_eq!(list.next, None);
        list.runs.into_iter().map(|run| run.run_id).collect::<Vec<_>>()
    };
    for state in StateWish::ALL {
        let expected = match state {
            StateWish::Running | StateWish::Interrupted => vec![left.clone()],
            StateWish::Succeeded => vec![ended.clone()],
            _ => Vec::new(),
        };
        assert_eq!(found(state), expected, "{}", state.word());
        let word = serde_json::to_value(state).unwrap();
        assert_eq!(word, state.word());
    }
    let id = Some(left[..8].to_owned());
    let wish = ListWish { id, state: Some(StateWish::Paused), ..ListWish::default() };
    assert_eq!(scene.desk().list(&wish).unwrap().runs, [], "nobody runs it");
}

/// As when the store was in trouble meanwhile: what attempts did is known to whoever did it, and was decided later.
#[test]
fn every_view_of_a_run_tells_when_its_steps_happened_and_not_when_that_was_decided() {
    let scene = Scene::new();
    let [from, to]: [Timestamp; 2] =
        ["2026-03-01T00:00:00Z", "2026-03-01T00:01:30Z"].map(|text| text.parse().unwrap());
    let run = scene.abandon(|session, runtime| {
        let mut graph = Graph::builder();
        graph.task("fails");
        graph.task("first").after(["fails"]);
        graph.task("second").after(["first"]);
        let graph = graph.build().unwrap();
        let code = move |task: tidewheel::Task| async move {
            if task.name() == "first" {
                task.run().pause();
            }
            let (started_at, ended_at) = (Some(from), Some(to));
            let record = AttemptRecord { started_at, ended_at, ..AttemptRecord::default() };
            task.as_attempt().record(record);
            if task.name() == "fails" { Err(std::io::Error::other("oh")) } else { Ok(()) }
        };
        let mut notices = session.wheel.notices();
        let run = session.wheel.run(graph, code).name("letters").payload(*b"dear").kind("letter");
        let run = run.on_error(OnError::Continue).start().unwrap();
        runtime.block_on(async {
            while run.task_state(1) != Some(TaskState::Succeeded) {
                notices.recv().await.unwrap().unwrap();
            }
        });
        run.id()
    });
    let (desk, run) = (scene.desk(), run.to_string());
    let shown = desk.result(&run).unwrap();
    let standing = desk.standing(&run).unwrap();
    let [fails, first, second] = &standing.steps[..] else { panic!("{standing:?}") };
    for (name, step) in [("first", first), ("fails", fails)] {
        let shown = shown.steps.get(name).unwrap();
        assert_eq!((shown.started_at, shown.ended_at), (Some(from), Some(to)), "{name}");
        assert_eq!((step.started_at, step.ended_at), (Some(from), Some(to)), "{name}");
    }
    assert_eq!((second.started_at, second.ended_at), (None, None));
    let graph = desk.picture(&run).unwrap();
    assert_eq!(graph.vertices[1].detail.as_deref(), Some("1 m 30 s"));
}

#[test]
fn runs_of_any_kind_are_listed_shown_explained_and_cancelled() {
    let scene = Scene::new();
    let run = stranger(&scene);
    let desk = scene.desk();
    let view = desk.show(&run).unwrap();
    assert_eq!(view.state(), RunState::Interrupted);
    assert_eq!(view.listed().len(), 2);
    let list = desk.list(&ListWish::default()).unwrap();
    assert_eq!(list.runs[0].flow.as_deref(), Some("letters"));
    let explained = desk.explain(&run, None).unwrap();
    assert_eq!(explained.steps[0].step, "second");
    assert_eq!(desk.logs(&run, &LogWish::default()).unwrap().logs, []);
    // Nobody here knows how to go on with it, or to make it again.
    let error = refused(desk.resume(&run, false));
    assert_eq!(error.kind(), RefusalKind::Refused, "{error}");
    assert!(error.to_string().contains("`letter`"), "{error}");
    let cancelled = desk.cancel(&run, &now(true)).unwrap();
    assert!(!cancelled.clean_up_left);
    assert_eq!(desk.show(&run).unwrap().state(), RunState::Cancelled);
    assert_eq!(refused(desk.retry(&run, &RetryWish::default())).kind(), RefusalKind::Refused);
    assert_eq!(refused(desk.pause(&run)).kind(), RefusalKind::Conflict);
}

#[test]
fn outputs_come_from_the_newest_run_in_which_the_step_was_what_it_is_now() {
    let (scene, file) = with_data();
    let first = scene.run(&file);
    scene.write("data.json", r#"{ "value": 8 }"#);
    let second = scene.run(&file);
    let reuse = |expected: &[(tidewheel::RunId, &str)]| {
        let reuse = scene.desk().reuse(&mut scene.order(&file, &["use"])).unwrap();
        let found: Vec<_> =
            reuse.found.iter().map(|(run, steps)| (*run, steps.join(" "))).collect();
        let expected: Vec<_> =
            expected.iter().map(|(run, step)| (*run, (*step).to_owned())).collect();
        assert_eq!(found, expected);
        reuse
    };
    let newest = reuse(&[(second, "read")]);
    assert_eq!(newest.outputs["read"]["found"], json!(8));
    assert_eq!(newest.missing, [""; 0]);
    // A step that says something else now has left nothing.
    scene.write(
        "flow.yaml",
        &FLOW.replace(
            "json.value }}' } }\n  - { name: use",
            "json.value + 1 }}' } }\n  - { name: use",
        ),
    );
    assert_eq!(reuse(&[]).missing, ["read"]);
    scene.write("flow.yaml", FLOW);
    reuse(&[(second, "read")]);
    assert_ne!(first, second);
    let files = FlowFiles::read(&[file]);
    let error =
        refused(files.run(&RunWish { from: Some("raed".to_owned()), ..RunWish::default() }));
    assert_eq!(
        (error.kind(), error.hints()),
        (RefusalKind::Usage, vec!["did you mean `read`?".to_owned()])
    );
    let workers = |said| files.run(&RunWish { max_workers: said, ..RunWish::default() }).unwrap();
    assert_eq!((workers(Some(9)).workers(), workers(None).workers()), (9, 4));
}

/// A run whose second step failed for want of its file.
fn failed(scene: &Scene) -> std::path::PathBuf {
    let file = scene.write(
        "flow.yaml",
        &FLOW.replace(
            "name: use, source: data",
            "name: use, source: { type: file, configuration: { path: late.json } }",
        ),
    );
    scene.write("data.json", r#"{ "value": 7 }"#);
    scene.run(&file);
    file
}

#[test]
fn a_retry_runs_what_did_not_succeed_and_reuses_the_rest() {
    let scene = Scene::new();
    failed(&scene);
    let desk = scene.desk();
    assert_eq!(desk.show("last").unwrap().state(), RunState::Failed);
    let wish =
        |from: Option<&str>| RetryWish { from: from.map(str::to_owned), ..RetryWish::default() };
    let (id, retry) = desk.retry("last", &wish(None)).unwrap();
    let preview = retry.preview(id);
    assert_eq!(
        (preview.run_again, preview.reused),
        (vec!["use".to_owned()], vec!["read".to_owned()])
    );
    let (_, all) = desk.retry("last", &wish(Some("read"))).unwrap();
    assert_eq!(all.run_again, ["read", "use"]);
    let error = refused(desk.retry("last", &wish(Some("reed"))));
    assert_eq!(
        (error.kind(), error.hints()),
        (RefusalKind::NotFound, vec!["did you mean `read`?".to_owned()])
    );
    // What is reused is there, although the file it came from is not.
    scene.write("late.json", r#"{ "value": 1 }"#);
    std::fs::remove_file(scene.path.join("data.json")).unwrap();
    scene.finish(&*retry.run);
    let view = desk.show("last").unwrap();
    assert_eq!(view.state(), RunState::Succeeded);
    assert_eq!(view.outputs_of(0)["found"], json!(7));
    let left: Vec<Json> = view.listed().iter().map(|step| json!(step.attempts)).collect();
    assert_eq!(left, [json!(0), json!(1)], "the first was not run");
}

#[test]
fn of_a_run_that_succeeded_nothing_is_left_unless_a_step_is_named_or_has_changed() {
    let (scene, file) = with_data();
    scene.run(&file);
    let desk = scene.desk();
    let error = refused(desk.retry("last", &RetryWish::default()));
    assert_eq!((error.kind(), error.hints().len()), (RefusalKind::Conflict, 1));
    assert!(error.hints()[0].contains("--from STEP"), "{:?}", error.hints());
    let from = RetryWish { from: Some("use".to_owned()), ..RetryWish::default() };
    let (id, retry) = desk.retry("last", &from).unwrap();
    assert_eq!(retry.preview(id).changed_files, Vec::<String>::new());
    let text = std::fs::read_to_string(&file).unwrap();
    scene.write("flow.yaml", &text.replace("found:", "gone:").replace("read.found", "read.gone"));
    let error = refused(desk.retry("last", &RetryWish::default()));
    assert!(error.hints()[0].contains("--new-files"), "{:?}", error.hints());
    let changed = desk.preview("last", &from).unwrap().changed_files;
    assert!(changed.len() == 1 && changed[0].ends_with("flow.yaml"), "{changed:?}");
    let new = RetryWish { new_files: true, ..RetryWish::default() };
    assert!(!desk.preview("last", &new).unwrap().run_again.is_empty());
}

/// A second run of it would only have hooks: a second mail, and nothing that was mended.
#[test]
fn of_a_run_that_succeeded_by_a_second_try_nothing_is_left() {
    let scene = Scene::new();
    let file = scene.write(
        "flow.yaml",
        "
sources: { late: { type: file, configuration: { path: late.json } } }
flow:
  - { name: g, retry: { retries: 90, delay: 100ms, backoff: fixed }, steps: [{ name: a, source: late }] }
finally: [{ name: mail, wait: 1ms }]
",
    );
    let session = scene.session(Takeover::Fresh);
    scene.runtime.block_on(async {
        let run = scene.order(&file, &[]);
        let mut started = session.start(&run, BTreeMap::new()).await.unwrap();
        let first = (0..99).find(|index| started.run.task_name(*index).as_deref() == Some("g/a"));
        while started.run.task_state(first.unwrap()) != Some(TaskState::Failed) {
            started.notices.recv().await.unwrap().unwrap();
        }
        scene.write("late.json", "{}");
        started.run.report().await.unwrap();
        session.close().await;
    });
    let desk = scene.desk();
    let view = desk.show("last").unwrap();
    assert_eq!(view.state(), RunState::Succeeded);
    assert!(view.detail.tasks.iter().any(|task| task.state == TaskState::Failed));
    let error = refused(desk.retry("last", &RetryWish::default()));
    assert!(matches!(error, DeskError::NothingLeft { .. }), "{error}");
    let from = RetryWish { from: Some("g".to_owned()), ..RetryWish::default() };
    assert!(desk.retry("last", &from).is_ok());
}

#[test]
fn a_retry_that_would_do_something_else_than_its_preview_has_shown_is_refused() {
    let scene = Scene::new();
    let file = failed(&scene);
    let desk = scene.desk();
    let shown = |wish: &RetryWish| RetryWish {
        preview: Some(desk.preview("last", wish).unwrap().digest),
        ..wish.clone()
    };
    let (plain, new) =
        (RetryWish::default(), RetryWish { new_files: true, ..RetryWish::default() });
    let (plain, new) = (shown(&plain), shown(&new));
    assert_eq!(desk.retry("last", &plain).unwrap().1.run_again, ["use"]);
    assert_eq!(desk.retry("last", &new).unwrap().1.run_again, ["use"]);
    let other = RetryWish { from: Some("read".to_owned()), ..plain.clone() };
    let error = refused(desk.retry("last", &other));
    assert_eq!(error.kind(), RefusalKind::Conflict);
    assert!(error.hints()[0].contains("--dry-run"), "{:?}", error.hints());
    // The same tasks, but not the same work.
    let text = std::fs::read_to_string(&file).unwrap();
    scene.write("flow.yaml", &format!("{text}# Somebody has been here.\n"));
    assert!(matches!(refused(desk.retry("last", &new)), DeskError::OtherPreview(_)));
    assert!(desk.retry("last", &shown(&new)).is_ok());
}

#[test]
fn how_a_run_stands_is_said_step_by_step() {
    let scene = Scene::new();
    failed(&scene);
    let standing = scene.desk().standing("last").unwrap();
    assert_eq!(standing.state, RunState::Failed);
    let states: Vec<_> =
        standing.steps.iter().map(|it| (&*it.name, it.state, it.attempt)).collect();
    assert_eq!(states, [("read", StepState::Succeeded, 1), ("use", StepState::Failed, 1)]);
    assert_eq!(standing.steps[1].after, [0]);
    assert!(standing.steps[1].error.as_deref().unwrap().contains("late.json"));
    assert!(standing.ended_at.is_some() && standing.steps[0].ended_at.is_some());
    let mut told: Vec<(Duration, Event)> = Vec::new();
    let mut standings = Standings::default();
    standings.look(&standing, &mut told);
    assert!(standings.is_over());
    let last = &told.last().unwrap().1;
    assert_eq!(*last, Event::RunEnded { state: EndState::Failed });
}

#[test]
fn a_retry_with_new_files_runs_what_has_changed_and_shows_what_is_wrong() {
    let scene = Scene::new();
    let file = failed(&scene);
    let text = std::fs::read_to_string(&file).unwrap();
    let wish = RetryWish { new_files: true, ..RetryWish::default() };
    scene.write(
        "flow.yaml",
        &text.replace("found:", "gone:").replace("flows.read.found", "flows.read.gone"),
    );
    let (_, retry) = scene.desk().retry("last", &wish).unwrap();
    assert_eq!(retry.run_again, ["read", "use"]);
    assert!(retry.files.is_some());
    scene.write("flow.yaml", "flow: [{ name: read, colour: blue }]\n");
    let error = refused(scene.desk().retry("last", &wish));
    assert_eq!(error.kind(), RefusalKind::Input);
    assert!(matches!(error, DeskError::Problems(_)), "{error}");
}

#[test]
fn a_run_whose_process_died_goes_on_here_unless_its_files_have_changed() {
    let scene = Scene::new();
    let file = scene.write("asks.yaml", ASKS);
    let run = scene.leave(&file, waits).to_string();
    let desk = scene.desk();
    assert_eq!(desk.show(&run).unwrap().state(), RunState::Interrupted);
    // Nobody would hear it.
    let error = refused(desk.pause(&run));
    assert_eq!((error.kind(), error.hints().len()), (RefusalKind::Conflict, 2));
    let error = refused(desk.retry(&run, &RetryWish::default()));
    assert!(matches!(error, DeskError::NotEnded { is_abandoned: true, .. }), "{error}");
    scene.write("asks.yaml", &ASKS.replace("now?", "then?"));
    let error = refused(desk.resume(&run, false));
    let DeskError::Changed { changes, .. } = &error else { panic!("{error}") };
    assert!(changes[0].change.contains("then?"), "{changes:?}");
    assert_eq!(error.refusal().changes, *changes);
    let Resumption::Here { view, run: of } = desk.resume(&run, true).unwrap() else {
        panic!("nobody runs it")
    };
    desk.answer(&run, "ask", &said(true)).unwrap();
    let shard = view.detail.summary.shard.clone().unwrap();
    let session = scene.session(Takeover::Shard(shard));
    let since = tidewheel::clock::wall_clock();
    scene.runtime.block_on(async {
        let taken = session.take_over(&view.detail, &*of, 2, BTreeMap::new(), since).await;
        let started = taken.unwrap().unwrap();
        assert_eq!(started.ended, BTreeSet::new());
        started.run.report().await.unwrap();
        session.close().await;
    });
    assert_eq!(desk.show(&run).unwrap().state(), RunState::Succeeded);
    let Resumption::Elsewhere(gone_on) = desk.resume(&run, false).unwrap() else {
        panic!("it has ended")
    };
    assert_eq!(gone_on.state, "succeeded");
}

#[test]
fn cancelling_a_run_that_nobody_runs_ends_it_without_its_clean_up() {
    let scene = Scene::new();
    let file = scene.write("asks.yaml", ASKS);
    let run = scene.leave(&file, waits).to_string();
    let desk = scene.desk();
    let cancelled = desk.cancel(&run, &now(false)).unwrap();
    assert!(cancelled.clean_up_left);
    assert_eq!(cancelled.asked, "cancelled");
    let view = desk.show(&run).unwrap();
    assert_eq!(view.state(), RunState::Cancelled);
    assert!(view.detail.tasks.iter().all(|task| task.state.is_terminal()));
    let error = refused(desk.resume(&run, false));
    assert!(matches!(error, DeskError::Ended { state: RunState::Cancelled, .. }), "{error}");
}

#[test]
fn only_a_step_that_asks_is_answered_and_only_once() {
    let scene = Scene::new();
    let file = scene.write("asks.yaml", ASKS);
    let run = scene.leave(&file, waits).to_string();
    let desk = scene.desk();
    let no = said(false);
    let error = refused(desk.answer(&run, "then", &no));
    assert_eq!(
        (error.kind(), error.hints()),
        (RefusalKind::Usage, vec!["these do: ask".to_owned()])
    );
    let error = refused(desk.answer(&run, "aks", &no));
    assert_eq!(
        (error.kind(), error.hints()),
        (RefusalKind::NotFound, vec!["did you mean `ask`?".to_owned()])
    );
    assert_eq!(desk.answer(&run, "ask", &no).unwrap().answer, "rejected");
    assert_eq!(refused(desk.answer(&run, "ask", &no)).kind(), RefusalKind::Conflict);
    desk.cancel(&run, &now(true)).unwrap();
    let error = refused(desk.answer(&run, "ask", &no));
    assert!(matches!(error, DeskError::StepEnded { .. }), "{error}");
}

#[test]
fn what_a_run_was_started_with_is_told_without_its_steps() {
    let (scene, file) = with_data();
    let run = scene.run(&file).to_string();
    let (whole, about) = (scene.desk().result(&run).unwrap(), scene.desk().about(&run).unwrap());
    assert!(!whole.steps.0.is_empty() && !whole.outputs.0.is_empty());
    let (steps, outputs) = (Named::default(), Named::default());
    assert_eq!(about, RunResult { steps, outputs, ..whole });
}

/// What asks looks now and then whether somebody has answered: to those who watch it asks all the time.
#[test]
fn a_step_asks_also_while_it_looks_for_the_answer() {
    let scene = Scene::new();
    let file = scene.write("asks.yaml", ASKS);
    let run = scene.leave(&file, waits).to_string();
    let mut view = scene.desk().show(&run).unwrap();
    let asking = |view: &RunView| {
        let standing = view.standing(&BTreeMap::new());
        let asking = standing.steps.into_iter().filter(|step| step.asks);
        asking.map(|step| (step.name, step.waits)).collect::<Vec<_>>()
    };
    let waits = Some("waits for approval: now?".to_owned());
    assert_eq!(asking(&view), [("ask".to_owned(), waits.clone())]);
    let task = &mut view.detail.tasks[0];
    (task.state, task.reason) = (TaskState::Running, Reason::Ordinary);
    assert_eq!(asking(&view), [("ask".to_owned(), waits)]);
    view.detail.tasks[0].state = TaskState::Succeeded;
    assert_eq!(asking(&view), []);
}

#[test]
fn why_a_step_waits_and_why_it_wrote_nothing_is_said() {
    let scene = Scene::new();
    let file = scene.write("asks.yaml", ASKS);
    let run = scene.leave(&file, waits).to_string();
    let desk = scene.desk();
    let explained = desk.explain(&run, Some("then")).unwrap();
    assert_eq!(explained.steps[0].state, StepState::Pending);
    assert_eq!(explained.steps[0].why, "it waits for ask");
    assert_eq!(explained.steps[0].waits_for, ["ask"]);
    let wish = |step: &str, attempt| LogWish {
        step: Some(step.to_owned()),
        attempt,
        ..LogWish::default()
    };
    let silent = |step, attempt| {
        let logs = desk.logs(&run, &wish(step, attempt)).unwrap();
        assert!(logs.over, "nobody writes any more");
        let [only] = &logs.steps[..] else { panic!("one was asked for") };
        only.silent.clone().unwrap()
    };
    assert_eq!(silent("then", None), "the step has not started");
    let error = refused(desk.logs(&run, &wish("then", Some(1))));
    assert_eq!(
        (error.kind(), error.hints()),
        (RefusalKind::NotFound, vec!["it was not started".to_owned()])
    );
    assert_eq!(silent("ask", Some(1)), "a step of this kind writes no log");
}

#[test]
fn attempts_are_listed_with_what_is_known_of_them() {
    let scene = Scene::new();
    failed(&scene);
    let attempts = scene.desk().attempts("last", "use").unwrap();
    assert_eq!((attempts.step.as_str(), attempts.attempts.len()), ("use", 1));
    let only = &attempts.attempts[0];
    assert_eq!((only.attempt, only.outcome.as_deref()), (1, Some("failed")));
    assert!(only.error.as_ref().is_some_and(|error| error.contains("late.json")), "{only:?}");
}

#[test]
fn a_run_of_a_flow_is_started_as_it_was_ordered() {
    let (scene, file) = with_data();
    scene.finish(&scene.order(&file, &["read"]));
    let result = scene.desk().result("last").unwrap();
    let names: Vec<&String> = result.steps.0.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["read"]);
}

#[test]
fn where_no_house_keeps_flows_their_files_are_those_of_the_newest_run_as_they_are_now() {
    let (scene, file) = with_data();
    let run = scene.run(&file).to_string();
    let desk = scene.desk();
    let flow = desk.glance().unwrap().flows.remove(0).name;
    let source = desk.source(&flow).unwrap();
    assert_eq!((source.files[0].text.as_str(), source.outdated.clone()), (FLOW, None), "{run}");
    assert_eq!(source.shown().len(), 1);
    scene.write("flow.yaml", &FLOW.replace("source: data, input", "sauce: data, input"));
    let source = desk.source(&flow).unwrap();
    let shown = source.shown();
    let [(now, _, problems)] = &shown[..] else { panic!("no other one is in force: {shown:?}") };
    let wrong = problems.iter().find(|it| it["severity"] == "error").unwrap();
    let line = now.text.lines().nth(wrong["line"].as_u64().unwrap() as usize - 1);
    assert!(line.unwrap().contains("sauce"), "{wrong}");
    std::fs::remove_file(&file).unwrap();
    let source = desk.source(&flow).unwrap();
    assert!(source.outdated.as_ref().unwrap().text.is_empty());
    assert!(!source.shown()[0].2.is_empty(), "{source:?}");
    refused(desk.source("nothing"));
}
