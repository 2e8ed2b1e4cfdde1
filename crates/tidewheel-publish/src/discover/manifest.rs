//! Manifests as text, and the problem that one cannot be read.
//!
//! What stands in them is read by each ecosystem.

use std::fs;
use std::path::Path;

use serde_json::Value as Json;

use crate::package::{Ecosystem, Need, NeedKind, PackageId};
use crate::problem::{Code, Problem};

/// The most that is read of a manifest.
const BYTES_MAX: u64 = 4 << 20;

/// The text of a manifest.
pub(super) fn read(path: &Path) -> Result<String, Box<Problem>> {
    let unread = |what: String| problem(path, None, what);
    let size = fs::metadata(path).map_err(|error| unread(format!("it cannot be read: {error}")))?;
    if size.len() > BYTES_MAX {
        return Err(unread(format!("it has {} bytes, at most {BYTES_MAX} are read", size.len())));
    }
    fs::read_to_string(path).map_err(|error| unread(format!("it cannot be read: {error}")))
}

/// What somebody wants a package to go out after, beside what it needs: packages of any language, as they are displayed.
/// One that cannot be meant is taken for one that is not there.
pub(super) fn after<'a>(named: impl IntoIterator<Item = &'a str>) -> Vec<Need> {
    let need = |name: &str| Need {
        package: PackageId::parse(name).unwrap_or_else(|| PackageId::new(Ecosystem::Cargo, name)),
        kind: NeedKind::After,
        range: None,
        line: None,
    };
    named.into_iter().map(need).collect()
}

/// The texts of a list.
pub(super) fn listed(told: Option<&Json>) -> impl Iterator<Item = &str> {
    told.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
}

/// A manifest that makes no sense.
pub(super) fn problem(path: &Path, line: Option<usize>, what: String) -> Box<Problem> {
    let file = path.to_owned();
    Box::new(Problem { code: Code::Manifest, package: None, file, line, what, hint: None })
}

/// The line in which a place of a text is, counted from 1.
pub(super) fn line_of(text: &str, place: usize) -> usize {
    let before = &text.as_bytes()[..place.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
