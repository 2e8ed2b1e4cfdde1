//! A data folder of its own, and flows that need no processes.
//!
//! What is tried with it is in the files beside.
#![allow(clippy::unwrap_used, reason = "what is missing fails the test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel::{Run, RunId, Shutdown};
use tidewheel_client::desk::Desk;
use tidewheel_client::kind::{FlowRun, Startable};
use tidewheel_client::session::{Session, SessionOptions, Takeover};
use tidewheel_flow::{Disk, Flow, FlowOrder, load, resolve_params};
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

    pub fn desk(&self) -> Desk {
        Desk::open(self.folder()).unwrap()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// What a file says, and a run of it.
    pub fn order(&self, file: &Path) -> (Arc<Flow>, FlowOrder) {
        let files = vec![file.to_owned()];
        let loaded = load(&files, &Disk);
        let flow = loaded.runnable().unwrap_or_else(|| panic!("{:?}", loaded.problems));
        let params = resolve_params(flow, BTreeMap::new()).unwrap();
        (Arc::clone(flow), FlowOrder::new(&loaded, files, params, 2))
    }

    pub fn session(&self, takeover: &Takeover) -> Session {
        let options = SessionOptions::new(2);
        Session::open(self.folder(), takeover, options, self.runtime.handle()).unwrap()
    }

    /// Runs a flow to its end.
    pub fn run(&self, file: &Path) -> RunId {
        let (flow, order) = self.order(file);
        self.finish(&FlowRun::new(flow, order))
    }

    /// The same of anything that can be started.
    pub fn finish(&self, run: &dyn Startable) -> RunId {
        let session = self.session(&Takeover::Fresh);
        let started = session.start(run, BTreeMap::new()).unwrap();
        let id = started.run.id();
        self.runtime.block_on(async {
            started.run.report().await.unwrap();
            session.close().await;
        });
        id
    }

    /// Starts a flow and leaves it when this holds, as if its process had died.
    pub fn leave(&self, file: &Path, when: impl Fn(&Run) -> bool) -> RunId {
        let (flow, order) = self.order(file);
        self.abandon(|session, runtime| {
            let mut started = session.start(&FlowRun::new(flow, order), BTreeMap::new()).unwrap();
            runtime.block_on(async {
                while !when(&started.run) {
                    started.notices.recv().await.unwrap().unwrap();
                }
            });
            started.run.id()
        })
    }

    /// Starts something and leaves it as it is, as if its process had died.
    pub fn abandon(&self, start: impl FnOnce(&Session, &Runtime) -> RunId) -> RunId {
        let session = self.session(&Takeover::Fresh);
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
