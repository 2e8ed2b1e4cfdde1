//! The rules of the house that a program can check: arrows between crates and rooms, sizes, signs, words.
//!
//! What formatting and lints check is left to them. Each test lists everything that is wrong at once.

mod arrows;
mod rooms;
mod secrets;
mod sources;
mod waits;
mod waits_browser;
mod walk;

use std::collections::BTreeSet;

use sources::{Source, sources};

/// Lines of a file, its tests left out.
const FILE_LINES_MAX: usize = 600;

/// Lines of a function.
const FUNCTION_LINES_MAX: usize = 70;

/// Functions that may be longer: one dispatch whose arms are a call each, or one transition for all.
const LONG_ON_PURPOSE: [&str; 9] = [
    "tidewheel-client/src/kind/kinds.rs::read",
    "tidewheel-client/src/kind/kinds.rs::word",
    "tidewheel-core/src/explain.rs::fmt",
    "tidewheel-core/src/scheduler/transition.rs::transit",
    "tidewheel-flow/src/compile/plan.rs::new",
    "tidewheel-flow/src/language/query/search.rs::find",
    "tidewheel-sim/src/scenario/say.rs::line",
    "tidewheel-sim/src/verdict.rs::judge_task",
    "tidewheel/src/executor/process/run.rs::start",
];

/// Files that are longer than they should be. They may become shorter, and never longer.
const LONG_FILES: [(&str, usize); 1] = [("tidewheel/src/store/conformance.rs", 620)];

/// Words that the glossary does without: each means five things to five people.
const UNUSED_WORDS: [&str; 6] = ["helper", "item", "job", "manager", "node", "util"];

#[track_caller]
fn assert_none(what: &str, found: Vec<String>) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

fn each(wrong: impl Fn(&Source) -> Vec<String>) -> Vec<String> {
    let sources = sources();
    assert!(sources.len() > 400, "only {} files were found", sources.len());
    sources.iter().flat_map(wrong).collect()
}

#[test]
fn every_file_says_what_lives_there_and_what_does_not() {
    let found = each(|source| match &source.sign()[..] {
        [] => vec![format!("{} has no sign", source.path)],
        sign if !source.is_test && !sign.contains(&"") => {
            vec![format!("{} does not say what does not live there", source.path)]
        }
        _ => Vec::new(),
    });
    assert_none("signs", found);
}

#[test]
fn no_file_is_longer_than_can_be_kept_in_mind() {
    let found = each(|source| {
        let known = LONG_FILES.iter().find(|(path, _)| *path == source.path);
        let most = known.map_or(FILE_LINES_MAX, |(_, lines)| *lines);
        let is_long = !source.is_test && source.own_lines() > most;
        is_long
            .then(|| format!("{}: {} lines", source.path, source.own_lines()))
            .into_iter()
            .collect()
    });
    assert_none("files to be split along a seam that has a name", found);
}

#[test]
fn no_function_is_longer_than_a_screen() {
    let found = each(|source| {
        let long = source.functions().into_iter().filter(|function| {
            let name = format!("{}::{}", source.path, function.name);
            let is_exempt = source.is_test || LONG_ON_PURPOSE.contains(&name.as_str());
            function.lines > FUNCTION_LINES_MAX && !is_exempt
        });
        long.map(|it| format!("{}::{}: {} lines", source.path, it.name, it.lines)).collect()
    });
    assert_none("functions to be split", found);
}

#[test]
fn mod_files_only_declare() {
    let found = each(|source| {
        let is_door = source.path.ends_with("/mod.rs") && !source.is_test;
        let code = if is_door { source.beyond_declarations() } else { Vec::new() };
        code.first().map(|line| format!("{}: {line}", source.path)).into_iter().collect()
    });
    assert_none("`mod.rs` with code in it", found);
}

/// Where `unsafe` code may be: one small file, which says at each place why it is right.
const UNSAFE: &str = "tidewheel-cli/src/memory.rs";

#[test]
fn code_is_safe_but_for_one_small_file() {
    // In two pieces, or this file would have it.
    let marks = [concat!("unsafe", "_code"), concat!("unsafe", " {")];
    let found = each(|source| {
        let is_marked = |line: &&String| marks.iter().any(|mark| line.contains(mark));
        let forbids = |line: &&String| line.contains("forbid(");
        let line = source.lines.iter().filter(|line| !forbids(line)).find(is_marked);
        let line = line.filter(|_| source.path != UNSAFE || source.own_lines() > 50);
        line.map(|line| format!("{}: {line}", source.path)).into_iter().collect()
    });
    assert_none("code that the compiler does not check", found);
}

/// Names at the root of the library: what the first hour needs. All others are in modules.
const ROOT_NAMES_MAX: usize = 34;

#[test]
fn the_root_of_the_library_has_few_names() {
    let all = sources();
    let library = all.iter().find(|source| source.path == "tidewheel/src/lib.rs").unwrap();
    let names = library.exported();
    assert!(names.contains(&String::from("Tidewheel")), "the root was not read: {names:?}");
    assert!(names.len() <= ROOT_NAMES_MAX, "{} names: {}", names.len(), names.join(", "));
}

#[test]
fn names_are_words_of_the_glossary() {
    let found = each(|source| {
        // YAML calls its values nodes, and so does whoever reads it.
        let is_yaml = source.path.starts_with("tidewheel-flow/");
        let names = source.names().into_iter().filter(|name| {
            let mut words = sources::words(name);
            words.any(|word| UNUSED_WORDS.contains(&&*word) && !(is_yaml && word == "node"))
        });
        // Iterators name their type so, and templates their filter.
        let names = names.filter(|name| !["Item", "items"].contains(&name.as_str()));
        names.map(|name| format!("{}: {name}", source.path)).collect()
    });
    assert_none("names", found);
}

/// Words of the driver's types that mean what they mean everywhere, in the singular.
const PLAIN_WORDS: [&str; 44] = [
    "adopt", "answer", "answered", "ask", "at", "behind", "code", "due", "ended", "error", "guard",
    "hasher", "held", "id", "inside", "keeping", "kept", "launch", "left", "look", "member",
    "next", "our", "part", "passed", "pending", "ref", "report", "restored", "said", "setting",
    "shared", "signal", "single", "span", "state", "stopped", "timer", "trouble", "unstored",
    "until", "why", "writer", "writing",
];

/// What a reader of the driver meets is explained in the glossary, is plain, or is gone.
#[test]
fn the_glossary_knows_the_words_of_the_driver() {
    let glossary = sources::glossary();
    let sources = sources();
    let is_driver =
        |source: &&Source| source.path.starts_with("tidewheel/src/driver/") && !source.is_test;
    let types: Vec<String> = sources.iter().filter(is_driver).flat_map(Source::types).collect();
    assert!(types.len() > 60, "only {} types were found", types.len());
    let used: BTreeSet<String> =
        types.iter().flat_map(|name| sources::words(name)).filter(|it| !it.is_empty()).collect();
    let is_known = |word: &str| glossary.contains(word) || PLAIN_WORDS.contains(&word);
    let unknown = used.iter().filter(|word| !is_known(word)).cloned();
    assert_none("words of the driver that the glossary does not explain", unknown.collect());
    let needless = |word: &&str| glossary.contains(*word) || !used.contains(*word);
    let needless = PLAIN_WORDS.into_iter().filter(needless).map(str::to_owned);
    assert_none(
        "plain words that the driver does not use, or the glossary has",
        needless.collect(),
    );
}
