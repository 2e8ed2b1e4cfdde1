//! Webhooks over HTTP: who is let in by a signature, how often, and what is written down of it.
//!
//! What becomes of a delivery is tried with the house, in `tidewheel-client`.

use crate::scene;
use crate::scene::{Answer, Scene, Wish};
use serde_json::Value as Json;
use tidewheel_server::Peer;
use tidewheel_server::identity::Role;

/// The example of GitHub's documentation: what is signed, with what, and the signature.
const BODY: &str = "Hello, World!";
const SECRET: &str = "It's a Secret to Everybody";
const SIGNATURE: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

const FLOW: &str = "
name: hooked
secrets: { hook: { file: hook.secret } }
params: { said: { type: text } }
schedule:
  webhook: { secret: hook, signature: github }
  params: { said: '{{ webhook.body }}' }
sources: { data: { type: file, configuration: { path: data.json } } }
flow: [{ name: read, source: data }]
";

async fn hooked(mut settings: tidewheel_server::Settings, per_minute: u32) -> Scene {
    settings.limits.deliveries_per_minute = per_minute;
    let scene = Scene::with(settings).await;
    std::fs::write(scene.path.join("flows/hook.secret"), SECRET).unwrap();
    std::fs::write(scene.path.join("flows/hooked.yaml"), FLOW).unwrap();
    assert_eq!(scene.house.reload().await.unwrap().added, ["hooked"]);
    assert_eq!(scene.house.refused(), [] as [String; 0]);
    scene
}

fn delivery(hook: &str, id: &str, signature: &str) -> Wish {
    let wish = Wish::new("POST", &format!("/hooks/{hook}")).body(BODY);
    wish.header("x-hub-signature-256", signature).header("x-github-delivery", id)
}

fn rows(scene: &Scene) -> Vec<Json> {
    let log = std::fs::read_to_string(scene.path.join("data/server/audit.jsonl")).unwrap();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn status(answer: &Answer) -> u16 {
    answer.status.as_u16()
}

#[tokio::test]
async fn a_signature_lets_a_delivery_in_once_and_a_row_says_so() {
    let scene = hooked(scene::patient(), 60).await;
    let first = scene.send(delivery("hooked", "72d3162e", SIGNATURE)).await;
    assert_eq!(status(&first), 200, "{}", String::from_utf8_lossy(&first.body));
    let first = first.json();
    assert_eq!((&first["created"], &first["fate"]), (&Json::Bool(true), &Json::from("ran")));
    let again = scene.send(delivery("hooked", "72d3162e", SIGNATURE)).await.json();
    assert_eq!((&again["created"], &again["run_id"]), (&Json::Bool(false), &first["run_id"]));
    let rows = rows(&scene);
    let last = rows.last().unwrap();
    assert_eq!((&last["action"], &last["object"]), (&"deliver".into(), &"hook hooked".into()));
    assert_eq!((&last["result"], rows.len()), (&200.into(), 2));
    let files = std::fs::read_dir(scene.path.join("data/server")).unwrap();
    for file in files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(SECRET) && !text.contains(BODY), "{}", file.display());
    }
}

#[tokio::test]
async fn nobody_learns_which_hooks_there_are() {
    let scene = hooked(scene::patient(), 60).await;
    let wrong = SIGNATURE.replace("7571", "1757");
    let unknown = scene.send(delivery("nothing", "1", SIGNATURE)).await;
    assert_eq!(status(&unknown), 401);
    let admin = scene.token(Role::Admin);
    for wish in [
        delivery("hooked", "1", &wrong),
        delivery("hooked", "1", ""),
        Wish::new("POST", "/hooks/hooked").body(BODY),
        // Neither a role nor the socket is a signature, and a schedule of another sort is no hook.
        Wish::new("POST", "/hooks/hooked").body(BODY).token(&admin),
        Wish::new("POST", "/hooks/hooked").body(BODY).from(Peer::Owner),
        delivery("asks%2Fasks-daily", "1", SIGNATURE),
    ] {
        let answer = scene.send(wish).await;
        assert_eq!((status(&answer), &answer.body), (401, &unknown.body));
    }
    assert_eq!(rows(&scene).len(), 7, "each is written down");
    let long = delivery("hooked", "1", SIGNATURE).body(&"x".repeat((1 << 20) + 1));
    assert_eq!(status(&scene.send(long).await), 413);
}

#[tokio::test]
async fn a_hook_without_a_signature_is_for_this_machine_alone() {
    let mut proxy = scene::patient();
    proxy.is_behind_proxy = true;
    for (settings, expected) in [(scene::patient(), 200), (proxy, 401)] {
        let scene = hooked(settings, 60).await;
        let open = FLOW.replace("secret: hook, signature: github", "insecure: true");
        std::fs::write(scene.path.join("flows/hooked.yaml"), open).unwrap();
        assert_eq!(scene.house.reload().await.unwrap().changed, ["hooked"]);
        assert_eq!(scene.house.schedules().await.unwrap().schedules[1].rule, "webhook, insecure");
        let flow = scene.house.flow("hooked").await.unwrap();
        assert_eq!(flow.problems[0]["code"], "insecure", "{}", flow.problems);
        let sent = || Wish::new("POST", "/hooks/hooked").body(BODY);
        let unknown = scene.send(delivery("nothing", "1", SIGNATURE)).await;
        let admin = scene.token(Role::Admin);
        for elsewhere in [sent(), sent().token(&admin), delivery("hooked", "1", SIGNATURE)] {
            let answer = scene.send(elsewhere).await;
            assert_eq!((status(&answer), &answer.body), (401, &unknown.body));
        }
        let here = Peer::Address([127, 0, 0, 1].into());
        let page = sent().from(here).header("origin", "https://elsewhere.example");
        assert_eq!(status(&scene.send(page).await), 403, "no page can fire it");
        let answer = scene.send(sent().from(here)).await;
        assert_eq!(status(&answer), expected, "{}", String::from_utf8_lossy(&answer.body));
    }
}

#[tokio::test]
async fn deliveries_that_come_too_often_are_put_off_and_not_written_down() {
    let scene = hooked(scene::patient(), 2).await;
    for id in ["1", "2"] {
        assert_eq!(status(&scene.send(delivery("hooked", id, SIGNATURE)).await), 200);
    }
    let before = rows(&scene).len();
    let answer = scene.send(delivery("hooked", "3", SIGNATURE)).await;
    assert_eq!((status(&answer), answer.header("retry-after")), (429, "30"));
    assert_eq!(rows(&scene).len(), before);
    // Those that are not signed use up nothing of it, but that of their address.
    let mut settings = scene::patient();
    settings.limits.strangers_per_minute = 2;
    let scene = hooked(settings, 1).await;
    let statuses = async |count: usize| {
        let mut statuses = Vec::new();
        for _ in 0..count {
            statuses.push(status(&scene.send(delivery("hooked", "1", "sha256=00")).await));
        }
        statuses
    };
    assert_eq!(statuses(4).await, [401, 401, 429, 429]);
    assert_eq!(status(&scene.send(delivery("hooked", "1", SIGNATURE)).await), 200);
}

#[tokio::test]
async fn a_full_queue_is_said_and_so_is_a_server_that_ends() {
    let scene = hooked(scene::patient(), 60).await;
    let full = FLOW.replace(
        "[{ name: read, source: data }]",
        "[{ name: read, source: data, queue: tight }, { name: more, wait: 1ms, queue: tight }]\n\
         queues: { tight: { waiting_max: 1 } }",
    );
    std::fs::write(scene.path.join("flows/hooked.yaml"), full).unwrap();
    assert_eq!(scene.house.reload().await.unwrap().changed, ["hooked"]);
    for _ in 0..2 {
        let answer = scene.send(delivery("hooked", "1", SIGNATURE)).await;
        assert_eq!((status(&answer), answer.header("retry-after")), (429, "1"));
    }
    scene.server.drain();
    let answer = scene.send(delivery("hooked", "1", SIGNATURE)).await;
    assert_eq!(status(&answer), 503);
}
