//! [`Class`]: what is to be done about one package.
//!
//! Registries decide it, by contents: neither exit codes nor error texts are read anywhere.

use std::fmt;

use crate::package::PackageId;
use crate::registry::{Digest, Listed, Listing};

/// What is to be done about one package.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// It is out, with the content that we have.
    Done,
    /// The registry knows the package and not this version.
    Update,
    /// The registry has never seen the package.
    New,
    /// Some of its files are out, with the content that we have; the others are not.
    Partial {
        /// Files that are out.
        out: usize,
        /// All files.
        all: usize,
    },
    /// It is out, and nothing says whether with the content that we have: it was not packed, or the registry gives no
    /// digest that is worth anything.
    Out,
    /// It is out with another content.
    Conflict {
        /// What we have.
        ours: Digest,
        /// What the registry has.
        theirs: Digest,
    },
    /// It was out and was taken back: the version cannot be used again.
    Yanked,
    /// It is not published.
    Private,
    /// It needs something that cannot be had.
    Blocked {
        /// What it needs.
        by: PackageId,
    },
    /// The registry was not asked.
    Unknown,
}

impl Class {
    /// The stable word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Update => "update",
            Self::New => "new",
            Self::Partial { .. } => "partial",
            Self::Out => "out",
            Self::Conflict { .. } => "conflict",
            Self::Yanked => "yanked",
            Self::Private => "private",
            Self::Blocked { .. } => "blocked",
            Self::Unknown => "unknown",
        }
    }

    /// Whether something is uploaded.
    #[must_use]
    pub fn is_upload(&self) -> bool {
        matches!(self, Self::Update | Self::New | Self::Partial { .. } | Self::Unknown)
    }

    /// Whether those who need it can have it, now or once it is uploaded.
    #[must_use]
    pub fn can_be_had(&self) -> bool {
        self.is_upload() || matches!(self, Self::Done | Self::Out)
    }

    /// The class of a version of a package, by what a registry lists and the files that we have, each with its digests.
    #[must_use]
    pub fn of(
        id: &PackageId,
        listing: &Listing,
        version: &str,
        ours: &[(String, Vec<Digest>)],
    ) -> Self {
        match listing.version(id.ecosystem(), version) {
            Some(listed) => Self::of_listed(listed, ours),
            None if listing.is_new() => Self::New,
            None => Self::Update,
        }
    }

    /// The class of a version that a registry lists, held against the files that we have. A file without a name is the
    /// only one there is.
    #[must_use]
    pub fn of_listed(listed: &Listed, ours: &[(String, Vec<Digest>)]) -> Self {
        if listed.is_yanked {
            return Self::Yanked;
        }
        let mut same = 0;
        for (name, digests) in ours {
            let theirs = listed
                .files
                .iter()
                .find(|file| file.name.as_ref().is_none_or(|listed| listed == name));
            let Some(theirs) = theirs else { continue };
            let pairs =
                digests.iter().flat_map(|ours| theirs.digests.iter().map(move |it| (ours, it)));
            let mut alike = pairs.filter(|(ours, theirs)| ours.algorithm() == theirs.algorithm());
            if let Some((ours, theirs)) = alike.clone().find(|(ours, theirs)| ours != theirs) {
                return Self::Conflict { ours: ours.clone(), theirs: theirs.clone() };
            }
            if !alike.any(|(ours, _)| ours.algorithm().is_strong()) {
                return Self::Out;
            }
            same += 1;
        }
        match ours.len() {
            0 => Self::Out,
            all if same == all => Self::Done,
            all => Self::Partial { out: same, all },
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partial { out, all } => write!(f, "partial: {out} of {all} files are out"),
            Self::Conflict { ours, theirs } => {
                write!(f, "conflict: we have {ours}, the registry has {theirs}")?;
                f.write_str("; what is out stays as it is: raise the version")
            }
            Self::Yanked => f.write_str("yanked: this version cannot be used again, raise it"),
            Self::Blocked { by } => write!(f, "blocked by {by}"),
            other => f.write_str(other.word()),
        }
    }
}
