//! What follows once packages can be had: tags of npm are moved, the commit is tagged, hooks are run. Each is done once, and
//! what is left of it is done by the next run.
//!
//! Nothing here counts before the [report](super::report) has found a package in its registry.

use super::journal::{Hook, Journal};
use super::mishap::Mishap;
use super::order::{OrderedPackage, PublishOrder};
use super::publisher::Publisher;
use super::report::{Report, Reported, Verdict};
use crate::exchange::Trouble;
use crate::pack::{PackedSet, TagState, push_tag, run_trusted, set_tag, tag_state};
use crate::package::{Ecosystem, PackageId};
use crate::settings::{Credentials, Surroundings};

/// What became of a tag of git.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Tagged {
    /// Its name.
    pub tag: String,
    /// `set`, `there`, `elsewhere`, `failed`.
    pub state: &'static str,
    /// What is wrong with it.
    pub error: Option<String>,
}

impl Report {
    /// Does what follows for packages that can be had.
    pub async fn follow_up(&mut self, publisher: &Publisher, order: &PublishOrder) {
        self.move_tags(publisher, order).await;
        self.tag_commit(publisher, order);
        self.run_hooks(publisher, order);
    }

    /// Versions of npm that were uploaded under the holding tag become what their own tag says, once all of them are out.
    async fn move_tags(&mut self, publisher: &Publisher, order: &PublishOrder) {
        let Some(set) = PackedSet::load(&order.packed) else { return };
        let is_npm = |it: &&OrderedPackage| it.id().ecosystem() == Ecosystem::Npm;
        let all: Vec<&OrderedPackage> = order.packages.iter().filter(is_npm).collect();
        let is_one_stuck = order.stuck().any(|(id, _)| id.ecosystem() == Ecosystem::Npm);
        if all.is_empty() || is_one_stuck || !all.iter().all(|it| self.is_out(&it.id())) {
            return;
        }
        let targets = publisher.targets(order);
        for package in all {
            let id = package.id();
            let tag = set.package(&id).and_then(|it| it.metadata.get("tag")?.as_str());
            let (Some(target), Some(tag)) = (targets.get(&id), tag) else { continue };
            let moved = publisher.client.move_tag(target, &id, &package.version, tag).await;
            if let Err(trouble) = moved {
                let wants_code = matches!(trouble, Trouble::CodeWanted { .. });
                let worth = if wants_code { Verdict::Blocked } else { Verdict::Incomplete };
                self.wants_code |= wants_code;
                let what = format!("it is out, and not yet `{tag}`: {trouble}");
                let code = if wants_code { Mishap::CodeWanted } else { Mishap::NpmTag };
                self.object(&id, worth, code, what);
            }
        }
    }

    fn tag_commit(&mut self, publisher: &Publisher, order: &PublishOrder) {
        let (Some(template), Some(commit)) = (&order.options.tag, &order.commit) else { return };
        let (around, following) = (publisher.around(), following(publisher, order));
        for (tag, of) in tags(template, order) {
            let has_it = |(id, version): (PackageId, &str)| tag_of(template, &id, version) == tag;
            if order.stuck().any(has_it) || !of.iter().all(|id| self.is_out(id)) {
                continue;
            }
            let tagged = match tag_state(around, &tag, commit) {
                TagState::There => Ok("there"),
                TagState::Elsewhere(other) => Err(("elsewhere", format!("it is at {other}"))),
                TagState::Missing => {
                    set_tag(around, &tag, commit).map(|()| "set").map_err(|error| ("failed", error))
                }
            };
            let tagged = tagged.and_then(|state| match &order.options.push_tags {
                Some(remote) => push_tag(&following, remote, &tag)
                    .map(|()| state)
                    .map_err(|error| ("failed", error)),
                None => Ok(state),
            });
            let (state, error) = match tagged {
                Ok(state) => (state, None),
                Err((state, error)) => (state, Some(error)),
            };
            let worth = match state {
                "elsewhere" => Verdict::Blocked,
                "failed" => Verdict::Incomplete,
                _ => Verdict::Done,
            };
            self.verdict = self.verdict.max(worth);
            self.tags.push(Tagged { tag, state, error });
        }
    }

    /// Runs the hook of each package that was uploaded and can be had, once.
    fn run_hooks(&mut self, publisher: &Publisher, order: &PublishOrder) {
        let Some(hook) = &order.options.hook else { return };
        let following = following(publisher, order);
        let tags = order.options.tag.as_ref().map(|template| tags(template, order));
        for package in &order.packages {
            let id = package.id();
            let path = Journal::path(&order.packed, &id);
            let mut journal = Journal::load(&path);
            if journal.hook != Hook::Due || !self.is_out(&id) {
                continue;
            }
            let tag = tags.iter().flatten().find(|(_, of)| of.contains(&id));
            let around = following
                .with("TIDEWHEEL_PACKAGE", id.name())
                .with("TIDEWHEEL_ECOSYSTEM", id.ecosystem().word())
                .with("TIDEWHEEL_VERSION", &package.version)
                .with("TIDEWHEEL_REGISTRY", &package.address.name)
                .with("TIDEWHEEL_TAG", tag.map_or("", |(tag, _)| tag))
                .with("TIDEWHEEL_COMMIT", order.commit.as_deref().unwrap_or_default());
            let arguments = ["-c", hook].map(str::to_owned);
            match run_trusted(&around, &order.root, "sh", &arguments) {
                Ok(_) => {
                    journal.hook = Hook::Done;
                    // What cannot be written down is done again.
                    let _ = journal.store(&path);
                }
                Err(error) => {
                    let what = format!("it is out, and its hook failed: {error}");
                    self.object(&id, Verdict::Incomplete, Mishap::Hook, what);
                }
            }
        }
    }

    /// Whether those who resolve can have a package.
    pub(super) fn is_out(&self, id: &PackageId) -> bool {
        let name = id.to_string();
        let found = self.packages.iter().find(|it| it.package == name);
        found.is_some_and(|it| matches!(it.result, "published" | "done"))
    }

    /// Something is wrong with a package all the same.
    pub(super) fn object(&mut self, id: &PackageId, worth: Verdict, code: Mishap, what: String) {
        let name = id.to_string();
        let is_it = |it: &&mut Reported| it.package == name;
        if let Some(reported) = self.packages.iter_mut().find(is_it) {
            (reported.error, reported.code) = (Some(what), Some(code));
        }
        self.verdict = self.verdict.max(worth);
    }
}

/// What those who follow find around them: everything but what gives leave to upload.
fn following(publisher: &Publisher, order: &PublishOrder) -> Surroundings {
    let targets = publisher.targets(order).into_values();
    let secrets = targets.filter_map(|target| match target.credentials? {
        Credentials::Token(secret) | Credentials::Bearer(secret) => Some(secret),
        Credentials::Basic { password, .. } => Some(password),
        Credentials::Trusted => None,
    });
    publisher.around().without_leave(&secrets.collect::<Vec<_>>())
}

fn tag_of(template: &str, id: &PackageId, version: &str) -> String {
    template.replace("{name}", id.name()).replace("{version}", version)
}

/// The tags of an order, each with the packages that must be out for it: one a package, or one for all of them. What an
/// earlier release has brought out has its tag elsewhere.
pub(crate) fn tags(template: &str, order: &PublishOrder) -> Vec<(String, Vec<PackageId>)> {
    let mut tags: Vec<(String, Vec<PackageId>)> = Vec::new();
    for package in order.packages.iter().filter(|package| !package.is_earlier) {
        let id = package.id();
        let tag = tag_of(template, &id, &package.version);
        match tags.iter_mut().find(|(known, _)| *known == tag) {
            Some((_, of)) => of.push(id),
            None => tags.push((tag, vec![id])),
        }
    }
    tags
}
