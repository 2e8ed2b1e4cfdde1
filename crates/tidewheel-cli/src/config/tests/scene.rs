//! A home, a project and an environment for one test.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use tidewheel_testing::{TempDir, temp_folder};

use crate::config::{Config, Surroundings};
use crate::error::CommandError;

/// A home and a project in a folder of one test.
pub(super) struct Scene {
    pub root: PathBuf,
    pub around: Surroundings,
    // Keeps the folder.
    _temp: TempDir,
}

impl Scene {
    pub fn new() -> Self {
        let temp = temp_folder("config");
        let root = temp.path().to_owned();
        fs::create_dir_all(root.join("home")).unwrap();
        fs::create_dir_all(root.join("project/below")).unwrap();
        let around = Surroundings {
            variables: Vec::new(),
            current_folder: Some(root.join("project")),
            home: Some(root.join("home")),
        };
        Self { root, around, _temp: temp }
    }

    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn project(self, content: impl AsRef<[u8]>) -> Self {
        self.file(PROJECT, content)
    }

    pub fn user(self, content: impl AsRef<[u8]>) -> Self {
        self.file(USER, content)
    }

    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.around.variables.push((name.into(), value.into()));
        self
    }

    pub fn inside(mut self, folder: &str) -> Self {
        self.around.current_folder = Some(self.root.join(folder));
        self
    }

    pub fn load(&self) -> Config {
        let (config, warnings) = Config::load_from(&self.around).unwrap();
        assert_eq!(warnings, [""; 0]);
        config
    }

    pub fn error(&self) -> CommandError {
        Config::load_from(&self.around).unwrap_err()
    }

    /// The error in one line, with the folder of the test left out.
    pub fn message(&self) -> String {
        format!("{:#}", self.error().error).replace(&format!("{}/", self.root.display()), "")
    }

    pub fn warnings(&self) -> Vec<String> {
        Config::load_from(&self.around).unwrap().1
    }
}

pub(super) const PROJECT: &str = "project/tidewheel.toml";
pub(super) const USER: &str = "home/.config/tidewheel/config.toml";
