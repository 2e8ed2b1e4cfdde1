//! Lock files in crates: which of them know another crate by a digest that nobody can have.
//!
//! Which crates are out with other digests is found out where registries are asked.

use std::collections::BTreeSet;

use super::archive;
use super::set::PackedSet;
use crate::package::PackageId;

/// Those of these crates whose lock file knows another one as it was packed here, though that one is out as it was packed of
/// another commit: what is built with their lock file would not find it.
pub(crate) fn stale_locked<'a>(
    set: &PackedSet,
    of: impl Iterator<Item = &'a PackageId>,
) -> BTreeSet<PackageId> {
    let files = set.packages.values().flat_map(|packed| &packed.files);
    let ours: Vec<&str> =
        files.filter(|file| file.out_as.is_some()).map(|file| file.sha256.as_str()).collect();
    let is_stale = |id: &&PackageId| {
        let files = set.package(id).map(|packed| packed.files.as_slice()).unwrap_or_default();
        files.iter().any(|file| {
            let lock = archive::read(&set.path(id, &file.name), |name| name == "Cargo.lock");
            let lock = lock.ok().and_then(|it| it.text("Cargo.lock").map(str::to_owned));
            lock.is_some_and(|lock| ours.iter().any(|digest| lock.contains(digest)))
        })
    };
    if ours.is_empty() { BTreeSet::new() } else { of.filter(is_stale).cloned().collect() }
}
