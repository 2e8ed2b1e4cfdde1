//! Copies of folders: what is in them, without what tools leave there, and a digest of all of it.
//!
//! Links are copied as links. Nothing is ever written to where a copy comes from.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Folders that tools fill again; nothing of them is published.
const LEFT_OUT: [&str; 6] = [".git", "node_modules", ".venv", "__pycache__", ".tox", ".mypy_cache"];
/// The mark of folders that can be made again.
const CACHE: &str = "CACHEDIR.TAG";

/// Copies a folder, and gives a digest of what was copied: names, contents, and what may be executed.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<String> {
    go_through(from, Some(to))
}

/// The digest that a copy would have.
pub(super) fn digest(of: &Path) -> io::Result<String> {
    go_through(of, None)
}

fn go_through(from: &Path, to: Option<&Path>) -> io::Result<String> {
    let mut digest = Sha256::new();
    to.map_or(Ok(()), fs::create_dir_all)?;
    for path in walk(from)? {
        let (source, target) = (from.join(&path), to.map(|to| to.join(&path)));
        let kind = fs::symlink_metadata(&source)?;
        let name = path.to_string_lossy();
        let (word, content) = if kind.is_dir() {
            target.map_or(Ok(()), fs::create_dir_all)?;
            continue;
        } else if kind.is_symlink() {
            let aim = fs::read_link(&source)?;
            target.map_or(Ok(()), |target| link(&aim, &target))?;
            ("link", aim.to_string_lossy().into_owned().into_bytes())
        } else if kind.is_file() {
            let content = fs::read(&source)?;
            if let Some(target) = &target {
                fs::write(target, &content)?;
                fs::set_permissions(target, kind.permissions())?;
            }
            (if is_executable(&kind) { "program" } else { "file" }, content)
        } else {
            // Sockets and pipes are nobody's package.
            continue;
        };
        let content = Sha256::digest(content);
        digest.update(format!("{word} {} {name}\0", name.len()));
        digest.update(content);
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Everything below a folder, in a fixed order, folders before what is in them.
fn walk(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            // In another working tree of a repository it is a file.
            if entry.file_name() == LEFT_OUT[0] {
                continue;
            }
            if !entry.file_type()?.is_dir() {
                found.push(path);
            } else if !is_left_out(&entry.file_name(), &entry.path()) {
                open.push(path.clone());
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_left_out(name: &OsStr, path: &Path) -> bool {
    LEFT_OUT.iter().any(|it| *it == name) || path.join(CACHE).is_file()
}

fn is_executable(file: &fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    return !file.is_file();
}

#[cfg(unix)]
fn link(aim: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(aim, at)
}

#[cfg(not(unix))]
fn link(aim: &Path, at: &Path) -> io::Result<()> {
    fs::write(at, aim.to_string_lossy().as_bytes())
}

#[cfg(test)]
mod tests {
    use tidewheel_testing::temp_folder;

    use super::*;

    #[test]
    fn what_is_gits_own_is_left_out_be_it_a_folder_or_a_file() {
        let folder = temp_folder("tree");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("inside/.git")).unwrap();
        fs::write(from.join(".git"), "gitdir: elsewhere").unwrap();
        fs::write(from.join("a"), "a").unwrap();
        // As a clone leaves it.
        fs::create_dir_all(to.join(".git")).unwrap();
        let copied = copy(&from, &to).unwrap();
        assert_eq!(copied, digest(&from).unwrap());
        assert!(to.join(".git").is_dir() && to.join("a").is_file());
        assert!(!to.join("inside/.git").exists());
    }
}
