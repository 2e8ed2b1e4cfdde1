//! Making the runs that firings are: the owner's code is called, and what it makes is submitted.
//!
//! When a run is wanted, and what follows if it cannot be made, is decided by the scheduler.

use std::sync::Arc;
use std::time::Duration;

use tidewheel_core::decision::MakeRun;
use tidewheel_core::input::{Event, Rejection};

use super::attempt::{BoxFuture, guard, panic_text};
use super::shared::Shared;
use crate::error::{BoxError, describe};
use crate::schedule::{Firing, MadeRun};

/// How long a store in trouble is left alone.
const PAUSE: Duration = Duration::from_secs(1);

/// Makes the run of a firing.
pub(crate) type Maker = dyn Fn(Firing) -> BoxFuture<Result<MadeRun, BoxError>> + Send + Sync;

/// Has a run made and submits it, or says why there is none.
pub(super) async fn make_run(shared: Arc<Shared>, maker: Option<Arc<Maker>>, wanted: MakeRun) {
    let Some(error) = try_make(&shared, maker, wanted).await else { return };
    let event =
        Event::RunNotMade { schedule: wanted.schedule, run: wanted.run, error: Arc::from(error) };
    let mut effects = Vec::new();
    shared.tell(shared.clock.now(), event, &mut effects);
    shared.perform(&mut effects);
}

/// Why the run could not be made. Nothing is to be said about one that was, or that waits for the
/// next start.
async fn try_make(
    shared: &Arc<Shared>,
    maker: Option<Arc<Maker>>,
    wanted: MakeRun,
) -> Option<String> {
    let Some(maker) = maker else { return Some("there is no code that makes it".to_owned()) };
    loop {
        let run = match make_once(shared, &maker, wanted).await {
            Ok(run) => run,
            Err(error) => return error,
        };
        match run.submit(wanted).await {
            // Made before, no longer wanted, or wanted again at the next start.
            Ok(()) | Err(Rejection::ShuttingDown | Rejection::Gone(_)) => return None,
            Err(Rejection::AlreadyAccepted(run)) if run == wanted.run => return None,
            // The firing is accepted, so it waits for a store in trouble as long as that takes.
            Err(Rejection::Unavailable(_)) => tokio::time::sleep(PAUSE).await,
            Err(rejection) => return Some(rejection.to_string()),
        }
    }
}

/// The run that the owner makes, or why there is none; nothing when the runtime ends.
async fn make_once(
    shared: &Arc<Shared>,
    maker: &Arc<Maker>,
    wanted: MakeRun,
) -> Result<MadeRun, Option<String>> {
    let firing = Firing::new(shared, wanted);
    let panicked = |panic: String| Some(format!("it panicked: {panic}"));
    let future = guard(|| maker(firing)).map_err(panicked)?;
    // A task of its own, because a panic must end nothing else.
    match shared.runtime.spawn(future).await {
        Ok(made) => made.map_err(|error| Some(describe(&*error))),
        Err(error) => {
            Err(error.try_into_panic().ok().and_then(|panic| panicked(panic_text(panic))))
        }
    }
}
