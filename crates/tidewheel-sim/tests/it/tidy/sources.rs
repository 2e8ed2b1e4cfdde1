//! The sources of the workspace as text: signs, functions, names.
//!
//! A small reading by line and indentation, which formatted code allows; what is wrong with them is not
//! decided here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One file.
pub struct Source {
    /// Below `crates/`, with slashes.
    pub path: String,
    /// Whether it is a test, an example or a measurement as a whole.
    pub is_test: bool,
    pub lines: Vec<String>,
}

/// A function of a file.
pub struct Function {
    pub name: String,
    pub lines: usize,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All sources, in order of their paths.
pub fn sources() -> Vec<Source> {
    let crates = root().join("crates");
    let mut paths = Vec::new();
    let mut folders = vec![crates.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| Source::read(&crates, path)).collect()
}

/// The words that the glossary explains, in small letters and in the singular.
pub fn glossary() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join("GLOSSARY.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| **")?.split("**").next());
    let parts = rows.flat_map(|row| row.split([',', ' ', '(', ')']));
    parts.flat_map(words).filter(|word| !word.is_empty()).collect()
}

/// The words a name is made of, in small letters and in the singular.
pub fn words(name: &str) -> impl Iterator<Item = String> + '_ {
    let starts =
        |(at, letter): (usize, char)| (letter.is_uppercase() || letter == '_').then_some(at);
    let mut cuts: Vec<usize> = name.char_indices().filter_map(starts).collect();
    cuts.insert(0, 0);
    cuts.push(name.len());
    cuts.dedup();
    let parts: Vec<String> =
        cuts.windows(2).map(|cut| name[cut[0]..cut[1]].to_lowercase()).collect();
    parts.into_iter().map(|part| {
        let part = part.trim_start_matches('_');
        match part.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => part.strip_suffix('s').unwrap_or(part).to_owned(),
        }
    })
}

impl Source {
    fn read(crates: &Path, path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let path = path.strip_prefix(crates).unwrap().to_str().unwrap().to_owned();
        let folders = ["/tests/", "/examples/", "/benches/"];
        let is_test =
            folders.iter().any(|folder| path.contains(folder)) || path.ends_with("tests.rs");
        Self { path, is_test, lines: text.lines().map(str::to_owned).collect() }
    }

    /// The lines of the sign at the door, without their marks.
    pub fn sign(&self) -> Vec<&str> {
        self.lines.iter().map_while(|line| Some(line.strip_prefix("//!")?.trim())).collect()
    }

    /// The lines before tests that stand in the file.
    pub fn own(&self) -> &[String] {
        let start = self.lines.windows(2).position(|pair| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        });
        &self.lines[..start.unwrap_or(self.lines.len())]
    }

    pub fn own_lines(&self) -> usize {
        self.own().len()
    }

    /// Functions with a body, methods among them.
    pub fn functions(&self) -> Vec<Function> {
        let lines = self.own();
        let mut functions = Vec::new();
        for (start, line) in lines.iter().enumerate() {
            let Some(name) = declared(line, &["fn"]) else { continue };
            let indent = line.len() - line.trim_start().len();
            let closing = format!("{}}}", " ".repeat(indent));
            let signature =
                lines[start..].iter().position(|it| it.ends_with('{') || it.ends_with(';'));
            let has_body = signature.is_some_and(|at| lines[start + at].ends_with('{'));
            let end = lines[start..].iter().position(|it| *it == closing);
            if let Some(end) = end.filter(|_| has_body) {
                functions.push(Function { name: name.to_owned(), lines: end + 1 });
            }
        }
        functions
    }

    /// Names of types, functions and modules.
    pub fn names(&self) -> Vec<String> {
        self.declared(&["struct", "enum", "trait", "type", "fn", "mod"])
    }

    /// Names of types.
    pub fn types(&self) -> Vec<String> {
        self.declared(&["struct", "enum", "trait"])
    }

    fn declared(&self, kinds: &[&str]) -> Vec<String> {
        self.own().iter().filter_map(|line| declared(line, kinds)).map(str::to_owned).collect()
    }

    /// Names that the file exports from elsewhere, at its outermost level.
    pub fn exported(&self) -> Vec<String> {
        let text = self.own().join("\n");
        let exports = text.split('\n').filter(|line| line.starts_with("pub use "));
        let names = exports.flat_map(|line| {
            let from = text.find(line).unwrap();
            let path = text[from..].split(';').next().unwrap();
            let names = path.rsplit_once("::").unwrap().1;
            names.split([',', '{', '}']).map(str::trim).filter(|name| !name.is_empty())
        });
        names.map(str::to_owned).collect()
    }

    /// Lines that are neither comments nor attributes, modules or uses.
    pub fn beyond_declarations(&self) -> Vec<&str> {
        let mut beyond = Vec::new();
        let mut is_open = false;
        for line in self.own() {
            let text = line.trim();
            if is_open {
                is_open = !(text.ends_with(';') || text.ends_with(")]"));
                continue;
            }
            if text.is_empty()
                || text.starts_with("//")
                || (text.starts_with("#[") && text.ends_with(']'))
            {
                continue;
            }
            let text = text.strip_prefix("pub").map_or(text, |rest| {
                rest.strip_prefix('(')
                    .and_then(|it| it.split_once(") "))
                    .map_or(rest, |(_, rest)| rest)
            });
            let text = text.trim_start();
            if text.starts_with("use ") || text.starts_with("mod ") || text.starts_with("#[") {
                is_open = !(text.ends_with(';') || text.ends_with(")]"));
                continue;
            }
            beyond.push(line.as_str());
        }
        beyond
    }
}

/// The name that a line declares, if it declares one of these kinds.
fn declared<'a>(line: &'a str, kinds: &[&str]) -> Option<&'a str> {
    let mut rest = line.trim_start();
    if let Some(after) = rest.strip_prefix("pub(") {
        rest = after.split_once(") ")?.1;
    }
    for before in ["pub ", "const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(before).unwrap_or(rest);
    }
    let (kind, rest) = rest.split_once(' ')?;
    let end =
        rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    (kinds.contains(&kind) && end > 0).then_some(&rest[..end])
}
