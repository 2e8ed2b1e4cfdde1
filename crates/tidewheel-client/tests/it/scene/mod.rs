//! A data folder of its own, and flows that need no processes.
//!
//! What is tried with it is in the files beside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel::{Run, RunId, Shutdown};
use tidewheel_client::desk::LocalDesk;
use tidewheel_client::files::{FlowFiles, RunWish};
use tidewheel_client::kind::{FlowRun, Startable};
use tidewheel_client::session::{Session, SessionOptions, Takeover};
use tidewheel_testing::{TempDir, patience, temp_folder};
use tokio::runtime::Runtime;

/// A folder of one test, and a runtime.
pub struct Scene {
    pub path: PathBuf,
    pub runtime: Runtime,
    // Removed after what uses it.
    _temp: TempDir,
}

impl Scene {
    pub fn new() -> Self {
        let temp = temp_folder("client");
        Self { path: temp.path().to_owned(), runtime: Runtime::new().unwrap(), _temp: temp }
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
        drop(self.folder().shard_when_left(&shard, patience()).unwrap());
        run
    }
}
