//! [`PackedSet`]: what was packed of a workspace, kept in a folder of its own until it is out.
//!
//! Files are never packed twice for one state of a tree, and never sent if they are not what they were.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use tidewheel::file::write_atomically;

use super::archive::{self, InnerFile};
use crate::package::PackageId;
use crate::registry::{Algorithm, Digest};

/// The file that says what is in the folder.
pub(super) const LIST: &str = "packed.json";

/// What was packed of a workspace.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PackedSet {
    /// A digest of the tree that it was packed from.
    pub tree: String,
    /// The commit that was checked out, if there was one and nothing was changed.
    pub commit: Option<String>,
    /// By package, as [`PackageId`] is written.
    pub packages: BTreeMap<String, PackedPackage>,
    /// The folder with the files.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// What was packed of one package.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PackedPackage {
    /// Its version, as it is in the files.
    pub version: String,
    /// The files: one for crates and npm, some for Python.
    pub files: Vec<PackedFile>,
    /// What its registry is told, in its own form.
    pub metadata: Json,
}

/// What is in a file that was packed.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Inside {
    /// How many files.
    pub files: usize,
    /// How many bytes they have when they are unpacked.
    pub bytes: u64,
    /// Those that look as if somebody had left them there.
    pub odd: Vec<InnerFile>,
}

impl Inside {
    pub(super) fn of(files: &[InnerFile]) -> Self {
        let bytes = files.iter().map(|file| file.bytes).sum();
        let odd = files.iter().filter(|file| file.is_odd()).cloned();
        Self { files: files.len(), bytes, odd: odd.collect() }
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PackedFile {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// Of its content, in hexadecimal digits.
    pub sha256: String,
    /// The same, as npm has it.
    pub sha512: String,
    /// The same, as npm once had it.
    pub sha1: String,
    /// What is in it.
    #[serde(default)]
    pub inside: Inside,
    /// The digest of what is out in its place: the same contents, as they were packed of another commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_as: Option<String>,
}

impl PackedFile {
    /// The file with this content.
    pub(super) fn new(name: &str, content: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            bytes: content.len() as u64,
            sha256: hex(&Sha256::digest(content)),
            sha512: hex(&Sha512::digest(content)),
            sha1: hex(&Sha1::digest(content)),
            inside: Inside::default(),
            out_as: None,
        }
    }

    /// Its digests, in every form that a registry may have them; those of what is out in its place, if that is as good.
    #[must_use]
    pub fn digests(&self) -> Vec<Digest> {
        if let Some(out) = &self.out_as {
            return Digest::from_hex(Algorithm::Sha256, out).into_iter().collect();
        }
        let all = [
            (Algorithm::Sha256, &self.sha256),
            (Algorithm::Sha512, &self.sha512),
            (Algorithm::Sha1, &self.sha1),
        ];
        all.into_iter().filter_map(|(algorithm, text)| Digest::from_hex(algorithm, text)).collect()
    }
}

/// A file that is not what was packed.
#[derive(Debug, thiserror::Error)]
pub enum Changed {
    /// It is not there, or cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is another one.
    #[error("{} is not what was packed: it should have the digest {expected}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What it should have.
        expected: String,
    },
}

impl PackedSet {
    /// The set that is kept in a folder, if there is one.
    #[must_use]
    pub fn load(folder: &Path) -> Option<Self> {
        let text = fs::read(folder.join(LIST)).ok()?;
        let set: Self = serde_json::from_slice(&text).ok()?;
        Some(Self { folder: folder.to_owned(), ..set })
    }

    /// Keeps a set: its list is written last, so that a folder with one has all of its files.
    pub(super) fn store(&self) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        write_atomically(&self.folder.join(LIST), &text)
    }

    /// Notes in the list of a folder which digests some crates are out with that have the same contents.
    pub(crate) fn note_out(folder: &Path, out: &[(PackageId, String)]) -> io::Result<Self> {
        let mut set = Self::load(folder).ok_or(io::ErrorKind::NotFound)?;
        for (id, digest) in out {
            let packed = set.packages.get_mut(&id.to_string());
            for file in packed.into_iter().flat_map(|packed| &mut packed.files) {
                file.out_as = Some(digest.clone());
            }
        }
        set.store().map(|()| set)
    }

    /// Whether what is out of a package was packed of another commit.
    #[must_use]
    pub fn is_of_another_commit(&self, id: &PackageId) -> bool {
        self.package(id).is_some_and(|packed| packed.files.iter().any(|it| it.out_as.is_some()))
    }

    /// What was packed of a package.
    #[must_use]
    pub fn package(&self, id: &PackageId) -> Option<&PackedPackage> {
        self.packages.get(&id.to_string())
    }

    /// The files of a package with their digests, as a plan wants them.
    #[must_use]
    pub fn digests(&self, id: &PackageId) -> Option<Vec<(String, Vec<Digest>)>> {
        let files = &self.package(id)?.files;
        Some(files.iter().map(|file| (file.name.clone(), file.digests())).collect())
    }

    /// Where a file of a package is.
    #[must_use]
    pub fn path(&self, id: &PackageId, file: &str) -> PathBuf {
        self.folder.join(folder_of(id)).join(file)
    }

    /// What is in a file of a package.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn inside(&self, id: &PackageId, file: &PackedFile) -> Result<Vec<InnerFile>, String> {
        archive::list(&self.path(id, &file.name))
    }

    /// The content of a file, if it is still what was packed.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub fn content(&self, id: &PackageId, file: &PackedFile) -> Result<Vec<u8>, Changed> {
        let path = self.path(id, &file.name);
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) => return Err(Changed::Unreadable { path, error }),
        };
        if hex(&Sha256::digest(&content)) != file.sha256 {
            return Err(Changed::Other { path, expected: file.sha256.clone() });
        }
        Ok(content)
    }

    /// The statement about a file, if one was made.
    #[must_use]
    pub fn statement(&self, id: &PackageId, file: &PackedFile) -> Option<Json> {
        let text = fs::read(self.path(id, &statement_name(file))).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps the statement about a file beside it: it is made once.
    pub(crate) fn keep_statement(
        &self,
        id: &PackageId,
        file: &PackedFile,
        statement: &Json,
    ) -> io::Result<()> {
        write_atomically(&self.path(id, &statement_name(file)), &serde_json::to_vec(statement)?)
    }

    /// Makes sure that all files of a package are what they were.
    ///
    /// # Errors
    ///
    /// The first that is not.
    pub fn check(&self, id: &PackageId) -> Result<(), Changed> {
        let files = self.package(id).map(|it| it.files.as_slice()).unwrap_or_default();
        files.iter().try_for_each(|file| self.content(id, file).map(drop))
    }
}

/// The name of the statement about a file. One about another content is another one.
fn statement_name(file: &PackedFile) -> String {
    format!("{}.{}.statement", file.name, &file.sha256[..file.sha256.len().min(16)])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A folder for a package. Names are anybody's; what has no harm in it stays readable, and no two share one.
pub(crate) fn folder_of(id: &PackageId) -> String {
    let harmless =
        |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = id.name().chars().map(harmless).take(64).collect();
    let digest = Sha256::digest(id.to_string());
    let mark: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{name}-{mark}", id.ecosystem().word())
}
