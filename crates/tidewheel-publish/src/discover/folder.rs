//! [`discover`]: the packages of a folder, whatever their ecosystems.
//!
//! How each ecosystem is read is in the files beside.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{cargo, npm, python};
use crate::package::Package;
use crate::problem::{Code, Problem};

/// What was found in a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovered {
    /// Packages, of all ecosystems.
    pub packages: Vec<Package>,
    /// What could not be read or understood.
    pub problems: Vec<Problem>,
}

impl Discovered {
    pub(super) fn extend(&mut self, other: Self) {
        self.packages.extend(other.packages);
        self.problems.extend(other.problems);
    }
}

/// The packages of the workspaces that begin in this folder: one of cargo, one of npm, pnpm or yarn, one of Python.
/// Files are read and `cargo metadata` is run; nothing is written, and no network is used.
#[must_use]
pub fn discover(root: &Path) -> Discovered {
    let mut found = Discovered::default();
    if root.join("Cargo.toml").is_file() {
        found.extend(cargo::discover(root));
    }
    if root.join("package.json").is_file() || root.join("pnpm-workspace.yaml").is_file() {
        found.extend(npm::discover(root));
    }
    if root.join("pyproject.toml").is_file() {
        found.extend(python::discover(root));
    }
    if found.packages.is_empty() && found.problems.is_empty() {
        found.problems.push(Problem {
            code: Code::Manifest,
            package: None,
            file: root.to_owned(),
            line: None,
            what: "there is no Cargo.toml, package.json or pyproject.toml with a package"
                .to_owned(),
            hint: Some("name the folder of the workspace".to_owned()),
        });
    }
    found
}

/// The folder of the workspace that one is a part of, if that is another one: cargo publishes all of a workspace, from
/// whatever folder of it. A folder in which a workspace of another language begins is one of its own.
#[must_use]
pub fn root_of(folder: &Path) -> Option<PathBuf> {
    let others = ["package.json", "pnpm-workspace.yaml", "pyproject.toml"];
    if others.iter().any(|other| folder.join(other).is_file()) {
        return None;
    }
    let manifest = Some(folder.join("Cargo.toml")).filter(|manifest| manifest.is_file())?;
    cargo::root_of(&manifest).filter(|root| root != folder)
}

/// Folders below one that match patterns, except those that match others, each once and in their order.
pub(super) fn matching(
    root: &Path,
    patterns: &[String],
    excluded: &[String],
) -> Result<BTreeSet<PathBuf>, String> {
    let all = |patterns: &[String]| -> Result<BTreeSet<PathBuf>, String> {
        let mut found = BTreeSet::new();
        for pattern in patterns {
            // The folder itself may have letters that mean something in a pattern.
            let base = glob::Pattern::escape(&root.to_string_lossy());
            let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
            let matches = glob::glob(&format!("{base}/{pattern}"))
                .map_err(|error| format!("`{pattern}` is no pattern: {}", error.msg))?;
            found.extend(matches.filter_map(Result::ok).filter(|path| path.is_dir()));
        }
        Ok(found)
    };
    let excluded = all(excluded)?;
    let mut found = all(patterns)?;
    // What tools put there is nobody's package.
    found.retain(|path| {
        !excluded.contains(path)
            && !path.components().any(|part| part.as_os_str() == "node_modules")
    });
    Ok(found)
}
