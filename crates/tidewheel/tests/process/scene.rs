//! What the tests share: a scene with a folder, a mark and processes, and ways to look at them.
//!
//! No tests are here.

use std::fs;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;
use tidewheel::RunId;
use tidewheel::executor::process::{
    AttemptId, ProcessCommand, ProcessEnd, ProcessError, Processes, ProcessesBuilder,
};
use tidewheel::id::TaskId;
pub use tidewheel_testing::until;
use tidewheel_testing::{TempDir, temp_folder};

/// A folder of its own, and a mark that no other process has.
pub struct Scene {
    pub folder: PathBuf,
    pub mark: String,
    attempts: AtomicU32,
    _folder: Option<TempDir>,
}

impl Scene {
    pub fn new() -> Self {
        let scratch = temp_folder("process");
        let folder = scratch.path().to_owned();
        // The name of the folder is unique among all processes that live.
        let mark = folder.file_name().unwrap().to_str().unwrap().to_owned();
        Self { folder, mark, attempts: AtomicU32::new(0), _folder: Some(scratch) }
    }

    /// Returns the scene of another process, which removes it.
    pub fn of_another(mark: &str, folder: &str) -> Self {
        let (folder, mark) = (folder.into(), mark.to_owned());
        Self { folder, mark, attempts: AtomicU32::new(0), _folder: None }
    }

    pub fn builder(&self) -> ProcessesBuilder {
        Processes::builder().mark(&self.mark).logs(self.folder.join("logs"))
    }

    pub async fn processes(&self) -> Processes {
        self.builder().start().await.unwrap()
    }

    /// An attempt that was not there before.
    pub fn attempt(&self) -> AttemptId {
        let task = TaskId { run: RunId(0xf00d), index: 0 };
        AttemptId { task, number: self.attempts.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A shell command that runs in the scene's folder.
    pub fn shell(&self, text: &str) -> ProcessCommand {
        ProcessCommand::shell(text).cwd(&self.folder)
    }

    /// Processes with a cookie of this scene.
    pub fn living(&self) -> Vec<i32> {
        living(&self.mark)
    }
}

/// Runs a test with a runtime of its own.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Runs a command that is never told to stop.
pub async fn run(
    scene: &Scene,
    processes: &Processes,
    command: &ProcessCommand,
) -> Result<ProcessEnd, ProcessError> {
    processes.run(scene.attempt(), command, pending()).await
}

/// Runs one command, for its end.
pub fn end_of(scene: &Scene, command: &ProcessCommand) -> Result<ProcessEnd, ProcessError> {
    block_on(async { run(scene, &scene.processes().await, command).await })
}

pub fn living(mark: &str) -> Vec<i32> {
    let start = format!("TIDEWHEEL_COOKIE={mark}/");
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|file| file.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable.starts_with(start.as_bytes()))
    })
    .collect()
}

/// Whether a process is there and not a zombie.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

pub fn children(pid: i32) -> Vec<i32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// The number that a step has written into a file.
pub fn number_in(path: &Path) -> Option<i32> {
    let text = fs::read_to_string(path).ok()?;
    text.ends_with('\n').then(|| text.trim().parse().unwrap())
}

/// Whether a process is frozen by a signal.
#[cfg(feature = "sqlite")]
pub fn is_stopped(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T"))
}

pub fn kill(pid: i32) {
    signal(pid, Signal::KILL);
}

pub fn signal(pid: i32, signal: Signal) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
