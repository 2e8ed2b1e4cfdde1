//! What tests of `tidewheel publish` share: workspaces, a registry on loopback, and the program between them.
//!
//! No program that is started here sees a setting of whoever runs the tests, or an address but those of loopback.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::Value as Json;
use tidewheel_testing::{TempDir, patience, temp_folder};

use crate::registry::{Protocol, Registry, Request, Upload, What};

/// The program: that of the tests, or another build of it that somebody wants to measure.
pub fn tidewheel() -> String {
    std::env::var("TIDEWHEEL_PROGRAM").unwrap_or(env!("CARGO_BIN_EXE_tidewheel").to_owned())
}

/// A workspace and its registry.
pub struct Scene {
    folder: TempDir,
    pub registry: Registry,
}

/// A server that goes on until it is stopped.
pub struct Served<'a> {
    scene: &'a Scene,
    child: Child,
    url: String,
    token: String,
}

impl Served<'_> {
    /// `tidewheel` with these arguments, which asks the server and does not know the folder.
    pub fn tidewheel(&self, arguments: &[&str]) -> Command {
        let mut command = self.scene.tidewheel(&[arguments, &["--server", &self.url]].concat());
        command.env_remove("TIDEWHEEL_DATA").env("TIDEWHEEL_TOKEN", &self.token);
        command
    }

    pub fn stop(mut self) {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        self.child.wait().unwrap();
    }
}

/// A test that fails leaves no server behind.
impl Drop for Served<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Scene {
    pub fn new(name: &str, protocol: Protocol) -> Self {
        let folder = temp_folder(name);
        for part in ["ws", "home"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        Self { folder, registry: Registry::start(protocol) }
    }

    /// Crates, each with those that it needs, under git.
    pub fn crates(name: &str, crates: &[(&str, &[&str])]) -> Self {
        let scene = Self::new(name, Protocol::Cargo);
        let members: Vec<String> = crates.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let members = members.join(", ");
        scene
            .file("Cargo.toml", &format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n"));
        let index = scene.registry.index_url();
        scene.file(".cargo/config.toml", &format!("[registries.ours]\nindex = \"{index}\"\n"));
        for (name, needs) in crates {
            let needs = needs.iter().map(|needed| {
                format!("{needed} = {{ path = \"../{needed}\", version = \"1.0.0\", registry = \"ours\" }}\n")
            });
            let needs: String = needs.collect();
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2024\"\nlicense = \"MIT\"\n\
                 description = \"A crate.\"\npublish = [\"ours\"]\n[dependencies]\n{needs}"
            );
            scene.file(&format!("{name}/Cargo.toml"), &manifest);
            scene.file(&format!("{name}/src/lib.rs"), "");
        }
        scene.commit();
        scene
    }

    /// `c` needs `b`, which needs `a`.
    pub fn chain(name: &str) -> Self {
        Self::crates(name, &[("a", &[]), ("b", &["a"]), ("c", &["b"])])
    }

    /// Two packages of npm, the second of which needs the first.
    pub fn npm(name: &str) -> Self {
        let scene = Self::new(name, Protocol::Npm);
        let (url, port) = (scene.registry.index_url(), scene.registry.port());
        let token = "${NPM_TOKEN}";
        scene.file(".npmrc", &format!("registry={url}\n//127.0.0.1:{port}/:_authToken={token}\n"));
        scene.file("package.json", r#"{ "private": true, "workspaces": ["*"] }"#);
        scene.file("a/package.json", r#"{ "name": "a", "version": "1.0.0" }"#);
        let b = r#"{ "name": "b", "version": "1.0.0", "dependencies": { "a": "workspace:^" } }"#;
        scene.file("b/package.json", b);
        scene.commit();
        scene
    }

    /// Two packages of Python, the second of which needs the first.
    pub fn python(name: &str) -> Self {
        let scene = Self::new(name, Protocol::Python);
        scene.file("pyproject.toml", "[tool.uv.workspace]\nmembers = [\"*\"]\n");
        for (name, needs) in [("a", ""), ("b", "\"our_a>=1\"")] {
            let manifest = format!(
                "[project]\nname = \"our-{name}\"\nversion = \"1.0\"\ndependencies = [{needs}]\n\
                 [build-system]\nrequires = []\nbuild-backend = \"ours\"\nbackend-path = [\".\"]\n"
            );
            scene.file(&format!("{name}/pyproject.toml"), &manifest);
            scene.file(&format!("{name}/ours.py"), PYTHON_BACKEND);
        }
        scene.commit();
        scene
    }

    pub fn commit(&self) {
        let own = ["-c", "user.name=n", "-c", "user.email=e@e.example"];
        let commands: [&[&str]; 3] =
            [&["init", "-q"], &["add", "."], &["commit", "-q", "--allow-empty", "-m", "m"]];
        for arguments in commands {
            let mut git = Command::new("git");
            git.args(own)
                .args(arguments)
                .current_dir(self.path("ws"))
                .env("HOME", self.path("home"));
            assert!(git.status().unwrap().success(), "{git:?}");
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the workspace.
    pub fn file(&self, name: &str, text: &str) {
        let path = self.path("ws").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A program in the workspace, with no setting but those of this test.
    pub fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.path("ws")).stdin(Stdio::null());
        for name in ["PATH", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "CARGO"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command
            .env("HOME", self.path("home"))
            .env("CARGO_HOME", self.path("home"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_NET_OFFLINE", "true")
            .env("TIDEWHEEL_DATA", self.path("data"));
        command
    }

    /// A server on the same data folder, and a token of this role for it.
    pub fn serve(&self, role: &str) -> Served<'_> {
        let create = ["token", "create", "t", "--role", role, "--format", "json"];
        let (_, created) = told(&self.tidewheel(&create).output().unwrap());
        let token = created["secret"].as_str().unwrap().to_owned();
        let mut command = self.tidewheel(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let url = |line: String| Some(line.strip_prefix("listening on ")?.to_owned());
        let url = lines.find_map(url).unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        Served { scene: self, child, url, token }
    }

    /// `tidewheel` with these arguments, and the token of the registry.
    pub fn tidewheel(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(&tidewheel());
        let (registry, token) = (&self.registry, self.registry.token());
        command.args(arguments).env("CARGO_REGISTRIES_OURS_TOKEN", token).env("NPM_TOKEN", token);
        if registry.protocol() == Protocol::Python {
            command
                .env("UV_PUBLISH_URL", registry.upload_url())
                .env("UV_PUBLISH_CHECK_URL", registry.index_url())
                .env("UV_PUBLISH_TOKEN", token);
        }
        command
    }

    /// `tidewheel publish`, impatient.
    pub fn publish(&self, arguments: &[&str]) -> Command {
        let mut command = self.tidewheel(&["publish", "--yes", "--no-verify", "--format", "json"]);
        command.args(["--retry-base-delay", "10ms", "--look-every", "10ms"]).args(arguments);
        command
    }

    /// Publishes, and does not wait for the end.
    pub fn begin(&self, arguments: &[&str]) -> Begun<'_> {
        let mut command = self.publish(arguments);
        Begun::start(self, command.stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Publishes and gives the exit code and the report.
    #[track_caller]
    pub fn published(&self, arguments: &[&str]) -> (i32, Json) {
        told(&self.publish(arguments).output().unwrap())
    }

    /// Publishes, and all must be out.
    #[track_caller]
    pub fn finish(&self) -> Json {
        let (code, report) = self.published(&[]);
        assert_eq!((code, &report["verdict"]), (0, &"done".into()), "{report:#}");
        report
    }

    /// Everything in the workspace, with its contents.
    pub fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        everything(&self.path("ws"))
    }

    /// Which files were brought, in order.
    pub fn brought(&self) -> Vec<String> {
        self.registry.uploads().into_iter().map(|upload| upload.package).collect()
    }
}

/// A program under way.
pub struct Begun<'a> {
    scene: &'a Scene,
    pub child: Child,
    is_over: Arc<AtomicBool>,
}

impl<'a> Begun<'a> {
    pub fn start(scene: &'a Scene, command: &mut Command) -> Self {
        let child = command.spawn().unwrap();
        let bell = scene.registry.bell();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        when_over(&child, move || {
            ends.store(true, Ordering::SeqCst);
            bell.ring();
        });
        Self { scene, child, is_over }
    }

    /// Waits until it is so, and says whether it is: not if the program has ended before.
    pub fn until(&self, is_so: impl Fn(&[Request], &[Upload]) -> bool) -> bool {
        self.within(patience(), is_so)
    }

    /// The same, and no longer than this.
    pub fn within(&self, at_most: Duration, is_so: impl Fn(&[Request], &[Upload]) -> bool) -> bool {
        let registry = &self.scene.registry;
        registry.wait_until(at_most, |requests, uploads| {
            is_so(requests, uploads) || self.is_over.load(Ordering::SeqCst)
        });
        registry.wait_until(Duration::ZERO, is_so)
    }

    /// Waits until a package is being uploaded.
    #[track_caller]
    pub fn until_uploading(&self, package: &str) {
        let is_it = |it: &Request| {
            it.asked.what == What::Upload && it.asked.package.as_deref() == Some(package)
        };
        assert!(self.until(|requests, _| requests.iter().any(is_it)), "it has ended");
    }

    /// Waits until a package has arrived.
    #[track_caller]
    pub fn until_uploaded(&self, package: &str) {
        let is_it = |it: &Upload| it.package == package;
        assert!(self.until(|_, uploads| uploads.iter().any(is_it)), "it has ended");
    }

    pub fn kill(mut self) -> ExitStatus {
        self.child.kill().unwrap();
        self.child.wait().unwrap()
    }

    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// A test that fails leaves no program behind.
impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does something as soon as a program has ended, which is left for its parent to be waited for.
pub fn when_over(child: &Child, then: impl FnOnce() + Send + 'static) {
    let pid = Pid::from_child(child);
    std::thread::spawn(move || {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), how), Err(rustix::io::Errno::INTR)) {}
        then();
    });
}

/// The exit code and the document that a command printed.
#[track_caller]
pub fn told(output: &Output) -> (i32, Json) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    let said = if out.trim().is_empty() { &error } else { &out };
    let last = said.lines().last().unwrap_or_default();
    let json =
        serde_json::from_str(last).unwrap_or_else(|_| panic!("{}: {out}{error}", output.status));
    (output.status.code().unwrap_or(-1), json)
}

pub fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap().map(Result::unwrap) {
            // A socket has no contents.
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_socket() => {}
                _ => drop(found.insert(entry.path(), fs::read(entry.path()).unwrap())),
            }
        }
    }
    found
}

/// A backend of Python that needs nothing: it puts what a manifest says into both kinds of files.
pub const PYTHON_BACKEND: &str = r#"
import io, os, tarfile, tomllib, zipfile

def about():
    with open('pyproject.toml', 'rb') as file:
        project = tomllib.load(file)['project']
    lines = ['Metadata-Version: 2.1', f"Name: {project['name']}", f"Version: {project['version']}"]
    lines += [f'Requires-Dist: {needed}' for needed in project.get('dependencies', [])]
    return project['name'].replace('-', '_'), project['version'], '\n'.join(lines) + '\n'

def build_sdist(folder, settings=None):
    name, version, text = about()
    with tarfile.open(os.path.join(folder, f'{name}-{version}.tar.gz'), 'w:gz') as tar:
        entry = tarfile.TarInfo(f'{name}-{version}/PKG-INFO')
        entry.size = len(text)
        tar.addfile(entry, io.BytesIO(text.encode()))
    return f'{name}-{version}.tar.gz'

def build_wheel(folder, settings=None, metadata=None):
    name, version, text = about()
    info, file = f'{name}-{version}.dist-info', f'{name}-{version}-py3-none-any.whl'
    with zipfile.ZipFile(os.path.join(folder, file), 'w') as wheel:
        wheel.writestr(f'{name}.py', '')
        wheel.writestr(f'{info}/METADATA', text)
        wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        wheel.writestr(f'{info}/RECORD', '')
    return file
"#;
