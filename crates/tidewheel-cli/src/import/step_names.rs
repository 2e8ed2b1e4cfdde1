//! Names of others as names of steps, each taken once.
//!
//! Names that flows have of their own are those of their files; they are not made here.

use std::collections::BTreeSet;

/// The longest name of a step.
const LENGTH_MAX: usize = 60;

/// The names that are taken.
#[derive(Debug, Default)]
pub(super) struct StepNames {
    taken: BTreeSet<String>,
}

impl StepNames {
    /// A name like this one that a step can have and none has yet.
    pub fn like(&mut self, wanted: &str) -> String {
        let base = match fit(wanted) {
            name if name.is_empty() => "step".to_owned(),
            name => name,
        };
        take(&mut self.taken, base)
    }
}

/// Takes a name, with a number behind it if it is taken.
pub(super) fn take(taken: &mut BTreeSet<String>, base: String) -> String {
    let mut name = base.clone();
    let mut count = 1;
    while !taken.insert(name.clone()) {
        count += 1;
        name = format!("{base}-{count}");
    }
    name
}

/// The name without what names of steps cannot have.
pub(super) fn fit(wanted: &str) -> String {
    let is_bad = |letter: char| letter.is_control() || "/[]{}\"'\\`*$".contains(letter);
    let name: String = wanted.chars().map(|it| if is_bad(it) { '-' } else { it }).collect();
    let name: String = name.trim().chars().take(LENGTH_MAX).collect();
    name.trim().trim_matches('-').to_owned()
}

/// The same in small letters, digits and dashes.
pub(super) fn slug(wanted: &str) -> String {
    let mut name = String::new();
    for letter in wanted.chars().take(LENGTH_MAX) {
        if letter.is_alphanumeric() || letter == '_' {
            name.extend(letter.to_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_and_taken_once() {
        let mut names = StepNames::default();
        let given = ["step 1", "write '/tmp/x'", "step 1", "[]"].map(|name| names.like(name));
        assert_eq!(given, ["step 1", "write --tmp-x", "step 1-2", "step"]);
        assert_eq!(slug("Run cargo test (all)"), "run-cargo-test-all");
    }
}
