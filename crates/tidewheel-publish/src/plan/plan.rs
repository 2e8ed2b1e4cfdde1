//! [`Plan`]: what is to be done about each package of a workspace, in order, with a digest of all of it.
//!
//! It is a value: the same workspace in the same situation gives the same plan, whoever makes it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tidewheel::GraphError;

use super::class::Class;
use super::rate::Pace;
use crate::package::{Package, PackageId, Version};
use crate::registry::{Digest, Listing};
use crate::settings::Address;
use crate::workspace::Workspace;

/// What is known about the packages of a workspace.
#[derive(Debug, Clone, Default)]
pub struct Situation {
    /// What the registries list; a package that is not in it was not asked for.
    pub listings: BTreeMap<PackageId, Listing>,
    /// The files that were packed, each with its digests; a package that is not in it was not packed.
    pub packed: BTreeMap<PackageId, Vec<(String, Vec<Digest>)>>,
    /// Where packages go; one that is not in it goes nowhere.
    pub addresses: BTreeMap<PackageId, Address>,
    /// How fast registries take packages, by where they are; of one that is not in it nothing is known.
    pub paces: BTreeMap<String, Pace>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Packages, each after those it needs; private ones last.
    pub packages: Vec<Planned>,
    /// How long it takes at least, because registries take only so many.
    pub wait: Duration,
    /// A digest of all of it: another one means another plan.
    pub digest: String,
}

/// What is to be done about one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The package.
    pub id: PackageId,
    /// Its version.
    pub version: Version,
    /// What is to be done.
    pub class: Class,
    /// What must be resolvable before.
    pub after: Vec<PackageId>,
}

impl Plan {
    /// The plan of a workspace.
    ///
    /// # Errors
    ///
    /// When its packages need each other in a circle.
    pub fn new(workspace: &Workspace, situation: &Situation) -> Result<Self, GraphError> {
        let mut packages: Vec<Planned> = Vec::new();
        let mut missing: BTreeSet<PackageId> = BTreeSet::new();
        for package in workspace.order()? {
            let after: Vec<PackageId> =
                workspace.before(&package.id).into_iter().cloned().collect();
            let class = situation.class(package);
            let by = after.iter().find(|needed| missing.contains(needed)).cloned();
            let class = match by {
                // What is out is out, whatever has become of what it needs.
                Some(by) if class.is_upload() => Class::Blocked { by },
                _ => class,
            };
            if !class.can_be_had() {
                missing.insert(package.id.clone());
            }
            packages.push(Planned {
                id: package.id.clone(),
                version: package.version.clone(),
                class,
                after,
            });
        }
        let private = workspace.packages().filter(|package| !package.is_public());
        packages.extend(private.map(|package| Planned {
            id: package.id.clone(),
            version: package.version.clone(),
            class: Class::Private,
            after: Vec::new(),
        }));
        let wait = wait(&packages, situation);
        let digest = digest(&packages, situation);
        Ok(Self { packages, wait, digest })
    }

    /// Those of which something is uploaded.
    pub fn uploads(&self) -> impl Iterator<Item = &Planned> {
        self.packages.iter().filter(|planned| planned.class.is_upload())
    }

    /// Those about which a person has to do something.
    pub fn stuck(&self) -> impl Iterator<Item = &Planned> {
        let is_stuck = |planned: &&Planned| {
            matches!(planned.class, Class::Conflict { .. } | Class::Yanked | Class::Blocked { .. })
        };
        self.packages.iter().filter(is_stuck)
    }
}

impl Situation {
    fn class(&self, package: &Package) -> Class {
        let Some(listing) = self.listings.get(&package.id) else { return Class::Unknown };
        // A version that is said when it is built is the only one that its files can have.
        let Version::Written(version) = &package.version else { return Class::Unknown };
        let packed = self.packed.get(&package.id).map(Vec::as_slice).unwrap_or_default();
        Class::of(&package.id, listing, version, packed)
    }
}

/// How long it takes at least. Registries go side by side: the slowest counts.
fn wait(packages: &[Planned], situation: &Situation) -> Duration {
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for planned in packages {
        let Some(address) = situation.addresses.get(&planned.id) else { continue };
        let (new, updates) = counts.entry(&address.index).or_default();
        match planned.class {
            Class::New => *new += 1,
            Class::Update | Class::Partial { .. } => *updates += 1,
            _ => {}
        }
    }
    let waits = counts
        .into_iter()
        .filter_map(|(index, (new, updates))| Some(situation.paces.get(index)?.wait(new, updates)));
    waits.max().unwrap_or_default()
}

/// A digest of packages, versions, order, what is to be done and where, and the files that were packed.
fn digest(packages: &[Planned], situation: &Situation) -> String {
    let mut lines = String::new();
    for Planned { id, version, class, after } in packages {
        let after: Vec<String> = after.iter().map(ToString::to_string).collect();
        lines.push_str(&format!("{id} {version} {class} after {}\n", after.join(" ")));
        if let Some(Address { index, upload, .. }) = situation.addresses.get(id) {
            lines.push_str(&format!("  to {index} {upload:?}\n"));
        }
        for (name, digests) in situation.packed.get(id).into_iter().flatten() {
            lines.push_str(&format!("  {name} {digests:?}\n"));
        }
    }
    Sha256::digest(lines).iter().map(|byte| format!("{byte:02x}")).collect()
}
