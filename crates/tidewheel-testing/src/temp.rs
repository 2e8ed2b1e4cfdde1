//! [`temp_folder`]: a folder for one test.

use std::path::PathBuf;

pub use tempfile::TempDir;

/// Creates a folder with a unique name, which is removed when the returned value is dropped.
///
/// The name starts with `tidewheel-{name}-`. The path has no symbolic links, so programs print it as it is.
pub fn temp_folder(name: &str) -> TempDir {
    let parent: PathBuf = std::env::temp_dir().canonicalize().unwrap();
    tempfile::Builder::new().prefix(&format!("tidewheel-{name}-")).tempdir_in(parent).unwrap()
}
