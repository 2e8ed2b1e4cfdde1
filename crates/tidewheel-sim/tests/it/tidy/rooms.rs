//! Which room of a crate may use which, where `ARCHITECTURE.md` promises an order of them.
//!
//! Arrows between crates are in `arrows`.

use std::collections::BTreeSet;

use super::assert_none;
use super::sources::{Source, sources};

/// Crates whose rooms stand in layers, outermost last. Each layer uses itself and those before it.
const LAYERS: [(&str, &[&[&str]]); 1] = [(
    "tidewheel-flow",
    &[&["language"], &["definition"], &["compile"], &["execute", "host"], &["past"]],
)];

/// Where a file stands below `src`, as its module is called from the root of the crate.
fn module(path: &str) -> Vec<&str> {
    let path = path.strip_suffix(".rs").unwrap();
    path.strip_suffix("/mod").unwrap_or(path).split('/').collect()
}

/// What the paths of a text name first behind `start`: the one name, or those between braces.
fn named_behind<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    let first = |path: &'t str| {
        let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
        &path[..path.find(is_end).unwrap_or(path.len())]
    };
    let mut names = Vec::new();
    for (at, _) in text.match_indices(start) {
        // A longer path, of which this is the end.
        if text[..at].ends_with(|letter: char| letter.is_alphanumeric() || "_:$".contains(letter)) {
            continue;
        }
        let rest = &text[at + start.len()..];
        let Some(inside) = rest.strip_prefix('{') else {
            names.push(first(rest));
            continue;
        };
        let (mut depth, mut from) = (1, 0);
        for (place, letter) in inside.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => {}
                _ => continue,
            }
            if depth == 0 || (depth == 1 && letter == ',') {
                names.push(first(inside[from..place].trim()));
                from = place + 1;
            }
            if depth == 0 {
                break;
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// What a file names at the root of its crate: by `crate::`, and by `super::` as often as leads there.
fn named_at_root(source: &Source, module: &[&str]) -> BTreeSet<String> {
    let code = source.own().iter().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.map(|line| format!("{line}\n")).collect();
    let mut names = named_behind(&code, "crate::");
    names.extend(named_behind(&code, &"super::".repeat(module.len())));
    names.into_iter().filter(|name| *name != "super").map(str::to_owned).collect()
}

#[test]
fn rooms_use_only_those_before_them() {
    let sources = sources();
    let (mut arrows, mut wrong) = (0, Vec::new());
    for (in_crate, layers) in LAYERS {
        let layer = |room: &str| layers.iter().position(|rooms| rooms.contains(&room));
        for source in sources.iter().filter(|source| !source.is_test) {
            let Some(path) = source.path.strip_prefix(&format!("{in_crate}/src/")) else {
                continue;
            };
            let module = module(path);
            if module == ["lib"] {
                continue;
            }
            let Some(own) = layer(module[0]) else {
                wrong.push(format!("{} is in no layer", source.path));
                continue;
            };
            for name in named_at_root(source, &module) {
                arrows += 1;
                // What is exported at the root is for others: its room is named here.
                if layer(&name).is_none_or(|used| used > own) {
                    wrong.push(format!("{} uses `{name}`", source.path));
                }
            }
        }
    }
    assert!(arrows > 100, "only {arrows} arrows were found");
    assert_none("rooms that use what comes after them", wrong);
}

#[test]
fn names_at_the_root_are_found_however_they_are_written() {
    let text = "use crate::one;\nuse crate::{two::{a, b}, three,\n    four::c,\n};\n$crate::no::x(); \
        my_crate::no; super::no; super::super::five::d; super::super::super::six;";
    assert_eq!(named_behind(text, "crate::"), ["one", "two", "three", "four"]);
    assert_eq!(named_behind(text, "super::super::"), ["five", "super"]);
    assert_eq!(module("execute/http.rs"), ["execute", "http"]);
    assert_eq!(module("language/yaml/mod.rs"), ["language", "yaml"]);
}
