//! [`Surroundings`]: what a program finds around it: variables, a home, the folder of a workspace.
//!
//! What they mean is known where each ecosystem's settings are read. Tests make their own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Variables, a home, and the folder of a workspace.
#[derive(Clone, Default)]
pub struct Surroundings {
    variables: BTreeMap<String, String>,
    /// The folder of the workspace.
    pub root: PathBuf,
    /// The registry that is wanted of those that manifests allow, by its name.
    pub registry: Option<String>,
}

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn here(root: &Path) -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::of(root, std::env::vars_os().filter_map(text))
    }

    /// Those with these variables and no others.
    #[must_use]
    pub fn of(root: &Path, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { variables: variables.into_iter().collect(), root: root.to_owned(), registry: None }
    }

    /// A variable that says something.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All variables but those that give leave to upload, or look as if they gave any.
    pub(crate) fn without_secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(name, _)| !is_secret(name))
    }

    /// The folder of whoever runs it.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").or_else(|| self.variable("USERPROFILE")).map(PathBuf::from)
    }

    /// A file in the folder of the workspace or above it, the nearest first.
    pub(crate) fn nearest<'a>(&'a self, file: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        self.root.ancestors().map(move |folder| folder.join(file)).filter(|path| path.is_file())
    }
}

/// Whether a variable of this name gives leave to do something.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = ["TOKEN", "PASSWORD", "PASSWD", "SECRET", "CREDENTIAL", "_AUTH", "API_KEY"];
    // Where agents and helpers are is no secret, and git may need it.
    words.iter().any(|word| name.contains(word)) && name != "SSH_AUTH_SOCK"
}

/// Variables may hold secrets.
impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("root", &self.root).finish_non_exhaustive()
    }
}
