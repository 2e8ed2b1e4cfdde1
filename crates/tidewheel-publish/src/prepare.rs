//! [`prepare`]: from a folder to a plan, with everything packed and every registry asked, and nothing sent.
//!
//! Carrying a plan out is in [`crate::run`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::discover::discover;
use crate::exchange::census;
use crate::pack::{
    Carried, Checkout, Handed, PackOptions, PackedSet, begin, checkout, pack, stale_locked,
    take_over,
};
use crate::package::{Need, Package, PackageId, Version};
use crate::plan::{Class, Pace, Plan, Situation};
use crate::preflight::{
    about_checkout, about_leave, about_provenance, odd, stale_locks, unmet_needs, wrong_tags,
};
use crate::problem::{Code, Problem};
use crate::registry::Listing;
use crate::run::{Journal, Publisher, pace_of};
use crate::settings::{Target, target_of};
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
    /// A commit that is on no branch and has no tag may be published.
    pub allow_detached: bool,
    /// Files that were packed and are not what they were are packed again, if that gives the same or nobody has them.
    pub rebuild: bool,
    /// Nothing is packed before it is its turn.
    pub stream: bool,
    /// What was packed on other machines is sent, and nothing is packed here.
    pub packed: Vec<Carried>,
    /// Folders with files of Python's that were built elsewhere, and are published as they are.
    pub wheels: Vec<PathBuf>,
    /// What is said about statements of where packages were built.
    pub provenance: Provenance,
    /// Registries are asked whether tokens are good, where they can say it.
    pub check_tokens: bool,
    /// How fast registries of crates take packages, where that is not what is known of them.
    pub pace: Pace,
}

/// What is said about statements of where packages were built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Provenance {
    /// Nothing: a package that wants one cannot have it.
    #[default]
    Unsaid,
    /// Somebody signs them.
    Signed,
    /// None are made, whatever packages want.
    Without,
}

/// What is being done, for those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "doing", rename_all = "kebab-case")]
pub enum Chore {
    /// So many packages are packed.
    Packing {
        /// How many.
        packages: usize,
    },
    /// Registries are asked for so many.
    Asking {
        /// How many.
        packages: usize,
    },
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
/// kept of the workspace, whose lock is held. `tell` hears what is begun.
///
/// # Errors
///
/// Everything that is in the way, as far as it can be known at once. Nothing was sent anywhere.
pub async fn prepare(
    publisher: &Publisher,
    wish: &Wish,
    ours: &Path,
    tell: &(dyn Fn(Chore) + Sync),
) -> Result<Prepared, Vec<Problem>> {
    let gathered = gather(publisher, wish)?;
    if !wish.offline {
        check_outside(publisher, &gathered.whole, &gathered.workspace).await?;
    }
    let set = gathered.packed(publisher, wish, ours, tell)?;
    let targets = &gathered.targets;
    let listings = match wish.offline {
        true => BTreeMap::new(),
        false => {
            tell(Chore::Asking { packages: targets.len() });
            ask(publisher, targets, &set).await?
        }
    };
    let set = recognised(publisher, set, targets, &listings).await?;
    let set = gathered.packed_again(publisher, wish, ours, tell, set, &listings)?;
    let Gathered { whole, workspace, targets, checkout } = gathered;
    let workspace = with_built_versions(&workspace, &set);
    let plan = plan(&workspace, &set, &targets, listings.clone(), wish.pace)?;
    let asks = wish.check_tokens && !wish.offline;
    let mut problems = about_leave(publisher, &workspace, &plan, &targets, asks).await;
    problems.extend(unmet_needs(&whole, &plan, &set, listings));
    problems.extend(about_provenance(wish, &workspace, &plan, &set));
    let prepared = Prepared { workspace, plan, set, targets, checkout };
    let around = publisher.around();
    problems.extend(wish.tag.iter().flat_map(|tag| wrong_tags(around, tag, &prepared)));
    if wish.rebuild {
        problems.extend(prepared.rebuilt_otherwise());
    }
    if !problems.is_empty() && !wish.offline {
        return Err(problems);
    }
    Ok(prepared)
}

/// Finds, checks and packs what is published, and asks no registry: what was packed can be sent from elsewhere.
///
/// # Errors
///
/// Everything that is in the way, as far as it can be known at once.
pub fn pack_only(
    publisher: &Publisher,
    wish: &Wish,
    ours: &Path,
    tell: &(dyn Fn(Chore) + Sync),
) -> Result<PackedSet, Vec<Problem>> {
    gather(publisher, wish)?.packed(publisher, wish, ours, tell)
}

/// What is to be published, and where to.
struct Gathered {
    /// All packages of the workspace.
    whole: Workspace,
    /// Those that are wanted.
    workspace: Workspace,
    targets: BTreeMap<PackageId, Target>,
    checkout: Option<Checkout>,
}

/// Finds what is to be published, and all that can be said against it before it is packed.
fn gather(publisher: &Publisher, wish: &Wish) -> Result<Gathered, Vec<Problem>> {
    let around = publisher.around();
    let found = discover(&around.root);
    let whole = Workspace::new(found.packages);
    let mut problems = found.problems;
    problems.extend(whole.problems());
    let workspace = select(&whole, wish, &mut problems);
    let checkout = checkout(around);
    problems.extend(about_checkout(around, checkout.as_ref(), wish));
    problems.extend(stale_locks(&around.root, &workspace));
    let mut targets = BTreeMap::new();
    for package in workspace.packages().filter(|package| package.is_public()) {
        problems.extend(odd(package));
        match target_of(package, around) {
            Ok(target) => drop(targets.insert(package.id.clone(), target)),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() {
        Ok(Gathered { whole, workspace, targets, checkout })
    } else {
        Err(problems)
    }
}

impl Gathered {
    /// What was packed of it, here or elsewhere.
    fn packed(
        &self,
        publisher: &Publisher,
        wish: &Wish,
        ours: &Path,
        tell: &(dyn Fn(Chore) + Sync),
    ) -> Result<PackedSet, Vec<Problem>> {
        let (around, checkout) = (publisher.around(), self.checkout.as_ref());
        let public = self.workspace.packages();
        let public = public.filter_map(|it| Some((it, self.targets.get(&it.id)?)));
        let public: Vec<(&Package, &Target)> = public.collect();
        if !wish.packed.is_empty() {
            let packages: Vec<&Package> = public.iter().map(|(package, _)| *package).collect();
            return take_over(around, checkout, &packages, &wish.packed, ours);
        }
        if wish.stream {
            return begin(around, checkout, &public, ours);
        }
        tell(Chore::Packing { packages: public.len() });
        let options = self.options(wish)?;
        pack(around, checkout, &public, &options, ours, &Journal::may_be_out)
    }

    fn options(&self, wish: &Wish) -> Result<PackOptions, Vec<Problem>> {
        Ok(PackOptions {
            verify: wish.verify,
            offline: wish.offline,
            in_place: wish.pin_in_place,
            rebuild: wish.rebuild,
            handed: handed(&wish.wheels, &self.whole)?,
            ..PackOptions::default()
        })
    }

    /// The same with crates packed again that are to be sent, and whose lock files know others as they were packed with them,
    /// and not as they are out: now these are found in their registry. What was packed elsewhere stays as it is.
    fn packed_again(
        &self,
        publisher: &Publisher,
        wish: &Wish,
        ours: &Path,
        tell: &(dyn Fn(Chore) + Sync),
        set: PackedSet,
        listings: &BTreeMap<PackageId, Listing>,
    ) -> Result<PackedSet, Vec<Problem>> {
        let is_sent = |id: &&PackageId| {
            let version = set.package(id).map(|packed| packed.version.as_str());
            let listed = listings.get(*id).zip(version);
            listed.is_some_and(|(it, version)| it.version(id.ecosystem(), version).is_none())
        };
        let again = stale_locked(&set, self.targets.keys().filter(is_sent));
        if again.is_empty() || wish.stream || !wish.packed.is_empty() {
            return Ok(set);
        }
        tell(Chore::Packing { packages: again.len() });
        let out = self.targets.keys().filter(|id| set.is_of_another_commit(id)).cloned();
        let options = PackOptions { again, without: out.collect(), ..self.options(wish)? };
        let public = self.workspace.packages();
        let public = public.filter_map(|it| Some((it, self.targets.get(&it.id)?)));
        let public: Vec<(&Package, &Target)> = public.collect();
        let (around, checkout) = (publisher.around(), self.checkout.as_ref());
        pack(around, checkout, &public, &options, ours, &Journal::may_be_out)
    }
}

/// What is in folders of files that were built elsewhere. A file of a package that is not here was meant for something else.
fn handed(folders: &[PathBuf], whole: &Workspace) -> Result<Handed, Vec<Problem>> {
    let refuse = |file: PathBuf, what: String, hint: &str| {
        let hint = Some(hint.to_owned());
        vec![Problem { code: Code::Packing, package: None, file, line: None, what, hint }]
    };
    let handed = Handed::read(folders).map_err(|(folder, what)| {
        refuse(folder, what, "name folders with wheels that were built of this commit")
    })?;
    if let Some(stray) = handed.stray(|id| whole.package(id).is_some()) {
        let what = "it is of no package of this workspace".to_owned();
        return Err(refuse(stray.to_owned(), what, "take it out of the folder"));
    }
    Ok(handed)
}

impl Prepared {
    /// Packages that were packed again, and are not what is out.
    fn rebuilt_otherwise(&self) -> impl Iterator<Item = Problem> {
        let conflicts =
            self.plan.packages.iter().filter(|it| matches!(it.class, Class::Conflict { .. }));
        conflicts.filter_map(|planned| {
            let package = self.workspace.package(&planned.id)?;
            Some(Problem {
                code: Code::Packing,
                package: Some(package.id.clone()),
                file: package.manifest.clone(),
                line: None,
                what: format!("{} {}: {}", package.id, package.version, planned.class),
                hint: Some("put the file back that was packed, or raise the version".to_owned()),
            })
        })
    }
}

fn plan(
    workspace: &Workspace,
    set: &PackedSet,
    targets: &BTreeMap<PackageId, Target>,
    listings: BTreeMap<PackageId, Listing>,
    said: Pace,
) -> Result<Plan, Vec<Problem>> {
    let packed = targets.keys().filter_map(|id| Some((id.clone(), set.digests(id)?))).collect();
    let addresses = targets.iter().map(|(id, target)| (id.clone(), target.address.clone()));
    let paces = targets.iter().map(|(id, Target { address, .. })| {
        (address.index.clone(), pace_of(id.ecosystem(), address, said))
    });
    let (addresses, paces) = (addresses.collect(), paces.collect());
    let situation = Situation { listings, packed, addresses, paces };
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
    let mut needed: Vec<(&Package, &PackageId)> = Vec::new();
    // Those that are wanted know nothing of the others.
    let wanted_ones = whole.packages().filter(|it| wanted.package(&it.id).is_some());
    for package in wanted_ones.filter(|package| package.is_public()) {
        let outside =
            whole.before(&package.id).into_iter().filter(|id| wanted.package(id).is_none());
        needed.extend(outside.map(|id| (package, id)));
    }
    let target = |id: &PackageId| target_of(whole.package(id)?, publisher.around()).ok();
    let targets: BTreeMap<PackageId, Target> =
        needed.iter().filter_map(|(_, id)| Some(((*id).clone(), target(id)?))).collect();
    let listings = census(&publisher.client, &targets, |_| None).await;
    let problems = needed.into_iter().filter_map(|(by, id)| {
        let version = whole.package(id)?.version.to_string();
        let listing = listings.get(id).and_then(|it| it.as_ref().ok());
        let listed = listing.and_then(|it| it.version(id.ecosystem(), &version));
        let has_this = listed.is_some_and(|listed| !listed.is_yanked);
        let is_met = |need: &Need| match &need.range {
            // Whoever works on it takes any that will do.
            Some(range) if need.is_for_work() => {
                listing.is_some_and(|it| it.has(id.ecosystem(), range))
            }
            _ => has_this,
        };
        if by.needs.iter().filter(|need| need.package == *id && need.is_order()).all(is_met) {
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

/// What was packed, with what is out of it as it was packed of another commit.
async fn recognised(
    publisher: &Publisher,
    set: PackedSet,
    targets: &BTreeMap<PackageId, Target>,
    listings: &BTreeMap<PackageId, Listing>,
) -> Result<PackedSet, Vec<Problem>> {
    match publisher.recognised(&set, targets, listings).await {
        Ok(known) => Ok(known.unwrap_or(set)),
        Err((id, trouble)) => Err(vec![unasked(targets, id, &trouble.to_string())]),
    }
}

fn unasked(targets: &BTreeMap<PackageId, Target>, id: PackageId, error: &str) -> Problem {
    Problem {
        code: Code::Registry,
        file: PathBuf::from(targets.get(&id).map_or("", |it| &it.address.index)),
        line: None,
        what: format!("the registry of {id} cannot be asked: {error}"),
        hint: None,
        package: Some(id),
    }
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
            Err(error) => problems.push(unasked(targets, id, &error)),
        }
    }
    if problems.is_empty() { Ok(listings) } else { Err(problems) }
}
