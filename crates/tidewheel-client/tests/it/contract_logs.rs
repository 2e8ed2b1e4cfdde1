//! The documents of logs as people read them, as they are written down in `contract_logs/`.
//!
//! Those of the desk, and how a difference is dealt with, are in `contract`.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tidewheel::Timestamp;
use tidewheel_client::api::{
    Document, FoundSum, LinesWish, LogCut, LogErrorLine, LogFound, LogGrown, LogLine, LogLines,
    LogSpan, LogStream, SearchWish,
};

const RUN: &str = "0a2b3c4d5e6f7a8b9c0d1e2f3a";
/// 2026-11-16T05:00:00Z
const AT: Timestamp = Timestamp::from_seconds(1_794_805_200);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract_logs")
}

/// Compares an example with what is written down, reads it back, and gives its name.
fn check<D>(example: D) -> String
where
    D: Document + Serialize + DeserializeOwned + Clone + PartialEq + Debug,
{
    let name = format!("{}.json", D::NAME);
    let text = serde_json::to_string_pretty(&example).unwrap() + "\n";
    let path = folder().join(&name);
    if std::env::var_os("TIDEWHEEL_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, written, "{name}");
    assert_eq!(serde_json::from_str::<D>(&text).unwrap(), example, "{name}");
    let versioned = serde_json::to_string(&example.versioned()).unwrap();
    let beginning = format!("{{\"version\":{},", D::VERSION);
    assert!(versioned.starts_with(&beginning), "{versioned}");
    name
}

fn lines() -> LogLines {
    let span = |style: &str, text: &str| LogSpan(style.to_owned(), text.to_owned());
    LogLines {
        version: None,
        run_id: RUN.to_owned(),
        task: 1,
        attempt: 2,
        attempts: Some(3),
        over: Some(true),
        generation: "9f86d081-0".to_owned(),
        total: 812,
        size: 65_536,
        counted: Some(32_768),
        from: 811,
        lines: vec![
            LogLine(None, LogStream::Stdout, vec![span("", "ok "), span("f2 b", "done")], None),
            LogLine(
                Some(AT),
                LogStream::Stderr,
                vec![span("", "x")],
                Some(LogCut(4096, 3_200_000)),
            ),
        ],
    }
}

#[test]
fn every_document_is_what_is_written_down() {
    let (version, step) = (None, Some("build".to_owned()));
    let sum = FoundSum {
        count: 37,
        total: 812,
        generation: "9f86d081-0".to_owned(),
        buckets: vec![30, 7],
    };
    let names = BTreeSet::from([
        check(lines()),
        check(LinesWish {
            step: step.clone(),
            task: Some(1),
            attempt: Some(2),
            stream: Some(LogStream::Stderr),
            from: -400,
            only: Some("12,40".to_owned()),
            now: true,
            ..LinesWish::default()
        }),
        check(SearchWish {
            step,
            task: Some(1),
            attempt: Some(2),
            stream: Some(LogStream::Stdout),
            text: Some("warning: .*".to_owned()),
            regex: true,
            case: Some(false),
            ..SearchWish::default()
        }),
        check(LogFound { version, hits: vec![3, 40], bytes: 4096, size: 65_536, sum: Some(sum) }),
        check(LogErrorLine {
            version,
            run_id: RUN.to_owned(),
            task: 1,
            attempt: 2,
            line: Some(812),
            stream: Some(LogStream::Stderr),
            likely: true,
        }),
        check(LogGrown {
            version,
            run_id: RUN.to_owned(),
            step: "build".to_owned(),
            task: 1,
            attempt: 2,
            stdout: 65_536,
            stderr: 0,
            over: false,
        }),
    ]);
    let written: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, written);
}
