//! Lists over very many stored runs: the first one that a fresh server is asked for, and the slowest of all kinds.
//!
//! The runs are made by a session in this process, and are what those of a server would be. `--data` keeps them for the next time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::Value as Json;
use tidewheel::store::sqlite::{DataFolder, Durability, Options};
use tidewheel_client::files::{FlowFiles, RunWish};
use tidewheel_client::session::{Session, SessionOptions, Takeover};

use super::asking::Asking;
use super::child::Place;
use super::figure::Figure;
use crate::command::bench::command::{Durable, ServeArgs};
use crate::command::bench::dag::{failed, runtime};
use crate::error::CommandError;
use crate::ui::Ui;

/// Runs that are made at once.
const AT_ONCE: u32 = 256;

const FLOW: &str = "flow: [{ name: none, wait: 0s }]\n";

/// What of a list is wanted, and how that is asked for.
const LISTS: [(&str, &str); 9] = [
    ("the newest", "/api/v1/runs"),
    ("long", "/api/v1/runs?limit=500"),
    ("those that succeeded", "/api/v1/runs?state=succeeded"),
    ("those that failed", "/api/v1/runs?state=failed"),
    ("those that run", "/api/v1/runs?state=running"),
    ("of a flow", "/api/v1/runs?name=none&state=succeeded"),
    ("of a flow that failed", "/api/v1/runs?name=none&state=failed"),
    ("of no flow", "/api/v1/runs?name=nothing"),
    ("with a tag", "/api/v1/runs?tag=nothing"),
];

pub(super) fn measure(ui: &Ui, args: &ServeArgs) -> Result<Vec<Figure>, CommandError> {
    let place = Place::new("lists", args.data.as_deref())?;
    fill(ui, &place, u64::from(args.runs))?;
    let served = place.serve(Durable::Power)?;
    let mut asking = served.asking()?;
    let (first, _) = timed(&mut asking, LISTS[0].1)?;
    let mut slowest = (Duration::ZERO, "");
    for (name, path) in LISTS {
        let (took, _) = timed(&mut asking, path)?;
        slowest = slowest.max((took, name));
    }
    let (took, name) = slowest.max((far_back(&mut asking)?, "far back"));
    let started = Instant::now();
    asking.start("none")?;
    let start = millis(started.elapsed());
    let runs = args.runs;
    let about = format!(
        "the first list of a fresh server over {runs} runs; a run is accepted within {start:.1} ms"
    );
    Ok(vec![
        Figure::at_most("first_list_ms", about, millis(first), 50.0),
        Figure::at_most("slowest_list_ms", format!("the slowest list: {name}"), millis(took), 50.0),
    ])
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn timed(asking: &mut Asking, path: &str) -> Result<(Duration, Json), CommandError> {
    let asked = Instant::now();
    let answer = asking.document(path)?;
    Ok((asked.elapsed(), answer))
}

/// The slowest of some pages, one after the other.
fn far_back(asking: &mut Asking) -> Result<Duration, CommandError> {
    let (mut slowest, mut cursor) = (Duration::ZERO, String::new());
    for _ in 0..20 {
        let (took, page) = timed(asking, &format!("/api/v1/runs?limit=500{cursor}"))?;
        slowest = slowest.max(took);
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    Ok(slowest)
}

/// Makes runs until there are so many.
fn fill(ui: &Ui, place: &Place, wanted: u64) -> Result<(), CommandError> {
    let file = place.flow("none", FLOW)?;
    let options = Options::default().durability(Durability::Process);
    let folder = DataFolder::open(place.data(), options).map_err(|error| failed(error.into()))?;
    let counts = folder.reader().and_then(|reader| reader.counts());
    let counts = counts.map_err(|error| failed(error.into()))?;
    let there: u64 = counts.ended.iter().map(|(_, count)| count).sum();
    let missing = wanted.saturating_sub(there);
    if missing == 0 {
        return Ok(());
    }
    ui.note(&format!("making {missing} runs; --data DIR keeps them for the next time"));
    runtime(2)?.block_on(async {
        let session = Session::open(folder, Takeover::Fresh, SessionOptions::new(AT_ONCE)).await?;
        let session = Arc::new(session);
        let run = Arc::new(FlowFiles::read(&[file]).run(&RunWish::default())?);
        let left = Arc::new(AtomicU64::new(missing));
        let makers = (0..AT_ONCE).map(|_| {
            let (session, run, left) = (Arc::clone(&session), Arc::clone(&run), Arc::clone(&left));
            tokio::spawn(async move {
                let take = |left: u64| left.checked_sub(1);
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                    let started = session.start(&*run, Default::default()).await?;
                    // What became of it is in the store.
                    let _ = started.run.report().await;
                }
                Ok::<_, CommandError>(())
            })
        });
        for maker in makers.collect::<Vec<_>>() {
            maker.await.map_err(|error| failed(error.into()))??;
        }
        match Arc::into_inner(session) {
            Some(session) => session.close().await,
            None => return Err(failed(anyhow!("somebody still makes runs"))),
        }
        Ok::<_, CommandError>(())
    })
}
