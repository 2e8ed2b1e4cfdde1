//! [`Handed`]: files of Python's that were built elsewhere, one wheel for each machine, and are published as they are.
//!
//! Which package a file is of is in its name; what it says of itself is read where packages are packed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::set::{PackedPackage, hex};
use crate::package::{Ecosystem, PackageId};

/// Files that were built elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handed(Vec<HandedFile>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct HandedFile {
    of: PackageId,
    path: PathBuf,
    name: String,
    sha256: String,
}

impl Handed {
    /// The wheels and source distributions in folders, but not in folders inside them.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read, has nothing, or two of them have one file with two contents: the folder and why.
    pub fn read(folders: &[PathBuf]) -> Result<Self, (PathBuf, String)> {
        let mut handed = Self::default();
        for folder in folders {
            handed.read_folder(folder).map_err(|why| (folder.clone(), why))?;
        }
        Ok(handed)
    }

    fn read_folder(&mut self, folder: &Path) -> Result<(), String> {
        let entries =
            fs::read_dir(folder).map_err(|error| format!("it cannot be read: {error}"))?;
        let mut paths: Vec<PathBuf> = entries.filter_map(|it| Some(it.ok()?.path())).collect();
        paths.sort();
        let mut found = 0;
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(of) = package_of(&name) else { continue };
            found += 1;
            let content = fs::read(&path).map_err(|error| format!("{name}: {error}"))?;
            let sha256 = hex(&Sha256::digest(content));
            match self.0.iter().find(|known| known.name == name) {
                Some(known) if known.sha256 == sha256 => {}
                Some(_) => return Err(format!("{name} is another one in a folder before it")),
                None => self.0.push(HandedFile { of, path, name, sha256 }),
            }
        }
        match found {
            0 => Err("there is no wheel and no source distribution in it".to_owned()),
            _ => Ok(()),
        }
    }

    /// The files of a package.
    pub(super) fn of(&self, id: &PackageId) -> Vec<&Path> {
        self.0.iter().filter(|it| it.of == *id).map(|it| it.path.as_path()).collect()
    }

    /// Whether there are files of a package, and they are not those that were packed.
    pub(super) fn is_other(&self, id: &PackageId, packed: &PackedPackage) -> bool {
        let ours = self.0.iter().filter(|it| it.of == *id).map(|it| (&it.name, &it.sha256));
        let ours: BTreeSet<_> = ours.collect();
        let packed: BTreeSet<_> = packed.files.iter().map(|it| (&it.name, &it.sha256)).collect();
        !ours.is_empty() && ours != packed
    }

    /// The first file that is of no package that is known.
    pub(crate) fn stray(&self, is_known: impl Fn(&PackageId) -> bool) -> Option<&Path> {
        self.0.iter().find(|it| !is_known(&it.of)).map(|it| it.path.as_path())
    }
}

/// The package that a file is of: `our_a` of `our_a-1.0-cp312-abi3-linux_x86_64.whl` and of `our_a-1.0.tar.gz`.
fn package_of(file: &str) -> Option<PackageId> {
    let name = match file.strip_suffix(".whl") {
        Some(wheel) => wheel.split('-').next()?,
        None => file.strip_suffix(".tar.gz")?.rsplit_once('-')?.0,
    };
    (!name.is_empty()).then(|| PackageId::new(Ecosystem::Python, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_in_its_name_of_which_package_it_is() {
        let of = |file: &str| package_of(file).map(|id| id.name().to_owned());
        assert_eq!(of("Our_A-1.0-cp312-abi3-linux_x86_64.whl").as_deref(), Some("our-a"));
        assert_eq!(of("our_a-1.0.tar.gz").as_deref(), Some("our-a"));
        assert_eq!(of("our-a-1.0.tar.gz").as_deref(), Some("our-a"));
        for other in ["readme.md", "a.zip", "a.tar.gz", ".whl"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
