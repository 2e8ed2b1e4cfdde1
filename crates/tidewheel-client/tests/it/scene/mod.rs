//! A data folder of its own, and flows that need no processes.
//!
//! What is tried with it is in the files beside.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel::{Run, RunId, Shutdown};
use tidewheel_client::desk::LocalDesk;
use tidewheel_client::files::{FlowFiles, RunWish};
use tidewheel_client::kind::{FlowRun, Startable};
use tidewheel_client::session::{Session, SessionOptions, Takeover};
use tokio::runtime::Runtime;

/// A folder that is gone with it.
pub struct Scene {
    pub path: PathBuf,
    pub runtime: Runtime,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Scene {
    pub fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidewheel-client-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self { path, runtime: Runtime::new().unwrap() }
    }

    pub fn folder(&self) -> DataFolder {
        DataFolder::open(self.path.join("data"), Options::default()).unwrap()
    }

    pub fn desk(&self) -> LocalDesk {
        LocalDesk::open(self.folder()).unwrap()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A run of a file, or of these steps of it.
    pub fn order(&self, file: &Path, only: &[&str]) -> FlowRun {
        let files = FlowFiles::read(&[file.to_owned()]);
        let only = only.iter().map(|&step| step.to_owned()).collect();
        files.run(&RunWish { only, max_workers: Some(2), ..RunWish::default() }).unwrap()
    }

    pub fn session(&self, takeover: Takeover) -> Session {
        let options = SessionOptions::new(2);
        self.runtime.block_on(Session::open(self.folder(), takeover, options)).unwrap()
    }

    /// Runs a flow to its end.
    pub fn run(&self, file: &Path) -> RunId {
        self.finish(&self.order(file, &[]))
    }

    /// The same of anything that can be started.
    pub fn finish(&self, run: &dyn Startable) -> RunId {
        let session = self.session(Takeover::Fresh);
        self.runtime.block_on(async {
            let started = session.start(run, BTreeMap::new()).await.unwrap();
            started.run.report().await.unwrap();
            session.close().await;
            started.run.id()
        })
    }

    /// Starts a flow and leaves it when this holds, as if its process had died.
    pub fn leave(&self, file: &Path, when: impl Fn(&Run) -> bool) -> RunId {
        let run = self.order(file, &[]);
        self.abandon(|session, runtime| {
            runtime.block_on(async {
                let mut started = session.start(&run, BTreeMap::new()).await.unwrap();
                while !when(&started.run) {
                    started.notices.recv().await.unwrap().unwrap();
                }
                started.run.id()
            })
        })
    }

    /// Starts something and leaves it as it is, as if its process had died.
    pub fn abandon(&self, start: impl FnOnce(&Session, &Runtime) -> RunId) -> RunId {
        let session = self.session(Takeover::Fresh);
        let run = start(&session, &self.runtime);
        self.runtime.block_on(session.wheel.shutdown(Shutdown::persist()));
        drop(session);
        // Who wrote for the wheel may hold the shard a moment longer.
        let shard = self.desk().find(&run.to_string()).unwrap().summary.shard.unwrap();
        drop(self.folder().shard_when_left(&shard, Duration::from_secs(60)).unwrap());
        run
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // What is left in the folder for temporary files is nobody's loss.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
