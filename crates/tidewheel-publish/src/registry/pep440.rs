//! Versions of Python and what is said of them: `>=1.4,<2`, `~=1.4.2`, `==1.*`.
//!
//! As far as it takes to know whether a version will do; what else there is to versions is for installers.

use std::cmp::Ordering;

/// A version, in the order of versions: what is of an earlier kind comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    epoch: u64,
    /// Without zeros at its end: `1.0` is `1`.
    release: Vec<u64>,
    /// `dev` without more comes before all of these, and the release after them.
    before: (u8, u64),
    post: Option<u64>,
    /// One that is being worked on comes before the same that is not.
    dev: u64,
}

/// What is not one that is being worked on.
const NOT_DEV: u64 = u64::MAX;

/// A version as it is written.
#[derive(Debug, Clone)]
struct Written {
    key: Key,
    /// With all its zeros: how much of it is said counts for `~=`.
    release: Vec<u64>,
}

/// Whether a version will do for what is said of it; `None` if either cannot be read.
pub(super) fn satisfies(range: &str, version: &str) -> Option<bool> {
    let version = written(version)?;
    let mut parts = range.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.try_fold(true, |so_far, part| Some(so_far & holds(part, &version)?))
}

fn holds(part: &str, version: &Written) -> Option<bool> {
    let end = part.find(|sign| !"<>=!~".contains(sign))?;
    let (operator, said) = part.split_at(end);
    let said = said.trim();
    if let Some(start) = said.strip_suffix(".*") {
        let start = written(start)?;
        let is_in = version.key.epoch == start.key.epoch && begins(version, &start.release);
        return match operator {
            "==" => Some(is_in),
            "!=" => Some(!is_in),
            _ => None,
        };
    }
    let said = written(said)?;
    let order = version.key.cmp(&said.key);
    // What comes before or after a release that is ruled out is ruled out with it.
    let is_same_release =
        (version.key.epoch, &version.key.release) == (said.key.epoch, &said.key.release);
    Some(match operator {
        "==" | "===" => order == Ordering::Equal,
        "!=" => order != Ordering::Equal,
        ">=" => order != Ordering::Less,
        "<=" => order != Ordering::Greater,
        "<" => {
            let is_before = version.key.before < FINAL && said.key.before == FINAL;
            order == Ordering::Less && !(is_same_release && is_before)
        }
        ">" => {
            let is_post = version.key.post.is_some() && said.key.post.is_none();
            order == Ordering::Greater && !(is_same_release && is_post)
        }
        "~=" => {
            // One number alone says nothing of what may change.
            let [start @ .., _] = &said.release[..] else { return None };
            if start.is_empty() {
                return None;
            }
            order != Ordering::Less && begins(version, start)
        }
        _ => return None,
    })
}

/// Whether a version begins with these numbers; what it does not say is zero.
fn begins(version: &Written, start: &[u64]) -> bool {
    start.iter().enumerate().all(|(at, number)| version.release.get(at).unwrap_or(&0) == number)
}

/// The place of a release among what comes before it.
const FINAL: (u8, u64) = (4, 0);

/// `1!2.0rc1.post2.dev3+local`, as people write it.
fn written(text: &str) -> Option<Written> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_prefix('v').unwrap_or(&text);
    // What was changed somewhere is not compared.
    let text = text.split('+').next()?;
    let (epoch, text) = match text.split_once('!') {
        Some((epoch, rest)) => (epoch.parse().ok()?, rest),
        None => (0, text),
    };
    let is_release = |sign: char| sign.is_ascii_digit() || sign == '.';
    let end = text.find(|sign| !is_release(sign)).unwrap_or(text.len());
    let (numbers, mut rest) = text.split_at(end);
    let numbers = numbers.strip_suffix('.').unwrap_or(numbers);
    let release: Vec<u64> =
        numbers.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let (mut before, mut post, mut dev) = (None, None, None);
    while !rest.is_empty() {
        let (word, number, after) = suffix(rest)?;
        match word {
            "a" | "alpha" => before = Some((1, number)),
            "b" | "beta" => before = Some((2, number)),
            "c" | "rc" | "pre" | "preview" => before = Some((3, number)),
            "post" | "rev" | "r" | "" => post = Some(number),
            "dev" => dev = Some(number),
            _ => return None,
        }
        rest = after;
    }
    let before = match (before, post, dev) {
        (Some(before), _, _) => before,
        (None, None, Some(_)) => (0, 0),
        _ => FINAL,
    };
    let mut key =
        Key { epoch, release: release.clone(), before, post, dev: dev.unwrap_or(NOT_DEV) };
    while key.release.last() == Some(&0) {
        key.release.pop();
    }
    Some(Written { key, release })
}

/// One more part: its word, its number, and what follows. A number alone is `-1` of a post release.
fn suffix(rest: &str) -> Option<(&str, u64, &str)> {
    let bare = rest.trim_start_matches(['.', '-', '_']);
    let end = bare.find(|sign: char| !sign.is_ascii_alphabetic()).unwrap_or(bare.len());
    let (word, after) = bare.split_at(end);
    let number = after.trim_start_matches(['.', '-', '_']);
    let end = number.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(number.len());
    match number[..end].parse() {
        Ok(value) => Some((word, value, &number[end..])),
        // `1.0rc` is `1.0rc0`; what comes next may be another word.
        Err(_) if !word.is_empty() => Some((word, 0, after)),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_in_the_order_of_the_standard() {
        let all = [
            "1.0.dev1",
            "1.0a1.dev2",
            "1.0a1",
            "1.0alpha2",
            "1.0b1",
            "1.0rc1",
            "1.0",
            "1.0.post1.dev1",
            "1.0-1",
            "1.0.post2",
            "1.0.1",
            "1.1",
            "1!0.1",
        ];
        let keys: Vec<Key> = all.iter().map(|it| written(it).unwrap().key).collect();
        assert!(keys.windows(2).all(|two| two[0] <= two[1]), "{keys:#?}");
        assert_eq!(written("1.0-1").unwrap().key, written("1.0.post1").unwrap().key);
        assert_eq!(written("v1.0.0+here").unwrap().key, written("1").unwrap().key);
        for nonsense in ["", "one", "1.0what", "1..0", "1.0-"] {
            assert!(written(nonsense).is_none(), "{nonsense}");
        }
    }

    #[test]
    fn what_is_said_of_a_version_holds_or_does_not() {
        for (range, version, does) in [
            ("", "1.0", Some(true)),
            (">=1.0,<2", "1.9", Some(true)),
            (">=1.0,<2", "2.0", Some(false)),
            (">= 1.0 , < 2", "2.0rc1", Some(false)),
            ("<2rc2", "2.0rc1", Some(true)),
            (">1.0", "1.0.post1", Some(false)),
            (">1.0", "1.0.1", Some(true)),
            ("~=1.4.2", "1.4.9", Some(true)),
            ("~=1.4.2", "1.5.0", Some(false)),
            ("~=1.4", "1.9", Some(true)),
            ("~=1.4", "2.0", Some(false)),
            ("~=1", "1.0", None),
            ("==1.*", "1.7", Some(true)),
            ("==1.1.*", "1.0", Some(false)),
            ("!=1.1.*", "1.1.5", Some(false)),
            ("==1.0", "1.0.0", Some(true)),
            ("===1.0", "1.0", Some(true)),
            ("!=1.0", "1.0", Some(false)),
            ("<=1.0", "1.0+here", Some(true)),
            ("^1.0", "1.0", None),
            (">=1.0", "soon", None),
        ] {
            assert_eq!(satisfies(range, version), does, "{range} {version}");
        }
    }
}
