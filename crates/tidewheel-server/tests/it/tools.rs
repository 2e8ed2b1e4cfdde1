//! What programs of others find wrong with a server on a real socket: `promtool`, and schemathesis.
//!
//! `./test` installs them; without one, its test is skipped. What is tried without them is in the files beside.

use std::process::Stdio;
use std::sync::Arc;

use crate::scene::{Scene, Wish};
use tidewheel_server::identity::Role;
use tidewheel_server::{Listener, Peer, serve};
use tidewheel_testing::skipped;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;

#[tokio::test]
async fn promtool_finds_nothing_wrong_with_the_figures() {
    let scene = Scene::new().await;
    scene.run().await;
    let wish = Wish::new("GET", "/metrics").from(Peer::Owner).header("accept", "text/plain");
    let text = scene.send(wish).await.body;
    let promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut promtool = match promtool {
        Ok(promtool) => promtool,
        Err(error) => return skipped("tools::promtool", &format!("promtool: {error}")),
    };
    promtool.stdin.take().unwrap().write_all(&text).await.unwrap();
    let found = promtool.wait_with_output().await.unwrap();
    let said = String::from_utf8_lossy(&found.stdout) + String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success() && said.is_empty(), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_nothing_wrong_with_the_interface() {
    let Some(program) = std::env::var_os("TIDEWHEEL_SCHEMATHESIS") else {
        return skipped("tools::schemathesis", "TIDEWHEEL_SCHEMATHESIS does not name the program");
    };
    let scene = Scene::patient().await;
    scene.run().await;
    let token = scene.token(Role::Operator);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let never = std::future::pending();
    let serving = tokio::spawn(serve(Listener::Tcp(listener), Arc::clone(&scene.server), never));
    let found = Command::new(program)
        // It keeps what it has tried in the folder it is started in.
        .current_dir(&scene.path)
        .args(["run", &format!("http://{address}/api/v1/openapi.json")])
        .args(["-H", &format!("Authorization: Bearer {token}")])
        // Streams have no end; the browser's form has a test of its own.
        .args(["--exclude-operation-id", "events", "--exclude-operation-id", "log-in"])
        // A name that nobody has is a good name, and refused all the same.
        .args(["--exclude-checks", "positive_data_acceptance"])
        .args(["--phases", "examples,coverage,fuzzing", "--max-examples", "20", "--seed", "1"])
        .args(["--no-color", "--warnings", "off", "--suppress-health-check", "all"])
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&found.stdout) + String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success(), "{said}");
    serving.abort();
}
