//! [`temp_folder`]: a folder for one test, kept if the test fails.
//!
//! Files that fixtures write into it belong to those fixtures.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

/// A folder that is removed on drop, or kept and printed if the thread panics.
///
/// A kept folder moves below `TIDEWHEEL_ARTIFACTS` if that variable is set and the move is a rename; nothing is copied,
/// because data folders may be large.
#[derive(Debug)]
pub struct TempDir {
    // Taken on drop.
    folder: Option<tempfile::TempDir>,
    path: PathBuf,
}

/// Creates a folder with a unique name.
///
/// The name starts with `tidewheel-{name}-`. The path has no symbolic links, so programs print it as it is.
pub fn temp_folder(name: &str) -> TempDir {
    let parent = env::temp_dir().canonicalize().unwrap();
    let prefix = format!("tidewheel-{name}-");
    let folder = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).unwrap();
    TempDir { path: folder.path().to_owned(), folder: Some(folder) }
}

impl TempDir {
    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for TempDir {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempDir {
    #[expect(clippy::print_stderr, reason = "the message is for the person who reads the failure")]
    fn drop(&mut self) {
        let Some(folder) = self.folder.take() else { return };
        if !thread::panicking() {
            return;
        }
        let artifacts = env::var_os("TIDEWHEEL_ARTIFACTS").map(PathBuf::from);
        eprintln!(
            "files of the failed test: {}",
            keep(folder.keep(), artifacts.as_deref()).display()
        );
    }
}

/// Moves a folder below `artifacts` if that is possible, and returns where it is.
fn keep(folder: PathBuf, artifacts: Option<&Path>) -> PathBuf {
    let Some(artifacts) = artifacts else { return folder };
    let target = artifacts.join(folder.file_name().unwrap_or_default());
    let moved = fs::create_dir_all(artifacts).and_then(|()| fs::rename(&folder, &target));
    // On another file system, or with something mounted in it, the folder stays where it is.
    if moved.is_ok() { target } else { folder }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::catch_unwind;

    use super::{keep, temp_folder};

    #[test]
    fn folder_is_removed_on_drop() {
        let folder = temp_folder("drop");
        let path = folder.path().to_owned();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn folder_of_failed_test_is_kept() {
        let folder = temp_folder("kept");
        let path = folder.path().to_owned();
        fs::write(path.join("log"), "why").unwrap();
        catch_unwind(move || {
            let _folder = folder;
            panic!("a failure that this test causes");
        })
        .unwrap_err();
        let artifacts = std::env::var_os("TIDEWHEEL_ARTIFACTS").map(std::path::PathBuf::from);
        let moved = artifacts.map(|artifacts| artifacts.join(path.file_name().unwrap()));
        let kept = moved.filter(|moved| moved.exists()).unwrap_or(path);
        assert_eq!(fs::read_to_string(kept.join("log")).unwrap(), "why");
        fs::remove_dir_all(kept).unwrap();
    }

    #[test]
    fn kept_folder_moves_to_artifacts_or_stays() {
        let parent = temp_folder("keep");
        let folder = parent.path().join("one");
        fs::create_dir(&folder).unwrap();
        assert_eq!(keep(folder.clone(), None), folder);
        let artifacts = parent.path().join("deep/artifacts");
        assert_eq!(keep(folder.clone(), Some(&artifacts)), artifacts.join("one"));
        assert!(!folder.exists() && artifacts.join("one").is_dir());
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(keep(artifacts.clone(), Some(&file)), artifacts);
    }
}
