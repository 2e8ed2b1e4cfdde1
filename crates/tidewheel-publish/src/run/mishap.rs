//! [`Mishap`]: what keeps a package from being out as it should be once a publish goes on, as words that do not change.
//!
//! What is in the way before anything is sent is a [`Code`](crate::Code); what became of a package is said by reports.

use std::fmt;

use crate::plan::Class;

/// What keeps a package from being out as it should be. The words are stable, for programs and for `explain`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mishap {
    /// The version is out with another content.
    Conflict,
    /// The version was taken back.
    Yanked,
    /// It needs something that cannot be had.
    Blocked,
    /// It was not begun.
    NotBegun,
    /// Its registry is waited for.
    Waiting,
    /// Its registry had trouble.
    Trouble,
    /// Nobody saw the end of its upload.
    Unanswered,
    /// It is not where those look who resolve.
    Unseen,
    /// Its registry could not be asked at the end.
    NotAsked,
    /// There was no leave.
    NotAllowed,
    /// A one-time code is wanted.
    CodeWanted,
    /// It could not be packed when it was its turn.
    NotPacked,
    /// Its registry does not want it.
    Refused,
    /// Something it needs is not out.
    Unmet,
    /// Its hook failed.
    Hook,
    /// It does not have its own tag of npm yet.
    NpmTag,
}

/// Each word, and what it means and what can be done about it, in the order of the mishaps.
const SAID: [(&str, &str); 16] = [
    (
        "conflict",
        "The version is out, and with another content than was packed. What is out stays as it is, \
         for those who use it: raise the version. If nothing was changed on purpose, publish from \
         what it was made of; a crate that differs in its commit alone is no conflict.",
    ),
    (
        "yanked",
        "The version was out and was taken back. A registry lets nobody use a version twice, so it \
         can only be raised.",
    ),
    (
        "blocked",
        "It needs a package that cannot be had, so that nobody could use it, or is a crate that is tried with \
         one, so that cargo could not pack it. See to that one: its own row says what is wrong with it. \
         Everything that does not need it has gone on.",
    ),
    (
        "not-begun",
        "It was not begun, because what it needs is not out yet or because somebody has ended the run \
         or left it out. Run `tidewheel publish` again: it goes on where it is.",
    ),
    (
        "waiting",
        "Its registry wants nothing for so long, or has taken it and does not show it yet, and \
         somebody has said that it is not to be waited for any longer (`--max-wait`, `--visible- \
         within`). Run `tidewheel publish` again, after the time that the report says if it says one: \
         nothing is sent twice.",
    ),
    (
        "trouble",
        "Its registry answered that something was wrong with it, or not at all, each time that it was \
         tried (`--max-retries`). That passes as a rule: run `tidewheel publish` again.",
    ),
    (
        "unanswered",
        "The process was ended while it was uploaded, and nobody knows whether it was taken. Run \
         `tidewheel publish` again: its registry is asked for what it has before anything is sent.",
    ),
    (
        "unseen",
        "It was seen, or nothing was said against it, and those who resolve cannot have it. Run \
         `tidewheel publish` again, and if it stays so, ask whoever runs the registry.",
    ),
    (
        "not-asked",
        "What became of it is said by its registry, which could not be asked. `tidewheel publish \
         status` asks again.",
    ),
    (
        "not-allowed",
        "Its registry does not know the token, or whose it is may not write this package; or the \
         settings name another registry than the plan. See to the token or the settings, then run \
         `tidewheel publish` again.",
    ),
    (
        "code-wanted",
        "Its registry wants a one-time code, and nobody has said one. Run `tidewheel publish --otp \
         CODE`, or with `--code-within TIME` so that somebody can say one elsewhere.",
    ),
    (
        "not-packed",
        "With `--stream` a package is packed when it is its turn, and this one could not be; others \
         may be out already. See to what its tool says, then run `tidewheel publish` again.",
    ),
    (
        "refused",
        "Its registry has read it and does not want it, in the words that are shown. It is not tried \
         again by itself. Change what it objects to, and raise the version only if it is out.",
    ),
    (
        "unmet",
        "It is out, and needs of another package of the workspace a version that is not: whoever \
         installs it gets an error. Publish one that will do, or take it back.",
    ),
    (
        "hook",
        "It is out, and the command of `--hook` that follows failed. The next run runs it again, for \
         this package alone.",
    ),
    (
        "npm-tag",
        "It is out under the tag `tidewheel-hold`, and its registry did not give it its own. The next \
         run does that; nothing is sent again.",
    ),
];

impl Mishap {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Conflict,
        Self::Yanked,
        Self::Blocked,
        Self::NotBegun,
        Self::Waiting,
        Self::Trouble,
        Self::Unanswered,
        Self::Unseen,
        Self::NotAsked,
        Self::NotAllowed,
        Self::CodeWanted,
        Self::NotPacked,
        Self::Refused,
        Self::Unmet,
        Self::Hook,
        Self::NpmTag,
    ];

    /// That of a class, if it keeps a package from being out.
    pub(crate) fn of(class: &Class) -> Option<Self> {
        match class {
            Class::Conflict { .. } => Some(Self::Conflict),
            Class::Yanked => Some(Self::Yanked),
            Class::Blocked { .. } => Some(Self::Blocked),
            _ => None,
        }
    }

    /// The stable word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.said().0
    }

    /// What it means, and what can be done about it.
    #[must_use]
    pub fn explanation(self) -> &'static str {
        self.said().1
    }

    fn said(self) -> (&'static str, &'static str) {
        SAID[self as usize]
    }
}

impl fmt::Display for Mishap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Code;

    #[test]
    fn every_mishap_has_a_word_and_an_explanation_of_its_own() {
        let words = Mishap::ALL.iter().map(|it| it.word());
        let words: BTreeSet<&str> = words.chain(Code::ALL.iter().map(|it| it.word())).collect();
        assert_eq!(words.len(), Mishap::ALL.len() + Code::ALL.len());
        let said: BTreeSet<&str> = Mishap::ALL.iter().map(|it| it.explanation()).collect();
        assert_eq!(said.len(), Mishap::ALL.len());
        assert!(said.iter().all(|text| text.len() > 80 && text.ends_with('.')));
        for it in Mishap::ALL {
            assert_eq!(serde_json::to_value(it).unwrap(), it.word());
        }
    }
}
