//! [`Shelf`]: what a registry has been given and keeps, whatever language it was given in.
//!
//! Who may see what of it, and how that is written, is said by the protocols.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

/// Everything that a registry keeps, by package.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    pub packages: BTreeMap<String, Package>,
}

/// One package.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Package {
    /// In the order in which they came.
    pub versions: Vec<Stored>,
    /// What tags point to (npm).
    pub tags: BTreeMap<String, String>,
}

/// One version that is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stored {
    pub version: String,
    pub files: Vec<StoredFile>,
    pub is_yanked: bool,
    /// What its publisher said of it, in the form of the protocol.
    pub told: Json,
}

/// One file that is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredFile {
    pub name: String,
    pub bytes: Vec<u8>,
    /// In hexadecimal digits.
    pub sha256: String,
    /// What its publisher said of it, in the form of the protocol.
    pub told: Json,
    pub hiding: Hiding,
}

/// How long those who look do not see a file yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hiding {
    /// Looks that are still to come.
    pub looks: u32,
    /// Whether every second of them sees it: they are answered by several machines.
    pub is_flickering: bool,
}

impl StoredFile {
    pub fn new(name: &str, bytes: Vec<u8>, told: Json) -> Self {
        let sha256 = sha256(&bytes);
        Self { name: name.to_owned(), bytes, sha256, told, hiding: Hiding::default() }
    }

    /// One more look at it, and whether it is seen.
    fn look(&mut self) -> bool {
        let Hiding { looks, is_flickering } = self.hiding;
        self.hiding.looks = looks.saturating_sub(1);
        looks == 0 || (is_flickering && looks.is_multiple_of(2))
    }
}

/// A file that is brought, as its protocol has read it.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub package: String,
    pub version: String,
    pub told: Json,
    pub file: StoredFile,
    pub tags: Vec<(String, String)>,
}

/// What became of a file that was brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brought {
    Stored,
    /// It is there, with the same content.
    Same,
    /// It is there, with another content.
    Other,
}

impl Shelf {
    pub fn version(&self, package: &str, version: &str) -> Option<&Stored> {
        let versions = &self.packages.get(package)?.versions;
        versions.iter().find(|it| it.version == version)
    }

    pub fn version_mut(&mut self, package: &str, version: &str) -> Option<&mut Stored> {
        let versions = &mut self.packages.get_mut(package)?.versions;
        versions.iter_mut().find(|it| it.version == version)
    }

    /// What becomes of a file that is brought now.
    pub fn compare(&self, package: &str, version: &str, file: &StoredFile) -> Brought {
        let files =
            self.version(package, version).map(|it| it.files.as_slice()).unwrap_or_default();
        match files.iter().find(|it| it.name == file.name) {
            None => Brought::Stored,
            Some(known) if known.sha256 == file.sha256 => Brought::Same,
            Some(_) => Brought::Other,
        }
    }

    /// Keeps a file, unless one of its name is there.
    pub fn bring(&mut self, package: &str, version: &str, told: Json, file: StoredFile) -> Brought {
        let brought = self.compare(package, version, &file);
        if brought == Brought::Stored {
            let known = self.packages.entry(package.to_owned()).or_default();
            if !known.versions.iter().any(|it| it.version == version) {
                let version = version.to_owned();
                known.versions.push(Stored { version, told, ..Stored::default() });
            }
            if let Some(stored) = known.versions.iter_mut().find(|it| it.version == version) {
                stored.files.push(file);
            }
        }
        brought
    }

    /// One look at a package: what is seen of it, if anything. Versions of which no file is seen are not.
    pub fn look(&mut self, package: &str) -> Option<Package> {
        let package = self.packages.get_mut(package)?;
        let mut seen = Package { versions: Vec::new(), tags: package.tags.clone() };
        for stored in &mut package.versions {
            let mut files = Vec::new();
            for file in &mut stored.files {
                if file.look() {
                    files.push(file.clone());
                }
            }
            if !files.is_empty() {
                seen.versions.push(Stored { files, ..stored.clone() });
            }
        }
        let is_seen = |version: &String| seen.versions.iter().any(|it| it.version == *version);
        let tags = seen.tags.iter().filter(|(_, version)| is_seen(version));
        seen.tags = tags.map(|(tag, version)| (tag.clone(), version.clone())).collect();
        (!seen.versions.is_empty()).then_some(seen)
    }
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
