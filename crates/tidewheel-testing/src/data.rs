//! [`shared_data`]: published data that the repository does not contain.
//!
//! Tests of it are in modules named `shared_data` and ignored by default; `./test data` runs them. Small vectors of
//! the project's own are tested always.

use std::env;
use std::path::PathBuf;

/// Returns the path of a file or folder of the shared data: below `TIDEWHEEL_SHARED_DATA`, or below `../shared/data`
/// beside the clone.
///
/// # Panics
///
/// Fails the test if the path does not exist.
#[track_caller]
pub fn shared_data(path: &str) -> PathBuf {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = env::var_os("TIDEWHEEL_SHARED_DATA").map_or_else(beside, PathBuf::from);
    let path = folder.join(path);
    assert!(path.exists(), "{} is missing: set TIDEWHEEL_SHARED_DATA", path.display());
    path
}
