//! Manifests as text, and the problem that one cannot be read.
//!
//! What stands in them is read by each ecosystem.

use std::fs;
use std::path::Path;

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
