//! Whether anything lies in the tree that would open a door: keys, tokens, passwords that are there by default.
//!
//! What is thrown away after a test is made by the test; keys that only tests use lie in their folders.

use std::fs;
use std::path::Path;

use super::assert_none;
use super::sources::root;

/// What is not ours, or is made.
const PASSED_OVER: [&str; 3] = ["target", ".git", "node_modules"];

/// More is no text.
const BYTES_MAX: u64 = 1 << 20;

/// How tokens of ours and of others begin, and how many letters follow where it is a real one.
const TOKENS: [(&str, usize); 7] = [
    ("tidewheel_", 40),
    ("ghp_", 36),
    ("npm_", 36),
    ("pypi-AgE", 16),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 16),
];

/// Where files of a kind may have keys: those of tests open nothing.
fn is_of_tests(path: &str) -> bool {
    path.contains("/tests/")
}

#[test]
fn nothing_in_the_tree_opens_a_door() {
    let (root, mut found, mut seen) = (root(), Vec::new(), 0);
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            match path.is_dir() {
                true if PASSED_OVER.contains(&name.as_str()) => {}
                true => folders.push(path),
                false => {
                    seen += 1;
                    found.extend(wrong(&root, &path));
                }
            }
        }
    }
    assert!(seen > 1_000, "only {seen} files were found");
    assert_none("secrets", found);
}

/// What is wrong with a file.
fn wrong(root: &Path, path: &Path) -> Vec<String> {
    let shown = path.strip_prefix(root).unwrap().display().to_string();
    let is_small = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() < BYTES_MAX);
    let Some(text) = is_small.then(|| fs::read_to_string(path).ok()).flatten() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let is_key = |line: &str| line.starts_with("-----BEGIN") && line.contains("PRIVATE KEY");
    if !is_of_tests(&shown) && text.lines().any(is_key) {
        found.push(format!("{shown} has a private key"));
    }
    for (prefix, letters) in TOKENS {
        let is_token = |rest: &str| {
            let is_part = |it: &char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-');
            let token: Vec<char> = rest.chars().take_while(is_part).collect();
            // Words are no tokens: those have digits in them.
            token.len() >= letters && token.iter().filter(|it| it.is_ascii_digit()).count() > 3
        };
        if text.split(prefix).skip(1).any(is_token) {
            found.push(format!("{shown} has what looks like a token: {prefix}…"));
        }
    }
    found
}

/// Statements of the database are written out; what is asked with them is bound. Names of our own tables are all that is put into one.
#[test]
fn no_statement_is_put_together_from_values() {
    let words = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "PRAGMA ", "ATTACH "];
    let ours = ["{table}", "{VERSION}"];
    let found = super::each(|source| {
        let of_store = source.path.starts_with("tidewheel/src/store/sqlite/");
        let lines = source.lines.iter().filter(|line| of_store && line.contains("format!("));
        let lines = lines.filter(|line| words.iter().any(|word| line.contains(word)));
        let is_wrong = |line: &&String| {
            let rest = ours.iter().fold((*line).clone(), |line, name| line.replace(name, ""));
            rest.contains('{') && rest.contains('}')
        };
        lines.filter(is_wrong).map(|line| format!("{}: {}", source.path, line.trim())).collect()
    });
    assert_none("statements", found);
}
