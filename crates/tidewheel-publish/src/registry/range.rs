//! [`satisfies`]: whether a version is among those that a need names, in the words of each ecosystem.
//!
//! Which versions are out is in a [`super::Listing`]; what follows if none will do is said by plans and reports.

use cargo_metadata::semver::{Version, VersionReq};

use super::listing::Listing;
use super::pep440;
use crate::package::Ecosystem;

impl Listing {
    /// Whether a version is out, and not taken back, that will do for a need. What cannot be read is left to those who
    /// resolve: then any version will do.
    #[must_use]
    pub fn has(&self, ecosystem: Ecosystem, range: &str) -> bool {
        let mut out = self.versions.iter().filter(|(_, listed)| !listed.is_yanked);
        out.any(|(version, _)| satisfies(ecosystem, range, version) != Some(false))
    }
}

/// Whether a version is among those that a range names; `None` if one of them cannot be read.
#[must_use]
pub fn satisfies(ecosystem: Ecosystem, range: &str, version: &str) -> Option<bool> {
    match ecosystem {
        Ecosystem::Cargo => {
            let range = VersionReq::parse(range).ok()?;
            Some(range.matches(&Version::parse(version).ok()?))
        }
        Ecosystem::Npm => npm(range, version),
        Ecosystem::Python => pep440::satisfies(range, version),
    }
}

/// Ranges of npm are sets of comparisons between `||`, one of which has to hold.
fn npm(range: &str, version: &str) -> Option<bool> {
    let version = Version::parse(version.trim_start_matches(['v', '='])).ok()?;
    let sets: Option<Vec<VersionReq>> = range.split("||").map(comparisons).collect();
    // Those who want any version get one that is before its release, if there is no other.
    Some(sets?.iter().any(|set| *set == VersionReq::STAR || set.matches(&version)))
}

/// `>=1.2 <2`, `1.x`, `1.2 - 2.3`, as cargo would write it.
fn comparisons(set: &str) -> Option<VersionReq> {
    let set = set.trim();
    if let Some((from, to)) = set.split_once(" - ") {
        return VersionReq::parse(&format!(">={}, <={}", bare(from), bare(to))).ok();
    }
    let mut written: Vec<String> = Vec::new();
    let mut operator = String::new();
    for word in set.split_whitespace() {
        let end = word.find(|sign| !"<>=^~".contains(sign)).unwrap_or(word.len());
        operator.push_str(&word[..end]);
        if end == word.len() {
            continue;
        }
        match (operator.as_str(), bare(&word[end..])) {
            // Every version.
            (_, version) if version.is_empty() => {}
            // Without a sign it is that version and no other.
            ("", version) => written.push(format!("={version}")),
            ("~>", version) => written.push(format!("~{version}")),
            (sign, version) => written.push(format!("{sign}{version}")),
        }
        operator.clear();
    }
    match (operator.is_empty(), written.is_empty()) {
        (false, _) => None,
        (true, true) => Some(VersionReq::STAR),
        (true, false) => VersionReq::parse(&written.join(", ")).ok(),
    }
}

/// A version without the parts that may be anything: `1.x` is `1`, `*` is nothing.
fn bare(version: &str) -> String {
    let version = version.trim().trim_start_matches('v');
    let parts = version.split('.').take_while(|part| !matches!(*part, "x" | "X" | "*" | ""));
    parts.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_npm_mean_what_they_mean_to_npm() {
        for (range, version, does) in [
            ("^1.2.3", "1.9.0", Some(true)),
            ("^1.2.3", "2.0.0", Some(false)),
            ("^0.2.3", "0.3.0", Some(false)),
            ("~1.2.3", "1.2.9", Some(true)),
            ("~>1.2", "1.3.0", Some(false)),
            ("1.2.3", "1.2.4", Some(false)),
            ("v1.2.3", "1.2.3", Some(true)),
            ("1.x", "1.7.0", Some(true)),
            ("1.2.*", "1.3.0", Some(false)),
            ("*", "1.0.0", Some(true)),
            ("*", "1.0.0-beta.1", Some(true)),
            ("", "1.0.0", Some(true)),
            (">= 1.2 <2", "1.5.0", Some(true)),
            (">=1.2 <2", "2.0.0", Some(false)),
            ("1.2 - 2.3", "2.3.9", Some(true)),
            ("1.2.3 - 2.3.4", "2.3.5", Some(false)),
            ("^1 || ^3", "3.1.0", Some(true)),
            ("^1 || ^3", "2.0.0", Some(false)),
            ("^1.0.0-beta.1", "1.0.0-beta.2", Some(true)),
            ("^1.0.0", "1.1.0-beta.2", Some(false)),
            ("latest", "1.0.0", None),
            ("git+https://a.example/b", "1.0.0", None),
            (">=", "1.0.0", None),
        ] {
            assert_eq!(satisfies(Ecosystem::Npm, range, version), does, "{range} {version}");
        }
    }

    #[test]
    fn a_version_that_was_taken_back_does_not_count() {
        let mut listing = Listing::default();
        assert!(!listing.has(Ecosystem::Cargo, "^1.0"));
        listing.versions.entry("1.2.0".to_owned()).or_default();
        assert!(listing.has(Ecosystem::Cargo, "^1.0") && !listing.has(Ecosystem::Cargo, "^2"));
        // What nobody here understands is for those who resolve.
        assert!(listing.has(Ecosystem::Npm, "latest"));
        listing.versions.get_mut("1.2.0").unwrap().is_yanked = true;
        assert!(!listing.has(Ecosystem::Cargo, "^1.0"));
    }
}
