//! [`Workbench`]: packages that are packed one by one, as they go out, in one copy of their workspace.
//!
//! When each is packed is said by its attempt; how, in the files beside.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::git::Checkout;
use super::pack::{Copied, PackOptions, Staging, copy, keep, make_copied, tree_of, whole};
use super::set::PackedSet;
use crate::package::{Package, PackageId, Version};
use crate::problem::{Code, Problem};
use crate::settings::{Surroundings, Target};

/// A copy of a workspace in which packages are packed one by one. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Workbench {
    copied: Copied,
    _staging: Staging,
}

/// The set into which packages of a tree are packed as they go out, with what was packed of it before.
pub(crate) fn begin(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    packages: &[(&Package, &Target)],
    into: &Path,
) -> Result<PackedSet, Vec<Problem>> {
    let built = packages.iter().filter(|(package, _)| package.version == Version::Built);
    let unknown = built.map(|(package, _)| Problem {
        code: Code::Packing,
        package: Some(package.id.clone()),
        file: package.manifest.clone(),
        line: None,
        what: format!("the version of {} is only known when it is built", package.id),
        hint: Some("leave --stream out".to_owned()),
    });
    let unknown: Vec<Problem> = unknown.collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let refuse = |what: String| vec![whole(around, what)];
    let tree = tree_of(around, checkout, false).map_err(refuse)?;
    let folder = into.join("packed").join(&tree);
    if let Some(known) = PackedSet::load(&folder) {
        return Ok(known);
    }
    let clean = checkout.filter(|it| it.changes.is_empty());
    let commit = clean.and_then(|it| it.commit.clone());
    let set = PackedSet { tree, commit, packages: BTreeMap::new(), folder };
    let stored = fs::create_dir_all(&set.folder).and_then(|()| set.store());
    stored.map(|()| set).map_err(|error| refuse(error.to_string()))
}

impl Workbench {
    /// Copies a workspace, which must be what the set was begun for.
    pub fn open(
        around: &Surroundings,
        checkout: Option<&Checkout>,
        into: &Path,
        tree: &str,
    ) -> Result<Self, String> {
        let staging = Staging::new(into);
        let copied = copy(around, checkout, &staging)?;
        if copied.tree != tree {
            return Err("the workspace is not what it was when this was planned".to_owned());
        }
        Ok(Self { copied, _staging: staging })
    }

    /// Packs one package more into a set.
    pub fn pack(
        &self,
        around: &Surroundings,
        (package, target): (&Package, &Target),
        verify: bool,
        folder: &Path,
    ) -> Result<PackedSet, Vec<Problem>> {
        let gone = || vec![whole(around, format!("{} is not there any more", folder.display()))];
        let set = PackedSet::load(folder).ok_or_else(gone)?;
        let options = PackOptions { verify, ..PackOptions::default() };
        let made = make_copied(around, &[(package, target)], &options, folder, &self.copied)?;
        let failed =
            |error| vec![whole(around, format!("what was packed cannot be kept: {error}"))];
        keep(set, made).map_err(failed)
    }
}

/// Whether a package is in a set, with files that are what they were.
pub(crate) fn is_packed(set: &PackedSet, id: &PackageId) -> bool {
    set.package(id).is_some() && set.check(id).is_ok()
}
