//! The compliance cases of JMESPath, all of them, where they lie beside the clone.
//!
//! They are not part of the repository. Cases of our own are in `tests`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Query;
use tidewheel_testing::skipped;

/// Cases there are at least; fewer would mean that they are not read.
const CASES_MIN: usize = 900;

/// Cases that are only to be measured and go beyond our bounds: one of 104 projections in each other.
const BEYOND_BOUNDS: usize = 1;

fn files() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/jmespath");
    let entries = fs::read_dir(folder).ok()?;
    let paths = entries.map(|entry| entry.unwrap().path());
    Some(paths.filter(|path| path.extension().is_some_and(|it| it == "json")).collect())
}

/// What is wrong with how a case comes out. One without a result is to be measured: it must only run.
fn fault(given: &Value, case: &Value) -> Option<String> {
    let text = case["expression"].as_str().expect("an expression");
    let found = Query::parse(text).and_then(|query| query.search(given));
    match (found, case.get("result"), case.get("error")) {
        (Ok(found), Some(expected), _) if is_same(&found, expected) => None,
        (Ok(_), None, None) | (Err(_), None, Some(_)) => None,
        (found, expected, error) => {
            Some(format!("`{text}` gives {found:?}, expected {expected:?} {error:?}"))
        }
    }
}

/// Whether two values are the same to JSON, which has one kind of number.
fn is_same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let same = |(name, value)| right.get(name).is_some_and(|other| is_same(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        _ => left == right,
    }
}

#[test]
fn every_case_of_the_compliance_suite_holds() {
    let Some(files) = files() else {
        let why = "the cases are not beside this clone";
        return skipped("every_case_of_the_compliance_suite_holds", why);
    };
    let (mut count, mut beyond, mut faults) = (0, 0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let suites: Vec<Value> = serde_json::from_str(&text).unwrap();
        for suite in &suites {
            for case in suite["cases"].as_array().unwrap() {
                count += 1;
                match fault(&suite["given"], case) {
                    Some(fault)
                        if case.get("bench").is_some() && fault.contains("nests too deeply") =>
                    {
                        beyond += 1;
                    }
                    fault => faults.extend(fault),
                }
            }
        }
    }
    assert!(count >= CASES_MIN, "only {count} cases were read");
    assert_eq!(beyond, BEYOND_BOUNDS);
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
}
