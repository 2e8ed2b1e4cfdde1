//! [`prepare`]: from a folder to a plan, with everything packed and every registry asked, and nothing sent.
//!
//! Carrying a plan out is in [`crate::run`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::discover::discover;
use crate::exchange::census;
use crate::pack::{Checkout, PackOptions, PackedSet, TagState, checkout, is_tag, pack, tag_state};
use crate::package::{Ecosystem, Package, PackageId, Version};
use crate::plan::{Plan, Situation};
use crate::problem::{Code, Problem};
use crate::registry::Listing;
use crate::run::{PublishOptions, Publisher, pace_of, tags};
use crate::settings::{Surroundings, Target, target_of};
use crate::workspace::Workspace;

/// What may be said about it.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// What is not committed may be published.
    pub allow_dirty: bool,
    /// Crates are built from what was packed.
    pub verify: bool,
    /// Registries are not asked.
    pub offline: bool,
    /// The workspace is packed where it is, with its manifests pinned meanwhile.
    pub pin_in_place: bool,
    /// Only these packages, by name; all if there are none.
    pub only: Vec<String>,
    /// Not these packages, by name.
    pub except: Vec<String>,
    /// Only these packages and all that need them, by name.
    pub from: Vec<String>,
    /// The tag of git that follows, with `{name}` and `{version}` for those.
    pub tag: Option<String>,
    /// A change that was only proposed may be published.
    pub allow_pull_request: bool,
}

/// A workspace that can be published.
#[derive(Debug)]
pub struct Prepared {
    /// Its packages.
    pub workspace: Workspace,
    /// What is to be done.
    pub plan: Plan,
    /// What was packed.
    pub set: PackedSet,
    /// Where each package goes.
    pub targets: BTreeMap<PackageId, Target>,
    /// What git says of it.
    pub checkout: Option<Checkout>,
}

/// The folder, in a data folder, of what is kept of a workspace.
#[must_use]
pub fn folder_of(data: &Path, root: &Path) -> PathBuf {
    let digest = Sha256::digest(root.to_string_lossy().as_bytes());
    let mark: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    data.join("publish").join(mark)
}

/// Finds, checks and packs what is published, asks its registries, and makes the plan. `ours` is the folder of what is
/// kept of the workspace, whose lock is held.
///
/// # Errors
///
/// Everything that is in the way, as far as it can be known at once. Nothing was sent anywhere.
pub async fn prepare(
    publisher: &Publisher,
    wish: &Wish,
    ours: &Path,
) -> Result<Prepared, Vec<Problem>> {
    let around = publisher.around();
    let found = discover(&around.root);
    let workspace = Workspace::new(found.packages);
    let mut problems = found.problems;
    problems.extend(workspace.problems());
    let whole = workspace;
    let workspace = select(&whole, wish, &mut problems);
    let checkout = checkout(around);
    problems.extend(dirty(around, checkout.as_ref()).filter(|_| !wish.allow_dirty));
    problems.extend(proposed(around).filter(|_| !wish.allow_pull_request && !wish.offline));
    let mut targets = BTreeMap::new();
    for package in workspace.packages().filter(|package| package.is_public()) {
        problems.extend(odd(package));
        match target_of(package, around) {
            Ok(target) => drop(targets.insert(package.id.clone(), target)),
            Err(problem) => problems.push(*problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if !wish.offline {
        check_outside(publisher, &whole, &workspace).await?;
    }
    let public = workspace.packages().filter_map(|it| Some((it, targets.get(&it.id)?)));
    let public: Vec<(&Package, &Target)> = public.collect();
    let (verify, offline, in_place) = (wish.verify, wish.offline, wish.pin_in_place);
    let options = PackOptions { verify, offline, in_place };
    let set = pack(around, checkout.as_ref(), &public, options, ours)?;
    let workspace = with_built_versions(&workspace, &set);
    let listings = match wish.offline {
        true => BTreeMap::new(),
        false => ask(publisher, &targets, &set).await?,
    };
    let plan = plan(&workspace, &set, &targets, listings)?;
    let mut problems: Vec<Problem> = missing_credentials(&workspace, &plan, &targets).collect();
    let prepared = Prepared { workspace, plan, set, targets, checkout };
    problems.extend(wish.tag.iter().flat_map(|tag| wrong_tags(around, tag, &prepared)));
    if !problems.is_empty() && !wish.offline {
        return Err(problems);
    }
    Ok(prepared)
}

fn plan(
    workspace: &Workspace,
    set: &PackedSet,
    targets: &BTreeMap<PackageId, Target>,
    listings: BTreeMap<PackageId, Listing>,
) -> Result<Plan, Vec<Problem>> {
    let packed = targets.keys().filter_map(|id| Some((id.clone(), set.digests(id)?))).collect();
    let pace = targets.values().map(|target| pace_of(&target.address));
    let pace = pace.max_by_key(|pace| pace.new.is_some()).unwrap_or_default();
    let situation = Situation { listings, packed, pace };
    Plan::new(workspace, &situation).map_err(|error| {
        vec![Problem {
            code: Code::Cycle,
            package: None,
            file: set.folder.clone(),
            line: None,
            what: error.to_string(),
            hint: None,
        }]
    })
}

/// The packages that are wanted. What they need is out, or wanted too: that is seen when registries are asked.
fn select(workspace: &Workspace, wish: &Wish, problems: &mut Vec<Problem>) -> Workspace {
    if wish.only.is_empty() && wish.except.is_empty() && wish.from.is_empty() {
        return workspace.clone();
    }
    let is =
        |package: &Package, name: &str| package.id.name() == name || package.id.to_string() == name;
    for name in wish.only.iter().chain(&wish.except).chain(&wish.from) {
        if !workspace.packages().any(|package| is(package, name)) {
            let known: Vec<&str> = workspace.packages().map(|it| it.id.name()).collect();
            problems.push(Problem {
                code: Code::Manifest,
                package: None,
                file: PathBuf::from("."),
                line: None,
                what: format!("there is no package `{name}`"),
                hint: Some(format!("there are {}", known.join(", "))),
            });
        }
    }
    let named = |names: &[String], package: &Package| names.iter().any(|name| is(package, name));
    let begun = above(workspace, |package| named(&wish.from, package));
    let is_wanted = |package: &&Package| {
        (wish.only.is_empty() || named(&wish.only, package))
            && (wish.from.is_empty() || begun.contains(&package.id))
            && !named(&wish.except, package)
    };
    Workspace::new(workspace.packages().filter(is_wanted).cloned().collect::<Vec<_>>())
}

/// Those packages, and all that need one of them, directly or not.
fn above(workspace: &Workspace, is_one: impl Fn(&Package) -> bool) -> BTreeSet<PackageId> {
    let ones = workspace.packages().filter(|package| is_one(package));
    let mut found: BTreeSet<PackageId> = ones.map(|package| package.id.clone()).collect();
    let mut count = 0;
    while count != found.len() {
        count = found.len();
        let needs = |package: &&Package| {
            workspace.before(&package.id).iter().any(|needed| found.contains(*needed))
        };
        let more: Vec<PackageId> =
            workspace.packages().filter(needs).map(|package| package.id.clone()).collect();
        found.extend(more);
    }
    found
}

/// What is needed of packages that were not asked for must be out.
async fn check_outside(
    publisher: &Publisher,
    whole: &Workspace,
    wanted: &Workspace,
) -> Result<(), Vec<Problem>> {
    let mut needed: BTreeMap<&PackageId, &Package> = BTreeMap::new();
    for package in wanted.packages().filter(|package| package.is_public()) {
        let outside =
            whole.before(&package.id).into_iter().filter(|id| wanted.package(id).is_none());
        needed.extend(outside.map(|id| (id, package)));
    }
    let target = |id: &PackageId| target_of(whole.package(id)?, publisher.around()).ok();
    let targets: BTreeMap<PackageId, Target> =
        needed.keys().filter_map(|id| Some(((*id).clone(), target(id)?))).collect();
    let listings = census(&publisher.client, &targets, |_| None).await;
    let problems = needed.into_iter().filter_map(|(id, by)| {
        let version = whole.package(id)?.version.to_string();
        let listed = listings.get(id).and_then(|it| it.as_ref().ok()?.versions.get(&version));
        if listed.is_some_and(|listed| !listed.is_yanked) {
            return None;
        }
        Some(Problem {
            code: Code::NeedsUnpublished,
            package: Some(by.id.clone()),
            file: by.manifest.clone(),
            line: None,
            what: format!("{} needs {id} {version}, which is not out", by.id),
            hint: Some(format!("publish it too: --only {}", id.name())),
        })
    });
    let problems: Vec<Problem> = problems.collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// A version that is said when it is built is said now.
fn with_built_versions(workspace: &Workspace, set: &PackedSet) -> Workspace {
    let packages = workspace.packages().cloned().map(|mut package| {
        if let (Version::Built, Some(packed)) = (&package.version, set.package(&package.id)) {
            package.version = Version::Written(packed.version.clone());
        }
        package
    });
    Workspace::new(packages.collect::<Vec<_>>())
}

/// What every registry lists; all must be asked, or nothing is planned.
async fn ask(
    publisher: &Publisher,
    targets: &BTreeMap<PackageId, Target>,
    set: &PackedSet,
) -> Result<BTreeMap<PackageId, Listing>, Vec<Problem>> {
    let version_of = |id: &PackageId| Some(set.package(id)?.version.clone());
    let mut listings = BTreeMap::new();
    let mut problems = Vec::new();
    for (id, asked) in census(&publisher.client, targets, version_of).await {
        match asked {
            Ok(listing) => drop(listings.insert(id, listing)),
            Err(error) => problems.push(Problem {
                code: Code::Registry,
                file: PathBuf::from(targets.get(&id).map_or("", |it| &it.address.index)),
                line: None,
                what: format!("the registry of {id} cannot be asked: {error}"),
                hint: None,
                package: Some(id),
            }),
        }
    }
    if problems.is_empty() { Ok(listings) } else { Err(problems) }
}

fn dirty(around: &Surroundings, checkout: Option<&Checkout>) -> Option<Problem> {
    let changes = &checkout?.changes;
    let first = changes.first()?.trim();
    let others = match changes.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Some(Problem {
        code: Code::Dirty,
        package: None,
        file: around.root.clone(),
        line: None,
        what: format!("there are changes that are not committed: {first}{others}"),
        hint: Some("commit them, or say --allow-dirty".to_owned()),
    })
}

/// Pipelines say so when what they have checked out was only proposed.
fn proposed(around: &Surroundings) -> Option<Problem> {
    let event = around.variable("GITHUB_EVENT_NAME").filter(|it| it.starts_with("pull_request"));
    let others = ["CI_MERGE_REQUEST_IID", "BITBUCKET_PR_ID", "CHANGE_ID", "CIRCLE_PULL_REQUEST"];
    let by = event.map(|_| "GITHUB_EVENT_NAME");
    let by = by.or_else(|| others.into_iter().find(|name| around.variable(name).is_some()))?;
    Some(Problem {
        code: Code::PullRequest,
        package: None,
        file: around.root.clone(),
        line: None,
        what: format!("{by} says that this change was only proposed"),
        hint: Some("publish from what was taken in, or say --allow-pull-request".to_owned()),
    })
}

/// Tags that could not be set afterwards.
fn wrong_tags(around: &Surroundings, template: &str, prepared: &Prepared) -> Vec<Problem> {
    let problem = |what: String, hint: &str| Problem {
        code: Code::Tag,
        package: None,
        file: around.root.clone(),
        line: None,
        what,
        hint: Some(hint.to_owned()),
    };
    let Some(commit) = &prepared.set.commit else {
        let what = format!("there is no commit for the tag `{template}`");
        return vec![problem(what, "commit everything, or leave --tag out")];
    };
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

/// Names and versions become parts of addresses and arguments: nothing may be in them that means something there.
fn odd(package: &Package) -> Option<Problem> {
    let name = package.id.name();
    let plain = |text: &str, signs: &str| {
        !text.is_empty()
            && !text.starts_with(['.', '-'])
            && text.chars().all(|it| it.is_ascii_alphanumeric() || signs.contains(it))
    };
    let is_name = match package.id.ecosystem() {
        Ecosystem::Cargo => plain(name, "-_"),
        Ecosystem::Python => plain(name, "-_."),
        Ecosystem::Npm => match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
            Some((scope, name)) => plain(scope, "-_.~") && plain(name, "-_.~"),
            None => plain(name, "-_.~"),
        },
    };
    let is_version = match &package.version {
        Version::Written(version) => plain(version, ".+-_!"),
        Version::Built => true,
    };
    let what = match (is_name, is_version) {
        (true, true) => return None,
        (false, _) => format!("`{name}` is no name of a package"),
        (true, false) => format!("`{}` is no version", package.version),
    };
    Some(Problem {
        code: Code::Manifest,
        package: Some(package.id.clone()),
        file: package.manifest.clone(),
        line: None,
        what,
        hint: None,
    })
}

/// Registries to which something would be uploaded without anybody's leave.
fn missing_credentials<'a>(
    workspace: &'a Workspace,
    plan: &'a Plan,
    targets: &'a BTreeMap<PackageId, Target>,
) -> impl Iterator<Item = Problem> + 'a {
    let mut told: Vec<&str> = Vec::new();
    plan.uploads().filter_map(move |planned| {
        let target = targets.get(&planned.id).filter(|target| target.credentials.is_none())?;
        if told.contains(&target.address.index.as_str()) {
            return None;
        }
        told.push(&target.address.index);
        Some(Problem {
            code: Code::Credentials,
            package: Some(planned.id.clone()),
            file: workspace.package(&planned.id)?.manifest.clone(),
            line: None,
            what: format!("there is no token for the registry `{}`", target.address.name),
            hint: Some(target.credentials_hint.clone()),
        })
    })
}
