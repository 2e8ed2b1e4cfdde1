//! Logs as people read them, over HTTP: lines, searches, errors, parts of files.
//!
//! How lines are found in files is tried in `tidewheel-client`, and who may in `permissions`.

use crate::scene;
use crate::scene::{Answer, Scene, Wish};
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value as Json, json};
use tidewheel::RunId;
use tidewheel::id::TaskId;
use tidewheel::store::log_file;
use tidewheel_server::Peer;
use tower::ServiceExt as _;

/// A server with a run whose step wrote this.
async fn written(files: &[(&str, &[u8])]) -> (Scene, String) {
    let scene = Scene::patient().await;
    let run = scene.run().await;
    write(&scene, &run, files);
    (scene, run)
}

fn write(scene: &Scene, run: &str, files: &[(&str, &[u8])]) {
    let digits: String = run.chars().filter(|letter| *letter != '-').collect();
    let id = TaskId { run: RunId(u128::from_str_radix(&digits, 16).unwrap()), index: 0 };
    for (end, bytes) in files {
        let path = scene.path.join("data/logs").join(log_file(id, 1, end));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

async fn ask(scene: &Scene, path: &str) -> Answer {
    scene.send(Wish::new("GET", path).from(Peer::Owner)).await
}

async fn get(scene: &Scene, path: &str) -> Json {
    let answer = ask(scene, path).await;
    assert_eq!(answer.status.as_u16(), 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

/// The documents of a search.
async fn search(scene: &Scene, query: &str) -> Vec<Json> {
    let answer = ask(scene, &format!("/api/v1/runs/last/log/search?step=read&{query}")).await;
    let text = String::from_utf8(answer.body.clone()).unwrap();
    assert_eq!(answer.status.as_u16(), 200, "{query}: {text}");
    assert_eq!(answer.header("content-type"), "application/x-ndjson");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn hits(found: &[Json]) -> Vec<u64> {
    let hits = found.iter().flat_map(|piece| piece["hits"].as_array().unwrap());
    hits.map(|hit| hit.as_u64().unwrap()).collect()
}

#[tokio::test]
async fn lines_of_both_streams_come_in_their_order_with_colours_and_nothing_else() {
    let out = b"one\n\x1b[1;31mtwo\x1b[0m \x1b]0;title\x07<b>\nfour\n";
    let (scene, run) = written(&[("out", out), ("err", b"three\n"), ("seq", b"o 33\ne 6\n")]).await;
    let lines = get(&scene, "/api/v1/runs/last/log/lines?step=read").await;
    assert_eq!(
        lines["lines"],
        json!([
            [null, "stdout", [["", "one"]], null],
            [null, "stdout", [["f1 b", "two"], ["", " <b>"]], null],
            [null, "stderr", [["", "three"]], null],
            [null, "stdout", [["", "four"]], null],
        ])
    );
    assert_eq!(
        (&lines["total"], &lines["from"], &lines["version"]),
        (&json!(4), &json!(1), &json!(1))
    );
    assert_eq!((&lines["over"], &lines["attempts"]), (&json!(true), &json!(1)));
    assert_eq!(lines["size"], 44);
    // By numbers nothing else needs to be looked up.
    let path = format!("/api/v1/runs/{run}/log/lines?task=0&attempt=1");
    let last = get(&scene, &format!("{path}&from=-1")).await;
    assert_eq!((&last["from"], &last["lines"][0][2][0][1]), (&json!(4), &json!("four")));
    assert_eq!(last["generation"], lines["generation"]);
    let errors = get(&scene, &format!("{path}&stream=stderr")).await;
    assert_eq!((&errors["total"], &errors["lines"][0][1]), (&json!(1), &json!("stderr")));
    let only = get(&scene, &format!("{path}&only=4,2,9")).await;
    let texts = only["lines"].as_array().unwrap().iter().map(|line| line[2][0][1].clone());
    assert_eq!(texts.collect::<Vec<_>>(), ["two", "four"]);
    let beyond = get(&scene, &format!("{path}&from=99")).await;
    assert_eq!((&beyond["from"], &beyond["lines"]), (&json!(5), &json!([])));
    let cut = get(&scene, &format!("{path}&from=3&count=1&bytes=3")).await;
    assert_eq!(cut["lines"], json!([[null, "stderr", [["", "thr"]], [0, 5]]]));
}

#[tokio::test]
async fn too_much_or_nothing_is_refused() {
    let (scene, _) = written(&[("out", b"one\n")]).await;
    for (path, status) in [
        ("lines?step=read&count=1001", 422),
        ("lines?step=read&count=0", 422),
        ("lines?step=read&bytes=0", 422),
        ("lines?step=read&bytes=1048577", 422),
        ("lines?step=read&count=1000&bytes=1048576", 422),
        ("lines?step=read&only=0", 422),
        ("lines?step=read&only=x", 422),
        ("lines?step=read&stream=both", 422),
        ("lines?step=read&attempt=2", 404),
        ("lines?step=raed", 404),
        ("lines", 404),
        ("search?step=read&text=", 422),
        ("search?step=read&regex=true&text=a(", 422),
        ("search?step=raed&text=a", 404),
        ("error?step=raed", 404),
    ] {
        let answer = ask(&scene, &format!("/api/v1/runs/last/log/{path}")).await;
        assert_eq!(answer.status.as_u16(), status, "{path}: {}", answer.json());
    }
    let wrong = ask(&scene, "/api/v1/runs/last/log/search?step=read&regex=true&text=a(").await;
    assert!(wrong.json()["detail"].as_str().unwrap().ends_with("unclosed group"));
}

#[tokio::test]
async fn a_search_counts_everything_and_says_where() {
    let line = |number: u32| {
        format!("line {number}{}\n", if number.is_multiple_of(10) { " needle" } else { "" })
    };
    let text: String = (1..=20_000).map(line).collect();
    let (scene, _) = written(&[("out", text.as_bytes())]).await;
    let found = search(&scene, "text=needle").await;
    assert_eq!(hits(&found), (1..=2000).map(|it| it * 10).collect::<Vec<u64>>());
    let sum = &found.last().unwrap()["sum"];
    assert_eq!((&sum["count"], &sum["total"]), (&json!(2000), &json!(20_000)));
    assert_eq!(sum["buckets"], json!(vec![10; 200]));
    assert!(found.len() > 5, "it is told as it is found");
    let found = search(&scene, "text=needle&limit=3&from=31").await;
    assert_eq!(hits(&found), [40, 50, 60]);
    assert_eq!(found.last().unwrap()["sum"]["count"], 1997);
    let found = search(&scene, "text=%5Eline%2020%2A0%20&regex=true").await;
    assert_eq!(hits(&found), [20, 200, 2000, 20_000]);
    assert_eq!(hits(&search(&scene, "text=NEEDLE").await), [] as [u64; 0]);
    assert_eq!(hits(&search(&scene, "text=NEEDLE&case=false&limit=1").await), [10]);
}

#[tokio::test]
async fn a_search_ends_when_nobody_reads_it_any_more() {
    let (scene, _) = written(&[("out", &b"needle\n".repeat(8_000))]).await;
    let mut request = Request::builder()
        .uri("/api/v1/runs/last/log/search?step=read&text=needle")
        .header("host", "localhost:8080")
        .body(Body::empty())
        .unwrap();
    request.extensions_mut().insert(Peer::Owner);
    let mut response = scene.router.clone().oneshot(request).await.unwrap();
    let first = response.body_mut().frame().await.unwrap().unwrap();
    assert!(first.into_data().unwrap().starts_with(b"{\"version\":1,\"hits\":[1,2,"));
    drop(response);
    // Whoever asks has all of their streams again: as many as there may be can be open at once.
    for _ in 0..scene_streams() * 2 {
        assert_eq!(hits(&search(&scene, "text=needle&limit=1").await), [1]);
    }
}

fn scene_streams() -> usize {
    scene::patient().limits.streams_max
}

#[tokio::test]
async fn the_line_to_look_at_first_is_told() {
    let (scene, run) = written(&[("out", b"fine\nerror: no such file\n")]).await;
    let path = "/api/v1/runs/last/log/error?step=read";
    let found = get(&scene, path).await;
    assert_eq!(
        (&found["line"], &found["stream"], &found["likely"]),
        (&json!(2), &json!("stdout"), &json!(true))
    );
    write(&scene, &run, &[("out", b"fine\n"), ("err", b"went wrong\n"), ("seq", b"o 5\ne 11\n")]);
    let found = get(&scene, path).await;
    assert_eq!((&found["line"], &found["likely"]), (&json!(2), &json!(false)));
    write(&scene, &run, &[("out", b"fine\n"), ("err", b""), ("seq", b"")]);
    assert_eq!(get(&scene, path).await["line"], Json::Null);
}

#[tokio::test]
async fn parts_of_a_log_come_as_they_are_asked_for_and_run_nothing() {
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|it| u8::try_from(it % 251).unwrap()).collect();
    let (scene, run) = written(&[("out", &bytes)]).await;
    let path = format!("/api/v1/runs/{run}/log?task=0&attempt=1&stream=stdout");
    let part = |range: &str| Wish::new("GET", &path).from(Peer::Owner).header("range", range);
    let some = scene.send(part("bytes=300000-699999")).await;
    assert_eq!((some.status.as_u16(), some.body.len()), (206, 400_000));
    assert!(some.body == bytes[300_000..700_000]);
    assert_eq!(some.header("content-range"), "bytes 300000-699999/1000000");
    assert_eq!(some.header("content-length"), "400000");
    assert_eq!(some.header("content-disposition"), "attachment; filename=\"log.txt\"");
    assert!(some.header("content-security-policy").contains("sandbox"));
    let last = scene.send(part("bytes=-3")).await;
    assert_eq!((last.status.as_u16(), &last.body[..]), (206, &bytes[999_997..]));
    let none = scene.send(part("bytes=1000000-")).await;
    assert_eq!((none.status.as_u16(), none.header("content-range")), (416, "bytes */1000000"));
    let tag = some.header("etag").to_owned();
    assert_eq!(scene.send(part("bytes=0-0").header("if-range", &tag)).await.status.as_u16(), 206);
    let anew = scene.send(part("bytes=0-0").header("if-range", "\"other\"")).await;
    assert_eq!((anew.status.as_u16(), anew.body.len()), (200, 1_000_000));
    let whole = ask(&scene, &format!("{path}&whole=true")).await;
    assert!(whole.status.as_u16() == 200 && whole.body == bytes);
    let piece = ask(&scene, &format!("{path}&from=999999")).await;
    assert_eq!((piece.status.as_u16(), piece.body.len()), (200, 1));
    let nothing = format!("/api/v1/runs/{run}/log?task=0&attempt=1&stream=stderr&whole=true");
    let nothing = ask(&scene, &nothing).await;
    assert_eq!((nothing.status.as_u16(), nothing.header("content-length")), (200, "0"));
}

/// The next events of a name, as the stream tells them.
async fn next(body: &mut Body, name: &str) -> Json {
    let mut text = String::new();
    loop {
        let frame = body.frame().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n") {
            let (event, rest) = (event.to_owned(), rest.to_owned());
            text = rest;
            if let Some(data) = event.strip_prefix(&format!("event: {name}\ndata: ")) {
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_log_that_is_followed_is_told_of_when_it_grows() {
    let (scene, run) = written(&[("out", b"one\n")]).await;
    let mut request = Request::builder()
        .uri(format!("/api/v1/events?run={run}&log=read"))
        .header("host", "localhost:8080")
        .body(Body::empty())
        .unwrap();
    request.extensions_mut().insert(Peer::Owner);
    let mut body = scene.router.clone().oneshot(request).await.unwrap().into_body();
    let first = next(&mut body, "log").await;
    assert_eq!(
        (&first["stdout"], &first["stderr"], &first["attempt"]),
        (&json!(4), &json!(0), &json!(1))
    );
    assert_eq!((&first["step"], &first["over"]), (&json!("read"), &json!(true)));
    write(&scene, &run, &[("err", b"two\nthree\n")]);
    let grown = next(&mut body, "log").await;
    assert_eq!((&grown["stdout"], &grown["stderr"]), (&json!(4), &json!(10)));
    for (path, status) in [("events?log=read", 422), ("events?run=last&log=raed", 404)] {
        let answer = ask(&scene, &format!("/api/v1/{path}")).await;
        assert_eq!(answer.status.as_u16(), status, "{path}");
    }
}
