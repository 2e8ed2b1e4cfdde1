//! What git says of a workspace, and a copy that git takes for the same commit.
//!
//! Its repository is only read: the copy has one of its own that borrows its objects.

use std::path::{Path, PathBuf};

use super::tool::{run, run_trusted};
use crate::settings::Surroundings;

/// A workspace under git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The folder that git knows.
    pub top: PathBuf,
    /// What is checked out; nothing before the first commit.
    pub commit: Option<String>,
    /// Files that are not as they were committed, as git lists them.
    pub changes: Vec<String>,
}

/// What git says of a folder; `None` if it is under no git, or there is none.
#[must_use]
pub fn checkout(around: &Surroundings) -> Option<Checkout> {
    let git = |arguments: &[&str]| run_git(around, &around.root, arguments).ok();
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let commit = git(&["rev-parse", "--verify", "--quiet", "HEAD"]).map(|it| it.trim().to_owned());
    // Locks are left alone: somebody may be committing.
    let changes = git(&["--no-optional-locks", "status", "--porcelain", "--", "."])?;
    Some(Checkout {
        top: PathBuf::from(top.trim_end()),
        commit,
        changes: changes.lines().map(str::to_owned).collect(),
    })
}

/// The folder in which git keeps what is its own; `None` if it is under no git, or there is none.
pub(super) fn own_folder(around: &Surroundings) -> Option<PathBuf> {
    let said = run_git(around, &around.root, &["rev-parse", "--absolute-git-dir"]).ok()?;
    Some(PathBuf::from(said.trim_end()))
}

/// Makes an empty copy of a checkout, to be filled with its files; then [`settle`] it.
pub(super) fn borrow(
    around: &Surroundings,
    checkout: &Checkout,
    copy: &Path,
) -> Result<(), String> {
    let (from, to) = (checkout.top.display().to_string(), copy.display().to_string());
    let parent = copy.parent().unwrap_or(copy);
    run_git(around, parent, &["clone", "--quiet", "--shared", "--no-checkout", &from, &to])?;
    let commit = checkout.commit.as_deref().unwrap_or("HEAD");
    run_git(around, copy, &["update-ref", "--no-deref", "HEAD", commit]).map(drop)
}

/// Lets git find that the files of a copy are those of its commit.
pub(super) fn settle(around: &Surroundings, copy: &Path) -> Result<(), String> {
    run_git(around, copy, &["reset", "--quiet"]).map(drop)
}

/// Whether a commit is on a branch or has a tag, here or at a remote.
pub(crate) fn is_kept(around: &Surroundings, commit: &str) -> bool {
    let said = run_git(around, &around.root, &["for-each-ref", "--count=1", "--contains", commit]);
    // One that cannot say is not taken for a no.
    said.map_or(true, |said| !said.trim().is_empty())
}

/// Whether not all of its history is here, nor all of its tags.
pub(crate) fn is_shallow(around: &Surroundings) -> bool {
    let said = run_git(around, &around.root, &["rev-parse", "--is-shallow-repository"]);
    said.is_ok_and(|said| said.trim() == "true")
}

/// Where a tag is, held against the commit it is meant for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TagState {
    Missing,
    There,
    /// At this commit.
    Elsewhere(String),
}

pub(crate) fn tag_state(around: &Surroundings, tag: &str, commit: &str) -> TagState {
    let reference = format!("refs/tags/{tag}^{{commit}}");
    match run_git(around, &around.root, &["rev-parse", "--verify", "--quiet", &reference]) {
        Ok(at) if at.trim() == commit => TagState::There,
        Ok(at) => TagState::Elsewhere(at.trim().to_owned()),
        Err(_) => TagState::Missing,
    }
}

/// Whether git takes a text for the name of a tag.
pub(crate) fn is_tag(around: &Surroundings, tag: &str) -> bool {
    let reference = format!("refs/tags/{tag}");
    run_git(around, &around.root, &["check-ref-format", &reference]).is_ok()
        && !tag.starts_with('-')
}

pub(crate) fn set_tag(around: &Surroundings, tag: &str, commit: &str) -> Result<(), String> {
    run_git(around, &around.root, &["-c", "tag.gpgSign=false", "tag", "--", tag, commit]).map(drop)
}

/// One that is there already is no error. A remote may want secrets: all variables go along.
pub(crate) fn push_tag(around: &Surroundings, remote: &str, tag: &str) -> Result<(), String> {
    let reference = format!("refs/tags/{tag}");
    let arguments = with_care(&["push", "--quiet", "--", remote, &reference]);
    run_trusted(around, &around.root, "git", &arguments).map(drop)
}

fn run_git(around: &Surroundings, folder: &Path, arguments: &[&str]) -> Result<String, String> {
    run(around, folder, "git", &with_care(arguments))
}

/// Nothing of a repository is run.
fn with_care(arguments: &[&str]) -> Vec<String> {
    let quiet = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];
    quiet.iter().chain(arguments).map(|it| (*it).to_owned()).collect()
}
