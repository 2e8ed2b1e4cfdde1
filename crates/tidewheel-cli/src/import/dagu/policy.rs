//! What Dagu says of steps that fail, and of those that are done again.
//!
//! The words for it here are those of the reference.

use serde_json::{Map, Value as Json, json};

use super::values::text_of;
use super::whole::{Converter, seconds, take};
use crate::import::document::Mapping;

/// As often as can be said.
const RETRIES_MAX: i64 = 1_000_000;

impl Converter {
    pub(super) fn policies(
        &mut self,
        step: &mut Mapping,
        map: &mut Map<String, Json>,
        place: &str,
    ) {
        if let Some(policy) = take(map, "retry_policy") {
            self.retry(step, policy, place);
        }
        if let Some(policy) = take(map, "repeat_policy") {
            self.repeat(step, policy, place);
        }
        match take(map, "continue_on") {
            Some(Json::String(word)) => match word.as_str() {
                "failed" | "failure" => step.add("on_error", "continue"),
                "skipped" => step.add("on_skip", "continue"),
                _ => self.remarks.lose(place, format!("`continue_on: {word}`")),
            },
            Some(Json::Object(mut on)) => {
                if take(&mut on, "failure") == Some(Json::Bool(true)) {
                    step.add("on_error", "continue");
                }
                if take(&mut on, "skipped") == Some(Json::Bool(true)) {
                    step.add("on_skip", "continue");
                }
                take(&mut on, "mark_success");
                if !on.is_empty() {
                    let what = Json::Object(on);
                    self.remarks.lose(place, format!("`continue_on: {what}`; see `skip_codes`"));
                }
            }
            _ => {}
        }
    }

    fn retry(&mut self, step: &mut Mapping, policy: Json, place: &str) {
        let Json::Object(mut policy) = policy else { return };
        let mut retry = Mapping::new();
        retry.add("retries", take(&mut policy, "limit").map_or(json!(1), whole));
        retry
            .add("delay", seconds(&take(&mut policy, "interval_sec").unwrap_or(json!(0))).as_str());
        match take(&mut policy, "backoff") {
            Some(Json::Number(factor)) => {
                retry.add("backoff", "exponential");
                retry.add("factor", Json::Number(factor));
            }
            Some(Json::Bool(true)) => retry.add("backoff", "exponential"),
            _ => retry.add("backoff", "fixed"),
        }
        if let Some(most) = take(&mut policy, "max_interval_sec") {
            retry.add("max_delay", seconds(&most).as_str());
        }
        retry.add("jitter", "none");
        if let Some(codes) = take(&mut policy, "exit_code") {
            retry.add("codes", whole(codes));
        }
        self.lost_keys(policy, &format!("{place}, retry_policy"));
        step.add("retry", retry);
    }

    fn repeat(&mut self, step: &mut Mapping, policy: Json, place: &str) {
        let Json::Object(policy) = policy else { return };
        let mut left = policy.clone();
        let mode = take(&mut left, "repeat").map(|it| text_of(&it)).unwrap_or_default();
        let every =
            take(&mut left, "interval_sec").map_or_else(|| "1s".to_owned(), |it| seconds(&it));
        let most = take(&mut left, "limit").map(whole);
        let codes = take(&mut left, "exit_code").map(codes).filter(|codes| !codes.is_empty());
        let is_done = match codes {
            Some(codes) if left.is_empty() => {
                self.repeat_by_code(step, &mode, &codes, (&every, most))
            }
            Some(_) => false,
            None => {
                let until = self.until(step, &mode, &mut left, most.as_ref());
                let until = until.filter(|_| left.is_empty());
                if let Some(until) = &until {
                    let mut repeat = Mapping::new();
                    repeat.add("until", until.as_str());
                    repeat.add("every", every.as_str());
                    if let Some(most) = most {
                        repeat.add("max", most);
                    }
                    step.add("repeat", repeat);
                }
                until.is_some()
            }
        };
        if !is_done {
            let what = Json::Object(policy);
            self.remarks.lose(place, format!(
                "`repeat_policy: {what}`, so it is done once; see `repeat` and `wait: {{ run, every }}`"
            ));
        }
    }

    /// What ends the rounds, if what a round writes tells it.
    fn until(
        &mut self,
        step: &Mapping,
        mode: &str,
        left: &mut Map<String, Json>,
        most: Option<&Json>,
    ) -> Option<String> {
        let condition = take(left, "condition").map(|it| text_of(&it));
        let expected = take(left, "expected").map(|it| text_of(&it));
        let is_own = condition.as_ref().is_some_and(|text| {
            let name = text.trim_start_matches("${").trim_start_matches('$').trim_end_matches('}');
            self.values.outputs.get(name).map(String::as_str) == step.text("name").as_deref()
        });
        // There a pattern is one for a program that nobody is here.
        let expected = expected.filter(|text| !text.starts_with("re:"));
        let holds = expected.map(|text| format!("(stdout | trim) == {}", json!(text)));
        match (mode, holds) {
            ("until", Some(holds)) if is_own => Some(holds),
            ("while", Some(holds)) if is_own => Some(format!("not ({holds})")),
            ("true", None) if condition.is_none() => match most {
                Some(most) => Some(format!("round == {}", text_of(most))),
                None => Some("false".to_owned()),
            },
            _ => None,
        }
    }

    /// Rounds that exit codes end: until it succeeds, or while it fails with some of them.
    fn repeat_by_code(
        &mut self,
        step: &mut Mapping,
        mode: &str,
        codes: &[i64],
        (every, most): (&str, Option<Json>),
    ) -> bool {
        let only = match mode {
            "until" if codes == [0] => None,
            "while" if !codes.contains(&0) => Some(codes),
            _ => return false,
        };
        if step.has("retry") {
            return false;
        }
        // A command that is only to succeed is waited for; nothing else is known of one.
        let is_wait = only.is_none()
            && most.is_none()
            && step.has("run")
            && !["outputs", "container", "ssh"].iter().any(|key| step.has(key));
        if is_wait && let Some(text) = step.text("run") {
            step.remove("run");
            step.add("wait", json!({ "run": text, "every": every }));
            return true;
        }
        let most = most.map_or(RETRIES_MAX, |most| most.as_i64().unwrap_or(1).max(1) - 1);
        let mut retry = Mapping::new();
        retry.add("retries", json!(most));
        retry.add("delay", every);
        retry.add("backoff", "fixed");
        retry.add("jitter", "none");
        if let Some(codes) = only {
            retry.add("codes", json!(codes));
        }
        step.add("retry", retry);
        true
    }
}

/// Exit codes, in any of their forms.
fn codes(value: Json) -> Vec<i64> {
    match value {
        Json::Array(values) => values.into_iter().map(whole).filter_map(|it| it.as_i64()).collect(),
        one => whole(one).as_i64().into_iter().collect(),
    }
}

/// A whole number that may be written as a text.
fn whole(value: Json) -> Json {
    match value {
        Json::String(text) => match text.trim().parse::<i64>() {
            Ok(number) => number.into(),
            Err(_) => text.into(),
        },
        other => other,
    }
}
