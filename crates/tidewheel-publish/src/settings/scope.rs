//! [`Scope`]: what a token of Python's public registry says of itself. It is a macaroon: what it is good for stands in it.
//!
//! Whether it was ever given out, or was taken back, is only known to its registry.

use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::Value as Json;
use tidewheel::Timestamp;

use super::secret::Secret;

/// What such tokens begin with.
const PREFIX: &str = "pypi-";
/// The form that is understood.
const FORM: u8 = 2;
/// The fields of that form.
const END: u64 = 0;
const IDENTIFIER: u64 = 2;

/// What a token is good for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The only projects, by normalised names; all if it names none.
    projects: Option<Vec<String>>,
    /// When it begins to be good, in seconds since 1970.
    not_before: Option<i64>,
    /// When it ceases to be.
    expires_at: Option<i64>,
}

impl Scope {
    /// What a token says; nothing if it is of another kind.
    #[must_use]
    pub fn of(token: &Secret) -> Option<Self> {
        let text = token.reveal().strip_prefix(PREFIX)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()?;
        let mut scope = Self::default();
        for caveat in caveats(&bytes)? {
            scope.narrow(&serde_json::from_slice(caveat).ok()?);
        }
        Some(scope)
    }

    /// Why a project cannot be uploaded now, if it cannot.
    #[must_use]
    pub fn objection(&self, project: &str, now: Timestamp) -> Option<String> {
        let now = now.as_micros() / 1_000_000;
        if self.expires_at.is_some_and(|at| now >= at) {
            return Some("it has expired".to_owned());
        }
        if self.not_before.is_some_and(|at| now < at) {
            return Some("it is not good yet".to_owned());
        }
        let projects = self.projects.as_ref()?;
        let is_in = projects.iter().any(|it| it == project);
        (!is_in).then(|| format!("it is for `{}` only", projects.join("`, `")))
    }

    /// Takes in one more condition, in the form of today or in the one before. All of them have to hold.
    fn narrow(&mut self, caveat: &Json) {
        let names = |list: &Json| {
            let list = list.as_array()?;
            Some(list.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>())
        };
        match caveat {
            Json::Array(parts) => match (parts.first().and_then(Json::as_u64), &parts[..]) {
                (Some(0), [_, expires, begins, ..]) => self.during(begins, expires),
                (Some(1), [_, list, ..]) => self.only(names(list)),
                _ => {}
            },
            Json::Object(parts) => {
                if let (Some(begins), Some(expires)) = (parts.get("nbf"), parts.get("exp")) {
                    self.during(begins, expires);
                }
                let list = parts.get("permissions").and_then(|it| it.get("projects"));
                self.only(list.and_then(names));
            }
            _ => {}
        }
    }

    fn during(&mut self, begins: &Json, expires: &Json) {
        self.not_before = self.not_before.max(begins.as_i64());
        let both = [self.expires_at, expires.as_i64()];
        self.expires_at = both.into_iter().flatten().min();
    }

    fn only(&mut self, names: Option<Vec<String>>) {
        let Some(names) = names else { return };
        self.projects = Some(match self.projects.take() {
            Some(before) => before.into_iter().filter(|it| names.contains(it)).collect(),
            None => names,
        });
    }
}

/// The conditions of a macaroon: after its own section, sections until an empty one, each with what it says in one field.
fn caveats(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let (form, mut rest) = bytes.split_first()?;
    if *form != FORM {
        return None;
    }
    section(&mut rest)?;
    let mut found = Vec::new();
    while let Some(identifier) = section(&mut rest)? {
        found.push(identifier);
    }
    Some(found)
}

/// One section: its identifier, or nothing if it is the empty one. `None` if it cannot be read.
#[expect(clippy::option_option, reason = "unreadable, at the end, or one more")]
fn section<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let mut identifier = None;
    loop {
        let field = number(rest)?;
        if field == END {
            return Some(identifier);
        }
        let length = usize::try_from(number(rest)?).ok()?;
        let (data, after) = rest.split_at_checked(length)?;
        *rest = after;
        if field == IDENTIFIER {
            identifier = Some(data);
        }
    }
}

/// A number of seven bits a byte, the lowest first.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A token with these conditions.
    fn token(caveats: &[&str]) -> Secret {
        let field =
            |kind: u8, data: &[u8]| [&[kind, u8::try_from(data.len()).unwrap()], data].concat();
        let mut bytes =
            [vec![FORM], field(1, b"registry.example"), field(2, b"id"), vec![0]].concat();
        for caveat in caveats {
            bytes.extend([field(2, caveat.as_bytes()), vec![0]].concat());
        }
        bytes.extend([vec![0], field(6, &[7; 32])].concat());
        Secret::new(&format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))).unwrap()
    }

    fn objection(caveats: &[&str], project: &str) -> Option<String> {
        let now = Timestamp::UNIX_EPOCH + Duration::from_secs(1000);
        Scope::of(&token(caveats)).unwrap().objection(project, now)
    }

    #[test]
    fn a_token_says_for_which_projects_and_how_long_it_is_good() {
        let user = r#"[3,"00000000-0000-0000-0000-000000000000"]"#;
        assert_eq!(objection(&[user], "our-a"), None);
        assert_eq!(objection(&[], "our-a"), None);
        let only = [r#"[1,["our-a","our-c"]]"#, r#"[2,["ids"]]"#];
        assert_eq!(objection(&only, "our-a"), None);
        assert_eq!(objection(&only, "our-b").unwrap(), "it is for `our-a`, `our-c` only");
        let both = [only[0], r#"[1,["our-a"]]"#];
        assert_eq!(objection(&both, "our-c").unwrap(), "it is for `our-a` only");
        assert_eq!(objection(&["[0,2000,500]"], "our-a"), None);
        assert_eq!(objection(&["[0,1000,500]"], "our-a").unwrap(), "it has expired");
        assert_eq!(objection(&["[0,2000,1500]"], "our-a").unwrap(), "it is not good yet");
    }

    #[test]
    fn tokens_of_before_say_the_same() {
        assert_eq!(objection(&[r#"{"version":1,"permissions":"user"}"#], "our-a"), None);
        let only = [r#"{"version":1,"permissions":{"projects":["our-a"]}}"#];
        assert_eq!(objection(&only, "our-a"), None);
        assert!(objection(&only, "our-b").is_some());
        assert!(objection(&[r#"{"nbf":0,"exp":5}"#], "our-a").is_some());
    }

    #[test]
    fn what_is_no_such_token_says_nothing() {
        for text in
            ["secret", "pypi-", "pypi-!!", "pypi-AA", "pypi-AgE", "pypi-AgIC", "pypi-Av__________8"]
        {
            assert_eq!(Scope::of(&Secret::new(text).unwrap()), None, "{text}");
        }
    }
}
