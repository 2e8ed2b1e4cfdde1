//! Where configuration files are looked for.
//!
//! They are read in [`super::file`].

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variable that names the only file to read.
pub(super) const CONFIG: &str = "TIDEWHEEL_CONFIG";
const PROJECT_FILE: &str = "tidewheel.toml";
const USER_FOLDER: &str = "tidewheel";
const USER_FILE: &str = "config.toml";

/// What of the world around this process decides about settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    pub variables: Vec<(OsString, OsString)>,
    pub current_folder: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

impl Surroundings {
    pub fn of_this_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            // A folder that is gone has no project.
            current_folder: std::env::current_dir().ok(),
            home: std::env::home_dir().filter(|home| home.is_absolute()),
        }
    }

    /// What a variable says; an empty one says nothing.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let (_, value) = self.variables.iter().find(|(known, _)| known == name)?;
        Some(value.as_os_str()).filter(|value| !value.is_empty())
    }
}

/// A file that is read if it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub role: Role,
    pub path: PathBuf,
    pub exists: bool,
}

/// Why a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is the file of the folder one is in, or of one above.
    Project,
    /// It is the file of the user.
    User,
    /// `TIDEWHEEL_CONFIG` names it, and so it is the only one.
    Named,
}

impl Role {
    /// The word for people and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Named => "named",
        }
    }
}

impl Place {
    fn new(role: Role, path: PathBuf) -> Self {
        // A link that leads nowhere is there: whoever made it wants to know.
        let exists = path.symlink_metadata().is_ok();
        Self { role, path, exists }
    }

    /// Whether it is an error if this file cannot be read.
    pub fn must_be_read(&self) -> bool {
        self.exists || self.role == Role::Named
    }
}

/// The files that count, the one that wins first.
pub(crate) fn places(around: &Surroundings) -> Vec<Place> {
    if let Some(named) = around.variable(CONFIG) {
        let folder = around.current_folder.clone().unwrap_or_default();
        return vec![Place::new(Role::Named, folder.join(named))];
    }
    let project = around.current_folder.as_deref().map(project_place);
    let user = user_file(around).map(|path| Place::new(Role::User, path));
    project.into_iter().chain(user).collect()
}

/// The nearest file of a project from `folder` upward, or where it could be.
///
/// The search ends with the folder of a repository, and before a folder that everybody can write,
/// such as `/tmp`, in which anybody could leave a file for others. The folder it begins in is
/// looked at in any case.
fn project_place(folder: &Path) -> Place {
    let mut top = folder;
    for above in folder.ancestors() {
        if above != folder && is_open_to_all(above) {
            break;
        }
        let place = Place::new(Role::Project, above.join(PROJECT_FILE));
        if place.exists {
            return place;
        }
        if above.join(".git").symlink_metadata().is_ok() {
            top = above;
            break;
        }
    }
    Place { role: Role::Project, path: top.join(PROJECT_FILE), exists: false }
}

#[cfg(unix)]
fn is_open_to_all(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    folder.metadata().is_ok_and(|folder| folder.permissions().mode() & 0o002 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}

fn user_file(around: &Surroundings) -> Option<PathBuf> {
    folder_of_user(around).map(|folder| folder.join(USER_FILE))
}

/// The folder with the configuration of whoever runs this.
pub(crate) fn user_folder() -> Option<PathBuf> {
    folder_of_user(&Surroundings::of_this_process())
}

fn folder_of_user(around: &Surroundings) -> Option<PathBuf> {
    let named = around.variable("XDG_CONFIG_HOME").map(PathBuf::from);
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| around.home.as_ref().map(|home| home.join(".config")))
        .map(|folder| folder.join(USER_FOLDER))
}
