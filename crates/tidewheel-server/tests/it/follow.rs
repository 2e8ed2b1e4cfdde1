//! A run of a server that is started, steered and watched from elsewhere, by the client alone.
//!
//! What each wish means is tried in `tidewheel-client`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::scene::{Scene, Wish};
use serde_json::json;
use tidewheel_client::api::{
    AnswerWish, CancelWish, RefusalKind, ResumeWish, RetryWish, RunState, StartWish, TokenWish,
};
use tidewheel_client::desk::Desk;
use tidewheel_client::progress::{EndState, Event};
use tidewheel_client::remote::{RemoteDesk, RemoteFollow, ServerAddress};
use tidewheel_server::identity::Role;
use tidewheel_server::{Listener, Peer, serve};
use tidewheel_testing::patience;
use tokio::net::UnixListener;

/// The server of a scene over its socket.
fn over_socket(scene: &Scene) -> Arc<RemoteDesk> {
    let path = scene.path.join("data/server/socket");
    let listener = Listener::Unix(UnixListener::bind(&path).unwrap());
    tokio::spawn(serve(listener, Arc::clone(&scene.server), std::future::pending()));
    Arc::new(RemoteDesk::new(&ServerAddress::Socket(path), None).unwrap())
}

fn asks(key: Option<&str>) -> StartWish {
    StartWish {
        flow: "asks".to_owned(),
        params: BTreeMap::from([("who".to_owned(), json!("you"))]),
        key: key.map(str::to_owned),
        ..StartWish::default()
    }
}

/// What is told of a run until this is.
async fn until(follow: &mut RemoteFollow, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
    let mut told: Vec<(Duration, Event)> = Vec::new();
    let telling = async {
        while !told.iter().any(|(_, event)| is_it(event)) {
            assert!(follow.next(&mut told).await || told.iter().any(|(_, it)| is_it(it)));
        }
    };
    tokio::time::timeout(patience(), telling).await.unwrap();
    told.into_iter().map(|(_, event)| event).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_started_watched_steered_and_answered_from_elsewhere() {
    let scene = Scene::patient().await;
    let server = over_socket(&scene);
    let flows = server.flows().await.unwrap();
    assert_eq!(flows.flows.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["asks", "reads"]);
    assert_eq!(server.flow("asks").await.unwrap().params[0].name, "who");
    assert_eq!(server.flow("aks").await.unwrap_err().kind(), RefusalKind::NotFound);
    assert_eq!(server.plan(&asks(None)).await.unwrap().steps[0].step, "ask");

    let started = server.start(&asks(Some("once"))).await.unwrap();
    let again = server.start(&asks(Some("once"))).await.unwrap();
    assert_eq!((again.created, &again.run_id), (false, &started.run_id));
    let mut follow = RemoteFollow::begin(Arc::clone(&server), &started.run_id).await.unwrap();
    assert_eq!(follow.run_id(), started.run_id);
    follow.listen(true);
    let told = until(&mut follow, |event| matches!(event, Event::StepWaiting { .. })).await;
    assert!(matches!(&told[0], Event::RunStarted { flow, .. } if flow == "asks"), "{told:?}");
    assert!(told.iter().any(|it| matches!(it, Event::StepStarted { step: 0, attempt: 1 })));
    follow.pause();
    until(&mut follow, |event| *event == Event::Paused).await;
    follow.resume();
    until(&mut follow, |event| *event == Event::Resumed).await;
    let yes =
        AnswerWish { version: None, approved: true, by: String::new(), note: None, code: None };
    let desk = Desk::from(Arc::clone(&server));
    desk.answer(&started.run_id, "ask", yes).await.unwrap();
    let told = until(&mut follow, |event| matches!(event, Event::RunEnded { .. })).await;
    let end = Event::RunEnded { state: EndState::Succeeded };
    assert!(told.contains(&end), "{told:?}");
    assert_eq!(follow.finish(), None);

    let retry = RetryWish::default();
    let error = server.retry(&started.run_id, &retry).await.unwrap_err();
    assert!(error.hints()[0].contains("--from STEP"), "our words: {:?}", error.hints());
    let retry = RetryWish { from: Some("ask".to_owned()), ..retry };
    let retried = server.retry(&started.run_id, &retry).await.unwrap();
    let mut follow = RemoteFollow::begin(Arc::clone(&server), &retried.run_id).await.unwrap();
    follow.listen(false);
    until(&mut follow, |event| matches!(event, Event::StepWaiting { .. })).await;
    follow.cancel(CancelWish { drain: true, ..CancelWish::default() });
    let told = until(&mut follow, |event| matches!(event, Event::RunEnded { .. })).await;
    assert!(told.contains(&Event::RunEnded { state: EndState::Cancelled }), "{told:?}");
    let error = server.resume(&retried.run_id, &ResumeWish::default()).await.unwrap_err();
    assert_eq!(error.kind(), RefusalKind::Conflict);
    assert!(RemoteFollow::begin(server, "nothing").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wished_from_elsewhere_is_written_down_with_what_it_is_about() {
    let scene = Scene::patient().await;
    let server = over_socket(&scene);
    let started = server.start(&asks(None)).await.unwrap();
    let unknown = StartWish { flow: "nothing".to_owned(), ..StartWish::default() };
    server.start(&unknown).await.unwrap_err();
    let (name, role) = ("ci".to_owned(), Role::Viewer);
    let wish = TokenWish { version: None, name, role, days: None, flows: None };
    let made = server.make_token(&wish).await.unwrap();
    assert_eq!(server.tokens().await.unwrap().tokens[0], made.token);
    assert_eq!(server.revoke_token("ci").await.unwrap().tokens.len(), 1);
    assert_eq!(server.me().await.unwrap().name, "owner");
    let rows = server.audit(10).await.unwrap().rows;
    let said: Vec<_> = rows.iter().rev().map(|it| (&*it.action, &*it.object, it.result)).collect();
    let run = format!("flow asks, run {}", started.run_id);
    let token = format!("token {} ci viewer", made.token.id);
    let expected = [
        ("start-run", run.as_str(), 200),
        ("start-run", "flow nothing", 404),
        ("make-token", token.as_str(), 200),
        ("revoke-token", "token ci", 200),
    ];
    assert_eq!(said, expected);
    assert!(rows.iter().all(|row| row.actor == "owner" && row.address == "socket"));
    assert_eq!(server.verify_audit().await.unwrap().rows, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_process_died_goes_on_at_the_server() {
    let scene = Scene::patient().await;
    let run = scene.leave("asks").await;
    let server = over_socket(&scene);
    let desk = Desk::from(Arc::clone(&server));
    assert_eq!(desk.show(&run).await.unwrap().state, RunState::Interrupted);
    let gone_on = server.resume(&run, &ResumeWish::default()).await.unwrap();
    assert!(gone_on.taken_over);
    assert_eq!(scene.house.overview().runs, 1, "it is one of the house, as all others");
    let yes =
        AnswerWish { version: None, approved: true, by: String::new(), note: None, code: None };
    desk.answer(&run, "ask", yes).await.unwrap();
    let mut follow = RemoteFollow::begin(server, &run).await.unwrap();
    follow.listen(false);
    let told = until(&mut follow, |event| matches!(event, Event::RunEnded { .. })).await;
    assert!(told.contains(&Event::RunEnded { state: EndState::Succeeded }), "{told:?}");
}

#[tokio::test]
async fn hints_are_said_in_the_words_of_whoever_asks() {
    let scene = Scene::new().await;
    let run = scene.run().await;
    let retry = |prefer: Option<&str>| {
        let wish = Wish::new("POST", &format!("/api/v1/runs/{run}/retry")).from(Peer::Owner);
        prefer.map_or(wish.clone(), |prefer| wish.header("prefer", prefer))
    };
    let plain = scene.send(retry(None)).await.json();
    let hint = plain["hint"].as_str().unwrap();
    assert!(hint.contains("/retry with \"from\": \"STEP\"") && !hint.contains("--"), "{hint}");
    assert_eq!(plain["refusal"]["hints"][0], hint);
    let ours = scene.send(retry(Some("respond-async, hints=command"))).await.json();
    let hint = ours["refusal"]["hints"][0].as_str().unwrap();
    assert!(hint.starts_with("tidewheel retry ") && hint.contains("--from STEP"), "{hint}");
    assert_eq!(ours["hint"], hint);
}
