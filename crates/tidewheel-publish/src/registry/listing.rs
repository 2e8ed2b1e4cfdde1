//! [`Listing`]: what a registry knows of one package.
//!
//! Whether that is what we would have published is decided by the [plan](crate::plan).

use std::collections::BTreeMap;

use super::hash::Digest;
use crate::package::Ecosystem;

/// What a registry knows of one package. One that it has never seen has no versions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// By version, as the registry writes it.
    pub versions: BTreeMap<String, Listed>,
}

impl Listing {
    /// Whether the registry has never seen the package.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.versions.is_empty()
    }

    /// What is listed of a version, as a manifest writes it.
    #[must_use]
    pub fn version(&self, ecosystem: Ecosystem, version: &str) -> Option<&Listed> {
        self.versions.get(listed_as(ecosystem, version))
    }

    /// The same, to be told more of it.
    pub fn version_mut(&mut self, ecosystem: Ecosystem, version: &str) -> Option<&mut Listed> {
        self.versions.get_mut(listed_as(ecosystem, version))
    }
}

/// A version as registries tell it from others: to those of crates what comes after a `+` makes no other one.
pub(super) fn listed_as(ecosystem: Ecosystem, version: &str) -> &str {
    match ecosystem {
        Ecosystem::Cargo => version.split('+').next().unwrap_or_default(),
        Ecosystem::Npm | Ecosystem::Python => version,
    }
}

/// One version that is out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its files: one for crates and npm, many for Python.
    pub files: Vec<ListedFile>,
    /// It was taken back: it is there, cannot be published again, and is not chosen by those who look for one.
    pub is_yanked: bool,
}

/// One file of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Its name, where the registry has one.
    pub name: Option<String>,
    /// What the registry says of its content; nothing usable if empty.
    pub digests: Vec<Digest>,
    /// Where it can be had, as the registry writes it.
    pub url: Option<String>,
}

/// An answer of a registry that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the registry's answer about `{package}` cannot be understood: {why}")]
pub struct Unreadable {
    /// The package.
    pub package: String,
    /// What is wrong with it.
    pub why: String,
}

impl Unreadable {
    pub(super) fn new(package: &str, why: impl ToString) -> Self {
        Self { package: package.to_owned(), why: why.to_string() }
    }
}
