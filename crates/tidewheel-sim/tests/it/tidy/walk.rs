//! Whether the walk of one step in `ARCHITECTURE.md` leads where it says, and is as long as it says.
//!
//! That its functions call each other in this order is for whoever reads along; here it is only looked
//! whether each one is named where the walk comes from.

use std::collections::BTreeMap;
use std::fs;

use super::assert_none;
use super::sources::{Source, root, sources};

/// What the walk calls the crates.
const CRATES: [(&str, &str); 5] = [
    ("command", "tidewheel-cli"),
    ("client", "tidewheel-client"),
    ("flow", "tidewheel-flow"),
    ("library", "tidewheel"),
    ("core", "tidewheel-core"),
];

/// One row: `| 7–10 | flow | hops; |`.
struct Row {
    first: usize,
    last: usize,
    crates: Vec<&'static str>,
    hops: Vec<String>,
}

impl Row {
    fn read(line: &str) -> Option<Self> {
        let [numbers, crates, hops] =
            line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let (first, last) = numbers.split_once('–').unwrap_or((numbers, numbers));
        let named = |word: &str| CRATES.iter().find(|(name, _)| *name == word).map(|it| it.1);
        let hops = hops.trim_end_matches([';', '.']);
        Some(Self {
            first: first.parse().ok()?,
            last: last.parse().ok()?,
            crates: crates.split(", ").map(|word| named(word).unwrap()).collect(),
            hops: hops.split(';').map(str::to_owned).collect(),
        })
    }

    /// The functions that its hops name, each with the number of its hop and its file below `src`.
    fn functions(&self) -> Vec<(usize, String, String)> {
        let mut functions = Vec::new();
        for (hop, text) in (self.first..).zip(&self.hops) {
            let pairs = text.split('`').skip(1).step_by(2).filter_map(|it| it.split_once(": "));
            functions.extend(pairs.flat_map(|(file, names)| {
                names.split(", ").map(move |name| (hop, file.to_owned(), name.to_owned()))
            }));
        }
        functions
    }
}

/// A function of the walk that is there.
struct Station<'s> {
    hop: usize,
    file: &'s Source,
    name: String,
}

/// All functions of the walk in their order, and those that are not where it says.
fn stations(sources: &[Source]) -> (Vec<Station<'_>>, Vec<String>) {
    let by_path: BTreeMap<&str, &Source> =
        sources.iter().map(|source| (source.path.as_str(), source)).collect();
    let (mut stations, mut missing) = (Vec::new(), Vec::new());
    for row in walk().0 {
        for (hop, file, name) in row.functions() {
            let mut files = row.crates.iter().filter_map(|in_crate| {
                by_path.get(format!("{in_crate}/src/{file}").as_str()).copied()
            });
            let has_it = |it: &&Source| it.functions().iter().any(|it| it.name == name);
            match files.find(has_it) {
                Some(file) => stations.push(Station { hop, file, name }),
                None => missing.push(format!("{hop}: {file}: {name}")),
            }
        }
    }
    (stations, missing)
}

/// Whether a file names a function, except where it declares one.
fn mentions(source: &Source, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    source.own().iter().filter(|line| !line.trim_start().starts_with("//")).any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part) && !before.ends_with("fn ")
        })
    })
}

/// The rows, and the sentence that counts them.
fn walk() -> (Vec<Row>, String) {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = page.split("\n## ").find(|it| it.starts_with("The walk of one step")).unwrap();
    let rows = section.lines().filter_map(Row::read).collect();
    let sum = section.lines().find(|line| line.starts_with("It is ")).unwrap();
    (rows, sum.to_owned())
}

#[test]
fn every_function_of_the_walk_is_where_it_says() {
    let sources = sources();
    let (stations, missing) = stations(&sources);
    assert!(stations.len() > 100, "only {} functions were found", stations.len());
    assert_none("functions of the walk that are not there", missing);
}

/// Inside a hop a function is named where this hop or the one before has been; a hop may begin where the walk was
/// long ago, because calls return.
#[test]
fn every_function_of_the_walk_is_named_where_it_comes_from() {
    let sources = sources();
    let (stations, _) = stations(&sources);
    let mut lost = Vec::new();
    for (place, Station { hop, file, name }) in stations.iter().enumerate().skip(1) {
        let before = &stations[..place];
        let begins = before.last().is_some_and(|last| last.hop != *hop);
        let mut near = before.iter().filter(|it| begins || it.hop + 1 >= *hop);
        if !near.any(|it| mentions(it.file, name)) {
            lost.push(format!("{hop}: {}: {name}", file.path));
        }
    }
    assert_none("functions of the walk that nobody calls who was there before", lost);
}

#[test]
fn the_hops_of_the_walk_are_counted() {
    let (rows, sum) = walk();
    let mut hops = 0;
    let mut back = Vec::new();
    for row in &rows {
        let numbers = (hops + 1, hops + row.hops.len());
        assert_eq!((row.first, row.last), numbers, "the numbers of a row: {:?}", row.hops);
        for hop in &row.hops {
            hops += 1;
            if hop.contains('↔') {
                back.push(hops);
            }
        }
    }
    let numbers = sum.split(|letter: char| !letter.is_ascii_digit());
    let said: Vec<usize> = numbers.filter_map(|number| number.parse().ok()).collect();
    let counted: Vec<usize> = [hops, back.len()].into_iter().chain(back).collect();
    assert_eq!(said, counted, "hops, those back and forth, and which: {sum}");
}
