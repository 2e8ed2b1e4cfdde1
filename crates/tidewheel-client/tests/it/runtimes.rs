//! The desk and the session on threads of a runtime: nothing blocks one, whichever it is.
//!
//! What the answers say is tried in `desk.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::scene::Scene;
use tidewheel::TaskState;
use tidewheel_client::api::{
    AnswerWish, CancelWish, ListWish, LogStream, LogWanted, LogWish, RetryWish, RunState,
};
use tidewheel_client::desk::Desk;
use tidewheel_client::session::{Session, SessionOptions, Takeover};
use tokio::runtime::{Builder, Runtime};

const ASKS: &str = "
flow:
  - { name: ask, wait: { approval: 'now?', every: 1s } }
  - { name: then, depends_on: [ask], wait: 1ms }
";

/// Starts a run and asks everything there is to ask about it, all on the runtime.
async fn everything(scene: &Scene) {
    let file = scene.write("asks.yaml", ASKS);
    let run = scene.order(&file, &[]);
    let desk = Desk::open(scene.folder()).await.unwrap();
    let session =
        Session::open(scene.folder(), Takeover::Fresh, SessionOptions::new(2)).await.unwrap();
    let mut started = session.start(&run, BTreeMap::new()).await.unwrap();
    while started.run.task_state(0) != Some(TaskState::Delayed) {
        started.notices.recv().await.unwrap().unwrap();
    }
    let id = started.run.id().to_string();
    let wanted = LogWanted {
        version: None,
        run_id: id.clone(),
        task: 0,
        attempt: 1,
        stream: LogStream::Stdout,
        from: 0,
    };
    let list = desk.list(ListWish::default()).await.unwrap();
    assert!(list.runs[0].started_at.is_some(), "it is running: {list:?}");
    assert_eq!(desk.show(&id).await.unwrap().state, RunState::Running);
    assert_eq!(desk.attempts(&id, "ask").await.unwrap().step, "ask");
    assert_eq!(desk.explain(&id, None).await.unwrap().steps.len(), 2);
    assert!(!desk.logs(&id, &LogWish::default()).await.unwrap().over);
    assert_eq!(desk.log(wanted).await.unwrap(), b"");
    assert_eq!(desk.pause(&id).await.unwrap().asked, "paused");
    assert_eq!(desk.go_on(&id).await.unwrap().state, "resumed");
    let no =
        AnswerWish { version: None, approved: false, by: "me".to_owned(), note: None, code: None };
    assert_eq!(desk.answer(&id, "ask", no).await.unwrap().answer, "rejected");
    let cancel =
        CancelWish { grace: Some(Duration::ZERO), everything: true, ..CancelWish::default() };
    assert_eq!(desk.cancel(&id, cancel).await.unwrap().asked, "cancelled");
    started.run.report().await.unwrap();
    session.close().await;
    let again = desk.preview(&id, RetryWish::default()).await.unwrap();
    assert_eq!(again.run_again, ["ask", "then"]);
    let expected = desk.here(|desk| desk.expectations("asks")).await.unwrap();
    assert!(expected.len() <= 2);
}

/// Ends a run that nobody runs.
async fn end_left(scene: &Scene, id: &str) {
    let desk = Desk::open(scene.folder()).await.unwrap();
    let cancel =
        CancelWish { grace: Some(Duration::ZERO), everything: true, ..CancelWish::default() };
    desk.cancel(id, cancel).await.unwrap();
    assert_eq!(desk.show(id).await.unwrap().state, RunState::Cancelled);
}

fn on(runtime: &Runtime) {
    let scene = Scene::new();
    runtime.block_on(async {
        // On a thread of the runtime, as whoever handles a request is.
        let local = tokio::task::LocalSet::new();
        local.run_until(everything(&scene)).await;
    });
    let file = scene.write("asks.yaml", ASKS);
    let waits = |run: &tidewheel::Run| run.task_state(0) == Some(TaskState::Delayed);
    let id = scene.leave(&file, waits).to_string();
    runtime.block_on(end_left(&scene, &id));
}

#[test]
fn everything_can_be_asked_on_a_runtime_of_one_thread() {
    on(&Builder::new_current_thread().enable_all().build().unwrap());
}

#[test]
fn everything_can_be_asked_on_a_runtime_of_several_threads() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    on(&runtime);
    // Also on its workers, which must not block.
    let scene = Arc::new(Scene::new());
    let there = Arc::clone(&scene);
    let task = runtime.spawn(async move { everything(&there).await });
    runtime.block_on(task).unwrap();
}
