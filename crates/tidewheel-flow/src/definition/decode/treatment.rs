//! How a step is treated: retries, timeouts, priority, limits, words for failure.
//!
//! What the words mean is decided by the scheduler.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel::policy::{Factor, Jitter, RetryOn, Shape};
use tidewheel::{Backoff, Priority, Retry};

use super::{Decoder, fields};
use crate::definition::{CapacityPlaces, Treatment};
use crate::language::literal;
use crate::language::problem::Problem;
use crate::language::yaml::{Map, Node, Value};

impl Decoder<'_> {
    pub(super) fn treatment(&mut self, map: &Map) -> Treatment {
        let (attempt_timeout, step_timeout) = timeouts(map);
        let mut limits = limits(map);
        if let Some(resources) = fields::mapping(map, "resources") {
            limits.extend(fields::counts(resources));
        }
        if let Some(node) = map.get("key") {
            self.check_as_it_stands(node, "key");
        }
        Treatment {
            priority: map.get("priority").and_then(priority),
            queue: fields::owned(map, "queue"),
            retry: map.get("retry").and_then(|node| self.retry(node)),
            attempt_timeout,
            step_timeout,
            limits,
            deadline: fields::duration(map, "deadline"),
            estimate: fields::duration(map, "estimate"),
            on_error: fields::parsed(map, "on_error"),
            on_dependency_error: fields::parsed(map, "on_dependency_error"),
            on_skip: fields::parsed(map, "on_skip"),
            always: fields::boolean(map, "always").unwrap_or_default(),
            at_most_once: fields::boolean(map, "at_most_once").unwrap_or_default(),
            key: fields::owned(map, "key"),
        }
    }

    fn retry(&mut self, node: &Node) -> Option<Retry> {
        let map = match &node.value {
            Value::Int(retries) => {
                return Some(Retry { retries: u32::try_from(*retries).ok()?, ..Retry::default() });
            }
            Value::Map(map) => map,
            _ => return None,
        };
        let retries = match (fields::count(map, "attempts"), fields::count(map, "retries")) {
            (Some(_), Some(_)) => {
                let text = "`attempts` and `retries` say the same thing twice";
                self.problems.push(
                    Problem::error("contradiction", text)
                        .at(node.span)
                        .hint("`attempts: 4` is `retries: 3`"),
                );
                0
            }
            (Some(attempts), None) => attempts.saturating_sub(1),
            (None, retries) => retries.unwrap_or(3),
        };
        let base = fields::duration(map, "delay").unwrap_or(Duration::from_secs(1));
        let cap = fields::duration(map, "max_delay").unwrap_or(Duration::from_secs(60).max(base));
        let backoff = Backoff { shape: self.growth(node, map), base, cap };
        let jitter = match fields::word(map, "jitter").as_deref() {
            Some("none") => Jitter::None,
            Some("equal") => Jitter::Equal,
            Some("additive") => Jitter::Additive { max: base },
            _ => Jitter::Full,
        };
        Some(Retry { retries, backoff, jitter, on: retried_faults(map) })
    }

    fn growth(&mut self, node: &Node, map: &Map) -> Shape {
        let factor = match fields::number(map, "factor") {
            Some(factor) if (1.0..=1000.0).contains(&factor) => Factor::new(factor),
            None => Factor::DOUBLE,
            Some(_) => {
                let text = "`factor` must be a number from 1 to 1000";
                let at = map.get("factor").map_or(node.span, |node| node.span);
                self.problems.push(Problem::error("out-of-range", text).at(at));
                Factor::DOUBLE
            }
        };
        match fields::word(map, "backoff").as_deref() {
            Some("fixed") => Shape::Fixed,
            Some("linear") => Shape::Linear,
            Some("decorrelated") => Shape::Decorrelated,
            _ => Shape::Exponential { factor },
        }
    }
}

fn retried_faults(map: &Map) -> RetryOn {
    if map.get("on").is_none() {
        return RetryOn::default();
    }
    let words = fields::texts(map, "on");
    let has = |word: &str| words.iter().any(|known| known.eq_ignore_ascii_case(word));
    RetryOn {
        failed: has("failed"),
        timed_out: has("timed-out"),
        failed_for_good: has("permanent"),
    }
}

fn timeouts(map: &Map) -> (Option<Duration>, Option<Duration>) {
    match map.get("timeout") {
        Some(Node { value: Value::Map(map), .. }) => {
            (fields::duration(map, "attempt"), fields::duration(map, "step"))
        }
        Some(node) => (literal::duration(node).ok(), None),
        None => (None, None),
    }
}

fn priority(node: &Node) -> Option<Priority> {
    match &node.value {
        Value::Int(value) => Some(Priority::new(*value)),
        Value::Text(word) => word.as_str().to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}

/// Where limits, resources and the queue are named.
pub(super) fn capacity_places(map: &Map) -> CapacityPlaces {
    let mut limits = BTreeMap::new();
    for key in ["limits", "resources"] {
        match map.get(key).map(|node| &node.value) {
            Some(Value::Map(map)) => {
                limits.extend(map.iter().map(|entry| (entry.key.clone(), entry.key_span)));
            }
            Some(_) => {
                let nodes = fields::many(map, key).iter();
                limits.extend(nodes.filter_map(|node| Some((fields::name(node)?, node.span))));
            }
            None => {}
        }
    }
    CapacityPlaces { limits, queue: map.get("queue").map(|node| node.span) }
}

fn limits(map: &Map) -> BTreeMap<String, u32> {
    match map.get("limits").map(|node| &node.value) {
        Some(Value::Map(map)) => fields::counts(map),
        Some(_) => fields::many(map, "limits")
            .iter()
            .filter_map(fields::name)
            .map(|name| (name, 1))
            .collect(),
        None => BTreeMap::new(),
    }
}
