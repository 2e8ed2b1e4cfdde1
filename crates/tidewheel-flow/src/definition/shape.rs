//! The shape of flow files as data: which keys there are, what kind of value each takes, and what
//! it is for.
//!
//! One table per mapping serves everybody: the check of a file, the words offered for a misspelt
//! one, and the JSON Schema for editors. The tables are in `keys`; what the values mean is not
//! known here.

use std::fmt::Arguments;

use crate::language::literal;
use crate::language::problem::{Problem, Problems};
use crate::language::yaml::{Map, Node, Value};

/// A mapping with known keys.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What the mapping is, for messages and the schema: `a step`.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    pub keys: &'static [Key],
}

impl Shape {
    /// A key, or the one with a star that stands for it.
    pub fn key(&self, name: &str) -> Option<&Key> {
        let stands_for =
            |key: &&Key| key.name.strip_suffix('*').is_some_and(|it| name.starts_with(it));
        let own = self.keys.iter().find(|key| key.name == name);
        own.or_else(|| self.keys.iter().find(stands_for))
    }
}

/// One key of a mapping.
#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub is_required: bool,
    /// What it says, for people; the schema shows it in editors.
    pub about: &'static str,
}

/// What kind of value is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Anything; texts in it are templates, at any depth.
    Any,
    /// A text as it stands.
    Text,
    /// What something is called: a text, or a number or truth value that is read as one.
    Name,
    /// A text, number or truth value, rendered as a template.
    Template,
    /// A condition, with or without braces around it.
    Expression,
    Bool,
    Integer {
        min: i64,
        max: i64,
    },
    /// Whole or not.
    Number {
        min: i64,
        max: i64,
    },
    /// Such as `30s`, `1h 30m`, or seconds as a number.
    Duration,
    /// Such as `64MiB`, or bytes as a number.
    Size,
    /// So many per time, such as `10/1m`.
    Rate,
    /// Such as `0 3 * * *`. Whether it can be read is seen to where it is.
    Cron,
    /// One of a few words.
    Choice(&'static [&'static str]),
    List(&'static Kind),
    /// One of it, or a list of it.
    Many(&'static Kind),
    /// A mapping with names of the author's own.
    Map(&'static Kind),
    Object(&'static Shape),
    /// Several kinds that differ at first sight.
    Either(&'static [Kind]),
}

impl Kind {
    /// Whether a value could be meant as this kind, judged by its outside only.
    fn could_be(&self, value: &Value) -> bool {
        let is_text = matches!(value, Value::Text(_));
        let is_scalar = !matches!(value, Value::List(_) | Value::Map(_));
        let is_number = matches!(value, Value::Int(_) | Value::Float(_));
        match self {
            Self::Any => true,
            Self::Text | Self::Cron | Self::Rate => is_text,
            Self::Choice(words) => is_text || words.contains(&scalar_word(value)),
            // That there is no name is said apart.
            Self::Name | Self::Template => is_scalar,
            Self::Expression => is_text || matches!(value, Value::Bool(_)),
            Self::Bool => matches!(value, Value::Bool(_)),
            Self::Integer { .. } => matches!(value, Value::Int(_)),
            Self::Number { .. } => is_number,
            Self::Duration | Self::Size => is_text || is_number,
            Self::List(_) => matches!(value, Value::List(_)),
            Self::Many(kind) => matches!(value, Value::List(_)) || kind.could_be(value),
            Self::Map(_) | Self::Object(_) => matches!(value, Value::Map(_)),
            Self::Either(kinds) => kinds.iter().any(|kind| kind.could_be(value)),
        }
    }

    /// The kind in words, to go after "expected".
    pub fn in_words(&self) -> String {
        match self {
            Self::Any => "any value".to_owned(),
            Self::Text | Self::Name => "a text".to_owned(),
            Self::Cron => "a cron expression such as `0 3 * * *`".to_owned(),
            Self::Template => "a text (templates are rendered)".to_owned(),
            Self::Expression => "a condition such as `flows.check.ok`".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Integer { min, max: i64::MAX } => format!("a whole number from {min}"),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Number { min: i64::MIN, .. } => "a number".to_owned(),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Duration => "a duration such as `30s` or `1h 30m`".to_owned(),
            Self::Size => "a size such as `64MiB`".to_owned(),
            Self::Rate => "a rate such as `10/1m`".to_owned(),
            Self::Choice(words) => format!("one of {}", quoted(words)),
            Self::List(kind) => format!("a list, each {}", kind.in_words()),
            Self::Many(kind) => format!("{}, or a list of them", kind.in_words()),
            Self::Map(kind) => format!("a mapping of names to {}", kind.in_words()),
            Self::Object(shape) => format!("a mapping ({})", shape.name),
            Self::Either(kinds) => {
                let words: Vec<String> = kinds.iter().map(Self::in_words).collect();
                words.join(", or ")
            }
        }
    }
}

/// YAML reads some words as something else; as choices they are words.
fn scalar_word(value: &Value) -> &'static str {
    match value {
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Null => "null",
        _ => "",
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// Reports everything about `node` that does not fit `kind`; `what` it is, is put into words only if
/// there is something to report. What was reported here need not be
/// reported again by whoever reads the value.
pub(crate) fn check(node: &Node, kind: &Kind, what: Arguments<'_>, problems: &mut Problems) {
    if !kind.could_be(&node.value) {
        problems.push(wrong_type(node, kind, what));
        return;
    }
    match (kind, &node.value) {
        (Kind::List(kind), Value::List(nodes)) => check_all(nodes, kind, what, problems),
        (Kind::Many(kind), Value::List(nodes)) => check_all(nodes, kind, what, problems),
        (Kind::Many(kind), _) => check(node, kind, what, problems),
        (Kind::Map(kind), Value::Map(map)) => {
            for entry in map.iter() {
                check(&entry.value, kind, format_args!("`{}` of {what}", entry.key), problems);
            }
        }
        (Kind::Object(shape), Value::Map(map)) => check_object(node, map, shape, problems),
        (Kind::Either(kinds), value) => {
            if let Some(kind) = kinds.iter().find(|kind| kind.could_be(value)) {
                check(node, kind, what, problems);
            }
        }
        (Kind::Integer { min, max }, Value::Int(number)) if number < min || number > max => {
            let text = format!("{what} must be {}", kind.in_words());
            problems.push(Problem::error("out-of-range", text).at(node.span));
        }
        (Kind::Number { min, max }, value) if !is_within(value, *min, *max) => {
            let text = format!("{what} must be {}", kind.in_words());
            problems.push(Problem::error("out-of-range", text).at(node.span));
        }
        (Kind::Choice(words), _) => check_choice(node, words, what, problems),
        (Kind::Name, value) if is_blank(value) => {
            let text = format!("{what} must be a text that is not empty");
            problems.push(Problem::error("bad-name", text).at(node.span));
        }
        (Kind::Duration, _) => say(node, what, literal::duration(node).err(), problems),
        (Kind::Size, _) => say(node, what, literal::size(node).err(), problems),
        (Kind::Rate, _) => say(node, what, literal::rate(node).err(), problems),
        _ => {}
    }
}

fn wrong_type(node: &Node, kind: &Kind, what: Arguments<'_>) -> Problem {
    Problem::error("wrong-type", format!("{what} must be {}", kind.in_words()))
        .at(node.span)
        .label(format!("this is {}", node.kind()))
}

fn is_within(value: &Value, min: i64, max: i64) -> bool {
    match value {
        Value::Int(number) => (min..=max).contains(number),
        Value::Float(number) => (min as f64..=max as f64).contains(number),
        _ => false,
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Text(text) => text.as_str().trim().is_empty(),
        _ => false,
    }
}

/// What other tools call things.
const SYNONYMS: [(&str, &str); 25] = [
    ("steps", "flow"),
    ("tasks", "flow"),
    ("jobs", "flow"),
    ("needs", "depends_on"),
    ("after", "depends_on"),
    ("dependencies", "depends_on"),
    ("requires", "depends_on"),
    ("retries", "retry"),
    ("attempts", "retry"),
    ("command", "run"),
    ("cmd", "run"),
    ("cmd", "command"),
    ("argv", "command"),
    ("run", "command"),
    ("script", "run"),
    ("shell_command", "run"),
    ("if", "when"),
    ("condition", "when"),
    ("workdir", "cwd"),
    ("working_directory", "cwd"),
    ("environment", "env"),
    ("loop", "foreach"),
    ("with_items", "foreach"),
    ("cron", "schedule"),
    ("inputs", "params"),
];

/// What is said in another place: the key, what it was said of, and where it belongs.
const ELSEWHERE: [(&str, &str, &str); 2] = [
    (
        "trigger_rule",
        "a step",
        "how others must have ended is said in `depends_on`:  depends_on: { all: [a, b], when: ended }",
    ),
    (
        "env",
        "defaults",
        "variables for all steps stand at the top of the file:  env: { NAME: value }",
    ),
];

/// Words of other programs for how a step ended.
const WORDS: [(&str, &str); 10] = [
    ("success", "succeeded"),
    ("successful", "succeeded"),
    ("ok", "succeeded"),
    ("failure", "failed"),
    ("error", "failed"),
    ("skip", "skipped"),
    ("done", "ended"),
    ("finished", "ended"),
    ("completed", "ended"),
    ("always", "ended"),
];

fn check_all(nodes: &[Node], kind: &Kind, what: Arguments<'_>, problems: &mut Problems) {
    for node in nodes {
        check(node, kind, format_args!("each of {what}"), problems);
    }
}

/// The key that may be meant by one that does not exist.
pub(crate) fn meant_key(word: &str, shape: &Shape, problems: &Problems) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase();
    let synonym = SYNONYMS.iter().find(|(known, key)| *known == lower && shape.key(key).is_some());
    let near = || problems.nearest(word, shape.keys.iter().map(|key| key.name));
    synonym.map(|(_, key)| *key).or_else(near)
}

fn check_object(node: &Node, map: &Map, shape: &Shape, problems: &mut Problems) {
    let mut meant = Vec::new();
    for entry in map.iter() {
        match shape.key(&entry.key) {
            // A key without a value is as good as absent.
            Some(key) if entry.value.is_null() && !matches!(key.kind, Kind::Name) => {}
            Some(key) => check_key(&entry.value, key, problems),
            None => {
                let text = format!("{} has no key `{}`", shape.name, entry.key);
                let problem = Problem::error("unknown-key", text).at(entry.key_span);
                let near = meant_key(&entry.key, shape, problems);
                meant.extend(near);
                let elsewhere = ELSEWHERE
                    .iter()
                    .find(|(key, of, _)| *of == shape.name && entry.key.eq_ignore_ascii_case(key));
                problems.push(match (elsewhere, near) {
                    (Some((.., hint)), _) => problem.hint(*hint),
                    (None, Some(name)) => problem.hint(format!("did you mean `{name}`?")),
                    (None, None) => {
                        let names: Vec<&str> = shape.keys.iter().map(|key| key.name).collect();
                        problem.hint(format!("known keys: {}", names.join(", ")))
                    }
                });
            }
        }
    }
    for key in shape.keys.iter().filter(|key| key.is_required && !meant.contains(&key.name)) {
        let found = map.get(key.name);
        if found.is_none_or(|node| node.is_null() && !matches!(key.kind, Kind::Name)) {
            let text = format!("{} needs `{}`", shape.name, key.name);
            let at = found.unwrap_or(node).span;
            problems.push(Problem::error("missing-key", text).at(at).hint(key.about));
        }
    }
}

fn check_key(node: &Node, key: &Key, problems: &mut Problems) {
    let what = format_args!("`{}`", key.name);
    // These two are taken for each other.
    let hint = match (key.name, &node.value) {
        ("run", Value::List(_)) => "`argv` takes a program and its arguments as a list",
        ("argv", Value::Text(_)) => "`run` takes a text for the shell",
        _ => return check(node, &key.kind, what, problems),
    };
    problems.push(wrong_type(node, &key.kind, what).hint(hint));
}

fn check_choice(node: &Node, words: &[&'static str], what: Arguments<'_>, problems: &mut Problems) {
    let word = match &node.value {
        // flowtoy takes its words in any case.
        Value::Text(text) => text.as_str().to_ascii_lowercase(),
        value => scalar_word(value).to_owned(),
    };
    if words.contains(&&*word) {
        return;
    }
    let text = format!("{what} must be one of {}", quoted(words));
    let problem = Problem::error("unknown-word", text).at(node.span);
    let synonym = WORDS.iter().find(|(known, meant)| *known == word && words.contains(meant));
    let near = || problems.nearest(&word, words.iter().copied());
    problems.push(match synonym.map(|(_, meant)| *meant).or_else(near) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem,
    });
}

fn say(
    node: &Node,
    what: Arguments<'_>,
    error: Option<literal::LiteralError>,
    problems: &mut Problems,
) {
    if let Some(error) = error {
        let text = format!("{what}: {error}");
        problems.push(Problem::error("bad-value", text).at(node.span));
    }
}
