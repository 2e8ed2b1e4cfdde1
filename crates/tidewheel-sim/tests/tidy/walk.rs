//! Whether the walk of one step in `ARCHITECTURE.md` leads where it says, and is as long as it says.
//!
//! That its functions call each other in this order is for whoever reads along.

use std::collections::BTreeMap;
use std::fs;

use crate::assert_none;
use crate::sources::{Source, root, sources};

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

    /// The functions it names, each with its file below `src`.
    fn functions(&self) -> Vec<(String, String)> {
        let quoted = self.hops.iter().flat_map(|hop| hop.split('`').skip(1).step_by(2));
        let pairs = quoted.filter_map(|it| it.split_once(": "));
        pairs
            .flat_map(|(file, names)| names.split(", ").map(move |name| (file, name)))
            .map(|(file, name)| (file.to_owned(), name.to_owned()))
            .collect()
    }
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
    let by_path: BTreeMap<&str, &Source> =
        sources.iter().map(|source| (source.path.as_str(), source)).collect();
    let (rows, _) = walk();
    let mut seen = 0;
    let mut wrong = Vec::new();
    for row in &rows {
        for (file, name) in row.functions() {
            seen += 1;
            let is_there = row.crates.iter().any(|in_crate| {
                let source = by_path.get(format!("{in_crate}/src/{file}").as_str());
                source.is_some_and(|it| it.functions().iter().any(|it| it.name == name))
            });
            if !is_there {
                wrong.push(format!("{}–{}: {file}: {name}", row.first, row.last));
            }
        }
    }
    assert!(seen > 100, "only {seen} functions were found");
    assert_none("functions of the walk that are not there", wrong);
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
