//! What git says against publishing what is checked out, and against the tags that would follow.
//!
//! Tags themselves are set when packages are out, in [`crate::run`].

use crate::pack::{Checkout, TagState, is_kept, is_shallow, is_tag, tag_state};
use crate::prepare::{Prepared, Wish};
use crate::problem::{Code, Problem};
use crate::run::{PublishOptions, tags};
use crate::settings::Surroundings;

/// What speaks against what is checked out.
pub(crate) fn about_checkout(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    wish: &Wish,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(dirty(around, checkout).filter(|_| !wish.allow_dirty));
    problems.extend(detached(around, checkout).filter(|_| !wish.allow_detached));
    problems.extend(proposed(around).filter(|_| !wish.allow_pull_request && !wish.offline));
    problems
}

fn problem(around: &Surroundings, code: Code, what: String, hint: &str) -> Problem {
    let (file, hint) = (around.root.clone(), Some(hint.to_owned()));
    Problem { code, package: None, file, line: None, what, hint }
}

fn dirty(around: &Surroundings, checkout: Option<&Checkout>) -> Option<Problem> {
    let changes = &checkout?.changes;
    let first = changes.first()?.trim();
    let others = match changes.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let what = format!("there are changes that are not committed: {first}{others}");
    Some(problem(around, Code::Dirty, what, "commit them, or say --allow-dirty"))
}

/// A commit that no branch and no tag has is one that nobody else can check out, and that git forgets.
fn detached(around: &Surroundings, checkout: Option<&Checkout>) -> Option<Problem> {
    let commit = checkout?.commit.as_ref()?;
    if is_kept(around, commit) {
        return None;
    }
    let what = format!("commit {commit} is checked out, which is on no branch and has no tag");
    let hint = "check out a branch or a tag that has it, or say --allow-detached";
    Some(problem(around, Code::Commit, what, hint))
}

/// Pipelines say so when what they have checked out was only proposed.
fn proposed(around: &Surroundings) -> Option<Problem> {
    let event = around.variable("GITHUB_EVENT_NAME").filter(|it| it.starts_with("pull_request"));
    let others = ["CI_MERGE_REQUEST_IID", "BITBUCKET_PR_ID", "CHANGE_ID", "CIRCLE_PULL_REQUEST"];
    let by = event.map(|_| "GITHUB_EVENT_NAME");
    let by = by.or_else(|| others.into_iter().find(|name| around.variable(name).is_some()))?;
    let what = format!("{by} says that this change was only proposed");
    let hint = "publish from what was taken in, or say --allow-pull-request";
    Some(problem(around, Code::PullRequest, what, hint))
}

/// Tags that could not be set afterwards.
pub(crate) fn wrong_tags(
    around: &Surroundings,
    template: &str,
    prepared: &Prepared,
) -> Vec<Problem> {
    let problem = |what: String, hint: &str| problem(around, Code::Tag, what, hint);
    let Some(commit) = &prepared.set.commit else {
        let what = format!("there is no commit for the tag `{template}`");
        return vec![problem(what, "commit everything, or leave --tag out")];
    };
    if is_shallow(around) {
        let what = "the clone is shallow: whether a tag is elsewhere already cannot be known";
        let hint = "`git fetch --unshallow --tags`, or leave --tag out";
        return vec![problem(what.to_owned(), hint)];
    }
    let order = prepared.order(PublishOptions::default());
    let tags = tags(template, &order).into_iter().map(|(tag, _)| tag);
    let wrong = tags.filter_map(|tag| {
        if !is_tag(around, &tag) {
            let hint = "name it so that git takes it, as in --tag '{name}-v{version}'";
            return Some(problem(format!("`{tag}` is no name of a tag"), hint));
        }
        match tag_state(around, &tag, commit) {
            TagState::Elsewhere(other) => {
                let what = format!("the tag `{tag}` is at {other}, and {commit} is checked out");
                Some(problem(what, "check that one out, or raise the version"))
            }
            _ => None,
        }
    });
    wrong.collect()
}
