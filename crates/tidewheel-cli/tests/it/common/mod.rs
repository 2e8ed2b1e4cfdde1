//! What tests of the binary share: a folder of their own, and the program run in it.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tidewheel_testing::{TempDir, temp_folder};

pub use tidewheel_testing::{skipped, wait_until};

/// A folder of one test, with a data folder in it.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new(name: &str) -> Self {
        Self(temp_folder(name))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// Writes a file and gives its path as text.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with the data folder of this test.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidewheel"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TIDEWHEEL_DATA", self.data())
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Starts the program; its output is read when it has ended.
    pub fn start(&self, arguments: &[&str]) -> Running {
        let child =
            self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Running { child: Some(child) }
    }

    /// Starts the program; what it says to people goes to a file that is read meanwhile.
    pub fn start_heard(&self, arguments: &[&str]) -> Heard {
        self.hear(self.command(arguments))
    }

    /// The same with these variables.
    pub fn start_heard_with(&self, arguments: &[&str], variables: &[(String, String)]) -> Heard {
        let mut command = self.command(arguments);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        self.hear(command)
    }

    /// The same by somebody whose home this folder is.
    pub fn start_heard_at_home(&self, arguments: &[&str]) -> Heard {
        let mut command = self.command(arguments);
        command.env("HOME", self.0.path());
        self.hear(command)
    }

    fn hear(&self, mut command: Command) -> Heard {
        let number = HEARD.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = self.path(&format!("said-{number}"));
        let said = std::fs::File::create(&path).unwrap();
        let child = command.stdout(Stdio::null()).stderr(said).spawn().unwrap();
        Heard { running: Running { child: Some(child) }, path }
    }

    /// The result of a command that must succeed.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--format", "json"]);
        let output = self.run(&arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{error}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits until a file is there.
    #[track_caller]
    pub fn wait_for(&self, name: &str) {
        let path = self.path(name);
        wait_until(&format!("{name} is there"), || path.exists());
    }
}

static HEARD: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// A program that runs, and what it says.
pub struct Heard {
    running: Running,
    path: PathBuf,
}

impl Heard {
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap_or_default()
    }

    /// Waits until it has said something.
    #[track_caller]
    pub fn wait_for(&self, words: &str) {
        wait_until(&format!("`{words}` is said"), || self.said().contains(words));
    }

    pub fn signal(&self, name: &str) {
        self.running.signal(name);
    }

    /// Waits until it has ended: its exit code, and all it has said.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let status = self.running.child.take().unwrap().wait().unwrap();
        (status.code(), self.said())
    }
}

/// The output is in the folder of the test too, but here it stands beside the failure.
impl Drop for Heard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: {}", self.path.display(), self.said());
        }
    }
}

/// A program that runs. It is killed if the test ends first.
pub struct Running {
    child: Option<Child>,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Sends a signal by name, such as `INT`.
    pub fn signal(&self, name: &str) {
        let status =
            Command::new("kill").args([format!("-{name}"), self.pid().to_string()]).status();
        assert!(status.unwrap().success());
    }

    pub fn output(mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Reads a stream until a text holds `wanted`.
///
/// Each line read goes to standard error too, so the output of a test that is killed in here shows what came instead.
pub fn read_until(stream: &mut impl std::io::Read, wanted: &str) -> String {
    let mut text = String::new();
    let mut byte = [0; 1];
    while !text.contains(wanted) {
        assert!(stream.read(&mut byte).unwrap() > 0, "`{wanted}` is not in {text}");
        text.push(char::from(byte[0]));
        if byte[0] == b'\n' {
            eprintln!("read: {}", text.lines().next_back().unwrap_or_default());
        }
    }
    text
}

/// The steps of a result by state.
pub fn states(result: &Value) -> Vec<(String, String)> {
    let steps = result["steps"].as_object().unwrap();
    let mut states: Vec<(String, String)> = steps
        .iter()
        .map(|(name, step)| (name.clone(), step["state"].as_str().unwrap().to_owned()))
        .collect();
    states.sort();
    states
}

/// Whether a process with this id runs; one that has ended and was not waited for does not.
pub fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // The state is behind the name, which may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
