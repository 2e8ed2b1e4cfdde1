//! [`Surroundings`]: what a program finds around it: variables, a home, the folder of a workspace.
//!
//! What they mean is known where each ecosystem's settings are read. Tests make their own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::secret::Secret;
use super::target::Stage;
use crate::pack::Stop;

/// Variables, a home, and the folder of a workspace.
#[derive(Clone, Default)]
pub struct Surroundings {
    variables: BTreeMap<String, String>,
    /// The folder of the workspace.
    pub root: PathBuf,
    /// The registry that is wanted of those that manifests allow, by its name.
    pub registry: Option<String>,
    /// A one-time code that was said.
    pub code: Option<Secret>,
    /// The word that ends tools.
    pub stop: Stop,
    /// A registry of this machine that all packages go to, in a rehearsal.
    pub stage: Option<Stage>,
    /// What tools and helpers have said, so that each is asked once.
    asked: Arc<Mutex<BTreeMap<String, Option<String>>>>,
}

/// What begins the names of answers that give leave.
const LEAVE: &str = "leave ";

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
        let (variables, root) = (variables.into_iter().collect(), root.to_owned());
        Self { variables, root, ..Self::default() }
    }

    /// A variable that says something.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The same with one more variable.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut around = self.clone();
        around.variables.insert(name.to_owned(), value.to_owned());
        around
    }

    /// All variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What somebody says who is asked once.
    pub(super) fn once(
        &self,
        question: &str,
        ask: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let mut asked = self.asked();
        if let Some(said) = asked.get(question) {
            return said.clone();
        }
        let said = ask();
        asked.insert(question.to_owned(), said.clone());
        said
    }

    /// Whoever gives tokens is asked again.
    pub(crate) fn forget_leave(&self) {
        self.asked().retain(|question, _| !question.starts_with(LEAVE));
    }

    fn asked(&self) -> MutexGuard<'_, BTreeMap<String, Option<String>>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All variables but those that give leave to upload, or look as if they gave any.
    pub(crate) fn without_secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(name, _)| !is_secret(name))
    }

    /// The same without what gives leave to upload to a registry, by its name or because it is one of these: for what follows
    /// a publish, which may need secrets of its own.
    #[must_use]
    pub(crate) fn without_leave(&self, secrets: &[Secret]) -> Self {
        let mut around = self.clone();
        let is_one = |value: &str| secrets.iter().any(|secret| secret.reveal() == value.trim());
        around.variables.retain(|name, value| !gives_leave(name) && !is_one(value));
        around
    }

    /// A one-time code for npm's registries: the one that was said, or that of npm's variable.
    pub(crate) fn code(&self) -> Option<Secret> {
        let said = self.variable("npm_config_otp").or_else(|| self.variable("NPM_CONFIG_OTP"));
        self.code.clone().or_else(|| Secret::new(said?))
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
    let words = ["TOKEN", "PASSWORD", "PASSWD", "SECRET", "CREDENTIAL", "_AUTH", "API_KEY", "_OTP"];
    // Where agents and helpers are is no secret, and git may need it.
    words.iter().any(|word| name.contains(word)) && name != "SSH_AUTH_SOCK"
}

/// Whether a variable of this name is one by which tools upload to registries.
fn gives_leave(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_cargos = name.starts_with("CARGO_REGISTR") && name.ends_with("_TOKEN");
    let is_npms = name.starts_with("NPM_CONFIG_") && is_secret(&name);
    let others = [
        "NPM_TOKEN",
        "NODE_AUTH_TOKEN",
        "NPM_ID_TOKEN",
        "UV_PUBLISH_TOKEN",
        "UV_PUBLISH_PASSWORD",
        "TWINE_PASSWORD",
        "PYPI_TOKEN",
        "PYPI_API_TOKEN",
        "PYPI_ID_TOKEN",
    ];
    is_cargos || is_npms || others.contains(&name.as_str())
}

/// Variables may hold secrets.
impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("root", &self.root).finish_non_exhaustive()
    }
}
