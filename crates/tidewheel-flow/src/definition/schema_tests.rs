//! The schema that is checked in, and the reference of flow files, say what the tables of keys say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::definition::keys;
use crate::definition::schema::schema;
use crate::definition::shape::{Key, Kind, Shape};

/// What the page has a table for, beside the step.
const SHAPES: [&Shape; 31] = [
    &keys::OVERRIDE,
    &keys::FLOW,
    &keys::CONCURRENCY,
    &keys::PARAM,
    &keys::SECRET,
    &keys::SOURCE,
    &keys::PROCESS,
    &keys::HTTP,
    &keys::CONTAINER,
    &keys::REMOTE,
    &keys::ENV,
    &keys::FILE,
    &keys::OUTPUT,
    &keys::DEFAULTS,
    &keys::DEPENDENCY,
    &keys::FOREACH,
    &keys::WAIT,
    &keys::RETRY,
    &keys::REPEAT,
    &keys::TIMEOUT,
    &keys::CACHE,
    &keys::ARTIFACT,
    &keys::RUNNER,
    &keys::LIMIT,
    &keys::BREAKER,
    &keys::QUEUE,
    &keys::SCHEDULE,
    &keys::WEBHOOK,
    &keys::EVENTS,
    &keys::EXCLUSION,
    &keys::RLIMITS,
];

/// The keys of a step, in the order in which people look for them.
const TOPICS: [(&str, &[&str]); 7] = [
    ("What it is", &["name", "description", "tags"]),
    (
        "What it does",
        &[
            "run",
            "argv",
            "allow_options",
            "shell",
            "http",
            "source",
            "input",
            "wait",
            "flow",
            "with",
            "steps",
            "sequence",
        ],
    ),
    ("What comes out", &["outputs", "output", "artifacts"]),
    (
        "When it runs",
        &[
            "depends_on",
            "when",
            "skip_codes",
            "on_skip",
            "foreach",
            "matrix",
            "label",
            "parallel",
            "always",
        ],
    ),
    (
        "What its process has",
        &[
            "env",
            "inherit",
            "cwd",
            "stdin",
            "grace",
            "output_max",
            "capture_max",
            "rlimits",
            "container",
            "ssh",
        ],
    ),
    (
        "What its failure means",
        &["retry", "repeat", "timeout", "on_error", "on_dependency_error", "at_most_once", "cache"],
    ),
    (
        "Who goes first, and how many at once",
        &["priority", "queue", "limits", "resources", "key", "deadline", "estimate"],
    ),
];

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)
}

fn is_blessing() -> bool {
    std::env::var_os("TIDEWHEEL_BLESS").is_some_and(|value| value == "1")
}

/// Compares a file with what it should be, or rewrites it.
fn assert_written(path: &Path, written: &str) {
    let page = fs::read_to_string(path).unwrap_or_default();
    if page != written && is_blessing() {
        fs::write(path, written).unwrap();
        return;
    }
    let shown = path.display();
    assert!(page == written, "run the test with TIDEWHEEL_BLESS=1 to rewrite {shown}");
}

#[test]
fn the_schema_that_is_checked_in_is_the_schema() {
    assert_written(&docs("flow.schema.json"), &format!("{:#}\n", schema()));
}

#[test]
fn every_key_of_a_step_has_a_topic() {
    let mut listed = BTreeSet::new();
    for name in TOPICS.iter().flat_map(|(_, names)| names.iter()) {
        assert!(listed.insert(*name), "`{name}` is listed twice");
    }
    let known: BTreeSet<&str> = keys::STEP.keys.iter().map(|key| key.name).collect();
    assert_eq!(listed, known);
}

#[test]
fn the_page_has_the_keys_of_the_tables() {
    let path = docs("flow-files.md");
    let mut page = fs::read_to_string(&path).unwrap();
    page = with_generated(&page, keys::STEP.name, &step_tables());
    for shape in SHAPES {
        page = with_generated(&page, shape.name, &table(shape.keys.iter()));
    }
    assert_written(&path, &page);
    let headings: BTreeSet<String> =
        page.lines().filter_map(|line| Some(anchor(line.strip_prefix("##")?))).collect();
    for shape in SHAPES.iter().filter(|shape| shape.name != keys::FLOW.name) {
        let anchor = anchor(bare(shape.name));
        assert!(headings.contains(&anchor), "there is no heading for #{anchor}");
    }
}

/// Every problem that can be reported is in the page, and no other.
#[test]
fn the_page_has_all_codes_of_problems() {
    let page = fs::read_to_string(docs("flow-files.md")).unwrap();
    let (_, section) = page.split_once("\n## Problems\n").expect("the section about problems");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let listed: Vec<String> = cells
        .flat_map(|cell| cell.split(", ").map(|code| code.trim_matches(['`', ' ']).to_owned()))
        .collect();
    let mut known = BTreeMap::new();
    let flow = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    collect_codes(&flow, &mut known);
    assert!(known.len() > 40, "only {} codes were found", known.len());
    let unlisted: Vec<_> = known.iter().filter(|(code, _)| !listed.contains(code)).collect();
    assert!(unlisted.is_empty(), "not in the page: {unlisted:?}");
    let gone: Vec<_> = listed.iter().filter(|code| !known.contains_key(*code)).collect();
    assert!(gone.is_empty(), "nobody reports: {gone:?}");
    assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len(), "listed twice");
}

/// Codes by the file that reports them, tests aside.
fn collect_codes(folder: &Path, found: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            collect_codes(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !name.ends_with("tests") {
            let text = fs::read_to_string(&path).unwrap();
            for part in text.split("Problem::").skip(1) {
                let call = part.strip_prefix("error(").or(part.strip_prefix("warning("));
                let code = call.and_then(|it| it.trim_start().strip_prefix('"')?.split('"').next());
                if let Some(code) = code {
                    found.insert(code.to_owned(), path.clone());
                }
            }
        }
    }
}

/// The page with what is generated put between the marks.
fn with_generated(page: &str, mark: &str, content: &str) -> String {
    let start = format!("<!-- generated: {mark} -->\n");
    let (head, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no mark for {mark}"));
    let (_, tail) = rest.split_once("<!-- end -->").expect("the page has the end marker");
    format!("{head}{start}{content}<!-- end -->{tail}")
}

fn step_tables() -> String {
    let mut text = String::new();
    for (topic, names) in TOPICS {
        text.push_str(&format!("\n### {topic}\n"));
        let keys = names.iter().filter_map(|name| keys::STEP.key(name));
        text.push_str(table(keys).trim_end());
        text.push('\n');
    }
    text.push('\n');
    text
}

fn table<'a>(keys: impl Iterator<Item = &'a Key>) -> String {
    let mut text = "\n| Key | Value | Means |\n|---|---|---|\n".to_owned();
    for key in keys {
        let needed = if key.is_required { ", needed" } else { "" };
        let value = in_cell(&key.kind);
        text.push_str(&format!("| `{}`{needed} | {value} | {} |\n", key.name, key.about));
    }
    text.push('\n');
    text
}

/// The kind as a cell of the table has it.
fn in_cell(kind: &Kind) -> String {
    match kind {
        Kind::Any => "any value".to_owned(),
        Kind::Text | Kind::Name => "text".to_owned(),
        Kind::Cron => "[cron expression](cron.md)".to_owned(),
        Kind::Template => "text, with templates".to_owned(),
        Kind::Expression => "[condition](#values)".to_owned(),
        Kind::Bool => "true or false".to_owned(),
        Kind::Number { min: i64::MIN, .. } => "number".to_owned(),
        Kind::Number { min, max } => format!("number from {min} to {max}"),
        Kind::Integer { min: i64::MIN, .. } => "whole number".to_owned(),
        Kind::Integer { min, max } => format!("{} to {}", grouped(*min), grouped(*max)),
        Kind::Duration => "[duration](#values)".to_owned(),
        Kind::Size => "[size](#values)".to_owned(),
        Kind::Rate => "[rate](#values)".to_owned(),
        Kind::Choice(words) => format!("`{}`", words.join("`, `")),
        Kind::List(kind) => format!("list: {}", in_cell(kind)),
        Kind::Many(kind) => format!("{}; or a list", in_cell(kind)),
        Kind::Map(kind) => format!("by name: {}", in_cell(kind)),
        Kind::Object(shape) => {
            let name = bare(shape.name);
            format!("[{name}](#{})", anchor(name))
        }
        Kind::Either(kinds) => {
            let mut words: Vec<String> = kinds.iter().map(in_cell).collect();
            words.dedup();
            words.join("; or ")
        }
    }
}

fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap())
        .collect();
    groups.join(",")
}

/// The name of a shape without its article.
fn bare(name: &str) -> &str {
    name.trim_start_matches("an ").trim_start_matches("a ")
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    heading
        .chars()
        .filter(|letter| letter.is_alphanumeric() || "- _".contains(*letter))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}
