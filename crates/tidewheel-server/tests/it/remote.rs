//! A desk that is elsewhere answers as one that is here.
//!
//! What the answers mean is tried in `tidewheel-client`.

use std::fmt::Debug;
use std::sync::Arc;

use crate::scene::Scene;
use tidewheel_client::api::{
    AnswerWish, CancelWish, LedgerWish, ListWish, LogStream, LogWanted, LogWish, RefusalKind,
    RetryWish, StartWish, StateWish,
};
use tidewheel_client::desk::{Desk, DeskError};
use tidewheel_client::remote::{RemoteDesk, ServerAddress};
use tidewheel_server::identity::Role;
use tidewheel_server::{Listener, serve};
use tokio::net::{TcpListener, UnixListener};

/// The desk of a scene over its socket.
fn over_socket(scene: &Scene) -> Desk {
    let path = scene.path.join("data/server/socket");
    let listener = Listener::Unix(UnixListener::bind(&path).unwrap());
    tokio::spawn(serve(listener, Arc::clone(&scene.server), std::future::pending()));
    RemoteDesk::new(&ServerAddress::Socket(path), None).unwrap().into()
}

#[track_caller]
fn same<T: Debug + PartialEq>(here: Result<T, DeskError>, there: Result<T, DeskError>) {
    match (here, there) {
        (Ok(here), Ok(there)) => assert_eq!(here, there),
        (Err(here), Err(there)) => assert_eq!(here.refusal(), there.refusal()),
        (here, there) => panic!("{here:?}\n{there:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_elsewhere_is_answered_as_here() {
    let scene = Scene::patient().await;
    let run = scene.run().await;
    let (here, there) = (scene.house.desk(), over_socket(&scene));
    let wishes = [
        ListWish::default(),
        ListWish { state: Some(StateWish::Failed), ..ListWish::default() },
        ListWish { name: Some("a/b & c?".to_owned()), limit: 1, ..ListWish::default() },
        ListWish { cursor: Some("wrong".to_owned()), ..ListWish::default() },
    ];
    for wish in wishes {
        same(here.list(wish.clone()).await, there.list(wish).await);
    }
    for word in ["last", &run, &run[..8], "nothing", "../x", "%2f"] {
        same(here.show(word).await, there.show(word).await);
        same(here.standing(word).await, there.standing(word).await);
        same(here.explain(word, None).await, there.explain(word, None).await);
        let wish = LogWish::default();
        same(here.logs(word, &wish).await, there.logs(word, &wish).await);
        same(here.artifacts(word, None).await, there.artifacts(word, None).await);
        same(here.pause(word).await, there.pause(word).await);
        same(here.go_on(word).await, there.go_on(word).await);
        let cancel = CancelWish::default();
        same(here.cancel(word, cancel.clone()).await, there.cancel(word, cancel).await);
        let retry = RetryWish { from: Some("read".to_owned()), ..RetryWish::default() };
        same(here.preview(word, retry.clone()).await, there.preview(word, retry).await);
        for step in ["read", "raed", "a/b"] {
            same(here.attempts(word, step).await, there.attempts(word, step).await);
        }
    }
    let wanted = LogWanted {
        version: None,
        run_id: run,
        task: 0,
        attempt: 1,
        stream: LogStream::Stdout,
        from: 0,
    };
    same(here.log(wanted.clone()).await, there.log(wanted).await);
    for name in ["kept.txt", "../kept.txt"] {
        let nowhere = std::io::sink;
        let (one, other) = (
            here.artifact("last", None, name, nowhere()).await,
            there.artifact("last", None, name, nowhere()).await,
        );
        same(one, other);
    }
    let copies = scene.path.join("copies");
    let copied = there.copy_artifacts("last", None, &copies).await.unwrap();
    assert_eq!(copied.artifacts, [], "it has left none");
    same(here.schedules(false).await, there.schedules(false).await);
    same(here.upcoming("asks/asks-daily", 3).await, there.upcoming("asks/asks-daily", 3).await);
    let ledger = LedgerWish::default();
    same(here.ledger("nothing", ledger.clone()).await, there.ledger("nothing", ledger).await);
    let wish = StartWish { flow: "asks".to_owned(), ..StartWish::default() };
    let asks = scene.house.start(wish).await.unwrap().run_id;
    let answer = AnswerWish {
        version: None,
        approved: true,
        by: "owner".to_owned(),
        note: None,
        code: None,
    };
    assert_eq!(there.answer(&asks, "ask", answer.clone()).await.unwrap().answer, "approved");
    let error = there.here(|_| Ok(())).await.unwrap_err();
    assert_eq!(error.kind(), RefusalKind::Usage, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_not_let_in_is_told_so() {
    let scene = Scene::patient().await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = ServerAddress::Url(format!("http://{}", listener.local_addr().unwrap()));
    tokio::spawn(serve(Listener::Tcp(listener), Arc::clone(&scene.server), std::future::pending()));
    let token = scene.token(Role::Viewer);
    let desk = |token: Option<&str>| Desk::from(RemoteDesk::new(&url, token).unwrap());
    assert_eq!(desk(Some(&token)).list(ListWish::default()).await.unwrap().runs, []);
    let error = desk(None).list(ListWish::default()).await.unwrap_err();
    assert_eq!(error.kind(), RefusalKind::Refused, "{error}");
    assert!(error.hints()[0].contains("tidewheel login"), "{:?}", error.hints());
    let error = desk(Some(&token)).pause("last").await.unwrap_err();
    assert!(
        error.to_string().ends_with("needs the role operator, and the token has viewer"),
        "{error}"
    );
    let nobody = ServerAddress::Url("http://127.0.0.1:1".to_owned());
    let error = Desk::from(RemoteDesk::new(&nobody, None).unwrap()).show("last").await.unwrap_err();
    assert!(matches!(error, DeskError::Unreachable { .. }), "{error}");
}
