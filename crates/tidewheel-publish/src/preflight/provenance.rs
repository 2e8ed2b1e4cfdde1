//! Statements about where packages were built: whether those that want one can have one.
//!
//! They are made when files are sent, by a program that somebody names.

use serde_json::Value as Json;

use crate::pack::PackedSet;
use crate::package::{Ecosystem, Package};
use crate::plan::Plan;
use crate::prepare::{Provenance, Wish};
use crate::problem::{Code, Problem};
use crate::workspace::Workspace;

/// Whether a statement about a package is made where somebody signs. Registries of crates take none.
pub(crate) fn may_be_signed(package: &Package) -> bool {
    package.provenance != Some(false) && package.id.ecosystem() != Ecosystem::Cargo
}

/// Packages that want a statement and cannot have one.
pub(crate) fn about_provenance(
    wish: &Wish,
    workspace: &Workspace,
    plan: &Plan,
    set: &PackedSet,
) -> Vec<Problem> {
    let uploads = plan.uploads().filter_map(|planned| workspace.package(&planned.id));
    let objection = |package: &Package| match wish.provenance {
        Provenance::Unsaid if package.provenance == Some(true) => Some((
            format!(
                "{} wants a statement about where it was built, and nobody signs it",
                package.id
            ),
            "--signer COMMAND names who does; --no-provenance publishes it without",
        )),
        Provenance::Signed if may_be_signed(package) && !names_repository(package, set) => Some((
            format!(
                "{} names no repository, and its registry wants one beside a statement",
                package.id
            ),
            "write `repository` into its package.json, or \"provenance\": false into its publishConfig",
        )),
        _ => None,
    };
    let problem = |package: &Package| {
        objection(package).map(|(what, hint)| Problem {
            code: Code::Provenance,
            package: Some(package.id.clone()),
            file: package.manifest.clone(),
            line: None,
            what,
            hint: Some(hint.to_owned()),
        })
    };
    uploads.filter_map(problem).collect()
}

/// Registries of npm hold a statement against the repository that a package names.
fn names_repository(package: &Package, set: &PackedSet) -> bool {
    if package.id.ecosystem() != Ecosystem::Npm {
        return true;
    }
    let packed = set.package(&package.id).and_then(|it| it.metadata.get("manifest"));
    let named = packed.and_then(|it| it.get("repository"));
    // What was not packed yet is found out by its registry.
    packed.is_none() || named.is_some_and(|it| !matches!(it, Json::Null))
}
