//! What Dagu says of steps that fail.
//!
//! Steps that are done again are in `rounds`.

use serde_json::{Map, Value as Json, json};

use super::whole::{Converter, seconds, take};
use crate::import::document::Mapping;

impl Converter {
    pub(super) fn policies(
        &mut self,
        step: &mut Mapping,
        map: &mut Map<String, Json>,
        is_tested: bool,
        place: &str,
    ) {
        if let Some(policy) = take(map, "retry_policy") {
            self.retry(step, policy, place);
        }
        if let Some(policy) = take(map, "repeat_policy") {
            self.repeat(step, policy, is_tested, place);
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
}

/// A whole number that may be written as a text.
pub(super) fn whole(value: Json) -> Json {
    match value {
        Json::String(text) => match text.trim().parse::<i64>() {
            Ok(number) => number.into(),
            Err(_) => text.into(),
        },
        other => other,
    }
}
