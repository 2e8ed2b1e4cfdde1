//! [`Problem`]: what keeps packages from being published, with its place and what to do.
//!
//! Problems are found where the rule is known; here they only have their words.

use std::fmt;
use std::path::PathBuf;

use crate::package::PackageId;

const PULL_REQUEST: &str = "In a pipeline for a change that was only proposed, whoever proposed it decides what is run. \
    Nothing is uploaded from there unless somebody says --allow-pull-request.";

const PROVENANCE: &str = "A statement about where a package was built is signed by a program that whoever publishes names \
    with --signer, and sent with each file. A package whose manifest wants one does not go out without, unless somebody \
    says --no-provenance; registries of npm want `repository` in its package.json beside it.";

/// What kind of problem it is. The words are stable, for programs and for `explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A manifest cannot be read or understood.
    Manifest,
    /// The tool that knows the packages is missing, or failed.
    Tool,
    /// Two packages have one name.
    Duplicate,
    /// Packages need each other in a circle.
    Cycle,
    /// Packages need each other in a circle, one of them only to be worked on, by a version.
    DevelopmentCycle,
    /// A package that is published needs one that is not.
    NeedsPrivate,
    /// A need names no version, and the registry wants one.
    NoVersion,
    /// Nobody says where a package goes, or it cannot go there.
    Registry,
    /// A package needs another one that is neither published with it nor out.
    NeedsUnpublished,
    /// There is no leave to upload a package.
    Credentials,
    /// The tree is not what was committed.
    Dirty,
    /// What is checked out is on no branch and has no tag.
    Commit,
    /// A lock file says something else than manifests do.
    Lock,
    /// A package cannot be packed, or what was packed cannot be sent.
    Packing,
    /// A tag of git cannot be set, or is at another commit.
    Tag,
    /// It would be published from a change that nobody has taken in yet.
    PullRequest,
    /// A package wants a statement about where it was built, and cannot have one.
    Provenance,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Manifest,
        Self::Tool,
        Self::Duplicate,
        Self::Cycle,
        Self::DevelopmentCycle,
        Self::NeedsPrivate,
        Self::NoVersion,
        Self::Registry,
        Self::NeedsUnpublished,
        Self::Credentials,
        Self::Dirty,
        Self::Commit,
        Self::Lock,
        Self::Packing,
        Self::Tag,
        Self::PullRequest,
        Self::Provenance,
    ];

    /// The stable word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Tool => "tool",
            Self::Duplicate => "duplicate",
            Self::Cycle => "cycle",
            Self::DevelopmentCycle => "development-cycle",
            Self::NeedsPrivate => "needs-private",
            Self::NoVersion => "no-version",
            Self::Registry => "registry",
            Self::NeedsUnpublished => "needs-unpublished",
            Self::Credentials => "credentials",
            Self::Dirty => "dirty",
            Self::Commit => "commit",
            Self::Lock => "lock",
            Self::Packing => "packing",
            Self::Tag => "tag",
            Self::PullRequest => "pull-request",
            Self::Provenance => "provenance",
        }
    }

    /// What it means, and what can be done about it.
    #[must_use]
    pub fn explanation(self) -> &'static str {
        match self {
            Self::Manifest => {
                "A package says what it is in its manifest: Cargo.toml, package.json or pyproject.toml. What cannot be \
                 read there cannot be published. Nothing was sent anywhere."
            }
            Self::Tool => {
                "Crates are found by `cargo metadata`, which knows about inherited versions and renamed packages. It \
                 must be there and succeed."
            }
            Self::Duplicate => {
                "A registry knows a package by its name, so a workspace can publish one package of each name. \
                 Python's registries take `A_b` and `a-b` for the same name."
            }
            Self::Cycle => {
                "A package is published after what it needs. In a circle none can be the first. Take one of the needs \
                 out, or move what both need into a package of its own."
            }
            Self::DevelopmentCycle => {
                "A development dependency with a version stays in the packed manifest, and cargo and its registry have to \
                 find that version: the crate goes out after it. Here that one needs the crate itself, so that neither can \
                 be the first. Without `version`, by its path only, it is left out when it is packed."
            }
            Self::NeedsPrivate => {
                "Whoever uses a published package needs all that it needs. One that is not published cannot be found \
                 by them. Publish it too, or do without it."
            }
            Self::NoVersion => {
                "A path means nothing to those who get the package from a registry. The need must say which versions \
                 will do, beside the path."
            }
            Self::Registry => {
                "Where a package goes is read from the files and variables of its own tool: cargo's configuration, \
                 .npmrc, uv's indexes and .pypirc. No address is built in, so that nothing is ever sent to a place \
                 that nobody has named."
            }
            Self::NeedsUnpublished => {
                "Of the workspace only some packages were asked for. What they need of the others must be out already, in \
                 the version that the workspace has: whoever installs them needs it. What a crate is only tried with may be \
                 out in any version that it asks for."
            }
            Self::Credentials => {
                "A registry takes packages only by somebody's leave. It is read from where the package's own tool keeps \
                 it, or from its variables, when it is needed; it is kept nowhere and shown to nobody."
            }
            Self::Dirty => {
                "What is published should be what somebody else can check out. The tree has changes that are not \
                 committed: commit or remove them, or say --allow-dirty."
            }
            Self::Commit => {
                "A commit that is on no branch and has no tag is nobody's but this clone's, and git forgets it: check out \
                 a branch or a tag, so that others can see what was published, or say --allow-detached."
            }
            Self::Lock => {
                "A lock file that knows a package by another version than its manifest was not brought up to date when \
                 the version was raised. Whoever checks the release out gets something else than what was published."
            }
            Self::Packing => {
                "Everything is packed before the first upload, in a copy of the workspace, by the package's own tool. \
                 What that tool refuses, or packs in another way than planned, stops everything: nothing was sent."
            }
            Self::Tag => {
                "A tag says which commit was published, so it is never moved. It is set once its packages can be had; one \
                 that is at another commit already stops everything before anything is sent."
            }
            Self::PullRequest => PULL_REQUEST,
            Self::Provenance => PROVENANCE,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What keeps packages from being published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its kind.
    pub code: Code,
    /// Whose problem it is, if it is a package's.
    pub package: Option<PackageId>,
    /// Where it is.
    pub file: PathBuf,
    /// The line of the file, if that is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_a_word_and_an_explanation_of_its_own() {
        let words: BTreeSet<&str> = Code::ALL.iter().map(|code| code.word()).collect();
        let said: BTreeSet<&str> = Code::ALL.iter().map(|code| code.explanation()).collect();
        assert_eq!((words.len(), said.len()), (Code::ALL.len(), Code::ALL.len()));
        assert!(said.iter().all(|text| text.len() > 80 && text.ends_with('.')));
    }
}
