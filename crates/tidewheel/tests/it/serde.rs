//! Reports in serde, and payloads that are values of types.
//!
//! The forms of single values are shown beside them, in the core.

use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::{json, to_value};
use tidewheel::store::Memory;
use tidewheel::task::{BoxError, PayloadError};
use tidewheel::{Attempt, Graph, Shutdown, TaskError, Tidewheel};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Mail {
    to: String,
    copies: u32,
}

fn mail() -> Mail {
    Mail { to: "ada@example.com".to_owned(), copies: 2 }
}

async fn nothing(_: Attempt) -> Result<(), BoxError> {
    Ok(())
}

#[tokio::test]
async fn a_report_is_a_document() {
    let wheel = Tidewheel::builder().start();
    let graph = Graph::from_edges([("a", "b"), ("b", "c")]).unwrap();
    let code = |name: String| async move { if name == "b" { Err("disk full") } else { Ok(()) } };
    let run = wheel.run(&graph, move |task| code(task.name().to_owned())).name("nightly");
    let report = run.await.unwrap();
    let told = to_value(&report).unwrap();
    assert_eq!(told["id"], json!(report.id().to_string()));
    assert_eq!((&told["name"], &told["result"]), (&json!("nightly"), &json!("failed")));
    assert_eq!(told["counts"], json!({ "succeeded": 1, "failed": 1, "skipped": 1 }));
    assert_eq!(told["tasks"][1]["error"], "disk full");
    assert_eq!(told["tasks"][1]["attempts"], 1);
    assert_eq!(told["tasks"][2]["reason"], "dependency-failed");
    assert_eq!(told["tasks"][2]["cause"], "b");
    assert!(told["tasks"][2]["elapsed"].is_null());
    // The graph was only lent.
    assert_eq!(graph.len(), 3);
}

#[tokio::test]
async fn a_payload_is_the_value_it_was() {
    let wheel = Tidewheel::builder().start();
    let request = wheel.task_with(|attempt| async move { attempt.payload_as::<Mail>() });
    let found = request.payload_of(&mail()).unwrap().submit().await.unwrap();
    assert_eq!(found, mail());
    // What it is not is told, and not tried again.
    let request = wheel.task_with(|attempt| async move {
        assert_eq!(attempt.number(), 1);
        attempt.payload_as::<Mail>()
    });
    match request.payload(*b"{\"to\":7}").retries(3).submit().await {
        Err(TaskError::Failed(error)) => {
            let error = error.to_string();
            assert!(error.contains("Mail`: invalid type: integer `7`"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    let keys = std::collections::BTreeMap::from([((1, 2), 3)]);
    let error = wheel.task_with(nothing).payload_of(&keys).unwrap_err();
    assert!(matches!(error, PayloadError::NotWritten { .. }), "{error}");
}

#[tokio::test]
async fn a_payload_that_cannot_be_read_is_held_and_explained() {
    let store = Memory::new();
    let wheel = Tidewheel::builder().store(store.clone()).paused().start();
    let submit = |payload: Vec<u8>| wheel.task_with(nothing).kind("mail").payload(payload).submit();
    let good = submit(serde_json::to_vec(&mail()).unwrap());
    let wrong = submit(b"{\"to\":\"ada\"}".to_vec());
    good.accepted().await.unwrap();
    let wrong_id = wrong.accepted().await.unwrap();
    wheel.shutdown(Shutdown::persist()).await;
    drop((good, wrong, wheel));

    let sent = Arc::new(Mutex::new(Vec::new()));
    let send = |sent: &Arc<Mutex<Vec<Mail>>>| {
        let sent = Arc::clone(sent);
        move |_: Attempt, mail: Mail| {
            sent.lock().unwrap().push(mail);
            async {}
        }
    };
    let builder = Tidewheel::builder().store(store.clone());
    let wheel = builder.adopt_payload("mail", send(&sent)).start();
    let held = wheel.held_work();
    assert_eq!(held.len(), 1, "{held:?}");
    let text = held[0].to_string();
    assert!(text.contains(&wrong_id.to_string()), "{text}");
    assert!(text.contains("missing field `copies`"), "{text}");
    wheel.shutdown(Shutdown::drain()).await;
    assert_eq!(*sent.lock().unwrap(), [mail()]);
    drop(wheel);

    // A program that understands the older form goes on with it.
    #[derive(Deserialize)]
    struct OldMail {
        to: String,
    }
    let found = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&found);
    let old = move |_: Attempt, mail: OldMail| {
        kept.lock().unwrap().push(mail.to);
        async {}
    };
    let wheel = Tidewheel::builder().store(store).adopt_payload("mail", old).start();
    assert!(wheel.held_work().is_empty());
    wheel.shutdown(Shutdown::drain()).await;
    assert_eq!(*found.lock().unwrap(), ["ada"]);
}
