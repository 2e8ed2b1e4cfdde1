//! Cases in the form of the compliance suite of JMESPath: own ones, one or more for each rule of the grammar, and the
//! suite itself.
//!
//! The suite is not part of the repository: `./test data` needs it. What functions give is in `tests`.

use serde_json::Value;

use super::Query;

/// Cases there are at least; fewer would mean that they are not read.
const CASES_MIN: usize = 900;

/// Cases that are only to be measured and go beyond our bounds: one of 104 projections in each other.
const BEYOND_BOUNDS: usize = 1;

/// What is wrong with how a case comes out. One without a result is to be measured: it must only run.
fn fault(given: &Value, case: &Value) -> Option<String> {
    let text = case["expression"].as_str().expect("an expression");
    let found = Query::parse(text).and_then(|query| query.search(given));
    match (found, case.get("result"), case.get("error")) {
        (Ok(found), Some(expected), _) if is_same(&found, expected) => None,
        (Ok(_), None, None) | (Err(_), None, Some(_)) => None,
        (found, expected, error) => {
            let kind = if case.get("bench").is_some() { "measured" } else { "checked" };
            Some(format!("{kind}: `{text}` gives {found:?}, expected {expected:?} {error:?}"))
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

/// Returns the number of cases in a suite, and appends what is wrong with them.
fn check(suites: &str, faults: &mut Vec<String>) -> usize {
    let suites: Vec<Value> = serde_json::from_str(suites).unwrap();
    let mut count = 0;
    for suite in &suites {
        for case in suite["cases"].as_array().unwrap() {
            count += 1;
            faults.extend(fault(&suite["given"], case));
        }
    }
    count
}

#[test]
fn every_own_case_holds() {
    let mut faults = Vec::new();
    let count = check(include_str!("own_cases.json"), &mut faults);
    assert!(count > 80, "only {count} cases were read");
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
}

mod shared_data {
    use std::fs;

    use super::*;

    #[test]
    #[ignore = "needs the shared data: ./test data"]
    fn every_case_of_the_compliance_suite_holds() {
        let (mut count, mut faults) = (0, Vec::new());
        for entry in fs::read_dir(tidewheel_testing::shared_data("jmespath")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "json") {
                count += check(&fs::read_to_string(&path).unwrap(), &mut faults);
            }
        }
        assert!(count >= CASES_MIN, "only {count} cases were read");
        let before = faults.len();
        let is_beyond = |it: &String| it.starts_with("measured") && it.contains("nests too deeply");
        faults.retain(|fault| !is_beyond(fault));
        assert_eq!(before - faults.len(), BEYOND_BOUNDS);
        assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
    }
}
