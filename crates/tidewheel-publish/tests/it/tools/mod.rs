//! What tests with official tools share: a folder of their own, and programs run in it.
//!
//! None of them sees settings of whoever runs the tests, and none has an address but those of loopback.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tidewheel_testing::{TempDir, temp_folder};

/// A folder that is removed with the test.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new(name: &str) -> Self {
        Self(temp_folder(name))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, with the folders it is in.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A program in one of its folders, with settings of its own.
    pub fn command(&self, program: impl AsRef<OsStr>, folder: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path(folder))
            .stdin(Stdio::null())
            .env("CARGO_HOME", self.path("cargo-home"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_INCREMENTAL", "0")
            .env("NPM_CONFIG_USERCONFIG", self.path("npmrc"))
            .env("NPM_CONFIG_GLOBALCONFIG", self.path("npmrc-global"))
            .env("NPM_CONFIG_CACHE", self.path("npm-cache"))
            .env("NPM_CONFIG_UPDATE_NOTIFIER", "false")
            .env("PIP_CONFIG_FILE", "/dev/null")
            .env("PIP_CACHE_DIR", self.path("pip-cache"))
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        // What cargo says to the tests that it runs is not for the cargo that they run.
        for (name, _) in std::env::vars_os() {
            let is_foreign = name.to_str().is_some_and(|name| {
                let of_cargo = ["CARGO_PKG_", "CARGO_REGISTR", "CARGO_SOURCE", "CARGO_MANIFEST"];
                of_cargo.iter().any(|start| name.starts_with(start))
                    || ["RUSTFLAGS", "CARGO_NET_OFFLINE", "PIP_INDEX_URL"].contains(&name)
                    || name.to_ascii_lowercase().starts_with("npm_config_registry")
                    || name.to_ascii_lowercase().ends_with("_proxy")
            });
            if is_foreign {
                command.env_remove(name);
            }
        }
        command
    }
}

/// The cargo that runs the tests, or the usual one.
pub fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// A tool that `./test` has installed, by the variable that says where, or one that is there anyway.
pub fn tool(variable: &str, program: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(PathBuf::from(path));
    }
    let answers = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    answers.is_ok_and(|status| status.success()).then(|| PathBuf::from(program))
}

/// Both streams of a program, for messages.
pub fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}: {}{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// Runs a program that must succeed.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", said(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a program that must fail, and gives what it said.
#[track_caller]
pub fn fail(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{command:?}\n{}", said(&output));
    said(&output)
}
