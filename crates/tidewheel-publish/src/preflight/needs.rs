//! Needs of packages for each other that nothing will satisfy: neither what is out nor what is about to be.
//!
//! What packages need is read from what was packed.

use std::collections::BTreeMap;

use crate::pack::PackedSet;
use crate::package::{PackageId, Version};
use crate::plan::{Plan, unmet};
use crate::problem::{Code, Problem};
use crate::registry::Listing;
use crate::workspace::Workspace;

/// Needs that nothing satisfies, of what is uploaded. `listings` is what registries list; packages of the workspace that are
/// not in it are out in the version that the workspace has.
pub(crate) fn unmet_needs(
    whole: &Workspace,
    plan: &Plan,
    set: &PackedSet,
    mut listings: BTreeMap<PackageId, Listing>,
) -> Vec<Problem> {
    let mut add = |id: &PackageId, version: &Version| {
        let version = match (version, set.package(id)) {
            (Version::Written(version), _) => version.clone(),
            (Version::Built, Some(packed)) => packed.version.clone(),
            // Nobody knows it yet, so nothing is known to be missing.
            (Version::Built, None) => return,
        };
        listings.entry(id.clone()).or_default().versions.entry(version).or_default();
    };
    let is_planned = |id: &PackageId| plan.packages.iter().any(|planned| planned.id == *id);
    for planned in plan.packages.iter().filter(|it| it.class.is_upload()) {
        add(&planned.id, &planned.version);
    }
    for outside in whole.packages().filter(|it| it.is_public() && !is_planned(&it.id)) {
        add(&outside.id, &outside.version);
    }
    let uploads = plan.uploads();
    let all = uploads.flat_map(|planned| unmet(set, &planned.id, |id| listings.get(id)));
    let problem = |unmet: crate::plan::Unmet| {
        let version = whole.package(&unmet.needed).map(|it| it.version.to_string());
        Some(Problem {
            code: Code::NeedsUnpublished,
            package: Some(unmet.by.clone()),
            file: whole.package(&unmet.by)?.manifest.clone(),
            line: None,
            what: unmet.to_string(),
            hint: version.map(|it| {
                format!("let it need versions that {it} is one of, or publish one that will do")
            }),
        })
    };
    all.filter_map(problem).collect()
}
