//! Names, numbers and lists in words.
//!
//! States and reasons have their words where they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value as Json;

use super::harmless;

/// As much of a run's id as tells it from others: the instant it was accepted at.
#[must_use]
pub fn short_id(id: impl fmt::Display) -> String {
    id.to_string().chars().take(SHORT_ID).collect()
}

/// Ids begin with the milliseconds at which they were made, in so many letters.
const SHORT_ID: usize = 13;

/// "1 step", "2 steps".
#[must_use]
pub fn count(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// Names of tasks, with elements of one step in their order and many of them as one: `e[0..2999]`.
#[must_use]
pub fn task_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let element = |name: &'a str| {
        let (step, number) = name.strip_suffix(']')?.rsplit_once('[')?;
        Some((step, number.parse::<u32>().ok()?))
    };
    let mut shown: Vec<String> = Vec::new();
    // Elements by step, and the place at which they are shown.
    let mut elements: BTreeMap<&str, (usize, BTreeSet<u32>)> = BTreeMap::new();
    for name in names {
        let Some((step, number)) = element(name) else {
            shown.push(harmless(name));
            continue;
        };
        let place = shown.len();
        let (_, numbers) = elements.entry(step).or_insert_with(|| (place, BTreeSet::new()));
        if numbers.is_empty() {
            shown.push(String::new());
        }
        numbers.insert(number);
    }
    for (step, (place, numbers)) in elements {
        let step = harmless(step);
        let span = |(first, last): (u32, u32)| match first == last {
            true => format!("{step}[{first}]"),
            false => format!("{step}[{first}..{last}]"),
        };
        shown[place] = at_most(spans(&numbers).into_iter().map(span).collect());
    }
    at_most(shown)
}

/// So much of the value of an element is shown.
const ELEMENT_MAX: usize = 40;

/// The name of a step, with its value if it is an element that is called by its number, or inside one.
#[must_use]
pub fn with_element(name: &str, element: Option<&Json>) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let innermost =
        name.trim_end_matches("[]").rsplit_once('[').and_then(|(_, it)| it.split_once(']'));
    let Some(element) = element.filter(|_| innermost.is_some_and(|(it, _)| is_number(it))) else {
        return harmless(name);
    };
    let text = match element {
        Json::Object(values) => values.values().map(plainly).collect::<Vec<_>>().join(", "),
        other => plainly(other),
    };
    let short: String = text.chars().take(ELEMENT_MAX).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{} ({}{more})", harmless(name), harmless(&short))
}

/// A text as it stands, anything else as JSON.
fn plainly(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Longer lists help nobody.
const LISTED_MAX: usize = 20;

fn at_most(mut words: Vec<String>) -> String {
    let more = words.len().saturating_sub(LISTED_MAX);
    words.truncate(LISTED_MAX);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

/// Numbers that follow each other, as first and last.
fn spans(numbers: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    spans
}

/// A name as an argument in a shell.
#[must_use]
pub fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{name}'") }
}

/// An amount of data, rounded.
#[must_use]
pub fn bytes(count: u64) -> String {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let unit = units.into_iter().find(|(_, size)| count >= *size);
    unit.map_or_else(|| format!("{count} bytes"), |(unit, size)| format!("{} {unit}", count / size))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_are_shown_with_what_they_are_for() {
        let shown = |name: &str, value: Json| with_element(name, Some(&value));
        assert_eq!(shown("test[1]", json!({ "os": "macos", "rust": 1.5 })), "test[1] (macos, 1.5)");
        assert_eq!(shown("test[1][]", json!(["a", null])), "test[1][] ([\"a\",null])");
        assert_eq!(shown("up[0]{2}/drain", json!("h1")), "up[0]{2}/drain (h1)");
        assert_eq!(shown("up[linux]/drain[3]/x", json!("h1")), "up[linux]/drain[3]/x (h1)");
        assert_eq!(shown("up[3]/drain[linux]", json!("h1")), "up[3]/drain[linux]");
        assert_eq!(shown("plain", json!("h1")), "plain");
        assert_eq!(with_element("test[1]", None), "test[1]");
        let long = shown("test[1]", json!("\u{1b}x".repeat(40)));
        assert!(long.ends_with("…)") && !long.contains('\u{1b}'), "{long}");
    }

    #[test]
    fn elements_are_listed_in_their_order_and_many_as_one() {
        let names: Vec<String> = (0..3_000).map(|number| format!("e[{number}]")).collect();
        let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        sorted.insert(0, "first");
        sorted.extend(["e", "d[2]/push", "f[7]"]);
        assert_eq!(task_list(sorted), "first, e[0..2999], e, d[2]/push, f[7]");
        assert_eq!(task_list(["e[10]", "e[2]", "e[3]"]), "e[2..3], e[10]");
        let many: Vec<String> = (0..30).map(|number| format!("s{number}")).collect();
        assert!(task_list(many.iter().map(String::as_str)).ends_with("s19, 10 more"));
        assert_eq!(task_list([]), "");
    }
}
