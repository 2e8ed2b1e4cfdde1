//! Opens a session on a data folder, starts a flow and tells how it goes, in lines of JSON: what a server does.
//!
//! `cargo run -p tidewheel-client --example follow -- DATA FLOW.yaml`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel_client::api::{Document as _, RunState};
use tidewheel_client::desk::{Desk, workers_of};
use tidewheel_client::kind::{FlowRun, Startable as _};
use tidewheel_client::progress::{Event, Follow, Teller, Told};
use tidewheel_client::session::{Session, SessionOptions, Started, Takeover};
use tidewheel_flow::{Disk, FlowOrder, Style, load, resolve_params};
use tokio::runtime::Runtime;

fn main() -> Result<(), Box<dyn Error>> {
    // Steps are processes, and this program is also the one that starts them.
    tidewheel::executor::process::serve_if_spawner();
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [data, file] = &arguments[..] else { return Err("follow DATA FLOW.yaml".into()) };
    let runtime = Runtime::new()?;
    let state = follow(&runtime, data, file, |told| {
        println!("{}", serde_json::to_string(&told).unwrap_or_default());
    })?;
    println!("{state}");
    Ok(())
}

/// Runs a flow from its beginning to its end, and shows what happens.
pub(crate) fn follow(
    runtime: &Runtime,
    data: &Path,
    file: &Path,
    show: impl FnMut(Told),
) -> Result<RunState, Box<dyn Error>> {
    let desk = Desk::open(DataFolder::open(data, Options::default())?)?;
    let run = read(file)?;
    let options = SessionOptions::new(run.workers());
    let session =
        Session::open(desk.folder().clone(), &Takeover::Fresh, options, runtime.handle())?;
    run.prepare(&session);
    let started = session.start(&run, desk.expectations(run.name())?)?;
    let id = started.run.id();
    runtime.block_on(async {
        tell(&session, started, show).await;
        session.close().await;
    });
    Ok(desk.show(&id.to_string())?.state())
}

/// Reads a flow, with what it says itself for its params.
fn read(file: &Path) -> Result<FlowRun, Box<dyn Error>> {
    let files = vec![file.to_owned()];
    let loaded = load(&files, &Disk);
    let Some(flow) = loaded.runnable() else {
        return Err(loaded.problems.render(&loaded.files, Style::Plain, 100).into());
    };
    let params = resolve_params(flow, BTreeMap::new())?;
    let order = FlowOrder::new(&loaded, files, params, workers_of(None, flow));
    Ok(FlowRun::new(Arc::clone(flow), order))
}

/// Shows what happens until the run has ended.
async fn tell(session: &Session, started: Started, show: impl FnMut(Told)) {
    let mut lines = Lines(show);
    let mut follow = Follow::begin(session, started, &mut lines);
    while follow.next(&mut lines).await {}
    follow.finish(&mut lines).await;
}

/// Makes a document of everything that is told.
struct Lines<F>(F);

impl<F: FnMut(Told)> Teller for Lines<F> {
    fn tell(&mut self, at: Duration, event: Event) {
        self.0(Told { version: None, at, event }.versioned());
    }
}
