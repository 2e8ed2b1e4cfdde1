//! Schedules that fire for what happens outside: deliveries that are signed, files that arrive.
//!
//! Signatures themselves are tried beside `signature`, how files look beside `arriving_files`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::scene::Scene;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;
use tidewheel::clock::wall_clock;
use tidewheel_client::api::{
    Delivered, DeliveryFate, LedgerFate, LedgerLine, LedgerWish, RunState, ScheduleWord,
};
use tidewheel_client::desk::DeskError;
use tidewheel_client::house::{Delivery, House, HouseOptions, Seen};
use tidewheel_testing::patience;

/// What the hook is signed with.
const SECRET: &str = "a long secret of the hook";

/// A flow whose runs say which params they got.
const HOOKED: &str = "
name: hooked
secrets: { hook: { file: hook.secret } }
params: { ref: { type: text }, tries: { type: int, default: 1 } }
schedule:
  webhook: { secret: hook }
  params: { ref: '{{ webhook.body.ref }}', tries: '{{ webhook.body.tries | default(2) }}' }
sources: { nothing: { type: file, configuration: { path: nothing.json } } }
flow:
  - { name: say, source: nothing, outputs: { got: '{{ params.ref }} {{ params.tries }}' } }
";

const FILES: &str = "
name: files
params: { path: { type: text } }
schedule: { files: 'in/*.csv', params: { path: '{{ file.path }}' } }
sources: { nothing: { type: file, configuration: { path: nothing.json } } }
flow:
  - { name: say, source: nothing, outputs: { got: '{{ params.path }}' } }
";

/// A folder of flows with these in it.
fn flows(scene: &Scene, flows: &[(&str, &str)]) -> PathBuf {
    let folder = scene.path.join("flows");
    std::fs::create_dir_all(folder.join("in")).unwrap();
    std::fs::write(folder.join("nothing.json"), "{}").unwrap();
    std::fs::write(folder.join("hook.secret"), SECRET).unwrap();
    for (name, text) in flows {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

/// A house that looks at files only when it is asked to.
async fn open(scene: &Scene) -> House {
    let mut options = HouseOptions::new();
    options.flows = Some(scene.path.join("flows"));
    options.look = None;
    House::open(scene.folder(), options).await.unwrap()
}

/// Does something in a scene of its own.
fn within(doing: impl AsyncFnOnce(&Scene)) {
    let scene = Scene::new();
    scene.runtime.block_on(doing(&scene));
}

/// A delivery that is signed with this secret.
fn signed_with(secret: &str, id: &str, body: &str) -> Delivery {
    let time = (wall_clock().as_micros() / 1_000_000).to_string();
    let mut made = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    made.update(format!("{id}.{time}.{body}").as_bytes());
    let signature = BASE64_STANDARD.encode(made.finalize().into_bytes());
    let headers = BTreeMap::from([
        ("webhook-id".to_owned(), id.to_owned()),
        ("webhook-timestamp".to_owned(), time),
        ("webhook-signature".to_owned(), format!("v1,{signature}")),
    ]);
    let mut delivery = Delivery::default();
    delivery.headers.extend(headers);
    delivery.body = body.as_bytes().to_vec();
    delivery
}

async fn deliver(house: &House, hook: &str, id: &str, body: &str) -> Result<Delivered, DeskError> {
    house.deliver(house.signed(hook, signed_with(SECRET, id, body)).await?).await
}

async fn ledger(house: &House, schedule: &str) -> Vec<LedgerLine> {
    let wish = LedgerWish { version: None, before: None, limit: 100 };
    house.desk().ledger(schedule, wish).await.unwrap().firings
}

/// What the run of a line came to, when it has ended.
async fn got(house: &House, line: &LedgerLine) -> String {
    let mut happenings = house.happenings(None);
    let run = line.run_id.as_deref().unwrap();
    loop {
        let result = house.desk().show(run).await;
        match result {
            Ok(result) if result.state != RunState::Running => {
                assert_eq!(result.state, RunState::Succeeded);
                let outputs = serde_json::to_value(&result).unwrap();
                return outputs["outputs"]["say"]["got"].as_str().unwrap().to_owned();
            }
            _ => assert!(matches!(happenings.next().await, Some(Seen::Happened(_)))),
        }
    }
}

#[test]
fn a_delivery_fires_once_and_its_payload_reaches_the_params() {
    within(async |scene| {
        flows(scene, &[("hooked.yaml", HOOKED)]);
        let house = open(scene).await;
        assert_eq!(house.refused(), [] as [String; 0]);
        let list = house.schedules().await.unwrap();
        assert_eq!((list.schedules[0].rule.as_str(), list.schedules[0].next), ("webhook", None));
        assert_eq!(list.schedules[0].overlap, "allow");

        let body = json!({ "ref": "main", "tries": 7 }).to_string();
        let first = deliver(&house, "hooked", "msg_1", &body).await.unwrap();
        assert!(first.created && first.fate == DeliveryFate::Ran, "{first:?}");
        let again = deliver(&house, "hooked", "msg_1", &body).await.unwrap();
        assert!(!again.created && again.run_id == first.run_id, "{again:?}");
        let second =
            deliver(&house, "hooked", "msg_2", r#"{ "ref": "$(rm -rf /)" }"#).await.unwrap();
        assert!(second.created && second.run_id != first.run_id);

        let lines = ledger(&house, "hooked").await;
        assert_eq!(lines.len(), 2, "one for each delivery");
        assert!(lines.iter().all(|line| line.fate == LedgerFate::Ran && line.origin == "trigger"));
        assert_eq!(got(&house, &lines[1]).await, "main 7");
        assert_eq!(got(&house, &lines[0]).await, "$(rm -rf /) 2", "what is delivered is data");
        house.close(patience()).await;
    });
}

#[test]
fn whoever_does_not_sign_as_they_must_delivers_nothing() {
    within(async |scene| {
        let other =
            HOOKED.replace("name: hooked", "name: other").replace("hook.secret", "other.secret");
        let folder = flows(scene, &[("hooked.yaml", HOOKED), ("other.yaml", &other)]);
        std::fs::write(folder.join("other.secret"), "another secret").unwrap();
        let house = open(scene).await;
        let body = r#"{ "ref": "main" }"#;
        let good = signed_with(SECRET, "msg_1", body);
        for (hook, delivery) in [
            ("hooked", signed_with("wrong", "msg_1", body)),
            ("hooked", Delivery::default()),
            ("hooked", Delivery { body: b"{}".to_vec(), ..good.clone() }),
            // A signature for one hook is none for another, nor for one that is not there.
            ("other", good.clone()),
            ("nothing", good.clone()),
            ("nothing", signed_with("a secret that signs nothing", "msg_1", body)),
        ] {
            let refused = house.signed(hook, delivery).await;
            assert!(matches!(refused, Err(DeskError::NotSigned)), "{hook}");
        }
        assert!(house.signed("hooked", good).await.is_ok());
        assert_eq!(ledger(&house, "hooked").await, []);
        house.close(patience()).await;
    });
}

#[test]
fn a_hook_without_its_secret_is_refused_and_told() {
    within(async |scene| {
        let folder = flows(scene, &[("hooked.yaml", HOOKED)]);
        std::fs::remove_file(folder.join("hook.secret")).unwrap();
        let house = open(scene).await;
        let refused = house.refused();
        assert!(refused[0].contains("hooked") && refused[0].contains("hook.secret"), "{refused:?}");
        assert_eq!(house.schedules().await.unwrap().schedules, []);
        let delivery = signed_with("", "msg_1", "{}");
        assert!(matches!(house.signed("hooked", delivery).await, Err(DeskError::NotSigned)));
        house.close(patience()).await;
    });
}

#[test]
fn what_does_not_fit_the_params_has_its_row_and_is_told() {
    within(async |scene| {
        flows(scene, &[("hooked.yaml", HOOKED)]);
        let house = open(scene).await;
        for (id, body) in [("msg_1", "{}"), ("msg_2", r#"{ "ref": "x", "tries": "many" }"#)] {
            let error = deliver(&house, "hooked", id, body).await.unwrap_err();
            assert!(matches!(&error, DeskError::NotDelivered { .. }), "{error}");
            let again = deliver(&house, "hooked", id, body).await.unwrap_err();
            assert_eq!(again.to_string(), error.to_string(), "the first answer counts");
        }
        let lines = ledger(&house, "hooked").await;
        let fates: Vec<LedgerFate> = lines.iter().map(|line| line.fate).collect();
        assert_eq!(fates, [LedgerFate::NotMade, LedgerFate::NotMade]);
        assert!(lines[0].why.as_deref().unwrap().contains("tries"), "{lines:?}");
        house.close(patience()).await;
    });
}

#[test]
fn a_delivery_that_finds_the_queue_full_may_come_again() {
    within(async |scene| {
        let full = HOOKED.replace("{ name: say,", "{ name: say, queue: tight,")
            + "  - { name: more, wait: 1ms, queue: tight }\nqueues: { tight: { waiting_max: 1 } }\n";
        flows(scene, &[("hooked.yaml", &full)]);
        let house = open(scene).await;
        for _ in 0..2 {
            let error = deliver(&house, "hooked", "msg_1", r#"{ "ref": "x" }"#).await.unwrap_err();
            assert!(matches!(&error, DeskError::HookFull { .. }), "{error}");
        }
        let lines = ledger(&house, "hooked").await;
        assert_eq!(lines.len(), 2, "each has its row: {lines:?}");
        house.close(patience()).await;
    });
}

#[test]
fn a_delivery_to_a_paused_hook_waits_also_over_a_restart() {
    within(async |scene| {
        flows(scene, &[("hooked.yaml", HOOKED)]);
        let house = open(scene).await;
        house.pause_schedule("hooked").await.unwrap();
        for (id, count) in [("msg_1", 1), ("msg_2", 2)] {
            let signed = house.signed("hooked", signed_with(SECRET, id, r#"{ "ref": "x" }"#)).await;
            let (other, signed) = (house.clone(), signed.unwrap());
            // Whoever delivers waits a while for what becomes of it; the house is left meanwhile.
            drop(tokio::spawn(async move { other.deliver(signed).await }));
            let reader = house.folder().reader().unwrap();
            while reader.waiting_arrivals("hooked").unwrap().len() < count {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(ledger(&house, "hooked").await, []);
        house.close(patience()).await;
        drop(house);

        let house = open(scene).await;
        assert_eq!(house.schedules().await.unwrap().schedules[0].state, ScheduleWord::Paused);
        house.resume_schedule("hooked").await.unwrap();
        let again = deliver(&house, "hooked", "msg_2", r#"{ "ref": "x" }"#).await.unwrap();
        assert!(!again.created && again.fate == DeliveryFate::Ran, "{again:?}");
        let lines = ledger(&house, "hooked").await;
        assert_eq!(lines.len(), 2, "both fired, once: {lines:?}");
        house.close(patience()).await;
    });
}

#[test]
fn each_file_that_arrives_fires_once_also_over_restarts() {
    within(async |scene| {
        let folder = flows(scene, &[("files.yaml", FILES)]);
        let house = open(scene).await;
        assert_eq!(house.schedules().await.unwrap().schedules[0].rule, "files in/*.csv");
        std::fs::write(folder.join("in/a.csv"), "1").unwrap();
        std::fs::write(folder.join("in/b.txt"), "1").unwrap();
        assert_eq!(house.look_for_files().await.unwrap(), 0, "it may still be written");
        assert_eq!(house.look_for_files().await.unwrap(), 1);
        assert_eq!(house.look_for_files().await.unwrap(), 0);
        let line = loop {
            let lines = ledger(&house, "files").await;
            if let Some(line) = lines.into_iter().next() {
                break line;
            }
            tokio::task::yield_now().await;
        };
        let path = got(&house, &line).await;
        assert_eq!(PathBuf::from(path), folder.join("in/a.csv"));
        house.close(patience()).await;
        drop(house);

        let house = open(scene).await;
        std::fs::write(folder.join("in/c.csv"), "1").unwrap();
        house.look_for_files().await.unwrap();
        assert_eq!(house.look_for_files().await.unwrap(), 1, "only the new one");
        // A file of its flow that goes and comes back makes no file arrive again.
        let text = std::fs::read_to_string(folder.join("files.yaml")).unwrap();
        std::fs::remove_file(folder.join("files.yaml")).unwrap();
        house.reload().await.unwrap();
        std::fs::write(folder.join("files.yaml"), text).unwrap();
        house.reload().await.unwrap();
        for _ in 0..2 {
            assert_eq!(house.look_for_files().await.unwrap(), 0);
        }
        house.close(patience()).await;
    });
}

#[test]
fn a_schedule_that_is_asked_to_fire_by_hand_has_no_arrival() {
    within(async |scene| {
        let plain = FILES.replace("{ type: text }", "{ default: none }");
        flows(
            scene,
            &[("files.yaml", FILES), ("plain.yaml", &plain.replace("name: files", "name: plain"))],
        );
        let house = open(scene).await;
        for name in ["files", "plain"] {
            house.fire_schedule(name).await.unwrap();
        }
        let fate_of = async |name: &str| loop {
            let lines = ledger(&house, name).await;
            match lines.first() {
                Some(line) if line.fate == LedgerFate::NotMade || line.state.is_some() => {
                    break line.clone();
                }
                _ => tokio::task::yield_now().await,
            }
        };
        let files = fate_of("files").await;
        assert!(files.why.as_deref().unwrap().contains("needs the param `path`"), "{files:?}");
        let plain = fate_of("plain").await;
        assert_eq!(got(&house, &plain).await, "none");
        house.close(patience()).await;
    });
}
