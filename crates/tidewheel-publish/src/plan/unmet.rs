//! [`unmet`]: what packages need of each other, as it was packed, held against the versions that can be had.
//!
//! Before anything is sent these are the versions that are out and those that are about to be; afterwards those that are
//! out.

use crate::pack::PackedSet;
use crate::package::PackageId;
use crate::registry::Listing;

/// A need for which no version will do that can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// Whose need it is.
    pub by: PackageId,
    /// What it needs.
    pub needed: PackageId,
    /// The versions that would do, as they were packed.
    pub range: String,
    /// Some of the versions that there are.
    pub there: Vec<String>,
}

/// How many versions are named that will not do.
const NAMED_MAX: usize = 3;

/// The unmet needs of a package. Those of packages that `listing_of` does not know are not of this workspace, and left to
/// others.
pub fn unmet<'a>(
    set: &PackedSet,
    by: &PackageId,
    listing_of: impl Fn(&PackageId) -> Option<&'a Listing>,
) -> Vec<Unmet> {
    let needs = set.package(by).map(|packed| packed.needs(by.ecosystem())).unwrap_or_default();
    let unmet = needs.into_iter().filter_map(|(needed, range)| {
        let listing = listing_of(&needed)?;
        if listing.has(needed.ecosystem(), &range) {
            return None;
        }
        let out = listing.versions.iter().filter(|(_, listed)| !listed.is_yanked);
        let there = out.map(|(version, _)| version.clone()).rev().take(NAMED_MAX).collect();
        Some(Unmet { by: by.clone(), needed, range, there })
    });
    unmet.collect()
}

impl std::fmt::Display for Unmet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { by, needed, range, there } = self;
        let there = if there.is_empty() { "nothing".to_owned() } else { there.join(", ") };
        write!(f, "{by} needs {needed} {range}, and there is {there}")
    }
}
