//! [`Package`]: one thing that is published, and what it needs of others in its workspace.
//!
//! How packages are found is in [`crate::discover`]; what registries know of them is not known here.

use std::fmt;
use std::path::PathBuf;

/// Whose packages they are: who builds them, and how versions and names are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecosystem {
    /// Crates.
    Cargo,
    /// Packages of npm, pnpm and yarn.
    Npm,
    /// Distributions.
    Python,
}

impl Ecosystem {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cargo, Self::Npm, Self::Python];

    /// The one with this word.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.word() == word)
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Python => "python",
        }
    }

    /// A name as registries compare it.
    #[must_use]
    pub fn normalised(self, name: &str) -> String {
        match self {
            Self::Cargo | Self::Npm => name.to_owned(),
            Self::Python => normalised_python(name),
        }
    }
}

/// Capital letters count as small ones, and runs of `-`, `_` and `.` as one `-`.
fn normalised_python(name: &str) -> String {
    let mut normalised = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '-' | '_' | '.' if normalised.ends_with('-') => {}
            '-' | '_' | '.' => normalised.push('-'),
            letter => normalised.push(letter.to_ascii_lowercase()),
        }
    }
    normalised
}

/// Which package: its ecosystem, and its name as registries compare it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageId {
    ecosystem: Ecosystem,
    name: String,
}

impl PackageId {
    /// The package of this name.
    ///
    /// ```
    /// use tidewheel_publish::{Ecosystem, PackageId};
    ///
    /// let written = PackageId::new(Ecosystem::Python, "A_b.C");
    /// assert_eq!(written, PackageId::new(Ecosystem::Python, "a-b-c"));
    /// ```
    #[must_use]
    pub fn new(ecosystem: Ecosystem, name: &str) -> Self {
        Self { ecosystem, name: ecosystem.normalised(name) }
    }

    /// The package that is written like this, as it is displayed.
    ///
    /// ```
    /// use tidewheel_publish::{Ecosystem, PackageId};
    ///
    /// let id = PackageId::new(Ecosystem::Npm, "@us/b");
    /// assert_eq!(PackageId::parse(&id.to_string()), Some(id));
    /// assert_eq!(PackageId::parse("gem:b"), None);
    /// ```
    #[must_use]
    pub fn parse(written: &str) -> Option<Self> {
        let (word, name) = written.split_once(':')?;
        Some(Self::new(Ecosystem::of_word(word)?, name))
    }

    /// Whose package it is.
    #[must_use]
    pub fn ecosystem(&self) -> Ecosystem {
        self.ecosystem
    }

    /// Its name, as registries compare it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for PackageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ecosystem.word(), self.name)
    }
}

/// One thing that is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Which one.
    pub id: PackageId,
    /// Its version.
    pub version: Version,
    /// The file that says all this.
    pub manifest: PathBuf,
    /// Whether it is published at all, and where.
    pub publicity: Publicity,
    /// What it needs of its workspace, as written.
    pub needs: Vec<Need>,
    /// Whether it goes out with a statement about where it was built, if its manifest says so.
    pub provenance: Option<bool>,
}

impl Package {
    /// Whether it is published.
    #[must_use]
    pub fn is_public(&self) -> bool {
        matches!(self.publicity, Publicity::Public { .. })
    }
}

/// The version of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// It is written down.
    Written(String),
    /// Its build tool says, when it is built.
    Built,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written(version) => f.write_str(version),
            Self::Built => f.write_str("(said when it is built)"),
        }
    }
}

/// Whether a package is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Publicity {
    /// It is: to one of these registries, or to the usual one if none is named.
    Public {
        /// Their names or addresses, as the manifest has them.
        registries: Vec<String>,
    },
    /// It is not.
    Private {
        /// What says so.
        by: &'static str,
    },
}

/// What a package needs another one for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeedKind {
    /// To be used.
    Normal,
    /// To be built.
    Build,
    /// To be used with something that is optional.
    Optional,
    /// To be used, and its user brings it along.
    Peer,
    /// Not at all: somebody wants it to go out after that one.
    After,
    /// To be worked on. Nobody who uses the package needs it.
    Development,
}

/// What a package needs of another one of its workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Which one.
    pub package: PackageId,
    /// What for.
    pub kind: NeedKind,
    /// The versions that will do, as they will be published; `None` if the manifest names none.
    pub range: Option<String>,
    /// The line of the manifest that says so, where it is known.
    pub line: Option<usize>,
}

impl Need {
    /// Whether what is needed must be out first. A registry of crates wants to know all that is named with a version, be it only
    /// needed to work on the package.
    #[must_use]
    pub fn is_order(&self) -> bool {
        let is_listed = self.package.ecosystem() == Ecosystem::Cargo && self.range.is_some();
        !self.is_for_work() || is_listed
    }

    /// Whether it is only needed to work on the package.
    #[must_use]
    pub fn is_for_work(&self) -> bool {
        self.kind == NeedKind::Development
    }
}
