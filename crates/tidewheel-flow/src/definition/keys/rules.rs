//! What the keys of a mapping say of each other, for editors.
//!
//! Files are held to the same by `decode`, which has more words for it.

use super::work::{ENV, FILE, HTTP, PROCESS};
use crate::definition::shape::Shape;

/// What a step can do.
pub(crate) const WORKS: [&str; 7] = ["run", "argv", "http", "source", "wait", "flow", "steps"];
/// When a schedule fires.
pub(crate) const TRIGGERS: [&str; 7] =
    ["cron", "every", "after", "at", "webhook", "files", "events"];
/// Where a secret comes from.
pub(crate) const ORIGINS: [&str; 3] = ["env", "file", "command"];
/// How a dependency names its steps.
pub(crate) const FORMS: [&str; 3] = ["step", "all", "any"];
/// What a limit counts.
pub(crate) const CAPS: [&str; 3] = ["units", "rate", "breaker"];
/// What is waited for.
pub(crate) const WAITS: [&str; 6] = ["duration", "until", "file", "run", "http", "approval"];

/// Types of sources, with what their configuration is.
pub(crate) static TYPES: [(&str, &Shape); 5] =
    [("process", &PROCESS), ("rest", &HTTP), ("http", &HTTP), ("env", &ENV), ("file", &FILE)];

/// A name of a step: no slash, bracket, brace, star, backslash or quote, nothing that cannot be seen,
/// and no blanks around it.
const STEP_NAME: &str = r#"^[^\s\x00-\x1f\x7f/\[\]{}"'\\`*](?:[^\x00-\x1f\x7f/\[\]{}"'\\`*]{0,98}[^\s\x00-\x1f\x7f/\[\]{}"'\\`*])?$"#;

/// What keys of one mapping say of each other. A key without a value is as good as absent.
pub(crate) enum Rule {
    ExactlyOne(&'static [&'static str]),
    NotBoth(&'static str, &'static str),
    /// The first has an effect only beside one of the others.
    Needs(&'static str, &'static [&'static str]),
    /// A list that is not empty.
    Some(&'static str),
    /// A text that fits a pattern.
    Fits(&'static str, &'static str),
    /// `type` decides which keys `configuration` has.
    Configured,
    /// The same, but what is missing comes from elsewhere.
    PartlyConfigured,
}

/// The rules of mappings, by their names.
pub(crate) static RULES: [(&str, Rule); 23] = [
    ("a step", Rule::ExactlyOne(&WORKS)),
    ("a step", Rule::Fits("name", STEP_NAME)),
    ("a step", Rule::NotBoth("foreach", "matrix")),
    ("a step", Rule::NotBoth("container", "ssh")),
    ("a step", Rule::Needs("label", &["foreach", "matrix"])),
    ("a step", Rule::Needs("parallel", &["foreach", "matrix"])),
    ("a step", Rule::Needs("sequence", &["steps"])),
    ("a step", Rule::Some("steps")),
    ("a step", Rule::Some("argv")),
    ("a schedule", Rule::ExactlyOne(&TRIGGERS)),
    ("a webhook", Rule::ExactlyOne(&["secret", "insecure"])),
    ("a secret", Rule::ExactlyOne(&ORIGINS)),
    ("a dependency", Rule::ExactlyOne(&FORMS)),
    ("a limit", Rule::ExactlyOne(&CAPS)),
    ("a limit", Rule::Needs("shared", &["units"])),
    ("a wait", Rule::ExactlyOne(&WAITS)),
    ("a retry", Rule::NotBoth("attempts", "retries")),
    ("a request", Rule::NotBoth("json", "body")),
    ("a source", Rule::ExactlyOne(&["type", "base"])),
    ("a source", Rule::Needs("override", &["base"])),
    ("a source", Rule::Needs("configuration", &["type"])),
    ("a source", Rule::Configured),
    ("an override", Rule::PartlyConfigured),
];
