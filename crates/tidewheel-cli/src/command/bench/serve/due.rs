//! Many schedules that are due in the same second: how long until the run of each has started.
//!
//! Each is a file. They are due at the beginning of every minute, so it takes up to two.

use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::anyhow;

use super::child::{Place, Served};
use super::figure::Figure;
use crate::command::bench::command::{Durable, ServeArgs};
use crate::command::bench::dag::failed;
use crate::error::CommandError;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(100);

/// Later than any of them.
const PATIENCE: Duration = Duration::from_secs(50);

const MINUTE: u64 = 60;

pub(super) fn measure(args: &ServeArgs) -> Result<Vec<Figure>, CommandError> {
    let place = Place::new("due", None)?;
    for number in 0..args.schedules {
        let text = "schedule: { cron: '0 * * * * *' }\nflow: [{ name: none, wait: 0s }]\n";
        place.flow(&format!("f{number}"), text)?;
    }
    let served = place.serve(Durable::Power)?;
    let wanted = u64::from(args.schedules);
    // One that was under way while the server began is waited for, and not counted.
    let (before, due) = loop {
        let due = (now()?.as_secs() / MINUTE + 1) * MINUTE;
        sleep(Duration::from_secs(due).saturating_sub(now()? + Duration::from_secs(1)));
        let (ended, open) = counts(&served)?;
        if open == 0 && now()?.as_secs() < due {
            break (ended, Duration::from_secs(due));
        }
    };
    sleep(due.saturating_sub(now()?));
    loop {
        let (ended, _) = counts(&served)?;
        let took = now()?.saturating_sub(due);
        if ended - before >= wanted {
            let about = format!("until {wanted} schedules that were due at once had run");
            return Ok(vec![Figure::at_most("due_seconds", about, took.as_secs_f64(), 10.0)]);
        }
        if took > PATIENCE {
            let run = ended - before;
            return Err(failed(anyhow!("after {PATIENCE:?} {run} of {wanted} had run")));
        }
        sleep(LOOK);
    }
}

/// Tasks that have ended, and those that are there and have not. A connection that waits for a minute is hung up on.
fn counts(served: &Served) -> Result<(u64, u64), CommandError> {
    let figures = served.asking()?.document("/metrics")?;
    let count = |key: &str| figures["scheduler"][key].as_u64().unwrap_or_default();
    Ok((count("totalCompleted"), count("activeCount") + count("queuedCount")))
}

fn now() -> Result<Duration, CommandError> {
    SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| failed(error.into()))
}
