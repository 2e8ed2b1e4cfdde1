//! Sets that are packed on one machine and sent from another: files must be what their list says, and the list what was
//! said of it.
//!
//! Whether anything may be sent is found out where it is sent, as ever.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tidewheel::file::write_atomically;

use super::git::Checkout;
use super::pack::{tree_of, whole};
use super::set::{Changed, LIST, PackedFile, PackedPackage, PackedSet, folder_of, hex};
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
        let mut copy = self.copied_to(folder, &self.folder)?;
        copy.forget_out();
        copy.store()?;
        Ok(hex(&Sha256::digest(fs::read(folder.join(LIST))?)))
    }

    /// Registries say what is out, and nobody who brings a set.
    fn forget_out(&mut self) {
        for file in self.packages.values_mut().flat_map(|packed| &mut packed.files) {
            file.out_as = None;
        }
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

/// Takes over what was packed elsewhere, of the same commit, or of the same tree if it was none. Several sets become one,
/// with all files of a package that one of them has: of those with one name, that of the first set.
pub(crate) fn take_over(
    around: &Surroundings,
    checkout: Option<&Checkout>,
    packages: &[&Package],
    carried: &[Carried],
    into: &Path,
) -> Result<PackedSet, Vec<Problem>> {
    let refuse = |folder: &Path, what: String| {
        let hint = Some(
            "carry over what `tidewheel publish pack` has packed of this commit, as it is"
                .to_owned(),
        );
        vec![Problem { file: folder.to_owned(), hint, ..whole(around, what) }]
    };
    let mut sets = Vec::new();
    for carried in carried {
        let set = read(carried).and_then(|set| {
            same_source(around, checkout, &set)?;
            check_files(&set, packages).map(|()| set)
        });
        sets.push(set.map_err(|what| refuse(&carried.folder, what))?);
    }
    let Some(first) = sets.first() else { return Err(refuse(into, "nothing is in it".to_owned())) };
    let folder = first.folder.clone();
    let joined = sets.iter().try_fold(None, |joined, set| join(joined, set).map(Some));
    let joined = joined.map_err(|(folder, what)| refuse(&folder, what))?;
    let Some((mut joined, parts)) = joined else { return Err(refuse(&folder, String::new())) };
    if let Some(missing) = packages.iter().find(|it| joined.package(&it.id).is_none()) {
        return Err(refuse(&folder, format!("{} is not in it", missing.id)));
    }
    joined.folder = into.join("packed").join(&joined.tree);
    let kept =
        parts.iter().try_for_each(|part| part.copied_to(&joined.folder, &part.folder).map(drop));
    let kept = kept.and_then(|()| joined.store());
    kept.map(|()| joined)
        .map_err(|error| refuse(&folder, format!("it cannot be taken over: {error}")))
}

/// Sets that have become one, and of each the part that is in it.
type Joined = (PackedSet, Vec<PackedSet>);

/// One set more, with what it has that is not there yet.
fn join(joined: Option<Joined>, set: &PackedSet) -> Result<Joined, (PathBuf, String)> {
    let Some((mut joined, mut parts)) = joined else {
        return Ok((set.clone(), vec![set.clone()]));
    };
    let mut part = PackedSet { packages: BTreeMap::new(), ..set.clone() };
    for (written, packed) in &set.packages {
        let Some(known) = joined.packages.get_mut(written) else {
            joined.packages.insert(written.clone(), packed.clone());
            part.packages.insert(written.clone(), packed.clone());
            continue;
        };
        if known.version != packed.version {
            let what = format!(
                "{written} has the version {} in it, and {} in another folder",
                packed.version, known.version
            );
            return Err((set.folder.clone(), what));
        }
        let is_new = |file: &&PackedFile| known.files.iter().all(|it| it.name != file.name);
        let files: Vec<PackedFile> = packed.files.iter().filter(is_new).cloned().collect();
        // What is told of files is told of each by its name, where there can be several.
        if let (Some(all), Some(told)) =
            (known.metadata.as_object_mut(), packed.metadata.as_object())
        {
            for file in &files {
                all.extend(told.get(&file.name).map(|it| (file.name.clone(), it.clone())));
            }
        }
        known.files.extend(files.iter().cloned());
        known.files.sort_by(|one, other| one.name.cmp(&other.name));
        part.packages.insert(written.clone(), PackedPackage { files, ..packed.clone() });
    }
    joined.tree = hex(&Sha256::digest(format!("{} {}", joined.tree, set.tree)))[..32].to_owned();
    parts.push(part);
    Ok((joined, parts))
}

/// What a set has of packages is what its list says, in the versions that they have.
fn check_files(set: &PackedSet, packages: &[&Package]) -> Result<(), String> {
    for package in packages {
        let Some(packed) = set.package(&package.id) else { continue };
        if let Version::Written(version) = &package.version
            && *version != packed.version
        {
            return Err(format!("{} is {version}, and {} was packed", package.id, packed.version));
        }
        for file in &packed.files {
            check(set, &package.id, file).map_err(|changed| changed.to_string())?;
        }
    }
    Ok(())
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
    let mut set: PackedSet =
        serde_json::from_slice(&list).map_err(|error| format!("{}: {error}", path.display()))?;
    set.forget_out();
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
    let is_it = PackedFile { inside: file.inside.clone(), ..PackedFile::new(&file.name, &content) };
    if is_it != *file {
        let path = set.path(id, &file.name);
        return Err(Changed::Other { path, expected: file.sha256.clone() });
    }
    Ok(())
}
