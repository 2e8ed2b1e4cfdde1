//! How a step is treated: retries, timeouts, priority, limits, words for failure.
//!
//! What the words mean is decided by the scheduler.

use std::collections::BTreeMap;
use std::time::Duration;

use tidewheel::policy::{Factor, Jitter, RetryOn, Shape};
use tidewheel::{Backoff, Priority, Retry};

use super::{Decoder, fields};
use crate::definition::{CapacityPlaces, RetryIf, Treatment};
use crate::language::literal;
use crate::language::problem::Problem;
use crate::language::yaml::{Map, Node, Value};

/// What conditions of retries may name.
const FAILURE_NAMES: [&str; 3] = ["error", "code", "attempt"];

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

    pub(super) fn retry(&mut self, node: &Node) -> Option<Retry> {
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
        let backoff = Backoff { shape: growth(map), base, cap };
        let jitter = match fields::word(map, "jitter").as_deref() {
            Some("none") => Jitter::None,
            Some("equal") => Jitter::Equal,
            Some("additive") => Jitter::Additive { max: base },
            _ => Jitter::Full,
        };
        let on = match is_choosy(map) {
            // Whoever makes the attempt says of each failure whether it is for good.
            true => RetryOn { failed: true, failed_for_good: false, ..retried_faults(map) },
            false => retried_faults(map),
        };
        Some(Retry { retries, backoff, jitter, on })
    }

    /// Which failures are worth another attempt, if a step says more of it than their kind.
    pub(super) fn retry_if(&mut self, map: &Map) -> Option<RetryIf> {
        let map = fields::mapping(map, "retry").filter(|map| is_choosy(map))?;
        let (codes, not_codes) = (fields::codes(map, "codes"), fields::codes(map, "not_codes"));
        if let (Some(code), Some(node)) =
            (codes.iter().find(|code| not_codes.contains(code)), map.get("not_codes"))
        {
            let text = format!("`codes` and `not_codes` both name {code}");
            self.problems.push(Problem::error("contradiction", text).at(node.span));
        }
        let when = map.get("when").and_then(|node| {
            self.with_names(FAILURE_NAMES, |decoder| decoder.expression(node, "retry.when"))
        });
        Some(RetryIf { codes, not_codes, when, on: retried_faults(map) })
    }
}

fn growth(map: &Map) -> Shape {
    let factor = fields::number(map, "factor").filter(|it| (1.0..=1000.0).contains(it));
    let factor = factor.map_or(Factor::DOUBLE, Factor::new);
    match fields::word(map, "backoff").as_deref() {
        Some("fixed") => Shape::Fixed,
        Some("linear") => Shape::Linear,
        Some("decorrelated") => Shape::Decorrelated,
        _ => Shape::Exponential { factor },
    }
}

/// Whether more is said of failures worth another attempt than their kind.
fn is_choosy(map: &Map) -> bool {
    ["codes", "not_codes", "when"].iter().any(|key| map.get(key).is_some_and(|it| !it.is_null()))
}

fn retried_faults(map: &Map) -> RetryOn {
    if map.get("on").is_none() {
        // One that takes too long has no code, and nobody is there to ask.
        let is_picked = ["codes", "when"].iter().any(|key| map.get(key).is_some());
        let timed_out = RetryOn::default().timed_out && !is_picked;
        return RetryOn { timed_out, ..RetryOn::default() };
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
