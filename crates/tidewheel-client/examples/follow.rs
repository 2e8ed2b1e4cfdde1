//! Opens a session on a data folder, starts a flow and tells how it goes, in lines of JSON: what a server does.
//!
//! `cargo run -p tidewheel-client --example follow -- DATA FLOW.yaml`
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidewheel::store::sqlite::{DataFolder, Options};
use tidewheel_client::api::{Document as _, RunState};
use tidewheel_client::desk::Desk;
use tidewheel_client::files::{FlowFiles, RunWish};
use tidewheel_client::kind::{FlowRun, Startable as _};
use tidewheel_client::progress::{Event, Follow, Teller, Told};
use tidewheel_client::session::{Session, SessionOptions, Started, Takeover};
use tokio::runtime::Runtime;

fn main() -> Result<(), Box<dyn Error>> {
    // Steps are processes, and this program is also the one that starts them.
    tidewheel::executor::process::serve_if_spawner();
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [data, file] = &arguments[..] else { return Err("follow DATA FLOW.yaml".into()) };
    let runtime = Runtime::new()?;
    let state = runtime.block_on(follow(data, file, |told| {
        println!("{}", serde_json::to_string(&told).unwrap_or_default());
    }))?;
    println!("{state}");
    Ok(())
}

/// Runs a flow from its beginning to its end, and shows what happens.
pub(crate) async fn follow(
    data: &Path,
    file: &Path,
    show: impl FnMut(Told),
) -> Result<RunState, Box<dyn Error>> {
    let folder = DataFolder::open(data, Options::default())?;
    let desk = Desk::open(folder.clone()).await?;
    let run = read(file)?;
    let name = run.name().to_owned();
    let expected = desk.here(move |desk| desk.expectations(&name)).await?;
    let session =
        Session::open(folder, Takeover::Fresh, SessionOptions::new(run.workers())).await?;
    run.prepare(&session);
    let started = session.start(&run, expected).await?;
    let id = started.run.id();
    tell(&session, started, show).await;
    session.close().await;
    Ok(desk.show(&id.to_string()).await?.state)
}

/// Reads a flow, with what it says itself for its params.
fn read(file: &Path) -> Result<FlowRun, Box<dyn Error>> {
    let files = FlowFiles::read(&[file.to_owned()]);
    let run = files.run(&RunWish::default());
    run.map_err(|error| format!("{error}\n{}", files.problems(false, 100)).into())
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
