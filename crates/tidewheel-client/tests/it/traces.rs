//! Traces, sent to a collector on the same machine.
//!
//! How spans are made of what happens is tried where that is done.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::scene::Scene;
use serde_json::Value as Json;
use tidewheel_client::api::{StartWish, What};
use tidewheel_client::house::{House, HouseOptions, Seen};
use tidewheel_client::traces::Traces;
use tidewheel_testing::{ClosedPort, patience};

/// A collector that answers with these statuses, the last of them for ever; what it is sent.
fn collector(statuses: &'static [&'static str]) -> (String, Receiver<(String, Json)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut statuses = statuses.iter();
        let mut last = "";
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap() <= 2 {
                    break;
                }
                if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = said.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            last = statuses.next().unwrap_or(&last);
            let answer =
                format!("HTTP/1.1 {last}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            if tell.send((head, serde_json::from_slice(&body).unwrap())).is_err() {
                return;
            }
        }
    });
    (url, told)
}

/// The spans of what a collector was sent.
fn spans(sent: &Json) -> Vec<Json> {
    sent["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

#[test]
fn a_run_is_sent_as_a_trace_once_the_collector_takes_it() {
    let scene = Scene::new();
    let file = scene.write("pause.yaml", "flow: [{ name: rest, wait: 1ms }]\n");
    let (url, told) = collector(&["503 Busy", "200 OK"]);
    let run = scene.runtime.block_on(async {
        let mut options = HouseOptions::new();
        options.files = vec![file];
        let house = House::open(scene.folder(), options).await.unwrap();
        let traces = Traces::to(&url, "x-tenant=one").unwrap().period(Duration::from_millis(1));
        let (warn, warned) = channel();
        let exporting = traces.export(house.happenings(None), move |text| warn.send(text).unwrap());
        let exporting = tokio::spawn(exporting);
        let wish = StartWish { flow: "pause".to_owned(), ..StartWish::default() };
        let run = house.start(wish).await.unwrap().run_id;
        // What the collector did not take the first time comes again.
        let (refused, again) = tokio::task::spawn_blocking(move || {
            let mut all = Vec::new();
            while !all.iter().flat_map(|(_, sent)| spans(sent)).any(|span| span["name"] == "pause")
                || all.len() < 2
            {
                all.push(told.recv_timeout(patience()).unwrap());
            }
            (all[0].clone(), all)
        })
        .await
        .unwrap();
        assert!(refused.0.starts_with("POST /v1/traces HTTP/1.1"), "{}", refused.0);
        assert!(refused.0.to_ascii_lowercase().contains("x-tenant: one"), "{}", refused.0);
        let first = spans(&refused.1)[0].clone();
        assert!(again[1..].iter().any(|(_, sent)| spans(sent).contains(&first)));
        assert!(warned.recv_timeout(patience()).unwrap().contains("it answers 503"));
        assert!(warned.recv_timeout(patience()).unwrap().contains("are sent to"));
        let taken: Vec<Json> = again[1..].iter().flat_map(|(_, sent)| spans(sent)).collect();
        let named = |name: &str| taken.iter().find(|span| span["name"] == name).unwrap().clone();
        let (whole, step) = (named("pause"), named("rest"));
        assert_eq!(whole["traceId"], run.replace('-', ""));
        assert_eq!(
            (&step["traceId"], &step["parentSpanId"]),
            (&whole["traceId"], &whole["spanId"])
        );
        house.close(patience()).await;
        exporting.await.unwrap();
        run
    });
    assert!(!run.is_empty());
}

#[test]
fn what_is_left_is_sent_at_the_end_and_nobody_waits_for_one_who_is_gone() {
    let scene = Scene::new();
    let file = scene.write("pause.yaml", "flow: [{ name: rest, wait: 1ms }]\n");
    let (url, told) = collector(&["200 OK"]);
    let closed = ClosedPort::new();
    scene.runtime.block_on(async {
        let mut options = HouseOptions::new();
        options.files = vec![file];
        let house = House::open(scene.folder(), options).await.unwrap();
        // Nothing is sent by itself for so long.
        let late = Traces::to(&url, "").unwrap().period(Duration::from_secs(3600));
        let gone = Traces::to(&format!("http://{}", closed.address()), "")
            .unwrap()
            .period(Duration::from_millis(1));
        let late = tokio::spawn(late.export(house.happenings(None), |text| panic!("{text}")));
        let gone = tokio::spawn(gone.export(house.happenings(None), |_| ()));
        let wish = StartWish { flow: "pause".to_owned(), ..StartWish::default() };
        let mut happenings = house.happenings(None);
        house.start(wish).await.unwrap();
        loop {
            match happenings.next().await.unwrap() {
                Seen::Happened(happened) if happened.what == What::RunEnded => break,
                _ => {}
            }
        }
        house.close(patience()).await;
        gone.await.unwrap();
        late.await.unwrap();
    });
    let (_, sent) = told.recv_timeout(patience()).unwrap();
    assert!(spans(&sent).iter().any(|span| span["name"] == "pause"), "{sent}");
}
