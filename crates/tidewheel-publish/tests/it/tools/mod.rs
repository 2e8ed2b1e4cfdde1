//! What tests with official tools share: a folder of their own, and programs run in it.
//!
//! None of them sees settings of whoever runs the tests, and none has an address but those of loopback.
#![allow(dead_code, unused_imports, reason = "each test file uses its own part of this")]
#![allow(clippy::unwrap_used, reason = "what goes wrong fails the test")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

pub use tidewheel_testing::skipped;

/// A folder that is removed with the test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        let name = format!("tidewheel-{name}-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
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

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
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

/// All files of a folder, below it, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
