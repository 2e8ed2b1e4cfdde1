//! Sets that are packed on one machine and sent from another: files must be what their list says, and the list what was
//! said of it.
//!
//! Whether anything may be sent is found out where it is sent, as ever.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tidewheel::file::write_atomically;

use super::git::Checkout;
use super::pack::{tree_of, whole};
use super::set::{Changed, LIST, PackedFile, PackedSet, folder_of, hex};
use crate::package::{Package, PackageId, Version};
use crate::problem::Problem;
use crate::settings::Surroundings;

/// A set that was packed elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// The folder that was brought.
    pub folder: PathBuf,
    /// The digest of its list, as whoever packed it has said; it is not compared if nobody has.
    pub digest: Option<String>,
}

impl PackedSet {
    /// Writes all of it into a folder, to be carried elsewhere, and gives the digest of its list.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or is not what was packed any more.
    pub fn carry_to(&self, folder: &Path) -> io::Result<String> {
        let copy = self.copied_to(folder, &self.folder)?;
        copy.store()?;
        Ok(hex(&Sha256::digest(fs::read(folder.join(LIST))?)))
    }

    /// The same set in another folder, with its files taken from this one, each looked at on its way. Its list is not
    /// written.
    fn copied_to(&self, folder: &Path, from: &Path) -> io::Result<Self> {
        let here = Self { folder: from.to_owned(), ..self.clone() };
        let there = Self { folder: folder.to_owned(), ..self.clone() };
        for (written, package) in &self.packages {
            let Some(id) = PackageId::parse(written) else { continue };
            fs::create_dir_all(there.folder.join(folder_of(&id)))?;
            for file in &package.files {
                let content = here.content(&id, file).map_err(io::Error::other)?;
                write_atomically(&there.path(&id, &file.name), &content)?;
            }
        }
        Ok(there)
    }
}

/// Takes over a set that was packed elsewhere, of the same commit, or of the same tree if it was none.
pub(crate) fn take_over(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    packages: &[&Package],
    carried: &Carried,
    into: &Path,
) -> Result<PackedSet, Vec<Problem>> {
    let refuse = |what: String| {
        let hint = Some(
            "carry over what `tidewheel publish pack` has packed of this commit, as it is"
                .to_owned(),
        );
        vec![Problem { file: carried.folder.clone(), hint, ..whole(around, what) }]
    };
    let set = read(carried).map_err(refuse)?;
    same_source(around, checkout, &set).map_err(refuse)?;
    for package in packages {
        let Some(packed) = set.package(&package.id) else {
            return Err(refuse(format!("{} is not in it", package.id)));
        };
        if let Version::Written(version) = &package.version
            && *version != packed.version
        {
            let what = format!("{} is {version}, and {} was packed", package.id, packed.version);
            return Err(refuse(what));
        }
        for file in &packed.files {
            check(&set, &package.id, file).map_err(|changed| refuse(changed.to_string()))?;
        }
    }
    let kept = set.copied_to(&into.join("packed").join(&set.tree), &carried.folder);
    let kept = kept.and_then(|kept| kept.store().map(|()| kept));
    kept.map_err(|error| refuse(format!("it cannot be taken over: {error}")))
}

/// What a folder says that it has. It comes from elsewhere: no name in it may lead out of it.
fn read(carried: &Carried) -> Result<PackedSet, String> {
    let path = carried.folder.join(LIST);
    let list =
        fs::read(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let digest = hex(&Sha256::digest(&list));
    if let Some(said) = carried.digest.as_ref().filter(|said| **said != digest) {
        return Err(format!("its list has the digest {digest}, and should have {said}"));
    }
    let set: PackedSet =
        serde_json::from_slice(&list).map_err(|error| format!("{}: {error}", path.display()))?;
    let is_name = |name: &str| {
        !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0', '\n'])
    };
    let names = set.packages.values().flat_map(|it| &it.files).map(|file| file.name.as_str());
    if let Some(odd) = names.chain([set.tree.as_str()]).find(|name| !is_name(name)) {
        return Err(format!("`{}` is no name of a file", odd.escape_debug()));
    }
    Ok(PackedSet { folder: carried.folder.clone(), ..set })
}

/// What is sent is of what is checked out.
fn same_source(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    set: &PackedSet,
) -> Result<(), String> {
    let clean = checkout.filter(|it| it.changes.is_empty()).and_then(|it| it.commit.as_ref());
    match (&set.commit, clean) {
        (Some(then), Some(now)) if then == now => Ok(()),
        (Some(then), Some(now)) => {
            Err(format!("it was packed from commit {then}, and {now} is checked out"))
        }
        (Some(then), None) => {
            Err(format!("it was packed from commit {then}, and something else is here"))
        }
        (None, _) => {
            let is_it =
                |in_place| tree_of(around, checkout, in_place).is_ok_and(|it| it == set.tree);
            let is_same = is_it(false) || is_it(true);
            is_same.then_some(()).ok_or_else(|| "it was packed from another tree".to_owned())
        }
    }
}

/// All digests of a file are compared, not only the one that is looked at later.
fn check(set: &PackedSet, id: &PackageId, file: &PackedFile) -> Result<(), Changed> {
    let content = set.content(id, file)?;
    if PackedFile::new(&file.name, &content) != *file {
        let path = set.path(id, &file.name);
        return Err(Changed::Other { path, expected: file.sha256.clone() });
    }
    Ok(())
}
